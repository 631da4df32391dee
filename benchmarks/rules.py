"""Measure whether the user's own words survive condensing, with rules planted as user messages in recorded sessions.

    python benchmarks/rules.py                                   the transcripts in ../shared
    python benchmarks/rules.py session.jsonl more/ --presets balanced --targets 30
    python benchmarks/rules.py --json found.json

A few sentences are added to each session, each as a user message in the file's own form. Then the session is condensed
five times in a row, in two ways. "Its own file": to a share of its tokens, then the result to ever less. "Goes on": as
messages of the Messages API, first a fifth of it, then another fifth each time; the target is that share of the
messages so far.

A rule is kept if its words are still in a user message or in a summary's ledger. It has room if the target exceeds all
user text plus the standing instructions. The newest six turns are whole if each of their blocks is unchanged; they
count if they take at most a third of the target. "Nearly all" counts runs that put one summary in place of four fifths
of the messages.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from recorded import MORE, TRANSCRIPTS

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core import json_text
from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.core.values import BlockKind, Container, Role
from condense_cli.errors import CondenseError
from condense_cli.formats import format_named, parse
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.selection import protect
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

FOLDERS: Final = (TRANSCRIPTS, MORE)
SUFFIXES: Final = {".json", ".jsonl", ".traj"}
PRESETS: Final = ("balanced", "cost", "speed", "max")
TARGETS: Final = (62, 47, 30, 15)
ROUNDS: Final = 5
LEAST_TOKENS: Final = 3_000
LARGEST: Final = 3_000_000
"""Maximum bytes of a file; larger ones take minutes."""

_SHRINKING: Final = 0.93
"""Factor between successive targets for the same file."""
_NEWEST: Final = 6
_NEARLY_ALL: Final = 0.8
_FRAME: Final = 400
"""Tokens for markers, summary marks and the constants of messages."""
_RULES: Final = (
    "Never push to main, not even a typo fix.",
    "Please answer in short sentences from now on, and leave out the compliments.",
    "No, that is the wrong approach. Keep the public function names as they are, whatever you change inside.",
    "Use tabs in this repository. I know that the other one has spaces.",
    "Ask me before you add a dependency.\nAnd before you upgrade one.",
    "The customer reads every commit message: write them so that somebody who is no programmer understands them.",
    "Stop. Do not touch the migration scripts again, they ran in production already.",
)
_IDS: Final = re.compile(rb'"(?:uuid|id|ts|timestamp)":\s*(?:"([^"]{6,})"|(\d{6,}))')
_LINKS: Final = (b"parentUuid", b"parentId")


class Row(Struct):
    """Results of one preset at one target over all sessions: rules kept, of all and of those that had room."""

    way: str
    preset: str
    target: int
    sessions: int = 0
    rules: int = 0
    kept: int = 0
    with_room: int = 0
    kept_with_room: int = 0
    runs: int = 0
    met: int = 0
    newest: int = 0
    newest_whole: int = 0
    nearly_all: int = 0
    lost: list[str] = []


class Planted(Struct):
    """A session with planted rules."""

    name: str
    transcript: Transcript
    rules: list[str]


def planted(path: Path, number: int) -> Planted | None:
    """Plant rules into a session. None if no user message can be added or it is too short."""
    try:
        transcript = api.load(path)
    except CondenseError:
        return None
    if not format_named(transcript.format).is_writable or transcript.source.unparsed:
        return None
    if Counter.of(transcript).transcript(transcript) < LEAST_TOKENS:
        return None
    broken = {violation.rule for violation in validate(transcript)}
    rules: list[str] = []
    wanted = 3 + number % 3
    for share in range(wanted):
        rule = f"{_RULES[(number + share) % len(_RULES)]} (Rule {number}.{share})"
        new = _with_message(transcript, rule, (share + 0.5) / wanted)
        if new is not None and {violation.rule for violation in validate(new)} <= broken:
            transcript = new
            rules.append(rule)
    return Planted(path.name, transcript, rules) if rules else None


def _with_message(transcript: Transcript, text: str, share: float) -> Transcript | None:
    """Add a user message at about this share of the transcript. None if that is impossible."""
    model = _typed(transcript)
    if model is None:
        return None
    messages = transcript.messages
    places = [
        position
        for position in range(len(messages) - 1)
        if messages[position + 1].role is Role.ASSISTANT and messages[position].role is not Role.SYSTEM
    ]
    for position in sorted(places, key=lambda place: abs(place - share * len(messages)))[:4]:
        record = max((block.place.record for block in messages[position].blocks), default=-1)
        data = _spliced(transcript, model, record, text)
        try:
            new = parse(data, format=transcript.format)
        except CondenseError:
            continue
        found = [block for _, block in new.blocks() if block.text == text and block.kind is BlockKind.TEXT]
        has_lost = sum(1 for _ in new.blocks()) <= sum(1 for _ in transcript.blocks())
        if len(found) == 1 and not found[0].injected and not has_lost:
            return msgspec.structs.replace(new, model=transcript.model)
    return None


def _typed(transcript: Transcript) -> Block | None:
    """Find a text that the user typed in a record with nothing but texts."""
    by_record: dict[int, list[tuple[Message, Block]]] = {}
    for message, block in transcript.blocks():
        by_record.setdefault(block.place.record, []).append((message, block))
    for held in by_record.values():
        if all(
            message.role is Role.USER and block.kind in (BlockKind.TEXT, BlockKind.OPAQUE) for message, block in held
        ):
            typed = [block for _, block in held if block.kind is BlockKind.TEXT and not block.injected]
            if typed:
                return typed[0]
    return None


def _spliced(transcript: Transcript, model: Block, record: int, text: str) -> bytes:
    """Copy the model's record after another one, with new ids and with links through it."""
    source = transcript.source
    raw = json_text.encode(
        json_text.splice(source.raw(model.place.record).decode(), {model.place.path: json_text.dump_compact(text)})
    )
    before, end = source.raw(record), source.spans[record][1]
    data_after = source.data[end:]
    for number, found in enumerate(_IDS.finditer(source.raw(model.place.record))):
        old = found[1] or found[2]
        raw = raw.replace(old, old[:-5] + (b"%05d" % (sum(text.encode()) * 7 + number))[-5:])
    for link in _LINKS:
        own, new = (re.search(rb'"(?:uuid|id)":\s*"([^"]+)"', value) for value in (before, raw))
        if own and new:
            pattern = rb'("%s":\s*)(?:null|"[^"]*")' % link
            raw = re.sub(pattern, rb'\1"%s"' % own[1], raw, count=1)
            data_after = re.sub(rb'("%s":\s*)"%s"' % (link, re.escape(own[1])), rb'\1"%s"' % new[1], data_after)
    separator = b"\n" if source.container is Container.LINES else b","
    return source.data[:end] + separator + raw + data_after


