"""Measures that nothing is fitted to, each 0 if nothing is kept and 1 if everything is.

Bits: the assistant's words and calls after the cut are compressed with a context in front of them, each piece after
everything before it. What tools and user said in between is in front as well, and costs nothing. The full context saves
bytes against the standing instructions alone; the measure is the share of these bytes that a condensed context saves.
It sees all repetition, names and phrasing alike, without any idea of a fact. It does not see other wording, and the
right words in the wrong order count the same. Another version of zstd may give slightly other shares.

Substrings: `src/app.py` is found in `/home/me/src/app.py:12` although the fact there is another one. As with facts it
has to be on a line of the original, or in a part of one. It does not see if the longer fact means the same thing.

Grounded: of the next 20 calls those count that took a fact or a line to match from before the cut. One is grounded if
all of these are present: facts as substrings, lines as lines. It sees that half of what a call needs is not enough. It
does not see that a model could find out the rest, nor calls that it would rather have made.

Old strings: asked is every text that an edit after the cut had to find, if it was whole in one text before the cut and
not shown whole again in between; of a patch, the lines of a hunk that it expects. Listing numbers do not count. It sees
that an edit needs all its lines, side by side. It does not see that a model could choose other ones.

Rereads: a fact or line comes from the file in which the newest read or change before the cut shows it. Reading a file
again costs the tokens of the longest text that showed it before the cut. The measure is 1 minus the cost of the files
of which anything is lost, as a share of the cost of all files that anything came from. It sees that one lost line of a
long file costs more than all of a short one. It does not see what no file holds (words, output of programs), nor that
reading a part may be enough, nor that the file may have changed.

Rules: asked is every sentence of at least 8 characters that a person typed before the cut, without what was pasted. It
is kept if the same sentence is in a text of the condensed form, in a result with the user's answer, or in a request
that a ledger quotes. The end of a line ends a sentence, and several blanks count as one. It does not see if a sentence
still matters, nor one in other words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from importlib import import_module
from itertools import chain
from types import ModuleType
from typing import Any, Final, Literal

from msgspec import Struct

from ..core.transcript import Block, Message
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..extractive.answers import own_units, words_in
from ..extractive.units import split
from ..ledger.collect import file_effects, worked_on
from ..lossless.decode import decode
from ..lossless.lines import read_lines
from ..tokens.counting import Counter
from ..toolcalls.outcomes import Results, calls_with_results, results_of
from ..toolcalls.tools import (
    BEGIN,
    arguments_of,
    command_lines,
    matched_texts,
    reads_a_file,
    string_values,
    writes_a_file,
)
from .recall import RECALLS, Need, Questions, Recall, StillThere, ledgers_in, said_lines, texts_in, texts_of


class Condensed:
    """Messages that a model would be sent in place of those before the cut."""

    def __init__(self, messages: Sequence[Message], questions: Questions) -> None:
        self.messages = messages
        self.questions = questions

    @cached_property
    def standing(self) -> StillThere:
        return self.questions.standing(self.messages)

    @cached_property
    def recall(self) -> Recall:
        return self.questions.recall(self.messages, self.standing)

    @cached_property
    def texts(self) -> list[str]:
        """All texts in order, references resolved: the model can read their content in full."""
        return list(texts_in(decode(self.messages).messages))


_LEAST: Final = 64
"""Bytes that the full context has to save; below, shares are chance."""

_SMALLEST_WINDOW: Final = 17
_LARGEST_WINDOW: Final = 27
_LARGEST_TABLE: Final = 24
"""Logarithms: windows of 128 KiB to 128 MiB, tables of 64 MiB at most."""

_SMALLEST_PREFIX: Final = 8
"""Shortest prefix that zstd takes."""

_SEARCH: Final = 7
_SHORTEST_MATCH: Final = 3
"""Shares differ from those of the longest search by .003, with `btlazy2` by .02, with the fast strategies by .04."""

Kind = Literal["calls", "words"]


class Lengths(Struct, frozen=True):
    """Bytes that the assistant's calls and words take after a context."""

    calls: int
    words: int

    @property
    def both(self) -> int:
        return self.calls + self.words


class Bits(Struct, frozen=True):
    """Shares from 0 to 1 of what the full context explains; None if that is next to nothing."""

    both: float | None
    calls: float | None
    words: float | None


