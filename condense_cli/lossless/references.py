"""Format and parse references, which replace omitted lines and name the block that holds them.

    [see lines 3-75 of the next Read of src/app.py #520917]
    [see new_string of the 2nd next Edit of src/app.py #073811]
    [see the last 4 lines of the next Bash `pytest -q` #770103]
    [see new_string of this call #298817]
    [see lines 3-9 above #401752]

A reference has a line of its own. It names the block in words that a model can see, the lines as numbered in that
block, and the hash of the replaced text, so that only the identical text can take its place. Each of its tokens is paid
for on every turn, so it says nothing twice. This file formats and parses references; `decode` resolves them.

A name depends only on the block and its call, never on the rest of the transcript or a configuration. So later turns
change no name, and a file can be restored from itself alone.

A todo list is read as text with one todo per line, and references count those lines. A reference in a list is written
as a todo of the shape that the tool accepts:

    {"content": "[see lines 3-9 of todos of the next TodoWrite #520917]", "status": "pending"}
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import ESCAPE, REFERENCE_PREFIX
from ..core.markers import REFERENCE_PREFIX as PREFIX
from ..core.transcript import Block, JsonPath, Message
from ..core.values import BlockKind, Role, Text
from ..toolcalls import tools
from ..toolcalls.tools import TODO_LISTS, command_of_editor, main_argument, name_of, path_argument

TAGS: Final = ("environment_details", "system-reminder")
_ENDS: Final = lazy_pattern(r"<(/?)([^\s<>/]+)>")


class Element(Struct, frozen=True):
    """An element in a text: tag, start, end, and the number of elements with the same tag before it."""

    tag: str
    start: int
    end: int
    part: int


def elements(text: str, tag: str) -> list[Element]:
    """Return every element with a tag."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    found: list[Element] = []
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        end += len(closing)
        found.append(Element(tag, start, end, len(found)))
        start = text.find(opening, end)
    return found


def by_tag(text: str) -> dict[str, list[Element]]:
    """Find elements of every tag in one scan, because a text may have any number of tags."""
    opened: dict[str, int] = {}
    found: dict[str, list[Element]] = {}
    for match in _ENDS.finditer(text):
        is_closing, tag = match.groups()
        if not is_closing:
            opened.setdefault(tag, match.start())
        elif (start := opened.pop(tag, None)) is not None:
            others = found.setdefault(tag, [])
            others.append(Element(tag, start, match.end(), len(others)))
    return found


def outermost(text: str, tags: Sequence[str]) -> list[Element]:
    """Return elements of several tags in order, without nested ones."""
    found = sorted((element for tag in tags for element in elements(text, tag)), key=lambda element: element.start)
    end = 0
    kept = []
    for element in found:
        if element.start >= end:
            kept.append(element)
            end = element.end
    return kept


_REFERENCE: Final = lazy_pattern(
    r"""\[see\ (?:
        (?P<above>lines?\ \d{1,9}(?:-\d{1,9})?\ above)
    |
        (?:(?P<where>lines?\ \d{1,9}(?:-\d{1,9})?
            |the\ (?:first|last)\ (?:line|\d{1,9}\ lines)
            |\d{1,9}\ lines\ from\ \d{1,9}\ on)\ of\ )?
        (?:(?P<field>\S{1,80})\ of\ )?
        (?:(?P<near>this\ call|the\ result)
            |the\ (?:(?P<ordinal>\d{1,6})(?:st|nd|rd|th)\ )?(?P<direction>next|previous)\ (?P<what>.+?))
        (?:,\ numbered\ from\ (?P<numbering>\d{1,9}|"[^"]{1,24}"))?
    )\ \#(?P<hash>\d{6})\]""",
    re.ASCII | re.VERBOSE,
)
REFERENCE_BYTES: Final = lazy_pattern(rb"\[see (?!\\)(?:[^\"\\\n]|\\.){1,200}? #\d{6}\]")
"""Matches possible references without escape in a record's bytes."""
SHORTEST: Final = 80
"""Shorter runs (in characters, line breaks included) cost fewer tokens than a reference to them."""
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


class Address(Struct, frozen=True):
    """Location of lines: `what` names a block, `ordinal` counts such blocks from here, `field` is an argument.

    THIS_CALL and THE_RESULT need no counting; their ordinal is 0.
    """

    what: str
    ordinal: int = 1
    is_backward: bool = False
    field: str = ""

    def __str__(self) -> str:
        field = f"{self.field} of " if self.field else ""
        if not self.ordinal:
            return f"{field}{self.what}"
        number = self.ordinal
        ending = "th" if number // 10 % 10 == 1 else _ENDINGS.get(number % 10, "th")
        ordinal = f"{number}{ending} " if number > 1 else ""
        return f"{field}the {ordinal}{'previous' if self.is_backward else 'next'} {self.what}"


