"""Messages of a request, known by digests; the frozen segments that replace them; and cache marks.

Clients change some things without meaning them: the place of cache marks, a text as a string or as the only block of a
list, timestamps. The digest of a message leaves those out. Only digests and sizes are kept, no content.
"""

from __future__ import annotations

import copy
import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import blake2b
from itertools import chain, pairwise
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from ..core.arguments import is_integer
from ..errors import UsageError

CACHE_MARK: Final = "cache_control"
CACHE_POINT: Final = "cachePoint"
"""The mark of Bedrock's Converse API, which is a part of its own."""
_BILLING: Final = "x-anthropic-billing-header:"
_TIMES: Final = frozenset({"timestamp", "created", "created_at", "ts"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "reasoning"})
_OPAQUE: Final = frozenset({
    "bytes", "data", "signature", "encrypted_content", "image_url", "file_data", "thoughtSignature",
})  # fmt: skip
"""Keys of values that are not read as text, however long."""
_OPAQUE_CHARACTERS: Final = 4_000
"""Most characters that count for an opaque value."""

_encode = msgspec.json.Encoder(order="sorted").encode


class KnownMessage(Struct, frozen=True):
    """A message as last seen: digest of its bytes, digest of its meaning, and size in characters.

    `answers`: it is the assistant's, or one of its calls.
    """

    raw: bytes
    digest: bytes
    characters: int
    answers: bool


class MessageSize(Struct, frozen=True):
    """Number of a message's blocks, and of the characters of the last one if it is a text."""

    blocks: int = 0
    characters: int = 0


class Request:
    """Messages of a request as they came, with digests and sizes.

    `given` may hold objects of an SDK. `before` describes the messages of the request before: a message with the
    same bytes at the same place is not read again, and the first `same` ones are not even compared. Raises
    UsageError for values that are not JSON.
    """

    def __init__(self, messages: Sequence[Any], before: Sequence[KnownMessage] = (), same: int = 0) -> None:
        self.given = list(messages)
        self._same = same
        self._bytes = [*map(as_bytes, self.given[same:])]
        old = _padded(before[same:], len(self._bytes))
        self.known = [
            *before[:same],
            *(
                known if known is not None and known.raw == digest else _known(data, digest)
                for data, digest, known in zip(self._bytes, map(_digest, self._bytes), old, strict=True)
            ),
        ]

    def __len__(self) -> int:
        return len(self.given)

    def plain(self, position: int) -> Any:
        """Return a message as new dicts, lists and strings."""
        fresh = position - self._same
        return decoded(self._bytes[fresh] if fresh >= 0 else as_bytes(self.given[position]))

    def first(self, number: int, *, size: MessageSize | None = None) -> Request:
        """Return a request of the first messages; of the last one only what it held at that `size`, if given."""
        given, known = self.given[:number], self.known[:number]
        if size is not None and number:
            return Request([*given[:-1], _begun(self.plain(number - 1), size)], known[:-1], number - 1)
        return Request(given, known, number)

    def chain(self, end: int) -> str:
        """Return the digest of the messages before `end`."""
        return blake2b(b"".join(known.digest for known in self.known[:end]), digest_size=16).hexdigest()

    def characters(self, start: int, end: int | None = None) -> int:
        return sum(known.characters for known in self.known[start:end])

    @property
    def answers(self) -> int:
        """Number of the assistant's answers, one per earlier request."""
        each = [known.answers for known in self.known]
        return sum(one and not before for before, one in pairwise([False, *each]))

    def shared(self, before: Sequence[KnownMessage]) -> int:
        """Count the first messages that are those of an earlier request."""
        pairs = enumerate(zip(self.known, before, strict=False))
        return next((at for at, (one, other) in pairs if one.digest != other.digest), min(len(self), len(before)))

    @property
    def newest_answer(self) -> int:
        """Position where the assistant's newest answer begins, 0 without one. Everything before was most likely
        in the request that it answers."""
        ends = next((at + 1 for at in reversed(range(len(self))) if self.known[at].answers), 0)
        return next((at + 1 for at in reversed(range(ends)) if not self.known[at].answers), 0)

    def agrees(self, before: Sequence[KnownMessage]) -> bool:
        """Check if it begins with all messages of an earlier request."""
        return len(before) <= len(self.known) and all(
            one.digest == other.digest for one, other in zip(before, self.known, strict=False)
        )


