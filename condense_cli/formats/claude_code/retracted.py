"""Messages that Claude Code took back: after a refusal another model answered, and the first answer does not count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from .tree import Node

SUBTYPE: Final = "model_refusal_fallback"
_KNOWN_BY: Final = 24
"""Characters of a uuid that the client compares."""


def uuids(value: Mapping[str, Any]) -> set[str]:
    """Beginnings of the uuids that a record of this subtype takes back."""
    named = value.get("retractedMessageUuids") if value.get("type") == "system" else None
    return {uuid[:_KNOWN_BY] for uuid in named if isinstance(uuid, str)} if isinstance(named, list) else set()


def without(chain: Iterable[Node], retracted: set[str]) -> list[Node]:
    return [node for node in chain if node.kind == "system" or node.uuid[:_KNOWN_BY] not in retracted]
