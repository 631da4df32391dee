"""Whether what is written reads back as what was meant, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from msgspec import Struct

from ..core.transcript import TEXT_CALL, Block, Transcript
from ..core.values import BlockKind, Role
from . import parse

_Content = tuple[Block, Role, BlockKind, str | None, str | int | None, bool, int]
"""A block, and what is compared besides its text."""


class Difference(Struct, frozen=True):
    """A block that would read as something else: the index of its message, its record, and what is wrong with it."""

    message: int
    record: int
    said: str


def reads_back(data: bytes, meant: Transcript) -> bool:
    """Whether the bytes say the same. Block by block: the texts of two transcripts take more memory than both files."""
    return next(_unequal(_read(data, meant), meant), None) is None


def differences(data: bytes, meant: Transcript) -> tuple[Difference, Difference] | None:
    """The first and the last block that the bytes do not say; None where they say the same."""
    written = _read(data, meant)
    first = next(_unequal(written, meant), None)
    if first is None:
        return None
    pairs = zip_longest(*(reversed(list(_contents(each, numbered=False))) for each in (written, meant)))
    last = next(((one, other) for one, other in pairs if not _is_same(one, other)), first)
    (one, other), (late, latest) = first, last
    return _difference(one, other, meant), _difference(late, latest, meant)


def _read(data: bytes, meant: Transcript) -> Transcript:
    return parse(data, format=meant.format, lenient=bool(meant.source.unparsed), is_own=True)


def _unequal(written: Transcript, meant: Transcript) -> Iterator[tuple[_Content | None, _Content | None]]:
    for one, other in zip_longest(_contents(written), _contents(meant)):
        if not _is_same(one, other):
            yield one, other


def _is_same(one: _Content | None, other: _Content | None) -> bool:
    return one is not None and other is not None and one[1:] == other[1:] and one[0].reads_as(other[0])


def _contents(transcript: Transcript, *, numbered: bool = True) -> Iterator[_Content]:
    """The blocks in order. Ids that a reader makes up are numbers, which move when calls before them went."""
    made_up: dict[str, int] = {}
    for message, block in transcript.blocks():
        call: str | int | None = block.call_id
        if isinstance(call, str) and call.startswith(TEXT_CALL):
            call = made_up.setdefault(call, len(made_up)) if numbered else -1
        yield block, message.role, block.kind, block.tool, call, block.is_error, block.estimate


def _difference(written: _Content | None, meant: _Content | None, transcript: Transcript) -> Difference:
    what, read = _named(meant), _named(written)
    if meant is None:
        *_, (message, block) = transcript.blocks()
        return Difference(message.index, block.place.record, f"{read} would follow it")
    block = meant[0]
    if written is None:
        wrong = "would be missing"
    elif read != what:
        wrong = f"would read as {read}"
    else:
        wrong = "would read differently" if written[1:] == meant[1:] else "would belong to another call"
    index = next(message.index for message, other in transcript.blocks() if other is block)
    return Difference(index, block.place.record, f"{what} {wrong}")


def _named(content: _Content | None) -> str:
    """What a block is, in words."""
    if content is None:
        return "nothing"
    block, role, *_ = content
    if block.kind is BlockKind.TOOL_CALL or block.answers:
        return f"{'a call' if block.kind is BlockKind.TOOL_CALL else 'a result'} of {block.tool or 'an unknown tool'}"
    return f"{_KINDS.get(block.kind, 'a part')} of the {role.value}"


_KINDS = {BlockKind.TEXT: "a text", BlockKind.THINKING: "thinking", BlockKind.IMAGE: "an image"}
