"""All witnesses of one cut, each worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Final

from ...core.tokens import Counter
from ...core.transcript import Message
from ...core.values import STANDING_ROLES
from ...lossless.decode import decode
from ..needs import texts_in
from ..recall import RECALLS, Questions
from .bits import Continuation
from .condensed import Condensed
from .grounding import grounded
from .old_strings import OldStrings
from .rereads import Rereads
from .rules import Rules
from .substrings import Substrings

WITNESSES: Final = (
    "substrings", "old_strings", "bits", "bits_calls", "bits_words", "grounding", "rereads", "rules"
)  # fmt: skip
"""Their names, everywhere. `bits_calls` and `bits_words` are the two parts of `bits`."""

MEASURES: Final = (*RECALLS, *WITNESSES)

Shares = dict[str, float | None]
"""By the names of measures shares from 0 to 1, or None where a cut asks for nothing."""


class Witnesses:
    """What the part after a cut tells of condensed forms of the part before it.

    `before` is without references, `count` gives the tokens of a text.
    """

    def __init__(
        self, before: Sequence[Message], after: Sequence[Message], questions: Questions, count: Callable[[str], int]
    ) -> None:
        self.before = before
        self.after = after
        self.questions = questions
        self.count = count

    def __call__(self, kept: Condensed, names: Iterable[str] = WITNESSES) -> Shares:
        """Shares by name; of `names` those that are no witnesses are passed over."""
        wanted = set(names)
        found: Shares = {}
        if wanted & {"substrings", "grounding"}:
            facts, asked = self._substrings(kept), self.questions.asked
            found["substrings"] = len(facts) / len(asked.facts) if asked.facts else None
            found["grounding"] = grounded(asked.calls, facts, kept.standing.lines)
        if wanted & {"bits", "bits_calls", "bits_words"}:
            bits = self._continuation(kept.texts)
            found |= {"bits": bits.both, "bits_calls": bits.calls, "bits_words": bits.words}
        if "old_strings" in wanted:
            found["old_strings"] = self._old_strings(kept)
        if "rereads" in wanted:
            found["rereads"] = self._rereads(kept)
        if "rules" in wanted:
            found["rules"] = self._rules(kept.messages)
        return {name: found[name] for name in WITNESSES if name in wanted}

    def measure(self, kept: Sequence[Message], names: Iterable[str] = MEASURES) -> Shares:
        """Recalls and witnesses of a condensed form; rules are those of one round."""
        names = tuple(names)
        condensed = Condensed(kept, self.questions)
        recalls = condensed.recall.shares()
        return {name: recalls[name] for name in RECALLS if name in names} | self(condensed, names)

    @cached_property
    def _substrings(self) -> Substrings:
        return Substrings(self.questions)

    @cached_property
    def _continuation(self) -> Continuation:
        always = (message for message in self.before if message.role in STANDING_ROLES)
        return Continuation(list(texts_in(self.before)), self.after, list(texts_in(always)))

    @cached_property
    def _old_strings(self) -> OldStrings:
        return OldStrings(self.before, self.after)

    @cached_property
    def _rereads(self) -> Rereads:
        return Rereads(self.before, self.questions, self.count)

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.before)


def measure(
    before: tuple[Message, ...],
    kept: Sequence[Message],
    after: tuple[Message, ...],
    *,
    count: Counter | None = None,
    names: Iterable[str] = MEASURES,
) -> Shares:
    """Every measure of one condensed form: `kept` in place of `before`, asked by `after`; rules are those of one round.

    What the cut alone decides is worked out once for the same two tuples (`is`, not `==`). Who has a case has it in
    `case.witnesses`.
    """
    witnesses = _witnesses(_Same(before, after), count or _COUNT)
    return witnesses.measure(kept, names)


_COUNT: Final = Counter()


class _Same:
    """Two tuples of messages, compared by identity: equal ones would take long to compare."""

    def __init__(self, before: tuple[Message, ...], after: tuple[Message, ...]) -> None:
        self.before, self.after = before, after

    def __hash__(self) -> int:
        return hash((id(self.before), id(self.after)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.before is other.before and self.after is other.after


@lru_cache(maxsize=4)
def _witnesses(cut: _Same, count: Counter) -> Witnesses:
    messages = decode((*cut.before, *cut.after)).messages
    before, after = messages[: len(cut.before)], messages[len(cut.before) :]
    return Witnesses(before, after, Questions(before, after), count)
