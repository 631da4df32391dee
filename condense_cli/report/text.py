"""Name blocks, operations, reasons and shares in plain words, the same in every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from ..core.transcript import Block
from ..core.values import BlockKind, Role
from ..core.wording import plural
from ..extractive.reason import LineReason, Reason, tally
from ..passes.receipts import NOTE, SUMMARIZE, Receipt
from ..toolcalls.tools import main_argument, readable_arguments

_OPERATIONS: Final = {
    "drop": "removed",
    "empty": "removed",
    "extract": "cut",
    "keep": "kept",
    "merge": "merged",
    "note": "in notes",
    "refer": "reference",
    "remove": "removed",
    "summarize": "summarized",
    "suppress": "removed",
    "truncate": "truncated",
}
"""A cut is truncated, removed or summarized where it is no choice of lines; a reference is none."""
_BEGINNING: Final = 200
"""Characters of a text that may serve as its label."""


def call_label(block: Block, calls: Mapping[str, Block]) -> str:
    """Return tool and main argument of a call, or of a result's call; the type of an opaque block; or nothing."""
    call = block if block.kind is BlockKind.TOOL_CALL else calls.get(block.answers or "")
    if call is None:
        return block.tool or ("" if block.is_readable else block.api_type)
    return f"{call.tool} {main_argument(call)}".strip()


def block_label(block: Block, calls: Mapping[str, Block]) -> str:
    """Return one line that identifies a block: its call, or the beginning of its text."""
    label = call_label(block, calls) or block.text
    return " ".join(label[: 2 * _BEGINNING].split())[:_BEGINNING]


def kind_label(block: Block, role: Role | None) -> str:
    """Return the kind of a block with its author, such as user text; without a message the kind alone."""
    kind = block.kind.value.replace("_", " ")
    if role is None or kind.startswith("tool"):
        return kind
    return f"client {kind}" if block.injected else f"{role.value} {kind}"


def operation_label(operation: str) -> str:
    """Return the common word for an operation."""
    return _OPERATIONS.get(operation, operation)


def readable(block: Block) -> str:
    """Return the block's content for a person to read."""
    return readable_arguments(block) if block.kind is BlockKind.TOOL_CALL else block.text


_WORDS: Final = {
    Reason.SEEN_AGAIN: "read again in {}",
    Reason.REPEATED: "repeated in {}",
    Reason.REPLACED: "replaced by the edit in {}",
    Reason.OVERWRITTEN: "file rewritten in {}",
    Reason.UNNAMED: "nothing later names it",
    Reason.NAMED_ELSEWHERE: "also named in {}",
    Reason.LESS_WORTH: "worth less than its tokens",
    Reason.OWN_WORDS: "the user's own words",
    Reason.UNSOLVED_ERROR: "an error not yet solved",
    Reason.EDITED_LATER: "edited later in this file, {}",
    Reason.NEWEST_STATE: "the newest state of this file",
    Reason.NAMED_AGAIN: "named again in {}",
    Reason.ASKED_FOR: "asked for in {}",
    Reason.NAMED_BEFORE: "named before in {}",
    Reason.SAID_HERE_ONLY: "found nowhere else",
    Reason.DECISION: "a decision",
    Reason.BESIDE: "next to kept lines",
    Reason.LIKELY: "likely needed later",
}
_NOWHERE: Final = "a later message"
"""If the message is not known."""

_LONGEST: Final = 30
"""Names of more characters are not told."""

_SHOWN: Final = 2
"""So many reasons are told, those of the most lines."""


def lines_text(reasons: Iterable[LineReason]) -> str:
    """Say why lines in a row were cut or kept; with numbers if the reasons differ."""
    by_reason = _grouped(reasons)
    if len(by_reason) == 1:
        return _words(by_reason[0])
    return "; ".join(f"{_words(group)} ({_lines(group)})" for group in by_reason[:_SHOWN])


def main_reason(reasons: Iterable[LineReason]) -> str:
    """Say why most of these lines were cut or kept; empty if nobody asked."""
    by_reason = _grouped(reasons)
    return _words(by_reason[0]) if by_reason else ""


def receipt_text(receipt: Receipt) -> str:
    """Say why a block was changed or kept: by its lines, if lines were picked."""
    fates = [
        "; ".join(
            f"{_words(group)} ({plural(_lines(group), 'line') if not number else _lines(group)})"
            for number, group in enumerate(_grouped(found)[:_SHOWN])
        )
        for found in (receipt.went, receipt.stayed)
    ]
    cut, kept = fates
    if receipt.operation in (SUMMARIZE, NOTE) and not receipt.tokens_after:
        where = "note" if receipt.operation == NOTE else "summary"
        return ". ".join(filter(None, (receipt.why, cut and f"Cut: {cut}", kept and f"In the {where}: {kept}")))
    return ". ".join(filter(None, (cut, kept and f"Kept: {kept}"))) or receipt.why


def _grouped(reasons: Iterable[LineReason]) -> list[list[LineReason]]:
    """Group by reason, that of the most lines first."""
    groups: dict[Reason, list[LineReason]] = {}
    for why in tally(reasons):
        groups.setdefault(why.reason, []).append(why)
    return sorted(groups.values(), key=_lines, reverse=True)


def _lines(group: Sequence[LineReason]) -> int:
    return sum(why.lines for why in group)


def _words(group: Sequence[LineReason]) -> str:
    messages = dict.fromkeys(why.message for why in group if why.message is not None)
    first = next(iter(messages), None)
    where = _NOWHERE if first is None else f"message {first}" + (" and others" if len(messages) > 1 else "")
    names = {why.name for why in group}
    name = names.pop() if len(names) == 1 else ""
    # The name is that of one line; the others may have their own.
    example = "e.g. " if _lines(group) > 1 else ""
    return _WORDS[group[0].reason].format(where) + (f" ({example}{name})" if 0 < len(name) <= _LONGEST else "")


class TokenShare(msgspec.Struct, frozen=True):
    """Part of the transcript: its tokens, and these in percent of all."""

    name: str
    tokens: int
    percent: float
    blocks: int


class ToolShare(msgspec.Struct, frozen=True):
    name: str
    tokens: int
    percent: float
    calls: int
    parameters: int
    results: int


class MessageShare(msgspec.Struct, frozen=True):
    """A message with its constant cost; `label` is that of its largest block."""

    message: int
    role: str
    tokens: int
    percent: float
    blocks: int
    label: str


class BlockShare(msgspec.Struct, frozen=True):
    """`block` is the position in the message. `first` is the earlier block that this one equals, as "message.block"."""

    message: int
    block: int
    role: str
    content_type: str
    tokens: int
    percent: float
    label: str
    first: str | None = None


def tool_shares(calls: Counter[str], parameters: Counter[str], results: Counter[str], total: int) -> list[ToolShare]:
    """Return the tools with the most tokens first, from calls and tokens by name."""
    shares = []
    for name in calls | results:
        tokens = parameters[name] + results[name]
        share = percent(tokens, total)
        shares.append(ToolShare(name, tokens, share, calls[name], parameters[name], results[name]))
    return sorted(shares, key=lambda share: (-share.tokens, share.name))


def percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 1) if whole else 0.0


def percent_text(value: float) -> str:
    return f"{value:.1f}%"


def change_text(before: int, after: int) -> str:
    """Say the change of a size: the saved share, or how many times as large it is."""
    if after > before:
        return f"{after / max(1, before):.1f} times as many"
    return percent_text(percent(before - after, before)) + " saved"
