"""Lists of todos with references in them.

A list is read as a text with one todo a line, and references count those lines. One that takes the place of some lines
is written as a todo of the shape that the tool takes:

    {"content": "[see lines 3-9 of todos of the next TodoWrite #520917]", "status": "pending"}
"""

from __future__ import annotations

from typing import Any

from ..core import json_text
from ..core.markers import REFERENCE_PREFIX
from ..core.transcript import JsonPath
from ..toolcalls import tools
from .addresses import field_of
from .references import ABOVE, parse_reference


def is_said_in(words: str, path: JsonPath) -> bool:
    """Whether the words of a todo are a reference to todos, of a list at the same path as its own."""
    reference = parse_reference(words)
    return reference is not None and (reference.address == ABOVE or reference.address.field == field_of(path))


def text_of(listed: list[Any], path: JsonPath) -> str:
    """The list as a text, with references as lines of their own."""
    words = [(tools.words_of(todo), todo) for todo in listed]
    return "\n".join(said if is_said_in(said, path) else json_text.dump_compact(todo) for said, todo in words)


def list_of(text: str, like: list[Any]) -> list[Any]:
    """The list that a text says; `like` is another state of it, of which references take the shape, or their todos.

    Raises ValueError or RecursionError where a line is neither a todo nor a reference.
    """
    known = {tools.words_of(todo): todo for todo in reversed(like)}
    return [
        known.get(line, tools.stand_in(like, line)) if line.startswith(REFERENCE_PREFIX) else json_text.parse_text(line)
        for line in text.split("\n")
    ]
