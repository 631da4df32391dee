"""Fit conversations of agent frameworks, one Live for each.

A framework's messages become messages of the Messages API and come back. Each block carries its place under a key that
condensing leaves alone; an unchanged message comes back as the object that went in.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct, field

from ..errors import UsageError
from ..live.conversation import Live
from ..live.deciding import DecisionKind, Fitted
from ..live.requests import CACHE_MARK
from ..live.state import StateFile

MOST: Final = 256
"""Newest conversations that are held: a `Live` holds digests of its messages and what is frozen."""

_log = logging.getLogger("condense_cli")

OnDecision = Callable[[Fitted], None]


class _Held(Struct):
    live: Live
    usage: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class FittedConversations:
    """Fit the messages of any conversation, told apart by a key. Thread-safe.

    `options` are those of `Live`. `on_decision` is called after each fit that decided or tried something. What it
    raises is logged (`condense_cli`, ERROR) and stops nothing, because a request waits for its messages. Raises
    ConfigurationError and UsageError for invalid options.
    """

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        if on_decision is not None and not _can_be_called(on_decision):
            raise UsageError(f"on_decision cannot be {on_decision!r}.", "Give a function of one argument, not async.")
        if isinstance(options.get("state"), str | Path):
            options["state"] = StateFile(options["state"])
        self._options = options
        self._on_decision = on_decision
        self._held: OrderedDict[Hashable, _Held] = OrderedDict()
        self._lock = threading.Lock()
        self._first: Live | None = Live(**options)

    def fit(self, key: Hashable, messages: Sequence[Any], *, usage: Any = None, **request: Any) -> Fitted:
        """Return what to send. `usage` is that of the request before; None takes the one `reported`."""
        held = self._of(key)
        with held.lock:
            fitted = held.live.fit(messages, usage=held.usage if usage is None else usage, **request)
        if self._on_decision is not None and fitted.decision.kind is not DecisionKind.NONE:
            try:
                self._on_decision(fitted)
            except Exception:
                _log.exception("on_decision raised; the request goes out all the same")
        return fitted

    def reported(self, key: Hashable, usage: Any) -> None:
        """Remember what the API reported for the last request of a conversation."""
        self._of(key).usage = usage

    def _of(self, key: Hashable) -> _Held:
        with self._lock:
            held = self._held.pop(key, None)
            if held is None:
                live, self._first = self._first or Live(**self._options), None
                held = _Held(live)
            self._held[key] = held
            if len(self._held) > MOST:
                self._held.popitem(last=False)
            return held


def _can_be_called(value: Any) -> bool:
    """Check for a function that runs when it is called."""
    return callable(value) and not any(map(inspect.iscoroutinefunction, (value, value.__call__)))


Block = dict[str, Any]
Part = int
"""Number of a block in its message, as the dialect counts."""

FORMAT: Final = "anthropic"
"""Format of the converted messages."""

_AT: Final = "at"
M = TypeVar("M")

RoleBlocks = Mapping[str, Mapping[Part, Block]]
"""A framework's message: blocks by part, keyed by role (`user`, `assistant`, `system`)."""


class Dialect(Protocol[M]):
    """Conversion between one framework's messages and blocks of the Messages API."""

    def told(self, message: M) -> RoleBlocks:
        """Convert a message, to at least one block; parts that no model reads are left out."""

    def changed(self, message: M, blocks: Mapping[Part, Block], gone: Set[Part]) -> M:
        """Copy a message with the content of `blocks`, without the parts that are `gone`."""

    def summary(self, text: str) -> M:
        """Make a user message that replaces others."""


def text(words: str) -> Block:
    return {"type": "text", "text": words}


def thinking(words: str, signature: str | None) -> Block:
    return {"type": "thinking", "thinking": words, **({"signature": signature} if signature else {})}


def call(call_id: str, tool: str, arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def result(call_id: str, content: str | list[Block], *, is_error: bool = False) -> Block:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        **({"is_error": True} if is_error else {}),
    }


