"""Requests that hold a conversation: their API, their bodies, and the bodies that came before."""

from __future__ import annotations

import io
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence, Set
from functools import lru_cache
from operator import is_
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..errors import UnreadableError, UsageError
from ..live.requests import CACHE_MARK, CACHE_POINT, KnownMessage, as_bytes, decoded, mark_of, marked_parts
from ..money.economics import Accounting
from ..storage.files import ZSTD, packed, reading, suffix_of


class Api(Struct, frozen=True):
    """An API that takes a conversation: the value of `key` in the body is a list of messages of a `format`.

    `model` is the one that the path names, if it does.
    """

    path: str
    key: str
    format: str
    accounting: Accounting
    model: str | None = None


_APIS: Final = (
    Api("/v1/messages", "messages", "anthropic", Accounting.ANTHROPIC),
    Api("/v1/chat/completions", "messages", "openai-chat", Accounting.OPENAI),
    Api("/v1/responses", "input", "openai-responses", Accounting.OPENAI),
)

_MODEL_IN_PATH: Final = (
    (
        lazy_pattern(r"/model/([^/]+)/converse(?:-stream)?$"),
        Api("/converse", "messages", "bedrock-converse", Accounting.ANTHROPIC),
    ),
    (
        lazy_pattern(r"/models/([^/:]+):(?:g|streamG)enerateContent$"),
        Api(":generateContent", "contents", "gemini-contents", Accounting.OPENAI),
    ),
)
"""Paths of APIs that have the model there. https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
and https://ai.google.dev/api/generate-content, also for Vertex, whose paths are longer."""
_SIGNED: Final = "aws4-hmac-sha256"
"""How AWS authorizes requests whose bodies are signed, so that nobody may change one."""

ANTHROPIC: Final = "https://api.anthropic.com"
OPENAI: Final = "https://api.openai.com"
GOOGLE: Final = "https://generativelanguage.googleapis.com"
BEDROCK: Final = "https://bedrock-runtime.us-east-1.amazonaws.com"
"""Other regions are named with --upstream."""
CHATGPT: Final = "https://chatgpt.com/backend-api/codex"
"""The API of Codex with a ChatGPT login. Its paths have no /v1."""

_VERSION: Final = "/v1"
_MESSAGES: Final = "/messages"
_UNVERSIONED: Final = (_MESSAGES, "/chat/completions", "/responses", "/models")
"""Paths of clients whose base address includes the version: the AI SDK of Vercel, and so opencode, uses
https://api.anthropic.com/v1, Anthropic's own SDK the address without it."""


def api_of(method: str, path: str, authorization: str = "") -> Api | None:
    """Return the API of a request that holds a conversation; None for every other request, and for signed ones."""
    if method != "POST" or authorization.lower().startswith(_SIGNED):
        return None
    found = next((api for api in _APIS if path.endswith(api.path) or _versioned(path) == api.path), None)
    return found or _with_model(path)


@lru_cache(64)
def _with_model(path: str) -> Api | None:
    for pattern, api in _MODEL_IN_PATH:
        if named := pattern.search(path):
            return replace(api, model=unquote(named[1]))
    return None


def _versioned(path: str) -> str:
    return _VERSION + path if path.startswith(_UNVERSIONED) else path


def check_upstream(url: str) -> str:
    """Return the address without a final slash. Raises UsageError if it is not the address of a server."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{url!r} is not the address of an API.", "Write it like https://api.anthropic.com.")
    return url.rstrip("/")


def check_other(upstream: str | None, own: Set[str]) -> None:
    """Raise UsageError if `upstream` is one of the proxy's `own` names: requests would go in a circle."""
    if upstream is not None and urlsplit(upstream).netloc.rpartition("@")[2].lower() in own:
        raise UsageError(
            f"{upstream} is this proxy itself.",
            "Name the API with --upstream; clients may be set to the proxy by their settings or ANTHROPIC_BASE_URL.",
        )


