"""The messages of a request by their digests, the frozen segments that stand for them, and cache marks."""

from __future__ import annotations

import copy
import json
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
_BILLING: Final = "x-anthropic-billing-header:"
_TIMES: Final = frozenset({"timestamp", "created", "created_at", "ts"})
_TEXTS: Final = frozenset({"text", "input_text", "output_text"})
_CALLS: Final = frozenset({"function_call", "custom_tool_call", "local_shell_call", "reasoning"})
_OPAQUE: Final = frozenset({"data", "signature", "encrypted_content", "image_url", "file_data"})
"""Keys of values that are not read as text, however long they are."""
_OPAQUE_CHARACTERS: Final = 4_000
"""What such a value is taken to be worth at most."""

_encode = msgspec.json.Encoder(order="sorted").encode


class KnownMessage(Struct, frozen=True):
    """A message as it was seen last: the digest of its bytes, the one of what it means, and its size in characters.

    `answers`: it is the assistant's, or a call of its.
    """

    raw: bytes
    digest: bytes
    characters: int
    answers: bool


class Request:
    """The messages of a request as they came, with what is known of each.

    `given` may be the objects of an SDK. `before` is what was known of the messages of the request before: a message
    with the same bytes at the same place is not read again, and not even looked at if the caller knows that the first
    `same` of them are those. Raises UsageError for what is no JSON.
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
        """A message as dicts, lists and strings, which the caller may keep."""
        fresh = position - self._same
        return decoded(self._bytes[fresh] if fresh >= 0 else as_bytes(self.given[position]))

    def chain(self, end: int) -> str:
        """The digest of the messages before a position."""
        return blake2b(b"".join(known.digest for known in self.known[:end]), digest_size=16).hexdigest()

    def characters(self, start: int, end: int | None = None) -> int:
        return sum(known.characters for known in self.known[start:end])

    @property
    def answers(self) -> int:
        """How many answers of the assistant it holds: so many requests there were."""
        each = [known.answers for known in self.known]
        return sum(one and not before for before, one in pairwise([False, *each]))

    def shared(self, before: Sequence[KnownMessage]) -> int:
        """How many of its first messages are those of an earlier request."""
        pairs = enumerate(zip(self.known, before, strict=False))
        return next((at for at, (one, other) in pairs if one.digest != other.digest), min(len(self), len(before)))

    @property
    def newest_answer(self) -> int:
        """Where the newest answer of the assistant begins: all before was in the request that it answers, most
        likely. 0 where there is none."""
        ends = next((at + 1 for at in reversed(range(len(self))) if self.known[at].answers), 0)
        return next((at + 1 for at in reversed(range(ends)) if not self.known[at].answers), 0)

    def agrees(self, before: Sequence[KnownMessage]) -> bool:
        """Whether it begins with all messages of an earlier request."""
        return len(before) <= len(self.known) and all(
            one.digest == other.digest for one, other in zip(before, self.known, strict=False)
        )


def digest_of(data: bytes) -> str:
    return _digest(data).hex()


def digest_beside(system: Any, tools: Any) -> str:
    """The digest of what is sent beside the messages, "" where nothing is given.

    It leaves out cache marks, and the line about billing that Claude Code sends as the first block of the system
    prompt: its checksum is another one in each request, and the API's cache does not mind.
    """
    if system is None and tools is None:
        return ""
    parts = [decoded(as_bytes(each)) for each in (system, tools)]
    found = [
        [without_marks(part) for part in each if not _is_billing(part)] if isinstance(each, list) else each
        for each in parts
    ]
    return digest_of(as_bytes(found))


def _is_billing(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("text")).startswith(_BILLING)


def marked_parts(message: Any) -> Iterator[dict[str, Any]]:
    """The blocks of a message, and those of its results, that hold a cache mark."""
    for part in _parts(message):
        if CACHE_MARK in part:
            yield part


def without_marks(message: Any) -> Any:
    """The message without its cache marks; `message` is the caller's own, and is changed."""
    for part in [*marked_parts(message)]:
        del part[CACHE_MARK]
    return message


