"""A file while it is mended: its transcript, where its records came from, and what was changed so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..core import json_text
from ..core.transcript import Block, BlockKey, JsonPath, Transcript
from ..core.values import Container
from ..errors import TranscriptError
from ..formats.engine import writing
from ..formats.engine.base import Format, RecordEdits
from ..rules import validity


class Change(Struct, frozen=True):
    """One change. `line` counts from 1 in the file as it came, null for what is new; `why` is what was wrong."""

    rule: str
    line: int | None
    said: str
    why: str


class BrokenRule(Struct, frozen=True):
    """A broken rule of the API or the client. `message` is an index, `record` a number; `about` names call or block."""

    rule: str
    said: str
    message: int | None = None
    record: int | None = None
    about: str = ""


class Origin(Struct, frozen=True):
    """Where a record came from: its line, None if it is new. Of one that `is_touched`, the model reads something else
    than before at its place."""

    line: int | None
    is_touched: bool = False


class UnmendableError(TranscriptError):
    """The file cannot be mended without a guess; nothing is written."""


class Fragment(Struct, frozen=True):
    """The text of a line that was removed because it is not JSON, and how many records were before it."""

    text: str
    before: int


NO_RESULT: Final = "[The result of this call is missing: the session was damaged or interrupted before it was written.]"
Edits = dict[int, dict[JsonPath, str | None]]
"""New values by record and path."""
NO_EDITS: Final[RecordEdits] = {}
NO_RECORDS: Final[Mapping[int, Sequence[str]]] = {}


class Draft(Struct, frozen=True):
    """The file so far. `origins` has an entry for each record; `fragments` are lines that could not be read."""

    transcript: Transcript
    origins: tuple[Origin, ...]
    changes: tuple[Change, ...] = ()
    fragments: tuple[Fragment, ...] = ()

    @property
    def form(self) -> Format:
        return formats.format_named(self.transcript.format)

    def line(self, record: int) -> int | None:
        return self.origins[record].line if record < len(self.origins) else None

    def change(self, fault: BrokenRule, record: int, said: str) -> Change:
        return Change(fault.rule, self.line(record), said, fault.said)

    def blocks_of(self, faults: Iterable[BrokenRule]) -> list[tuple[Block, BrokenRule]]:
        """Return the blocks that faults are about."""
        about = {fault.about: fault for fault in faults}
        return [(block, fault) for _, block in self.transcript.blocks() if (fault := about.get(str(block.place)))]

    def faults(self) -> list[BrokenRule]:
        """Return what `condense validate` finds, notes left out."""
        of_api = [
            BrokenRule(each.rule, each.said, message=each.message, about=each.about)
            for each in validity.validate_input(self.transcript)
        ]
        of_file = [
            BrokenRule(each.rule, each.said, record=each.record)
            for rule in self.form.rules
            if not rule.is_note
            for each in rule(self.transcript)
            if not each.is_note
        ]
        return of_api + of_file

    def edited(
        self,
        changes: Iterable[Change],
        *,
        edits: Mapping[int, Mapping[JsonPath, str | None]] = NO_EDITS,
        gone: Iterable[int] = (),
        behind: Mapping[int, Sequence[str]] = NO_RECORDS,
        is_sent: bool = True,
    ) -> Draft | None:
        """Exchange values of records, take records out, and add the texts of new ones `behind` others (-1: first).

        `is_sent` says that the model reads something else than what it read when it answered.
        """
        source = self.transcript.source
        gone = frozenset(gone)
        if behind and source.container is Container.LINES and any(b"\n" in source.raw(max(each, 0)) for each in behind):
            return None  # One value over many lines: no other goes behind it.
        between = _between(self.transcript)
        texts: dict[int, bytes] = {}
        for record in {*edits, *(max(record, 0) for record in behind)} - gone:
            text = source.raw(record)
            if found := edits.get(record):
                text = json_text.encode(json_text.splice(json_text.decode(text), found))
            before = behind.get(-1, ()) if record == 0 else ()
            after = behind.get(record, ())
            texts[record] = between.join([*map(json_text.encode, before), text, *map(json_text.encode, after)])
        data = writing.join(source, texts, texts.__getitem__, gone)
        return self._anew(data, self._origins_after(edits, gone, behind, is_sent=is_sent), changes)

    def reordered(self, order: Sequence[int], changes: Iterable[Change]) -> Draft:
        """Put the records in another order: the place of each number gets the record that `order` has there."""
        source = self.transcript.source
        moved = {place: source.raw(record) for place, record in enumerate(order) if place != record}
        data = writing.join(source, moved, moved.__getitem__, frozenset())
        origins = [self.origins[record] for record in order]
        return self._anew(data, [*origins, *self.origins[len(order) :]], changes)

    def without(self, blocks: Iterable[Block], changes: Iterable[Change], *, is_sent: bool = True) -> Draft:
        """Remove blocks, with all that belongs to the same part of a record. Raises UsageError for a format that is
        only read."""
        transcript = self.transcript
        formats.check_writable(transcript)
        owners = {(block.place.record, block.owner) for block in blocks}
        messages = []
        removed = []
        for message in transcript.messages:
            left = tuple(block for block in message.blocks if (block.place.record, block.owner) not in owners)
            removed += [block for block in message.blocks if (block.place.record, block.owner) in owners]
            if left or not message.blocks:
                messages.append(replace(message, blocks=left))
        meant = replace(transcript, messages=tuple(messages), removed=tuple(removed))
        form = self.form
        gone = form.going(meant, writing.gone_records(meant))
        touched = {record for record, _ in owners}
        return self._anew(writing.write(meant, form), self._origins_after(touched, gone, is_sent=is_sent), changes)

    def exchanged(self, blocks: Mapping[BlockKey, Block], changes: Iterable[Change]) -> Draft:
        """Put other blocks in the places of some. Raises UsageError for a format that is only read."""
        formats.check_writable(self.transcript)
        messages = tuple(
            replace(message, blocks=tuple(blocks.get(block.key, block) for block in message.blocks))
            for message in self.transcript.messages
        )
        data = writing.write(replace(self.transcript, messages=messages), self.form)
        touched = {block.place.record for block in blocks.values()}
        return self._anew(data, self._origins_after(touched, is_sent=True), changes)

    def _origins_after(
        self,
        touched: Collection[int],
        gone: Collection[int] = (),
        behind: Mapping[int, Sequence[str]] = NO_RECORDS,
        *,
        is_sent: bool,
    ) -> list[Origin]:
        """Return the origins of the records that stay and of new ones. What is touched at a removed one is touched at
        the next."""
        origins = [Origin(None, is_sent) for _ in behind.get(-1, ())]
        is_next_touched = False
        for record, origin in enumerate(self.origins):
            if record in gone:
                is_next_touched = is_next_touched or is_sent or origin.is_touched
            else:
                is_touched = origin.is_touched or is_next_touched or (is_sent and record in touched)
                origins.append(Origin(origin.line, is_touched))
                is_next_touched = False
            origins += [Origin(None, is_sent) for _ in behind.get(record, ())]
        return origins

    def _anew(self, data: bytes, origins: Sequence[Origin], changes: Iterable[Change]) -> Draft:
        transcript = formats.parse(data, name="the mended file", format=self.transcript.format, is_own=True)
        records = len(transcript.source.spans)
        new = [Origin(None, True)] * max(0, records - len(origins))
        return Draft(transcript, tuple([*origins, *new][:records]), (*self.changes, *changes), self.fragments)


def _between(transcript: Transcript) -> bytes:
    """Return what separates two records of the file."""
    source = transcript.source
    spans = source.spans[: source.listed]
    if source.container is Container.LINES:
        end = spans[0][1] if spans else 0
        return b"\r\n" if source.data[end : end + 1] == b"\r" else b"\n"
    return source.data[spans[0][1] : spans[1][0]] if len(spans) > 1 else b","
