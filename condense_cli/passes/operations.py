"""The operations on a single block: each gives the block as it becomes, or the reason why it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..config.models import ContentOperation, ImageOperation, TruncateParams
from ..markers import Gap
from ..tokens import Counter
from ..tools import PATH_ARGUMENTS, arguments_of, replace_arguments, string_values
from ..transcript import Block, BlockKind, JsonPath
from . import cutting
from .receipts import Kept

SHORT_VALUE: Final = 20
"""Argument values of up to so many tokens stay: a call whose path is gone tells nobody anything."""

_NAMES: Final = frozenset({*PATH_ARGUMENTS, "url", "pattern"})
"""Arguments that name what the call is about: they stay whatever their length, unless they have several lines."""

Rewrite = Callable[[str], str]


def apply(block: Block, operation: ContentOperation, count: Counter, strictness: float = 1.0) -> Block | Kept:
    """What the operation makes of the block. `strictness` below 1 scales every limit and threshold down."""
    if operation.operation == "keep":
        return Kept.CONFIGURED
    if operation.operation == "summarize":
        return Kept.NO_SUMMARIZER
    if count.block(block) < operation.min_tokens * strictness:
        return Kept.SMALL
    rewrite = _rewrite(operation, strictness)
    if block.kind is BlockKind.TOOL_CALL:
        return _rewrite_arguments(block, rewrite, count)
    old = block.text
    text = rewrite(old)
    if text == old:
        return Kept.WITHIN_LIMITS
    if count(text) >= count(block.content):
        return Kept.NOT_SMALLER
    return block.with_text(text)


def leave_out_image(
    block: Block, kind: BlockKind, operation: ImageOperation, count: Counter, strictness: float
) -> Block | Kept:
    """The marker in place of an image; `kind` is what a text is where the image stands."""
    if operation.operation == "keep":
        return Kept.CONFIGURED
    if count.block(block) < operation.min_tokens * strictness:
        return Kept.SMALL
    marker = str(Gap(block.digest, is_image=True))
    if count(marker) >= count.block(block):
        return Kept.NOT_SMALLER
    return block.replaced_by(marker, kind)


def _rewrite(operation: ContentOperation, strictness: float) -> Rewrite:
    if operation.operation == "suppress":
        return cutting.suppress
    params = (operation.params and operation.params.truncate) or TruncateParams()
    limits = cutting.Limits(
        _scaled(params.max_lines, strictness), _scaled(params.max_chars, strictness), params.keep, params.add_ellipsis
    )
    return lambda text: cutting.truncate(text, limits)


def _scaled(limit: int | None, strictness: float) -> int | None:
    return None if limit is None else max(1, int(limit * strictness))


def _rewrite_arguments(block: Block, rewrite: Rewrite, count: Counter) -> Block | Kept:
    """Long string values one by one; keys, short values and everything that is no string stay."""
    arguments = arguments_of(block)
    if arguments is None:
        return Kept.NOT_AN_OBJECT
    edits: dict[JsonPath, str] = {}
    found_long = False
    for path, value in string_values(arguments):
        if count(value) <= SHORT_VALUE or _is_name(path, value):
            continue
        new = rewrite(value)
        found_long = found_long or new != value
        if new != value and count(new) < count(value):
            edits[path] = new
    if not edits:
        return Kept.NOT_SMALLER if found_long else Kept.SHORT_VALUES
    text = replace_arguments(block, edits)
    if count(text) >= count(block.content):
        return Kept.NOT_SMALLER
    return block.with_edits(text, edits)


def _is_name(path: JsonPath, value: str) -> bool:
    return path[-1] in _NAMES and "\n" not in value
