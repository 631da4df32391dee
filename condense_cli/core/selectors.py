"""Parse selectors: the one language for what is kept or cut, in flags, configurations and programs.

    34              message 34                    tool:WebFetch   calls and results of tools with that name
    -1              the last message              file:src/*.py   calls that name such a file, and their results
    12.0            the first block of message 12 /DECISION/      blocks whose text the regular expression finds
    40:80           messages 40 to 79             not:file:src/   everything that the rest does not select
    last:20         the last 20 turns

A selector that matches a call includes its result. In names `*` matches any characters. `passes.selection` applies
selectors.

The package `regex` runs user patterns: it accepts all that `re` accepts, lookarounds and back references included, and
has time limits, which `re` lacks. An engine without backtracking (RE2) would need no limit, but its package has no
wheel for Alpine and supports neither. The price of a limit: a slow pattern fails sooner on a slow machine. It never
changes the output.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, Final, assert_never

from msgspec import Struct

from ..errors import ConfigurationError
from .lazy_pattern import lazy_pattern
from .wording import brief, nearest, quoted

_SECONDS: Final = 5.0
"""Processor seconds that all searches of a process may take beyond their rate."""
_RATE: Final = 0.5e-6
"""Seconds allowed per character of text. Slow patterns take a tenth of it, most a hundredth."""
_LONGEST_PATTERN: Final = 10_000
_LARGEST: Final = 1_000_000
"""Maximum characters of a pattern with counted repetitions written out, since reading it takes that long."""
_VERBOSE: Final = lazy_pattern(r"\(\?[a-zA-Z]*x")
_COUNTED: Final = lazy_pattern(r"(\)\s*+)?\{(\d*+)(?:,(\d*+))?\}")
_HINT: Final = "Avoid nested repetition: write .*= instead of (.*)*=."

_left = _SECONDS
"""Remaining part of _SECONDS, shared by all patterns: a file may have many that are slow, but not too slow."""


class PatternError(ValueError):
    """Not a regular expression, or one that takes too long to read."""


def searcher(pattern: str) -> Callable[[str], bool]:
    """Return a function that searches text for a pattern. Raises PatternError.

    The returned function raises ConfigurationError if a search takes too long.
    """
    compiled = _compiled(pattern)

    def search(text: str) -> bool:
        global _left
        allowed = _left + len(text) * _RATE
        started = time.process_time()
        try:
            found = compiled.search(text, timeout=allowed) is not None
        except TimeoutError:
            _left = _SECONDS
            raise ConfigurationError(
                f"The pattern {quoted(pattern)} takes too long; it was stopped in a text of {len(text):,} characters.",
                _HINT,
            ) from None
        _left = max(0.0, min(_SECONDS, allowed - (time.process_time() - started)))
        return found

    return search


def check(pattern: str) -> None:
    """Raise PatternError if the pattern is invalid."""
    _compiled(pattern)


def _compiled(pattern: str) -> Any:
    """Compile with the package `regex`, which has no types. Raises PatternError."""
    if len(pattern) > _LONGEST_PATTERN:
        raise PatternError(f"it has {len(pattern):,} characters, and {_LONGEST_PATTERN:,} is the limit")
    if _written_out(pattern) > _LARGEST:
        raise PatternError("it has too many nested counted repetitions")
    import regex  # Takes 20 ms, and most runs have no pattern.

    try:
        re.compile(pattern)  # People know its error messages.
        return regex.compile(pattern)
    except (re.error, regex.error, OverflowError) as error:
        raise PatternError(str(error)) from None
    except RecursionError:
        raise PatternError("it is nested too deeply") from None


def _written_out(pattern: str) -> int:
    """Estimate an upper bound of the characters without counted repetitions: a group may hold all that precedes it."""
    times = 1
    is_verbose = _VERBOSE.search(pattern) is not None  # Then comments may hide a repeated group.
    for group, least, most in _COUNTED.findall(pattern):
        count = max(int(number or 1) for number in (least, most))
        times = times * count if group or is_verbose else max(times, count)
    return times * len(pattern)


KINDS: Final = ("tool", "file", "last", "not")
HOW: Final = "Write 34 (a message), 12.0 (a block of it), 40:80, last:20, tool:Bash, 'file:src/*.py' or /regex/."
_LONGEST_SELECTOR: Final = 80
"""Maximum characters of a text that may be a mistyped selector."""
_MESSAGE: Final = lazy_pattern(r"#?(-?\d{1,9})", re.ASCII)
_BLOCK: Final = lazy_pattern(r"#?(-?\d{1,9})\.(\d{1,9})", re.ASCII)
_RANGE: Final = lazy_pattern(r"([+-]?\d{1,9})?\s*:\s*([+-]?\d{1,9})?", re.ASCII)
_COUNT: Final = lazy_pattern(r"[1-9]\d{0,8}", re.ASCII)


class SelectorError(ValueError):
    """Not a selector; `hint` says how to write one."""

    def __init__(self, message: str, hint: str = HOW) -> None:
        super().__init__(message)
        self.hint = hint


class OfMessage(Struct, frozen=True):
    """A message by index; negative ones count from the end."""

    index: int


class OfBlock(Struct, frozen=True):
    """A block by the message's index and its number in the message."""

    index: int
    number: int


class OfRange(Struct, frozen=True):
    """Messages from `start` up to, not including, `end`, as in Python slices."""

    start: int | None
    end: int | None


class OfLast(Struct, frozen=True):
    """The newest turns."""

    turns: int


class OfTool(Struct, frozen=True):
    """Calls and results of tools whose name matches a glob, ignoring case."""

    glob: str


class OfFile(Struct, frozen=True):
    """Calls on a file whose path, or the end of it, matches a glob. A folder includes its files."""

    glob: str


class OfText(Struct, frozen=True):
    """Blocks in whose text a regular expression is found."""

    pattern: str


class Except(Struct, frozen=True):
    """Everything that another selector does not match."""

    inner: AnySelector


AnySelector = OfMessage | OfBlock | OfRange | OfLast | OfTool | OfFile | OfText | Except


def parse_selector(text: str) -> AnySelector:
    """Parse a selector. Raises SelectorError."""
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
    """Format a selector so that `parse_selector` reads it."""
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
    """Return whether a selector names a single message or block."""
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
    """Guess the intended selector."""
    if len(text) > _LONGEST_SELECTOR:
        return HOW
    near = nearest(kind, KINDS) if kind else None
    if near:
        return f"Did you mean {near}:{text.partition(':')[2]}?"
    if re.fullmatch(r"[\w*?-]*+[/\\.][\w*?./\\-]*+", text):
        return f"Did you mean file:{text}?"
    return f"Did you mean tool:{text}?" if re.fullmatch(r"[A-Za-z_]\w*", text) else HOW
