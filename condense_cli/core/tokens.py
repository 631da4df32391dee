"""Token counts, offline.

The vocabularies come with an installed package, splintr-rs; little text is counted by a table made from it
(`token_table.py`). Counts for OpenAI's encodings equal tiktoken's; for every other family o200k_base serves as an
estimate and is labelled as one, because no vendor publishes those vocabularies (tiktoken counts 15 to 30% less than
Claude's own tokenizer).

Which counter counts is a name that travels with what is to be done (`Configuration.counter`, an argument elsewhere) and
stays with every `Counter` and `Encoding`: nothing is chosen for a whole process, so that another process counts the
same, and one caller of the Python API never changes the counts of another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain
from typing import Final, Literal, assert_never, get_args

from msgspec import Struct

from ..errors import UsageError
from . import token_table
from .lazy_pattern import lazy_pattern
from .transcript import Block, Message, Transcript
from .values import LONG, BlockKind, Text, compact, size_of

MESSAGE_TOKENS: Final = 3
"""What each message costs besides its content: OpenAI's chat encoding spends three tokens on it."""

CALL_TOKENS: Final = 50
"""What a call and its result cost besides name, arguments and content: the markup around them, ids, names of keys.

Recorded usage says 20 to 110 by model (benchmarks/usage.py); no vendor publishes it. Calls that a format writes as text
have all that in the text."""

DEFAULT_ENCODING: Final = "o200k_base"

CounterName = Literal["built-in", "tiktoken"]
BUILT_IN: Final = "built-in"
COUNTERS: Final[tuple[CounterName, ...]] = get_args(CounterName)

_ENCODING_OF_MODEL: Final = (
    (lazy_pattern(r"gpt-4o|chatgpt-4o|gpt-4\.[15]|gpt-5|gpt-oss|codex|o[134](?:-|$)"), "o200k_base"),
    (lazy_pattern(r"gpt-4(?:-|$)|gpt-3\.5|gpt-35|text-embedding-(?:ada-002|3)"), "cl100k_base"),
)
"""After tiktoken's own table of models (tiktoken/model.py); first match at the start of a name wins."""

_MUCH: Final = 750_000
"""From so much text on, in bytes or characters, the tokenizer is done sooner than the table, loading included."""

_CHUNK: Final = 65_536
_BOUNDARY: Final = lazy_pattern(r"(?<=[A-Za-z0-9])(?=[ !-&(-/:-@\[-`{-~])")
"""Between these two characters every encoding's splitting pattern breaks, so no count changes there.
The apostrophe is left out: it opens contractions such as `'ll`."""


class Encoding(Struct, frozen=True):
    """Which vocabulary counts for a model, whether that is the model's own, and what counts.

    `missing` is the model's own where tiktoken knows it and this machine does not have it; empty otherwise.
    """

    name: str
    exact: bool
    counter: CounterName = BUILT_IN
    missing: str = ""


def encoding_for(model: str | None, counter: CounterName = BUILT_IN) -> Encoding:
    """Encoding of a model; routing prefixes such as `openai/` do not matter, nor does what a fine-tuned one adds.

    Raises UsageError for a counter that there is not.
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
    """Counts texts with one encoding and remembers every count, so that no text is counted twice.

    `size` is about how many bytes of text there are to count.
    """

    def __init__(self, encoding: str = DEFAULT_ENCODING, size: int = 0, counter: CounterName = BUILT_IN) -> None:
        self.encoding = encoding
        self.counter: CounterName = counter
        self._is_much = size >= _MUCH
        self._known: dict[Text, int] = {"": 0}

    def __call__(self, text: Text) -> int:
        # What is remembered is held: never a long text as a string.
        held = compact(text) if isinstance(text, str) and len(text) >= LONG else text
        count = self._known.get(held)
        if count is None:
            count = self._known[held] = self.anew(str(text))
        return count

    def forget(self, but: Iterable[Text] = ()) -> None:
        """Forget every count `but` those of some texts: what is remembered is held, and a counter may serve long."""
        known, texts = self._known.get, chain[Text](("",), but)
        self._known = {text: count for text in texts if (count := known(text)) is not None}

    @classmethod
    def of(cls, transcript: Transcript, counter: CounterName = BUILT_IN) -> Counter:
        """The counter for a transcript and the model it names. Raises as `encoding_for` does."""
        size = sum(size_of(block.content) for message in transcript.messages for block in message.blocks)
        return cls(encoding_for(transcript.model, counter).name, size, counter)

    def anew(self, text: str) -> int:
        """Tokens of a text that is not asked for again: nothing is remembered."""
        return count_text(text, self.encoding, is_much=self._is_much, counter=self.counter)

    def each_anew(self, texts: Iterable[str]) -> Iterator[int]:
        """Tokens of each of many short texts, as `anew` counts them."""
        count = _counter(self.encoding, self._is_much, self.counter)
        for text in texts:
            try:
                yield count(text) if len(text) <= _CHUNK else self.anew(text)
            except UnicodeEncodeError:
                yield self.anew(text)

    def block(self, block: Block) -> int:
        """Tokens of a block: its text and a tool call's name; estimates for what cannot be counted."""
        if block.forgotten:
            return 0
        content = block.content
        tokens = self._known.get(content)  # Mostly asked for again.
        if tokens is None:
            tokens = self(content)
        if block.kind is BlockKind.TOOL_CALL:
            tokens += self(block.tool or "") + (CALL_TOKENS if is_framed(block) else 0)
        return tokens + block.estimate

    def content(self, block: Block) -> int:
        """Tokens of a block without what is around a call: what an operation could make shorter."""
        return self.block(block) - (CALL_TOKENS if is_framed(block) else 0)

    def message(self, message: Message) -> int:
        return MESSAGE_TOKENS + sum(map(self.block, message.blocks))

    def transcript(self, transcript: Transcript) -> int:
        return sum(map(self.message, transcript.messages))


def is_framed(block: Block) -> bool:
    """Whether it is a call that the API puts into words. A call inside a text has all its words there."""
    return block.kind is BlockKind.TOOL_CALL and block.span is None


def count_text(
    text: str, encoding: str = DEFAULT_ENCODING, *, is_much: bool = False, counter: CounterName = BUILT_IN
) -> int:
    """Tokens of a text. Special tokens spelled out in it count as ordinary text.

    `is_much` says that it is one of many, which decides how to count, not what comes of it.
    """
    count = _counter(encoding, is_much, counter)
    try:
        return count(text) if len(text) <= _CHUNK else sum(map(count, chunks(text)))
    except UnicodeEncodeError:
        # Lone surrogates have no UTF-8; a replacement character stands for each.
        return sum(map(count, chunks(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))))


def chunks(text: str, size: int = _CHUNK) -> Iterator[str]:
    """The text in pieces of about `size` characters whose counts add up to the count of the whole."""
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
    """What counts; of those that are built in one for little or much text: both give the same counts."""
    match counter:
        case "built-in":
            table = None if is_much or encoding != token_table.ENCODING else token_table.load()
            return _splintr_counter(encoding) if table is None else _relieved(table, encoding)
        case "tiktoken":
            from .tiktoken_counter import counter_of

            return counter_of(encoding)
        case other:
            assert_never(other)


def _relieved(table: Callable[[str], int], encoding: str) -> Callable[[str], int]:
    """Counts by the table until it has counted much, or meets a text that it cannot split; then by the tokenizer."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        if counted < _MUCH:
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
        # The flat form, four bytes a token, is half as fast again, but takes "<|endoftext|>" for a special token.
        return len(encode_ordinary(text)) if "<|" in text else len(encode_flat(text)) // 4

    return count
