"""What flags did in a run: which kept a block out of a pass, and which matched nothing.

The configuration that ran no longer tells flags from its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ..config.models import Globs
from ..config.overrides import Overrides
from ..core.nearest import nearest
from ..core.transcript import Message
from .condensation import Condensation
from .predicates import matches
from .receipts import Kept, Receipt


def name_flags(result: Condensation, overrides: Overrides) -> Condensation:
    """The same run; of a block that a flag left out, the receipts name that flag, and warnings those without effect.

    A condition of the configuration may have left the block out as well: the flag alone would have sufficed.
    """
    messages = result.before.messages
    if not messages or not result.is_needed:
        return result
    length = messages[-1].index + 1
    receipts = tuple(_named(receipt, overrides, length) for receipt in result.receipts)
    return replace(result, receipts=receipts, warnings=(*result.warnings, *_unmatched(messages, overrides, length)))


def _unmatched(messages: Sequence[Message], overrides: Overrides, length: int) -> Iterator[str]:
    """Flags that match nothing here: most likely a slip of the finger."""
    tools = {block.tool.lower(): block.tool for message in messages for block in message.blocks if block.tool}
    # What is excepted by a pattern, for every session alike, need not be in each of them.
    excepted = [glob for glob in overrides.except_tools if not set("*?[") & set(glob)]
    for flag, globs in (("--only-tools", overrides.only_tools), ("--except-tools", excepted)):
        for glob in globs:
            if not any(_is_of(tool, (glob,)) for tool in tools):
                near = nearest(glob.lower(), tools)
                hint = f"; did you mean {tools[near]!r}?" if near else "."
                yield f"{flag} {glob} matches no tool of this transcript{hint}"
    span = overrides.range
    if span is not None and not any(_is_in(message.index, overrides, length) for message in messages):
        end = "" if span.end is None else span.end
        yield f"--range {span.start}:{end} matches no message; the last one is {length - 1}."


def _named(receipt: Receipt, overrides: Overrides, length: int) -> Receipt:
    if receipt.kept not in (Kept.NOT_SELECTED, Kept.PINNED):
        return receipt
    reason = _reason(receipt, overrides, length)
    return replace(receipt, reason=reason) if reason else receipt


def _reason(receipt: Receipt, overrides: Overrides, length: int) -> str:
    if not _is_in(receipt.message, overrides, length):
        return "outside --range"
    if overrides.only_tools and not _is_of(receipt.tool, overrides.only_tools):
        return "not in --only-tools"
    if overrides.except_tools and _is_of(receipt.tool, overrides.except_tools):
        return "in --except-tools"
    return ""


def _is_in(message: int, overrides: Overrides, length: int) -> bool:
    if overrides.range is None:
        return True
    start, end, _ = slice(overrides.range.start, overrides.range.end).indices(length)
    return start <= message < end


def _is_of(tool: str | None, globs: tuple[str, ...]) -> bool:
    return tool is not None and matches(tool, Globs(include=globs))
