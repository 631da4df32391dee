"""The records of a Claude Code session as a tree: each names its parent, and the newest of the branches is alive."""

from __future__ import annotations

from msgspec import Struct


class Preserved(Struct, frozen=True):
    """Messages that a boundary keeps: `anchor` is the record that they follow.

    Either their `uuids` in order or, in older files, the first and the last of a piece of the chain.
    """

    anchor: str | None
    uuids: tuple[str, ...] = ()
    head: str = ""
    tail: str = ""


class Node(Struct, frozen=True):
    """One record of the tree, reduced to what decides its place.

    `time` is an ISO time stamp, empty where the record has none. `reply_id` is the API message of an
    assistant line; `calls` and `answers` are tool ids; `preserved` is what a compact boundary keeps.
    What `decorates` goes along with a message: an attachment, a notice, or what the client says in the user's name.
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
    is_message: bool = False
    decorates: bool = False


Tree = dict[str, Node]
"""Nodes by uuid. One that was written again stands where it was first, as it was written last."""
