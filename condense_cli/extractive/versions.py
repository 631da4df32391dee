"""Track the newest known state of each file, line by line: what a later edit may have to match."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from enum import IntEnum
from itertools import accumulate
from math import log2
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message
from ..toolcalls import tools
from ..toolcalls.outcomes import Results, calls_with_results
from .likelihood import doublings
from .parts import Key, Part

ERROR: Final = lazy_pattern(
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic|traceback|assert(?:ion)?|denied|not found|cannot)\b|^E  "
)
_ERRORS: Final = (
    "error", "exception", "fail", "fatal", "panic", "traceback", "assert", "denied", "not found", "cannot",
)  # fmt: skip
"""Small letters of what `ERROR` finds in a line, but for what it finds at the beginning."""

_ALSO_LETTERS: Final = "ſıİ\u212a"
"""Patterns that ignore case take these for letters of ASCII: in lines with one `ERROR` may find something else."""


def tells_an_error(line: str) -> bool:
    """Whether `ERROR` is found in the line. Most have none of its words: that is known sooner."""
    return bool(_with_words([line])) and ERROR.search(line) is not None


DEFINITION: Final = lazy_pattern(
    r"\s*(?:export |default |async |public |private |protected |static |pub |abstract )*"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module)\s+\w"
)
DECISION: Final = lazy_pattern(
    r"(?i)\b(?:decid|instead|because|root cause|the (?:problem|issue|bug|reason|fix)|must|should|never|always"
    r"|need to|turns out|found|fixed|important|note that|remember|todo|next step|conclusion|summary)"
)


class Kind(IntEnum):
    """Kinds of lines by their words alone; one that tells an error is nothing else."""

    BLANK = 0
    PLAIN = 1
    ERROR = 2
    DEFINITION = 3


def kinds_of(lines: Sequence[str]) -> Iterator[Kind]:
    """The kinds of all lines of a text, which is looked through at once: what tells an error is in few of them."""
    blank, plain, error, definition = Kind  # A member takes a while to look up.
    maybe = _with_words(lines)
    for number, line in enumerate(lines):
        if not line or line.isspace():
            yield blank
        elif number in maybe and ERROR.search(line):
            yield error
        else:
            yield definition if DEFINITION.match(line) else plain


def _with_words(lines: Sequence[str]) -> Set[int]:
    """The numbers of the lines in which `ERROR` may be found."""
    together = "\n".join(lines)
    found = {number for number, line in enumerate(lines) if line.startswith(("E  ", "e  "))}
    if not together.isascii() and any(letter in together for letter in _ALSO_LETTERS):
        found.update(number for number, line in enumerate(lines) if not line.isascii())
    small = together.lower()
    starts: list[int] = []
    for word in _ERRORS:
        at = small.find(word)
        if at >= 0 and not starts:
            starts = [0, *accumulate(len(line) + 1 for line in small.split("\n"))]
        while at >= 0:
            number = bisect_right(starts, at) - 1
            found.add(number)
            at = small.find(word, starts[number + 1])
    return found


SHORTEST_LINE: Final = 3
"""Lines of fewer characters, such as a closing bracket, are no reason to keep anything."""

_NAME: Final = lazy_pattern(r"[^\s/\\'\"]+")
"""The last of these in a path, or in a command that prints a file, is the name of the file."""


class Shown(IntEnum):
    """How a line came to be known last: by a read of its file or of a part, as text of a new file or of an edit, or
    by the result of either."""

    READ = 0
    READ_IN_PART = 1
    CREATED = 2
    EDITED = 3
    CONFIRMED = 4


class History(Struct):
    """History of the files of one name: how often they were edited and read, and where `edited` and used last.

    Places are in characters from the beginning of the conversation.
    """

    edits: int = 0
    reads: int = 0
    edited: int = 0
    touched: int = 0


class _File(Struct):
    """A file as far as it is known."""

    history: History
    lines: dict[int, Line]


class Line(Struct, frozen=True):
    """How a line of the newest state of a file was shown last: at which character of all, and among how many lines."""

    file: History
    position: int
    shown: Shown
    size: int


class _Deed(Struct, frozen=True):
    """Effect of a call on a file: whether its arguments go into it, its result shows it, and if either is all of it."""

    path: str = ""
    writes: bool = False
    shows: bool = False
    shows_all: bool = False
    replaces_all: bool = False
    replaced: frozenset[str] = frozenset()

    def shown_by(self, part: Part) -> Shown:
        if part.is_argument:
            return Shown.CREATED if self.replaces_all else Shown.EDITED
        if self.writes:
            return Shown.CONFIRMED
        return Shown.READ if self.shows_all else Shown.READ_IN_PART


def failed_calls(messages: Sequence[Message]) -> frozenset[int]:
    """The calls that did nothing to a file, by their identities.

    Where the client has no flag for that, its words or an exit status tell it of a call that was to write.
    """
    return frozenset(id(call) for call, results in calls_with_results(messages) if _has_failed(call, results))


def _has_failed(call: Block, results: Results) -> bool:
    if results.is_failed or results.tells_failure or not tools.writes_a_file(call):
        return results.is_failed
    return bool(results.ending if tools.command_lines(call) else results.state)


def editable_lines(
    parts: Iterable[Part],
    lines_of: Callable[[Key], Iterable[int]],
    positions: Mapping[Key, int],
    failed: Set[int],
) -> dict[int, Line]:
    """Lines of the newest known state of every file, by their numbers.

    `lines_of` gives those of a part, without the ones that are too short; `positions` are the characters
    of the conversation before each part; `failed` are the calls that did nothing.
    """
    parts = [part for part in parts if part.call is not None]
    deeds: dict[int, _Deed] = {}
    files: dict[str, _File] = {}
    histories: dict[str, History] = {}
    answered: set[int] = set()
    for part in _replaced_first(parts, deeds):
        call = part.call
        if call is None or id(call) in failed:
            continue
        deed = deeds[id(call)]
        if not (deed.shows if part.is_result else deed.writes):
            continue
        file = files.get(deed.path)
        if file is None:
            name = next(iter(_NAME.findall(deed.path)[::-1]), "")
            file = files[deed.path] = _File(histories.setdefault(name, History()), {})
        history = file.history
        lines = [*lines_of(part.key)]
        position = history.touched = positions[part.key]
        is_answer = part.is_result and id(call) not in answered  # Further texts of a result show more of the file.
        if is_answer:
            answered.add(id(call))
            history.reads += not deed.writes
        if part.is_argument and part.text in deed.replaced:
            history.edits += 1
            history.edited = position
            for line in lines:
                file.lines.pop(line, None)
            continue
        if part.is_argument and deed.replaces_all and len(lines) > 1:
            history.edits += 1
            history.edited = position
            file.lines.clear()
        elif is_answer and deed.shows_all:
            file.lines.clear()
        shown = Line(history, position, deed.shown_by(part), len(lines))
        file.lines.update(dict.fromkeys(lines, shown))
    found: dict[int, Line] = {}
    for file in files.values():
        for line, shown in file.lines.items():
            other = found.get(line)
            if other is None or shown.position > other.position:
                found[line] = shown
    return found


def _replaced_first(parts: Iterable[Part], deeds: dict[int, _Deed]) -> list[Part]:
    """The parts in order, but what an edit replaces before what it puts there, whichever argument comes first.

    A line of both stays in the file. What each call does is added to the `deeds`.
    """
    edits: dict[tuple[Key, int], int] = {}

    def order(part: Part) -> tuple[int, bool]:
        call = part.call
        if call is None:
            deed = _Deed()
        else:
            deed = deeds.get(id(call)) or deeds.setdefault(id(call), _deed(call))
        message, block, path = part.key
        edit = edits.setdefault(((message, block, path[:-1]), id(call)), len(edits))
        return edit, not deed.replaced or part.text not in deed.replaced

    return sorted(parts, key=order)


def _deed(call: Block) -> _Deed:
    writes, reads = tools.writes_a_file(call), tools.reads_a_file(call)
    if not (writes or reads or tools.printing_commands(call)):
        return _Deed()
    return _Deed(
        tools.path_argument(call) or tools.main_argument(call),
        writes,
        True,
        not writes and reads and not tools.shows_a_part(call),
        tools.replaces_a_file(call),
        frozenset(tools.matched_texts(call)),
    )


FEATURES: Final = (
    "one", "read in part", "created", "written by an edit", "shown after an edit", "edited", "age of the edit", "age",
    "age of a part read", "age if created", "age if written by an edit", "age if shown after an edit",
    "age of the file", "reads", "lines", "files after", "edits of all files", "conversation",
    "length", "indentation", "definition", "comment", "import", "likeliest fact", "sum of facts", "written",
    "in the newest request", "written nearby", "likeliest nearby", "likely around",
)  # fmt: skip
"""Names of the features of a line, in their order: those that all lines of a text share, those of the line itself,
those of its surroundings."""

OF_TEXT: Final = 18
OF_SHAPE: Final = 5
OF_SURROUNDINGS: Final = 7
"""How many of them there are of each."""

_OPENING: Final = lazy_pattern(
    r"(?P<import>(?:import|from|#include|use|require|package)\b)|(?P<comment>#|//|/\*|\*|--|<!--|\"\"\")"
)

_WAYS: Final = (Shown.READ_IN_PART, Shown.CREATED, Shown.EDITED, Shown.CONFIRMED)
"""In the order of the features. How fast a line is out of use depends on how it was shown."""


class EditableText(Struct, frozen=True):
    """Totals to relate lines to: all characters, edits of all files, and where each was used last."""

    end: int
    edits: int
    touched: tuple[int, ...]

    @classmethod
    def of(cls, lines: Iterable[Line], end: int) -> EditableText:
        files = {id(line.file): line.file for line in lines}.values()
        return cls(end, sum(file.edits for file in files), tuple(sorted(file.touched for file in files)))


def of_text(line: Line, conversation: EditableText) -> tuple[float, ...]:
    """Features of all lines that one text shows."""
    file, end = line.file, conversation.end
    age = doublings(end - line.position)
    ways = [line.shown is way for way in _WAYS]
    return (
        1.0,
        *ways,
        file.edits > 0,
        doublings(end - file.edited) if file.edits else 0.0,
        age,
        *(age if is_way else 0.0 for is_way in ways),
        doublings(end - file.touched),
        log2(1 + file.reads),
        log2(1 + line.size),
        log2(1 + len(conversation.touched) - bisect_right(conversation.touched, file.touched)),
        log2(1 + conversation.edits),
        doublings(end),
    )


Shape = tuple[int, int, bool, str | None]
"""What features take of a line itself: how long it is, how far indented, whether it is a definition, how it opens."""


def shape_of(body: str) -> Shape:
    text = body.lstrip()
    opening = _OPENING.match(text)
    return (
        len(text), len(body) - len(text), DEFINITION.match(body) is not None, opening.lastgroup if opening else None,
    )  # fmt: skip


def of_shape(shape: Shape) -> tuple[float, ...]:
    """Features of all lines of a shape."""
    length, indentation, is_definition, opening = shape
    return (
        log2(1 + length), log2(1 + indentation), is_definition, opening == "comment", opening == "import",
    )  # fmt: skip
