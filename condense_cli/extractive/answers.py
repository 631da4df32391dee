"""What a user said in the result of a call: why it was refused, what to do instead, the answer to a question.

Clients hand it on in fixed words of their own. Those are kept beside it, because by them it is found again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from ..core.lazy_text import LazyText, Text
from ..core.transcript import Block, BlockKind

_WHOLE: Final = lazy_pattern(
    r"The user doesn't want to [^\n]*?(?:, the user said:\n|reason for the rejection: {1,2})(?P<refused>\S.*)"
    r"|The user rejected permission to use this specific tool call with the following feedback: (?P<denied>\S.*)"
    r"|(?:User has answered your questions|Your questions have been answered): (?P<answered>\".*)"
    r" You can now continue with the user's answers in mind\.\s*",
    re.DOTALL,
)
"""Claude Code and OpenCode: the whole of a result."""
_FEEDBACK: Final = lazy_pattern(r"^The user [^\n]{0,200}\b(?:feedback|context):\n<feedback>(?=\n)", re.MULTILINE)
_FEEDBACK_END: Final = "\n</feedback>"
"""Roo Code: beside whatever else the tool answered."""
_BEGINNINGS: Final = (
    "The user doesn't want to ",
    "The user rejected ",
    "User has answered ",
    "Your questions have been ",
)
_LONGEST_BEGINNING: Final = 30


def words_in(block: Block) -> str:
    """What the user said in a result; empty where that is nothing."""
    return "\n".join(words for words, _, _ in _found(block))


def lines_with_words(block: Block) -> frozenset[str]:
    """The lines of a result in which the user said something, with those by which that is known."""
    text = block.text
    return frozenset(line for _, start, end in _found(block) for line in text[start:end].split("\n"))


def is_all_words(block: Block) -> bool:
    """Whether a result says nothing but what the user said."""
    return _may_begin(block.content) and _WHOLE.fullmatch(block.text) is not None


def _found(block: Block) -> list[tuple[str, int, int]]:
    """What was said, and where in the text that begins and ends, the client's words included."""
    if block.kind is not BlockKind.TOOL_RESULT:
        return []
    if _may_begin(block.content) and (whole := _WHOLE.fullmatch(block.text)):
        words = whole["refused"] or whole["denied"] or whole["answered"]
        return [(words.strip(), 0, whole.end())]
    return list(_feedback(block.text)) if "<feedback>" in block.content else []


def _feedback(text: str) -> Iterator[tuple[str, int, int]]:
    end = 0
    while opened := _FEEDBACK.search(text, end):
        stop = text.find(_FEEDBACK_END, opened.end() + 1)
        if stop < 0:
            return
        end = stop + len(_FEEDBACK_END)
        yield text[opened.end() : stop].strip(), opened.start(), end


def _may_begin(content: Text) -> bool:
    """Whether a text may begin as clients do; the whole of a long one is not read for it."""
    if not isinstance(content, LazyText):
        return content.startswith(_BEGINNINGS)
    return bytes(memoryview(content.literal)[1 : 1 + _LONGEST_BEGINNING]).decode("latin-1").startswith(_BEGINNINGS)