def other(value: Any) -> Block:
    """Make a block for content that is carried along: an image, a file, a call that the provider runs."""
    return {"type": "carried", "digest": blake2b(repr(value).encode(), digest_size=8).hexdigest()}


class ConvertedMessages(Struct, Generic[M], frozen=True):
    """Messages of one request, converted; `back` converts what is sent of them."""

    messages: Sequence[M]
    told: Sequence[RoleBlocks]
    sent: list[Block]
    """As messages of the Messages API."""

    def before(self, end: int) -> int:
        """Count the converted messages of the first `end` of the framework's."""
        return sum(message["content"][-1][_AT][0] < end for message in self.sent)

    def back(self, dialect: Dialect[M], sent: Sequence[Block], *, marks: bool = False, frozen: int = 0) -> list[M]:
        """Return the framework's messages for those sent, with cache marks if its provider takes `marks`.

        Then all `frozen` ones are written anew: otherwise a message whose mark is gone would look unchanged.
        """
        found: list[M] = []
        blocks = [block for message in sent for block in _blocks(message)]
        anew = (
            {block[_AT][0] for message in sent[:frozen] for block in _blocks(message) if _AT in block} if marks else ()
        )
        for position, group in groupby(blocks, lambda block: block.get(_AT, [-1])[0]):
            if position < 0:
                found += [dialect.summary(block["text"]) for block in group]
                continue
            now = {block[_AT][1]: _plain(block, marks) for block in group}
            told = self.told[position].values()
            then = {part: _plain(block, marks) for blocks in told for part, block in blocks.items()}
            message = self.messages[position]
            if now != then or position in anew:
                changes = {part: block for part, block in now.items() if block != then[part] or position in anew}
                message = dialect.changed(message, changes, then.keys() - now.keys())
            found.append(message)
        return found


def convert_messages(messages: Sequence[M], dialect: Dialect[M]) -> ConvertedMessages[M]:
    """Convert messages. Consecutive results go into one message, as the API requires."""
    told = [dialect.told(message) for message in messages]
    sent: list[Block] = []
    for position, each in enumerate(told):
        for role, parts in each.items():
            blocks = [{**block, _AT: [position, part]} for part, block in parts.items()]
            if role == "user":
                blocks.sort(key=lambda block: block["type"] != "tool_result")
            if sent and _are_results(sent[-1]["content"]) and _are_results(blocks):
                sent[-1]["content"] += blocks
            else:
                sent.append({"role": role, "content": blocks})
    return ConvertedMessages(messages, told, sent)


def fit_messages(
    conversations: FittedConversations, key: Any, messages: Sequence[M], dialect: Dialect[M], *,
    marks: int | None = None, tools: Iterable[Any] = (), **request: Any,
) -> list[M]:  # fmt: skip
    """Return what to send of a framework's messages: on any error the messages as they are.

    `marks` is the number of cache marks beside the messages; None for a provider that takes none. `key` identifies
    the conversation; None takes its first messages.
    """
    try:
        told = convert_messages(messages, dialect)
        if key is None:
            key = digest_of_beginning(told.sent)
        beside = [*tools, *([{CACHE_MARK: {}}] * (marks or 0))]
        found = conversations.fit(key, told.sent, tools=beside, **request)
        return told.back(dialect, found.messages, marks=marks is not None, frozen=found.frozen)
    except Exception:
        return list(messages)


def digest_of_beginning(sent: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the digest of everything up to the first user message, which stays as the conversation goes on."""
    first = next((at for at, message in enumerate(sent) if message.get("role") == "user"), 0)
    return blake2b(repr(sent[: first + 1]).encode(), digest_size=16).digest()


def _blocks(message: Block) -> list[Block]:
    content = message["content"]
    return [text(content)] if isinstance(content, str) else content


def _plain(block: Block, marks: bool) -> Block:
    return {key: value for key, value in block.items() if key != _AT and (marks or key != CACHE_MARK)}


def _are_results(blocks: Sequence[Block]) -> bool:
    return all(block["type"] == "tool_result" for block in blocks)


def texts_of(block: Block) -> list[str]:
    """List the texts of a result."""
    content = block["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content if part.get("type") == "text"]
