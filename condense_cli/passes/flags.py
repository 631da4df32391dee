"""Warn of selectors without effect in a run: those that match nothing here, and cuts that nothing may make."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ..config.models import CUT, Configuration
from ..config.options import Overrides
from ..core.selectors import OfText, parse_selector
from ..core.transcript import Message
from ..core.wording import brief
from .condensation import Condensation
from .receipts import PROTECTED, Kept
from .selection import meant, why_none

_WILD: Final = frozenset("*?[")
_UNCUT: Final = PROTECTED | {Kept.NOT_SELECTED}
_WHY_UNCUT: Final[Mapping[Kept | None, str]] = {
    Kept.NOT_SELECTED: "they are the user's own words; name the message to cut them",
    Kept.PINNED: "they are to be kept",
}


def with_warnings(result: Condensation, overrides: Overrides, configuration: Configuration) -> Condensation:
    """Return the run with a warning for each selector without effect."""
    messages = result.before.messages
    named = any((overrides.keep, overrides.cut, configuration.keep, configuration.cut))
    if not named or not messages or not result.is_needed:
        return result
    said = _without_effect(result, overrides, configuration)
    return replace(result, warnings=(*result.warnings, *said))


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
