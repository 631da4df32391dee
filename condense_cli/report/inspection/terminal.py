"""What fills a transcript, for people: tables and bars by Rich, each row in one line of the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace
from rich.console import Group, RenderableType
from rich.text import Text

from ...core.wording import plural
from ...money.prices import LISTED
from ..run.terminal import kinds_text
from ..text.fitted_table import GAP, column_widths, fitted_table
from ..text.labels import BlockShare, percent, percent_text
from ..text.tokens import carried, counted, source_text
from ..text.visible import visible
from .facts import DIFFERENCE, MARKUP, Inspection, Parts, Repeats

_FIRST = 5
"""Tools, and files, of the answer."""
_WIDEST_BAR = 40
_SHORTEST_BAR = 4
_NAMES = {
    "display_copies": "copies for display",
    "not_live": "messages not in the live conversation",
    "keys": "ids, times, usage",
    "prompt": "system prompt and tools",
    "request_copies": "copies of requests",
    "other_records": "other records",
}


def render_answer(found: Inspection, width: int) -> Iterator[RenderableType]:
    """What fills the transcript most, in about twenty lines; `render` has the rest."""
    found = replace(found, tools=found.tools[:_FIRST], files=found.files[:_FIRST])
    yield _headline(found)
    if found.messages:
        yield ""
    yield from _fillers(found, width)
    repeats = found.repeats
    if repeats.tokens:
        yield ""
        yield Text(
            f"{repeats.tokens:,} tokens ({percent_text(repeats.percent)}) repeat earlier text; references would "
            f"save up to {repeats.lossless.tokens:,} (reversible).",
            style="bold",
        )
    for warning in found.warnings:
        yield Text(visible(f"Warning: {warning}"), style="yellow")
    yield Text("--all shows the largest messages and blocks, and how this is known.", style="dim")


def render(found: Inspection, width: int) -> Iterator[RenderableType]:
    """The report, section by section; no line is wider than `width`."""
    yield _headline(found)
    yield ""
    if found.in_use.tokens != found.tokens.total:
        yield _in_use(found.in_use, width)
        yield ""
    yield from _fillers(found, width)
    if found.largest_messages:
        yield ""
        yield _messages(found, width)
    if found.largest_blocks:
        yield ""
        yield _blocks("block", found.largest_blocks, width)
    if found.messages:
        yield ""
        yield from _repeats(found, width)
    yield from _notes(found)


def _fillers(found: Inspection, width: int) -> Iterator[RenderableType]:
    """What fills it by type, tool and file."""
    if found.messages:
        yield _content_types(found, width)
    if found.tools:
        yield ""
        yield _tools(found, width)
    if found.files:
        yield ""
        yield _files(found, width)


def _files(found: Inspection, width: int) -> Group:
    rows = [
        [share.name, f"{share.tokens:,}", percent_text(share.percent), f"{share.blocks:,}"] for share in found.files
    ]
    return fitted_table(("file", "tokens", "share", "blocks"), rows, (1, 2, 3), width, flexible=0, is_path=True)


def _bar(part: int, largest: int, room: int) -> Text:
    cells = max(1, round(room * part / largest)) if part and largest else 0
    return Text("█" * cells, style="cyan")


def _headline(found: Inspection) -> Text:
    text = Text(plural(found.tokens.total, "token"), style="bold")
    text.append(f" in {plural(found.messages, 'message')}", style="not bold")
    tokens, window = found.tokens, found.window
    if tokens.overhead or window:
        text.append(f"\n{carried(tokens.overhead, tokens.overhead_source)}", style="not bold")
    if window:
        share = f"{percent_text(window.percent)} of a context window of {window.tokens:,} tokens"
        if window.tokens_source != LISTED:
            share += f" ({window.tokens_source})"
        text.append(f"\n{window.used:,} in use ({window.source}): {share}", style="not bold")
    return text


def _in_use(found: Parts, width: int) -> Group:
    rows = [
        [
            part.name,
            f"{part.tokens:,}",
            percent_text(part.percent),
            "" if part.name == DIFFERENCE else source_text(part.known),
        ]
        for part in found.parts
    ]
    rows.append(["in use", f"{found.tokens:,}", "", found.source])
    return fitted_table(("part", "tokens", "share", ""), rows, (1, 2), width, flexible=0)


def _content_types(found: Inspection, width: int) -> Group:
    rows = [[share.name, f"{share.tokens:,}", percent_text(share.percent)] for share in found.content_types]
    if found.tokens.constants:
        constants = found.tokens.constants
        rows.append([MARKUP, f"{constants:,}", percent_text(percent(constants, found.tokens.total))])
    bars = [*(share.tokens for share in found.content_types), found.tokens.constants][: len(rows)]
    return with_bars(("content", "tokens", "share"), rows, (1, 2), bars, width)


def _tools(found: Inspection, width: int) -> Group:
    rows = [
        [
            share.name or "(unknown)",
            f"{share.tokens:,}",
            percent_text(share.percent),
            f"{share.calls:,}",
            f"{share.parameters:,}",
            f"{share.results:,}",
        ]
        for share in found.tools
    ]
    bars = [share.tokens for share in found.tools]
    columns = ("tool", "tokens", "share", "calls", "parameters", "results")
    return with_bars(columns, rows, (1, 2, 3, 4, 5), bars, width)


def _messages(found: Inspection, width: int) -> Group:
    rows = [
        [f"#{share.message}", share.role, f"{share.tokens:,}", percent_text(share.percent), share.label]
        for share in found.largest_messages
    ]
    return fitted_table(("message", "", "tokens", "share", "largest part"), rows, (2, 3), width, flexible=4)


def _blocks(title: str, shares: Sequence[BlockShare], width: int) -> Group:
    rows = [
        [
            f"{share.message}.{share.block}",
            share.content_type,
            f"{share.tokens:,}",
            percent_text(share.percent),
            f"= {share.first}  {share.label}" if share.first else share.label,
        ]
        for share in shares
    ]
    return fitted_table((title, "", "tokens", "share", ""), rows, (2, 3), width, flexible=4)


def _repeats(found: Inspection, width: int) -> Iterator[RenderableType]:
    """What is repeated, what references in place of it save, and where most of it stands."""
    repeats = found.repeats
    if repeats.tokens:
        yield Text(f"{repeats.tokens:,} tokens ({percent_text(repeats.percent)}) repeat earlier text", style="bold")
        yield Text(
            f"{repeats.block_tokens:,} in {plural(repeats.whole_blocks, 'whole block')}, "
            f"{repeats.line_tokens:,} in {plural(repeats.lines, 'line')} of others",
            style="dim",
        )
    else:
        yield Text("Nothing repeats.")
    yield from _references(repeats, width)
    if repeats.largest:
        yield ""
        yield _blocks("repeated", repeats.largest, width)


def _references(repeats: Repeats, width: int) -> Iterator[RenderableType]:
    lossless, held = repeats.lossless, repeats.references
    if held.resolved or held.unresolved:
        held_by = plural(held.resolved, "reference saves", "references save")
        text = Text(f"{held_by} {held.saved:,} tokens already." if held.resolved else "", style="bold")
        if held.unresolved:
            broken = plural(held.unresolved, "reference cannot be undone", "references cannot be undone")
            text.append(f"{' ' if held.resolved else ''}{broken}.", style="yellow")
        yield text
    if not lossless.tokens and not lossless.tool_parameters.tokens:
        if repeats.tokens:
            yield Text("References would save nothing.")
        return
    who = "Rewriting them" if held.resolved else "References"
    of_all = percent_text(lossless.percent)
    yield Text(f"{who} would save up to {lossless.tokens:,} tokens ({of_all}), reversibly", style="bold")
    shares = [
        *((share.name, share) for share in lossless.finders),
        ("tool_parameters, in addition", lossless.tool_parameters),
    ]
    rows = [[name, f"{share.tokens:,}", percent_text(share.percent), f"{share.blocks:,}"] for name, share in shares]
    yield fitted_table(("finder, alone", "tokens", "share", "blocks"), rows, (1, 2, 3), width, flexible=0)


def _notes(found: Inspection) -> Iterator[RenderableType]:
    tokens = found.tokens
    yield ""
    how_counted = counted(
        found.model,
        tokens.encoding,
        tokens.counting,
        exact=tokens.exact,
        estimated=tokens.estimated,
        counter=tokens.counter,
    )
    text = " ".join(how_counted)
    sent = found.bytes.get("sent")
    if sent is not None:
        aside = ", ".join(f"{found.bytes[key]:,} {name}" for key, name in _NAMES.items() if found.bytes.get(key))
        text += f" Of {found.bytes['total']:,} bytes, {sent:,} reach the model; the rest: {aside}."
    if found.slim.bytes:
        whole = "the rest" if sent is not None else f"{found.bytes['total']:,} bytes"
        text += f" --slim would leave out {found.slim.bytes:,} of {whole}: {kinds_text(found.slim)}."
    yield Text(visible(f"{found.input}: {found.format}. {text}"), style="dim")
    if found.unknown_kinds:
        kinds = ", ".join(f"{name} ({number:,})" for name, number in found.unknown_kinds.items())
        yield Text(visible(f"Not counted, because it is unknown whether they are sent: {kinds}."), style="yellow")
    for warning in found.warnings:
        yield Text(visible(f"Warning: {warning}"), style="yellow")


def with_bars(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Sequence[int],
    bars: Sequence[int],
    width: int,
) -> Group:
    """A table with a bar for every row in the room that is left."""
    taken = sum(column_widths(columns, rows)) + GAP * len(columns)
    room = min(_WIDEST_BAR, max(_SHORTEST_BAR, width - taken))
    largest = max(bars, default=0)
    cells = [_bar(part, largest, room) for part in bars]
    return fitted_table(columns, rows, right, width - room - GAP, flexible=0, bars=cells)
