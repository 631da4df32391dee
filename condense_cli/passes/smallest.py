"""Runs that leave no more than other ways to condense would: a configuration can say `no_larger_than` some presets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from ..config.models import Configuration
from ..core.transcript import Transcript
from .condensation import Condensation, joined
from .limits import needs_target
from .receipts import THINKING, PassReceipt, Status

Run = Callable[[Transcript, Configuration], Condensation]

_ROUNDS: Final = 10


def no_larger(
    run: Run, transcript: Transcript, configuration: Configuration, others: Mapping[str, Configuration], offline: Run
) -> Condensation:
    """A run that leaves no more than any of the others, which have names to show.

    Where one of these leaves less, its size becomes the target of the run; where that is not met, the other's result
    is taken. `offline` is a run that calls no model; what is only compared or tried again runs so.
    """

    def again(transcript: Transcript, configuration: Configuration) -> Condensation:
        return _smallest(offline, transcript, configuration, others, offline)

    return settled(_smallest(run, transcript, configuration, others, offline), configuration, again)


def settled(result: Condensation, configuration: Configuration, run: Run, rounds: int = _ROUNDS) -> Condensation:
    """The result, run again until that changes nothing: another way may cut more of what one left."""
    configuration = replace(configuration, min_saving=0)
    for _ in range(rounds if result.changes else 0):
        again = run(result.transcript, configuration)
        if not again.changes:
            break
        result = joined(result, again)
    return result


def _smallest(
    run: Run, transcript: Transcript, configuration: Configuration, others: Mapping[str, Configuration], offline: Run
) -> Condensation:
    own = run(transcript, configuration)
    name, least = min(
        ((name, offline(transcript, other)) for name, other in others.items()), key=lambda found: found[1].tokens_after
    )
    if own.tokens_after <= least.tokens_after:
        return own
    passes = tuple(replace(config, stop_at_target=True) for config in configuration.passes if not needs_target(config))
    held = offline(transcript, replace(configuration, passes=passes, target_tokens=least.shown_after))
    if held.tokens_after <= least.tokens_after:
        known = {receipt.id for receipt in held.passes}
        skipped = [receipt for receipt in own.passes if receipt.id not in known]
        return replace(held, target=None, asked=None, passes=(*held.passes, *skipped))
    return in_place_of(own, least, f"preset {name} is smaller")


def in_place_of(result: Condensation, smaller: Condensation, why: str) -> Condensation:
    """The smaller of two results, with a receipt for each pass of the other one."""
    known = {receipt.id for receipt in smaller.passes}
    skipped = [
        PassReceipt(receipt.id, receipt.name, Status.SKIPPED, why, smaller.tokens_after, smaller.tokens_after)
        for receipt in result.passes
        if receipt.id not in known and receipt.id != THINKING
    ]
    return replace(smaller, passes=(*smaller.passes, *skipped))
