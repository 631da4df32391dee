"""What has to follow when reasoning goes from a list of items.

The API links an item to the reasoning before it by their ids: "Item 'fc_…' of type 'function_call' was provided
without its required 'reasoning' item: 'rs_…'". An item without an id asks for none, and most need none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...core import json_text
from ...core.json_text import Style
from ...core.transcript import JsonPath, Transcript
from ...core.values import BlockKind, Role
from ..engine.base import Complete, RecordEdits, Values
from .responses_items import Item

NEED_IDS: Final = frozenset({
    "code_interpreter_call", "computer_call", "file_search_call", "image_generation_call", "item_reference",
    "local_shell_call", "mcp_approval_request", "mcp_call", "mcp_list_tools", "program", "program_output",
})  # fmt: skip
"""Items that the API takes with an id alone, by the types of its SDK. Codex sends searches and messages without."""

_Where = tuple[int, JsonPath]


def completing(item_path: Callable[[JsonPath], JsonPath]) -> Complete:
    """Take the ids from the items of the assistant that follow reasoning which went, up to anybody else's.

    `item_path` gives the path of the item that a path leads into.
    """

    def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: Style) -> None:
        dropped = {
            (block.place.record, item_path(block.owner))
            for block in transcript.removed
            if block.kind is BlockKind.THINKING
        }
        if not dropped:
            return
        speakers: dict[_Where, Role] = dict.fromkeys(dropped, Role.ASSISTANT)
        for message, block in transcript.blocks():
            speakers[block.place.record, item_path(block.owner)] = message.role
        values = Values(transcript.source)
        is_unpaired = False
        for where in sorted(speakers):
            is_unpaired = speakers[where] is Role.ASSISTANT and (is_unpaired or where in dropped)
            if is_unpaired and where not in dropped and _may_lose_id(Item(*where, values(*where))):
                edits[where[0]][*where[1], "id"] = json_text.REMOVE

    return complete


def _may_lose_id(item: Item) -> bool:
    """Whether the item has an id besides the one that links it with its output."""
    return item.kind not in NEED_IDS and item.value.get("id") not in (None, item.call_id)
