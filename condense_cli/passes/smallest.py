"""Runs that leave no more than other ways to condense would.

No run leaves more than its references alone: a pass that cuts what references name brings back their lines. And a
configuration can say that its result is `no_larger_than` those of presets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from msgspec.structs import replace

from ..config.models import CUT, Configuration
from ..core.transcript import Transcript
from .condensation import Condensation, joined
from .limits import needs_target
from .receipts import PRELUDE, THINKING, UNDONE, PassReceipt, Status

Run = Callable[[Transcript, Configuration], Condensation]

_ROUNDS: Final = 10


def at_most_references(run: Run, transcript: Transcript, configuration: Configuration) -> Condensation:
    """A run, or the references of its prelude alone where these leave less."""
    result = run(transcript, configuration)
    prelude = next((receipt for receipt in result.passes if receipt.id == PRELUDE), None)
    asked = tuple(config for config in configuration.passes if config.id == CUT)  # Whoever names a cut gets it.
    if len(asked) == len(configuration.passes) or prelude is None or prelude.status is Status.SKIPPED:
        return result
    if prelude.reason != UNDONE and result.tokens_after <= prelude.tokens_after:
        return result
    alone = run(transcript, replace(configuration, passes=asked))
    if alone.tokens_after >= result.tokens_after:
        return result
    alone = _in_place_of(result, alone, "references alone are smaller")
    return _settled(alone, configuration, partial(at_most_references, run))


def no_larger(
    run: Run, transcript: Transcript, configuration: Configuration, others: Mapping[str, Configuration], offline: Run
) -> Condensation:
    """A run that leaves no more than any of the others, which have names to show.

    Where one of these leaves less, its size becomes the target of the run; where that is not met, the other's result
    is taken. `offline` is a run that calls no model; what is only compared or tried again runs so.
    """

    def again(transcript: Transcript, configuration: Configuration) -> Condensation:
        return _smallest(offline, transcript, configuration, others, offline)

    return _settled(_smallest(run, transcript, configuration, others, offline), configuration, again)


def _settled(result: Condensation, configuration: Configuration, run: Run) -> Condensation:
    """The result, run again until that changes nothing: another way may cut more of what one left."""
    configuration = replace(configuration, min_saving=0)
    for _ in range(_ROUNDS if result.changes else 0):
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
    return _in_place_of(own, least, f"preset {name} is smaller")


def _in_place_of(result: Condensation, smaller: Condensation, why: str) -> Condensation:
    """The smaller of two results, with a receipt for each pass of the other one."""
    known = {receipt.id for receipt in smaller.passes}
    skipped = [
        PassReceipt(receipt.id, receipt.name, Status.SKIPPED, why, smaller.tokens_after, smaller.tokens_after)
        for receipt in result.passes
        if receipt.id not in known and receipt.id != THINKING
    ]
    return replace(smaller, passes=(*smaller.passes, *skipped))
