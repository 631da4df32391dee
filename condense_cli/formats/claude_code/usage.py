"""What a Claude Code session records of the tokens that the API counted.

A compaction keeps lines whose usage was recorded with all that stood before them then: the client leaves them where
they are, in front of the boundary; a summary of ours is followed by copies, which keep their times.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.transcript import Block, FirstRequest, Message
from ...core.values import Usage
from ..engine.base import INPUT_TOKENS
from ..engine.usages import SignsReader, lives_hour, recorded
from .tree import Node
from .turns import SentTurn, TurnLine, conversation

Told = Mapping[int, Mapping[str, Any]]
"""The `usage` and the `model` of each record that holds an answer."""


def usages(turns: Sequence[SentTurn], chain: Sequence[Node], told: Told) -> Iterator[Usage]:
    """One for each request that a turn answers. Of several lines of an answer the last one knows how long it got."""
    boundary = next((node for node in reversed(chain) if node.is_boundary), None)
    nodes = {node.record: node for node in chain}
    for position, turn in enumerate(turns):
        newest: list[Usage] = []
        for record in turn.records:
            newest = list(_usage(position, told.get(record), is_older=_is_older(nodes[record], boundary))) or newest
        yield from newest


def _is_older(node: Node, boundary: Node | None) -> bool:
    return boundary is not None and (node.record < boundary.record or node.time <= boundary.time)


def _usage(position: int, told: Mapping[str, Any] | None, *, is_older: bool = False) -> Iterator[Usage]:
    usage = told and told["usage"]
    if told and isinstance(usage, dict):
        numbers = [usage.get(key) for key in INPUT_TOKENS]
        yield from recorded(
            position,
            numbers,
            usage.get("output_tokens"),
            is_older=is_older,
            model=told["model"],
            lives_hour=lives_hour(usage),
        )


def note_signs(signs: SignsReader, value: Mapping[str, Any], told: Mapping[str, Any] | None) -> None:
    """What a record shows of the window. Sub-agents may have another one than the conversation."""
    if value.get("isSidechain") is True:
        return
    metadata = value.get("compactMetadata")
    if (
        value.get("subtype") == "compact_boundary"
        and isinstance(metadata, Mapping)
        and metadata.get("trigger") == "auto"
    ):
        signs.compacted(metadata.get("preTokens"))
    for usage in _usage(0, told):
        signs.used(usage.model, usage.input_tokens, usage.output_tokens)


def first_request(nodes: Iterable[Node], blocks: Mapping[int, tuple[Block, ...]], told: Told) -> FirstRequest | None:
    """The first request among nodes whose usage was recorded: what leads to its answer, and the tokens of it.

    None where the file does not hold all that leads there.
    """
    above: dict[str | None, Node] = {}
    for node in nodes:
        found = next(_usage(0, told.get(node.record)), None)
        if found:
            root = node
            path: dict[str, Node] = {}
            at = above.get(node.parent)
            while at is not None and at.uuid not in path:
                path[at.uuid] = root = at
                at = above.get(at.parent)
            if root.parent is not None:
                return None  # What it continues is not in the file.
            turns = conversation([TurnLine(each, blocks[each.record]) for each in reversed(path.values())]).turns
            messages = tuple(Message(index, turn.role, turn.blocks) for index, turn in enumerate(turns))
            return FirstRequest(messages, found.input_tokens)
        above[node.uuid] = node
    return None
