"""Whether what is written reads back as what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from ..transcript import TEXT_CALL, Block, Transcript
from . import parse


def reads_back(data: bytes, meant: Transcript) -> bool:
    """Whether the bytes say the same. Block by block: the texts of two transcripts take more memory than both files."""
    written = parse(data, format=meant.format, lenient=bool(meant.source.unparsed))
    return all(
        one is not None and other is not None and one[1:] == other[1:] and one[0].reads_as(other[0])
        for one, other in zip_longest(_contents(written), _contents(meant))
    )


def _contents(transcript: Transcript) -> Iterator[tuple[Block, *tuple[Any, ...]]]:
    made_up: dict[str, int] = {}
    for message, block in transcript.blocks():
        id = block.call_id
        # Ids that a reader makes up are numbers, which move when calls before them went.
        call = made_up.setdefault(id, len(made_up)) if id and id.startswith(TEXT_CALL) else id
        yield block, message.role, block.kind, block.tool, call, block.is_error, block.estimate
