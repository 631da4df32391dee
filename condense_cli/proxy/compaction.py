"""Recognize the requests by which Claude Code and Codex ask a model for a compaction, and answer them without one.

A request of Claude Code counts only if nothing else can look like it. A client that the proxy starts is given a
PreCompact hook that prints a random word; the client puts the hook's output behind the instructions of `/compact`, in
its last text. If no such hook can run, that text has to equal one that is known, by length and hash. Everything else
passes.

It keeps the answer as it is, but for three things: it wants a `<summary>`, inside of which some versions
expand `$&` and `$$`; it may cut the first `<analysis>`; and blank lines collapse. So the text follows a summary of one
line, and no `<analysis>` is in it. Found by trying versions 2.0.76 to 2.1.332.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any, Final, Literal

from msgspec import Raw, Struct

from .. import api
from ..core.lazy_pattern import lazy_pattern
from ..errors import UnreadableError
from ..ledger.compaction import FIRST_WORDS, compaction, compaction_budget, read_back
from ..live.deciding import window_of
from ..live.requests import CACHE_MARK, decoded
from ..tokens.counting import Counter
from ..tokens.factor import typical_of
from .bodies import Api, Body, body_of, members_of, unpacked

_TEMPLATES: Final = {
    5028: "31fefa8f6334284d", 5143: "be932b2293d3f65a",
    5581: "9d7862be562d76d0", 5978: "d30e34ab6f2d7dae", 6361: "63e2bfb4ded280d5",
    6912: "fad126162ae3f5ba", 6755: "3a2e12effb0d0f2f",
}  # fmt: skip
"""Characters of the texts by which versions ask for a compaction, and how the SHA-256 of each begins."""

_MARKED: Final = (5028, 5143)
"""Texts of versions up to 2.1.50, which put a cache mark on them. Later, only typed prompts have one."""

_PARTIAL: Final = {4475: "60a9bf190c7f46dd", 4467: "258757adb30cf899"}
"""The same for texts that ask for a part of the conversation ("Summarize from here", "up to here")."""

_BEGINNINGS: Final = (b"CRITICAL: Respond with TEXT ONLY", b"Your task is to create a detailed summary")
_INSTRUCTIONS: Final = "\n\nAdditional Instructions:\n"
_ANALYSIS: Final = lazy_pattern(
    r"<(?=/?analysis\b)",
)

_LINE: Final = (
    "Written by condense, without a model: what the user said, the state of the work, and lines as they were."
)
_PIECE: Final = 2_000
"""Characters of one event of a stream."""

_NO_STREAM: Final = "a compaction was passed on: it asks for no stream"

SECONDS: Final = 60.0
"""Time limit of an answer. A request that would take longer goes on to its API."""


_KIND_OF_REQUEST: Final = "compaction"
_TRIGGER: Final = "compaction_trigger"
_ITEM: Final = "compaction"
_OURS: Final = base64.b64encode(FIRST_WORDS.encode()[: len(FIRST_WORDS) // 3 * 3])
"""How the content of an item of ours begins: to look for it is much faster than to read a whole conversation."""

AnswerForm = Literal["summary", "item", "message"]
"""A text with a summary in front (Claude Code), a `compaction` item, or a message (Codex)."""


class CompactionRequest(Struct, frozen=True):
    """A request for a compaction: the messages of a `format`, the user's instructions, and the form of an answer."""

    messages: list[Any]
    instructions: str = ""
    form: AnswerForm = "summary"
    format: str = "anthropic"


class CompactionAnswer(Struct, frozen=True):
    """An answer: its text, its tokens and those of the messages before, in the model's, and the seconds it took."""

    text: str
    before: int
    after: int
    seconds: float


