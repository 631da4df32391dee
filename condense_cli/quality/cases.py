"""Cut a conversation in two: the first part is condensed, the second shows what of it is needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..core.transcript import Message, Transcript, cut_before
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..lossless.decode import decode
from ..passes.selection import protect
from ..tokens.counting import Counter
from ..tokens.factor import AS_COUNTED, Factor
from .recall import Questions, TextReader
from .witnesses import Witnesses

SMALLEST: Final = 8_000
"""Transcripts of fewer tokens are left out: nobody condenses them, and few questions make a noisy share."""

MOST_FIXED: Final = 0.5
"""Largest share of tokens that may not be touched; above it the ways hardly differ."""

NEWEST: Final = 6
"""Newest turns that stay whole if there is room."""


class Case:
    """One cut. `before` is the conversation up to it, in `tokens` tokens; `questions` are what the rest, `after`,
    needs.

    Targets are shares of `whole`, which differs from `tokens` if some of the conversation was condensed before.
    """

    def __init__(
        self,
        before: Transcript,
        questions: Questions,
        count: Counter,
        at: float,
        *,
        after: Sequence[Message] = (),
        whole: int | None = None,
    ) -> None:
        self.before = before
        self.questions = questions
        self.count = count
        self.at = at
        self.witnesses = Witnesses(before.messages, after, questions, count)
        self.tokens = count.transcript(before)
        self.whole = self.tokens if whole is None else whole
        self.remembered: dict[object, object] = {}
        """Results that ways compute once and reuse at another size."""
        self.reached: dict[int, list[tuple[Configuration, Sequence[Message]]]] = {}
        """What is left at each target, with as much of a configuration as it took to get there: others may begin so."""

    def target(self, budget: float) -> int:
        """Return the tokens of a share of the conversation."""
        return max(1, int(self.whole * budget))

    def is_crowded(self, target: int) -> bool:
        """Check if content that stays at any size takes more than half of a target.

        That is the standing instructions, what precedes the first request, the request, and the newest six
        turns, or the newest one if six take more than a third.
        """
        messages = self.before.messages
        protected = protect(Configuration(), messages, self.count).messages
        newest = [message for message in messages if message.index not in protected][-NEWEST:]
        if self.size_of(newest) > target / 3:
            newest = newest[-1:]
        fixed = [message for message in messages if message.index in protected]
        return self.size_of([*fixed, *newest]) > MOST_FIXED * target

    def size_of(self, messages: Sequence[Message]) -> int:
        """Count the tokens of messages as those of the transcript."""
        return sum(map(self.count.message, messages))


class LeftOut(Struct, frozen=True):
    """A transcript, or a cut of it, that is not measured, and the reason. `at` is None for a whole transcript."""

    at: float | None
    reason: str


AsIs = Callable[[Case], Sequence[Message]]
ToTarget = Callable[[Case, int], Sequence[Message]]


class Way(Struct, frozen=True):
    """A way to condense: to a target of tokens, and in settings with a size of their own.

    Both return the messages to send in place of those before the cut.
    """

    name: str
    to_target: ToTarget | None = None
    as_is: tuple[tuple[str, AsIs], ...] = ()


def cases_of(
    transcript: Transcript,
    cuts: Sequence[float],
    count: Counter,
    smallest: int = SMALLEST,
    factor: Factor = AS_COUNTED,
) -> tuple[list[Case], list[LeftOut]]:
    """Return the cuts of a transcript, and what is left out.

    Cuts are shares of the messages; none separates a call from its result. `smallest` is in the model's tokens,
    converted by `factor`.
    """
    messages = decode(transcript.messages).messages
    tokens = factor.shown(sum(map(count.message, messages)))
    if tokens < smallest:
        return [], [LeftOut(None, f"it has {tokens:,} tokens, fewer than {smallest:,}")]
    read = TextReader()
    cases: list[Case] = []
    left_out: list[LeftOut] = []
    seen: set[int] = set()
    for at in cuts:
        position = cut_before(messages, int(len(messages) * at))
        if position in seen:
            left_out.append(LeftOut(at, "it is the same as another cut"))
            continue
        seen.add(position)
        before = messages[:position]
        total, fixed = (sum(map(count.message, part)) for part in (before, fixed_messages(before)))
        if fixed > MOST_FIXED * total:
            left_out.append(LeftOut(at, "most of what precedes it is standing instructions and the first request"))
            continue
        after = messages[position:]
        questions = Questions(before, after, read)
        if questions.asked.facts:
            cases.append(Case(replace(transcript, messages=before), questions, count, at, after=after))
        else:
            left_out.append(LeftOut(at, "nothing after it needs a fact from before it"))
    return cases, left_out


def fixed_messages(messages: Sequence[Message]) -> list[Message]:
    """Return the standing instructions and the first request, which baselines keep."""
    first = next(
        (
            position
            for position, message in enumerate(messages)
            if message.role is Role.USER
            and any(block.kind is BlockKind.TEXT and not block.injected for block in message.blocks)
        ),
        -1,
    )
    return [message for position, message in enumerate(messages) if message.role in STANDING_ROLES or position == first]