def digest_of(data: bytes) -> str:
    return _digest(data).hex()


def digest_beside(system: Any, tools: Any) -> str:
    """Return the digest of what is sent beside the messages, "" for nothing.

    It leaves out cache marks, and the billing line that Claude Code sends as the first block of the system prompt:
    its checksum changes with each request, which the API's cache ignores.
    """
    if system is None and tools is None:
        return ""
    parts = [decoded(as_bytes(each)) for each in (system, tools)]
    found = [
        [without_marks(part) for part in each if not _is_left_out(part)] if isinstance(each, list) else each
        for each in parts
    ]
    return digest_of(as_bytes(found))


def _is_left_out(part: Any) -> bool:
    return isinstance(part, dict) and (CACHE_POINT in part or str(part.get("text")).startswith(_BILLING))


def marked_parts(message: Any) -> Iterator[dict[str, Any]]:
    """Yield the blocks of a message, and of its results, that have a cache mark or are one."""
    for part in _parts(message):
        if CACHE_MARK in part or CACHE_POINT in part:
            yield part


def mark_of(part: Mapping[str, Any]) -> Any:
    return part.get(CACHE_MARK, part.get(CACHE_POINT))


def without_marks(message: Any) -> Any:
    """Remove the cache marks of a message in place."""
    return _without_first(message, sum(1 for _ in marked_parts(message)))


def is_thinking(part: Any) -> bool:
    is_part = isinstance(part, dict)
    return is_part and (part.get("type") in ("thinking", "redacted_thinking") or "reasoningContent" in part)


