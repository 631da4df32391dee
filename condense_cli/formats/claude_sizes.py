"""What the bytes of a Claude Code session are for: most of a file may never reach the model."""

from __future__ import annotations

from typing import Final

from .. import jsontext
from ..transcript import JsonPath, Transcript
from .claude_display import KEY
from .claude_links import read_links

_CONTENT: Final[tuple[JsonPath, ...]] = (("message", "content"), ("attachment",), ("content",))
_MESSAGES: Final = frozenset({"user", "assistant", "attachment"})


def sizes(transcript: Transcript) -> dict[str, int]:
    """Bytes by what they are for; they add up to the file.

    `sent` content of the conversation, `display_copies` copies of tool results that only the client
    shows, `keys` everything else in these records (ids, times, usage), `not_live` messages of older
    branches, sub-agents and before the last compaction, `other_records` whole records that are no
    messages (snapshots, progress, summaries), `between` what separates the records.
    """
    source = transcript.source
    live = {block.place.record for _, block in transcript.blocks()}
    found = dict.fromkeys(("sent", "display_copies", "keys", "not_live", "other_records", "between"), 0)
    links = read_links(source)
    for record, (start, end) in enumerate(source.spans):
        size = end - start
        if record in live:
            text = jsontext.decode(source.raw(record))
            sent = sum(_size(text, path) for path in _CONTENT)
            display = _size(text, (KEY,)) if f'"{KEY}"' in text else 0
            found["sent"] += sent
            found["display_copies"] += display
            found["keys"] += size - sent - display
        else:
            is_message = record in links and links[record].type in _MESSAGES
            found["not_live" if is_message else "other_records"] += size
    found["between"] = len(source.data) - sum(found.values())
    return found


def _size(text: str, path: JsonPath) -> int:
    """Bytes of the value at a path of a JSON text; 0 where there is none."""
    try:
        without = jsontext.splice(text, {path: ""})
    except KeyError:
        return 0
    return len(jsontext.encode(text)) - len(jsontext.encode(without))