def is_thinking(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "redacted_thinking")


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
    return isinstance(message, dict) and (message.get("role") == "assistant" or str(message.get("type")) in _CALLS)


def _collapsed(content: Any) -> Any:
    """A list that holds one text alone, as the string."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        part = content[0]
        if part.keys() == {"type", "text"} and str(part["type"]) in _TEXTS:
            return part["text"]
    return content


def _characters(value: Any) -> int:
    """About how many characters of a value a model reads."""
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
    """A value as JSON; objects of an SDK as they are sent. Raises UsageError for what is no JSON."""
    try:
        return _encode(value) if is_sorted else msgspec.json.encode(value, enc_hook=_as_json)
    except (UnicodeEncodeError, ValueError, OverflowError):  # A lone surrogate, a large number: JSON can spell both.
        return json.dumps(value, default=_as_json, sort_keys=is_sorted).encode()


def decoded(data: bytes) -> Any:
    """The value of JSON, as dicts, lists and strings of its own."""
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
    """What became of messages[start:end] of a conversation, decided when it had `known` messages.

    `before` is the digest of messages[:end], `then` that of messages[:known]: what a line is worth depends on what came
    later. `output` is the JSON of the messages that are sent in their place, None where it has to be computed again,
    and `digest` its digest. With `drops_thinking` that of messages[end:known] stays away: it was bound to what changed.
    `target` are the tokens that it was brought to, if it was. The output has `tokens`, the model's, in `sent` messages,
    `saved` fewer than what it stands for, and `model` is who it was meant for. `taken` is how many messages there were
    when it was sent first, where that is later than when it was decided.
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

    @property
    def sent_from(self) -> int:
        """How many messages the conversation had when it was sent first."""
        return self.taken or self.known


Segments = tuple[Segment, ...]
"""Neighbours, the first from 0 on: together they stand for the beginning of a conversation."""


class Rest(Struct, frozen=True):
    """The messages behind the frozen ones, as they are sent: `positions` are those in the request."""

    positions: tuple[int, ...]
    messages: tuple[Any, ...]


def sent_for(segments: Segments) -> list[Any]:
    """The messages that are sent in place of those that segments stand for, as values of the caller's own."""
    return [*chain.from_iterable(decoded(segment.output or b"[]") for segment in segments)]


def raws_for(segments: Segments) -> list[Any]:
    """The same as JSON texts, which take no time to make."""
    return [*chain.from_iterable(_raws(segment.output or b"[]") for segment in segments)]


def end_of(segments: Segments) -> int:
    return segments[-1].end if segments else 0


def live_part(request: Request, segments: Segments, over: int | None = None) -> Rest:
    """What follows the frozen messages: as it came, without the thinking that the last decision made invalid.

    From `over` on thinking was made over what is not sent any more, and goes too.
    """
    stop = segments[-1].sent_from if segments and segments[-1].drops_thinking else 0
    start, end = end_of(segments), len(request)
    return without_thinking(
        request, start, lambda position: position < stop or position >= (end if over is None else over)
    )


def without_thinking(request: Request, start: int, of: Callable[[int], bool] = lambda _: True) -> Rest:
    """The messages from `start` on, some without thinking; a message of nothing else goes."""
    positions: list[int] = []
    messages: list[Any] = []
    for position in range(start, len(request)):
        for message in _unthinking(request, position) if of(position) else [request.given[position]]:
            positions.append(position)
            messages.append(message)
    return Rest(tuple(positions), tuple(messages))


def _unthinking(request: Request, position: int) -> list[Any]:
    """The message without thinking; none where there is nothing else in it."""
    message = request.plain(position)
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list) or not any(map(is_thinking, content)):
        return [request.given[position]]
    left = [part for part in content if not is_thinking(part)]
    return [{**message, "content": left}] if left else []


