"""Find the records that Claude Code would send.

A session file is an append-only tree. Each record names its parent; a retry or a rewind starts a new branch, a
compaction starts a new root. The conversation is the path from its last message back to its root, with the lines of
parallel calls that hang beside that path, from the last compact boundary on. `last-prompt` records name the last
message of the branch that the client worked on. The rules are those of version 2.1.330, as `tests/client` holds them
against the client itself.

A compact boundary may name messages that stay: they are not written again, the client links them anew when it reads the
file. Everything else before the boundary is no longer part of the conversation.

When a session went on after a long pause, attachments note which old results are sent as a short text from then on
(`tool_results_cut`), and from which reply up to here no thinking is sent (`thinking_stripped`). The records stay whole.
"""

from __future__ import annotations

from bisect import bisect_right
from calendar import timegm
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Block, Place
from ...core.values import BlockKind
from .records import Node, Preserved, Tree
from .turns import TurnLine


def preserved(metadata: Any) -> Preserved | None:
    """Return the messages that a boundary keeps, from its `compactMetadata`."""
    for key in ("preservedMessages", "preservedSegment"):
        kept = metadata.get(key) if isinstance(metadata, Mapping) else None
        if not isinstance(kept, Mapping):
            continue
        anchor = kept["anchorUuid"] if isinstance(kept.get("anchorUuid"), str) else None
        if key == "preservedSegment":
            return Preserved(anchor, head=str(kept.get("headUuid")), tail=str(kept.get("tailUuid")))
        if isinstance(kept.get("uuids"), list):
            return Preserved(anchor, tuple(map(str, kept["uuids"])))
    return None


def _after_compaction(tree: Tree) -> tuple[Tree, bool]:
    """Return the tree without what the last boundary cut off, and whether preserved messages were joined to it.

    Only for trees in which a boundary preserves anything: any other conversation begins at the last boundary on its
    path. A list that names a missing record is void.
    """
    boundaries = [node for node in tree.values() if node.is_boundary]
    preserving = [node for node in boundaries if node.preserved]
    kept: tuple[str, ...] = ()
    said = preserving[-1].preserved
    if said and preserving[-1] is boundaries[-1]:
        kept = said.uuids or _piece(tree, said.head, said.tail)
        if any(uuid not in tree for uuid in kept) or (not kept and said.head):
            return tree, False
        tree = _joined(tree, said.anchor, kept) if kept else tree
    before = set(list(tree)[: list(tree).index(boundaries[-1].uuid)]) - set(kept)
    left = {uuid: node for uuid, node in tree.items() if uuid not in before}
    if kept:
        cut_off = {uuid: node for uuid, node in left.items() if node.is_message and node.parent in before}
        left |= {uuid: replace(node, parent=kept[-1]) for uuid, node in cut_off.items()}
    return left, bool(kept)


def _piece(tree: Tree, head: str, tail: str) -> tuple[str, ...]:
    """Return the uuids from head to tail; empty if no path leads from one to the other."""
    uuids: dict[str, None] = {}
    node: Node | None = tree.get(tail)
    while node is not None and node.uuid not in uuids:
        uuids[node.uuid] = None
        if node.uuid == head:
            return tuple(reversed(uuids))
        node = tree.get(node.parent) if node.parent else None
    return ()


def _joined(tree: Tree, anchor: str | None, kept: tuple[str, ...]) -> Tree:
    """Link the kept messages behind the anchor; what followed the anchor follows the last of them."""
    parents = dict(zip(kept, (anchor, *kept), strict=False))
    joined = {}
    for uuid, node in tree.items():
        if uuid in parents:
            joined[uuid] = replace(node, parent=parents[uuid])
        elif anchor is not None and node.parent == anchor:
            joined[uuid] = replace(node, parent=kept[-1])
        else:
            joined[uuid] = node
    return joined


class _Branches:
    """Find what hangs beside a path at the replies on it. `behind` are decorations of single nodes of the path."""

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
        """Return stretches of the path (start, end) with their branches: a reply, and what still belongs to it."""
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
        while end < len(self._path):
            node = self._path[end]
            goes_on = node.kind == "assistant" and node.reply_id == reply
            if not (node.decorates or node.answers or goes_on):
                break
            end += 1
        if any(line.calls for line in lines):
            for node in (*lines, *answers):
                branches += self._decorations(node)
            for node in self._path[start + 1 : end]:
                if node.decorates and (more := self._decorations(node)):
                    self.behind[node.uuid] = more
        return start, end, branches

    def _decorations(self, node: Node) -> list[Node]:
        """Return the nodes that hang below a node in single file and lead to no message."""
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


