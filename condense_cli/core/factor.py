"""Estimate how many tokens a model's provider bills for one of ours, from what is known of models and from usage.

Ours are those of a vocabulary that is at hand: o200k_base, for models other than OpenAI's. Another family cuts the same
text into more tokens. Inside, everything is counted in ours, so that receipts add up. A person sees, and asks for, the
model's: ours times a factor. It comes from a table of model families, which `benchmarks/token_factors.py` fits to the
usage that many sessions recorded; for a model of no such family from the usage that the transcript itself records.

What one session recorded is no surer a guide than the table: clients send what their files do not hold. And it is
another one once texts are cut, so that a condensed file would count as something else than the run had told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import Final, Literal, assert_never

from msgspec import Struct

from .factor_table import FAMILIES, RECORDED_ERROR
from .lazy_pattern import lazy_pattern
from .markers import is_marked
from .tokens import Counter, encoding_for
from .transcript import Message, Transcript
from .values import BlockKind, Usage

_BINDS_THINKING: Final = lazy_pattern(
    r"claude-(?:fable|mythos)-5[-.][12](?:\D|$)|claude-(?:opus|sonnet|haiku)-5[-.]5(?:\D|$)"
)
"""https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks, as of 2026-10"""


def binds_thinking(model: str | None) -> bool:
    """Whether the model refuses thinking once anything before it changed."""
    return bool(model and _BINDS_THINKING.search(model.lower()))


_FORGETS_THINKING: Final = lazy_pattern(r"(?:^|[-/])(?:o[134](?![\da-z])|gpt-5(?:\.[0-5])?(?![.\d]))")
"""By the recorded usage of Codex sessions, September 2025 to July 2026: with gpt-5 to gpt-5.5 the input shrinks by the
thinking of a turn as soon as the next one begins, with gpt-5.6 it does not."""


def forgets_thinking(model: str | None) -> bool:
    """Whether the API of the model leaves out thinking that comes before the newest message of the user."""
    return bool(model and _FORGETS_THINKING.search(model.lower()))


_TOKENIZERS: Final = (
    (lazy_pattern(r"claude-(?:opus-4-[7-9]|(?:opus|sonnet|haiku)-[5-9]|fable|mythos)"), "Claude since Opus 4.7"),
    (lazy_pattern(r"claude"), "Claude before Opus 4.7"),
    (lazy_pattern(r"gemini|gemma"), "Gemini"),
    (lazy_pattern(r"deepseek"), "DeepSeek"),
    (lazy_pattern(r"minimax"), "MiniMax"),
    (lazy_pattern(r"mimo-"), "MiMo"),
    (lazy_pattern(r"ling-"), "Ling"),
)
"""First match wins. Opus 4.7 brought a new tokenizer, which its successors use, with about 30% more tokens:
https://platform.claude.com/docs/en/about-claude/models/whats-new-claude-4-7"""


def tokenizer_of(model: str | None) -> str | None:
    """The family of models that cut texts into tokens alike; None for one that is not known here."""
    name = (model or "").lower().replace(".", "-")
    return next((family for pattern, family in _TOKENIZERS if pattern.search(name)), None)


CountName = Literal["model", "o200k", "exact"]
"""In whose tokens numbers are: the model's as far as they are known, ours, or the model's as its provider counts."""

LOWEST: Final = 0.8
HIGHEST: Final = 4.0
"""No vocabulary is further from another than this: what says otherwise counted something else."""

_RECOUNTED: Final = 0.05
"""A text that was condensed is another one: a provider that counts it may find a factor that is this much another."""
_COUNTABLE: Final = 10**12
"""Beyond so many tokens floats do not tell one from the next."""
_ENOUGH: Final = 2_000
"""With fewer tokens of recorded growth the table alone is believed."""
_NEAR: Final = 1.0
_NEAR_TOKENS: Final = 150
"""A step this far from the typical one holds something that the file does not."""

_DOUBT: Final = (
    f"Recorded usage was ignored: it implies a factor outside {LOWEST:g} to {HIGHEST:g}, which is not plausible."
)


class Known(StrEnum):
    """How a factor is known. The values are what reports and JSON say."""

    EXACT = "the model's own vocabulary"
    RECORDED = "recorded usage"
    TABLE = "table"
    COUNTED = "counted by the provider"
    BARE = "asked for"
    UNKNOWN = "unknown"