_BEDROCK_PATH: Final = lazy_pattern(r"/model/[^/]+/(?:converse|invoke)")
_GOOGLE_PATH: Final = lazy_pattern(r"(?:/upload)?/v1(?:alpha|beta)\d*/")


def usual_upstream(path: str, headers: Mapping[str, str]) -> str:
    """Return the vendor that a request is meant for, if no server was named."""
    if _BEDROCK_PATH.match(path):
        return BEDROCK
    if "x-goog-api-key" in headers or _GOOGLE_PATH.match(path):
        return GOOGLE
    if "anthropic-version" in headers or _versioned(path).startswith(("/v1/messages", "/api/")):
        return ANTHROPIC
    return CHATGPT if "chatgpt-account-id" in headers else OPENAI


def target(upstream: str, path: str) -> str:
    """Join base address and path such that the version is in it once, wherever it was.

    Gateways may have unversioned paths of their own, but not for Anthropic's messages.
    """
    if path.startswith(_MESSAGES) or upstream in (ANTHROPIC, OPENAI):
        path = _versioned(path)
    if path.startswith(f"{_VERSION}/") and (upstream.endswith(_VERSION) or upstream == CHATGPT):
        path = path.removeprefix(_VERSION)
    return upstream + path


LARGEST: Final = 64 << 20
"""Most bytes of a body, packed or not; a larger one passes as it is. APIs take 32 MB."""

_decode_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_decode_elements: Final = msgspec.json.Decoder(list[Raw]).decode
_FILES: Final = {"": "body", "identity": "body", "gzip": "body.gz", "x-gzip": "body.gz", "zstd": "body.zst"}
"""By content encoding the name of a file with that packing."""
_MARKS: Final = (CACHE_MARK.encode(), CACHE_POINT.encode())
_HOUR: Final = "1h"
_ELSEWHERE: Final = ("previous_response_id", "conversation", "cachedContent")
"""Keys of requests that hold only new messages; the server has the conversation."""
_SYSTEM: Final = ("system", "instructions", "systemInstruction", "system_instruction")
_TOOLS: Final = ("tools", "toolConfig")
_BEGINNING: Final = 90
"""Bytes at the beginning of a value by which to find it."""


class ListedMessages(Struct, frozen=True):
    """Messages of a body: as JSON texts (`raws`), and decoded if they may hold cache marks.

    `start` is the position of the list in the data, -1 if unknown; `ends` are the positions behind each message.
    """

    start: int = -1
    ends: list[int] = []
    raws: list[Raw] = []
    messages: list[Any] = []


_NONE: Final = ListedMessages()


class Body(Struct, frozen=True):
    """A request with a conversation, which is in data[listed.start:stop].

    The first `same` messages are those of another body, byte for byte. `system` and `tools` are as messages are. `key`
    is the client's own name of the conversation, if it gives one. `lives_long`: its cache marks ask for an hour.
    `caches`: the API caches without marks, or there are some.
    """

    data: bytes
    encoding: str
    api: Api
    listed: ListedMessages
    stop: int
    same: int
    model: str | None
    system: Any
    tools: Any
    key: str
    lives_long: bool
    caches: bool

    @property
    def messages(self) -> list[Any]:
        return self.listed.messages

    def with_messages(self, messages: Sequence[Any]) -> bytes | None:
        """Return the body with other messages, packed as it came; None if they are its own."""
        if len(messages) == len(self.messages) and all(map(is_, messages, self.messages)):
            return None
        pairs = zip(self.messages, self.listed.raws, strict=True)
        own = {id(message): raw for message, raw in pairs if message is not raw}
        new = as_bytes([_text_of(message, own) for message in messages])
        return packed(self._exchanged(new), _FILES[self.encoding])

    def _exchanged(self, new: bytes) -> bytes:
        if self.listed.start >= 0:
            return b"".join((self.data[: self.listed.start], new, self.data[self.stop :]))
        # The beginning occurs more than once: walk through the text.
        text = json_text.decode(self.data)
        return json_text.encode(json_text.splice(text, {(self.api.key,): json_text.decode(new)}))


