"""Word how tokens were counted, the same in every report."""

from __future__ import annotations

from typing import Final, assert_never

from ..tokens.counting import BUILT_IN, CounterName
from ..tokens.factor import CountName, Known
from .run.facts import Counting, Report

_SOURCES: Final = {
    "request": "from the request",
    "snapshot": "recorded by the client",
    "recorded usage": "from recorded usage",
    "option": "--overhead-tokens",
}

OF_SEVERAL: Final = "Tokens are exact for OpenAI models and estimates for all others."
"""For what is about transcripts of several models."""


def of_several(how: CountName) -> str:
    """Say how the tokens of several models were counted."""
    match how:
        case "o200k":
            return "Tokens are plain counts in each model's vocabulary or o200k_base, as requested."
        case "model" | "exact":
            return OF_SEVERAL
        case other:
            assert_never(other)


def how_counted(report: Report) -> list[str]:
    """Say how the tokens were counted, and what a request carries besides."""
    tokens = report.tokens
    how = counted(
        report.model,
        tokens.encoding,
        tokens.counting,
        exact=tokens.exact,
        estimated=tokens.estimated.before,
        counter=tokens.counter,
    )
    return [*how, carried(tokens.overhead, tokens.overhead_source)]


def counted(
    model: str | None,
    encoding: str,
    counting: Counting,
    *,
    exact: bool,
    estimated: int,
    counter: CounterName = BUILT_IN,
) -> list[str]:
    """Say how the tokens were counted, and how exact that is.

    `estimated` of them are for content without a text to count.
    """
    vocabulary = encoding if counter == BUILT_IN else f"{encoding} by {counter}"
    said = _how(model or "an unknown model", vocabulary, counting, exact=exact)
    if estimated:
        are = "is an estimate" if estimated == 1 else "are estimates"
        said.append(f"{estimated:,} of them {are} for images, documents, hidden thinking and what the client adds.")
    return [*said, *([counting.doubt] if counting.doubt else [])]


def _how(name: str, encoding: str, counting: Counting, *, exact: bool) -> list[str]:
    times = f"{counting.factor:.2f} × {encoding}"
    within = f", usually right within {counting.error_percent:g}%" if counting.error_percent else ""
    match Known(counting.source):
        case Known.EXACT:
            return [f"Tokens are {'exact' if exact else 'estimates'} for {name} ({encoding})."]
        case Known.RECORDED:
            return [f"Tokens are estimates for {name}: {times}.", f"The factor comes from recorded usage{within}."]
        case Known.TABLE:
            return [f"Tokens are estimates for {name}: {times}.", f"The factor is typical for such models{within}."]
        case Known.COUNTED:
            return [f"Tokens for {name}: {times}, from the provider's own count of this transcript."]
        case Known.BARE:
            return [f"Tokens are {encoding} counts, as requested."]
        case Known.UNKNOWN:
            return [f"Tokens are {encoding} counts; the factor for {name} is not known."]
        case other:
            assert_never(other)


def briefly_counted(model: str | None, counting: Counting, *, exact: bool) -> str:
    """Say how the tokens were counted in one short sentence."""
    name = model or "an unknown model"
    within = f"usually ±{counting.error_percent:g}%" if counting.error_percent else "estimated"
    match Known(counting.source):
        case Known.EXACT:
            return f"Tokens for {name}, {'exact' if exact else 'estimated'}."
        case Known.RECORDED | Known.TABLE:
            return f"Tokens for {name}, {within}."
        case Known.COUNTED:
            return f"Tokens for {name}, counted by its provider."
        case Known.BARE:
            return "Tokens are plain counts."
        case Known.UNKNOWN:
            return f"Tokens are plain counts; the factor for {name} is not known."
        case other:
            assert_never(other)


def carried(overhead: int, source: str) -> str:
    """Say what every turn carries besides the messages, and the source of that figure."""
    if source == "unknown":
        return "Not counted: system prompt and tools (--overhead-tokens N adds them)."
    return f"System prompt and tools add {overhead:,} tokens to every request ({source_text(source)})."


def source_text(source: str) -> str:
    """Return the source of a figure in words."""
    return _SOURCES.get(source, source)
