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
