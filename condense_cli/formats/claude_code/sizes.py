"""What the bytes of a Claude Code session are for: most of a file may never reach the model."""

from __future__ import annotations

from typing import Final

from ...core import json_text
from ...core.transcript import JsonPath, Source, Transcript
from .display import KEY
from .kinds import OVERHEAD, REPLAY, SENT
from .links import Links, read_links

_CONTENT: Final[tuple[JsonPath, ...]] = (("message", "content"), ("attachment",), ("content",))
_FOR: Final = ("sent", "display_copies", "keys", "not_live", "prompt", "request_copies", "other_records", "between")


def sizes(transcript: Transcript) -> dict[str, int]:
    """Bytes by what they are for; they add up to the file.

    `sent` content of the conversation, `display_copies` copies of tool results that only the client
    shows, `keys` everything else in these records (ids, times, usage), `not_live` messages of older
    branches, sub-agents and before the last compaction, `prompt` the system prompt and tools,
    `request_copies` requests written once more, `other_records` whole records that are no messages
    (snapshots, progress, summaries), `between` what separates the records.
    """
    source = transcript.source
    live = {block.place.record for _, block in transcript.blocks()}
    found = dict.fromkeys(_FOR, 0)
    links = read_links(source)
    for record, (start, end) in enumerate(source.spans):
        size = end - start
        if record in live:
            text = json_text.decode(source.raw(record))
            sent = sum(_size(text, path) for path in _CONTENT)
            display = _size(text, (KEY,)) if f'"{KEY}"' in text else 0
            found["sent"] += sent
            found["display_copies"] += display
            found["keys"] += size - sent - display
        else:
            found[_aside(source, record, links.get(record, Links()))] += size
    found["between"] = len(source.data) - sum(found.values())
    return found


def _aside(source: Source, record: int, links: Links) -> str:
    """What a record is for that is not sent."""
    if links.type in REPLAY:
        return "request_copies"
    if links.type == "attachment":
        value = json_text.parse(source.raw(record))
        attachment = value.get("attachment")
        kind = str(attachment.get("type")) if isinstance(attachment, dict) else ""
        if kind in OVERHEAD:
            return "prompt"
        return "not_live" if "rendered" in value or kind in SENT else "other_records"
    return "not_live" if links.type in ("user", "assistant") else "other_records"


def _size(text: str, path: JsonPath) -> int:
    """Bytes of the value at a path of a JSON text; 0 where there is none."""
    try:
        without = json_text.splice(text, {path: ""})
    except KeyError:
        return 0
    return len(json_text.encode(text)) - len(json_text.encode(without))
