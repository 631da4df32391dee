"""The operations on a single block: each gives the block as it becomes, or the reason why it stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, assert_never

from ...config.models import ContentOperation, ImageOperation, SummarizeParams, TruncateParams
from ...core.markers import PREFIX, Gap, gaps_in, short, short_hash
from ...core.transcript import Block, JsonPath
from ...core.values import BlockKind
from ...core.wording import plural
from ...tokens.counting import Counter
from ...toolcalls.tools import PATH_ARGUMENTS, arguments_of, string_values, with_values
from ..receipts import Kept
from ..summaries import Outcome, Refused, TextTask, Written
from . import cutting
from .state import TodoList, leave_out

SHORT_VALUE: Final = 20
"""Argument values of up to so many tokens stay: a call whose path is gone tells nobody anything."""

_LINE: Final = 500
"""Characters that a limit of lines leaves of each, where no limit of characters is given: many tools answer in one
line, however long."""

_NAMES: Final = frozenset({*PATH_ARGUMENTS, "url", "pattern"})
"""Arguments that name what the call is about: they stay whatever their length, unless they have several lines."""

Rewrite = Callable[[str], str]
Summaries = Mapping[TextTask, Outcome]


def apply(
    block: Block, operation: ContentOperation, count: Counter, strictness: float = 1.0, state: TodoList | None = None
) -> Block | Kept:
    """Apply an operation that asks nobody to the block; for summaries, which are asked for, see `summarize`.

    `strictness` below 1 scales every limit and threshold down.
    """
    match operation.operation:
        case "keep":
            return Kept.CONFIGURED
        case "suppress":
            rewrite: Rewrite = cutting.suppress
        case "truncate":
            rewrite = _truncation(operation, strictness)
        case "summarize":
            raise ValueError("a summary has to be asked for")
        case other:
            assert_never(other)
    if count.content(block) < operation.min_tokens * strictness:
        return Kept.SMALL
    return _rewritten(block, rewrite, count, state, cutting.LEAST_SAVED)


def summarize(
    block: Block,
    operation: ContentOperation,
    count: Counter,
    strictness: float,
    summaries: Summaries,
    state: TodoList | None = None,
) -> Block | Kept | Refused:
    """The block with the summaries of its `summary_tasks` in it; where one was refused, it stays."""
    if count.content(block) < operation.min_tokens * strictness:
        return Kept.SMALL
    refused = next((outcome for outcome in summaries.values() if isinstance(outcome, Refused)), None)
    if refused:
        return refused
    written = {
        task.text: _marked(task.text, outcome) for task, outcome in summaries.items() if isinstance(outcome, Written)
    }
    return _rewritten(block, lambda text: written.get(text, text), count, state, 1)


def _rewritten(
    block: Block, rewrite: Rewrite, count: Counter, state: TodoList | None, least_saved: int
) -> Block | Kept:
    if block.kind is BlockKind.TOOL_CALL:
        return _rewrite_call(block, rewrite, count, state, least_saved)
    old = block.text
    text = rewrite(old)
    if text == old:
        return Kept.WITHIN_LIMITS
    new = block.with_text(text)  # It is its content that is counted: what is remembered is not held twice.
    return Kept.NOT_SMALLER if count(new.content) + least_saved > count(block.content) else new


def limit_of(operation: ContentOperation, strictness: float) -> int:
    """Tokens that a summary may have."""
    params = (operation.params and operation.params.summarize) or SummarizeParams()
    return max(1, int(params.max_tokens * strictness))


def summary_tasks(
    block: Block, operation: ContentOperation, count: Counter, strictness: float = 1.0, state: TodoList | None = None
) -> Iterator[TextTask]:
    """The texts of a block that the operation wants summaries of: those with more tokens than a summary may have."""
    if operation.operation != "summarize" or count.content(block) < operation.min_tokens * strictness:
        return
    params = (operation.params and operation.params.summarize) or SummarizeParams()
    limit = limit_of(operation, strictness)
    texts: list[tuple[JsonPath, str]] = [((), block.text)]
    if block.kind is BlockKind.TOOL_CALL:
        texts = list(long_values(block, count, state))
    for path, text in texts:
        if count(text) > limit and not _is_summary(text):
            yield TextTask(
                block, text, limit, path, params.api_profile, params.custom_prompt, params.max_parallel_calls,
                params.validate.min_facts,
            )  # fmt: skip


def _is_summary(text: str) -> bool:
    return text.startswith(PREFIX) and any(gap.is_summary for gap in gaps_in(text.partition("\n")[0]))


def _marked(text: str, summary: Written) -> str:
    if summary.is_extract:
        return summary.text
    lines = text.removesuffix("\n").count("\n") + 1
    return f"{Gap(short_hash(text), lines, is_summary=True)}\n{summary.text}"


def leave_out_image(
    block: Block, kind: BlockKind, operation: ImageOperation, count: Counter, strictness: float
) -> Block | Kept:
    """The marker in place of an image; `kind` is what a text in its place would be."""
    match operation.operation:
        case "keep":
            return Kept.CONFIGURED
        case "suppress":
            pass
        case other:
            assert_never(other)
    if count.content(block) < operation.min_tokens * strictness:
        return Kept.SMALL
    marker = str(Gap(short(block.digest), is_image=True))
    if count(marker) >= count.block(block):
        return Kept.NOT_SMALLER
    return block.replaced_by(marker, kind)


def _truncation(operation: ContentOperation, strictness: float) -> Rewrite:
    limits = _limits(operation, strictness)
    # A summary that an earlier run wrote stays: the first run would have cut what it replaced, not the summary.
    return lambda text: text if _is_summary(text) else cutting.truncate(text, limits)


def _limits(operation: ContentOperation, strictness: float) -> cutting.CutLimits:
    params = (operation.params and operation.params.truncate) or TruncateParams()
    lines, characters = _scaled(params.max_lines, strictness), _scaled(params.max_chars, strictness)
    if lines is not None and characters is None:
        characters = lines * _LINE
    return cutting.CutLimits(lines, characters, params.keep, params.add_ellipsis)


def stays_text(operation: ContentOperation | ImageOperation, strictness: float) -> str:
    """Say what stays of a block."""
    if not isinstance(operation, ContentOperation) or operation.operation != "truncate":
        return "a short summary of it stays" if operation.operation == "summarize" else "only its marker stays"
    limits = _limits(operation, strictness)
    amounts = [
        plural(limit, noun)
        for limit, noun in ((limits.max_lines, "line"), (limits.max_chars, "character"))
        if limit is not None
    ]
    return f"{' or '.join(amounts)} of it stay" if amounts else "all of it stays"


def _scaled(limit: int | None, strictness: float) -> int | None:
    return None if limit is None else max(1, int(limit * strictness))


def _rewrite_call(
    block: Block, rewrite: Rewrite, count: Counter, state: TodoList | None, least_saved: int
) -> Block | Kept:
    """A list of todos that is over goes whole, whatever the operation; the newest one stays."""
    if state is None:
        return _rewrite_arguments(block, rewrite, count, None, least_saved)
    left = leave_out(block, state, count) if state.is_over else Kept.NEWEST_STATE
    begun = left if isinstance(left, Block) else block
    rewritten = _rewrite_arguments(begun, rewrite, count, state, least_saved)
    return left if rewritten is Kept.SHORT_VALUES or (begun is left and isinstance(rewritten, Kept)) else rewritten


def _rewrite_arguments(
    block: Block, rewrite: Rewrite, count: Counter, state: TodoList | None, least_saved: int
) -> Block | Kept:
    """Long string values one by one; keys, short values and everything that is no string stay."""
    if arguments_of(block) is None:
        return Kept.NOT_AN_OBJECT
    edits: dict[JsonPath, str] = {}
    found_long = False
    for path, value in long_values(block, count, state):
        new = rewrite(value)
        found_long = found_long or new != value
        if new != value and count(new) + least_saved <= count(value):
            edits[path] = new
    if not edits:
        return Kept.NOT_SMALLER if found_long else Kept.SHORT_VALUES
    written = with_values(block, edits)
    return Kept.NOT_SMALLER if count(written.content) >= count(block.content) else written


def long_values(block: Block, count: Counter, state: TodoList | None = None) -> Iterator[tuple[JsonPath, str]]:
    """The string values of a call that operations may rewrite, with their paths; of a list of todos none."""
    for path, value in string_values(arguments_of(block)):
        if state is not None and state.holds(path):
            continue
        is_name = path[-1] in _NAMES and "\n" not in value
        if count(value) > SHORT_VALUE and not is_name:
            yield path, value
