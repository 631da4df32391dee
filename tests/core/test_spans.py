"""Blocks that are parts of one string are written back each in its place, in whatever order they come."""

import json

import pytest
from msgspec.structs import replace

from condense_cli import api, formats
from condense_cli.core.transcript import Transcript

RESULTS = "".join(f"[read_file for 'src/{number}.py'] Result:\nthe text of {number}\n\n" for number in range(3))
HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nRead them.\n</task>"}], "ts": 1},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "<read_file>\n<path>src/0.py</path>\n</read_file>"}],
        "ts": 2,
    },
    {"role": "user", "content": [{"type": "text", "text": RESULTS}], "ts": 3},
]


def rewritten(transcript: Transcript, order: int) -> Transcript:
    """The last message with its parts in capital letters."""
    *others, last = transcript.messages
    blocks = [block.with_text(block.text.upper()) for block in last.blocks]
    return replace(transcript, messages=(*others, replace(last, blocks=tuple(blocks[::order]))))


@pytest.mark.parametrize("order", [1, -1])
def test_parts_keep_their_places(order: int) -> None:
    transcript = api.loads(json.dumps(HISTORY), format="roo")
    last = transcript.messages[-1]
    assert len([block for block in last.blocks if block.span]) > 1
    expected = RESULTS
    for block in last.blocks:
        expected = expected.replace(block.text, block.text.upper())
    written = json.loads(formats.serialize(rewritten(transcript, order)))
    assert written[-1]["content"][0]["text"] == expected != RESULTS
    assert written[:-1] == HISTORY[:-1]
