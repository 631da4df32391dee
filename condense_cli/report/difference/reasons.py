"""A diff of two transcripts with the reasons of lines; that of a run has its own (`facts.of_run`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ...core.markers import gaps_in
from ...core.tokens import Counter
from ...core.transcript import Block, Transcript
from ...passes.explained import Address, Lines, lines_between
from ...toolcalls import todos
from .facts import BlockDiff, Diff, What, changed_texts

_SEVERAL: Final = 2


def between(diff: Diff, before: Transcript, after: Transcript, count: Counter) -> Diff:
    """The diff of two transcripts with reasons, where the newer one looks as if lines were picked for it.

    That leaves several gaps in a text; a limit, which asks nothing of a line, leaves one.
    """
    if not any(map(_is_picked, diff.blocks)):
        return diff
    # A list of todos goes because a later call replaces it.
    cut = {
        id(block.old)
        for block in diff.blocks
        if block.what in (What.CUT, What.REMOVED) and block.old and block.new and not todos.path_of(block.old)
    }
    asked = {address for block, address in _places(before) if id(block) in cut}
    pairs = [(block.old, block.new) for block in diff.blocks]
    return _with_lines(diff, before, lines_between(before.messages, after.messages, pairs, asked, count))


def _with_lines(diff: Diff, before: Transcript, lines: Lines) -> Diff:
    found = {id(block): lines.get(address, ()) for block, address in _places(before)}
    return replace(
        diff, blocks=tuple(replace(block, lines=tuple(found.get(id(block.old), ()))) for block in diff.blocks)
    )


def _places(transcript: Transcript) -> Iterator[tuple[Block, Address]]:
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            yield block, (message.index, number)


def _is_picked(block: BlockDiff) -> bool:
    """Whether a text of a block has several gaps that it had not before."""
    if block.old is None or block.new is None or block.what is not What.CUT:
        return False
    texts = changed_texts(block.old, block.new)
    return any(len(gaps_in(after)) - len(gaps_in(before)) >= _SEVERAL for before, after in texts)
