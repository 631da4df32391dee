"""Which records of a Claude Code session the client would send: the live chain.

A session file is an append-only tree. Each record names its parent; a retry or a rewind starts a new
branch, a compaction starts a new root. The conversation is the path from its last message (see
`claude_ending`) back to its root, with the lines of parallel calls that hang beside that path, from
the last compact boundary on. The rules are those of the client, version 2.1.330, as `tests/client`
holds them against the client itself.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from calendar import timegm
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .claude_boundary import Preserved, after_compaction
from .claude_ending import NOTHING_NAMED, Ending, last_message

_BRIDGED: Final = 5.0
"""Seconds: a record whose parent is missing continues the record before it, if that is no older than this."""

_TIME: Final = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d+)?)Z")


class Node(Struct, frozen=True):
    """One record of the tree, reduced to what decides its place.

    `time` is an ISO time stamp, empty where the record has none. `reply_id` is the API message of an
    assistant line; `calls` and `answers` are tool ids; `preserved` is what a compact boundary keeps.
    """

    record: int
    uuid: str
    parent: str | None
    kind: str
    time: str = ""
    is_sidechain: bool = False
    is_boundary: bool = False
    reply_id: str | None = None
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    preserved: Preserved | None = None
    is_meta: bool = False

    @property
    def decorates(self) -> bool:
        """Whether it goes along with a message: an attachment, a notice, or what the client says in the user's name."""
        is_said = self.kind == "user" and self.is_meta and not self.answers
        return is_said or (self.kind in ("attachment", "system") and not self.is_boundary)

    @property
    def is_message(self) -> bool:
        return self.kind in ("user", "assistant")


Tree = dict[str, Node]
"""Nodes by uuid. One that was written again stands where it was first, as it was written last."""


def live_chain(nodes: Sequence[Node], ending: Ending = NOTHING_NAMED) -> list[Node]:
    """Nodes of the conversation in order.

    A file that holds nothing but a sub-agent's lines is that sub-agent's conversation; otherwise the
    conversation does not end in a sidechain.
    """
    written = _without_progress(nodes)
    main = [node for node in written if not node.is_sidechain] or written
    if not main or ending.is_cleared:
        return []
    tree, is_joined = after_compaction({node.uuid: node for node in written})
    last = last_message(tree, main[-1], ending, is_joined=is_joined)
    if last is None:
        return []
    chain = [*_with_parallel_lines(_path(tree, last), tree), *_hanging_below(last, tree)]
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
    beside = _Beside(path, tree)
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


class _Beside:
    """What stands beside a path, by the replies on it. `behind` are decorations of single nodes of the path."""

    def __init__(self, path: list[Node], tree: Tree) -> None:
        self._path = path
        self._at = {node.uuid: position for position, node in enumerate(path)}
        self._lines: dict[str, list[Node]] = defaultdict(list)
        self._below: dict[str | None, list[Node]] = defaultdict(list)
        for node in tree.values():
            self._below[node.parent].append(node)
            if node.reply_id:
                self._lines[node.reply_id].append(node)
        self._taken = set(self._at)
        self.behind: dict[str, list[Node]] = {}

    def stretches(self) -> list[tuple[int, int, list[Node]]]:
        """Stretches of the path, from the first line of a reply to what still belongs to it, with their branches."""
        found: list[tuple[int, int, list[Node]]] = []
        replies = sorted((self._at[node.uuid], node.reply_id) for node in self._path if node.reply_id)
        for reply in dict.fromkeys(name for _, name in replies):
            start, end, branches = self._of_reply(reply)
            if not branches and not self.behind.keys() & {node.uuid for node in self._path[start:end]}:
                continue
            if found and start < found[-1][1]:
                start, before, others = found.pop()
                end, branches = max(end, before), others + branches
            found.append((start, end, branches))
        return found

    def _of_reply(self, reply: str) -> tuple[int, int, list[Node]]:
        lines = self._lines[reply]
        answers = [node for line in lines for node in self._below[line.uuid] if node.answers]
        branches = [node for node in (*lines, *answers) if node.uuid not in self._taken]
        self._taken.update(node.uuid for node in branches)
        on_path = [self._at[line.uuid] for line in lines if line.uuid in self._at]
        start, end = min(on_path), max(on_path) + 1
        while end < len(self._path) and _belongs_to(self._path[end], reply):
            end += 1
        if any(line.calls for line in lines):
            for node in (*lines, *answers):
                branches += self._decorations(node)
            for node in self._path[start + 1 : end]:
                if node.decorates and (more := self._decorations(node)):
                    self.behind[node.uuid] = more
        return start, end, branches

    def _decorations(self, node: Node) -> list[Node]:
        """What hangs below a node in single file and leads to no message."""
        found: list[Node] = []
        for child in self._below[node.uuid]:
            row = self._row(child, node)
            self._taken.update(each.uuid for each in row)
            found += row
        return found

    def _row(self, child: Node, above: Node) -> list[Node]:
        row: list[Node] = []
        following = [child]
        while following:
            (node,) = following
            if node.uuid in self._taken or not node.decorates or node.is_sidechain is not above.is_sidechain:
                return []
            row.append(node)
            following = [each for each in self._below[node.uuid] if each.uuid not in self._taken]
            if len(following) > 1:
                return []
        return row


def _belongs_to(node: Node, reply: str) -> bool:
    """Whether a node of the path still belongs to a reply before it."""
    return node.decorates or bool(node.answers) or (node.kind == "assistant" and node.reply_id == reply)


def _hanging_below(last: Node, tree: Mapping[str, Node]) -> list[Node]:
    """What decorates the last message: attachments and notices, no messages."""
    below: dict[str | None, list[Node]] = defaultdict(list)
    for node in tree.values():
        if not node.is_message:
            below[node.parent].append(node)
    found: list[Node] = []
    seen = {last.uuid}
    queue = [last]
    for node in queue:
        new = [child for child in below[node.uuid] if child.uuid not in seen]
        seen.update(child.uuid for child in new)
        queue += new
        found += new
    return sorted(found, key=_time)


def _time(node: Node) -> str:
    return node.time
