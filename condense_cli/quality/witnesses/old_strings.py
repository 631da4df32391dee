"""Edits by whole old strings: the texts that later edits replace, whole, not line by line.

Asked is every text that an edit after the cut had to find, where it stood whole in one text before the cut, and was not
shown whole again in between; of a patch, the lines of a hunk that it takes for given. The numbers of listings do not
count. It sees that an edit needs all its lines, side by side. It does not see that a model could choose other ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ...core.transcript import Block, Message
from ...core.values import STANDING_ROLES, BlockKind, Role
from ...lossless.lines import read_lines
from ...toolcalls.outcomes import Results, results_of
from ...toolcalls.tools import BEGIN, arguments_of, matched_texts, string_values
from ..needs import said_lines, texts_in
from .condensed import Condensed

_MOST: Final = 200
"""Each text is searched for each old string: more of them tell little more, and would take long."""


class OldStrings:
    """The old strings that edits after a cut took from before it."""

    def __init__(self, before: Sequence[Message], after: Sequence[Message]) -> None:
        always = texts_in(message for message in before if message.role in STANDING_ROLES)
        self._wanted = tuple(_unshown(after, [_plain(text) for text in always]))
        self._found: dict[str, frozenset[str]] = {}
        self.asked = self._in(texts_in(message for message in before if message.role not in STANDING_ROLES))

    def __call__(self, kept: Condensed) -> float | None:
        """The share that stands; None where there are none."""
        return len(self.asked & self._in(kept.texts)) / len(self.asked) if self.asked else None

    def _in(self, texts: Iterable[str]) -> frozenset[str]:
        """The wanted that are in one of the texts."""
        found: set[str] = set()
        for text in texts if self._wanted else ():
            known = self._found.get(text)
            if known is None:
                plain = _plain(text)
                known = self._found[text] = frozenset(old for old in self._wanted if old in plain)
            found |= known
        return frozenset(found)


def _unshown(after: Sequence[Message], shown: list[str]) -> Iterator[str]:
    """What the first edits replace that nothing has shown by then; `shown` are texts that need no showing."""
    results = results_of(after)
    seen: set[str] = set()
    for message in after:
        if message.role is not Role.ASSISTANT:
            shown += map(_plain, texts_in((message,)))
            continue
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL and not results.get(id(block), Results()).is_refused:
                for old in old_strings(block):
                    if len(seen) == _MOST:
                        return
                    if old not in seen and not any(old in text for text in shown):
                        yield old
                    seen.add(old)


def old_strings(call: Block) -> Iterator[str]:
    """The texts that an edit has to find, each whole."""
    patched = [value for _, value in string_values(arguments_of(call) or {"input": call.text}) if BEGIN in value]
    found = [old for patch in patched for old in _hunks(patch)] if patched else matched_texts(call)
    for old in found:
        old = old.strip("\n")
        if any(said_lines(old.split("\n"))):
            yield old


def _hunks(patch: str) -> Iterator[str]:
    """The lines of each hunk that the file must have."""
    lines: list[str] = []
    for line in [*patch.split("\n"), "@@"]:
        if line.startswith(("-", " ")):
            lines.append(line[1:])
        elif line.startswith(("@@", "*** ")) and lines:
            yield "\n".join(lines)
            lines = []


def _plain(text: str) -> str:
    return "\n".join(read_lines(text).keys)