def compaction_request(body: Body, word: str, turn: str = "") -> CompactionRequest | str | None:
    """Return the compaction that a request asks for, why it is none although it looks like one, or None.

    `word` is what the hook of Claude Code prints; empty if no hook runs. `turn` is a header of Codex.
    """
    if body.api.format == "openai-responses":
        return _codex(body, turn)
    if body.api.format != "anthropic":
        return None
    last = next((at for at in reversed(range(len(body.messages))) if _role(body.messages[at]) != "system"), -1)
    data = b"" if last < 0 else _bytes(body, last)
    if not (word and word.encode() in data) and not any(beginning in data for beginning in _BEGINNINGS):
        return None
    message: Any = decoded(data)
    part = _last_text(message)
    if part is None:
        return None
    text = part["text"]
    if len(text) in _PARTIAL and _digest(text) == _PARTIAL[len(text)]:
        return "a request to summarize a part of the conversation was passed on"
    instructions = _said_with(text, word) if word else _said_beside(text, has_mark=CACHE_MARK in part)
    if instructions is None:
        known = _said_beside(text, has_mark=False)
        return None if known is None else "what looks like a compaction was passed on: its hook did not run"
    if not _is_streamed(body):
        return _NO_STREAM
    messages = [decoded(_bytes(body, at)) for at in range(last)]
    content = message["content"]
    if isinstance(content, list) and len(content) > 1:
        messages.append({**message, "content": content[:-1]})
    return CompactionRequest(messages, instructions) if messages else None


def _codex(body: Body, turn: str) -> CompactionRequest | str | None:
    kind = decoded(turn.encode()).get("request_kind") if _KIND_OF_REQUEST in turn else None
    if kind != _KIND_OF_REQUEST or len(body.messages) < 2:
        return None
    items = [decoded(_bytes(body, at)) for at in range(len(body.messages))]
    is_item = isinstance(items[-1], dict) and items[-1].get("type") == _TRIGGER
    if not is_item and _role(items[-1]) != "user":
        return "what looks like a compaction was passed on: it does not end with a prompt"
    if not _is_streamed(body):
        return _NO_STREAM
    return CompactionRequest(items[:-1], form="item" if is_item else "message", format=body.api.format)


def with_own_compactions(data: bytes, encoding: str, api: Api) -> bytes:
    """Return a body with our compactions of Codex as messages of the user; the same bytes if it has none."""
    if api.format != "openai-responses" or not _may_hold_ours(data, encoding):
        return data
    body = body_of(data, encoding, api)
    if body is None:
        return data
    messages = [_as_message(raw, message) for raw, message in zip(body.listed.raws, body.messages, strict=True)]
    return body.with_messages(messages) or data


def _may_hold_ours(data: bytes, encoding: str) -> bool:
    try:
        return _OURS in unpacked(data, encoding.strip().lower())
    except (ValueError, LookupError, UnreadableError):
        return False


def _as_message(raw: Raw, message: Any) -> Any:
    """Return a message of the user with the text of a compaction of ours; any other message as it is."""
    if _ITEM.encode() not in bytes(raw):
        return message
    item = decoded(bytes(raw))
    content = item.get("encrypted_content") if isinstance(item, dict) and item.get("type") == _ITEM else None
    try:
        text = base64.b64decode(content, validate=True).decode() if isinstance(content, str) else ""
    except ValueError:
        return message
    if read_back(text) is None:
        return message
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def compact(asked: CompactionRequest, model: str | None, tokens: int | None, window: int | None) -> CompactionAnswer:
    """Compact the messages to `tokens` of the model's, or to the usual share of its `window`.

    Raises CondenseError if they cannot be read.
    """
    started = time.monotonic()
    transcript = api.loads(asked.messages, format=asked.format)
    count = Counter.of(transcript)
    factor = typical_of(model)
    total = sum(map(count.message, transcript.messages))
    budget = compaction_budget(total, factor, tokens, window or window_of(model))
    found = compaction(transcript.messages, budget, count, asked.instructions)
    text = found.text
    if asked.form == "summary":
        text = f"<summary>\n{_LINE}\n</summary>\n\n{_ANALYSIS.sub('‹', text)}"
    return CompactionAnswer(text, int(total * factor), int(found.tokens * factor), time.monotonic() - started)