def _text_of(message: Any, own: Mapping[int, Raw]) -> Raw:
    """Return a message as JSON, in its original bytes if it came with the request."""
    if isinstance(message, Raw):
        return message
    return own.get(id(message)) or Raw(as_bytes(message))


def body_of(data: bytes, encoding: str, api: Api, before: Body | None = None) -> Body | None:
    """Read a body; None if it holds no readable conversation.

    Messages shared with the body `before` are not read again.
    """
    encoding = encoding.strip().lower()
    try:
        plain = unpacked(data, encoding)
        known = _NONE if before is None or before.api is not api else _common(plain, before)
        # The text without the known messages is JSON as well.
        text = plain[: known.start] + b"[" + _rest(plain, known.ends[-1]) if known.ends else plain
        members = members_of(text)
        value = bytes(members[api.key])
        raws = [Raw(bytes(raw)) for raw in elements_of(value)]  # Views would keep the whole body alive.
        messages = [*map(_with_marks, raws)]
        model, key = (_text(members.get(name)) for name in ("model", "prompt_cache_key"))
        system, tools = (
            _with_marks(next((members[name] for name in names if name in members), None)) for names in (_SYSTEM, _TOOLS)
        )
    except (ValueError, LookupError, RecursionError, UnreadableError):
        return None
    start = known.start if known.ends else _place(text, value)
    if known.ends and not text.startswith(value, start):  # The key is there again, further on.
        return body_of(data, encoding, api)
    if any(bytes(members.get(name, b"null")) != b"null" for name in _ELSEWHERE):
        return None
    raws, messages = known.raws + raws, known.messages + messages
    listed = ListedMessages(start, _ends(plain, raws, known.ends, start), raws, messages)
    automatic = {CACHE_MARK: decoded(bytes(members.get(CACHE_MARK, b"null")))}
    marks = [mark_of(part) for each in (automatic, *messages) for part in marked_parts(each)]
    lives_long = any(isinstance(mark, dict) and mark.get("ttl") == _HOUR for mark in marks)
    caches = api.accounting is not Accounting.ANTHROPIC or _may_have_marks(plain)
    stop = start + len(value) + len(plain) - len(text)
    model = model or api.model
    return (
        Body(plain, encoding, api, listed, stop, len(known.ends), model, system, tools, key or "", lives_long, caches)
        if raws
        else None
    )


def _common(data: bytes, before: Body) -> ListedMessages:
    """Return the messages of a body that are in the data at the same place, in the same bytes."""
    listed = before.listed

    def has(number: int) -> bool:
        return data.startswith(before.data[: listed.ends[number - 1]])

    total = len(listed.ends)
    # Usually all are, or all but the last ones, whose cache marks moved.
    found = next((number for number in range(total, max(0, total - 4), -1) if has(number)), None)
    if found is None:
        found = bisect_left(range(1, total + 1), True, key=lambda number: not has(number))
    # A number may continue where it ended before.
    while found and data[listed.ends[found - 1] :][:1].strip() not in (b",", b"]", b""):
        found -= 1
    return ListedMessages(listed.start, listed.ends[:found], listed.raws[:found], listed.messages[:found])


def _rest(data: bytes, begins: int) -> bytes:
    """Return the rest of the list behind the known messages. Raises ValueError if it is none."""
    rest = data[begins:].lstrip()
    further = rest.removeprefix(b",").lstrip()
    if rest.startswith(b",") == further.startswith(b"]"):
        raise ValueError("no list")
    return further


def _place(data: bytes, value: bytes) -> int:
    """Return the position of a value in the data; -1 if its beginning occurs more than once."""
    start = data.find(value[:_BEGINNING])
    return start if data.find(value[:_BEGINNING], start + 1) < 0 else -1