def own_file(session: Planted, preset: str, share: float) -> Iterator[tuple[Condensation, list[str]]]:
    """Condense the file, and its results repeatedly; yield each result with the rules in it."""
    transcript = session.transcript
    target = int(Counter.of(transcript).transcript(transcript) * share)
    for _ in range(ROUNDS):
        result = api.condense(transcript, preset=preset, target_tokens=target, factor=AS_COUNTED)
        yield result, session.rules
        transcript = parse(api.dump(result), format=transcript.format)
        target = int(target * _SHRINKING)


def going_on(session: Planted, preset: str, share: float) -> Iterator[tuple[Condensation, list[str]]]:
    """Condense the first fifth, then each result with another fifth."""
    try:
        listed = json_text.parse(api.convert(session.transcript, "anthropic").data)["messages"]
    except CondenseError:
        return
    ends = [end for end in range(1, len(listed)) if listed[end]["role"] == "assistant"]
    cuts = [min(ends, key=lambda end: abs(end - len(listed) * part / ROUNDS), default=0) for part in range(1, ROUNDS)]
    messages: list[Any] = []
    for start, stop in zip([0, *cuts], [*cuts, len(listed)], strict=True):
        messages += listed[start:stop]
        if not messages:
            continue
        transcript = api.loads(messages, format="anthropic")
        target = int(Counter.of(transcript).transcript(transcript) * share)
        result = api.condense(transcript, preset=preset, target_tokens=target, factor=AS_COUNTED)
        said = [text for message in listed[:stop] for text in _texts(message)]
        yield result, [rule for rule in session.rules if any(rule in text for text in said)]
        messages = json_text.parse(api.dump(result))


def _texts(message: Any) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part.get("text", "") for part in content]


WAYS: Final = {"its own file": own_file, "goes on": going_on}


