"""What flags of one run change in a configuration.

`--keep` and `--cut` add to what the configuration names; a cut is a pass before all others. `--pin REGEX` is
`--keep /REGEX/`; `--keep-recent N` is `--keep last:N` and replaces what the passes preserve. `--lossless-only` leaves
the prelude alone of them. The others narrow what they may touch and never widen it.
Where a pass has no condition of its own, the flag becomes its condition. Where it has one, both must hold: the
configuration cannot say that in one predicate, so a pin holds what the flag leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, assert_never

from msgspec import Struct, structs

from ..core.lazy_pattern import lazy_pattern
from ..core.selectors import OfLast, PatternError, SelectorError, parse_selector, searcher
from ..core.wording import quoted
from ..errors import UsageError
from .models import (
    CUT,
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    Execution,
    ExtractConfig,
    Globs,
    ImageOperation,
    IndexRange,
    IndividualConfig,
    PassConfig,
    Predicates,
    Selection,
)

_RANGE: Final = lazy_pattern(r"\s*+([+-]?\d{1,9})?\s*+:\s*+([+-]?\d{1,9})?\s*+", re.ASCII)


class Overrides(Struct, frozen=True):
    """The flags of a run, with their values as typed values. Empty: the configuration stays as it is."""

    keep_recent: int | None = None
    only_tools: tuple[str, ...] = ()
    except_tools: tuple[str, ...] = ()
    range: IndexRange | None = None
    target_tokens: int | None = None
    target_percent: float | None = None
    lossless_only: bool = False
    drop_thinking: bool = False
    keep: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()


NO_OVERRIDES: Final = Overrides()


def overrides_from(
    *,
    keep_recent: int | None = None,
    only_tools: Sequence[str] = (),
    except_tools: Sequence[str] = (),
    range: str | None = None,
    pins: Sequence[str] = (),
    target_tokens: int | str | None = None,
    target_percent: float | str | None = None,
    lossless_only: bool = False,
    drop_thinking: bool = False,
    keep: Sequence[str] = (),
    cut: Sequence[str] = (),
) -> Overrides:
    """The flags of a run, checked. Raises UsageError."""
    for flag, globs in (("--only-tools", only_tools), ("--except-tools", except_tools)):
        if any(not glob.strip() for glob in globs):
            raise UsageError(f"{flag} needs the name of a tool.", "* matches any characters: 'mcp__*'.")
    assert not isinstance(target_tokens, str)  # Of 60k and 50% the API, and options, make numbers.
    assert not isinstance(target_percent, str)
    for pin in pins:
        _check_pin(pin)
    for flag, selectors in (("--keep", keep), ("--cut", cut)):
        for selector in selectors:
            _check_selector(flag, selector)
    if lossless_only and cut:
        raise UsageError("--lossless-only and --cut cannot be used together.", "Use one of them.")
    return Overrides(
        keep_recent,
        tuple(only_tools),
        tuple(except_tools),
        None if range is None else parse_range(range),
        target_tokens,
        target_percent,
        lossless_only,
        drop_thinking,
        (*keep, *(f"/{pin}/" for pin in pins)),
        tuple(cut),
    )


def parse_range(text: str) -> IndexRange:
    """`A:B`, either of which may be missing or negative. Raises UsageError."""
    match = _RANGE.fullmatch(text)
    if not match:
        raise UsageError(
            f"--range needs A:B, not {quoted(text)}.",
            "Messages count from 0, negative ones from the end: 10:50, :50 or -20:",
        )
    start, end = (None if part is None else int(part) for part in match.groups())
    same_side = start is not None and end is not None and (start < 0) == (end < 0)
    if end == 0 or (same_side and start is not None and end is not None and start >= end):
        raise UsageError(
            f"--range {text.strip()} selects no message.",
            "B is excluded: 4:9 is messages 4 to 8.",
        )
    return IndexRange(start=start or 0, end=end)


def without_passes(configuration: Configuration) -> Configuration:
    """The lossless prelude alone, whatever else the configuration says."""
    prelude = structs.replace(configuration.lossless_prelude, enabled=True)
    return structs.replace(configuration, provider="smart", passes=(), cut=(), keep_first=0, lossless_prelude=prelude)


def without_summaries(configuration: Configuration) -> Configuration:
    """The configuration without what puts a summary in the place of messages."""
    passes = (config for config in configuration.passes if config.mode != "batch")
    return structs.replace(configuration, passes=tuple(map(_in_place, passes)))


def _in_place(config: PassConfig) -> PassConfig:
    extraction = config.extract_config
    if extraction is None:
        return config
    return structs.replace(config, extract_config=structs.replace(extraction, may_summarize=False))


def apply(configuration: Configuration, overrides: Overrides) -> Configuration:
    """The configuration as the flags of this run make it: one whose passes are those that run. Raises UsageError."""
    if overrides.lossless_only:
        configuration = without_passes(configuration)
    prelude = configuration.lossless_prelude
    passes, pins = tuple(config for config in configuration.passes if config.enabled), list(configuration.pins)
    keep, recent = _without_last((*configuration.keep, *overrides.keep))
    cut = dict.fromkeys((*configuration.cut, *overrides.cut))
    count = recent if overrides.keep_recent is None else overrides.keep_recent
    if count is not None:
        prelude = structs.replace(prelude, keep_recent=count)
        passes = _with_selections(tuple(map(_in_one_step, passes)), partial(_preserving, count=count))
    if overrides.only_tools:
        # Results and calls of other tools; a pass with globs of its own leaves text alone already.
        if prelude.enabled or any(_has_own_tools(config.selection) for config in passes):
            pins.append(Predicates(tools=Globs(exclude=overrides.only_tools)))
        passes = tuple(_of_only_tools(config, overrides.only_tools) for config in passes)
        prelude = structs.replace(prelude, operations=structs.replace(prelude.operations, remove_obsolete_state=False))
    if overrides.except_tools:
        # A condition on tools would leave message text out of every pass, so this is always a pin.
        pins.append(Predicates(tools=Globs(include=overrides.except_tools)))
    if overrides.range is not None:
        span = overrides.range
        if prelude.enabled or any(config.selection.range is not None for config in passes):
            pins += _outside(span)
        passes = _with_selections(passes, lambda selection: _within(selection, span))
    if overrides.drop_thinking:
        configuration = structs.replace(configuration, thinking="drop")
    target: dict[str, float | None] = {}
    if overrides.target_tokens is not None:
        target = {"target_tokens": overrides.target_tokens, "target_reduction_percent": None}
    elif overrides.target_percent is not None:
        target = {"target_tokens": None, "target_reduction_percent": round(100 - overrides.target_percent, 6)}
    if cut:
        passes = (_cutting(tuple(cut), count), *passes)
    return structs.replace(
        configuration, passes=passes, keep=keep, cut=(), pins=tuple(pins), lossless_prelude=prelude, **target
    )


def _in_one_step(config: PassConfig) -> PassConfig:
    """A pass in mode target as one extraction: how many turns stay is said by a flag."""
    if config.mode != "target":
        return config
    extraction = ExtractConfig(may_summarize=True)
    return structs.replace(config, mode="extract", extract_config=extraction, execution=Execution(type="target"))


def _without_last(selectors: Sequence[str]) -> tuple[tuple[str, ...], int | None]:
    """Selectors of what is kept but for the newest turns, and how many turns these are, if any are named."""
    parsed = {text: parse_selector(text) for text in selectors}
    turns = [selector.turns for selector in parsed.values() if isinstance(selector, OfLast)]
    rest = tuple(text for text, selector in parsed.items() if not isinstance(selector, OfLast))
    return rest, max(turns, default=None)


def _cutting(selectors: tuple[str, ...], recent: int | None) -> PassConfig:
    """The pass that leaves a marker of whatever is named, but for the newest turns that are to be kept, if any are."""
    suppress, no_images = ContentOperation(operation="suppress"), ImageOperation(operation="suppress")
    everything = ContentTypeOperations(
        message_text=suppress,
        tool_parameters=suppress,
        tool_results=suppress,
        images=no_images,
    )
    selection = Selection(type="custom", match=selectors)
    return PassConfig(
        id=CUT,
        name="Cut as asked",
        selection=selection if recent is None else _preserving(selection, recent),
        individual_config=IndividualConfig(defaults=everything),
    )


def _check_selector(flag: str, text: str) -> None:
    try:
        parse_selector(text)
    except SelectorError as error:
        raise UsageError(f"{flag} {error}", error.hint) from None


def _check_pin(pattern: str) -> None:
    try:
        matches_all = searcher(pattern)("")
    except PatternError as error:
        raise UsageError(f"--pin {quoted(pattern)} is not a regular expression ({error}).") from None
    if matches_all:
        raise UsageError(f"--pin {quoted(pattern)} matches every text and would protect everything.")


def _with_selections(
    passes: tuple[PassConfig, ...], change: Callable[[Selection], Selection]
) -> tuple[PassConfig, ...]:
    return tuple(structs.replace(config, selection=change(config.selection)) for config in passes)


def _preserving(selection: Selection, count: int) -> Selection:
    return structs.replace(selection, type="preserve_recent", keep_recent_count=count, keep_percentage=None)


def _has_own_tools(selection: Selection) -> bool:
    return bool(selection.tools and selection.tools.include) or selection.only_tools is not None


def _of_only_tools(config: PassConfig, globs: tuple[str, ...]) -> PassConfig:
    """The pass for these tools. A summary takes whole messages, so that nothing else may stand in them."""
    selection = config.selection
    changed = selection
    match config.mode:
        case "batch":
            if selection.only_tools is None:
                changed = structs.replace(selection, only_tools=globs)
        case "individual" | "extract" | "target":
            if not _has_own_tools(selection):
                exclude = selection.tools.exclude if selection.tools else ()
                changed = structs.replace(selection, tools=Globs(include=globs, exclude=exclude))
        case other:
            assert_never(other)
    return structs.replace(config, selection=changed)


def _within(selection: Selection, span: IndexRange) -> Selection:
    return selection if selection.range is not None else structs.replace(selection, range=span)


def _outside(span: IndexRange) -> list[Predicates]:
    """The messages that are not in the range."""
    before = [Predicates(range=IndexRange(start=0, end=span.start))] if span.start else []
    after = [Predicates(range=IndexRange(start=span.end))] if span.end is not None else []
    return before + after
