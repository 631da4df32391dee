"""The user's own words in a conversation, word for word, without what is pasted in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.markers import parse_summary
from ..core.transcript import Message
from ..core.values import BlockKind
from ..extractive.answers import own_units, pasted_units, words_in
from ..extractive.units import render, split
from ..ledger.collect import merge_all
from ..ledger.entries import Ledger, UserRequest
from ..ledger.written import parse
from .fence import fenced_data, holds_recap


def words_of(messages: Sequence[Message]) -> tuple[UserRequest, ...]:
    """What the user wrote, oldest first, and how often. Pasted is what `own_units` says; a marker is in its place.

    Words of earlier messages count where a summary of ours quotes them. What a model wrote as a summary quotes nobody.
    """
    own = own_units(messages)
    said: list[Ledger] = [*_quoted(messages)]
    for (position, number), units in sorted(own.items()):
        block = messages[position].blocks[number]
        if block.kind is BlockKind.TOOL_RESULT:
            text = words_in(block)
        else:
            text = _without_pasted(block.text, units)
        if text.strip():
            said.append(Ledger(requests=(UserRequest(text.strip("\n")),)))
    return merge_all(said).requests


def _quoted(messages: Sequence[Message]) -> Iterator[Ledger]:
    for message in messages:
        for block in message.blocks:
            if block.summarizes and parse_summary(block.text):
                found = parse(block.text)
                if found is not None:
                    yield Ledger(requests=found.requests)


def _without_pasted(text: str, own: Sequence[int] | None) -> str:
    """What of a text is the user's own, None being all of it; the data of a recap that it holds is pasted as well."""
    if holds_recap(text):
        lines = text.split("\n")
        data = {*fenced_data(lines)}
        text = "\n".join(line for number, line in enumerate(lines) if number not in data)
        pasted = pasted_units(split(text))
        own = [unit for unit in range(len(split(text).texts)) if unit not in pasted]
    if own is None:
        return text
    units = split(text)
    kept = bytearray(len(units.texts))
    for unit in own:
        kept[unit] = 1
    return render(units, kept) if any(kept) else ""
