"""Rank a sentence: instructions and decisions go last, small talk first.

Each list is read as words and phrases, in small letters; a `*` at the end of a word means any ending. Chinese,
Japanese and Korean are looked for as they are, as they have no blanks between words.

Known by words, in the languages of `cues`; in others by numbers, names and question marks alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from .units import sentences

RULES: Final = """
always, never, from now on, from here on, from this point on, going forward, henceforth, at all times, whenever,
every time, each time, under no circumstances, in no case, in any case, no matter, whatever you, whatever else,
without exception, must, mustn't, may not, shall, not allowed, forbidden, required, mandatory, off limits, do
not, don't, avoid, refrain, make sure, be sure, ensure, keep in mind, bear in mind, remember to, remember that,
important, essential, crucial, no more than, no less than, no fewer than, no longer than, no later than, at
most, at least, stick to, stick with, decided, decision, agreed, settled, settles, go with, going with, let's,
final answer, final choice, final version, change of plan, changed my mind, correction, scratch that,
forget what, forget about, i meant, prefer*, i'd rather, would rather, favourite, favorite, can't stand, cannot
stand, can't bear, instead of,
immer, nie, niemals, nirgends, ab sofort, ab jetzt, ab heute, künftig, in zukunft, von nun an, stets, jedes mal,
jedesmal, auf keinen fall, unter keinen umständen, achte, achtet, stell sicher, stelle sicher, vermeide*, muss,
müssen, darf, darfst, dürfen, soll, sollst, sollen, sollte, verwende*, benutze, denk daran, merk dir, höchstens,
mindestens, entschieden, beschlossen, vereinbart, abgemacht, einverstanden, es bleibt bei, bleiben bei, wir
bleiben, wir nehmen, nehmen wir, wir machen, machen wir, doch nicht, stattdessen, bevorzug*, lieber, am
liebsten, lieblings*, kein, keine, keinen, keiner,
toujours, jamais, dorénavant, désormais, à partir de maintenant, à l'avenir, en aucun cas, sans exception, il
faut, tu dois, vous devez, doit, doivent, interdit, évite*, assure-toi, assurez-vous, veille à, veillez à,
n'oublie*, au plus, au moins, au maximum, décid*, convenu, d'accord, on choisit, on prend, on garde, on
reste, plutôt, préfér*, préfèr*, aime mieux, changement de plan,
siempre, nunca, jamás, a partir de ahora, de ahora en adelante, en ningún caso, en todo caso, debes, debe,
deben, debemos, tienes que, tiene que, hay que, prohibido, evita*, asegúrate, no olvides, como máximo, como
mínimo, decidi*, acordado, acordamos, de acuerdo, nos quedamos, quedamos en, elegimos, en vez de, en lugar de,
prefier*, preferi*, gusta más, favorit*,
sempre, a partir de agora, deve, devem, evite, combinado, prefir*,
d'ora in poi, d'ora in avanti, devi, dovete, bisogna, deciso, preferisco, piuttosto,
altijd, nooit, vanaf nu, moet, moeten, vermijd, besloten, afgesproken, liever, voorkeur,
всегда, никогда, отныне, впредь, ни в коем случае, должн*, нельзя, обязательно, избега*, решили, решено,
договорились, предпочита*, лучше, не надо, не нужно
"""

WISHES: Final = """
please, should, could you, would you, i like, i love, i hate, i dislike, i want, i need, i choose, i pick, i'd
like, i'd love, i would like, i would love, i really like, i really love, we'll, we will, we're going, i'll, i
will, suits me, suits us, works for me, works for us, works best, works better, best for me, better for me, best
for us, instead, rather, only, actually, then, needs to, need to, has to, have to, plan, fixed, confirmed, deal,
approved, call me, except, unless, limit, budget, deadline, allergic, favour,
bitte, möchte*, ich will, wir wollen, gern, gerne, mag, wünsch*, nur, dann,
s'il te plaît, s'il vous plaît, merci de, veuillez, voudrais, souhaite*, j'aime, seulement,
por favor, quiero, queremos, quisiera, me gusta, solo, sólo, mejor,
per favore, vorrei,
graag, alsjeblieft,
пожалуйста, хочу, хотим, только
"""

MEANT_OTHERWISE: Final = """
i don't know, i don't think, i don't understand, i don't remember, i don't see, i don't get, i don't really,
don't worry, i must say, i must admit, what should, how should, should i, should we, must i, do i have to, do
you prefer, what is important, no matter how, no thanks, no thank you, no problem, no worries, no idea, no
doubt, no wonder, nothing else
"""
"""Phrases that hold one of those words and are neither."""

FIRST: Final = "only, no, stop, nothing, nobody, ne, n', não, non"
"""Rules by what they begin with."""

LEADING: Final = "and, also, but, so, then, ok, okay, right, now, just, kindly, und, et, y"
"""Words that may come before that, and before a verb that commands."""

COMMANDS: Final = """
add, address, answer, apply, ask, assume, base, begin, bring, call, change, check, choose, cite, close, compare,
consider, convert, count, cut, define, delete, describe, double, draft, drop, end, exclude, explain, fill,
finish, focus, follow, format, give, go, hide, highlight, hold, ignore, include, insert, introduce, keep, leave,
limit, link, list, maintain, make, mark, mention, move, name, number, omit, open, order, pick, place, preserve,
print, put, quote, read, refer, remember, remove, rename, repeat, replace, reply, report, respect, respond,
return, reuse, round, save, say, select, send, separate, set, show, sign, skip, sort, speak, spell, split,
start, state, stay, store, summarise, summarize, switch, take, talk, tell, test, translate, treat, try, turn,
update, use, verify, wait, warn, wrap, write
"""

TALK: Final = """
thanks, thank, you, thx, hi, hello, hey, good, morning, evening, day, bye, great, nice, cool, wow, yes, yeah,
yep, sure, go, on, continue, tell, me, more, very, much, so, perfect, ok, okay, exactly,
danke, schön, hallo, ja, weiter, super,
merci, beaucoup, bonjour, salut, oui,
gracias, muchas, hola, sí,
grazie, ciao,
obrigado, obrigada,
спасибо, привет, да
"""
"""A sentence of nothing but these says nothing that is needed again."""

RULES_WITHOUT_BLANKS: Final = """
从现在 从今 今后 以后 一直 始终 总是 永远 务必 必须 一定 千万 不要 不能 不得 禁止 不可 别再 只能 每次 记住 记得
决定 确定 就定 定在 定了 说好 商定 同意 改成 改为 更喜欢 比较喜欢 最喜欢 偏好 宁愿 就按 就选 就要
今後 これから 必ず 常に 決して 絶対 しないで ないでください 決め 決定 にします
앞으로 항상 절대 반드시 결정 정했 선호
"""
WISHES_WITHOUT_BLANKS: Final = """
请 希望 想要 我想 我要 喜欢 那就 麻烦 需要 应该
お願い ください ほしい たい 好き
부탁 주세요 싶
"""
TALK_WITHOUT_BLANKS: Final = "谢谢 你好 您好 再见 好的 是的 ありがとう はい 네"

AGREEMENTS: Final = """
agreed, noted, understood, got it, confirmed, deal, done, as agreed, as decided, as discussed, as you wish, as
you asked, okay, ok, all right, alright, right, very well, perfect, so, then,
alles klar, verstanden, einverstanden, abgemacht, notiert, gut, in ordnung,
d'accord, entendu, c'est noté, c'est compris, c'est décidé, c'est convenu, compris, bien noté, très bien,
de acuerdo, entendido, anotado, perfecto, vale,
va bene, capito,
combinado, entendi,
begrepen, afgesproken,
хорошо, понял, принято, договорились
"""
"""What the assistant begins with that agrees to something."""

PROMISES: Final = """
i'll, i will, i shall, we'll, we will, we shall, we decided, we have decided, we agreed, we have agreed, we
settled, we are going with, we're going with, going with, from now on, from here on, going forward, is settled,
is fixed, is agreed, is decided, is confirmed, are agreed, are settled, is set, are set, the plan is,
the decision is, the deadline is, the budget is, the choice is, we use, we take, we keep, we
replace, we drop, we move, no longer,
ich werde, ich schreibe, ich verwende, ich achte, ich halte, wir bleiben, wir nehmen, wir machen, wir werden,
wir verwenden, ab jetzt, ab sofort, entschieden, vereinbart,
je vais, nous retenons, nous prenons, nous gardons, nous utiliserons, retenu, fixée,
usaré, usaremos, quedamos, hemos decidido, hemos acordado, acordado
"""
"""What is in a sentence of the assistant that promises something, or tells what was decided."""

AGREEMENTS_WITHOUT_BLANKS: Final = "好的 明白 了解 收到 没问题 同意 那就 かしこまりました 承知 わかりました 알겠"
PROMISES_WITHOUT_BLANKS: Final = "我会 我将 我们就 我们决定 就按 定在 决定 一直用 にします いたします 하겠습니다 정했"


class Sense(IntEnum):
    """Kinds of sentences of a user, the least needed later first."""

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
_LABEL: Final = lazy_pattern(r"[A-ZÀ-Þ]{4,}[A-ZÀ-Þ _-]{0,20}: \S")
"""Labels of what is to be remembered, such as "FACT: ", "NOTE: " or "RULE: "."""
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


_LEADING: Final = frozenset(_words(LEADING))
_TALK: Final = frozenset(_words(TALK))
_MEANT_OTHERWISE: Final = _Phrases(MEANT_OTHERWISE)
_RULES, _WISHES = _Phrases(RULES), _Phrases(WISHES)
_FIRST, _COMMANDS = _Phrases(FIRST), _Phrases(COMMANDS)
_AGREEMENTS, _PROMISES = _Phrases(AGREEMENTS), _Phrases(PROMISES)
_RULES_CJK, _WISHES_CJK = _any_of(RULES_WITHOUT_BLANKS), _any_of(WISHES_WITHOUT_BLANKS)
_AGREEMENTS_CJK, _PROMISES_CJK = _any_of(AGREEMENTS_WITHOUT_BLANKS), _any_of(PROMISES_WITHOUT_BLANKS)
_TALK_CJK: Final = lazy_pattern(rf"\W*(?:(?:{'|'.join(TALK_WITHOUT_BLANKS.split())})\W*){{1,4}}")

_AHEAD: Final = 4.0
"""A rule is worth so much more than a wish, a wish than a fact, and so on: more than markers make up."""

_LONGEST: Final = 300
"""Characters of a sentence of the assistant that agrees to something; longer ones explain."""


def sense_of(sentence: str) -> Sense:
    """Return the kind of a sentence of the user."""
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
    if (
        _LABEL.match(sentence)
        or _WISHES.are_in(words)
        or _COMMANDS.begin(words)
        or (has_no_blanks and _WISHES_CJK.search(sentence))
    ):
        return Sense.WISH
    return Sense.FACT if _FACT.search(sentence) else Sense.STATEMENT


@lru_cache(10_000)  # Of a budget that is tried, the next one asks for the same.
def weight_of(words: str) -> float:
    """Return the worth of a token of the user's words, at most 1, by the sentence in them that has to stay longest."""
    return _AHEAD ** (max(map(sense_of, sentences(words))) - Sense.RULE)


def is_settled(sentence: str) -> bool:
    """Whether a sentence of the assistant agrees to something, promises something or tells what was decided."""
    if len(sentence) > _LONGEST:
        return False
    words = _words(sentence)
    if words and (_AGREEMENTS.at(words, 0) or _PROMISES.are_in(words)):
        return True
    return bool(_AGREEMENTS_CJK.match(sentence) or _PROMISES_CJK.search(sentence))
