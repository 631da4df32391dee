"""Content that stands earlier in the transcript already: whole blocks, images among them, and lines of other blocks.

Only exact repeats count. Every line is looked at once, so the work grows with the size alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from ...core.tokens import Counter
from ...core.transcript import Block, Transcript
from ...core.values import BlockKind
from ...toolcalls.tools import arguments_of, string_values

SHORTEST: Final = 20
"""Shorter lines and blocks (brackets, `return None`, "ok") repeat without meaning anything."""


class RepeatedText(Struct, frozen=True):
    """What a block repeats. `first` is the position of the earlier block that it equals, if it does as a whole."""

    message: int
    block: int
    tokens: int
    lines: int
    first: tuple[int, int] | None = None


def find_repeats(transcript: Transcript, count: Counter) -> list[RepeatedText]:
    """Every block that repeats something, in order. Tokens never exceed what the block costs."""
    blocks: dict[tuple[str | None, str, str], tuple[int, int]] = {}
    lines: set[str] = set()
    found: list[RepeatedText] = []
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            digest = block.digest if block.kind is BlockKind.IMAGE else ""
            if len(block.text) < SHORTEST and not digest:
                continue
            first = blocks.setdefault((_tool(block), block.text, digest), (message.index, number))
            if first != (message.index, number):
                size = 0 if digest else block.text.count("\n") + 1
                tokens = block.estimate if digest else count.block(block) - block.estimate
                found.append(RepeatedText(message.index, number, tokens, size, first))
                continue
            runs = list(_repeated_runs(block, lines))
            if runs:
                tokens = min(sum(count("\n".join(run)) for run in runs), count(block.text))
                found.append(RepeatedText(message.index, number, tokens, sum(map(len, runs))))
    return found


def _tool(block: Block) -> str | None:
    """Calls are equal when tool and arguments are; results may come from anywhere."""
    return block.tool if block.kind is BlockKind.TOOL_CALL else None


def _repeated_runs(block: Block, known: set[str]) -> Iterator[list[str]]:
    """Neighbouring lines of a block that are known already. Its own lines are known from then on."""
    for text in _texts(block):
        run: list[str] = []
        for line in text.split("\n"):
            if len(line.strip()) >= SHORTEST:
                if line in known:
                    run.append(line)
                    continue
                known.add(line)
            if run:
                yield run
                run = []
        if run:
            yield run


def _texts(block: Block) -> list[str]:
    """The texts whose lines a model reads: of a call the string values, where line breaks are not escaped."""
    if block.kind is BlockKind.TOOL_CALL:
        arguments = arguments_of(block)
        if arguments is not None:
            return [value for _, value in string_values(arguments)]
    return [block.text]
