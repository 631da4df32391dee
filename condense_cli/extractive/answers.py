"""Find the user's own words: in results of calls, and in typed text apart from what is pasted.

Questions are known by their tool, other results by a field of the format (`Block.is_answer`): the sentence that a
client puts around an answer changes from version to version. Only where there is neither, as for refusals in most
clients, do the client's words tell. They are kept beside the answer, because by them it is found again.

Pasted are lines between two fences, the numbered lines of a listing, lines that repeat an earlier result, and what a
client says that a command of the user's printed. In doubt
a line is the user's own: a fence without an end encloses nothing, and a list of demands may be numbered too.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import parse_gap
from ..core.transcript import TYPED_KINDS, Block, BlockPlace, Message
from ..core.values import BlockKind, LazyText, Role, Text
from ..toolcalls.tools import name_of
from .units import Units, split

if TYPE_CHECKING:
    from ..tokens.counting import Counter

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
_CLARIFIES: Final = (
    "The user wants to clarify these questions.",
    "The user has indicated they have provided enough ans",
)
_ANSWER: Final = lazy_pattern(r'^  Answer: (.*?)(?=^- "|\Z)', re.DOTALL | re.MULTILINE)
"""Claude Code in place of words, where the user closes its questions; then each question with its answer, if any."""
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
    """Return the user's words in a result; empty if there are none."""
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
    """Return the words, and where in the text they begin and end, the client's words included."""
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
    if words.startswith(_CLARIFIES):
        return "\n".join(map(str.strip, _ANSWER.findall(words)))
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