class Continuation:
    """The part after a cut, to put behind any number of contexts.

    `before` are all texts of the full context, `always` those of them that are sent with every request.
    """

    def __init__(self, before: Iterable[str], after: Sequence[Message], always: Iterable[str] = ()) -> None:
        self._before = before
        self._always = always
        self._pieces = [(kind, _encoded(text)) for kind, text in _pieces(after)]
        self._size = sum(len(piece) for _, piece in self._pieces)

    def __call__(self, texts: Iterable[str]) -> Bits:
        texts = tuple(texts)
        least, most = self._with_all, self._with_nothing
        # Without the part that is always sent, a few bytes fewer may come out by chance.
        found = self._lengths(texts) if texts else most
        return Bits(
            _share(most.both, found.both, least.both),
            _share(most.calls, found.calls, least.calls),
            _share(most.words, found.words, least.words),
        )

    @cached_property
    def _with_nothing(self) -> Lengths:
        return self._lengths(self._always)

    @cached_property
    def _with_all(self) -> Lengths:
        return self._lengths(self._before)

    def _lengths(self, texts: Iterable[str]) -> Lengths:
        context = b"".join(map(_encoded, texts))
        packer = _packer(context, self._size)
        lengths: dict[Kind | None, int] = {"calls": 0, "words": 0, None: 0}
        for kind, piece in self._pieces:
            lengths[kind] += len(packer.compress(piece, packer.FLUSH_BLOCK))
        return Lengths(lengths["calls"], lengths["words"])


def _pieces(after: Sequence[Message]) -> Iterator[tuple[Kind | None, str]]:
    """Yield calls and words of the assistant, and what it was shown in between, in order."""
    for message in after:
        is_said = message.role is Role.ASSISTANT
        for block in message.blocks:
            text = "\n".join(texts_of(block))
            if text and is_said and block.kind is BlockKind.TOOL_CALL:
                yield "calls", text
            elif text and is_said and block.kind is BlockKind.TEXT:
                yield "words", text
            elif text:
                yield None, text


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _packer(context: bytes, size: int) -> Any:
    """Make a compressor for `size` bytes with a context in front."""
    zstd = _zstd()
    window = min(_LARGEST_WINDOW, max(_SMALLEST_WINDOW, (len(context) + size).bit_length()))
    # Default tables suit windows of a few hundred KB. Larger contexts would mostly be forgotten.
    table = min(_LARGEST_TABLE, window)
    names = zstd.CompressionParameter
    options = {
        names.strategy: zstd.Strategy.btultra,
        names.window_log: window,
        names.hash_log: table,
        names.chain_log: table,
        names.search_log: _SEARCH,
        names.min_match: _SHORTEST_MATCH,
        names.content_size_flag: 0,
    }
    prefix = zstd.ZstdDict(context, is_raw=True).as_prefix if len(context) >= _SMALLEST_PREFIX else None
    return zstd.ZstdCompressor(options=options, zstd_dict=prefix)


def _share(most: int, found: int, least: int) -> float | None:
    """Return the saved share of the bytes that can be saved: a shorter context may save a few more than the full
    one."""
    if most - least < _LEAST:
        return None
    return min(1.0, max(0.0, (most - found) / (most - least)))


def _zstd() -> ModuleType:
    """Return Python's own module (since 3.14), or the same one from a package."""
    try:
        return import_module("compression.zstd")
    except ImportError:
        return import_module("backports.zstd")


_WORD: Final = re.compile(r"[A-Za-z0-9_]+")


class Substrings:
    """Finds the asked facts in condensed forms; searches each text once."""

    def __init__(self, questions: Questions) -> None:
        self._find = Finder(questions.asked.facts)
        self._known: dict[str, frozenset[str]] = {}

    def __call__(self, kept: Condensed) -> frozenset[str]:
        """Return the facts that are found."""
        found = set(kept.standing.facts)
        for text in kept.questions.verbatim(kept.messages):
            known = self._known.get(text)
            if known is None:
                known = self._known[text] = frozenset(self._find("\n".join(read_lines(text).keys)))
            found |= known
        return frozenset(found)


