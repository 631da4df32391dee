"""What has to follow when reasoning goes from a Codex rollout.

The API links an item to the reasoning before it by their ids: "Item 'fc_…' of type 'function_call' was provided
without its required 'reasoning' item: 'rs_…'". An item without an id asks for none, and the client needs none.
"""

from __future__ import annotations

from .. import jsontext
from ..jsontext import Style
from ..transcript import BlockKind, JsonPath, Role, Transcript
from .base import RecordEdits, Values
from .codex_history import Item, is_replaced, item_path

_Where = tuple[int, JsonPath]


def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: Style) -> None:
    """Take the ids from the items of the assistant that follow reasoning which went, up to anybody else's."""
    dropped = {
        (block.place.record, item_path(block.owner)) for block in transcript.removed if block.kind is BlockKind.THINKING
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
        if is_unpaired and where not in dropped and _has_id(Item(*where, values(*where))):
            edits[where[0]][*where[1], "id"] = jsontext.REMOVE


def _has_id(item: Item) -> bool:
    """Whether the item has an id besides the one that links it with its output."""
    return item.value.get("id") not in (None, item.call_id)


def fixed(transcript: Transcript) -> frozenset[int]:
    """The record of the compaction: without it the client would send what the compaction replaced."""
    places = [block.place for _, block in transcript.blocks()] + [block.place for block in transcript.removed]
    return frozenset(place.record for place in places if is_replaced(place.path) or place.path[1:] == ("message",))
