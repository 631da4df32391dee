"""The finders: which texts may become references, and to which texts they may refer."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final, assert_never

from msgspec import Struct

from ..core.transcript import Block
from ..core.values import at_hand
from ..toolcalls.tools import prints_a_file, reads_a_file, writes_a_file
from .states import TAGS


@at_hand
class Category(Enum):
    """What a text shows, which decides the finders that may look at it."""

    FILE = auto()
    """The result of reading or changing a file."""
    WRITTEN = auto()
    """What a call writes into a file or replaces there."""
    RESULT = auto()
    """The result of any other tool."""
    ARGUMENT = auto()
    """A value in any other call."""
    TODOS = auto()
    """A list of todos in a call, one a line."""
    STATE = auto()
    """What a client repeats in an element inside user text."""
    ATTACHED = auto()
    """A text that a client attached, such as a file with instructions."""
    INJECTED = auto()
    """Any other text that a client wrote in the user's name. It may refer to results; nothing refers to it."""


_NOTHING: Final[frozenset[Category]] = frozenset()
_FILES: Final = frozenset({Category.FILE, Category.WRITTEN})
_RESULTS: Final = frozenset({Category.FILE, Category.RESULT})
_ARGUMENTS: Final = frozenset({Category.WRITTEN, Category.ARGUMENT})


class Finders(Struct, frozen=True):
    """The finders that are switched on, and what a configuration adds to the tools they know.

    The finders only say where to look. Whether lines are the same the content decides, never the call: a
    failed edit, a read that failed or showed a part, a command that printed something else lose nothing.
    """

    file_reads: bool = True
    """Files: reads and the results of changes may refer to later ones, and to what a call wrote."""
    tool_results: bool = True
    """Results of any tool may refer to results of any tool."""
    state_tags: Sequence[str] = TAGS
    """What a client adds to user text may refer to later text: state in elements of these tags to later state. With no
    tags this finder is off. With `tool_parameters`, lists of todos may refer to other such lists."""
    tool_parameters: bool = False
    """Values in calls may refer to other values and to results."""
    file_tools: Sequence[str] = ()
    """Globs for tools that show or write files, besides those that are known."""

    def shows_a_file(self, call: Block) -> bool:
        """Whether the call's result is (a part of) a file: read, printed by a command, or shown after a change."""
        return self._is_added(call) or reads_a_file(call) or writes_a_file(call) or prints_a_file(call)

    def writes_a_file(self, call: Block) -> bool:
        return self._is_added(call) or writes_a_file(call)

    def _is_added(self, call: Block) -> bool:
        name = (call.tool or "").lower()
        return any(fnmatchcase(name, glob.lower()) for glob in self.file_tools)

    def sources(self, target: Category) -> frozenset[Category]:
        """What a text of a category may refer to; nothing where no finder looks at it."""
        match target:
            case Category.FILE:
                read = _FILES if self.file_reads else _NOTHING
                return read | (_RESULTS if self.tool_results else _NOTHING)
            case Category.RESULT:
                return _RESULTS if self.tool_results else _NOTHING
            case Category.WRITTEN | Category.ARGUMENT:
                return _RESULTS | _ARGUMENTS if self.tool_parameters else _NOTHING
            case Category.STATE:
                return frozenset({target}) if self.state_tags else _NOTHING
            case Category.TODOS:
                return frozenset({target}) if self.state_tags and self.tool_parameters else _NOTHING
            case Category.ATTACHED:
                return _RESULTS | {target} if self.file_reads else _NOTHING
            case Category.INJECTED:
                return _RESULTS if self.state_tags else _NOTHING
            case other:
                assert_never(other)
