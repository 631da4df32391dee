"""Fences around what is quoted: nothing inside can close one, or pass for the client's own words around it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import count
from typing import Final

WORDS: Final = "words"
RECORD: Final = "record"
"""What is inside: the user's words, or data."""

_DIGITS: Final = 6
_FRAMES: Final = re.compile(
    r"<(?=\s*+/?\s*+(?:system-reminder|persisted-output|user_instructions|environment_context"
    r"|command-(?:name|message|args)|local-command-\w+|task-notification|user-prompt-submit-hook"
    rf"|(?:{WORDS}|{RECORD})-[0-9a-f]{{{_DIGITS}}})\b)",
    re.IGNORECASE,
)
"""How tags begin in which clients put what is theirs, such as a recap that a hook hands them; and those that look like
a fence of another recap."""


_OPENING: Final = re.compile(rf"<{RECORD}-([0-9a-f]{{{_DIGITS}}})>")


def key_for(texts: Sequence[str]) -> str:
    """Digits that stand in none of the texts: they name the fence around these. The same for the same texts."""
    digest = sha256()
    for text in texts:
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    for attempt in count():
        key = sha256(digest.digest() + str(attempt).encode()).hexdigest()[:_DIGITS]
        if not any(key in text for text in texts):
            return key
    raise AssertionError


def fenced(name: str, key: str, lines: Iterable[str]) -> str:
    """Lines between two tags that the key makes unique."""
    return "\n".join([f"<{name}-{key}>", *lines, f"</{name}-{key}>"])


def harmless(text: str) -> str:
    """Quoted data in which no tag of a client's own begins."""
    return _FRAMES.sub("‹", text)


def fenced_data(lines: Sequence[str]) -> Iterator[int]:
    """Numbers of the lines that are data between two fences of a recap: somebody went on with it, and it is data still.

    A fence that nothing closes encloses nothing.
    """
    ends = {line: number for number, line in enumerate(lines) if line.startswith(f"</{RECORD}-")}
    enclosed = -1
    for number, line in enumerate(lines):
        opened = _OPENING.fullmatch(line) if number > enclosed else None
        if opened:
            enclosed = max(enclosed, ends.get(f"</{RECORD}-{opened[1]}>", -1))
        if number <= enclosed:
            yield number


def holds_recap(text: str) -> bool:
    """Whether a recap is in a text: what that tells is told from where it was."""
    return any(True for _ in fenced_data(text.split("\n"))) if f"</{RECORD}-" in text else False