class Ending(Struct, frozen=True):
    """The end of the conversation, as the file names it.

    `leaf` is the record that is named as the last one. If `is_explicit`, it is the last one even if others follow it:
    the user went back to it. If `is_cleared`, nothing is left.
    """

    leaf: str | None = None
    is_explicit: bool = False
    is_cleared: bool = False

    def after(self, value: Mapping[str, Any]) -> Ending:
        """Return what is known after one more record of the file."""
        if value.get("type") != "last-prompt":
            if self is NOTHING_NAMED:
                return self
            if value.get("isSidechain") is True or value.get("type") == "progress":
                return self
            return Ending(None if value.get("subtype") == "compact_boundary" else self.leaf)
        leaf, explicit = value.get("leafUuid"), value.get("explicit") is True
        if isinstance(leaf, str) and leaf:
            return Ending(leaf, explicit or (self.is_explicit and leaf == self.leaf))
        return Ending(is_cleared=True) if leaf is None and explicit and "leafUuid" in value else self


NOTHING_NAMED: Final = Ending()


def _last_message(tree: Mapping[str, Node], newest: Node, ending: Ending, *, is_joined: bool) -> Node | None:
    """Return the message that the conversation ends with; `newest` is the record that was written last.

    That is the newest one, unless a `last-prompt` names another branch. If preserved messages were joined to a boundary
    (`is_joined`), it is a leaf of the tree, and the name decides between leaves only.
    """
    named = ending.leaf if ending.leaf in tree else None
    if not is_joined or (named and ending.is_explicit):
        end = named
        if named and not ending.is_explicit and any(node.uuid == named for node in _upwards(tree, newest.uuid)):
            end = newest.uuid
        found = _message_above(tree, end or newest.uuid)
        if found:
            return found
    leaves = _leaves(tree)
    if len(leaves) > 1:
        found = _message_above(tree, named if named in leaves else newest.uuid)
        if found:
            return found
    main = (node for node in leaves.values() if node.is_sidechain is newest.is_sidechain)
    return max(main, key=lambda node: (node.time, node.record), default=None)


def _leaves(tree: Mapping[str, Node]) -> dict[str, Node]:
    """Return the messages that nothing continues except decorations."""
    continued = {node.parent for node in tree.values()}
    by_message = {node.parent for node in tree.values() if node.is_message}
    ends = (_message_above(tree, uuid) for uuid in tree if uuid not in continued)
    return {node.uuid: node for node in ends if node and node.uuid not in by_message}


def _message_above(tree: Mapping[str, Node], uuid: str) -> Node | None:
    return next((node for node in _upwards(tree, uuid) if node.is_message), None)


def _upwards(tree: Mapping[str, Node], uuid: str) -> Iterator[Node]:
    seen: set[str] = set()
    node = tree.get(uuid)
    while node is not None and node.uuid not in seen:
        yield node
        seen.add(node.uuid)
        node = tree.get(node.parent) if node.parent else None


def as_cut(lines: Sequence[TurnLine], notes: Mapping[int, Mapping[str, Any]]) -> list[TurnLine]:
    """Return the lines of a conversation without what its notes say was cut. `notes` are attachments by record."""
    stripped: set[int] = set()
    """Positions of the lines whose thinking is no longer sent."""
    for position, line in enumerate(lines):
        note = notes.get(line.node.record, {})
        if note.get("type") == "thinking_stripped":
            since = note.get("from")
            first = _position(lines[:position], since) if note.get("scope") != "all" and isinstance(since, dict) else 0
            stripped.update(range(first, position))
    cut = dict(stand_ins(notes[line.node.record] for line in lines if line.node.record in notes))
    found = []
    for position, line in enumerate(lines):
        is_stripped = position in stripped
        blocks = (block for block in line.blocks if not (is_stripped and block.kind is BlockKind.THINKING))
        found.append(replace(line, blocks=tuple(shortened(blocks, cut))))
    return found


def _position(lines: Sequence[TurnLine], since: Mapping[str, Any]) -> int:
    """Return the position of the line with that piece of thinking of a reply; 0 if there is none."""
    skipped = since.get("thinkingIndex")
    skipped = skipped if isinstance(skipped, int) else 0
    for position, line in enumerate(lines):
        if line.node.reply_id == since.get("messageId"):
            skipped -= sum(block.kind is BlockKind.THINKING for block in line.blocks)
            if skipped < 0:
                return position
    return 0


