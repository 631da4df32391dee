"""What a compaction of Claude Code leaves of the records before it.

A compact boundary may name messages that stay: they are not written again, the client links them
anew when it reads the file. Everything else before the boundary is no longer part of the conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from .tree import Node, Preserved, Tree


def preserved(metadata: Any) -> Preserved | None:
    """What the `compactMetadata` of a boundary keeps."""
    if not isinstance(metadata, Mapping):
        return None
    listed, piece = metadata.get("preservedMessages"), metadata.get("preservedSegment")
    if isinstance(listed, Mapping) and isinstance(listed.get("uuids"), list):
        return Preserved(_uuid(listed.get("anchorUuid")), tuple(map(str, listed["uuids"])))
    if isinstance(piece, Mapping):
        head, tail = str(piece.get("headUuid")), str(piece.get("tailUuid"))
        return Preserved(_uuid(piece.get("anchorUuid")), head=head, tail=tail)
    return None


def _uuid(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def after_compaction(tree: Tree) -> tuple[Tree, bool]:
    """The tree without what the last boundary cut off, and whether preserved messages were joined to it.

    Only for a tree of which some boundary preserves anything: any other conversation begins at the last boundary on
    its path. A list that names a missing record is void.
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
    """The uuids from head to tail, or none where no path leads from one to the other."""
    uuids: dict[str, None] = {}
    node: Node | None = tree.get(tail)
    while node is not None and node.uuid not in uuids:
        uuids[node.uuid] = None
        if node.uuid == head:
            return tuple(reversed(uuids))
        node = tree.get(node.parent) if node.parent else None
    return ()


def _joined(tree: Tree, anchor: str | None, kept: tuple[str, ...]) -> Tree:
    """The kept messages follow the anchor one by one; what followed the anchor follows the last of them."""
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