THIS_CALL: Final = "this call"
"""The call that the text belongs to, as its argument or as its result."""
THE_RESULT: Final = "the result"
"""The result of the call that contains the reference."""
ABOVE: Final = Address("above", 0)
"""The text that contains the reference: the lines are further up in it."""
ABOVE_WORD: Final = " above #"


class Reference(Struct, frozen=True):
    """The same lines are at an address; `where` selects them and is empty for all.

    `numbering` is the first number before these lines, if no neighbouring line tells it.
    """

    where: str
    address: Address
    hash: str
    numbering: str = ""

    def __str__(self) -> str:
        if self.address == ABOVE:
            return f"{PREFIX}{self.where} #{self.hash}]"
        where = f"{self.where} of " if self.where else ""
        numbering = f", numbered from {self.numbering}" if self.numbering else ""
        return f"{PREFIX}{where}{self.address}{numbering} #{self.hash}]"


def parse_reference(line: str) -> Reference | None:
    """Parse a line that is exactly one reference; else None."""
    if not line.startswith(PREFIX) or line.startswith(ESCAPE, len(PREFIX)):
        return None
    match = _REFERENCE.fullmatch(line)
    if match is None:
        return None
    if match["above"]:
        reference = Reference(match["above"], ABOVE, match["hash"])
    else:
        ordinal, is_backward = 0 if match["near"] else int(match["ordinal"] or 1), match["direction"] == "previous"
        address = Address(match["near"] or match["what"], ordinal, is_backward, match["field"] or "")
        reference = Reference(match["where"] or "", address, match["hash"], match["numbering"] or "")
    return reference if str(reference) == line else None


_PATH: Final = 14
_ARGUMENT: Final = 12
"""Approximate characters of a path or another argument in a call's name. Counting tells calls with one name apart."""
_TELLING: Final = 3
"""Minimum characters of an argument that names a call; shorter ones, such as an entry's number, say nothing."""
_PATH_IN_TEXT: Final = lazy_pattern(r"(?<![\w.~-])[\w.~-]*+(?:[/\\][\w.~-]++)++")
ATTACHED_HEAD: Final = 2
"""Lines of an attached text that name it and stay."""
_CHANGE_OF_FOLDER: Final = lazy_pattern(r"(?:(?<![^&;|\n])(?>([^&;|\n]*?)cd[^\S\n])|cd\n)[^&;|\n]*+(?:&&|;)\s*+")
"""Includes the line's preceding part, so that no part of a line is scanned twice."""


class TextPlace(NamedTuple):
    """Place of a text: positions of message and block; `part` distinguishes elements of one tag."""

    message: int
    block: int
    part: int = 0


Names = dict[tuple[str | None, Text, bool, bool], str]
"""Cache of calls' names by everything they depend on, for repeated use on one conversation."""


class Addresses:
    """Names of every call, result and state in a transcript."""

    def __init__(self, messages: Sequence[Message], names: Names | None = None) -> None:
        self._messages = messages
        names = {} if names is None else names
        self._calls: dict[str, list[TextPlace]] = {}
        self._others: dict[str, list[TextPlace]] = {}
        self._states: dict[str, list[TextPlace]] | None = None
        self._names: dict[TextPlace, str] = {}
        self._call_of: dict[TextPlace, TextPlace] = {}
        self._result_of: dict[TextPlace, TextPlace] = {}
        calls: dict[str | None, TextPlace] = {}
        for position, message in enumerate(messages):
            for number, block in enumerate(message.blocks):
                place = TextPlace(position, number)
                if block.kind is BlockKind.TOOL_CALL:
                    places, name = self._calls, _known_name(block, names)
                    calls[block.call_id] = place
                elif block.kind is BlockKind.TOOL_RESULT:
                    places, name = self._others, f"{block.tool or 'tool'} result"
                    if block.answers in calls:
                        self._call_of[place] = calls[block.answers]
                        self._result_of.setdefault(calls[block.answers], place)
                        name = self._names[calls[block.answers]]
                elif block.is_attached:
                    places, name = self._others, _name_of_attached(block)
                else:
                    continue
                places.setdefault(name, []).append(place)
                self._names[place] = name

    def address(self, here: TextPlace, there: TextPlace, *, field: str = "", tag: str = "") -> Address:
        """Return the address of a call's value, a result or an element, as seen from another place."""
        if there in (here, self._call_of.get(here)):
            return Address(THIS_CALL, 0, field=field)
        if self._result_of.get(here) == there:
            return Address(THE_RESULT, 0)
        what = f"<{tag}>" if tag else self._names[there]
        places = self._places(what, bool(field))
        target = bisect_left(places, there)
        if there > here:
            return Address(what, target - bisect_right(places, here) + 1, False, field)
        return Address(what, bisect_left(places, here) - target, True, field)

    def name_of(self, place: TextPlace) -> str:
        """Return the name of a call or result; empty for anything else."""
        return self._names.get(place, "")

    def call_of(self, result: TextPlace) -> TextPlace | None:
        """Return the call that a result answers."""
        return self._call_of.get(result)

    def find(self, here: TextPlace, address: Address) -> TextPlace | None:
        """Return the place that an address means, or None."""
        if address.ordinal == 0:
            if address.what == THE_RESULT:
                return self._result_of.get(here)
            return self._call_of.get(here, here) if address.field else None
        places = self._places(address.what, bool(address.field))
        if address.is_backward:
            index = bisect_left(places, here) - address.ordinal
        else:
            index = bisect_right(places, here) + address.ordinal - 1
        return places[index] if 0 <= index < len(places) else None

    def _places(self, what: str, is_call: bool) -> list[TextPlace]:
        if is_call:
            return self._calls.get(what, [])
        tag = tag_of(what)
        if not tag or what in self._others:
            return self._others.get(what, [])
        if self._states is None:
            self._states = self._all_states()
        return self._states.get(tag, [])

    def _all_states(self) -> dict[str, list[TextPlace]]:
        """Map tags to the elements of user texts."""
        found: dict[str, list[TextPlace]] = {}
        for position, message in enumerate(self._messages):
            for number, block in enumerate(message.blocks) if message.role is Role.USER else ():
                if block.kind is BlockKind.TEXT:
                    for tag, elements in by_tag(block.text).items():
                        found.setdefault(tag, []).extend(TextPlace(position, number, each.part) for each in elements)
        return found


