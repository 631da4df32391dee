"""Messages of a framework as messages of the Messages API, and what came of those as the framework's own again.

A framework's message is told as blocks, each with the place of what it stands for under a key of its own, which
condensing leaves alone. What did not change comes back as the very object that came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import blake2b
from itertools import groupby
from typing import Any, Final, Generic, Protocol, TypeVar

from msgspec import Struct

from ..live.requests import CACHE_MARK
from .conversations import FittedConversations

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
