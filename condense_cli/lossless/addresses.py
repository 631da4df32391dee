"""How a block is called in a reference: in words that a model can see, counted from where the reference stands.

A name depends on the block and its call alone, never on the rest of the transcript or a configuration: turns
that a client appends later change no name, and a file is restored from itself alone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, JsonPath, Message
from ..core.values import BlockKind, Role, Text
from ..toolcalls.tools import TODO_LISTS, command_of_editor, main_argument, name_of, path_argument
from . import states
from .references import THE_RESULT, THIS_CALL, Address

_PATH: Final = 14
_ARGUMENT: Final = 12
"""About so many characters of a path or another argument name a call: counting tells calls of one name apart."""
_TELLING: Final = 3
"""Shorter arguments, such as the number of an entry, name nothing."""
_PATH_IN_TEXT: Final = lazy_pattern(r"(?<![\w.~-])[\w.~-]*+(?:[/\\][\w.~-]++)++")
ATTACHED_HEAD: Final = 2
"""Lines of an attached text that name it, and stay."""
_CHANGE_OF_FOLDER: Final = lazy_pattern(r"(?:(?<![^&;|\n])(?>([^&;|\n]*?)cd[^\S\n])|cd\n)[^&;|\n]*+(?:&&|;)\s*+")
"""With what its line has before it, so that no part of a line is looked at twice."""


class TextPlace(NamedTuple):
    """Where a text stands: positions of its message and block; `part` tells elements of one tag in a text apart."""

    message: int
    block: int
    part: int = 0


Names = dict[tuple[str | None, Text, bool, bool], str]
"""Names of calls by what they depend on, for whoever makes the addresses of one conversation several times."""


class Addresses:
    """Every call, result and state of a transcript by its name."""

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
        """The address of a call's value, a result or an element, seen from another place."""
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
        """The name of a call or a result; empty for anything else."""
        return self._names.get(place, "")

    def call_of(self, result: TextPlace) -> TextPlace | None:
        """The call that a result answers."""
        return self._call_of.get(result)

    def find(self, here: TextPlace, address: Address) -> TextPlace | None:
        """The place that an address means, if there is one."""
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
        """Every element of the user's texts by its tag."""
        found: dict[str, list[TextPlace]] = {}
        for position, message in enumerate(self._messages):
            for number, block in enumerate(message.blocks) if message.role is Role.USER else ():
                if block.kind is BlockKind.TEXT:
                    for tag, elements in states.by_tag(block.text).items():
                        found.setdefault(tag, []).extend(TextPlace(position, number, each.part) for each in elements)
        return found


def tag_of(what: str) -> str:
    """The tag of an element that an address names; empty where it names anything else."""
    return what[1:-1] if what.startswith("<") and what.endswith(">") else ""


def field_of(path: JsonPath) -> str:
    """How a reference calls a value in a call's arguments."""
    return ".".join(map(str, path))


def _known_name(call: Block, names: Names) -> str:
    told = (call.tool, call.content, call.is_free_text, call.span is None)
    name = names.get(told)
    if name is None:
        name = names[told] = _name_of_call(call)
    return name


def _name_of_call(call: Block) -> str:
    """Tool and main argument: "Read of src/app.py", "Bash `pytest -q`"."""
    tool = " ".join((command_of_editor(call) or call.tool or "tool").split())
    if name_of(call) in TODO_LISTS:
        return tool  # Any of its todos may become a reference.
    path = path_argument(call)
    if path is not None and "\n" not in path:
        return f"{tool} of {_end_of_path(path)}"
    argument = _start_of_argument(main_argument(call))
    return f"{tool} `{argument}`" if len(argument) >= _TELLING else tool


def _name_of_attached(block: Block) -> str:
    """Name what was attached, by the path in its first lines: "attached CLAUDE.md"."""
    first = block.text.split("\n", ATTACHED_HEAD)[:ATTACHED_HEAD]
    path = _PATH_IN_TEXT.search("\n".join(first))
    return f"attached {_end_of_path(path[0])}" if path else "attached text"


def _end_of_path(path: str) -> str:
    """The last part of a path, with those before it that fit."""
    separator = "/" if "/" in path else "\\"
    parts = path.rstrip(separator).split(separator)
    end = parts.pop()
    while parts and len(end) + len(parts[-1]) < _PATH:
        end = parts.pop() + separator + end
    return end


def _start_of_argument(argument: str) -> str:
    line = _CHANGE_OF_FOLDER.sub(r"\1", argument.strip(), count=1).partition("\n")[0].rstrip()
    return line if len(line) <= _ARGUMENT else line[:_ARGUMENT] + "…"
