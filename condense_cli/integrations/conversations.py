"""Conversations of agent frameworks: messages turned into ours and back, one Live for each conversation."""

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
"""Conversations that are held, the newest: a `Live` holds digests of its messages and what is frozen."""

_log = logging.getLogger("condense_cli")

OnDecision = Callable[[Fitted], None]


class _Held(Struct):
    live: Live
    usage: Any = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class FittedConversations:
    """Fits the messages of any conversation, told apart by a key. From any thread.

    `options` are those of `Live`. `on_decision` is called with what came of each fit that decided or tried something;
    what it raises is logged (`condense_cli`, ERROR) and stops nothing, as a request waits for its messages. Raises
    ConfigurationError and UsageError for options that cannot be.
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
        """What to send; `usage` is of the conversation's request before, None for what was `reported`."""
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
    """Whether it is a function that runs when it is called."""
    return callable(value) and not any(map(inspect.iscoroutinefunction, (value, value.__call__)))


Block = dict[str, Any]
Part = int
"""The place of a block in its message, as the dialect counts."""

FORMAT: Final = "anthropic"
"""The format of what is told."""

_AT: Final = "at"
M = TypeVar("M")

Told = Mapping[str, Mapping[Part, Block]]
"""A message of a framework: by who says it (`user`, `assistant`, `system`) the blocks by part."""


class Dialect(Protocol[M]):
    """How one framework says what the Messages API says."""

    def told(self, message: M) -> Told:
        """The message, with at least one block; parts that no model reads are left out."""

    def changed(self, message: M, blocks: Mapping[Part, Block], gone: Set[Part]) -> M:
        """A copy in which parts say what their blocks say now, and others are gone."""

    def summary(self, text: str) -> M:
        """A message of the user's that stands for others."""


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
    """A block of what is carried past: a picture, a file, a call that the provider runs."""
    return {"type": "carried", "digest": blake2b(repr(value).encode(), digest_size=8).hexdigest()}


class Carried(Struct, Generic[M], frozen=True):
    """The messages of one request, told; `back` gives what is sent of them."""

    messages: Sequence[M]
    told: Sequence[Told]
    sent: list[Block]
    """As messages of the Messages API."""

    def before(self, end: int) -> int:
        """How many of the told messages stand for the first `end` of the framework's."""
        return sum(message["content"][-1][_AT][0] < end for message in self.sent)

    def back(self, dialect: Dialect[M], sent: Sequence[Block], *, marks: bool = False, frozen: int = 0) -> list[M]:
        """The framework's messages for those that are sent, with cache marks where its provider takes `marks`.

        Then the `frozen` ones are all written anew: a message looks the same when its mark is gone.
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


def carried(messages: Sequence[M], dialect: Dialect[M]) -> Carried[M]:
    """Tell messages; results that follow each other are told in one message, as the API wants them."""
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
    return Carried(messages, told, sent)


def fitted(
    conversations: FittedConversations, key: Any, messages: Sequence[M], dialect: Dialect[M], *,
    marks: int | None = None, tools: Iterable[Any] = (), **request: Any,
) -> list[M]:  # fmt: skip
    """What to send of a framework's messages: those as they are where anything goes wrong.

    `marks` is how many cache marks stand beside the messages, None for a provider that takes none. `key` tells the
    conversation; None is told from its first message.
    """
    try:
        told = carried(messages, dialect)
        if key is None:
            key = beginning(told.sent)
        beside = [*tools, *([{CACHE_MARK: {}}] * (marks or 0))]
        found = conversations.fit(key, told.sent, tools=beside, **request)
        return told.back(dialect, found.messages, marks=marks is not None, frozen=found.frozen)
    except Exception:
        return list(messages)


def beginning(sent: Sequence[Mapping[str, Any]]) -> bytes:
    """The digest of all up to the first message of the user's, which stays as the conversation goes on."""
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
    """The texts of a result."""
    content = block["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content if part.get("type") == "text"]
