"""Read the instructions that a user gives with a compaction: names of files and tools, "keep …" and "drop …"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message
from ..core.values import BlockKind
from ..extractive.units import Units, render, split
from ..toolcalls.tools import paths

_DROP: Final = (
    "drop|forget|omit|skip|ignore|remove|exclude|leave out|without|(?:do not|don['\u2019]t|no need to) (?:keep|include)"
)
_KEEP: Final = (
    "keep|preserve|retain|remember|include|focus on|concentrate on"
    "|(?:do not|don['\u2019]t|never) (?:drop|forget|omit|skip|remove|lose)"
)
_VERB: Final = lazy_pattern(
    rf"(?:^|[\n;,.!?:][ \t]{{0,8}}|\b(?:please|and|but|then)[ \t]{{1,8}})(?:(?P<drop>{_DROP})|(?:{_KEEP}))\b",
    re.IGNORECASE,
)
"""A verb where an instruction begins; "the decision to drop it" has none."""
_AND: Final = lazy_pattern(r"[,;\n]|\band\b|\bor\b|&", re.IGNORECASE)
_WORD: Final = lazy_pattern(r"[\w./\\~*@-]+")
_NAMES_NOTHING: Final = """
a about all also an and any anything are as be but by code change changes content contents detail details do everything
file files for from important in is it its just me most my of on only our output outputs part parts please
regarding related result results said stuff that the them these this those then to up us we what which with you your
"""
_STOP_WORDS: Final = frozenset(_NAMES_NOTHING.split())
_HASHES: Final = tuple(f"{'#' * level} " for level in range(1, 7))
_LONGEST_SECTION: Final = 40
_NAME: Final = frozenset("/.*")
"""Characters of names of files: such a word may be a part of one."""

Phrase = frozenset[str]
"""Words that the user named together, in small letters."""


class Wishes(Struct, frozen=True):
    """What the user asked for with the command: phrases to keep, and to drop."""

    keep: tuple[Phrase, ...] = ()
    drop: tuple[Phrase, ...] = ()

    @classmethod
    def of(cls, instructions: str) -> Wishes:
        """Read instructions such as "keep the migration plan and src/db.py, drop the test output"."""
        keep: list[Phrase] = []
        drop: list[Phrase] = []
        verbs = [*_VERB.finditer(instructions)]
        starts, ends = [0, *(verb.end() for verb in verbs)], [*(verb.start() for verb in verbs), len(instructions)]
        lists = [keep, *(drop if verb["drop"] else keep for verb in verbs)]
        for chosen, start, end in zip(lists, starts, ends, strict=True):
            for part in _AND.split(instructions[start:end]):
                words = (word.rstrip(".\\~@-").casefold() for word in _WORD.findall(part))
                phrase = frozenset(word for word in words if word.strip("./\\~*@-") and word not in _STOP_WORDS)
                if phrase:
                    chosen.append(phrase)
        return cls(tuple(keep), tuple(drop))

    def meant(self, phrases: Iterable[Phrase], messages: Sequence[Message]) -> frozenset[tuple[int, int]]:
        """Return the calls that a file's name or a tool's name means, and their results, by position and number."""
        words = frozenset(word for phrase in phrases for word in phrase)
        files = [word for word in words if "/" in word or "." in word]
        found: set[tuple[int, int]] = set()
        calls: set[str] = set()
        for position, message in enumerate(messages):
            for number, block in enumerate(message.blocks):
                is_meant = (
                    block.answers in calls if block.answers else bool(block.tool and block.tool.casefold() in words)
                )
                if block.kind is BlockKind.TOOL_CALL and not is_meant:
                    is_meant = any(_is_named(path.casefold(), file) for path in paths(block) for file in files)
                if is_meant:
                    found.add((position, number))
                    calls.update(filter(None, [block.call_id]))
        return frozenset(found)


def _is_named(path: str, name: str) -> bool:
    """Whether a name means a path: the whole of it, its end, a folder, or a glob."""
    name = name.removeprefix("./").rstrip("/*")
    return (
        path.endswith(f"/{name}")
        or path.startswith(f"{name}/")
        or f"/{name}/" in path
        or fnmatchcase(path, name)
        or fnmatchcase(path, f"*/{name}")
    )


def _is_heading(text: str) -> bool:
    line = text.strip()
    is_bold = len(line) > 4 and line.startswith("**") and line.endswith("**")
    return line.startswith(_HASHES) or line.endswith(":") or is_bold


@lru_cache(64)
def _patterns(phrase: Phrase) -> tuple[re.Pattern[str], ...]:
    """Return what finds each word of a phrase: part of a name as it is, any other word also with or without an s."""
    found = []
    for word in phrase:
        if not word.isascii() or not _NAME.isdisjoint(word):  # Not all languages put blanks between words.
            found.append(re.compile(re.escape(word.rstrip("*"))))
        else:
            stem = word if word.endswith("ss") else word.removesuffix("s")
            found.append(re.compile(rf"(?<![a-z0-9]){re.escape(stem)}s?(?![a-z0-9])"))
    return tuple(found)


def matching(units: Units, phrase: Phrase) -> Iterator[int]:
    """Yield the units whose line has all words of a phrase; below a heading that has them, those of its section."""
    patterns = _patterns(phrase)
    below = 0
    for unit, text in enumerate(units.texts):
        line = text.casefold()
        if all(pattern.search(line) for pattern in patterns):
            below = _LONGEST_SECTION if _is_heading(text) else 0
            yield unit
        elif below:
            ends = not text.strip() or _is_heading(text)
            below = 0 if ends and below < _LONGEST_SECTION else below - 1
            if below:
                yield unit


def without_dropped(messages: Sequence[Message], wishes: Wishes) -> list[Message]:
    """Return the messages without the calls, results and lines that the user wants dropped."""
    gone = wishes.meant(wishes.drop, messages)
    found = []
    for position, message in enumerate(messages):
        blocks = [block for number, block in enumerate(message.blocks) if (position, number) not in gone]
        blocks = [_without_lines(block, wishes.drop) for block in blocks]
        found.append(replace(message, blocks=tuple(blocks)))
    return found


def _without_lines(block: Block, phrases: Iterable[Phrase]) -> Block:
    if not phrases or block.kind not in (BlockKind.TEXT, BlockKind.TOOL_RESULT):
        return block
    units = split(block.text)
    gone = {unit for phrase in phrases for unit in matching(units, phrase)}
    if not gone:
        return block
    return block.with_text(render(units, [unit not in gone for unit in range(len(units.texts))]))