def _ends(data: bytes, raws: Sequence[Raw], known: list[int], start: int) -> list[int]:
    """Return the position behind each message; those of the first ones are `known`."""
    if start < 0:
        return []
    ends = [*known]
    position = ends[-1] if ends else start + 1
    for raw in raws[len(known) :]:
        text = bytes(raw)
        position = data.find(text, position) + len(text)
        ends.append(position)
    return ends


def members_of(data: bytes) -> dict[str, Raw]:
    """Return the JSON texts of an object's values. Raises ValueError, KeyError, RecursionError."""
    try:
        return _decode_members(data)
    except (msgspec.DecodeError, UnicodeDecodeError):  # Lone surrogates, large numbers.
        return _apart(data)


def elements_of(data: bytes) -> list[Raw]:
    """Return the JSON texts of a list's values. Raises as `members_of` does."""
    try:
        return _decode_elements(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return [*_apart(data, list).values()]


def _apart(data: bytes, kind: type[dict[str, Any]] | type[list[Any]] = dict) -> dict[Any, Raw]:
    value = json_text.parse(data)
    if not isinstance(value, kind):
        raise ValueError("a value of another kind")
    keys: Iterable[Any] = range(len(value)) if isinstance(value, list) else value
    text = json_text.decode(data)
    spans = json_text.locate(text, [(key,) for key in keys])
    return {path[0]: Raw(json_text.encode(text[start:end])) for path, (start, end) in spans.items()}


def unpacked(data: bytes, encoding: str) -> bytes:
    """Unpack bytes. Raises LookupError for an unknown encoding, UnreadableError for another than was named."""
    name = _FILES[encoding]
    if not suffix_of(name):
        return data
    with reading(io.BytesIO(data), data[: len(ZSTD)], "The body") as stream:
        plain = stream.read(LARGEST + 1)
    if len(plain) > LARGEST or packed(b"", name)[:2] != data[:2]:
        raise UnreadableError("The body cannot be unpacked here.")
    return plain


def _with_marks(raw: Raw | None) -> Any:
    """Return a value as JSON text, or decoded if it may hold cache marks."""
    data = b"" if raw is None else bytes(raw)
    return decoded(data) if _may_have_marks(data) else raw


def _may_have_marks(data: bytes) -> bool:
    return any(mark in data for mark in _MARKS)


def _text(raw: Raw | None) -> str | None:
    value = None if raw is None else decoded(bytes(raw))
    return value if isinstance(value, str) else None


LARGEST_KEPT: Final = 64 << 20
_TOLD_APART_BY: Final = 512
"""Bytes that tell bodies apart if a client does not name its conversations."""

Names = tuple[str, ...]


class _Seen(Struct, frozen=True):
    body: Body
    known: Sequence[KnownMessage]


class Recent:
    """The last bodies with their known messages, by conversation name and first bytes.

    The next body of a conversation begins with nearly all of the last one, and comparing bytes is ten times cheaper
    than reading them. Keeps at most LARGEST_KEPT bytes, in memory alone.
    """

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[object, ...], _Seen] = OrderedDict()
        self._size = 0

    def read(self, data: bytes, encoding: str, api: Api, names: Names) -> tuple[Body, Sequence[KnownMessage]] | None:
        """Read a body; return it with the known messages that it shares with an earlier one."""
        before = self._seen.get(_key(api, names, data))
        body = body_of(data, encoding, api, None if before is None else before.body)
        return None if body is None else (body, before.known if before is not None and body.same else ())

    def keep(self, data: bytes, names: Names, body: Body, known: Sequence[KnownMessage]) -> None:
        """Keep a body for the next request; drop the least recently used above the limit."""
        key = _key(body.api, names, data)
        old = self._seen.pop(key, None)
        self._size += len(body.data) - (len(old.body.data) if old is not None else 0)
        self._seen[key] = _Seen(body, known)
        while self._size > LARGEST_KEPT:
            self._size -= len(self._seen.popitem(last=False)[1].body.data)


def _key(api: Api, names: Names, data: bytes) -> tuple[object, ...]:
    return api.path, names, data[:_TOLD_APART_BY]
