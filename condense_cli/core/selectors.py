"""The one language for what is kept or cut: of flags, configurations and programs.

    34              message 34                    tool:WebFetch   calls and results of tools with that name
    -1              the last message              file:src/*.py   calls that name such a file, and their results
    12.0            the first block of message 12 /DECISION/      blocks whose text the regular expression finds
    40:80           messages 40 to 79             not:file:src/   all that the selector behind it does not mean
    last:20         the last 20 turns

A selector that means a call means its result as well. In names `*` stands for any characters. `passes.selection` finds
the blocks.
"""

from __future__ import annotations

import re
from typing import Final, assert_never

from msgspec import Struct

from .brief import brief, quoted
from .lazy_pattern import lazy_pattern
from .nearest import nearest
from .patterns import PatternError, searcher

KINDS: Final = ("tool", "file", "last", "not")
HOW: Final = "Write 34 (a message), 12.0 (a block of it), 40:80, last:20, tool:Bash, 'file:src/*.py' or /regex/."
_LONGEST: Final = 80
"""Characters of what may be a selector with a slip in it."""
_MESSAGE: Final = lazy_pattern(r"#?(-?\d{1,9})", re.ASCII)
_BLOCK: Final = lazy_pattern(r"#?(-?\d{1,9})\.(\d{1,9})", re.ASCII)
_RANGE: Final = lazy_pattern(r"([+-]?\d{1,9})?\s*:\s*([+-]?\d{1,9})?", re.ASCII)
_COUNT: Final = lazy_pattern(r"[1-9]\d{0,8}", re.ASCII)


class SelectorError(ValueError):
    """A text is no selector; `hint` says how one is written."""

    def __init__(self, message: str, hint: str = HOW) -> None:
        super().__init__(message)
        self.hint = hint


class OfMessage(Struct, frozen=True):
    """A message by its index; a negative one counts from the end."""

    index: int


class OfBlock(Struct, frozen=True):
    """A block by its message's index and its number in it."""

    index: int
    number: int


class OfRange(Struct, frozen=True):
    """Messages from `start` up to, not including, `end`, as Python slices."""

    start: int | None
    end: int | None


class OfLast(Struct, frozen=True):
    """The newest turns."""

    turns: int


class OfTool(Struct, frozen=True):
    """Calls and results of tools whose name matches a glob; case does not matter."""

    glob: str


class OfFile(Struct, frozen=True):
    """Calls that work on a file whose path, or the end of it, matches a glob. A folder means all in it."""

    glob: str


class OfText(Struct, frozen=True):
    """Blocks in whose text a regular expression is found."""

    pattern: str


class Except(Struct, frozen=True):
    """All that another selector does not mean."""

    inner: AnySelector


AnySelector = OfMessage | OfBlock | OfRange | OfLast | OfTool | OfFile | OfText | Except


def parse_selector(text: str) -> AnySelector:
    """The selector that is written so. Raises SelectorError."""
    text = text.strip()
    if len(text) > 2 and text[0] == text[-1] == "/":
        return _of_text(text[1:-1])
    if match := _MESSAGE.fullmatch(text):
        return OfMessage(int(match[1]))
    if match := _BLOCK.fullmatch(text):
        return OfBlock(int(match[1]), int(match[2]))
    if match := _RANGE.fullmatch(text):
        return _of_range(text, *(None if part is None else int(part) for part in match.groups()))
    kind, colon, rest = text.partition(":")
    kind, rest = kind.lower(), rest.strip()
    if colon and kind in KINDS and not rest:
        raise SelectorError(f"{text!r} names nothing.")
    match kind if colon else "":
        case "tool":
            return OfTool(rest)
        case "file":
            return OfFile(rest)
        case "last":
            if not _COUNT.fullmatch(rest):
                raise SelectorError(f"{quoted(text)} needs a number of turns.", "last:20 means the last 20 turns.")
            return OfLast(int(rest))
        case "not":
            return Except(parse_selector(rest))
        case _:
            raise SelectorError(f"{quoted(text)} is not a selector.", _hint(text, kind if colon else ""))


def written(selector: AnySelector) -> str:
    """The text that `parse_selector` reads as this selector."""
    match selector:
        case OfMessage(index):
            return str(index)
        case OfBlock(index, number):
            return f"{index}.{number}"
        case OfRange(start, end):
            return f"{'' if start is None else start}:{'' if end is None else end}"
        case OfLast(turns):
            return f"last:{turns}"
        case OfTool(glob):
            return f"tool:{glob}"
        case OfFile(glob):
            return f"file:{glob}"
        case OfText(pattern):
            return f"/{pattern}/"
        case Except(inner):
            return f"not:{written(inner)}"
        case other:
            assert_never(other)


def is_exact(selector: AnySelector) -> bool:
    """Whether it names a single message or block, and nothing that happens to match."""
    return isinstance(selector, OfMessage | OfBlock)


def _of_text(pattern: str) -> OfText:
    try:
        matches_all = searcher(pattern)("")
    except PatternError as error:
        raise SelectorError(f"{quoted(pattern)} is not a regular expression ({error}).", "") from None
    if matches_all:
        raise SelectorError(
            f"/{brief(pattern)}/ matches every text.", "Remove the parts that may match nothing, such as .* "
        )
    return OfText(pattern)


def _of_range(text: str, start: int | None, end: int | None) -> OfRange:
    is_same_side = start is not None and end is not None and (start < 0) == (end < 0)
    if end == 0 or (is_same_side and start is not None and end is not None and start >= end):
        raise SelectorError(f"{text!r} selects no message.", "The end is excluded: 4:9 is messages 4 to 8.")
    return OfRange(start, end)


def _hint(text: str, kind: str) -> str:
    """What was probably meant."""
    if len(text) > _LONGEST:
        return HOW
    near = nearest(kind, KINDS) if kind else None
    if near:
        return f"Did you mean {near}:{text.partition(':')[2]}?"
    if re.fullmatch(r"[\w*?-]*+[/\\.][\w*?./\\-]*+", text):
        return f"Did you mean file:{text}?"
    return f"Did you mean tool:{text}?" if re.fullmatch(r"[A-Za-z_]\w*", text) else HOW