def _parts(message: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(message, dict):
        return
    yield message
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield part
            inner = part.get("content")
            yield from (each for each in (inner if isinstance(inner, list) else ()) if isinstance(each, dict))


def _known(data: bytes, digest: bytes) -> KnownMessage:
    message = without_marks(decoded(data))
    characters = _characters(message)
    if isinstance(message, dict):
        message = {key: value for key, value in message.items() if key not in _TIMES}
        for part in _parts(message):
            if "content" in part:
                part["content"] = _collapsed(part["content"])
    return KnownMessage(digest, _digest(as_bytes(message, is_sorted=True)), characters, _is_answer(message))


def _is_answer(message: Any) -> bool:
    is_item = isinstance(message, dict)
    return is_item and (message.get("role") in ("assistant", "model") or str(message.get("type")) in _CALLS)


def _collapsed(content: Any) -> Any:
    """Turn a list that holds one text alone into the string."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        part = content[0]
        if part.keys() == {"type", "text"} and str(part["type"]) in _TEXTS:
            return part["text"]
    return content


def _characters(value: Any) -> int:
    """Estimate the characters of a value that a model reads."""
    total, waiting = 0, [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            total += len(value)
        elif isinstance(value, dict):
            for key, each in value.items():
                if key in _OPAQUE and isinstance(each, str | dict):
                    total += min(_OPAQUE_CHARACTERS, len(str(each)))
                else:
                    waiting.append(each)
        elif isinstance(value, list):
            waiting += value
    return total


def _padded(before: Sequence[KnownMessage], length: int) -> Iterator[KnownMessage | None]:
    yield from before[:length]
    yield from [None] * (length - len(before))


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def as_bytes(value: Any, *, is_sorted: bool = False) -> bytes:
    """Encode a value as JSON, SDK objects as they are sent. Raises UsageError for values that are not JSON."""
    try:
        return _encode(value) if is_sorted else msgspec.json.encode(value, enc_hook=_as_json)
    except (UnicodeEncodeError, ValueError, OverflowError):  # Lone surrogates and large numbers, which JSON can spell.
        return json.dumps(value, default=_as_json, sort_keys=is_sorted).encode()


def decoded(data: bytes) -> Any:
    """Decode JSON to new dicts, lists and strings."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return json.loads(data)


def _as_json(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", exclude_unset=True)
    if isinstance(value, Mapping):
        return dict(value)
    raise UsageError(f"A message holds a {type(value).__name__}, which is not JSON.", "Give dicts, lists and strings.")


_raws: Final = lru_cache(256)(msgspec.json.Decoder(list[Raw]).decode)


class Segment(Struct, frozen=True):
    """Replacement of messages[start:end] of a conversation, decided when it had `known` messages.

    `before` is the digest of messages[:end], `then` that of messages[:known]: later messages decide what a line is
    worth; `newest` is the size of the last of those. `output` is the JSON of the messages sent instead, None if it has
    to be recomputed, and `digest` its digest. With `drops_thinking`, thinking in messages[end:known] is left out: it
    was bound to what changed. `target` is the number of tokens it was brought to, if any. The output has `tokens` (the
    model's) in `sent` messages, `saved` fewer than what it replaces; `model` is the one it was made for. `taken` is
    the number of messages when it was first sent, if that was later than the decision.
    """

    start: int
    end: int
    known: int
    before: str
    then: str
    digest: str
    tokens: int
    sent: int
    format: str
    model: str | None = None
    drops_thinking: bool = False
    target: int | None = None
    output: bytes | None = None
    taken: int | None = None
    saved: int = 0
    newest: MessageSize | None = None

    @property
    def sent_from(self) -> int:
        """Number of messages when it was first sent."""
        return self.taken or self.known


Segments = tuple[Segment, ...]
"""Adjacent segments, from message 0 on: together they replace the beginning of a conversation."""


class Rest(Struct, frozen=True):
    """Messages after the frozen ones, as they are sent; `positions` are those in the request."""

    positions: tuple[int, ...]
    messages: tuple[Any, ...]


def sent_for(segments: Segments) -> list[Any]:
    """Decode the messages that are sent for segments."""
    return [*chain.from_iterable(decoded(segment.output or b"[]") for segment in segments)]


def raws_for(segments: Segments) -> list[Any]:
    """Return the messages that are sent for segments as raw JSON, without decoding."""
    return [*chain.from_iterable(_raws(segment.output or b"[]") for segment in segments)]


def end_of(segments: Segments) -> int:
    return segments[-1].end if segments else 0


def live_part(request: Request, segments: Segments, over: int | None = None) -> Rest:
    """Return what follows the frozen messages, without thinking that the last decision made invalid.

    From message `over` on thinking refers to messages no longer sent, and is left out too.
    """
    stop = segments[-1].sent_from if segments and segments[-1].drops_thinking else 0
    start, end = end_of(segments), len(request)
    return without_thinking(
        request, start, lambda position: position < stop or position >= (end if over is None else over)
    )


def without_thinking(request: Request, start: int, of: Callable[[int], bool] = lambda _: True) -> Rest:
    """Return the messages from `start` on, without thinking where `of(position)`; messages of nothing else go."""
    positions: list[int] = []
    messages: list[Any] = []
    for position in range(start, len(request)):
        for message in _unthinking(request, position) if of(position) else [request.given[position]]:
            positions.append(position)
            messages.append(message)
    return Rest(tuple(positions), tuple(messages))


def _unthinking(request: Request, position: int) -> list[Any]:
    """Return the message without thinking; empty if nothing else is in it."""
    message = request.plain(position)
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(map(is_thinking, content)):
        return [request.given[position]]
    left = [part for part in content if not is_thinking(part)]
    return [{**message, "content": left}] if left else []


def matching(request: Request, lists: Iterable[Segments]) -> Segments:
    """Return the list of segments that replaces most of the request's first messages; the first among equals.

    Segments that can be sent count before those that are only known.
    """
    best: Segments = ()
    most = 0, 0
    chains: dict[int, str] = {}
    for segments in lists:
        found = sent = 0
        for segment in segments:
            # The newest turn is never frozen.
            if segment.end >= len(request):
                break
            if segment.end not in chains:
                chains[segment.end] = request.chain(segment.end)
            if chains[segment.end] != segment.before:
                break
            if sent == found and (segment.output is not None or part_for(request, segment) is not None):
                sent += 1
            found += 1
        ends = end_of(segments[:sent]), end_of(segments[:found])
        if ends > most:
            best, most = segments[:found], ends
    return best


def part_for(request: Request, segment: Segment) -> Request | None:
    """Return the part of a request that the segment was decided on, so that it can be recomputed; None if it is gone.

    A client that is interrupted adds to its newest message: a block that says so, or the next prompt.
    """
    if segment.known > len(request):
        return None
    if request.chain(segment.known) == segment.then:
        return request.first(segment.known)
    part = request.first(segment.known, size=segment.newest)
    return part if part.chain(segment.known) == segment.then else None


def are_neighbours(segments: Sequence[Segment]) -> bool:
    """Check that segments are adjacent, from message 0 on."""
    if not segments or segments[0].start != 0:
        return not segments
    return all(one.end == other.start < other.end for one, other in pairwise(segments))


WITH_BYTES: Final = ("bedrock-converse", "gemini-contents")
"""Formats whose SDKs take images and files as bytes, where JSON has base64."""
_STANDARD: Final = str.maketrans("-_", "+/")
"""From the alphabet that pydantic writes."""


def has_bytes(value: Any) -> bool:
    """Check if messages hold bytes, or may, because they are objects of an SDK."""
    if isinstance(value, Mapping | list):
        return any(map(has_bytes, value.values() if isinstance(value, Mapping) else value))
    return isinstance(value, bytes) or hasattr(value, "model_dump")


def with_bytes(value: Any) -> Any:
    """Turn the base64 of images and files in JSON values into bytes again."""
    if isinstance(value, list):
        return [*map(with_bytes, value)]
    if not isinstance(value, dict):
        return value
    is_file = value.keys() == {"bytes"} or {"mime_type", "mimeType"} & value.keys()
    return {
        key: b64decode(each.translate(_STANDARD))
        if is_file and key in ("bytes", "data") and isinstance(each, str)
        else with_bytes(each)
        for key, each in value.items()
    }


MOST: Final = 4
BESIDE: Final = 2
"""Marks assumed in system prompt and tools if those are unknown."""

_EPHEMERAL: Final = {"type": "ephemeral"}
_POINTS: Final = {"type": "default"}


def with_breakpoints(messages: list[Any], ends: Sequence[int], beside: int, *, is_point: bool = False) -> list[Any]:
    """Put a cache mark at the end of each stretch messages[:end]; the last one ends the frozen part.

    Anthropic caches at marks alone and takes up to four, those of system prompt and tools (`beside`) included
    (https://platform.claude.com/docs/en/build-with-claude/prompt-caching); so does Bedrock, whose marks are parts of
    their own (`is_point`). The client's newest mark always stays: the next request goes on from there. Ours come next,
    the first end first: this request finds its cached part there, and a new end can be marked later. Older marks of the
    client get what room is left.
    """
    room = MOST - beside
    if not ends or room <= 0:
        return messages
    marked = [position for position in range(ends[-1], len(messages)) for _ in marked_parts(messages[position])]
    ours = ends[: room - bool(marked)]
    free = room - len(ours)
    kept = marked[-free:] if free else []
    new = list(messages)
    for position in set(marked):
        too_many = marked.count(position) - kept.count(position)
        if too_many:
            new[position] = _without_first(copy.deepcopy(new[position]), too_many)
    # Marks with a longer life may not follow shorter ones, so ours lives as long as the client's next one.
    follows = (mark_of(part) for position in marked for part in marked_parts(messages[position]))
    mark = next(follows, _POINTS if is_point else _EPHEMERAL)
    for end in ours:
        new[end - 1] = _marked(new[end - 1], mark, is_point=is_point)
    return new


def marks_in(value: Any) -> int:
    """Count the cache marks in a system prompt or a list of tools, or in Converse's `toolConfig`."""
    inside = value.get("tools", value) if isinstance(value, dict) else value
    parts = inside if isinstance(inside, list) else [inside]
    return sum(isinstance(part, dict) and mark_of(part) is not None for part in parts)


def last_marked(messages: Sequence[Any]) -> int | None:
    """Return the position of the last message with a mark, if any. What follows it may be gone in the next request."""
    return next((at for at in reversed(range(len(messages))) if any(marked_parts(messages[at]))), None)


def _without_first(message: Any, number: int) -> Any:
    """Remove the first marks of a message in place."""
    for part in [*marked_parts(message)][:number]:
        if part.pop(CACHE_MARK, None) is None and part is not message:
            message["content"] = [each for each in message["content"] if each is not part]
    return message


def with_blocks(message: Any) -> Any:
    """Turn the message's text into a block, so that a mark can come and go without other changes."""
    if isinstance(message, dict) and message.get("content") and isinstance(message["content"], str):
        return {**message, "content": [{"type": "text", "text": message["content"]}]}
    return message


def size_of(message: Any) -> MessageSize:
    content = _content(message)
    return MessageSize(len(content), len(_text(content[-1]))) if content else MessageSize()


def _begun(message: Any, size: MessageSize) -> Any:
    """Return what a message held at an earlier size."""
    content = _content(message)[: size.blocks]
    if not content:
        return message
    if _text(content[-1]):
        content[-1] = {**content[-1], "text": content[-1]["text"][: size.characters]}
    return {**message, "content": content}


def _content(message: Any) -> list[Any]:
    content = with_blocks(message).get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else None
    return text if isinstance(text, str) else ""


def _marked(message: Any, mark: dict[str, Any], *, is_point: bool) -> Any:
    """Put a mark on the last block of an unmarked message that may have one, or a point behind it."""
    changed = decoded(bytes(message)) if isinstance(message, Raw) else copy.deepcopy(message)
    if is_point:
        return {**changed, "content": [*changed["content"], {CACHE_POINT: copy.deepcopy(mark)}]}
    last = next(_markable(changed), None)
    if last is None:
        return message
    last[CACHE_MARK] = copy.deepcopy(mark)
    return changed


def _markable(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the blocks that may have a mark, last one first: neither thinking nor empty text."""
    content = message.get("content")
    for part in [*content][::-1] if isinstance(content, list) else []:
        if isinstance(part, dict) and not is_thinking(part) and (part.get("type") != "text" or part.get("text")):
            yield part


_INPUT = ("input_tokens", "prompt_tokens", "input", "inputTokens", "promptTokenCount", "prompt_token_count")
_OUTPUT = (
    "output_tokens", "completion_tokens", "output", "outputTokens", "candidatesTokenCount", "candidates_token_count",
)  # fmt: skip
_BESIDE = (
    "cache_creation_input_tokens", "cache_read_input_tokens", "cacheReadInputTokens", "cacheWriteInputTokens",
)  # fmt: skip
"""Input tokens of Anthropic and Bedrock exclude these; the input of other APIs includes cached tokens."""


def tokens_of(usage: Any) -> int:
    """Return the input (cached or not) and output tokens of the last request. `usage` is a number, a dict or an SDK
    object.

    Raises UsageError for anything else.
    """
    if is_integer(usage):
        return usage
    values = usage if isinstance(usage, Mapping) else getattr(usage, "__dict__", None)
    if values is not None:
        found = [
            next((values[name] for name in names if is_integer(values.get(name))), None) for names in (_INPUT, _OUTPUT)
        ]
        if found[0] is not None:
            beside = sum(values[name] for name in _BESIDE if is_integer(values.get(name)))
            return int(found[0]) + int(found[1] or 0) + int(beside)
    raise UsageError("The usage holds no input_tokens and no prompt_tokens.", "Give usage as the API returned it.")
