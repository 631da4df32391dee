"""Count tokens offline.

The package splintr-rs ships the vocabularies; a table built from it (`token_table.py`) counts small texts, and all
texts if `kernels` is compiled. Counts for OpenAI's encodings equal tiktoken's. Other vendors publish no vocabulary, so
o200k_base serves as an estimate and is labelled as one (tiktoken counts 15 to 30% less than Claude's tokenizer).

The counter's name travels with the work (`Configuration.counter`, an argument elsewhere) and stays with each `Counter`
and `Encoding`. There is no process-wide choice: other processes count the same, and one caller of the Python API never
changes another's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from math import inf
from typing import Any, Final, Literal, TypeVar, assert_never, get_args

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message, Transcript
from ..core.values import LONG, BlockKind, Text, compact, size_of
from ..errors import UsageError
from ..kernels import IS_COMPILED
from . import token_table

T = TypeVar("T")

MESSAGE_TOKENS: Final = 3
"""Overhead per message in OpenAI's chat encoding."""

CALL_TOKENS: Final = 50
"""Overhead of a call and its result besides name, arguments and content: markup, ids, names of keys.

Recorded usage implies 20 to 110, depending on the model; no vendor publishes it. Calls that a format writes as text
include all that in the text.
"""

DEFAULT_ENCODING: Final = "o200k_base"

CounterName = Literal["built-in", "tiktoken"]
BUILT_IN: Final = "built-in"
COUNTERS: Final[tuple[CounterName, ...]] = get_args(CounterName)

_ENCODING_OF_MODEL: Final = (
    (lazy_pattern(r"gpt-4o|chatgpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|codex|o[134](?:-|$)"), "o200k_base"),
    (lazy_pattern(r"gpt-4(?:-|$)|gpt-3\.5|gpt-35|text-embedding-(?:ada-002|3)"), "cl100k_base"),
)
"""From tiktoken's table of models (tiktoken/model.py). The first match at the start of a name wins."""

_MUCH: Final = 750_000
"""Amount of text, in bytes or characters, from which loading the tokenizer is faster than using the interpreted
table.
"""

_CHUNK: Final = 65_536
_BOUNDARY: Final = lazy_pattern(r"(?<=[A-Za-z0-9])(?=[ !-&(-/:-@\[-`{-~])")
"""Every encoding splits between these two characters, so counts add up there. The apostrophe is excluded: it opens
contractions such as `'ll`.
"""


class Encoding(Struct, frozen=True):
    """Vocabulary and counter for a model. `exact` if the vocabulary is the model's own.

    `missing` names the model's own vocabulary if tiktoken knows it but it is not on this machine; else empty.
    """

    name: str
    exact: bool
    counter: CounterName = BUILT_IN
    missing: str = ""


def encoding_for(model: str | None, counter: CounterName = BUILT_IN) -> Encoding:
    """Return the encoding of a model, ignoring routing prefixes such as `openai/` and fine-tuning suffixes.

    Raises UsageError for an unknown counter.
    """
    if counter not in COUNTERS:
        raise UsageError(f"There is no counter {counter!r}.", f"There are {' and '.join(COUNTERS)}.")
    bare = (model or "").lower().rsplit("/", 1)[-1].removeprefix("ft:").partition(":")[0]
    name = next((name for pattern, name in _ENCODING_OF_MODEL if pattern.match(bare)), None)
    if counter != BUILT_IN:
        from . import tiktoken_counter

        name = tiktoken_counter.encoding_of(bare) or name
        if name and not tiktoken_counter.is_here(name):
            return Encoding(DEFAULT_ENCODING, exact=False, counter=counter, missing=name)
    return Encoding(name or DEFAULT_ENCODING, name is not None, counter)


