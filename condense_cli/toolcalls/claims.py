"""Claims of clients about files in the results of their tools that hold no longer once lines of a file went.

The file a.py has been updated successfully. (file state is current in your context — no need to Read it back)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import gaps_in
from ..core.transcript import Block, BlockKey, Message
from ..core.values import Text, size_of
from .outcomes import calls_with_results
from .tools import (
    arguments_of,
    path_argument,
    reads_a_file,
    replaces_a_file,
    shows_a_part,
    string_values,
    writes_a_file,
)

_CLAIM: Final = lazy_pattern(
    r" \(file state is current in your context[^()\n]{0,60}\)"
    r"| The content from the earlier \w{1,30} (?:tool_)?result in this conversation is still current[^.\n]{0,60}\."
    r"| Refer to that earlier tool_result instead\."
    r"|<i>You do not need to re-read the file, as you have seen all changes</i>\n"
)
"""Claude Code after a change, and in place of a file that was read before and is the same (the second is that of its
copies too); Roo Code after a change."""

SIGNS: Final = (
    "(file state is current in your context",
    " instead of re-reading.",
    " to that earlier tool_result instead.",
    ">You do not need to re-read the file",
)
"""One of these is in every such text: looking for them reads no text that is lazy."""

_LONGEST: Final = 4_000
"""Characters: a longer text shows a file, which may quote anything."""


def without_claims(text: str) -> str:
    return _CLAIM.sub("", text)


def claiming(messages: Sequence[Message]) -> frozenset[str]:
    """The paths of the files of which results say that their state is in the conversation."""
    return frozenset(
        path
        for call, results in calls_with_results(messages)
        if any(_claims(block.content) for block in results.blocks) and (path := path_argument(call)) is not None
    )


def outdated(messages: Sequence[Message], now: Mapping[BlockKey, Block], paths: frozenset[str]) -> list[BlockKey]:
    """Results that claim to have the state of one of some files, of which lines went before or with their call.

    `messages` are those of the input, without references; `now` are their blocks as far as they are still there.
    """
    found: list[BlockKey] = []
    is_cut: dict[str, bool] = {}
    for call, results in calls_with_results(messages):
        path = path_argument(call)
        if path is None or path not in paths or results.state:
            continue
        claims = [block for block in results.blocks if _claims(block.content)]
        reads, writes = reads_a_file(call) and not claims, writes_a_file(call)
        own = (call,) if writes else results.blocks if reads else ()
        is_whole = replaces_a_file(call) or (reads and not shows_a_part(call))
        went = any(_has_lost_lines(block, now.get(block.key)) for block in own)
        is_cut[path] = went or (not is_whole and is_cut.get(path, False))
        if is_cut[path]:
            found += [block.key for block in claims]
    return found


def _claims(content: Text) -> bool:
    return size_of(content) <= _LONGEST and any(sign in content for sign in SIGNS)


def _has_lost_lines(before: Block, now: Block | None) -> bool:
    """Whether lines of a block went, in this run or an earlier one."""
    if now is None or not now.reads_as(before):
        return True
    texts = [value for _, value in string_values(arguments_of(before) or {})] if before.is_object else [before.text]
    return any(map(gaps_in, texts))
