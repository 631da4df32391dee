"""What a sentence is to those who go on: an instruction or a decision goes last, small talk first.

Known by words, in the languages of `cues`; in others by numbers, names and question marks alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from . import cues
from .sentences import sentences


class Sense(IntEnum):
    """What the user says with a sentence, the least needed later first."""

    TALK = 0
    """Thanks, greetings, "Go on."."""
    QUESTION = 1
    STATEMENT = 2
    FACT = 3
    """A statement with a number, a name or a quotation in it."""
    WISH = 4
    """What may be an instruction, a preference or a decision."""
    RULE = 5
    """What holds for all that follows, or was decided."""


_WORD: Final = lazy_pattern(r"[^\W\d_]+'?")
_WITHOUT_BLANKS: Final = lazy_pattern("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_FACT: Final = lazy_pattern(r"\d|(?<=[^\W\d_A-Z] |[,;] )[A-ZÀ-Þ]\w|[«“\"「『][^«»“”\"「」]{2,40}[»”\"」』]")
_QUESTION: Final = lazy_pattern(r"[?？][\"'”’»)\]]{0,3}$|[吗呢]$")


class _Phrases:
    """Words and phrases, to be looked for among the words of a sentence."""

    def __init__(self, listed: str) -> None:
        phrases = [phrase.strip() for phrase in listed.casefold().split(",")]
        self._phrases = {tuple(_words(phrase)) for phrase in phrases}
        self._stems = tuple(phrase.removesuffix("*") for phrase in phrases if phrase.endswith("*"))
        self._lengths: dict[str, list[int]] = {}
        for phrase in sorted(self._phrases, key=len, reverse=True):
            self._lengths.setdefault(phrase[0], []).append(len(phrase))

    def at(self, words: Sequence[str], position: int) -> int:
        """How many words the longest phrase has that begins at a position; 0 where none does."""
        for length in self._lengths.get(words[position], ()):
            if tuple(words[position : position + length]) in self._phrases:
                return length
        return int(words[position].startswith(self._stems))

    def are_in(self, words: Sequence[str]) -> bool:
        position = 0
        while position < len(words):
            other = _MEANT_OTHERWISE.at(words, position)
            if not other and self.at(words, position):
                return True
            position += other or 1
        return False

    def begin(self, words: Sequence[str]) -> bool:
        """Whether the sentence begins with one, after words that lead to it."""
        start = next((number for number, word in enumerate(words) if word not in _LEADING), None)
        return start is not None and self.at(words, start) > 0 and not _MEANT_OTHERWISE.at(words, start)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold().replace("’", "'"))


def _any_of(listed: str) -> re.Pattern[str]:
    return lazy_pattern("|".join(listed.split()))


_LEADING: Final = frozenset(_words(cues.LEADING))
_TALK: Final = frozenset(_words(cues.TALK))
_MEANT_OTHERWISE: Final = _Phrases(cues.MEANT_OTHERWISE)
_RULES, _WISHES = _Phrases(cues.RULES), _Phrases(cues.WISHES)
_FIRST, _COMMANDS = _Phrases(cues.FIRST), _Phrases(cues.COMMANDS)
_AGREEMENTS, _PROMISES = _Phrases(cues.AGREEMENTS), _Phrases(cues.PROMISES)
_RULES_CJK, _WISHES_CJK = _any_of(cues.RULES_WITHOUT_BLANKS), _any_of(cues.WISHES_WITHOUT_BLANKS)
_AGREEMENTS_CJK, _PROMISES_CJK = _any_of(cues.AGREEMENTS_WITHOUT_BLANKS), _any_of(cues.PROMISES_WITHOUT_BLANKS)
_TALK_CJK: Final = lazy_pattern(rf"\W*(?:(?:{'|'.join(cues.TALK_WITHOUT_BLANKS.split())})\W*){{1,4}}")

_AHEAD: Final = 4.0
"""A rule is worth so much more than a wish, a wish than a fact, and so on: more than markers make up."""

_LONGEST: Final = 300
"""Characters of a sentence of the assistant that agrees to something; longer ones explain."""


def sense_of(sentence: str) -> Sense:
    """What a sentence of the user is."""
    sentence = sentence.strip()
    words = _words(sentence)
    has_no_blanks = _WITHOUT_BLANKS.search(sentence) is not None
    if _RULES.are_in(words) or _FIRST.begin(words) or (has_no_blanks and _RULES_CJK.search(sentence)):
        return Sense.RULE
    if _TALK.issuperset(words) and not _FACT.search(sentence) and not has_no_blanks:
        return Sense.TALK
    if has_no_blanks and _TALK_CJK.fullmatch(sentence):
        return Sense.TALK
    if _QUESTION.search(sentence):
        return Sense.QUESTION
    if _WISHES.are_in(words) or _COMMANDS.begin(words) or (has_no_blanks and _WISHES_CJK.search(sentence)):
        return Sense.WISH
    return Sense.FACT if _FACT.search(sentence) else Sense.STATEMENT


@lru_cache(10_000)  # Of a budget that is tried, the next one asks for the same.
def weight_of(words: str) -> float:
    """What a token of the user's words is worth, of at most 1, by the sentence in them that has to stay longest."""
    return _AHEAD ** (max(map(sense_of, sentences(words))) - Sense.RULE)


def is_settled(sentence: str) -> bool:
    """Whether a sentence of the assistant agrees to something, promises something or tells what was decided."""
    if len(sentence) > _LONGEST:
        return False
    words = _words(sentence)
    if words and (_AGREEMENTS.at(words, 0) or _PROMISES.are_in(words)):
        return True
    return bool(_AGREEMENTS_CJK.match(sentence) or _PROMISES_CJK.search(sentence))
