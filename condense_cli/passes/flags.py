"""The flag of a run that kept a block out of a pass. The configuration that ran no longer tells flags from its own."""

from __future__ import annotations

from msgspec.structs import replace

from ..config.models import Globs
from ..config.overrides import Overrides
from .pipeline import Condensation
from .predicates import matches
from .receipts import Kept, Receipt


def name_flags(result: Condensation, overrides: Overrides) -> Condensation:
    """The same run; of a block that a flag left out, the receipts name that flag.

    A condition of the configuration may have left it out as well: the flag alone would have sufficed.
    """
    messages = result.before.messages
    length = messages[-1].index + 1 if messages else 0
    return replace(result, receipts=tuple(_named(receipt, overrides, length) for receipt in result.receipts))


def _named(receipt: Receipt, overrides: Overrides, length: int) -> Receipt:
    if receipt.kept not in (Kept.NOT_SELECTED, Kept.PINNED):
        return receipt
    reason = _reason(receipt, overrides, length)
    return replace(receipt, reason=reason) if reason else receipt


def _reason(receipt: Receipt, overrides: Overrides, length: int) -> str:
    if overrides.range is not None:
        start, end, _ = slice(overrides.range.start, overrides.range.end).indices(length)
        if not start <= receipt.message < end:
            return "outside --range"
    if overrides.only_tools and not _is_of(receipt.tool, overrides.only_tools):
        return "not in --only-tools"
    if overrides.except_tools and _is_of(receipt.tool, overrides.except_tools):
        return "in --except-tools"
    return ""


def _is_of(tool: str | None, globs: tuple[str, ...]) -> bool:
    return tool is not None and matches(tool, Globs(include=globs))
