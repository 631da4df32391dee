"""Estimate how many tokens a model's provider bills for each token we count.

We count with a local vocabulary: o200k_base for all models but OpenAI's. Other families split the same text into more
tokens. Internal counts are ours, so receipts add up; every figure that a person sees or sets is ours times a factor.
The factor comes from a table of model families, which `benchmarks/token_factors.py` fits to recorded usage of many
sessions. For a model outside the table it comes from the usage that the transcript itself records.

A single session is no better a guide than the table: clients send content that their files lack. Its usage also no
longer applies once texts are cut, so the condensed file would get another factor than the run reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Final, Literal, assert_never

from msgspec import Struct

from ..core.markers import is_marked
from ..core.transcript import Message, Transcript
from ..core.values import BlockKind, Usage
from .counting import Counter, encoding_for
from .factor_table import FAMILIES, RECORDED_ERROR
from .models import tokenizer_of

CountName = Literal["model", "o200k", "exact"]
"""Unit of shown numbers: estimated tokens of the model, o200k tokens, or tokens counted by the provider."""

LOWEST: Final = 0.8
HIGHEST: Final = 4.0
"""Vocabularies differ by no more than this; a ratio outside the range comes from faulty records."""

_RECOUNTED: Final = 0.05
"""Relative error of a provider's factor: counting the condensed text again may move it by this much."""
_COUNTABLE: Final = 10**12
"""Above this, floats no longer distinguish neighbouring integers."""
_ENOUGH: Final = 2_000
"""Tokens of recorded growth needed before recorded usage is used."""
_NEAR: Final = 1.0
_NEAR_TOKENS: Final = 150
"""A step further than this from the median includes content that the file lacks."""

_DOUBT: Final = (
    f"Recorded usage was ignored: it implies a factor outside {LOWEST:g} to {HIGHEST:g}, which is not plausible."
)


class Known(StrEnum):
    """Source of a factor. Reports and JSON show the values."""

    EXACT = "the model's own vocabulary"
    RECORDED = "recorded usage"
    TABLE = "table"
    COUNTED = "counted by the provider"
    BARE = "asked for"
    UNKNOWN = "unknown"


class Factor(Struct, frozen=True):
    """Model tokens per token of ours, and the source of that figure.

    `error` is the relative error that four of five counts stay below; None if never measured. `doubt` is a sentence if
    recorded usage was ignored. `typical` is the table's value. It does not depend on recorded usage, so limits of
    single blocks are the same in every run.
    """

    value: float = 1.0
    known: Known = Known.UNKNOWN
    error: float | None = None
    doubt: str = ""
    typical: float = 1.0

    @property
    def is_given(self) -> bool:
        """Return whether the user or a provider set the factor, so the transcript does not decide it."""
        return self.known in (Known.BARE, Known.COUNTED)

    def shown(self, tokens: int) -> int:
        """Convert our tokens to the model's. Monotonic."""
        return math.floor(tokens * self.value + 0.5)

    def bare(self, tokens: int) -> int:
        """Return the largest count of our tokens that is shown as at most `tokens` of the model's."""
        found = math.floor(tokens / self.value)
        if tokens > _COUNTABLE:
            return found
        while self.shown(found + 1) <= tokens:
            found += 1
        return found

    def parts(self, tokens: Iterable[int], total: int | None = None) -> list[int]:
        """Convert parts so that they add up to `total`, by default to the converted sum."""
        sums = [0, *accumulate(tokens)]
        whole = self.shown(sums[-1]) if total is None else total
        if not sums[-1]:
            return [0] * (len(sums) - 1)
        ends = [math.floor(whole * part / sums[-1] + 0.5) for part in sums]
        return [end - start for start, end in pairwise(ends)]

    def is_within(self, tokens: int, limit: int) -> bool:
        """Return whether `tokens` of ours fit into `limit` model tokens, within the factor's error.

        The error matters because usage recorded before a cut may have implied another factor than the rest does now.
        """
        match self.known:
            case Known.EXACT | Known.BARE | Known.TABLE:
                error = 0.0
            case Known.COUNTED:
                error = _RECOUNTED
            case Known.RECORDED | Known.UNKNOWN:
                error = RECORDED_ERROR
            case other:
                assert_never(other)
        return self.shown(tokens) <= limit * (1 + error)