def add_to(row: Row, session: Planted, runs: Iterator[tuple[Condensation, list[str]]]) -> None:
    """Add the runs on a session. A rule counts once: as lost if any run lost it, with the room it had then."""
    lost: dict[str, bool] = {}
    rules: list[str] = []
    has_room = dict.fromkeys(session.rules, True)
    for result, rules in runs:
        row.runs += 1
        row.met += not result.is_target_missed
        kept = list(_words(result.transcript))
        room = _has_room(result)
        for rule in rules:
            if rule not in lost and not room:
                has_room[rule] = False
            if rule not in lost and not any(rule in text for text in kept):
                lost[rule] = has_room[rule]
        newest = _newest_whole(result)
        row.newest += newest is not None
        row.newest_whole += newest is True
        row.nearly_all += _is_nearly_all(result)
    row.sessions += bool(rules)
    row.rules += len(rules)
    row.kept += sum(rule not in lost for rule in rules)
    row.with_room += sum(has_room[rule] for rule in rules)
    row.kept_with_room += sum(has_room[rule] and rule not in lost for rule in rules)
    if any(lost.values()):
        row.lost.append(session.name)


def _words(transcript: Transcript) -> Iterator[str]:
    """Yield the user's words in messages and in ledgers."""
    for message in decode(transcript.messages).messages:
        for block in message.blocks:
            if block.kind is BlockKind.TEXT and message.role is Role.USER and not block.summarizes:
                yield block.text
            elif block.summarizes:
                yield block.text.replace("\n  ", "\n")


def _has_room(result: Condensation) -> bool:
    count = Counter.of(result.before)
    messages = decode(result.before.messages).messages
    protection = protect(load_preset("balanced"), messages, count)
    fixed = sum(
        count.block(block)
        for message in messages
        for block in message.blocks
        if protection.of(message, block)
        or (message.role is Role.USER and block.kind is BlockKind.TEXT and not block.injected)
    )
    return result.target is None or result.target >= fixed + _FRAME


def _newest_whole(result: Condensation) -> bool | None:
    """Return whether the newest turns are unchanged. None if they take too much of the target."""
    count = Counter.of(result.before)
    newest = [message for message in decode(result.before.messages).messages if not message.is_only_thinking][-_NEWEST:]
    if result.target is None or 3 * sum(map(count.message, newest)) > result.target:
        return None
    after = {
        (block.place, block.span): block
        for message in decode(result.transcript.messages).messages
        for block in message.blocks
    }
    blocks = [block for message in newest for block in message.blocks if block.kind is not BlockKind.THINKING]
    return all((found := after.get((block.place, block.span))) and found.reads_as(block) for block in blocks)


def _is_nearly_all(result: Condensation) -> bool:
    new = sum(message.is_inserted for message in result.transcript.messages)
    before, after = len(result.before.messages), len(result.transcript.messages)
    return new > 0 and before - (after - new) > _NEARLY_ALL * before


def files_in(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and file.suffix in SUFFIXES and file.stat().st_size <= LARGEST:
                yield file


def _line(way: str, preset: str, *cells: str) -> str:
    return f"{way:<14}{preset:<10}" + "".join(f"{cell:>11}" for cell in cells)


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, default=FOLDERS, help="files, and folders of files")
    parser.add_argument("--presets", nargs="*", default=PRESETS, metavar="NAME")
    parser.add_argument("--targets", nargs="*", type=int, default=TARGETS, metavar="PERCENT")
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=[*WAYS], metavar="NAME")
    parser.add_argument("--limit", type=int, metavar="N", help="so many sessions of each format")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures")
    options = parser.parse_args(arguments)
    rows = [
        Row(way, preset, target) for way in options.ways for preset in options.presets for target in options.targets
    ]
    formats: dict[str, int] = {}
    for number, path in enumerate(files_in(options.paths)):
        session = planted(path, number)
        if session is None or formats.get(session.transcript.format, 0) >= (options.limit or float("inf")):
            continue
        formats[session.transcript.format] = formats.get(session.transcript.format, 0) + 1
        for row in rows:
            try:
                add_to(row, session, WAYS[row.way](session, row.preset, row.target / 100))
            except CondenseError as error:
                print(f"{session.name}, {row.preset} at {row.target}%: {error}")
    print(", ".join(f"{number} {name}" for name, number in sorted(formats.items())))
    print(_line("", "preset", "target", "rules", "with room", "newest six", "nearly all", "met"))
    for row in rows:
        pairs = (
            (row.kept, row.rules),
            (row.kept_with_room, row.with_room),
            (row.newest_whole, row.newest),
            (row.nearly_all, row.runs),
            (row.met, row.runs),
        )
        print(_line(row.way, row.preset, f"{row.target}%", *(f"{part}/{whole}" for part, whole in pairs)))
        for name in row.lost:
            print(f"    lost with room: {name}")
    if options.json:
        options.json.write_bytes(msgspec.json.encode(rows))
    return rows


if __name__ == "__main__":
    main()
