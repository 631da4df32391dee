"""Words of a person in the result of a call: the answer to a question, why a call was refused, what to do instead.

Questions are known by their tool, other results by a field of the format (`Block.is_answer`): the sentence that a
client puts around an answer changes from version to version. Only where there is neither, as for refusals in most
clients, do the client's words tell. They are kept beside the answer, because by them it is found again.
"""

from __future__ import annotations

import re
from typing import Final

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import parse_gap
from ..core.transcript import Block
from ..core.values import BlockKind, LazyText, Text
from ..toolcalls.tools import name_of

_ASKS: Final = lazy_pattern(
    r"(?:^|[_.])ask_?(?:the_?)?(?:user|human|question|followup)"
    r"|^(?:(?:request|get|ask_for)_(?:user|human)_input|question|human|human_assistance)$"
)
"""Tools whose result is an answer: `AskUserQuestion` (Claude Code, Kimi Code, Conductor), `ask_user_question` (Qwen
Code), `ask_user` (Gemini CLI, Copilot CLI), `ask_followup_question` (Roo Code, Cline), `ask_question` (Cline),
`AskQuestion` (Cursor), `vscode_askQuestions`, `request_user_input` (Codex), `question` (OpenCode), `human` (LangChain).
"""

_SENTENCES: Final = (
    "User has answered your questions: ",
    "Your questions have been answered: ",
    "The user answered: ",
)
_GO_ON: Final = " You can now continue with "
"""Claude Code before and since 2.1.195, and where some questions have no answer; OpenCode has the first."""
_APPROVED: Final = "User has approved your plan"
_EDITED: Final = ("User feedback on this plan:", "## Approved Plan (edited by user):")
"""Claude Code, behind what it says of a plan that the user edited or had a word about."""
_ELEMENTS: Final = ("answer", "user_message", "feedback")
"""Roo Code and Cline put these tags around what the user said."""

_REFUSED: Final = lazy_pattern(
    r"(?:Error: )?(?=[^\n]{0,400}?(?:reject|den(?:y|ied)|declin|doesn't want))(?=[^\n]{0,400}?\b[Uu]ser\b)"
    r"(?:The (?:user|tool)|User|Permission for this tool|Plan|Tool call)\b[^\n]{0,400}?"
    r"\b(?:feedback|reason|reason for the rejection|[Uu]ser said|message):[ \n]{1,3}"
)
"""Claude Code and its subagents, OpenCode, Kimi CLI; Gemini CLI and Qwen Code of plans."""
_UNEXPLAINED: Final = ("STOP what you are doing", "new_string was NOT written to the file).")
_LONGEST_ENDING: Final = 100
"""Of these one is in the last words of Claude Code where the user gave no reason."""
_FEEDBACK: Final = lazy_pattern(r"^The user [^\n]{0,300}\n<(feedback|user_message)>\n", re.MULTILINE)
"""Roo Code and Cline: beside whatever else the tool answered."""
_DECISIONS: Final = ("approved", "denied")

_BEGINNINGS: Final = (
    *_SENTENCES,
    "The user ",
    "The tool ",
    "User ",
    "Permission for ",
    "Plan ",
    "Tool call ",
    "Error: ",
)
_HEAD: Final = 300
"""So much of a long text is looked at first."""


def words_in(block: Block) -> str:
    """What the user said in a result; empty where that is nothing."""
    return "\n".join(words for words, _, _ in _found(block))


def lines_with_words(block: Block) -> frozenset[str]:
    """The lines of a result in which the user said something, with those by which that is known."""
    found = _found(block)
    text = block.text if found else ""
    return frozenset(line for _, start, end in found for line in text[start:end].split("\n"))


def is_all_words(block: Block) -> bool:
    """Whether a result says nothing but what the user said."""
    found = _found(block)
    return bool(found) and found[0][1:] == (0, len(block.text))


def _found(block: Block) -> list[tuple[str, int, int]]:
    """What was said, and where in the text that begins and ends, the client's words included."""
    if block.kind is not BlockKind.TOOL_RESULT and not (block.kind is BlockKind.OPAQUE and block.answers):
        return []
    is_asked = bool(block.tool) and _ASKS.search(name_of(block)) is not None
    if block.is_answer or (is_asked and not block.is_error):
        text = block.text
        words = "" if _is_no_answer(text) else _without_sentence(text)
        return [(words, 0, len(text))] if words else []
    if block.kind is BlockKind.OPAQUE:
        return []
    return _told(block.content)


def _told(content: Text) -> list[tuple[str, int, int]]:
    """The same of a result of which nothing but its words tells."""
    head = _head(content)
    holds_tags = "<feedback>" in content or "<user_message>" in content
    if holds_tags and (found := _in_elements(str(content))):
        return found
    if head.startswith("{") and "feedback" in head:
        text = str(content)
        line = text.partition("\n")[0]
        words = _feedback_of(line)
        return [(words, 0, len(line))] if words else []
    if head.startswith(_BEGINNINGS):
        text = str(content)
        words = _without_sentence(text)
        return [(words, 0, len(text))] if words and words != text.strip() else []
    return []


def _in_elements(text: str) -> list[tuple[str, int, int]]:
    """The same of what is between tags, each behind a sentence of the client."""
    told: list[tuple[str, int, int]] = []
    end = 0
    for opened in _FEEDBACK.finditer(text):
        if opened.start() < end:
            continue
        closing = f"\n</{opened[1]}>"
        closed = text.find(closing, opened.end() - 1)
        if closed < 0:
            break  # What is not closed here is not closed behind it either.
        end = closed + len(closing)
        told.append((text[opened.end() : closed].strip(), opened.start(), end))
    return told


def _without_sentence(text: str) -> str:
    """A text without the words that a client puts around an answer."""
    words = text.strip()
    for sentence in _SENTENCES:
        if words.startswith(f'{sentence}"'):
            answers, _, rest = words[len(sentence) :].rpartition(_GO_ON)
            return answers if answers and "\n" not in rest else words[len(sentence) :]
    if words.startswith(_APPROVED):
        said = (words.partition(opening)[2].strip() for opening in _EDITED)
        return next(filter(None, said), words)
    if refused := _REFUSED.match(words):
        words = words[refused.end() :].strip()
    for tag in _ELEMENTS:
        if words.startswith(f"<{tag}>") and words.endswith(f"</{tag}>"):
            return words[len(tag) + 2 : -len(tag) - 3].strip()
    return words


def _is_no_answer(text: str) -> bool:
    """Whether it only tells that nothing was said, or marks what was left out."""
    text = text.strip()
    is_unexplained = any(words in text[-_LONGEST_ENDING:] for words in _UNEXPLAINED) and not _REFUSED.match(text)
    return is_unexplained or parse_gap(text) is not None


def _feedback_of(line: str) -> str:
    """Read what the user said to a call where the client tells it as JSON: native Roo Code, others of plans."""
    try:
        value = json_text.parse_text(line)
    except (ValueError, RecursionError):
        return ""
    is_decision = isinstance(value, dict) and ("approved" in value or value.get("status") in _DECISIONS)
    words = value.get("feedback") if is_decision else None
    return words.strip() if isinstance(words, str) else ""


def _head(content: Text) -> str:
    """The beginning of a text; a long one is not read for it, and special characters in it may be escaped."""
    if not isinstance(content, LazyText):
        return content[:_HEAD]
    return bytes(memoryview(content.literal)[1 : 1 + _HEAD]).decode("latin-1")
