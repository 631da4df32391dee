"""Change a configuration by flags, variables and files: a higher layer overrides those below it, key by key.

`--keep` and `--cut` add to the selectors of the configuration; a cut is a pass before all others. `--pin REGEX` is
`--keep /REGEX/`; `--keep-recent N` is `--keep last:N` and replaces the turns that passes preserve. `--lossless-only`
leaves the prelude alone. The others narrow what passes may touch and never widen it. A pass without a condition of its
own gets the flag as its condition. If it has one, both must hold: one predicate cannot say that, so a pin holds what
the flag leaves out.

The passes, provider and prelude come as a whole from the highest layer that has any of them, or names a preset: passes
of one file with the prelude of another would be a configuration that nobody wrote. The other keys (targets, thresholds,
pins, profile) are taken one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, assert_never

import msgspec
from msgspec import Struct, structs

from ..core.selectors import OfLast, PatternError, SelectorError, parse_selector, searcher
from ..core.wording import quoted
from ..errors import UsageError
from .loading import PACKAGED, TARGETS, Layer, Loaded, Presets
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
from .options import Overrides
from .positions import KeyPath
from .preset_folders import DEFAULT_PRESET


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
    keep_thinking: bool = False,
    drop_thinking: bool = False,
    keep: Sequence[str] = (),
    cut: Sequence[str] = (),
    must_keep: Sequence[str] = (),
) -> Overrides:
    """Return the options of a run that change its configuration, checked. Raises UsageError."""
    return checked(Overrides(**locals()))


def checked(overrides: Overrides) -> Overrides:
    """Check the options; those of `pins` become selectors of `keep`. Raises UsageError."""
    for flag, globs in (("--only-tools", overrides.only_tools), ("--except-tools", overrides.except_tools)):
        if any(not glob.strip() for glob in globs):
            raise UsageError(f"{flag} needs the name of a tool.", "* matches any characters: 'mcp__*'.")
    for pin in overrides.pins:
        _check_pin(pin)
    for flag, selectors in (("--keep", overrides.keep), ("--cut", overrides.cut)):
        for selector in selectors:
            _check_selector(flag, selector)
    if overrides.keep_thinking and overrides.drop_thinking:
        raise UsageError("--keep-thinking and --drop-thinking cannot be used together.", "Use one of them.")
    if overrides.lossless_only and overrides.cut:
        raise UsageError("--lossless-only and --cut cannot be used together.", "Use one of them.")
    _ = overrides.span
    return overrides.replace(keep=(*overrides.keep, *(f"/{pin}/" for pin in overrides.pins)), pins=())


def without_passes(configuration: Configuration) -> Configuration:
    """Return the lossless prelude alone, whatever else the configuration says."""
    prelude = structs.replace(configuration.lossless_prelude, enabled=True)
    return structs.replace(configuration, provider="smart", passes=(), cut=(), keep_first=0, lossless_prelude=prelude)


def without_summaries(configuration: Configuration) -> Configuration:
    """Return the configuration without passes that replace messages with a summary."""
    passes = (config for config in configuration.passes if config.mode != "batch")
    return structs.replace(configuration, passes=tuple(map(_in_place, passes)))


def _in_place(config: PassConfig) -> PassConfig:
    extraction = config.extract_config
    if extraction is None:
        return config
    return structs.replace(config, extract_config=structs.replace(extraction, may_summarize=False))


def apply(configuration: Configuration, overrides: Overrides) -> Configuration:
    """Return the configuration with the options applied and its passes as they run. Raises UsageError."""
    if overrides.lossless_only:
        configuration = without_passes(configuration)
    prelude = configuration.lossless_prelude
    passes, pins = tuple(config for config in configuration.passes if config.enabled), list(configuration.pins)
    keep, recent = _without_last((*configuration.keep, *overrides.keep))
    cut = dict.fromkeys((*configuration.cut, *overrides.cut))
    must_keep = tuple(dict.fromkeys((*configuration.must_keep, *overrides.must_keep)))
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
    if overrides.span is not None:
        span = IndexRange(start=overrides.span.start, end=overrides.span.end)
        if prelude.enabled or any(config.selection.range is not None for config in passes):
            pins += _outside(span)
        passes = _with_selections(passes, lambda selection: _within(selection, span))
    if overrides.drop_thinking or overrides.keep_thinking:
        configuration = structs.replace(configuration, thinking="drop" if overrides.drop_thinking else "keep")
    target: dict[str, float | None] = {}
    if overrides.target_tokens is not None:
        target = {"target_tokens": overrides.target_tokens, "target_reduction_percent": None}
    elif overrides.target_percent is not None:
        target = {"target_tokens": None, "target_reduction_percent": round(100 - overrides.target_percent, 6)}
    if cut:
        passes = (_cutting(tuple(cut), count), *passes)
    return structs.replace(
        configuration,
        passes=passes,
        keep=keep,
        cut=(),
        must_keep=must_keep,
        pins=tuple(pins),
        lossless_prelude=prelude,
        **target,
    )


def _in_one_step(config: PassConfig) -> PassConfig:
    """Turn a pass in mode target into one extraction, because an option says how many turns stay."""
    if config.mode != "target":
        return config
    extraction = ExtractConfig(may_summarize=True)
    return structs.replace(config, mode="extract", extract_config=extraction, execution=Execution(type="target"))


def _without_last(selectors: Sequence[str]) -> tuple[tuple[str, ...], int | None]:
    """Return the selectors without `last:N`, and the largest N, or None."""
    parsed = {text: parse_selector(text) for text in selectors}
    turns = [selector.turns for selector in parsed.values() if isinstance(selector, OfLast)]
    rest = tuple(text for text, selector in parsed.items() if not isinstance(selector, OfLast))
    return rest, max(turns, default=None)


def _cutting(selectors: tuple[str, ...], recent: int | None) -> PassConfig:
    """Return the pass that replaces named content with markers, except in the `recent` newest turns."""
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
    """Limit a pass to these tools. A summary takes whole messages, so they must hold nothing else."""
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
    """Return the messages outside the range."""
    before = [Predicates(range=IndexRange(start=0, end=span.start))] if span.start else []
    after = [Predicates(range=IndexRange(start=span.end))] if span.end is not None else []
    return before + after


_SHOWN: Final = frozenset(
    {*TARGETS, "keep_first", "min_saving", "thinking", "old_images", "counter", "keep", "cut", "must_keep", "pins"}
)
"""Keys that adjust what comes of a run that does its work: reports name where they are from.

