"""Measure how much the lossless prelude saves on real transcripts, compared with two simpler rules.

    python benchmarks/prelude.py                      the transcripts in ../shared/transcripts
    python benchmarks/prelude.py session.jsonl more/  these files, and the files in these folders

Percentages are of the context tokens, the cost of markers included:

    results         the prelude with its defaults
    and parameters  with `tool_parameters: true` too
    duplicates      an older tool result whose text equals a newer one becomes a marker
    same path       an older read becomes a marker once a newer call reads the same path

The last rule loses content if the file changed or the newer call read another part. `lost` counts removed reads that
showed a line of the file found nowhere in the rest, ignoring line numbers, blanks around lines, and the client's own
words. A marker of the simpler rules is the reference that the prelude would write, so it costs the same, and they also
leave alone what would not shrink.

The prelude runs through `api.condense` as in `condense run`: no passes, `keep_first: 0`, and `thinking: keep` if the
recorded model binds thinking, because otherwise everything before it would stay. Results are written (if the format can
be), read back and decoded; status 1 if a text differs. Unreadable files are counted and skipped.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct
from recorded import TRANSCRIPTS, files_in

from condense_cli import api
from condense_cli.config.models import Configuration, Prelude
from condense_cli.core.markers import short_hash
from condense_cli.core.transcript import Block, Message, Transcript, calls_by_id
from condense_cli.core.values import BlockKind
from condense_cli.errors import CondenseError, UsageError
from condense_cli.lossless.decode import Decoded, decode
from condense_cli.lossless.lines import Lines, read_lines
from condense_cli.lossless.references import Addresses, Reference, TextPlace
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.tokens.models import binds_thinking
from condense_cli.toolcalls.tools import (
    arguments_of,
    has_failed,
    main_argument,
    path_argument,
    reads_a_file,
    string_values,
)

FOLDERS: Final = ("claude-code", "roo-code", "cline", "openhands-completions", "derived", "swe-agent")
LONG: Final = 40
"""A session of Claude Code is worth condensing from this many messages on."""

CLAUDE_CODE: Final = f"Claude Code, {LONG} messages or more"
OPENHANDS: Final = "OpenHands completions"
SWE_AGENT: Final = "SWE-agent histories"
ROO: Final = "Roo Code and Cline"
OTHERS: Final = "others"
GROUPS: Final = (CLAUDE_CODE, OPENHANDS, SWE_AGENT, ROO, OTHERS)


class Row(Struct, frozen=True):
    """Figures of one file or of a group."""

    name: str
    files: int
    messages: int
    tokens: int
    results: int
    """Tokens saved by the prelude; the following fields likewise."""
    parameters: int
    duplicates: int
    same_path: int
    reads: int
    """Reads removed by the rule of the same path, and those whose content was lost."""
    lost: int
    references: int
    """References written and decoded, parameters included."""


class NotLosslessError(Exception):
    """A text did not come back."""


def group_of(path: Path, transcript: Transcript) -> str:
    if transcript.format == "claude-code" and len(transcript.messages) >= LONG:
        return CLAUDE_CODE
    if path.parent.name == "openhands-completions":
        return OPENHANDS
    return {"swe-agent": SWE_AGENT, "roo": ROO}.get(transcript.format, OTHERS)


def measured(path: Path, transcript: Transcript) -> Row:
    count = Counter(encoding_for(transcript.model).name)
    tokens = count.transcript(transcript)
    results, _ = with_prelude(transcript, count, tool_parameters=False)
    parameters, references = with_prelude(transcript, count, tool_parameters=True)
    duplicates = duplicate_results(transcript.messages)
    reads = older_reads(transcript.messages)
    same_path = savings(transcript.messages, reads, count)
    return Row(
        path.name,
        1,
        len(transcript.messages),
        tokens,
        tokens - results,
        tokens - parameters,
        sum(savings(transcript.messages, duplicates, count).values()),
        sum(same_path.values()),
        len(same_path),
        lost_reads(transcript.messages, same_path.keys()),
        references,
    )


def with_prelude(transcript: Transcript, count: Counter, *, tool_parameters: bool) -> tuple[int, int]:
    """Return tokens after the prelude alone, and the number of references. Raises NotLosslessError."""
    configuration = Configuration(
        keep_first=0,
        thinking="keep" if binds_thinking(transcript.model) else "auto",
        lossless_prelude=Prelude(enabled=True, tool_parameters=tool_parameters),
    )
    condensation = api.condense(transcript, configuration, counter=count)
    try:
        written = api.loads(api.dump(condensation), format=transcript.format)
    except UsageError:  # The format is read-only.
        written = condensation.transcript
    before, after = decode(transcript.messages), decode(written.messages)
    if texts_of(before) != texts_of(after) or after.unresolved != before.unresolved:
        raise NotLosslessError
    return count.transcript(condensation.transcript), after.resolved - before.resolved


def texts_of(decoded: Decoded) -> list[object]:
    """List everything in the messages. Arguments count as values, whatever their JSON style."""
    return [
        (message.role, block.kind, block.tool, (arguments_of(block) if is_call(block) else None) or block.text)
        for message in decoded.messages
        for block in message.blocks
    ]


def is_call(block: Block) -> bool:
    return block.kind is BlockKind.TOOL_CALL


def results_in(messages: Sequence[Message]) -> Iterator[tuple[TextPlace, Block]]:
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_RESULT:
                yield TextPlace(position, number), block


def duplicate_results(messages: Sequence[Message]) -> dict[TextPlace, TextPlace]:
    """Map results to the newest one with equal text."""
    newest = {block.text: place for place, block in results_in(messages)}
    return {place: newest[block.text] for place, block in results_in(messages) if newest[block.text] != place}


def older_reads(messages: Sequence[Message]) -> dict[TextPlace, TextPlace]:
    """Map reads of a path to the newest read of it, ignoring failed ones."""
    calls = calls_by_id(messages)
    reads: dict[str, list[TextPlace]] = {}
    for place, block in results_in(messages):
        call = calls.get(block.answers or "")
        if call is not None and reads_a_file(call) and not has_failed(block):
            reads.setdefault(path_argument(call) or main_argument(call), []).append(place)
    older: dict[TextPlace, TextPlace] = {}
    for places in reads.values():
        newest = block_at(messages, places[-1]).answers
        older |= {place: places[-1] for place in places if block_at(messages, place).answers != newest}
    return older


def savings(messages: Sequence[Message], targets: dict[TextPlace, TextPlace], count: Counter) -> dict[TextPlace, int]:
    """Return the results that a marker makes smaller, with the tokens saved."""
    addresses = Addresses(messages)
    saved = {}
    for place, target in targets.items():
        text = block_at(messages, place).text
        marker = str(Reference("", addresses.address(place, target), short_hash(text)))
        if count(marker) < count(text):
            saved[place] = count(text) - count(marker)
    return saved


def lost_reads(messages: Sequence[Message], removed: Iterable[TextPlace]) -> int:
    """Count removed results that showed a line of a file found nowhere in the rest."""
    gone = set(removed)
    left = {
        line
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if TextPlace(position, number) not in gone
        for text in values_in(block)
        for line in lines_in(read_lines(text))
    }
    return sum(not shown_by(block_at(messages, place)) <= left for place in gone)


def values_in(block: Block) -> list[str]:
    return [value for _, value in string_values(arguments_of(block))] if is_call(block) else [block.text]


def shown_by(result: Block) -> set[str]:
    """Return the lines of the file; if some are numbered, the others are the client's words."""
    lines = read_lines(result.text)
    return lines_in(lines, lines.shape.is_numbered if lines.shape.listings else lambda _: True)


