"""What other commands do to each row: undo references, check the rules, see what fills it."""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import Struct, field

from .. import api
from ..exchanges import calls_by_id
from ..report.inspection import content_type
from ..report.validation import check
from ..tokens import MESSAGE_TOKENS
from ..transcript import BlockKind, Transcript
from .condensing import Counters
from .tally import TOLD, Summable, Tally

_LARGEST: Final = 100


class Restored(Summable):
    """What restoring rows came to; the words are those of `api.Restoration`."""

    resolved: int = 0
    unresolved: int = 0
    elsewhere: int = 0
    gaps: int = 0


def restore_row(transcript: Transcript, tally: Tally, found: Restored) -> bytes | None:
    """The new bytes of a row's conversation, None where it holds no reference."""
    result = api.restore(transcript)
    found.resolved += result.resolved
    found.unresolved += result.unresolved
    found.elsewhere += result.elsewhere
    found.gaps += result.gaps
    tally.changed += result.transcript.is_changed
    return api.dump(result) if result.transcript.is_changed else None


class RowFault(Struct, frozen=True):
    """A broken rule of an API: the row, as its line from 1, and the message in it."""

    line: int
    message: int | None
    rule: str
    said: str


class Checked(Summable):
    """`faulty` rows break a rule; `rules` counts how often which one. Not every fault is in the list."""

    faulty: int = 0
    faults: int = 0
    rules: Counter[str] = field(default_factory=Counter)
    listed: list[RowFault] = field(default_factory=list)


def check_row(transcript: Transcript, line: int, tally: Tally, found: Checked) -> None:
    """Note what is wrong with the row in a line."""
    result = check(transcript, source="")
    tally.messages_before += result.messages
    tally.formats[transcript.format] += 1
    found.faulty += not result.valid
    found.faults += len(result.faults)
    found.rules.update(fault.rule for fault in result.faults)
    for fault in result.faults[: TOLD - len(found.listed)]:
        found.listed.append(RowFault(line, fault.message, fault.rule, fault.said))


class LargeRow(Struct, frozen=True, order=True):
    tokens: int
    line: int


class Contents(Summable):
    """Tokens of many rows by content type and by tool; the largest rows, the largest first."""

    tokens: int = 0
    constants: int = 0
    content_types: Counter[str] = field(default_factory=Counter)
    blocks: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    parameters: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    largest: list[LargeRow] = field(default_factory=list)

    def add(self, other: Contents) -> None:
        largest = sorted((*self.largest, *other.largest), reverse=True)[:_LARGEST]
        super().add(other)
        self.largest = largest


def weigh_row(transcript: Transcript, line: int, tally: Tally, found: Contents, counter_of: Counters) -> None:
    """Note what fills the row in a line."""
    count = counter_of(transcript)
    calls = calls_by_id(transcript.messages)
    tokens = MESSAGE_TOKENS * len(transcript.messages)
    found.constants += tokens
    for message, block in transcript.blocks():
        size = count.block(block)
        tokens += size
        name = content_type(message, block)
        found.content_types[name] += size
        found.blocks[name] += 1
        if block.kind is BlockKind.TOOL_CALL:
            found.calls[block.tool or ""] += 1
            found.parameters[block.tool or ""] += size
        elif block.answers is not None:
            call = calls.get(block.answers)
            found.results[(call.tool if call else block.tool) or ""] += size
        tally.estimated += block.estimate
    tally.messages_before += len(transcript.messages)
    tally.tokens_before += tokens
    tally.tokens_before_of[transcript.model or ""] += tokens
    tally.formats[transcript.format] += 1
    found.tokens += tokens
    found.largest.append(LargeRow(tokens, line))