class Counter:
    """Counts texts with one encoding and caches every count.

    `size` is the approximate number of bytes to count.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING, size: int = 0, counter: CounterName = BUILT_IN) -> None:
        self.encoding = encoding
        self.counter: CounterName = counter
        self._is_much = size >= _MUCH
        self._known: dict[Text, int] = {"": 0}
        self._shared: dict[Callable[[], Any], Any] | None = None

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Meanwhile all who count with this share what they read: later steps read mostly what earlier ones read."""
        if self._shared is not None:
            yield
            return
        self._shared = {}
        try:
            yield
        finally:
            self._shared = None

    def shared(self, make: Callable[[], T]) -> T:
        """Return what is shared of this kind; a new one, of nobody else, where nothing is shared."""
        if self._shared is None:
            return make()
        if make not in self._shared:
            self._shared[make] = make()
        found: T = self._shared[make]
        return found

    def __call__(self, text: Text) -> int:
        # The cache keeps its keys in memory, so never a long text as a string.
        held = compact(text) if isinstance(text, str) and len(text) >= LONG else text
        count = self._known.get(held)
        if count is None:
            count = self._known[held] = self.anew(str(text))
        return count

    def forget(self, but: Iterable[Text] = ()) -> None:
        """Drop every cached count except those of `but`, to free memory in a long-lived counter."""
        known, texts = self._known.get, chain[Text](("",), but)
        self._known = {text: count for text in texts if (count := known(text)) is not None}

    @classmethod
    def of(cls, transcript: Transcript, counter: CounterName = BUILT_IN) -> Counter:
        """Make the counter for the transcript's model. Raises as `encoding_for` does."""
        size = sum(size_of(block.content) for message in transcript.messages for block in message.blocks)
        return cls(encoding_for(transcript.model, counter).name, size, counter)

    def anew(self, text: str) -> int:
        """Count a text without caching."""
        return count_text(text, self.encoding, is_much=self._is_much, counter=self.counter)

    def each_anew(self, texts: Iterable[str]) -> Iterator[int]:
        """Count many short texts without caching."""
        count = _counter(self.encoding, self._is_much, self.counter)
        for text in texts:
            try:
                yield count(text) if len(text) <= _CHUNK else self.anew(text)
            except UnicodeEncodeError:
                yield self.anew(text)

    def block(self, block: Block) -> int:
        """Count a block: its text, a tool call's name and overhead, and estimates for uncountable content."""
        if block.forgotten:
            return 0
        content = block.content
        tokens = self._known.get(content)  # Mostly cached.
        if tokens is None:
            tokens = self(content)
        if block.kind is BlockKind.TOOL_CALL:
            tokens += self(block.tool or "") + (CALL_TOKENS if is_framed(block) else 0)
        return tokens + block.estimate

    def content(self, block: Block) -> int:
        """Count a block without a call's overhead: the part that an operation can shrink."""
        return self.block(block) - (CALL_TOKENS if is_framed(block) else 0)

    def message(self, message: Message) -> int:
        return MESSAGE_TOKENS + sum(map(self.block, message.blocks))

    def transcript(self, transcript: Transcript) -> int:
        return sum(map(self.message, transcript.messages))


def is_framed(block: Block) -> bool:
    """Return whether the API adds markup to a call. A call inside a text has all its markup in the text."""
    return block.kind is BlockKind.TOOL_CALL and block.span is None


def count_text(
    text: str, encoding: str = DEFAULT_ENCODING, *, is_much: bool = False, counter: CounterName = BUILT_IN
) -> int:
    """Count a text. Special tokens in it count as ordinary text.

    `is_much` says that the text is one of many. It selects the faster counter and never changes the count.
    """
    count = _counter(encoding, is_much, counter)
    try:
        return count(text) if len(text) <= _CHUNK else sum(map(count, chunks(text)))
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8; replace each by U+FFFD.
        return sum(map(count, chunks(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))))


def chunks(text: str, size: int = _CHUNK) -> Iterator[str]:
    """Split the text into pieces of about `size` characters whose counts add up to the whole's."""
    start = 0
    while len(text) - start > size:
        boundary = _BOUNDARY.search(text, start + size)
        if not boundary:
            break
        yield text[start : boundary.start()]
        start = boundary.start()
    yield text[start:] if start else text


@cache
def _counter(encoding: str, is_much: bool = False, counter: CounterName = BUILT_IN) -> Callable[[str], int]:
    """Return the counting function. For the built-in counter `is_much` selects one of two with equal counts."""
    match counter:
        case "built-in":
            has_table = encoding == token_table.ENCODING and (IS_COMPILED or not is_much)
            table = token_table.load() if has_table else None
            return _splintr_counter(encoding) if table is None else _switching(table, encoding)
        case "tiktoken":
            from .tiktoken_counter import counter_of

            return counter_of(encoding)
        case other:
            assert_never(other)


def _switching(table: Callable[[str], int], encoding: str) -> Callable[[str], int]:
    """Count with the table until much was counted or it cannot split a text; then use the tokenizer."""
    counted, most = 0, inf if IS_COMPILED else _MUCH

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        if counted < most:
            try:
                return table(text)
            except token_table.UnknownCharacterError:
                pass
        return _splintr_counter(encoding)(text)

    return count


@cache
def _splintr_counter(encoding: str) -> Callable[[str], int]:
    import splintr

    tokenizer = splintr.Tokenizer.from_pretrained(encoding)
    encode_ordinary, encode_flat = tokenizer.encode_ordinary, tokenizer.encode_flat

    def count(text: str) -> int:
        # The flat form (four bytes per token) is 1.5 times as fast, but treats "<|endoftext|>" as a special token.
        return len(encode_ordinary(text)) if "<|" in text else len(encode_flat(text)) // 4

    return count