def events(found: CompactionAnswer, form: AnswerForm, model: str | None) -> Iterator[bytes]:
    """Yield the stream of an answer, as the API sends it."""
    return _messages_events(found.text, model) if form == "summary" else _responses_events(found, form)


def _responses_events(found: CompactionAnswer, form: AnswerForm) -> Iterator[bytes]:
    """Yield an answer of the Responses API. Its usage is the size of the text, from which the client counts on."""
    name = _name(found.text)
    item: dict[str, Any]
    if form == "item":
        content = base64.b64encode(found.text.encode("utf-8", "replace")).decode()
        item = {"type": _ITEM, "id": f"cmp_{name}", "encrypted_content": content}
    else:
        part = {"type": "output_text", "text": found.text, "annotations": []}
        item = {"type": "message", "id": f"msg_{name}", "role": "assistant", "content": [part]}
    usage = {
        "input_tokens": 0, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": found.after, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": found.after,
    }  # fmt: skip
    response = {"id": f"resp_{name}", "object": "response", "status": "in_progress", "output": []}
    yield _event({"type": "response.created", "response": response})
    yield _event({"type": "response.output_item.added", "output_index": 0, "item": item})
    yield _event({"type": "response.output_item.done", "output_index": 0, "item": item})
    ended = {**response, "status": "completed", "output": [item], "usage": usage}
    yield _event({"type": "response.completed", "response": ended})


def _messages_events(text: str, model: str | None) -> Iterator[bytes]:
    """Yield an answer of the Messages API. It reports no tokens: none were billed."""
    usage = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}
    message: dict[str, Any] = {
        "id": f"msg_{_name(text)}",
        "type": "message", "role": "assistant", "model": model or "", "content": [],
        "stop_reason": None, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    yield _event({"type": "message_start", "message": message})
    yield _event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for start in range(0, len(text), _PIECE):
        delta = {"type": "text_delta", "text": text[start : start + _PIECE]}
        yield _event({"type": "content_block_delta", "index": 0, "delta": delta})
    yield _event({"type": "content_block_stop", "index": 0})
    ending = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ending, "usage": usage})
    yield _event({"type": "message_stop"})


def _name(text: str) -> str:
    return f"condense_{_digest(text)}"


def _is_streamed(body: Body) -> bool:
    return bytes(members_of(body.data).get("stream", b"")) == b"true"


def _event(value: dict[str, Any]) -> bytes:
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def _bytes(body: Body, at: int) -> bytes:
    return bytes(body.listed.raws[at])


def _role(message: Any) -> object:
    value = decoded(bytes(message)) if isinstance(message, Raw) else message
    return value.get("role") if isinstance(value, dict) else None


def _last_text(message: Any) -> dict[str, Any] | None:
    """Return the last block of a message of the user, if that is a text."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return None
    content = message.get("content")
    part = content[-1] if isinstance(content, list) and content else {"type": "text", "text": content}
    is_text = isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)
    return part if is_text else None


def _said_with(text: str, word: str) -> str | None:
    """Return the instructions in front of the hook's word; None if it is not among instructions."""
    _, found, rest = text.partition(_INSTRUCTIONS)
    said, named, _ = rest.partition(word)
    is_line = bool(named) and (not said or said.endswith("\n"))
    return said.strip() if found and is_line else None


def _said_beside(text: str, *, has_mark: bool) -> str | None:
    """Return the instructions in a text that is a known one otherwise; None if it is none."""
    at = text.find(_INSTRUCTIONS)
    for length, digest in _TEMPLATES.items():
        if has_mark and length not in _MARKED:
            continue
        if len(text) == length and _digest(text) == digest:
            return ""
        rest = length - at  # Characters of the known text behind the instructions.
        end = len(text) - rest
        if at >= 0 and rest >= 0 and end >= at + len(_INSTRUCTIONS) and _digest(text[:at] + text[end:]) == digest:
            return text[at + len(_INSTRUCTIONS) : end].strip()
    return None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
