"""What a block is called in reports, and how a person reads it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...core.transcript import Block
from ...core.values import BlockKind, Role
from ...toolcalls.tools import main_argument, readable_arguments

_OPERATIONS: Final = {
    "drop": "removed",
    "extract": "cut",
    "keep": "kept",
    "merge": "merged",
    "refer": "reference",
    "remove": "removed",
    "summarize": "summarized",
    "suppress": "removed",
    "truncate": "truncated",
}
"""A cut is truncated, removed or summarized where it is no choice of lines; a reference is none."""
_BEGINNING: Final = 200
"""Characters of a text that may serve as its label."""


def call_label(block: Block, calls: Mapping[str, Block]) -> str:
    """Tool and main argument of a call, or of the call that a result answers; the type if it is opaque; or nothing."""
    call = block if block.kind is BlockKind.TOOL_CALL else calls.get(block.answers or "")
    if call is None:
        return block.tool or ("" if block.is_readable else block.api_type)
    return f"{call.tool} {main_argument(call)}".strip()


def block_label(block: Block, calls: Mapping[str, Block]) -> str:
    """One line that tells which block it is: its call, or how its text begins."""
    label = call_label(block, calls) or block.text
    return " ".join(label[: 2 * _BEGINNING].split())[:_BEGINNING]


def kind_label(block: Block, role: Role | None) -> str:
    """What a block is, with who wrote it: user text, client text, tool result; the kind alone without a message."""
    kind = block.kind.value.replace("_", " ")
    if role is None or kind.startswith("tool"):
        return kind
    return f"client {kind}" if block.injected else f"{role.value} {kind}"


def operation_label(operation: str) -> str:
    """What people call an operation."""
    return _OPERATIONS.get(operation, operation)


def readable(block: Block) -> str:
    """The block's content as a person reads it."""
    return readable_arguments(block) if block.kind is BlockKind.TOOL_CALL else block.text