class TokenFamily(Struct, frozen=True):
    """Row of the table: factor and error as in Factor, and the number of sessions behind them."""

    factor: float
    error: float
    sessions: int


def family_of(model: str | None) -> TokenFamily | None:
    """Look up the model's row in the table. None if no recorded session uses its tokenizer."""
    row = FAMILIES.get(tokenizer_of(model) or "")
    return TokenFamily(*row) if row else None


def typical_of(model: str | None) -> float:
    """Return the table's factor; 1 if the model's own vocabulary is local or the table lacks it."""
    family = None if encoding_for(model).exact else family_of(model)
    return family.factor if family else 1.0


AS_COUNTED: Final = Factor(known=Known.BARE)


def factor_as(how: CountName, transcript: Transcript, count: Counter) -> Factor:
    """Return the factor for a unit. Raises ValueError for `exact`, which needs a call (`llm/counting.py`)."""
    match how:
        case "model":
            return factor_of(transcript, count)
        case "o200k":
            return AS_COUNTED
        case "exact":
            raise ValueError("a provider has to count")
        case other:
            assert_never(other)


class UsageStep(Struct, frozen=True):
    """Growth of the context between two requests: `billed` by the API, `counted` by us."""

    billed: int
    counted: int

    @property
    def ratio(self) -> float:
        return self.billed / self.counted

    @property
    def is_believable(self) -> bool:
        return self.counted > 0 and LOWEST <= self.ratio <= HIGHEST


def factor_of(transcript: Transcript, count: Counter) -> Factor:
    """Estimate the factor for the transcript's model."""
    if encoding_for(transcript.model, count.counter).exact:
        return Factor(1.0, Known.EXACT, 0.0)
    family = family_of(transcript.model)
    if family is not None:
        return Factor(family.factor, Known.TABLE, family.error, typical=family.factor)
    steps = list(steps_of(transcript, count))
    believed = [step for step in steps if step.is_believable]
    if sum(step.counted for step in believed) >= _ENOUGH:
        return Factor(fitted(believed), Known.RECORDED, RECORDED_ERROR)
    return Factor(doubt=_DOUBT if sum(step.counted for step in steps) >= _ENOUGH else "")


def steps_of(transcript: Transcript, count: Counter) -> Iterator[UsageStep]:
    """Yield steps between recorded requests for which the file holds everything that was sent.

    Skips steps with our marks or a summary (billed text is gone), with images and other estimates, and of other models.
    """
    usages = (usage for usage in transcript.usages if not usage.is_older and _is_of(usage, transcript.model))
    messages = iter(transcript.messages)
    following = next(messages, None)
    for one, other in pairwise(usages):
        counted, is_whole = 0, True
        while following is not None and following.index < other.message:
            if following.index >= one.message:
                counted += count.message(following)
                is_whole = is_whole and _is_whole(following)
            following = next(messages, None)
        if counted and is_whole:
            yield UsageStep(other.input_tokens - one.input_tokens, counted)


def _is_of(usage: Usage, model: str | None) -> bool:
    if usage.model is None or usage.model == model:
        return True
    family = tokenizer_of(model)
    return family is not None and tokenizer_of(usage.model) == family


def _is_whole(message: Message) -> bool:
    return not message.is_summary and not any(
        is_marked(block.content) or (block.estimate and block.kind is not BlockKind.THINKING)
        for block in message.blocks
    )


def fitted(steps: Sequence[UsageStep]) -> float:
    """Fit the factor that most steps agree on."""
    typical = median_of(steps)
    expected = [typical * step.counted for step in steps]
    near = [
        step
        for step, tokens in zip(steps, expected, strict=True)
        if abs(step.billed - tokens) <= max(_NEAR * tokens, _NEAR_TOKENS)
    ]
    own = sum(step.billed for step in near) / sum(step.counted for step in near)
    return min(HIGHEST, max(LOWEST, own))


def median_of(steps: Sequence[UsageStep]) -> float:
    """Return the median ratio, weighted by counted tokens."""
    ordered = sorted(steps, key=lambda step: step.ratio)
    half = sum(step.counted for step in steps) / 2
    sums = accumulate(step.counted for step in ordered)
    return next(step.ratio for step, so_far in zip(ordered, sums, strict=True) if so_far >= half)
