"""Files that were read and not edited since: what later edits have to match is most often there.

An agent reads several files, and edits each of them twenty turns later. Whatever is cut from such a read in between has
to be read again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..config.models import IndexRange, Predicates
from ..core.transcript import BlockKind, Message
from ..toolcalls.tools import patched_paths, path_argument, reads_a_file, writes_a_file


def pins_of(messages: Sequence[Message], begin: int, end: int, turns: int) -> Iterator[Predicates]:
    """Pins for the results of messages[begin:end] that show a file as it still is, as far as the calls tell.

    Of each file it is the newest read, if it is no older than so many messages.
    """
    for position in _newest_reads(messages):
        if begin <= position < end and len(messages) - position <= turns:
            index = messages[position].index
            yield Predicates(range=IndexRange(start=index, end=index + 1))


def _newest_reads(messages: Sequence[Message]) -> Iterator[int]:
    """The positions of results with the newest read of each file that no call has written to since."""
    reads: dict[str, str] = {}
    answers: dict[str, int] = {}
    for position, message in enumerate(messages):
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_RESULT:
                answers[block.answers or ""] = position
            elif block.kind is BlockKind.TOOL_CALL:
                path = path_argument(block)
                patched = patched_paths(block)
                if writes_a_file(block) or patched:
                    for written in (path, *patched):
                        reads.pop(written or "", None)
                elif path is not None and reads_a_file(block):
                    reads[path] = block.call_id or ""
    yield from sorted({answers[call] for call in reads.values() if call in answers})