def tag_of(what: str) -> str:
    """Return the tag of an element that an address names; empty if it names something else."""
    return what[1:-1] if what.startswith("<") and what.endswith(">") else ""


def field_of(path: JsonPath) -> str:
    """Return the name of a value in a call's arguments, for references."""
    return ".".join(map(str, path))


def _known_name(call: Block, names: Names) -> str:
    told = (call.tool, call.content, call.is_free_text, call.span is None)
    name = names.get(told)
    if name is None:
        name = names[told] = _name_of_call(call)
    return name


def _name_of_call(call: Block) -> str:
    """Name a call by tool and main argument: "Read of src/app.py", "Bash `pytest -q`"."""
    tool = " ".join((command_of_editor(call) or call.tool or "tool").split())
    if name_of(call) in TODO_LISTS:
        return tool  # Each of its todos may become a reference.
    path = path_argument(call)
    if path is not None and "\n" not in path:
        return f"{tool} of {_end_of_path(path)}"
    argument = _start_of_argument(main_argument(call))
    return f"{tool} `{argument}`" if len(argument) >= _TELLING else tool


def _name_of_attached(block: Block) -> str:
    """Name an attached text by the path in its first lines: "attached CLAUDE.md"."""
    first = block.text.split("\n", ATTACHED_HEAD)[:ATTACHED_HEAD]
    path = _PATH_IN_TEXT.search("\n".join(first))
    return f"attached {_end_of_path(path[0])}" if path else "attached text"


def _end_of_path(path: str) -> str:
    """Return the last part of a path, with as many parts before it as fit."""
    separator = "/" if "/" in path else "\\"
    parts = path.rstrip(separator).split(separator)
    end = parts.pop()
    while parts and len(end) + len(parts[-1]) < _PATH:
        end = parts.pop() + separator + end
    return end


def _start_of_argument(argument: str) -> str:
    line = _CHANGE_OF_FOLDER.sub(r"\1", argument.strip(), count=1).partition("\n")[0].rstrip()
    return line if len(line) <= _ARGUMENT else line[:_ARGUMENT] + "…"


def is_said_in(words: str, path: JsonPath) -> bool:
    """Return whether a todo's words are a reference to todos of a list at the same path."""
    reference = parse_reference(words)
    return reference is not None and (reference.address == ABOVE or reference.address.field == field_of(path))


def text_of_list(listed: list[Any], path: JsonPath) -> str:
    """Return the list as text, with references as lines of their own."""
    words = [(tools.words_of(todo), todo) for todo in listed]
    return "\n".join(said if is_said_in(said, path) else json_text.dump_compact(todo) for said, todo in words)


def list_of(text: str, like: list[Any]) -> list[Any]:
    """Parse a text into a list; `like` is another state of it, which references take their shape or todos from.

    Raises ValueError or RecursionError if a line is neither a todo nor a reference.
    """
    known = {tools.words_of(todo): todo for todo in reversed(like)}
    return [
        known.get(line, tools.todo_like(like, line))
        if line.startswith(REFERENCE_PREFIX)
        else json_text.parse_text(line)
        for line in text.split("\n")
    ]