def matching(request: Request, lists: Iterable[Segments]) -> Segments:
    """Of lists, the one that stands for most of the request's first messages; of equal ones the first.

    What can be sent counts before what is only known.
    """
    best: Segments = ()
    most = 0, 0
    chains: dict[int, str] = {}
    for segments in lists:
        found = sent = 0
        for segment in segments:
            # Something has to follow: the newest turn is never frozen.
            if segment.end >= len(request):
                break
            if segment.end not in chains:
                chains[segment.end] = request.chain(segment.end)
            if chains[segment.end] != segment.before:
                break
            if sent == found and (segment.output is not None or is_given_by(request, segment)):
                sent += 1
            found += 1
        ends = end_of(segments[:sent]), end_of(segments[:found])
        if ends > most:
            best, most = segments[:found], ends
    return best


def is_given_by(request: Request, segment: Segment) -> bool:
    """Whether the request begins with all that the segment was decided over, so that it can be computed again."""
    return segment.known <= len(request) and request.chain(segment.known) == segment.then


def are_neighbours(segments: Sequence[Segment]) -> bool:
    """Whether segments may be one list."""
    if not segments or segments[0].start != 0:
        return not segments
    return all(one.end == other.start < other.end for one, other in pairwise(segments))


MOST: Final = 4
BESIDE: Final = 2
"""Marks that system prompt and tools are taken to hold where they are not known."""

_EPHEMERAL: Final = {"type": "ephemeral"}


def with_breakpoints(messages: list[Any], ends: Sequence[int], beside: int) -> list[Any]:
    """The messages with a mark at the end of each stretch messages[:end], the last being the frozen part.

    `beside` is how many marks system prompt and tools hold. The client's newest always stays: that is where the next
    request goes on from. Then come ours, the first end before the others: what is cached so far is found there, and a
    new end can be marked with the next request. What room is left is for the client's older marks.
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
            new[position] = _without_first(new[position], too_many)
    # Marks that live longer may not follow shorter ones, so ours lives as long as those of the client that follow.
    follows = (part[CACHE_MARK] for position in marked for part in marked_parts(messages[position]))
    mark = next(follows, _EPHEMERAL)
    for end in ours:
        new[end - 1] = _marked(new[end - 1], mark)
    return new


def marks_in(value: Any) -> int:
    """How many cache marks a system prompt or a list of tools holds."""
    parts = value if isinstance(value, list) else [value]
    return sum(isinstance(part, dict) and CACHE_MARK in part for part in parts)


def last_marked(messages: Sequence[Any]) -> int | None:
    """The position of the last message with a mark, if any: what follows it may be gone in the next request."""
    return next((at for at in reversed(range(len(messages))) if any(marked_parts(messages[at]))), None)


def _without_first(message: Any, number: int) -> Any:
    changed = copy.deepcopy(message)
    for part in [*marked_parts(changed)][:number]:
        del part[CACHE_MARK]
    return changed


def with_blocks(message: Any) -> Any:
    """The message with its text as a block, which alone can hold a mark: it comes and goes, and the bytes stay."""
    if isinstance(message, dict) and message.get("content") and isinstance(message["content"], str):
        return {**message, "content": [{"type": "text", "text": message["content"]}]}
    return message


def _marked(message: Any, mark: dict[str, Any]) -> Any:
    """The message with a mark on the last of its blocks that may have one; no other has any."""
    changed = decoded(bytes(message)) if isinstance(message, Raw) else copy.deepcopy(message)
    last = next(_markable(changed), None)
    if last is None:
        return message
    last[CACHE_MARK] = copy.deepcopy(mark)
    return changed


def _markable(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The blocks that may have a mark, the last one first: none that is thinking or an empty text."""
    content = message.get("content")
    for part in [*content][::-1] if isinstance(content, list) else []:
        if isinstance(part, dict) and not is_thinking(part) and (part.get("type") != "text" or part.get("text")):
            yield part


_INPUT = ("input_tokens", "prompt_tokens", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "output")
_BESIDE = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Anthropic's input tokens exclude those; the others' include what they call cached."""


def tokens_of(usage: Any) -> int:
    """Input, cached or not, and output of the last request. `usage` is a number, a dict or an object of an SDK.

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
