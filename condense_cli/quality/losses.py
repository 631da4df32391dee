"""List what a condensed conversation no longer says: the user's words, decisions and facts, most valuable first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from enum import StrEnum
from itertools import chain, islice, zip_longest
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Message
from ..extractive.parts import Part, parts_of
from ..extractive.survey import Survey
from ..extractive.units import split
from ..extractive.versions import DECISION
from ..lossless.decode import decode
from ..passes.words import lost_units, units_with_words
from ..tokens.counting import Counter

MOST: Final = 20

_LONGEST: Final = 200
"""Characters of a line or of words; the rest is where they were."""

_SHORTEST: Final = 4

_LOOKED_AT: Final = 20
"""So many are looked at for each that is shown."""

_ESCAPES: Final = ("\\n", "\\r", "\\t", "\\u0")
"""Escapes of JSON within texts: words beside them are no names."""

_BY_CHANCE: Final = lazy_pattern(
    r"(?=.*\d)[0-9a-f]{6,}"
    r"|(?!.*(?:[a-z]{3}|[A-Z]{3}))[A-Za-z0-9]+"
    r"|(?>\w*?[A-Za-z]\d)(?>[A-Za-z0-9]*?[A-Za-z]\d){2}\w*+"
)
"""Hashes; ids and numbers without three letters of a word; longer ids, with digits throughout."""


class LossKind(StrEnum):
    """Kinds of lost things: the user's words, lines with a decision or a finding of the assistant, and names."""

    WORDS = "words"
    DECISION = "decision"
    FACT = "fact"


class LostItem(Struct, frozen=True):
    """One thing that is gone, and the index of the last message that had it."""

    kind: LossKind
    text: str
    message: int


class LostRanking(Struct, frozen=True):
    """The most valuable things that are gone, and how many are gone of each kind.

    `is_whole`: nothing else can be named; the counts may be larger by what tells a reader nothing.
    """

    shown: tuple[LostItem, ...]
    counts: dict[LossKind, int]
    is_whole: bool


def losses(before: Sequence[Message], after: Sequence[Message], count: Counter, most: int = MOST) -> LostRanking:
    """Compare two states of a conversation. References count as their text, and names in a summary are still said.

    A fact counts where it is gone altogether; one that is still named anywhere is not lost.
    """
    before, after = decode(before).messages, decode(after).messages
    survey = Survey(before, count)
    still = _facts_in(after, survey)
    last: dict[int, Part] = {}
    for part in survey.parts.values():
        last.update(dict.fromkeys(survey.texts[part.key].said, part))
    # The end of a path that is still named is no loss.
    named = "\n".join(name for name, fact in survey.known.names.items() if fact in still)
    gone = {fact: part for fact, part in last.items() if fact not in still and survey.facts[fact] not in named}
    words = [*_words(before, after)]
    decisions = _decisions(survey, after, gone)
    by_weight = sorted(gone, key=survey.weights.__getitem__, reverse=True)
    facts = (
        LostItem(LossKind.FACT, survey.facts[fact], survey.messages[gone[fact].key[0]].index)
        for fact in by_weight
        if _tells(survey.facts[fact])
    )
    chosen: list[LostItem] = []
    # By turns, so that a short list has both.
    said = "\n".join(block.text for message in after for block in message.blocks)
    ranked = chain(words, filter(None, chain.from_iterable(zip_longest(decisions, facts))))
    for loss in islice(ranked, _LOOKED_AT * most):
        if len(chosen) == most:
            break
        # A name may be there in another form, such as a parameter's, and a sentence in another line.
        if loss.text in said:
            continue
        # A path and its last name, or a decision and a name in it, are one thing.
        if not any(loss.text in other.text or other.text in loss.text for other in chosen):
            chosen.append(loss)
    counts = {LossKind.WORDS: len(words), LossKind.DECISION: len(decisions), LossKind.FACT: len(gone)}
    return LostRanking(tuple(chosen), counts, is_whole=len(chosen) < most)


def _facts_in(messages: Sequence[Message], survey: Survey) -> set[int]:
    """Return the numbers of the facts that are named; what is as it was is not read again."""
    found: set[int] = set()
    known = survey.known
    for part in parts_of(messages):
        read = known.text(part.content, by_sentence=False) or known.text(part.content, by_sentence=True)
        if read is None:
            read = known.read(part.content, split(part.text), len(part.text), by_sentence=False)
        found.update(read.said)
    return found


def _words(before: Sequence[Message], after: Sequence[Message]) -> Iterator[LostItem]:
    said = units_with_words(after)  # In another file a block has another place.
    for (index, _), units in lost_units(before, after).items():
        text = " ".join(" ".join(unit for unit in units if unit not in said).split())
        if text:
            yield LostItem(LossKind.WORDS, text[:_LONGEST], index)


def _tells(fact: str) -> bool:
    """Whether a fact tells a reader anything alone: no short one, no plain word, whatever its capitals, and no id."""
    if any(escape in fact for escape in _ESCAPES) or _BY_CHANCE.fullmatch(fact):
        return False
    return len(fact) >= _SHORTEST and not (fact.isalpha() and (fact.islower() or fact.isupper() or fact.istitle()))


def _decisions(survey: Survey, after: Sequence[Message], gone: Collection[int]) -> list[LostItem]:
    """Return what the assistant decided or found and nothing says any more, the most valuable first.

    A line is worth how likely later work needs the facts that went with it.
    """
    known = survey.known
    left = {body.strip() for part in parts_of(after) for body in split(part.text).bodies}
    found: dict[str, tuple[float, LostItem]] = {}
    for part in filter(lambda part: part.is_said, survey.parts.values()):
        index = survey.messages[part.key[0]].index
        for body in split(part.text).bodies:
            line = body.strip()
            if line not in left and DECISION.search(line):
                facts = known.facts[known.numbers[body]] if body in known.numbers else ()
                value = sum(survey.weights[fact] for fact in facts if fact in gone)
                found[line] = value, LostItem(LossKind.DECISION, line[:_LONGEST], index)
    return [loss for _, loss in sorted(found.values(), key=lambda each: -each[0])]
