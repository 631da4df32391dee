"""Tell the effect of flags and selectors in a run: which kept a block out of a pass, and which matched nothing.

The configuration that ran no longer tells flags from its own.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ..config.models import CUT, Configuration, Globs
from ..config.options import Overrides
from ..core.selectors import OfText, parse_selector
from ..core.transcript import Message
from ..core.wording import brief, nearest
from .condensation import Condensation
from .receipts import PROTECTED, Kept, Receipt
from .selection import matches, meant, why_none

_WILD: Final = frozenset("*?[")
_UNCUT: Final = PROTECTED | {Kept.NOT_SELECTED}
_WHY_UNCUT: Final[Mapping[Kept | None, str]] = {
    Kept.NOT_SELECTED: "they are the user's own words; name the message to cut them",
    Kept.PINNED: "they are to be kept",
}


def name_flags(result: Condensation, overrides: Overrides, configuration: Configuration) -> Condensation:
    """The same run; of a block that a flag left out, the receipts name that flag, and warnings those without effect.

    A condition of the configuration may have left the block out as well: the flag alone would have sufficed.
    """
    messages = result.before.messages
    narrowing = (overrides.only_tools, overrides.except_tools, overrides.span)
    named = any((*narrowing, overrides.keep, overrides.cut, configuration.keep, configuration.cut))
    if not named or not messages or not result.is_needed:
        return result
    length = messages[-1].index + 1
    rows = tuple(
        replace(row, steps=tuple(_named(step, overrides, length) for step in row.steps))
        for row in result.decisions.rows
    )
    said = [*_without_effect(result, overrides, configuration), *_unmatched(messages, overrides, length)]
    return replace(result, decisions=replace(result.decisions, rows=rows), warnings=(*result.warnings, *said))


def missed_keeps(selectors: Sequence[str], messages: Sequence[Message]) -> dict[str, str]:
    """Warn of each selector of --keep that matches nothing here."""
    said = {selector: why_none(selector, messages) for selector in selectors}
    return {selector: f"--keep {why}" for selector, why in said.items() if why}


def _without_effect(result: Condensation, overrides: Overrides, configuration: Configuration) -> Iterator[str]:
    """Selectors that match nothing here, and cuts that nothing may make."""
    messages = result.before.messages
    named = [("--keep", selector) for selector in overrides.keep] + [("--cut", selector) for selector in overrides.cut]
    named += [("keep:", selector) for selector in configuration.keep if _is_for_one(selector)]
    named += [("cut:", selector) for selector in configuration.cut if _is_for_one(selector)]
    left = {(receipt.message, receipt.block): receipt.kept for receipt in result.receipts if receipt.pass_id == CUT}
    for name, selector in named:
        why = why_none(selector, messages)
        if why:
            yield f"{name} {why}"
        elif "cut" in name and not overrides.lossless_only:
            reasons = Tally(left.get(address) for address in meant([selector], messages))
            if reasons.keys() <= _UNCUT:
                yield f"{name} {brief(selector)} cuts nothing{_why_uncut(reasons)}."


def _why_uncut(reasons: Mapping[Kept | None, int]) -> str:
    """The reason for which all blocks stay, or each with the number of its blocks."""
    if len(reasons) == 1:
        (reason,) = reasons
        return f": {_WHY_UNCUT.get(reason, f'it is {reason}')}"
    named = {Kept.WORDS if reason is Kept.NOT_SELECTED else reason: number for reason, number in reasons.items()}
    return f". Blocks kept: {'; '.join(f'{reason} ({number:,})' for reason, number in named.items())}"


def _is_for_one(selector: str) -> bool:
    """Whether it is no pattern: what a configuration names for every session alike need not be in each of them."""
    return not (_WILD & {*selector} or isinstance(parse_selector(selector), OfText))


def _unmatched(messages: Sequence[Message], overrides: Overrides, length: int) -> Iterator[str]:
    """Flags that match nothing here: most likely a slip of the finger."""
    tools = {block.tool.lower(): block.tool for message in messages for block in message.blocks if block.tool}
    # What is excepted by a pattern, for every session alike, need not be in each of them.
    excepted = [glob for glob in overrides.except_tools if not _WILD & {*glob}]
    for flag, globs in (("--only-tools", overrides.only_tools), ("--except-tools", excepted)):
        for glob in globs:
            if not any(_is_of(tool, (glob,)) for tool in tools):
                near = nearest(glob.lower(), tools)
                hint = f"; did you mean {tools[near]!r}?" if near else "."
                yield f"{flag} {glob} matches no tool of this transcript{hint}"
    span = overrides.span
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
    if overrides.span is None:
        return True
    start, end, _ = slice(*overrides.span).indices(length)
    return start <= message < end


def _is_of(tool: str | None, globs: tuple[str, ...]) -> bool:
    return tool is not None and matches(tool, Globs(include=globs))
