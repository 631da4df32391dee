"""A condensed rollout in the place of the old one, with each record where it was.

Codex keeps the turns that it lists in `~/.codex/thread_history_1.sqlite`, and with them up to which byte and which
`ordinal` of the rollout it has read, and where turns begin and end. It reads on from that byte: in a shorter file it
finds nothing there, and lists no later turn (tried with Codex CLI 0.171). Files with no ordinals have no such index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import OutputError
from ..engine.container import open_document


class _Numbered(NamedTuple):
    """A record: its ordinal, how many before it have the same, and its span."""

    ordinal: int | None
    again: int
    start: int
    end: int


def in_old_places(old: bytes, new: bytes) -> bytes:
    """The new bytes of a file, with blanks behind its records so that each begins where it did and the last one that
    has an ordinal ends there. What is new follows.

    A record that has grown begins earlier. Raises OutputError where that does not do.
    """
    before, after = list(_numbered(old)), list(_numbered(new))
    numbered = [number for number, each in enumerate(before) if each.ordinal is not None]
    if not numbered:
        return new
    known = before[: numbered[-1] + 1]
    stop = before[len(known)].start if len(known) < len(before) else len(old) + (not old.endswith(b"\n"))
    starts = {each[:2]: each.start for each in known}
    last = next((number for number, each in enumerate(after) if each[:2] == known[-1][:2]), -1)
    pieces = [new[after[last + 1].start :]] if last + 1 < len(after) else []
    for number in range(last, -1, -1):
        each = after[number]
        latest = stop - (each.end - each.start) - 1
        start = min(starts.get(each[:2], latest), latest)
        pieces += [b"\n", b" " * (latest - start), new[each.start : each.end]]
        stop = start
    if stop:
        raise OutputError(
            "Codex has noted where the records of this session are, and they would be elsewhere.",
            "Nothing was changed. Use --new-session instead.",
        )
    return b"".join(reversed(pieces))


def _numbered(data: bytes) -> Iterator[_Numbered]:
    document = open_document(data, "", lenient=True)
    seen: Counter[int | None] = Counter()
    for value, (start, end) in zip(document.values, document.source.spans, strict=True):
        ordinal = value.get("ordinal") if isinstance(value, dict) else None
        ordinal = ordinal if isinstance(ordinal, int) else None
        yield _Numbered(ordinal, seen[ordinal], start, end)
        seen[ordinal] += 1
