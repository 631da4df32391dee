"""`--count`: choose in whose tokens a command shows its figures."""

from __future__ import annotations

from typing import NamedTuple

from ...calling import Calls
from ...config.base import Limits
from ...config.overrides import Settings
from ...core.transcript import Transcript
from ...errors import UsageError
from ...tokens.counting import Counter, CounterName, Encoding, encoding_for
from ...tokens.factor import CountName, Factor, factor_as
from ..options import CountOptions


def count_asked(options: CountOptions, settings: Settings | None) -> tuple[CountName, Calls]:
    """Return in whose tokens a command counts, and what permits the call of `exact`, the only one it makes."""
    how = options.count_as
    limits = Limits(redact=options.redact)
    calls = Calls(options.profile, options.allow_calls, limits, is_planned=True, is_count_asked=how == "exact")
    return how or (settings.configuration.count if settings else "model"), calls


class Counted(NamedTuple):
    """A transcript with its counter, and the factor from its counts to the model's tokens."""

    transcript: Transcript
    count: Counter
    factor: Factor
    encoding: Encoding


def counted_transcript(transcript: Transcript, counter: CounterName, how: CountName, calls: Calls) -> Counted:
    """Choose the counter and the factor. Raises as `factor_for` does."""
    count = Counter.of(transcript, counter)
    return Counted(
        transcript, count, factor_for(how, transcript, count, calls), encoding_for(transcript.model, counter)
    )


def check_one(how: CountName, what: str) -> None:
    """Raise UsageError if a provider would count `what`, which is more than one transcript."""
    if how == "exact":
        raise UsageError(f"`count: exact` is for one transcript, and {what}.", "Add --count model or --count o200k.")


def factor_for(how: CountName, transcript: Transcript, count: Counter, calls: Calls) -> Factor:
    """Return the factor of a transcript; for `exact` its provider counts, if the flags permit the call.

    Raises UsageError if they do not, or if nobody can be asked, and CallFailedError.
    """
    if how != "exact":
        return factor_as(how, transcript, count)
    from .exact_count import exact_factor  # With the client of a model.

    return exact_factor(transcript, count, calls)
