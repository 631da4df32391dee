"""Say what became of a conversation's context: each compaction and clearing that its file records.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from ...core import json_text
from ...core.factor import Factor
from ...core.tokens import Counter
from ...core.transcript import Message, Source, Transcript
from ...core.wording import plural
from ...formats.compacted import Compacted, CompactedStretch, CompactionKind, compactions, stretches
from ...ledger.collect import collect
from ...ledger.compaction import read_back
from ..sections import Table


class CompactionFacts(Struct, frozen=True):
    """A compaction or a clearing. `by` is condense, or the client with its model; `is_auto` is None if that is not in
    the file, and so are `before` (tokens) and what was lost if the file no longer holds what came before.

    `messages` were replaced, `results` cleared. Of `files` that were read or changed before nothing is named after it.
    """

    kind: str
    time: str | None
    by: str
    is_auto: bool | None
    before: int | None
    after: int | None
    messages: int | None = None
    results: int | None = None
    files: list[str] = []
    is_undone: bool = False


def compactions_of(transcript: Transcript, count: Counter, factor: Factor) -> list[CompactionFacts]:
    """List what the file records, in its order; nothing for formats of which it is not known."""
    found = compactions(transcript.source, transcript.format) or []
    made = [one for one in found if one.kind is not CompactionKind.CLEARED]
    facts = {
        stretch.compacted: _facts(stretch, transcript.source, count, factor) for stretch in stretches(transcript, made)
    }
    return [facts.get(one) or _cleared(one, transcript.source) for one in found]


def _facts(stretch: CompactedStretch, source: Source, count: Counter, factor: Factor) -> CompactionFacts:
    one, before = stretch.compacted, stretch.before
    texts = [block.text for message in stretch.after for block in message.blocks]
    said = one.said_before or (factor.shown(sum(map(count.message, before.messages))) if before else None)
    return CompactionFacts(
        one.kind.value,
        _time(source, one),
        "condense" if any(map(read_back, texts)) else "client",
        one.is_auto,
        said,
        None if stretch.is_undone else factor.shown(sum(map(count.message, stretch.after))),
        messages=len(before.messages) if before else None,
        files=[] if stretch.is_undone or before is None else [*_lost(before.messages, "\n".join(texts))],
        is_undone=stretch.is_undone,
    )


def _lost(before: tuple[Message, ...], after: str) -> Iterator[str]:
    ledger = collect(before)
    for entry in (*ledger.changed, *ledger.read):
        if entry.path.replace("\\", "/").rpartition("/")[2] not in after:
            yield entry.path


def _cleared(one: Compacted, source: Source) -> CompactionFacts:
    results = len(one.cleared) or None
    return CompactionFacts(
        one.kind.value, _time(source, one), "client", one.is_auto, one.said_before or None, None, results=results
    )


def _time(source: Source, one: Compacted) -> str | None:
    """Return the time of the first record that the client wrote for it, as it is in the file or by ISO 8601."""
    record = one.wrote.start
    value: Any = None if record in source.unparsed else json_text.parse(source.raw(record))
    if not isinstance(value, dict):
        return None
    time = value.get("timestamp", value.get("time", value.get("ts")))
    info = value.get("info")
    if time is None and isinstance(info, dict) and isinstance(info.get("time"), dict):
        time = info["time"].get("created")
    if isinstance(time, str):
        return time
    if isinstance(time, int | float) and 1e12 < time < 1e13:  # Milliseconds.
        return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None


def compactions_table(found: list[CompactionFacts]) -> Table:
    return Table(
        ("compaction", "when", "by", "before", "after", "lost"), [[*_row(each)] for each in found], (3, 4), flexible=5
    )


def _row(one: CompactionFacts) -> Iterator[str]:
    yield one.kind
    yield one.time[:16].replace("T", " ") if one.time else ""
    asked = {True: ", auto", False: ", manual", None: ""}[one.is_auto]
    yield f"{one.by}{asked}"
    for tokens in (one.before, one.after):
        yield "" if tokens is None else f"{tokens:,}"
    if one.is_undone:
        yield "taken back"
    elif one.kind == CompactionKind.CLEARED:
        yield plural(one.results, "result") if one.results else "old results"
    elif one.messages is None:
        yield "what came before is not in the file"
    else:
        yield f"{plural(one.messages, 'message')}, {plural(len(one.files), 'file')}"