class Factor(Struct, frozen=True):
    """The model's tokens for one of ours, and how that is known.

    `error` is the part of the tokens by which four of five counts are off at most, None where nobody measured it.
    `doubt` is a sentence where recorded usage was not believed. `typical` is the table's value: unlike the other it
    does not depend on what was recorded, so that limits of single blocks are the same in every run.
    """

    value: float = 1.0
    known: Known = Known.UNKNOWN
    error: float | None = None
    doubt: str = ""
    typical: float = 1.0

    @property
    def is_given(self) -> bool:
        """Whether somebody said which it is, so that the transcript has no say."""
        return self.known in (Known.BARE, Known.COUNTED)

    def shown(self, tokens: int) -> int:
        """The model's tokens for so many of ours. Never fewer for more."""
        return math.floor(tokens * self.value + 0.5)

    def bare(self, tokens: int) -> int:
        """The most of our tokens that are no more than so many of the model's."""
        found = math.floor(tokens / self.value)
        if tokens > _COUNTABLE:
            return found
        while self.shown(found + 1) <= tokens:
            found += 1
        return found

    def parts(self, tokens: Iterable[int], total: int | None = None) -> list[int]:
        """Parts in the model's tokens that add up to `total`, or else to what all of them together are shown as."""
        sums = [0, *accumulate(tokens)]
        whole = self.shown(sums[-1]) if total is None else total
        if not sums[-1]:
            return [0] * (len(sums) - 1)
        ends = [math.floor(whole * part / sums[-1] + 0.5) for part in sums]
        return [end - start for start, end in pairwise(ends)]

    def is_within(self, tokens: int, limit: int) -> bool:
        """Whether so many of ours may be no more than `limit` of the model's, as far as that is known.

        Before texts were cut, recorded usage may have said another factor than can be told from what is left, if any.
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
    """What the table says of models that share a tokenizer: factor and error as above, from so many sessions."""

    factor: float
    error: float
    sessions: int


def family_of(model: str | None) -> TokenFamily | None:
    """What the table says of a model; None where no recorded session is of its family."""
    row = FAMILIES.get(tokenizer_of(model) or "")
    return TokenFamily(*row) if row else None


def typical_of(model: str | None) -> float:
    """The factor of the table; 1 for a model whose own vocabulary is at hand, and where the table says nothing."""
    family = None if encoding_for(model).exact else family_of(model)
    return family.factor if family else 1.0


AS_COUNTED: Final = Factor(known=Known.BARE)


def factor_as(how: CountName, transcript: Transcript, count: Counter) -> Factor:
    """The factor by which numbers are asked for and shown. Only a call can tell the `exact` one (`llm/counting.py`)."""
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
    """What went into the context from one request to the next: `billed` tokens of the API, `counted` ones of ours."""

    billed: int
    counted: int

    @property
    def ratio(self) -> float:
        return self.billed / self.counted

    @property
    def is_believable(self) -> bool:
        return self.counted > 0 and LOWEST <= self.ratio <= HIGHEST


def factor_of(transcript: Transcript, count: Counter) -> Factor:
    """The factor for a transcript and its model."""
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
    """The steps between two requests whose usage the file records, where it holds all that was sent then.

    Left out are those with a mark of ours or with a summary, where text is gone that was billed, those with images and
    the like, which are estimates, and those of another model.
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
    """The factor that most of the steps agree on."""
    typical = median_of(steps)
    near = [step for step in steps if _is_near(step, typical)]
    own = sum(step.billed for step in near) / sum(step.counted for step in near)
    return min(HIGHEST, max(LOWEST, own))


def _is_near(step: UsageStep, factor: float) -> bool:
    expected = factor * step.counted
    return abs(step.billed - expected) <= max(_NEAR * expected, _NEAR_TOKENS)


def median_of(steps: Sequence[UsageStep]) -> float:
    """The ratio that half of the counted tokens are below."""
    ordered = sorted(steps, key=lambda step: step.ratio)
    half = sum(step.counted for step in steps) / 2
    sums = accumulate(step.counted for step in ordered)
    return next(step.ratio for step, so_far in zip(ordered, sums, strict=True) if so_far >= half)
