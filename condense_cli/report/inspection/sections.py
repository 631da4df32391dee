"""Declare the report of `condense inspect`: the parts that fill a transcript, by type, tool, file and message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...core.wording import plural
from ...window.decision import LISTED
from ..counted import carried, counted, source_text
from ..run.sections import kinds_text
from ..sections import BLANK, Part, Sentence, Table, as_warnings
from ..text import BlockShare, TokenShare, ToolShare, percent, percent_text
from .facts import DIFFERENCE, MARKUP, Inspection, Parts, Repeats, compactions_table

_FIRST = 5
"""Tools, and files, of the answer."""
_NAMES = {
    "display_copies": "copies for display",
    "not_live": "messages not in the live conversation",
    "keys": "ids, times, usage",
    "prompt": "system prompt and tools",
    "request_copies": "copies of requests",
    "other_records": "other records",
    "between": "line breaks and blanks between records",
}


def answer(found: Inspection) -> Iterator[Part]:
    """Yield the largest parts of the transcript, in about twenty lines; `sections` has the rest."""
    found = replace(found, tools=found.tools[:_FIRST], files=found.files[:_FIRST])
    yield from _headline(found)
    if found.messages:
        yield BLANK
    yield from _fillers(found)
    yield from _compactions(found)
    repeats = found.repeats
    if repeats.tokens:
        yield BLANK
        saving = f"up to {repeats.lossless.tokens:,} (reversible)" if repeats.lossless.tokens else "nothing"
        again = f"{repeats.tokens:,} tokens ({percent_text(repeats.percent)}) repeat earlier text"
        yield Sentence(f"{again}; references would save {saving}.", "bold")
    yield from as_warnings(found.warnings)
    yield Sentence("--all shows the largest messages and blocks, and how this is known.", "dim")


def sections(found: Inspection) -> Iterator[Part]:
    """Yield the whole report."""
    yield from _headline(found)
    yield BLANK
    if found.in_use.tokens != found.tokens.total:
        yield _in_use(found.in_use)
        yield BLANK
    yield from _fillers(found)
    if found.largest_messages:
        yield BLANK
        yield _messages(found)
    if found.largest_blocks:
        yield BLANK
        yield _blocks("block", found.largest_blocks)
    if found.messages:
        yield BLANK
        yield from _repeats(found)
    yield from _compactions(found)
    yield from _notes(found)


def _compactions(found: Inspection) -> Iterator[Part]:
    if found.compactions:
        yield BLANK
        yield compactions_table(found.compactions)


def _fillers(found: Inspection) -> Iterator[Part]:
    """Yield the tables by type, tool and file."""
    if found.messages:
        yield content_table(found.content_types, found.tokens.constants, found.tokens.total)
    if found.tools:
        yield BLANK
        yield tools_table(found.tools)
    if found.files:
        yield BLANK
        yield _files(found)


def _files(found: Inspection) -> Table:
    rows = [
        [share.name, f"{share.tokens:,}", percent_text(share.percent), f"{share.blocks:,}"] for share in found.files
    ]
    return Table(("file", "tokens", "share", "blocks"), rows, (1, 2, 3), is_path=True)


def _headline(found: Inspection) -> Iterator[Sentence]:
    tokens, window = found.tokens, found.window
    yield Sentence(f"{plural(tokens.total, 'token')} in {plural(found.messages, 'message')}", "bold")
    if tokens.overhead or window:
        yield Sentence(carried(tokens.overhead, tokens.overhead_source))
    if window:
        share = f"{percent_text(window.percent)} of a context window of {window.tokens:,} tokens"
        if window.tokens_source != LISTED:
            share += f" ({window.tokens_source})"
        yield Sentence(f"{window.used:,} in use ({window.source}): {share}")


def _in_use(found: Parts) -> Table:
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
    return Table(("part", "tokens", "share", ""), rows, (1, 2))


def content_table(shares: Sequence[TokenShare], constants: int, total: int) -> Table:
    """Return a row for each content type, and one for what messages and calls cost besides."""
    rows = [[share.name, f"{share.tokens:,}", percent_text(share.percent)] for share in shares]
    if constants:
        rows.append([MARKUP, f"{constants:,}", percent_text(percent(constants, total))])
    bars = [*(share.tokens for share in shares), constants][: len(rows)]
    return Table(("content", "tokens", "share"), rows, (1, 2), bars=bars)


def tools_table(shares: Sequence[ToolShare]) -> Table:
    rows = [
        [
            share.name or "(unknown)",
            f"{share.tokens:,}",
            percent_text(share.percent),
            f"{share.calls:,}",
            f"{share.parameters:,}",
            f"{share.results:,}",
        ]
        for share in shares
    ]
    bars = [share.tokens for share in shares]
    columns = ("tool", "tokens", "share", "calls", "parameters", "results")
    return Table(columns, rows, (1, 2, 3, 4, 5), bars=bars)


def _messages(found: Inspection) -> Table:
    rows = [
        [f"#{share.message}", share.role, f"{share.tokens:,}", percent_text(share.percent), share.label]
        for share in found.largest_messages
    ]
    return Table(("message", "", "tokens", "share", "largest part"), rows, (2, 3), flexible=4)


def _blocks(title: str, shares: Sequence[BlockShare]) -> Table:
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
    return Table((title, "", "tokens", "share", ""), rows, (2, 3), flexible=4)


def _repeats(found: Inspection) -> Iterator[Part]:
    """Yield the repeated text, the saving by references, and the places with most of it."""
    repeats = found.repeats
    if repeats.tokens:
        yield Sentence(f"{repeats.tokens:,} tokens ({percent_text(repeats.percent)}) repeat earlier text", "bold")
        yield Sentence(
            f"{repeats.block_tokens:,} in {plural(repeats.whole_blocks, 'whole block')}, "
            f"{repeats.line_tokens:,} in {plural(repeats.lines, 'line')} of others",
            "dim",
        )
    else:
        yield Sentence("Nothing repeats.")
    yield from _references(repeats)
    if repeats.largest:
        yield BLANK
        yield _blocks("repeated", repeats.largest)


def _references(repeats: Repeats) -> Iterator[Part]:
    lossless, held = repeats.lossless, repeats.references
    if held.resolved:
        yield Sentence(
            f"{plural(held.resolved, 'reference saves', 'references save')} {held.saved:,} tokens already.", "bold"
        )
    if held.unresolved:
        broken = plural(held.unresolved, "reference cannot be undone", "references cannot be undone")
        yield Sentence(f"{broken}.", "yellow")
    if not lossless.tokens and not lossless.tool_parameters.tokens:
        if repeats.tokens:
            yield Sentence("References would save nothing.")
        return
    who = "Rewriting them" if held.resolved else "References"
    of_all = percent_text(lossless.percent)
    saving = f"up to {lossless.tokens:,} tokens ({of_all}), reversibly" if lossless.tokens else "nothing by default"
    yield Sentence(f"{who} would save {saving}", "bold")
    shares = [
        *((share.name, share) for share in lossless.finders),
        ("tool_parameters, in addition", lossless.tool_parameters),
    ]
    rows = [[name, f"{share.tokens:,}", percent_text(share.percent), f"{share.blocks:,}"] for name, share in shares]
    yield Table(("finder, alone", "tokens", "share", "blocks"), rows, (1, 2, 3))


def _notes(found: Inspection) -> Iterator[Part]:
    tokens = found.tokens
    yield BLANK
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
    yield Sentence(f"{found.input}: {found.format}. {text}", "dim")
    if found.unknown_kinds:
        kinds = ", ".join(f"{name} ({number:,})" for name, number in found.unknown_kinds.items())
        yield Sentence(f"Not counted, because it is unknown whether they are sent: {kinds}.", "yellow")
    yield from as_warnings(found.warnings)