def lines_in(lines: Lines, wanted: Callable[[int], bool] = lambda _: True) -> set[str]:
    """Return non-blank lines, without the numbers of listings."""
    return {key.strip() for position, key in enumerate(lines.keys) if wanted(position) and key.strip()}


def block_at(messages: Sequence[Message], place: TextPlace) -> Block:
    return messages[place.message].blocks[place.block]


def total(name: str, rows: Sequence[Row]) -> Row:
    fields = Row.__struct_fields__[1:]
    return Row(name, *(sum(getattr(row, field) for row in rows) for field in fields))


def percent(saved: int, tokens: int) -> str:
    return f"{100 * saved / tokens:.1f}%" if tokens else "-"


def line(row: Row) -> str:
    shares = (row.results, row.parameters, row.duplicates, row.same_path)
    return (
        f"{row.name[-48:]:<48} {row.messages:>8,} {row.tokens:>9,}"
        + "".join(f"{percent(saved, row.tokens):>11}" for saved in shares)
        + f"{row.lost:>8} of {row.reads}"
    )


HEADER: Final = (
    f"{'':<48} {'messages':>8} {'tokens':>9}{'results':>11}{'and param.':>11}{'duplicates':>11}{'same path':>11}"
    f"{'lost':>8} of its reads"
)


def markdown(rows: Sequence[Row]) -> str:
    lines = [
        "| transcripts | files | messages | tokens "
        "| prelude | with tool parameters | equal results | older reads | lost |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in rows:
        shares = (row.results, row.parameters, row.duplicates, row.same_path)
        cells = [row.name, str(row.files), f"{row.messages:,}", f"{row.tokens:,}"]
        cells += [percent(saved, row.tokens) for saved in shares]
        lines.append(f"| {' | '.join([*cells, f'{row.lost} of {row.reads}'])} |")
    return "\n".join(lines)


def recorded() -> list[Path]:
    """Return the folders of recorded transcripts beside the project."""
    return [TRANSCRIPTS / name for name in FOLDERS if (TRANSCRIPTS / name).is_dir()]


def grouped(paths: Sequence[Path]) -> tuple[dict[str, list[Row]], list[str]]:
    """Return rows by group, and names of unreadable files. Exits if a text is lost."""
    groups: dict[str, list[Row]] = {}
    skipped: list[str] = []
    for path in files_in(paths):
        try:
            transcript = api.load(path)
        except CondenseError:
            skipped.append(path.name)
            continue
        try:
            row = measured(path, transcript)
        except NotLosslessError:
            sys.exit(f"{path}: a text did not come back when it was decoded.")
        groups.setdefault(group_of(path, transcript), []).append(row)
    return groups, skipped


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure what the lossless prelude saves on transcripts.")
    parser.add_argument("paths", type=Path, nargs="*", help="files and folders (default: ../shared/transcripts)")
    parser.add_argument("--markdown", action="store_true", help="only the totals, as a table for the documentation")
    options = parser.parse_args(arguments)
    paths = options.paths or recorded()
    if not paths:
        parser.error("There are no transcripts beside the project: name files or folders.")
    groups, skipped = grouped(paths)
    totals = [total(name, groups[name]) for name in GROUPS if name in groups]
    if options.markdown:
        print(markdown(totals))
        return
    print(HEADER)
    for summary in totals:
        rows = groups[summary.name]
        print("\n".join(["", summary.name, *map(line, rows), line(total(f"in all, {len(rows)}", rows))]))
    everything = total("", totals)
    print(f"\nEvery text came back: {everything.references:,} references in {everything.files} files were decoded.")
    if skipped:
        print(f"Skipped, as they cannot be read: {len(skipped)} ({', '.join(skipped)})")


if __name__ == "__main__":
    main()