class Finder:
    """Finds strings between word boundaries, in a time that does not grow with their number.

    Each is looked for at the places of its longest word.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        self._strings = frozenset(strings)
        self._shapes: dict[str, set[tuple[int, int]]] = {}
        """By the longest word of strings: where it begins in them, and how long they are."""
        for string in self._strings:
            words = list(_WORD.finditer(string))
            if words:
                longest = max(words, key=lambda word: word.end() - word.start())
                self._shapes.setdefault(longest[0], set()).add((longest.start(), len(string)))

    def __call__(self, text: str) -> set[str]:
        found: set[str] = set()
        for word in _WORD.finditer(text):
            for offset, length in self._shapes.get(word[0], ()):
                start = word.start() - offset
                string = text[max(0, start) : start + length]
                if string in self._strings and _is_bounded(text, start, start + length):
                    found.add(string)
        return found


def _is_bounded(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start] if start > 0 else "", text[end : end + 1]
    return not (_WORD.match(before) or _WORD.match(after))


def grounded(needs: Sequence[Need], facts: frozenset[str], lines: frozenset[str]) -> float | None:
    """Return the share of calls whose needs are all present; None if none took anything from before the cut."""
    if not needs:
        return None
    return sum(need.facts <= facts and need.lines <= lines for need in needs) / len(needs)


_MOST: Final = 200
"""Strings that are searched for in each text: more tell little and take long."""


class OldStrings:
    """Strings that edits after a cut took from before it."""

    def __init__(self, before: Sequence[Message], after: Sequence[Message]) -> None:
        always = texts_in(message for message in before if message.role in STANDING_ROLES)
        self._wanted = tuple(_unshown(after, [_plain(text) for text in always]))
        self._found: dict[str, frozenset[str]] = {}
        self.asked = self._in(texts_in(message for message in before if message.role not in STANDING_ROLES))

    def __call__(self, kept: Condensed) -> float | None:
        """Return the share that is present; None without any."""
        return len(self.asked & self._in(kept.texts)) / len(self.asked) if self.asked else None

    def _in(self, texts: Iterable[str]) -> frozenset[str]:
        """Return the wanted strings that are in one of the texts."""
        found: set[str] = set()
        for text in texts if self._wanted else ():
            known = self._found.get(text)
            if known is None:
                plain = _plain(text)
                known = self._found[text] = frozenset(old for old in self._wanted if old in plain)
            found |= known
        return frozenset(found)


def _unshown(after: Sequence[Message], shown: list[str]) -> Iterator[str]:
    """Yield what edits replace that no text has shown by then; `shown` are texts that need no showing."""
    results = results_of(after)
    seen: set[str] = set()
    for message in after:
        if message.role is not Role.ASSISTANT:
            shown += map(_plain, texts_in((message,)))
            continue
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL and not results.get(id(block), Results()).is_refused:
                for old in old_strings(block):
                    if len(seen) == _MOST:
                        return
                    if old not in seen and not any(old in text for text in shown):
                        yield old
                    seen.add(old)


def old_strings(call: Block) -> Iterator[str]:
    """Yield the texts that an edit has to find, each whole."""
    patched = [value for _, value in string_values(arguments_of(call) or {"input": call.text}) if BEGIN in value]
    found = [old for patch in patched for old in _hunks(patch)] if patched else matched_texts(call)
    for old in found:
        old = old.strip("\n")
        if any(said_lines(old.split("\n"))):
            yield old


def _hunks(patch: str) -> Iterator[str]:
    """Yield the lines of each hunk that the file must have."""
    lines: list[str] = []
    for line in [*patch.split("\n"), "@@"]:
        if line.startswith(("-", " ")):
            lines.append(line[1:])
        elif line.startswith(("@@", "*** ")) and lines:
            yield "\n".join(lines)
            lines = []


def _plain(text: str) -> str:
    return "\n".join(read_lines(text).keys)


Files = tuple[str, ...]
"""Path that a text shows, or paths of several files in it, which are read again together."""


class Rereads:
    """Sources of asked items, and the cost of reading them again. `count` returns the tokens of a text."""

    def __init__(self, before: Sequence[Message], questions: Questions, count: Callable[[str], int]) -> None:
        self._facts: dict[str, Files] = {}
        self._lines: dict[str, Files] = {}
        self._cost: dict[Files, int] = {}
        for files, text in _shown(before):
            facts, lines = questions.said(text)
            # A lost path cannot be found in its file.
            self._facts.update({fact: files for fact in facts if not any(fact in path for path in files)})
            self._lines.update(dict.fromkeys(lines, files))
            self._cost[files] = max(self._cost.get(files, 0), count(text))

    def __call__(self, kept: Condensed) -> float | None:
        """Return the share that need not be read again; None if no asked item came from a file."""
        asked = {*self._facts.values(), *self._lines.values()}
        lost = {files for fact, files in self._facts.items() if fact not in kept.standing.facts}
        lost |= {files for line, files in self._lines.items() if line not in kept.standing.lines}
        everything = sum(self._cost[files] for files in asked)
        return 1 - sum(self._cost[files] for files in lost) / everything if everything else None


def _shown(messages: Sequence[Message]) -> Iterator[tuple[Files, str]]:
    """Yield texts that show files, in the order of the calls."""
    for call, found in calls_with_results(messages):
        files = tuple(dict.fromkeys(_files(call, found)))
        if files and not found.is_refused:
            # The text of a reading call is no content.
            parts = (call, *found.blocks) if writes_a_file(call) else found.blocks
            yield from ((files, text) for part in parts for text in texts_of(part))


def _files(call: Block, results: Results) -> Iterator[str]:
    if reads_a_file(call) or writes_a_file(call):
        yield from worked_on(call, results)
    for command in command_lines(call):
        yield from (effect.path for effect in file_effects(command) if effect.kind == "read")


_SHORTEST: Final = 8
"""Shorter sentences, such as "Yes." or "Go on.", are no rules, and occur everywhere."""

_WORDS: Final = (BlockKind.TEXT, BlockKind.OPAQUE)
"""Kinds of blocks that can hold typed text: a queued prompt is no text block."""

_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？])|\n+")


class Rules:
    """Sentences that a person typed."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.asked = frozenset(sentence for text in _typed(messages) for sentence in sentences(text))

    def __call__(self, kept: Sequence[Message]) -> float | None:
        """Return the share that is in other messages; None if nobody typed any."""
        if not self.asked:
            return None
        texts = (_said(block) for message in kept for block in message.blocks)
        quoted = (request.text for ledger in ledgers_in(kept) for request in ledger.requests)
        standing = {sentence for text in chain(texts, quoted) for sentence in sentences(text)}
        return len(self.asked & standing) / len(self.asked)


def sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        sentence = " ".join(part.split())
        if len(sentence) >= _SHORTEST:
            yield sentence


def _said(block: Block) -> str:
    return block.text if block.kind in _WORDS else words_in(block)


def _typed(messages: Sequence[Message]) -> Iterator[str]:
    """Yield what was typed, without pasted text and a client's words around an answer."""
    for (position, number), own in own_units(messages).items():
        block = messages[position].blocks[number]
        text = block.text
        if block.kind is BlockKind.TOOL_RESULT:
            yield words_in(block)
        elif own is None:
            yield text
        else:
            units = split(text).texts
            yield from (units[unit] for unit in own)


WITNESSES: Final = (
    "substrings", "old_strings", "bits", "bits_calls", "bits_words", "grounding", "rereads", "rules"
)  # fmt: skip
"""Names of the measures. `bits_calls` and `bits_words` are the two parts of `bits`."""

MEASURES: Final = (*RECALLS, *WITNESSES)

Shares = dict[str, float | None]
"""Shares from 0 to 1 by measure, None if a cut asks for nothing."""


class Witnesses:
    """Questions of the part after a cut to condensed forms of the part before it.

    `before` is without references, `count` returns the tokens of a text.
    """

    def __init__(
        self, before: Sequence[Message], after: Sequence[Message], questions: Questions, count: Callable[[str], int]
    ) -> None:
        self.before = before
        self.after = after
        self.questions = questions
        self.count = count

    def __call__(self, kept: Condensed, names: Iterable[str] = WITNESSES) -> Shares:
        """Return shares by name; unknown `names` are skipped."""
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
        """Return recalls and witnesses of a condensed form; rules are those of one round."""
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
    """Return every measure of one condensed form: `kept` in place of `before`, asked by `after`; rules are those of
    one round.

    What depends on the cut alone is computed once for the same two tuples (`is`, not `==`). A case has it in
    `case.witnesses`.
    """
    witnesses = _witnesses(_Same(before, after), count or _COUNT)
    return witnesses.measure(kept, names)


_COUNT: Final = Counter()


class _Same:
    """Two tuples of messages, compared by identity: comparing their content would take long."""

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
