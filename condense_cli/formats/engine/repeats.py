"""Find texts of a conversation that its file holds a second time, and let them go with the first.

The model never sees the copies. Where a pass left something out, its copies go too, or the file would keep what
was to be left out; each becomes a marker, and everything around it stays. Copies of what still stands stay.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Final

from ...core import json_text
from ...core.markers import PREFIXES, Gap, gaps_in, parse_gap, short_hash
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import BlockKind
from ...toolcalls import tools
from ...toolcalls.tools import arguments_of, string_values
from .base import Complete, DisplayValue, DisplayValues, RecordEdits, Values
from .writing import known_lines, long_strings, marker_of, repeats_lines

Shown = tuple[int, JsonPath, Any]
"""A value that may repeat texts of the conversation: its record, its path there, and the value."""
Shows = Callable[[Transcript], Iterable[Shown]]

_LONG: Final = 200
"""Texts of fewer characters are not worth a marker, and may repeat another by chance."""


def completing(shows: Shows) -> Complete:
    """What follows from the edits of a format whose files repeat the conversation in what it `shows`."""

    def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
        shown = iter(_strings(transcript, shows))
        first = next(shown, None)
        cut = _left_out(transcript) if first else {}
        if not first or not cut:
            return
        kept = _Texts(block.text for _, block in transcript.blocks() if not block.changed)
        known: dict[str, str] = {}  # Logs repeat the same texts step by step.
        for record, path, text in chain([first], shown):
            if record in gone:
                continue
            if text not in known:
                known[text] = text if text in kept else _without(text, cut)
            if known[text] != text:
                edits[record][path] = style.literal(known[text])

    return complete


def displaying(shows: Shows) -> DisplayValues:
    """What of the same values can be left out of the file: texts that stand in the conversation."""

    def display(transcript: Transcript) -> Iterator[DisplayValue]:
        said = _Texts(block.text for _, block in transcript.blocks())
        for record, path, text in _strings(transcript, shows):
            if text in said:
                yield DisplayValue(Place(record, path), "result_copies", text)

    return display


def values_beside(transcript: Transcript) -> Iterator[Shown]:
    """The values of a file that stand beside the conversation."""
    source = transcript.source
    for record in range(source.listed, len(source.spans)):
        yield record, (), json_text.parse(source.view(record))


def values_under(key: str) -> Shows:
    """What shows the values that stand under a key of the messages themselves."""
    spelled = json.dumps(key).encode()

    def shows(transcript: Transcript) -> Iterator[Shown]:
        source = transcript.source
        for record in range(source.listed):
            if record not in source.unparsed and spelled in source.raw(record):
                yield record, (key,), json_text.parse(source.view(record)).get(key)

    return shows


class _Texts:
    """Long texts, asked whether one of them holds another text."""

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


def _without(text: str, cut: dict[str, str]) -> str:
    """A text without what was left out. `cut` are markers by the texts that they stand for."""
    bare = text.strip()
    for old, marker in cut.items():
        if old in text:
            text = text.replace(old, marker)
        elif bare and bare in old:
            return marker
    return text


def _left_out(transcript: Transcript) -> dict[str, str]:
    """Texts of the source that are no longer there whole, each with a marker for it; the longest first."""
    values = Values(transcript.source)
    changed = (block for _, block in transcript.blocks() if block.changed and not block.is_inserted)
    pairs: list[tuple[str, str | None]] = [pair for block in changed for pair in _changes(block, values)]
    removed = (block for block in transcript.removed if block.kind is not BlockKind.THINKING)
    pairs += [(old, None) for block in removed for old, _ in _changes(block, values)]
    cut: dict[str, str] = {}
    for old, new in sorted(pairs, key=lambda pair: -len(pair[0])):
        if len(old) >= _LONG and (new is None or _is_cut(old, new)):
            gap = parse_gap(new) if new else None
            marker = str(gap or Gap(short_hash(old), old.count("\n") + (not old.endswith("\n"))))
            # Arguments are repeated as JSON in a string as well.
            for spelled in (old, *(json.dumps(old, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))):
                cut[spelled] = marker
    return cut


def _is_cut(old: str, new: str) -> bool:
    """Whether something was left out. Lines that a reference names were not; a marker may stand behind a word."""
    return bool(set(gaps_in(new)) - set(gaps_in(old))) or _marks(new) > _marks(old)


def _marks(text: str) -> int:
    return sum(map(text.count, PREFIXES))


def _changes(block: Block, values: Values) -> Iterator[tuple[str, str]]:
    """The texts that a block had in its file, each with what it is now; of a call those of its arguments."""
    try:
        value = values(block.place.record, block.place.path)
    except (LookupError, TypeError):  # A result that has no content.
        return
    if block.kind is not BlockKind.TOOL_CALL or block.span:
        olds = [value[slice(*block.span)]] if block.span else [text for _, text in string_values(value)]
        yield from ((old, block.text) for old in olds)
        return
    old = value if block.is_object else _parsed(value)
    new = dict(string_values(arguments_of(block)))
    listed = tools.path_of(block)
    # Of a list that was left out one todo is there, with its marker.
    gone = str((listed and tools.gap_of(tools.value_of(block, listed))) or "")
    yield from ((text, new.get(path, gone)) for path, text in string_values(old))


def _parsed(text: Any) -> Any:
    try:
        return json_text.parse_text(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def shorten(transcript: Transcript, edits: RecordEdits, style: json_text.Style, beside: JsonPath) -> None:
    """Add edits for strings that repeat a result which was shortened; they stand at the path `beside` of its owner."""
    changed: dict[int, list[Block]] = defaultdict(list)
    for _, block in transcript.blocks():
        if block.changed and block.kind is BlockKind.TOOL_RESULT:
            changed[block.place.record].append(block)
    for record, blocks in changed.items():
        value = json_text.parse(transcript.source.raw(record))
        for block in blocks:
            old = _at(value, block.place.path)
            if set(gaps_in(block.text)) <= set(gaps_in(old)):
                continue  # Nothing was left out: lines are said by reference, or restored.
            known = known_lines(old)
            for path, text in _beside(value, (*block.owner, *beside)):
                if repeats_lines(text, known):
                    edits[record][path] = style.literal(marker_of(text, block.text))


def display_values(transcript: Transcript, beside: JsonPath) -> Iterator[DisplayValue]:
    """Strings at the path `beside` of a result's owner that repeat the result."""
    blocks = [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_RESULT]
    found: dict[int, list[Block]] = defaultdict(list)
    for block in blocks:
        found[block.place.record].append(block)
    for record in sorted(found):
        value = json_text.parse(transcript.source.raw(record))
        for block in found[record]:
            known = known_lines(_at(value, block.place.path)) | known_lines(block.text)
            for path, text in _beside(value, (*block.owner, *beside)):
                if repeats_lines(text, known):
                    yield DisplayValue(Place(record, path), "result_copies", text)


def _at(value: Any, path: JsonPath) -> str:
    for key in path:
        value = value[key]
    return str(value)


def _beside(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    for key in path[:-1]:
        value = value[key]
    return long_strings(value.get(path[-1]), path)