In whose tokens numbers are is said beside them."""

ONE_BY_ONE: Final = _SHOWN | {
    "profile",
    "auto_condense_context",
    "auto_condense_context_percent",
    "auto_condense_context_above",
    "fallback",
    "count",
}
"""Keys that adjust whatever is done; all others are what is done."""

_NAMES: Final = frozenset({"name", "description"})


class Settings(Struct, frozen=True):
    """The settings in use: `layers` by the key they give, and the `name` of the configuration in reports.

    `has_own_target` tells that the target is not that of the preset or file whose passes run: these then work only
    until it is reached.
    """

    configuration: Configuration
    name: str
    layers: dict[str, Layer]
    has_own_target: bool

    def origin(self, path: KeyPath) -> str | None:
        layer = self.layers.get(str(path[0]))
        return layer.origin(path) if layer else None

    @property
    def files(self) -> set[str]:
        """Return the files that give any of the settings."""
        return {name for layer in self.layers.values() for name in _files_of(layer)}


def settle(layers: Sequence[Layer], whole: Layer | None = None, *, presets: Presets = PACKAGED) -> Settings:
    """Combine layers, the lowest first. The passes come from `whole`, or else from the highest layer that has any.

    Without such a layer the default preset is used. Raises ConfigurationError.
    """
    chosen = whole or next((layer for layer in reversed(layers) if _says_what_is_done(layer)), None)
    if chosen is None:
        chosen = presets.named(DEFAULT_PRESET)
        layers = (chosen, *layers)
    found: dict[str, Layer] = {}
    for layer in layers:
        given = [key for key in layer.values if layer is chosen or key in ONE_BY_ONE]
        if any(key in TARGETS for key in given):  # Of two targets only one would be used, and perhaps not this one.
            found = {key: other for key, other in found.items() if key not in TARGETS}
        found.update(dict.fromkeys(given, layer))
    configuration = _configuration(chosen, found)
    shown = [layer for key, layer in found.items() if key in _SHOWN and layer is not chosen]
    used = [layer for layer in layers if any(layer is other for other in shown)]
    return Settings(configuration, _name(chosen, used), found, _has_own_target(found, chosen))


def _configuration(chosen: Layer, found: Mapping[str, Layer]) -> Configuration:
    """Return the typed values of these layers; those of a single file are typed already."""
    if isinstance(chosen, Loaded) and all(layer is chosen for layer in found.values()):
        return chosen.configuration
    return msgspec.convert({key: layer.values[key] for key, layer in found.items()}, Configuration)


def _files_of(layer: Layer | None) -> Iterator[str]:
    while isinstance(layer, Loaded):
        if layer.positions.is_file:
            yield layer.positions.name
        layer = layer.base


def _says_what_is_done(layer: Layer) -> bool:
    return layer.base is not None or bool(layer.value.keys() - ONE_BY_ONE - _NAMES)


def _name(chosen: Layer, used: Sequence[Layer]) -> str:
    first = chosen.base.title if chosen.base else chosen.title
    others = [*([chosen.title] if chosen.base and chosen.value else []), *(layer.title for layer in used)]
    return f"{first} with {', '.join(others)}" if others else first


def _has_own_target(found: dict[str, Layer], chosen: Layer) -> bool:
    layer = next((found[key] for key in TARGETS if key in found), None)
    if layer is None:
        return False
    return layer is not chosen or (layer.base is not None and any(key in layer.value for key in TARGETS))
