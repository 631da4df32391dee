"""What a session is called after: what the user asked first, in one short line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from ..core.markers import parse_summary
from ..formats.engine.client_text import words_beside

LONGEST: Final = 200
"""Characters of a title."""
_LOOKED_AT: Final = 20_000
"""Characters of a text in which its beginning is looked for: a request may hold a pasted file."""

_WRAPPED: Final = re.compile(
    r"\s*<(?P<tag>task|user_message|feedback|user_input)(?: mode=\"\w+\")?>\s*(?P<text>.*?)(?:</(?P=tag)>|\Z)",
    re.DOTALL,
)
"""Roo Code and Cline put the request itself between tags."""
_COMMAND: Final = re.compile(r"<command-name>([^<]+)</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>([^<]+)</command-args>")


def title_of(text: str) -> str | None:
    """A text as a title: one line, not too long, with nothing that UTF-8 cannot say. None where nothing is left."""
    line = " ".join(text[: 10 * LONGEST].split())[:LONGEST]
    return line.encode("utf-8", "replace").decode() or None


def request_in(text: str) -> str | None:
    """The title that a user's text gives, or None where a client wrote all of it."""
    wrapped = _WRAPPED.match(text[:_LOOKED_AT])
    if wrapped:
        return title_of(wrapped["text"])
    return None if parse_summary(text) else title_of(words_beside(text))


def command_in(text: str) -> str | None:
    """The command of a client that was typed, such as "/init", with its arguments."""
    name = _COMMAND.search(text[:_LOOKED_AT])
    if not name:
        return None
    arguments = _ARGUMENTS.search(text[:_LOOKED_AT])
    return title_of(f"{name[1].strip()} {arguments[1].strip() if arguments else ''}")


def first_request(texts: Iterable[str]) -> str | None:
    """The first request in the texts of user messages; where there is none, the first command."""
    command = None
    for text in texts:
        request = request_in(text)
        if request:
            return request
        command = command or command_in(text)
    return command


def texts_in(content: Any, kinds: tuple[str, ...] = ("text",)) -> Iterator[str]:
    """The texts of a message's content: a string, or the parts of these types."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str):
                yield part["text"]
