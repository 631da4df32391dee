"""The largest cuts of a run: a heading for each, the first line that went, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

from ...core.plurals import plural
from ...core.tokens import Counter
from ...core.transcript import BlockKind
from ...passes.condensation import Condensation
from ...passes.explained import explained
from ..difference.facts import BlockDiff, Diff, of_run
from ..text.fitted_table import shortened
from ..text.reasons import main_reason
from ..text.visible import visible

SHOWN: Final = 5
_LEAST_SHOWN: Final = 24
"""Characters of the line that went; the reason gets what it needs of the rest."""
_RULE: Final = re.compile(r"([=_*#~-])\1{3,}")
"""A rule across the page, as around the headings of test runs."""
_INSIDE: Final = "parts of a long line"


def largest(diff: Diff, result: Condensation, count: Counter) -> list[BlockDiff]:
    """The blocks on which most was saved, in the order of the conversation, with the reasons of their lines."""
    chosen = sorted(diff.blocks, key=lambda block: block.tokens_after - block.tokens_before)[:SHOWN]
    chosen = [block for block in chosen if block.tokens_after < block.tokens_before]
    cut = {id(block.old) for block in chosen}
    places = {
        (message.index, number)
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
        if id(block) in cut
    }
    told = of_run(explained(result, count, places), count)
    by_block = {id(block.old): block for block in told.blocks}
    return sorted((by_block[id(block.old)] for block in chosen), key=lambda block: block.message)


def render_largest(blocks: Sequence[BlockDiff], result: Condensation, width: int) -> Iterator[Text]:
    """Two lines for each block: which it is, and what of it went."""
    numbers = {
        id(block): f"{message.index}.{number}"
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
    }
    for block in blocks:
        yield _heading(block, numbers.get(id(block.old), f"{block.message}"), width)
        yield _line(block, width)


def sizes_of(block: BlockDiff) -> str:
    """Tokens before and after; those of a summary that has it in it are told with the summary."""
    return f"{block.tokens_before:,} → {'summary' if block.has_moved else f'{block.tokens_after:,}'}"


def _heading(block: BlockDiff, number: str, width: int) -> Text:
    tokens = f"  {sizes_of(block)}"
    is_call = block.kind is BlockKind.TOOL_CALL
    kind = " (parameters)" if is_call else ""
    name = visible(block.label or block.kind_label)
    text = Text(f"{number}  ", style="bold")
    room = width - text.cell_len - cell_len(tokens) - len(kind)
    label = Text(shortened(name, room), style="not bold")
    label.truncate(room, overflow="ellipsis")
    text.append_text(label).append(kind, style="not bold dim")
    text.pad_right(max(0, width - cell_len(tokens) - text.cell_len))
    return text.append(tokens)


def _is_telling(line: str) -> bool:
    """Whether a line is words rather than brackets and numbers."""
    return 2 * sum(map(str.isalpha, line)) > len(line)


def _line(block: BlockDiff, width: int) -> Text:
    """The first line that went and has something to say, how many more went with it, and why."""
    gone = [hunk for hunk in block.hunks() if hunk.sign == "-"]
    lines = [line for hunk in gone for line in hunk.lines]
    plain = [" ".join(_RULE.sub("", line).split()) for line in lines]
    first = next(filter(_is_telling, plain), "") or next(filter(None, plain), "")
    first = first or (block.old.api_type if block.old else "")
    if not lines and block.moved_lines:
        return Text(f"  all {plural(block.moved_lines, 'line')} of it in the summary"[:width], style="dim")
    text = Text("  - ", style="red")
    text.append(visible(first))
    why = main_reason(why for hunk in gone for why in block.why(hunk)) or block.reason.partition(",")[0]
    why = why or _INSIDE  # Reasons are of whole lines; of this one a part stayed.
    more = f"{len(lines) - 1:,} more" if len(lines) > 1 else ""
    in_summary = f"{plural(block.moved_lines, 'line')} in the summary" if block.moved_lines else ""
    said = visible("; ".join(filter(None, (": ".join(filter(None, (more, why))), in_summary))))
    if said:
        text.truncate(max(_LEAST_SHOWN, width - cell_len(said) - 3), overflow="ellipsis")
        text.append(f" … {said}", style="dim")
    text.truncate(width, overflow="ellipsis")
    return text
