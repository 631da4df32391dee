"""Find what a person said and later corrected: a limit, a date, a path, a name, a code.

A later sentence corrects an earlier one in two ways: it says the same in the same words with another value, or it says
that something changed and shares both a word that few others have and the kind of its value. The second needs a word
for the change (`CHANGES`). Nothing is taken for a correction that only orders something else: "fix issue 13" leaves
"fix issue 12" as it is.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import BlockPlace, Message
from .answers import is_typed
from .units import sentences

CHANGES: Final = r"""
update|updated|correction|actually|instead|rather|no longer|not any ?more|any ?longer|from now on|as of now
|has changed|have changed|changed|changes? to|moved|moves|rotated|rotation|renamed|switched|switching|rebased|replaced
|replaces|supersede[sd]?|extended|postponed|raised|lowered|new|(?<=\w )now|scratch that|changed my mind|change of plan
|ab jetzt|ab sofort|nicht mehr|stattdessen|doch nicht|neue[rsn]?|jetzt|korrektur|désormais|plutôt|ne [^.]{1,20} plus
|nouve(?:au|lle)|maintenant|ahora|ya no|en vez de|nuev[oa]
"""
"""Words that tell of a change."""

_CHANGES: Final = lazy_pattern(rf"\b(?:{''.join(CHANGES.split(chr(10)))})\b|改为|改成|不再|现在|今後は", re.IGNORECASE)
_STATES: Final = lazy_pattern(
    r"^[^\W\d_][\w ]{2,30}: "
    r"|\b(?:is|are|was|be|has|have|never|always|must|owns?|caps?|capped|limit|budget|deadline|due|most|least|under|below"
    r"|above|until|by|stay"
    r"|ist|sind|beträgt|bis|höchstens|mindestens|est|sont|es|son)\b",
    re.IGNORECASE,
)
"""A sentence that tells how something is. In the same words, one that does not is another order."""

_NUMBER: Final = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|twenty|thirty|forty|fifty)(?: (?:hundred|thousand|million))?"
)
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"
_VALUE: Final = lazy_pattern(
    rf"(?P<money>[$€£¥]\s?\d[\d.,]{{0,12}}(?:\s?[kKmM]\b)?"
    rf"|\b(?:\d[\d.,]{{0,12}}|{_NUMBER})\s(?:dollars?|euros?|pounds?|cents?|USD|EUR)\b)"
    rf"|(?P<date>\b\d{{4}}-\d\d-\d\d\b|\b{_MONTH}\.?\s\d{{1,2}}\b|\b\d{{1,2}}\.?\s{_MONTH}\b|\b\d{{1,2}}[./-]\d{{1,2}}\b"
    r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b)"
    r"|(?P<path>(?<![\w/.@-])(?:https?://|~?/|\.{1,2}/)?[\w.@-]{1,60}(?:/[\w.@-]{1,60}){1,12}/?)"
    r"|(?P<zone>\b(?:UTC|GMT|CES?T|[EPMC][SD]?T)\b|\b[A-Z][a-z]{2,20} [Tt]ime\b)"
    r"|(?P<code>(?<![\w-])(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[A-Za-z])\w{1,20}(?:-\w{1,20}){1,4}\b"
    r"|\b(?=[0-9a-f]{0,39}\d)[0-9a-f]{7,40}\b)"
    r"|(?P<version>\bv?\d{1,4}\.\d{1,6}(?:\.\d{1,6}){0,3}\b)"
    r"|(?P<name>\b[A-Z][a-z]{1,20} [A-Z][a-z]{1,20}\b)"
    r"|(?P<number>\b\d[\d,]{0,12}\b%?)"
)
"""Values by their kinds; what one finds first counts."""

_WISH: Final = lazy_pattern(r"\b(?:wants?|prefers?|rather|likes?)\b", re.IGNORECASE)
"""A short wish is a value too, the kind of which is that."""
_LONGEST_WISH: Final = 14

_WORD: Final = lazy_pattern(r"[^\W\d_]{4,}")
_STEM: Final = 6
_COMMON: Final = """
about after again also another because been before being both does done each every from have here into just keep make
more most much must never next only other please should some step still such than that their them then there these they
this those under update using very want wants were what when where which while will with would your user always
"""
_MOST_SENTENCES: Final = 6
"""A text with more is no remark but a document, or pasted."""
_PROSE: Final = lazy_pattern(r"(?=[^\W\d_])(?:[^\s]{1,40}\s+){3,50}\S{1,40}\s*")
"""A sentence of some words that begins with a letter."""
_FEW: Final = 4
"""A word that more sentences have says little of what one is about."""
_STOP_WORDS: Final = frozenset(_COMMON.split())


class _Said(Struct):
    """A sentence: the values in it by their kinds, and the words around them.

    `frame` is the sentence without what is told of its subject, `told` the values in that. Numbers and names before it
    tell which subject it is.
    """

    values: Mapping[str, frozenset[str]]
    stems: frozenset[str]
    frame: str
    told: tuple[str, ...]
    changes: bool
    states: bool


def outdated(statements: Sequence[Sequence[str]]) -> list[set[int]]:
    """Return, for each of the statements of one person in order, its sentences that a later statement corrects."""
    said = [[_read(sentence) for sentence in each] for each in statements]
    found: list[set[int]] = [set() for _ in statements]
    numbers = Tally(stem for each in said for one in each for stem in one.stems)
    newest: dict[str, tuple[str, ...]] = {}
    earlier: list[tuple[int, int, _Said]] = []
    for number in reversed(range(len(said))):
        own: dict[str, tuple[str, ...]] = {}
        for place, one in enumerate(said[number]):
            if one.told:
                own[one.frame] = one.told
                if newest.get(one.frame, one.told) != one.told:
                    found[number].add(place)
        newest = own | newest
    for number, each in enumerate(said):
        for one in each:
            if one.changes and one.values and earlier:
                best = max(earlier, key=lambda other: (_likeness(one, other[2], numbers), other[0]))
                if _likeness(one, best[2], numbers) > 0:
                    found[best[0]].add(best[1])
        earlier += [(number, place, one) for place, one in enumerate(each) if one.values]
    return found


def outdated_statements(statements: Sequence[Sequence[str]]) -> dict[int, list[str]]:
    """Return the numbers of those statements that say nothing else, each with its sentences that no longer hold."""
    found: dict[int, list[str]] = {}
    later: set[str] = set()
    for number, gone in reversed([*enumerate(outdated(statements))]):
        said = [sentence.strip() for sentence in statements[number]]
        if gone and all(place in gone or sentence in later for place, sentence in enumerate(said)):
            found[number] = [said[place] for place in sorted(gone)]
        later.update(said)
    return found


def outdated_texts(messages: Sequence[Message]) -> dict[BlockPlace, list[str]]:
    """Return the texts that a person typed of which the same holds, by the positions of message and block."""
    texts = {
        (position, number): own
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if is_typed(message, block) and len(own := sentences_of(block.text)) <= _MOST_SENTENCES
    }
    places = [*texts]
    return {places[number]: gone for number, gone in outdated_statements([*texts.values()]).items()}


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [one for line in text.split("\n") for one in sentences(line) if one.strip()]


_NOTHING: Final = _Said({}, frozenset(), "", (), changes=False, states=False)


@lru_cache(1_000)  # The same sentences are read in every state of a conversation.
def _read(sentence: str) -> _Said:
    if "?" in sentence or not _PROSE.fullmatch(sentence.strip()):
        return _NOTHING
    values: dict[str, set[str]] = {}
    for value in _VALUE.finditer(sentence):
        values.setdefault(value.lastgroup or "", set()).add(value[0].casefold())
    if _WISH.search(sentence) and len(sentence.split()) <= _LONGEST_WISH:
        values["wish"] = {sentence}
    states = [*_STATES.finditer(sentence)]
    subject = states[-1].end() if states else len(sentence)
    is_of_something = any(word.casefold() not in _STOP_WORDS for word in _WORD.findall(sentence, 0, subject))
    told = tuple(value[0].casefold() for value in _VALUE.finditer(sentence, subject)) if is_of_something else ()
    rest = _VALUE.sub(lambda value: f"<{value.lastgroup}>", sentence[subject:])
    words = (word.casefold() for word in _WORD.findall(sentence) if word.casefold() not in _STOP_WORDS)
    return _Said(
        {kind: frozenset(found) for kind, found in values.items()},
        frozenset(word[:_STEM].removesuffix("s") for word in words),
        " ".join(f"{sentence[:subject]} {rest}".casefold().split()),
        told,
        _CHANGES.search(sentence) is not None,
        bool(states),
    )


def _likeness(one: _Said, other: _Said, numbers: Mapping[str, int]) -> float:
    """How likely a sentence that tells of a change means another: by the words that only few have."""
    kinds = one.values.keys() & other.values.keys()
    is_stated = other.states or "wish" in kinds
    if not (is_stated and any(one.values[kind].isdisjoint(other.values[kind]) for kind in kinds)):
        return 0.0
    return sum(_FEW / numbers[stem] for stem in one.stems & other.stems if numbers[stem] <= _FEW)
