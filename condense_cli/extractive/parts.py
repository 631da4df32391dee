"""Find the texts of a conversation that can be shortened, what is said again later, and headings for their lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import parse_summary
from ..core.transcript import Block, JsonPath, Message
from ..core.values import BlockKind, Role, Text, compact
from ..toolcalls.outcomes import Results, tells_failure
from ..toolcalls.tools import (
    arguments_of,
    command_of_editor,
    main_argument,
    matched_texts,
    open_file,
    paths,
    reads_a_file,
    shows_numbered_lines,
    string_values,
    writes_a_file,
)

# A member of an enumeration takes a while to look up, and these are asked for each part many times.
_CALL: Final = BlockKind.TOOL_CALL
_RESULT: Final = BlockKind.TOOL_RESULT
_TEXT: Final = BlockKind.TEXT
_USER: Final = Role.USER
_ASSISTANT: Final = Role.ASSISTANT

Key = tuple[int, int, JsonPath]
"""Position of a message in the conversation, number of the block in it, and for an argument its path in the call."""


class Part(Struct, frozen=True):
    """One text with its place; `call` is the call that it belongs to, as an argument or as a result.

    A section of a note has a `heading`.
    """

    key: Key
    content: Text
    role: Role
    block: Block
    call: Block | None = None
    heading: Heading | None = None

    @property
    def text(self) -> str:
        return str(self.content)

    @property
    def is_argument(self) -> bool:
        return self.block.kind is _CALL

    @property
    def is_result(self) -> bool:
        return self.block.kind is _RESULT

    @property
    def numbers_lines(self) -> bool:
        """Whether numbers before its lines are those of a file that a tool shows."""
        return self.is_result and self.call is not None and shows_numbered_lines(self.call)

    @property
    def is_written(self) -> bool:
        """Whether the assistant wrote it."""
        return self.role is _ASSISTANT and self.block.kind is not _RESULT

    @property
    def is_said(self) -> bool:
        """Whether the assistant says it, not to a tool."""
        return self.is_written and not self.is_argument

    @property
    def is_request(self) -> bool:
        """Whether the user wrote it."""
        return self.role is _USER and self.block.kind is _TEXT and not self.block.injected


def parts_of(messages: Sequence[Message]) -> Iterator[Part]:
    """Every part of a conversation in order. Thinking, images and what nobody can read are none.

    Some cannot be shortened, but a summary may tell what they say: blocks that are opaque and readable. A note has one
    for each of its sections: like an earlier summary, they count as what the assistant says.
    """
    calls: dict[str, Block] = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is _CALL:
                # Of calls that share an id, each is answered before the next.
                calls[block.call_id or ""] = block
                arguments = arguments_of(block)
                values = string_values(arguments) if arguments is not None else [((), block.text)]
                for path, value in values:
                    yield Part((position, number, path), compact(value), message.role, block, block)
            elif block.summarizes and (mark := parse_summary(block.text)) and mark.is_note:
                for section, (heading, body) in enumerate(sections_of_note(block.text)):
                    yield Part((position, number, (section,)), body, _ASSISTANT, block, heading=heading)
            elif block.kind in (_TEXT, _RESULT) or block.is_readable:
                call = calls.get(block.answers) if block.answers else None
                yield Part((position, number, ()), block.content, message.role, block, call)


def sections_of_note(note: str) -> Iterator[tuple[Heading, str]]:
    """Yield the sections of a note: the heading, with the first of several lines as its argument, and the rest."""
    _, *sections = f"\n{note.partition(BREAK)[2]}".split(f"{BREAK}{HASHES}")
    for section in sections:
        tool, _, body = section.partition(BREAK)
        argument, has_more, rest = body.partition(BREAK)
        yield (Heading(tool, argument), rest) if has_more else (Heading(tool), body)


_WORDS: Final = lazy_pattern(r"[^\W\d_]+")
_LONGEST: Final = 400
_ALIKE: Final = 85
"""So much alike, of 100, are lines that say the same; longer ones are paragraphs with more to say."""

_NEAR: Final = 64
"""A line is compared with so many others that follow, which bounds the time; an equal one is found anywhere."""

_MANY: Final = 400
"""So many comparisons take as long as it takes to import rapidfuzz, which does all that come after."""


def words_of(line: str) -> str:
    """The words of a line by which it is compared with others; none of a paragraph."""
    return " ".join(_WORDS.findall(line.casefold())) if len(line) <= _LONGEST else ""


def restated_units(said: Sequence[Sequence[str]]) -> list[list[int]]:
    """By text that the assistant says the numbers of the units that it says again later, from the words of each."""
    found: list[list[int]] = [[] for _ in said]
    known: set[str] = set()
    near: deque[str] = deque(maxlen=_NEAR)
    is_like_one_of = _comparing()
    for lines, again in zip(reversed(said), reversed(found), strict=True):
        for number in range(len(lines) - 1, -1, -1):
            line = lines[number]
            if not line:
                continue
            if line in known or is_like_one_of(line, near):
                again.append(number)
            else:
                known.add(line)
                near.append(line)
    return found


@cache
def _comparing() -> Callable[[str, Collection[str]], bool]:
    """Whether a line is much like one of others: found here while that is seldom asked, then by rapidfuzz."""
    compared = 0

    def is_like_one_of(line: str, others: Collection[str]) -> bool:
        nonlocal compared
        if compared >= _MANY:
            from rapidfuzz import fuzz, process

            return process.extractOne(line, others, scorer=fuzz.ratio, score_cutoff=_ALIKE) is not None
        compared += len(others)
        return any(likeness(line, other) >= _ALIKE for other in others)

    return is_like_one_of


def likeness(line: str, other: str) -> float:
    """How much alike two lines are, of 100: by the characters that one has to take out of both until they are equal."""
    size = len(line) + len(other)
    common = _most_common(line, other) if 200 * min(len(line), len(other)) >= _ALIKE * size else 0
    return 100 * (1.0 - (size - 2 * common) / size)


def _most_common(line: str, other: str) -> int:
    """How many characters both have in the same order at most: a column of the table of these at a time, as bits.

    Crochemore, Iliopoulos, Pinzon, Reid: A fast and practical bit-vector algorithm for the longest common subsequence.
    """
    places: dict[str, int] = {}
    for place, character in enumerate(line):
        places[character] = places.get(character, 0) | 1 << place
    everywhere = left = (1 << len(line)) - 1
    for character in other:
        found = left & places.get(character, 0)
        left = (left + found) | (left - found)
    return len(line) - (left & everywhere).bit_count()


HASHES: Final = "## "
LEFT_OUT: Final = "left out"
"""The heading in a note over the calls that it tells nothing of."""
BREAK: Final = "\n"
_LONGEST_HEADING: Final = 120

_ON_OPEN_FILE: Final = frozenset({"edit", "goto", "insert", "scroll_down", "scroll_up", "search_file"})
"""Tools of SWE-agent that need no path."""

_IN_FILE: Final = ("lines", "line", "pattern")
"""Arguments of these that tell which part of the file."""

_WORD: Final = lazy_pattern(r"[^\W\d_]")


class Heading(Struct, frozen=True):
    """The heading of a call in its parts: the tool, and on a line of its own what it works on, as it was there.

    `replaced` are texts that an edit put others in place of.
    """

    tool: str
    argument: str = ""
    ending: str = ""
    replaced: frozenset[str] = frozenset()

    def __str__(self) -> str:
        argument = self.argument if len(self.argument) <= _LONGEST_HEADING else self.argument[:_LONGEST_HEADING] + "…"
        return f"{HASHES}{self.tool}{self.ending}\n{argument}".rstrip()

    def over(self, lines: str) -> str:
        """The heading where these lines are the first below it: what they begin with is not said twice."""
        is_said = self.argument and lines.startswith(self.argument)
        return f"{HASHES}{self.tool}{self.ending}" if is_said else str(self)

    def is_of(self, part: Part) -> bool:
        """Whether an argument is the one below the tool's name, whole."""
        return part.text.strip() == self.argument and len(self.argument) <= _LONGEST_HEADING

    def says(self, part: Part) -> bool:
        """Whether nothing is to be told of an argument but what the heading says.

        So are numbers, such as those of lines.
        """
        text = part.text.strip()
        return text in str(self) or not _WORD.search(text)


