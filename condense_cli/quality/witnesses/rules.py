"""Rules: the user's own sentences that still stand word for word.

Asked is every sentence of at least 8 characters that a person typed before the cut, without what was pasted. It stands
where the same sentence is in a text of the condensed form, in a result where the user answers, or in a request that a
ledger quotes. The end of a line ends a sentence, and several blanks count as one. It does not see whether a sentence
still matters, nor one in other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

from ...core.transcript import Block, Message
from ...core.values import BlockKind
from ...extractive.answers import own_units, words_in
from ...extractive.units import split
from ..touched import ledgers_in

_SHORTEST: Final = 8
"""Shorter ones, such as "Yes." or "Go on.", are no rules, and stand everywhere."""

_WORDS: Final = (BlockKind.TEXT, BlockKind.OPAQUE)
"""Kinds of blocks that can hold what was typed: a prompt that waited in a queue is no text block."""

_END: Final = re.compile(r"(?<=[.!?])[\"')\]]*\s+|(?<=[。！？])|\n+")


class Rules:
    """The sentences that a person typed in messages."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.asked = frozenset(sentence for text in _typed(messages) for sentence in sentences(text))

    def __call__(self, kept: Sequence[Message]) -> float | None:
        """The share that stands in other messages; None where nobody typed any."""
        if not self.asked:
            return None
        texts = (_said(block) for message in kept for block in message.blocks)
        quoted = (request.text for ledger in ledgers_in(kept) for request in ledger.requests)
        standing = {sentence for text in chain(texts, quoted) for sentence in sentences(text)}
        return len(self.asked & standing) / len(self.asked)


def sentences(text: str) -> Iterator[str]:
    for part in _END.split(text):
        sentence = " ".join(part.split())
        if len(sentence) >= _SHORTEST:
            yield sentence


def _said(block: Block) -> str:
    return block.text if block.kind in _WORDS else words_in(block)


def _typed(messages: Sequence[Message]) -> Iterator[str]:
    """What was typed, without what is pasted in it, and in a result without the client's own words around it."""
    for (position, number), own in own_units(messages).items():
        block = messages[position].blocks[number]
        text = block.text
        if block.kind is BlockKind.TOOL_RESULT:
            yield words_in(block)
        elif own is None:
            yield text
        else:
            units = split(text).texts
            yield from (units[unit] for unit in own)
