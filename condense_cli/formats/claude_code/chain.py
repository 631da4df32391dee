"""Which records of a Claude Code session the client would send: the live chain.

A session file is an append-only tree. Each record names its parent; a retry or a rewind starts a new
branch, a compaction starts a new root. The conversation is the path from its last message (see
`ending`) back to its root, with the lines of parallel calls that hang beside that path, from
the last compact boundary on. The rules are those of the client, version 2.1.330, as `tests/client`
holds them against the client itself.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import timegm
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ...core.lazy_pattern import lazy_pattern
from .beside import Beside
from .boundary import after_compaction
from .ending import NOTHING_NAMED, Ending, last_message
from .tree import Node, Tree

_BRIDGED: Final = 5.0
"""Seconds: a record whose parent is missing continues the record before it, if that is no older than this."""

_TIME: Final = lazy_pattern(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d+)?)Z")


def live_chain(nodes: Sequence[Node], ending: Ending = NOTHING_NAMED) -> list[Node]:
    """Nodes of the conversation in order.

    A file that holds nothing but a sub-agent's lines is that sub-agent's conversation; otherwise the
    conversation does not end in a sidechain.
    """
    written = _without_progress(nodes)
    main = [node for node in written if not node.is_sidechain] or written
    if not main or ending.is_cleared:
        return []
    tree, is_joined = {node.uuid: node for node in written}, False
    if any(node.is_boundary and node.preserved for node in tree.values()):
        tree, is_joined = after_compaction(tree)
    last = last_message(tree, main[-1], ending, is_joined=is_joined)
    if last is None:
        return []
    chain = _with_parallel_lines(_path(tree, last), tree)
    chain += _hanging_below(last, tree, {node.uuid for node in chain})
    start = max((position for position, node in enumerate(chain) if node.is_boundary), default=0)
    return chain[start:]


def _without_progress(nodes: Iterable[Node]) -> list[Node]:
    """Older clients linked progress into the tree; what hangs below it continues what is above it."""
    above: dict[str, str | None] = {}
    kept = []
    for node in nodes:
        if node.kind == "progress":
            above[node.uuid] = above.get(node.parent, node.parent) if node.parent else None
        elif node.parent in above:
            kept.append(replace(node, parent=above[node.parent]))
        else:
            kept.append(node)
    return kept


def _path(tree: Tree, last: Node) -> list[Node]:
    path: list[Node] = []
    seen: set[str] = set()
    in_time: list[tuple[float, int, Node]] = []
    node: Node | None = last
    while node is not None:
        path.append(node)
        seen.add(node.uuid)
        if node.parent is None:
            break
        above = tree.get(node.parent)
        if above is None or above.uuid in seen:
            in_time = in_time or _in_time(tree.values())
            above = _shortly_before(node, in_time, seen)
        node = above
    path.reverse()
    return path


def _in_time(nodes: Iterable[Node]) -> list[tuple[float, int, Node]]:
    """Nodes by the time they were written; of those of one moment the first of the file is the last here."""
    timed = ((_seconds(node.time), -position, node) for position, node in enumerate(nodes))
    return sorted((second, position, node) for second, position, node in timed if second is not None)


def _shortly_before(node: Node, in_time: list[tuple[float, int, Node]], seen: set[str]) -> Node | None:
    """The record that was written last before one whose parent is missing."""
    time = _seconds(node.time)
    if time is None:
        return None
    for position in range(bisect_right(in_time, time, key=_moment) - 1, -1, -1):
        second, _, other = in_time[position]
        if time - second > _BRIDGED:
            return None
        if other.uuid not in seen and other.is_sidechain is node.is_sidechain:
            return other
    return None


def _moment(timed: tuple[float, int, Node]) -> float:
    return timed[0]


def _seconds(time: str) -> float | None:
    found = _TIME.match(time)
    if not found:
        return None
    *whole, second = found.groups()
    try:
        return timegm((*map(int, whole), 0, 0, 0, 0)) + float(second)
    except ValueError:  # No such month.
        return None


def _with_parallel_lines(path: list[Node], tree: Tree) -> list[Node]:
    """Add what branches off the path at the calls of a reply, in the order of the file.

    Since version 2.1 a call's result hangs below that call, so the path runs through one of the parallel branches
    only. Lines of one `message.id` belong together, and so do their results, and what hooks said at each of them.
    """
    beside = Beside(path, tree)
    stretches = beside.stretches()
    if not stretches:
        return path
    order = {uuid: position for position, uuid in enumerate(tree)}
    found: list[Node] = []
    done = 0
    for start, end, branches in stretches:
        found += path[done : start + 1]
        left = sorted(branches, key=lambda node: order[node.uuid], reverse=True)
        for node in path[start + 1 : end]:
            while left and order[left[-1].uuid] < order[node.uuid]:
                found.append(left.pop())
            found += (node, *beside.behind.get(node.uuid, ()))
        found += reversed(left)
        done = end
    return found + path[done:]


def _hanging_below(last: Node, tree: Mapping[str, Node], taken: Collection[str]) -> list[Node]:
    """What decorates the last message and is not `taken` already: attachments and notices, no messages."""
    below: dict[str | None, list[Node]] = defaultdict(list)
    for node in tree.values():
        if not node.is_message:
            below[node.parent].append(node)
    found: list[Node] = []
    seen = {last.uuid, *taken}
    queue = [last]
    for node in queue:
        new = [child for child in below[node.uuid] if child.uuid not in seen]
        seen.update(child.uuid for child in new)
        queue += new
        found += new
    return sorted(found, key=_time)


def _time(node: Node) -> str:
    return node.time