_SHELL: Final = ("<user_shell_command>", "<result>", "</result>")
"""How Codex opens a command that the user ran, and opens and closes what that printed."""
_RAN: Final = ["I ran the following shell command:", "```sh"]
"""How Gemini CLI and Qwen Code open such a command."""
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}|~{3,})((?<=~).*|[^`]*)$")
_RUN: Final = 3
"""So many lines in a row that are numbered, or that follow each other so in a result, are no accident."""

_FIRST_OF_LIST: Final = lazy_pattern(r"\s*\d:")

Window = tuple[str, ...]
"""Lines that follow each other."""


def is_typed(message: Message, block: Block) -> bool:
    """Whether a block of a message is text that a person typed, also while the agent was at work."""
    is_text = block.kind is BlockKind.TEXT or block.api_type in TYPED_KINDS
    is_text = is_text and message.role is Role.USER and block.answers is None
    return is_text and not block.injected and not block.summarizes and bool(block.text.strip())


def pasted_units(units: Units, shown: Container[Window] = frozenset()) -> set[int]:
    """Numbers of the units of a typed text that are pasted; `shown` are lines in a row that results show."""
    return {*_fenced(units), *_numbered(units), *_repeated(units, shown), *_printed(units)}.difference(_ran(units))


class _Typed(Struct):
    """A typed text: its units, lines in a row of it, and its own units as `own_units` tells them where none is shown.

    `number` is how many texts were read before it.
    """

    number: int
    units: Units
    windows: frozenset[Window]
    own: tuple[int, ...] | None = None
    is_told: bool = False


class WordsRead:
    """Readings of texts by `own_units`, kept for other states of the conversation: most texts are the same there."""

    def __init__(self) -> None:
        self._typed: dict[Text, _Typed] = {}
        self._shown: dict[Text, tuple[int, Sequence[Window]]] = {}
        """By the text of a result for how many typed texts it was looked through, and what of them it shows."""

    def windows(self, content: Text) -> frozenset[Window]:
        """Lines in a row of a typed text, without blank ones."""
        return self._read(content).windows

    def _read(self, content: Text) -> _Typed:
        read = self._typed.get(content)
        if read is None:
            units = split(str(content))
            read = self._typed[content] = _Typed(len(self._typed), units, frozenset(_windows(units)))
        return read

    def own(self, content: Text, earlier: Set[Window]) -> tuple[int, ...] | None:
        """The units of a typed text that are not pasted, or None if none is pasted; `earlier` is shown before it."""
        read = self._read(content)
        if read.is_told and not earlier:
            return read.own
        pasted = pasted_units(read.units, earlier)
        own = tuple(unit for unit in range(len(read.units.texts)) if unit not in pasted) if pasted else None
        if not earlier:
            read.own, read.is_told = own, True
        return own

    def shown(self, typed: Iterable[Text], results: Iterable[tuple[BlockPlace, Text]]) -> dict[Window, BlockPlace]:
        """Where the first result is that shows lines in a row of typed texts, maybe of others that were read too."""
        needed = max((self._read(content).number + 1 for content in typed), default=0)
        found: dict[Window, BlockPlace] = {}
        wanted: dict[int, dict[str, set[Window]]] = {}
        for address, content in results if needed else ():
            done, windows = self._shown.get(content, (0, ()))
            if done < needed:
                if done not in wanted:
                    wanted[done] = _by_first_line(islice(self._typed.values(), done, needed))
                windows = (*windows, *_windows_in(str(content), wanted[done]))
                self._shown[content] = needed, windows
            for window in windows:
                found.setdefault(window, address)
        return found


def _by_first_line(typed: Iterable[_Typed]) -> dict[str, set[Window]]:
    found: dict[str, set[Window]] = {}
    for window in chain.from_iterable(read.windows for read in typed):
        found.setdefault(window[0], set()).add(window)
    return found


def _windows_in(text: str, wanted: Mapping[str, Set[Window]]) -> Iterator[Window]:
    """Lines in a row of a text that are among those wanted, by the first."""
    lines = text.split("\n")
    if not wanted.keys().isdisjoint(lines):
        for number, line in enumerate(lines):
            if (windows := wanted.get(line)) and (window := tuple(lines[number : number + _RUN])) in windows:
                yield window


def own_units(messages: Sequence[Message], count: Counter | None = None) -> dict[BlockPlace, tuple[int, ...] | None]:
    """For every text with words of the user the numbers of their units, or None where they are all of it.

    Of what was typed that is all but what is pasted; in the result of a call it is what the user answered there. With
    a `count` whose words are shared, nothing is read again.
    """
    read = count.shared(WordsRead) if count else WordsRead()
    typed: dict[BlockPlace, Text] = {}
    results: list[tuple[BlockPlace, Text]] = []
    answers: list[tuple[BlockPlace, Block]] = []
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if is_typed(message, block):
                typed[position, number] = block.content
            if block.kind is BlockKind.TOOL_RESULT:
                results.append(((position, number), block.content))
            if block.answers or block.kind is BlockKind.TOOL_RESULT:
                answers.append(((position, number), block))
    shown = read.shown(typed.values(), results)
    found: dict[BlockPlace, tuple[int, ...] | None] = {}
    for address, content in typed.items():
        also = read.windows(content) & shown.keys()
        found[address] = read.own(content, {window for window in also if shown[window] < address})
    for address, block in answers:
        if lines := lines_with_words(block):
            words = set(split("\n".join(lines)).texts)
            own = tuple(unit for unit, text in enumerate(split(block.text).texts) if text in words)
            found[address] = None if is_all_words(block) else own
    return found


def _windows(units: Units) -> Iterator[Window]:
    texts = units.texts
    has_text = [bool(line) and not line.isspace() for line in texts]
    for unit in range(len(texts) - _RUN + 1):
        if all(has_text[unit : unit + _RUN]):
            yield tuple(texts[unit : unit + _RUN])


def _repeated(units: Units, shown: Container[Window]) -> Iterator[int]:
    for unit in range(len(units.texts) - _RUN + 1):
        if tuple(units.texts[unit : unit + _RUN]) in shown:
            yield from range(unit, unit + _RUN)


def _fenced(units: Units) -> Iterator[int]:
    """Units between two fences; the fences stay, or what follows would be taken for fenced."""
    opened, fence = -1, ""
    for unit, text in enumerate(units.texts):
        found = _FENCE.match(text) if units.starts[unit] == unit else None
        if found is None:
            continue
        if fence and found[1].startswith(fence) and not found[2].strip():
            yield from range(opened + 1, unit)
            fence = ""
        elif not fence or (found[2].strip() and found[1][0] == fence[0]):
            # One with a language opens; so the one before it had no end.
            opened, fence = unit, found[1]


def _printed(units: Units) -> Iterator[int]:
    """Units of what a command of the user's printed, where the client tells both."""
    shell, opened, closed = _SHELL
    texts = units.texts
    if texts and texts[0] == shell and opened in texts and closed in texts:
        last = len(texts) - 1 - texts[::-1].index(closed)
        yield from range(texts.index(opened) + 1, last)


def _ran(units: Units) -> range:
    """Units of a command of the user's that the client put between fences."""
    texts = units.texts
    return range(2, texts.index("```", 2)) if [*texts[:2]] == _RAN and "```" in texts[2:] else range(0)


def _numbered(units: Units) -> Iterator[int]:
    """Units with the numbers of a listing, but for those of a list that begins with one digit and a colon."""
    start = 0
    bodies = units.bodies
    for unit in range(len(units.texts) + 1):
        if unit < len(units.texts) and len(bodies[unit]) < len(units.texts[unit]):
            continue
        if unit - start >= _RUN and not _FIRST_OF_LIST.match(units.texts[start]):
            yield from range(start, unit)
        start = unit + 1