class Headings:
    """The headings of parts, each made once."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._results: dict[int, list[Part]] = {}
        self._known: dict[int, Heading] = {}
        for part in parts:
            if part.is_result and part.call is not None:
                self._results.setdefault(id(part.call), []).append(part)

    def of(self, part: Part) -> Heading:
        call = part.call
        if part.heading is not None:
            return part.heading
        if call is None:
            return Heading("earlier summary" if part.block.summarizes else part.role.value)
        return self._known.get(id(call)) or self._known.setdefault(id(call), self._of_call(call))

    def _of_call(self, call: Block) -> Heading:
        parts = self._results.get(id(call), [])
        results = Results(
            tuple(part.block for part in parts), any(tells_failure(part.role, part.block) for part in parts)
        )
        works_on_file = reads_a_file(call) or writes_a_file(call)
        state = results.state if works_on_file or results.is_denied or results.is_failed else ""
        tool = f"{call.tool or 'call'} {command_of_editor(call)}".rstrip()
        return Heading(
            tool, _argument(call, results), f" ({state})" if state else "", frozenset() if state else _replaced(call)
        )


def _argument(call: Block, results: Results) -> str:
    """The first line of what tells a person what the call was about."""
    if (call.tool or "").lower() in _ON_OPEN_FILE and not paths(call):
        path = open_file(results.text)
        if path:
            arguments = arguments_of(call) or {}
            place = next((value for key in _IN_FILE if isinstance(value := arguments.get(key), str)), "")
            return f"{path} {place}".rstrip()
    return main_argument(call).strip().split("\n", 1)[0]


def _replaced(call: Block) -> frozenset[str]:
    """Texts that the call replaces with others; none where it only takes them out."""
    replaced = frozenset(matched_texts(call))
    named = replaced.union(paths(call))
    puts_others = replaced and any(
        _WORD.search(value) and value not in named for _, value in string_values(arguments_of(call) or {})
    )
    return replaced if puts_others else frozenset()
