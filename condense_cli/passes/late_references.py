"""References that are written once, behind the passes, and receipts as if they had been there before.

Where nothing that a pass does depends on them, writing them twice would only take time: what a pass cuts is taken out
of what they refer to anyway. The prelude's receipt then says what they save in the end on blocks that no pass cut, and
on those of which they say again all that was cut; what they save on what is left of others belongs to the pass.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ..config.models import Configuration, PassConfig
from ..core.tokens import Counter
from ..core.transcript import Transcript
from .draft import Draft
from .limits import summarizes_blocks
from .prelude import ReferenceWriter
from .receipts import PRELUDE, Kept, PassReceipt, Receipt, changed
from .reconcile import REFER, REPEATED

Place = tuple[int, int]
"""A block, as receipts name it: the index of its message, and its position in that."""


def may_wait(configuration: Configuration, writer: ReferenceWriter, target: int | None) -> bool:
    """Whether references need not be written before the passes."""
    return bool(configuration.passes) and target is None and writer.is_enabled and not writer.has_marks


def can_run_before(config: PassConfig) -> bool:
    """Whether a pass does the same whether references are written already, where there is no target."""
    if config.execution.type == "conditional":
        return False  # It looks at the tokens with references.
    return config.mode == "extract" or (config.mode == "individual" and not summarizes_blocks(config))


class LateReferences:
    """What references change in the receipts of the passes that ran before they were written."""

    def __init__(self, before: Transcript, draft: Draft, receipts: Sequence[Receipt], count: Counter) -> None:
        self._count = count
        cut = {(receipt.message, receipt.block) for receipt in receipts if receipt.is_change}
        self._ends: dict[Place, int] = {}
        """What blocks that a pass cut cost with references in what is left of them."""
        self._whole: dict[Place, int] = {}
        """What all others cost that have references."""
        originals = {block.key: block for _, block in before.blocks()}
        self.receipts: list[Receipt] = []
        """Those of the prelude."""
        for (position, number), block in draft.written_blocks():
            message = draft.messages[position]
            place, tokens = (message.index, number), count.block(block)
            if place in cut and not draft.is_reference(position, number):
                self._ends[place] = tokens
                continue
            self._whole[place] = tokens
            was = count.block(originals[message.blocks[number].key])
            self.receipts.append(changed(PRELUDE, message, number, REFER, was, tokens, REPEATED))

    @property
    def saved(self) -> int:
        """Tokens that the prelude's receipts save."""
        return sum(receipt.tokens_before - receipt.tokens_after for receipt in self.receipts)

    def of_passes(self, receipts: Sequence[Receipt]) -> list[Receipt]:
        """The receipts of the passes, where references stood before them and stand behind them."""
        return [*self._backwards(receipts)][::-1]

    def _backwards(self, receipts: Sequence[Receipt]) -> Iterator[Receipt]:
        done: set[Place] = set()
        for receipt in reversed(receipts):
            place = (receipt.message, receipt.block)
            tokens = self._whole.get(place, self._ends.get(place, 0))
            if place in self._whole and receipt.is_change:
                receipt = replace(receipt, operation="keep", kept=Kept.REFERENCE, reason="")
            if place in self._whole or (place in self._ends and place not in done and not receipt.is_change):
                receipt = replace(receipt, tokens_before=tokens, tokens_after=tokens)
            elif place in self._ends and place not in done:
                # Only the last pass that cut it saw what is left, where references are.
                receipt = replace(receipt, tokens_after=tokens)
                done.add(place)
            yield receipt


def with_sums(
    passes: Iterable[PassReceipt], tokens: int, before: Sequence[Receipt], after: Sequence[Receipt]
) -> list[PassReceipt]:
    """The receipts of passes that begin with so many tokens, once those of their blocks are others."""
    more = _saved(after)
    more.subtract(_saved(before))
    blocks: Mapping[str, int] = Tally(
        pass_id for pass_id, _, _ in {(one.pass_id, one.message, one.block) for one in after if one.is_change}
    )
    found: list[PassReceipt] = []
    for one in passes:
        saved = one.tokens_before - one.tokens_after + more[one.id]
        changes = blocks[one.id]
        worth = one.min_worth if changes else None
        found.append(replace(one, tokens_before=tokens, tokens_after=tokens - saved, changes=changes, min_worth=worth))
        tokens -= saved
    return found


def _saved(receipts: Iterable[Receipt]) -> Tally[str]:
    """Tokens that each pass saved."""
    saved: Tally[str] = Tally()
    for receipt in receipts:
        saved[receipt.pass_id] += receipt.tokens_before - receipt.tokens_after
    return saved
