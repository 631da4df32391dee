"""What of a text that the user typed is pasted; all the rest are the user's own words, which go last.

Pasted are lines between two fences, the numbered lines of a listing, lines that repeat an earlier result, and what a
client says that a command of the user's printed. In doubt
a line is the user's own: a fence without an end encloses nothing, and a list of demands may be numbered too.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import TYPED_KINDS, Block, Message
from ..core.values import BlockKind, Role, Text
from .answers import is_all_words, lines_with_words
from .units import Units, split

_SHELL: Final = ("<user_shell_command>", "<result>", "</result>")
"""How Codex opens a command that the user ran, and opens and closes what that printed."""
_RAN: Final = ["I ran the following shell command:", "```sh"]
"""How Gemini CLI and Qwen Code open such a command."""
_FENCE: Final = lazy_pattern(r" {0,3}(`{3,}|~{3,})((?<=~).*|[^`]*)$")
_RUN: Final = 3
"""So many lines in a row that are numbered, or that stand so in a result, are no accident."""

_FIRST_OF_LIST: Final = lazy_pattern(r"\s*\d:")

Window = tuple[str, ...]
"""Lines that follow each other."""

Address = tuple[int, int]
"""The position of a message and the number of a block in it."""


def is_typed(message: Message, block: Block) -> bool:
    """Whether a block of a message is text that a person typed, also while the agent was at work."""
    is_text = block.kind is BlockKind.TEXT or block.api_type in TYPED_KINDS
    is_text = is_text and message.role is Role.USER and block.answers is None
    return is_text and not block.injected and not block.summarizes and bool(block.text.strip())


def pasted_units(units: Units, shown: Container[Window] = frozenset()) -> set[int]:
    """Numbers of the units of a typed text that are pasted; `shown` are lines in a row that results show."""
    return {*_fenced(units), *_numbered(units), *_repeated(units, shown), *_printed(units)}.difference(_ran(units))


Without = dict[Text, frozenset[str]]
"""By the text of a result lines of which it has none."""


def own_units(messages: Sequence[Message], without: Without | None = None) -> dict[Address, tuple[int, ...] | None]:
    """For every text with words of the user the numbers of their units, or None where they are all of it.

    Of what was typed that is all but what is pasted; in the result of a call it is what the user answered there. Which
    results have no line of what was typed is noted in `without`: in another state most are the same.
    """
    typed = {
        (position, number): split(block.text)
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if is_typed(message, block)
    }
    shown = _shown(messages, typed, {} if without is None else without)
    found: dict[Address, tuple[int, ...] | None] = {}
    for address, units in typed.items():
        earlier = {window for window in _windows(units) if shown.get(window, address) < address}
        pasted = pasted_units(units, earlier)
        own = tuple(unit for unit in range(len(units.texts)) if unit not in pasted)
        found[address] = own if pasted else None
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if lines := lines_with_words(block):
                words = set(split("\n".join(lines)).texts)
                own = tuple(unit for unit, text in enumerate(split(block.text).texts) if text in words)
                found[position, number] = None if is_all_words(block) else own
    return found


def _shown(messages: Sequence[Message], typed: dict[Address, Units], without: Without) -> dict[Window, Address]:
    """Where the first result stands that shows lines in a row of what was typed."""
    wanted = {window for units in typed.values() for window in _windows(units)}
    firsts = frozenset(window[0] for window in wanted)
    found: dict[Window, Address] = {}
    for position, message in enumerate(messages) if wanted else ():
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_RESULT and without.get(block.content) != firsts:
                lines = block.text.split("\n")
                if firsts.isdisjoint(lines):
                    without[block.content] = firsts
                    continue
                for line in range(len(lines)):
                    window = tuple(lines[line : line + _RUN])
                    if window in wanted:
                        found.setdefault(window, (position, number))
    return found


def _windows(units: Units) -> Iterator[Window]:
    for unit in range(len(units.texts) - _RUN + 1):
        window = tuple(units.texts[unit : unit + _RUN])
        if all(line.strip() for line in window):
            yield window


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
