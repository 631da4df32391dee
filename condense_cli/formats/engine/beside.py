"""Handle what a file holds besides the conversation: copies of its texts, and values that only a client shows.

The model never sees them. Where a pass cut something, its copies are cut too, or the file would keep what was to be
left out; each becomes a marker, and everything around it stays. Copies of texts that are still in the conversation
stay, unless `--slim` asks for markers in their place.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import PREFIXES, Gap, gaps_in, parse_gap, short_hash
from ...core.transcript import Block, JsonPath, Message, Place, Slimmed, Transcript
from ...core.values import BlockKind
from ...toolcalls import tools
from ...toolcalls.tools import arguments_of, string_values
from .base import Beside, DisplayValue, Format, RecordEdits, Values
from .writing import gone_records

Shown = tuple[int, JsonPath, Any]
"""A value that may repeat texts of the conversation: its record, its path there, and the value."""
Shows = Callable[[Transcript], Iterable[Shown]]

_LONG: Final = 200
"""Characters. A marker is not worth it for shorter texts, which may also repeat another by chance."""


def copies(shows: Shows) -> Beside:
    """Describe values that repeat texts of the conversation, anywhere in their strings."""

    def cut(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
        shown = iter(_strings(transcript, shows))
        first = next(shown, None)
        markers = _markers(transcript) if first else {}
        if not first or not markers:
            return
        kept = _Texts(block.text for _, block in transcript.blocks() if not block.changed)
        known: dict[str, str] = {}  # Logs repeat the same texts step by step.
        for record, path, text in chain([first], shown):
            if record in gone:
                continue
            if text not in known:
                known[text] = text if text in kept else _without(text, markers)
            if known[text] != text:
                edits[record][path] = style.literal(known[text])

    def shown(transcript: Transcript) -> Iterator[DisplayValue]:
        said = _Texts(block.text for _, block in transcript.blocks())
        for record, path, text in _strings(transcript, shows):
            if text in said:
                yield DisplayValue(Place(record, path), "result_copies", text)

    return Beside(cut, shown)


def copies_of_results(beside: JsonPath) -> Beside:
    """Describe strings at the path `beside` of a result's owner that repeat lines of that result."""

    def cut(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
        for record, value, blocks in results(transcript, only_changed=True):
            for block in blocks:
                old = text_at(value, block.place.path)
                if set(gaps_in(block.text)) <= set(gaps_in(old)):
                    continue  # Nothing was cut: lines became references, or came back.
                for path, text in repeated(value, block, known_lines(old)):
                    edits[record][path] = style.literal(marker_of(text, block.text))

    def shown(transcript: Transcript) -> Iterator[DisplayValue]:
        for record, value, blocks in results(transcript):
            for block in blocks:
                known = known_lines(text_at(value, block.place.path)) | known_lines(block.text)
                for path, text in repeated(value, block, known):
                    yield DisplayValue(Place(record, path), "result_copies", text)

    def results(transcript: Transcript, *, only_changed: bool = False) -> Iterator[tuple[int, Any, list[Block]]]:
        """Yield each record that holds results, its value and their blocks."""
        found: dict[int, list[Block]] = defaultdict(list)
        for _, block in transcript.blocks():
            if block.kind is BlockKind.TOOL_RESULT and (block.changed or not only_changed):
                found[block.place.record].append(block)
        for record in sorted(found):
            yield record, json_text.parse(transcript.source.raw(record)), found[record]

    def repeated(value: Any, block: Block, known: set[str]) -> Iterator[tuple[JsonPath, str]]:
        *above, last = path = (*block.owner, *beside)
        for key in above:
            value = value[key]
        return ((where, text) for where, text in long_strings(value.get(last), path) if repeats_lines(text, known))

    return Beside(cut, shown)


def values_beside(transcript: Transcript) -> Iterator[Shown]:
    """Yield the values of a file that are outside of its list of messages."""
    source = transcript.source
    for record in range(source.listed, len(source.spans)):
        yield record, (), json_text.parse(source.view(record))


def values_under(key: str) -> Shows:
    """Return a function that yields the values under a key of the messages."""
    spelled = json.dumps(key).encode()

    def shows(transcript: Transcript) -> Iterator[Shown]:
        source = transcript.source
        for record in range(source.listed):
            if record not in source.unparsed and spelled in source.raw(record):
                yield record, (key,), json_text.parse(source.view(record)).get(key)

    return shows


class _Texts:
    """Long texts, to look up whether one of them contains another text."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = {text for text in texts if len(text) >= _LONG}
        self._answers: dict[str, bool] = {}

    def __contains__(self, text: str) -> bool:
        if text not in self._answers:
            bare = text.strip()
            self._answers[text] = any(bare in one for one in self._texts)
        return self._answers[text]


def _strings(transcript: Transcript, shows: Shows) -> Iterator[tuple[int, JsonPath, str]]:
    for record, path, value in shows(transcript):
        for where, text in long_strings(value, path):
            yield record, where, text


def _without(text: str, markers: dict[str, str]) -> str:
    """Replace cut texts by their `markers`; a text that is part of a cut one becomes its marker."""
    bare = text.strip()
    for old, marker in markers.items():
        if old in text:
            text = text.replace(old, marker)
        elif bare and bare in old:
            return marker
    return text


def _markers(transcript: Transcript) -> dict[str, str]:
    """Return a marker for each text of the source that is no longer there whole, keyed by the text, longest first."""
    values = Values(transcript.source)
    pairs: list[tuple[str, str | None]] = []
    for _, block in transcript.blocks():
        if block.changed and not block.is_inserted:
            pairs += _changes(block, values)
    for block in transcript.removed:
        if block.kind is not BlockKind.THINKING:
            pairs += ((old, None) for old, _ in _changes(block, values))
    markers: dict[str, str] = {}
    for old, new in sorted(pairs, key=lambda pair: -len(pair[0])):
        if len(old) >= _LONG and (new is None or _is_cut(old, new)):
            gap = parse_gap(new) if new else None
            marker = str(gap or Gap(short_hash(old), old.count("\n") + (not old.endswith("\n"))))
            # Arguments are repeated as JSON in a string as well.
            for spelled in (old, *(json.dumps(old, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))):
                markers[spelled] = marker
    return markers


def _is_cut(old: str, new: str) -> bool:
    """Return whether something was left out; references leave nothing out. A marker may follow a word on its line."""
    marks = [sum(map(text.count, PREFIXES)) for text in (old, new)]
    return bool(set(gaps_in(new)) - set(gaps_in(old))) or marks[1] > marks[0]


def _changes(block: Block, values: Values) -> Iterator[tuple[str, str]]:
    """Yield each text that a block had in its file with the text that it has now; of a call, its arguments."""
    try:
        value = values(block.place.record, block.place.path)
    except (LookupError, TypeError):  # A result that has no content.
        return
    if block.kind is not BlockKind.TOOL_CALL or block.span:
        olds = [value[slice(*block.span)]] if block.span else [text for _, text in string_values(value)]
        yield from ((old, block.text) for old in olds)
        return
    old = value
    if isinstance(value, str) and not block.is_object:
        try:
            old = json_text.parse_text(value)
        except (ValueError, RecursionError):
            old = value
    new = dict(string_values(arguments_of(block)))
    listed = tools.path_of(block)
    # Of a list that was left out one todo is there, with its marker.
    gone = str((listed and tools.gap_of(tools.value_of(block, listed))) or "")
    yield from ((text, new.get(path, gone)) for path, text in string_values(old))


FAILED: Final = "Error: "
"""Claude Code writes this before some texts that it shows."""

_LINE_NUMBER: Final = lazy_pattern(r"^\s*\d+(?:[→\t]|[|:] ?)")


def known_lines(text: str) -> set[str]:
    """Return the lines of a text, with and without line numbers."""
    lines = list(map(str.rstrip, text.split("\n")))
    return {
        *lines,
        *(line[match.end() :] for line, match in zip(lines, map(_LINE_NUMBER.match, lines), strict=True) if match),
    }


def repeats_lines(text: str, known: set[str]) -> bool:
    """Return whether all lines of a text are known."""
    return known.issuperset(map(str.rstrip, text.removeprefix(FAILED).split("\n")))


def marker_of(repeat: str, result: str) -> str:
    """Return the marker for a text that repeats a result. Takes over the hash of the marker in `result`, if any."""
    gaps = [gap for gap in gaps_in(result) if not gap.is_image]
    lines = repeat.count("\n") + 1
    return str(Gap(gaps[0].hash if gaps else short_hash(repeat), lines))


def text_at(value: Any, path: JsonPath) -> str:
    for key in path:
        value = value[key]
    return str(value)


def long_strings(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """Yield the strings inside the value at `path` that are long enough for a marker, each with its path."""
    return ((where, text) for where, text in string_values(value, path) if len(text) >= _LONG)


def slimmed(transcript: Transcript, plain: tuple[Message, ...], form: Format) -> Iterator[Slimmed]:
    """Yield the values that `--slim` leaves out of the records that stay.

    `plain` are the messages of the transcript without references.
    """
    if form.shown is None:
        return
    source = transcript.source
    style = json_text.Style.of(source.data)
    keeps_all = form.compaction is not None and transcript.has_new_summary
    gone = frozenset() if keeps_all else gone_records(transcript)
    shown = form.shown(replace(transcript, messages=plain))
    for record, values in groupby(shown, lambda value: value.place.record):
        if record in gone:
            continue
        literals = {value.place.path: (value, _literal(value, style)) for value in values}
        text = json_text.decode(source.raw(record))
        for path, (start, end) in json_text.locate(text, literals).items():
            value, literal = literals[path]
            saved = len(json_text.encode(text[start:end])) - len(json_text.encode(literal))
            yield Slimmed(value.place, value.kind, literal, saved)


def _literal(value: DisplayValue, style: json_text.Style) -> str:
    if value.text is None:
        return "[]"
    digest = short_hash(value.text)
    gap = Gap(digest, is_image=True) if value.is_image else Gap(digest, value.text.count("\n") + 1)
    return style.literal(str(gap))
