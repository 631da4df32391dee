"""Where the conversation of a Claude Code session ends, when its tree has several branches.

The client notes the last message of the branch that it worked on in `last-prompt` records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from .tree import Node


class Ending(Struct, frozen=True):
    """What the file says about its own end.

    `leaf` is a record that is named as the last one; `is_explicit` that it is the last one even where
    others follow it (the user went back to it); `is_cleared` that nothing is left.
    """

    leaf: str | None = None
    is_explicit: bool = False
    is_cleared: bool = False

    def after(self, value: Mapping[str, Any]) -> Ending:
        """What is known after one more record of the file."""
        if value.get("type") != "last-prompt":
            if value.get("isSidechain") is True or value.get("type") == "progress":
                return self
            return Ending(None if value.get("subtype") == "compact_boundary" else self.leaf)
        leaf, explicit = value.get("leafUuid"), value.get("explicit") is True
        if isinstance(leaf, str) and leaf:
            return Ending(leaf, explicit or (self.is_explicit and leaf == self.leaf))
        return Ending(is_cleared=True) if leaf is None and explicit and "leafUuid" in value else self


NOTHING_NAMED: Final = Ending()


def last_message(tree: Mapping[str, Node], newest: Node, ending: Ending, *, is_joined: bool) -> Node | None:
    """The message that the conversation ends with; `newest` is the record that was written last.

    That is the newest one, unless a `last-prompt` names another branch. Where preserved messages were
    joined to a boundary (`is_joined`), it is a leaf of the tree, and the name decides between leaves only.
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
    """Messages that nothing continues, but for what decorates them."""
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