def stand_ins(notes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield ids of calls, and the texts that are sent instead of their results."""
    for note in notes:
        calls, text = (note.get("callIds"), note.get("standIn")) if isinstance(note, Mapping) else (None, None)
        if isinstance(calls, list) and isinstance(text, str):
            yield from ((call, text) for call in calls if isinstance(call, str))


def shortened(blocks: Iterable[Block], cut: Mapping[str, str]) -> Iterator[Block]:
    """Yield blocks with one short text in place of each result that was `cut`. Errors and short results stay."""
    whole: dict[object, list[Block]] = {}
    for block in blocks:
        whole.setdefault(block.owner if block.answers in cut else id(block), []).append(block)
    for parts in whole.values():
        first = parts[0]
        text = cut.get(first.answers or "")
        kinds = {part.kind for part in parts}
        is_result = kinds <= {BlockKind.TOOL_RESULT, BlockKind.IMAGE}
        length = sum(len(part.text) for part in parts) if is_result else 0
        if text is None or first.is_error or not (is_result and (BlockKind.IMAGE in kinds or length > len(text))):
            yield from parts
            continue
        place = Place(first.place.record, (*first.owner, "content"))
        # No pass can change what is sent in its place.
        yield Block(
            BlockKind.OPAQUE,
            place,
            first.owner,
            content=text,
            tool=first.tool,
            call_id=first.call_id,
            injected=True,
            is_readable=True,
        )


def is_stand_in(block: Block) -> bool:
    """Return whether the block is sent in place of a result that was cut."""
    return block.kind is BlockKind.OPAQUE and bool(block.answers) and block.place.path == (*block.owner, "content")


_BRIDGED: Final = 5.0
"""Seconds. A record whose parent is missing continues the record before it if that is no older than this."""

_TIME: Final = lazy_pattern(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d(?:\.\d+)?)Z")


def live_chain(nodes: Sequence[Node], ending: Ending = NOTHING_NAMED) -> list[Node]:
    """Return the nodes of the conversation in order.

    A file of nothing but a sub-agent's lines is that sub-agent's conversation; otherwise the conversation does not end
    in a sidechain.
    """
    written = _without_progress(nodes)
    main = [node for node in written if not node.is_sidechain] or written
    if not main or ending.is_cleared:
        return []
    tree, is_joined = {node.uuid: node for node in written}, False
    if any(node.is_boundary and node.preserved for node in tree.values()):
        tree, is_joined = _after_compaction(tree)
    last = _last_message(tree, main[-1], ending, is_joined=is_joined)
    if last is None:
        return []
    chain = _with_parallel_lines(_path(tree, last), tree)
    chain += _hanging_below(last, tree, {node.uuid for node in chain})
    start = max((position for position, node in enumerate(chain) if node.is_boundary), default=0)
    return chain[start:]


def _without_progress(nodes: Iterable[Node]) -> list[Node]:
    """Remove progress, which older clients linked into the tree: what hangs below continues what is above it."""
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
    """Return nodes sorted by time, as (seconds, -position, node); of one moment, the first of the file comes last."""
    timed = ((seconds_of(node.time), -position, node) for position, node in enumerate(nodes))
    return sorted((second, position, node) for second, position, node in timed if second is not None)


def _shortly_before(node: Node, in_time: list[tuple[float, int, Node]], seen: set[str]) -> Node | None:
    """Return the record that was written last before one whose parent is missing."""
    time = seconds_of(node.time)
    if time is None:
        return None
    for position in range(bisect_right(in_time, time, key=lambda timed: timed[0]) - 1, -1, -1):
        second, _, other = in_time[position]
        if time - second > _BRIDGED:
            return None
        if other.uuid not in seen and other.is_sidechain is node.is_sidechain:
            return other
    return None


def seconds_of(time: str) -> float | None:
    """Return a time that a record names in seconds since 1970, None for anything else."""
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

    Since version 2.1 a call's result hangs below that call, so the path runs through only one of the parallel branches.
    Lines of one `message.id` belong together, and so do their results, and what hooks said at each of them.
    """
    beside = _Branches(path, tree)
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
    """Return the attachments and notices below the last message that are not `taken` already."""
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
    return sorted(found, key=lambda node: node.time)
