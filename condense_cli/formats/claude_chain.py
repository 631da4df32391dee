"""Which records of a Claude Code session the client would send: the live chain.

A session file is an append-only tree. Each record names its parent; a retry or a rewind starts a new
branch, a compaction starts a new root. The conversation is the path from the newest leaf back to
its root, with the lines of parallel calls that hang beside that path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct


class Node(Struct, frozen=True):
    """One record of the tree, reduced to what decides its place.

    `reply_id` is the API message of an assistant line; `calls` and `answers` are tool ids.
    """

    record: int
    uuid: str
    parent: str | None
    kind: str
    is_sidechain: bool = False
    is_boundary: bool = False
    reply_id: str | None = None
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def live_chain(nodes: Sequence[Node]) -> list[Node]:
    """Nodes of the conversation in order.

    A file that holds nothing but a sub-agent's lines is that sub-agent's conversation; otherwise
    sidechains are left out. A record written again under the same uuid counts once, as last written.
    """
    main = [node for node in nodes if not node.is_sidechain] or list(nodes)
    by_uuid = {node.uuid: node for node in main}
    leaf = _newest_leaf(by_uuid.values())
    path: list[Node] = []
    seen: set[str] = set()
    node = leaf
    while node is not None and node.uuid not in seen:
        path.append(node)
        seen.add(node.uuid)
        node = None if node.is_boundary or node.parent is None else by_uuid.get(node.parent)
    path.reverse()
    return _with_parallel_lines(path, by_uuid)


def _newest_leaf(nodes: Iterable[Node]) -> Node | None:
    """The last line of the conversation: the newest message that no other message continues.

    Lines that only decorate the tree (progress, hooks) may hang below a message without ending it.
    """
    messages = [node for node in nodes if node.kind in ("user", "assistant", "attachment")]
    parents = {node.parent for node in messages}
    leaves = [node for node in messages if node.uuid not in parents]
    newest = max(leaves or messages, key=lambda node: node.record, default=None)
    if newest is None:
        return None
    boundary = max((node.record for node in nodes if node.is_boundary), default=-1)
    return newest if newest.record > boundary else None


def _with_parallel_lines(path: list[Node], by_uuid: Mapping[str, Node]) -> list[Node]:
    """Add the lines of parallel calls that branch off the path, beside the message they belong to.

    Since version 2.1 a call's result hangs below that call, so the path runs through one of the
    parallel branches only. Lines of one `message.id` belong together, and so do their results.
    """
    on_path = {node.uuid for node in path}
    lines_of_reply: dict[str, list[Node]] = defaultdict(list)
    result_of_call: dict[str, list[Node]] = defaultdict(list)
    for node in by_uuid.values():
        if node.uuid in on_path:
            continue
        if node.reply_id:
            lines_of_reply[node.reply_id].append(node)
        for call in node.answers:
            result_of_call[call].append(node)
    answered = {call for node in path for call in node.answers}
    chain: list[Node] = []
    for position, node in enumerate(path):
        chain.append(node)
        if not node.reply_id:
            continue
        siblings = lines_of_reply.pop(node.reply_id, [])
        chain += siblings
        last = position == len(path) - 1
        for call in (call for line in (node, *siblings) for call in line.calls):
            if call not in answered and (result_of_call[call] or not last):
                chain += result_of_call[call][-1:]
                answered.add(call)
    return chain
