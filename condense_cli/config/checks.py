"""Check rules that types cannot express: keys that need each other, impossible values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import asdict

from ..core import selectors
from ..core.lazy_pattern import lazy_pattern
from ..core.selectors import SelectorError, parse_selector
from ..core.wording import percent_in, quoted
from .models import (
    CUT,
    NOT_IN_FILES,
    Condition,
    Configuration,
    ContentOperation,
    ExtractConfig,
    IndividualConfig,
    LlmPhase,
    LossyPhase,
    PassConfig,
    Predicates,
    Selection,
    SelectionPhase,
    SummarizeParams,
    TruncationConfig,
)
from .positions import KeyPath, spelled

Problem = tuple[tuple[str | int, ...], str, str]
"""Path of the key, what is wrong, what to do."""

_OF_PROFILES = frozenset({"profile", "api_profile"})
_TAG = lazy_pattern(r"[A-Za-z_][\w.:-]*")
_TEXT = ("message_text", "assistant_reasoning", "user_messages")
_PHASES = ("lossless_phase", "selection_phase", "lossy_phase", "llm_phase", "fallback_phase")
USUAL: Final[dict[type[Struct], dict[str, tuple[int, int]]]] = {
    Selection: {"keep_recent_count": (0, 100)},
    Condition: {"token_threshold": (1_000, 200_000)},
    SummarizeParams: {"max_tokens": (50, 500)},
    TruncationConfig: {
        "preserve_recent_count": (1, 20),
        "max_tool_result_lines": (1, 50),
        "max_tool_param_chars": (50, 500),
    },
    SelectionPhase: {"preserve_recent_count": (1, 20)},
    LossyPhase: {"target_reduction_percent": (10, 90)},
    LlmPhase: {"max_parallel_calls": (1, 10), "summary_max_tokens": (50, 500)},
}
"""Values that are sensible for most conversations. What lies outside works, and is told; an editor marks it."""


def problems(configuration: Configuration) -> Iterator[Problem]:
    seen: set[str] = set()
    if configuration.target_tokens is not None and configuration.target_reduction_percent is not None:
        hint = "Leave one of them out."
        yield ("target_reduction_percent",), "target_tokens and target_reduction_percent cannot both be set", hint
    least = configuration.min_saving
    if isinstance(least, str) and ((share := percent_in(least)) is None or not 0 <= share <= 100):
        yield ("min_saving",), f"{quoted(least)} is not a share", "Give a share such as 0.5%, or a number of tokens."
    yield from _selectors(configuration.keep, ("keep",))
    yield from _selectors(configuration.cut, ("cut",))
    for index, pin in enumerate(configuration.pins):
        yield from _predicates(pin, ("pins", index))
        if pin == Predicates():
            yield ("pins", index), "a pin without a condition would protect everything", "Name roles, tools or a regex."
    for index, tag in enumerate(configuration.lossless_prelude.state_tags):
        if not _TAG.fullmatch(tag):
            hint = "Name the element without brackets: `todo_list` for <todo_list>."
            yield ("lossless_prelude", "state_tags", index), f"{quoted(tag)} is not the name of an element", hint
    if has_phases(configuration) and configuration.passes:
        yield (
            ("passes",),
            "passes and phases cannot both be set",
            "Phases turn into passes; see `condense config show --compiled`.",
        )
    for index, config in enumerate(configuration.passes):
        path = ("passes", index)
        if config.id in seen:
            yield (*path, "id"), f"the id {quoted(config.id)} is used by an earlier pass", "Give each pass its own id."
        seen.add(config.id)
        yield from _predicates(config.selection, (*path, "selection"))
        yield from _mode(config, path)
        yield from _execution(config, (*path, "execution"))


def has_phases(configuration: Configuration) -> bool:
    return any(getattr(configuration, name) is not None for name in _PHASES)


def warnings(configuration: Configuration) -> list[str]:
    """Yield warnings for valid but probably unintended settings of the passes that run."""
    found = []
    prelude = configuration.lossless_prelude
    if prelude.enabled and prelude.keep == "earliest":
        found.append(
            "keep: earliest makes newer results refer to older ones; a client that clears old results breaks them."
        )
    if any(0 < (config.selection.keep_percentage or 0) < 1 for config in configuration.passes):
        found.append("A keep_percentage below 1 is less than one percent; 20 means a fifth.")
    found += [
        f"Pass {config.id} suppresses message text: what the user and the assistant said is left out."
        for config in configuration.passes
        if config.id != CUT and config.individual_config and _suppresses_text(config.individual_config)
    ]
    if configuration.no_larger_than:
        found.append("no_larger_than has no effect any more. Name a target, or leave it out.")
    return found


def _suppresses_text(config: IndividualConfig) -> bool:
    operations = [config.defaults, *(override.operations for override in config.overrides)]
    texts = [getattr(each, kind) for each in operations for kind in _TEXT]
    return any(isinstance(text, ContentOperation) and text.operation == "suppress" for text in texts)


def target_warnings(configuration: Configuration) -> list[str]:
    """Yield warnings about the target of a file by itself; as a project's file it may get a preset's passes."""
    is_smart = configuration.provider in (None, "smart")
    if not configuration.has_target or not is_smart or configuration.passes or has_phases(configuration):
        return []
    return ["There is a target but no pass works toward it; name a preset or add such a pass."]


def value_warnings(configuration: Configuration) -> list[str]:
    """Yield warnings about the given values alone; flags may change what passes make of them."""
    found = []
    for path, part in _structs(configuration, ()):
        for key, (least, most) in USUAL.get(type(part), {}).items():
            value = getattr(part, key)
            if value is not None and not least <= value <= most:
                shown = f"{value:,}" if isinstance(value, int) else f"{value:g}"
                usual = f"{least:,} to {most:,} is usual"
                found.append(f"{spelled((*path, key))} is {shown}; {usual}. Change it unless you mean it.")
    reasoning = configuration.lossy_phase and configuration.lossy_phase.assistant_reasoning
    selection = configuration.selection_phase or SelectionPhase()
    if reasoning and reasoning.strategy != "keep" and selection.preserve_assistant_text:
        found.append("assistant_reasoning stays as it is: selection_phase.preserve_assistant_text is true.")
    return found


def limit_to_usual(definitions: dict[str, Any]) -> None:
    """Give the numbers in the definitions of a JSON Schema the usual ranges."""
    for kind, ranges in USUAL.items():
        for key, (least, most) in ranges.items() if kind.__name__ in definitions else ():
            found = definitions[kind.__name__]["properties"][key]
            number = found["anyOf"][0] if "anyOf" in found else found
            for bound in ("exclusiveMinimum", "exclusiveMaximum"):
                number.pop(bound, None)
            number |= {"minimum": least, "maximum": most}


def _execution(config: PassConfig, path: tuple[str | int, ...]) -> Iterator[Problem]:
    match config.execution.type:
        case "conditional":
            if config.execution.condition is None:
                yield path, "a conditional execution needs a condition", "Add `condition: {token_threshold: N}`."
        case "always" | "target":
            pass
        case other:
            assert_never(other)


def _predicates(predicates: Predicates, path: tuple[str | int, ...]) -> Iterator[Problem]:
    yield from _selectors(predicates.match or (), (*path, "match"))
    if predicates.regex is not None:
        try:
            selectors.check(predicates.regex)
        except selectors.PatternError as error:
            yield (*path, "regex"), f"not a regular expression ({error})", ""


def _selectors(texts: tuple[str, ...], path: tuple[str | int, ...]) -> Iterator[Problem]:
    for index, text in enumerate(texts):
        try:
            parse_selector(text)
        except SelectorError as error:
            yield (*path, index), str(error).removesuffix("."), error.hint


def _mode(config: PassConfig, path: tuple[str | int, ...]) -> Iterator[Problem]:
    match config.mode:
        case "batch":
            if config.batch_config is None:
                yield path, "a batch pass needs batch_config", ""
            elif config.batch_config.operation == NOT_IN_FILES:
                where = (*path, "batch_config", "operation")
                yield where, "no pass may drop messages", "`fallback: sliding_window` may, when a run has failed."
        case "extract":
            extraction = config.extract_config
            if extraction and extraction.may_summarize and set(extraction.content) != set(ExtractConfig().content):
                where = (*path, "extract_config", "may_summarize")
                yield where, "a summary replaces whole messages, not single contents", ""
            for index, override in enumerate(extraction.overrides if extraction else ()):
                where = (*path, "extract_config", "overrides", index)
                yield from _predicates(override, where)
                if extraction and extraction.min_worth is None:
                    yield where, "overrides need the min_worth of all other blocks", ""
        case "target":
            pass
        case "individual":
            if config.individual_config is None:
                yield path, "an individual pass needs individual_config", ""
        case other:
            assert_never(other)


def profiles_named(configuration: Configuration | Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each name with the path of its key, also in the plain values of a file that has mistakes."""
    yield from _named(configuration, ())


def _structs(value: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Struct]]:
    """Every part of a configuration with its path."""
    if isinstance(value, tuple):
        for index, item in enumerate(value):
            yield from _structs(item, (*path, index))
    elif isinstance(value, Struct):
        yield path, value
        for name in value.__struct_fields__:
            yield from _structs(getattr(value, name), (*path, name))


def _named(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    if isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from _named(item, (*path, index))
    elif isinstance(value, Struct | dict):
        for name, item in (value if isinstance(value, dict) else asdict(value)).items():
            if name in _OF_PROFILES and isinstance(item, str):
                yield (*path, name), item
            else:
                yield from _named(item, (*path, name))
