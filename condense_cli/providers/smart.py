"""Provider `smart`: the lossless prelude, then passes, or phases compiled into passes.

Each phase works only until the target is met. The lossy phase takes candidates in processing order, oldest first, until
the target is met. The LLM phase summarizes long content that the lossy phase may touch and left. If that is not enough,
the fallback follows: the lossy phase with stricter limits, once (`strict_truncation`) or several times (`multi_pass`),
or one summary of the middle (`native`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, assert_never

from msgspec import UNSET
from msgspec.structs import replace

from ..config.base import Base
from ..config.checks import has_phases
from ..config.models import (
    Configuration,
    ContentOperation,
    ContentTypeName,
    ContentTypeOperations,
    FallbackPhase,
    IndividualConfig,
    Kind,
    LlmPhase,
    LosslessPhase,
    LossyPhase,
    NativeConfig,
    OperationParams,
    ParameterStrategy,
    PassConfig,
    Prelude,
    PreludeOperations,
    ReasoningStrategy,
    Repeat,
    ResultStrategy,
    Selection,
    SelectionPhase,
    SummarizeParams,
    UserTextStrategy,
)
from ..config.overrides import apply
from ..config.positions import Positions
from ..core.transcript import Transcript
from ..passes.condensation import Condensation
from ..passes.context import Context
from ..passes.receipts import PROTECTED
from ..passes.selection import protect, select, why_untouched
from ..tokens.counting import Counter
from . import native
from .base import Capabilities, Provider
from .truncation import KEEP, SUPPRESS, cut

LOSSY: Final = "lossy-phase"
LLM: Final = "llm-phase"
FALLBACK: Final = "fallback-phase"

_CONTENT: Final[dict[Kind, ContentTypeName]] = {
    "tool_results": "tool_results",
    "tool_params": "tool_parameters",
    "assistant_reasoning": "assistant_reasoning",
    "user_messages": "user_messages",
}


def compiled_phases(configuration: Configuration) -> Configuration:
    """Return the prelude and passes that do the phases' work.

    The target is the configuration's, else `target_reduction_percent` of the lossy phase, whether or not that phase is
    enabled.
    """
    selection = configuration.selection_phase or SelectionPhase()
    lossy = configuration.lossy_phase or LossyPhase()
    llm = configuration.llm_phase or LlmPhase()
    fallback = configuration.fallback_phase or FallbackPhase()
    operations = _operations(lossy, selection)
    passes = []
    if lossy.enabled:
        passes.append(_pass(LOSSY, "Lossy phase", operations, lossy, selection))
    if llm.enabled:
        passes.append(_pass(LLM, "Summaries", _summarized(operations, llm), lossy, selection))
    if fallback.enabled:
        passes.append(_fallback(fallback, operations, lossy, selection, configuration.native))
    return replace(
        configuration,
        target_reduction_percent=(configuration if configuration.has_target else lossy).target_reduction_percent,
        keep_first=max(1, configuration.keep_first),
        lossless_prelude=_prelude(configuration.lossless_phase or LosslessPhase(), configuration.lossless_prelude),
        passes=tuple(passes),
        native=None,
        lossless_phase=None,
        selection_phase=None,
        lossy_phase=None,
        llm_phase=None,
        fallback_phase=None,
    )


def _prelude(phase: LosslessPhase, prelude: Prelude) -> Prelude:
    """Merge the phase into `lossless_prelude`, keeping settings the phase lacks."""
    operations = PreludeOperations(
        deduplicate_file_reads=phase.deduplicate_file_reads,
        consolidate_tool_results=phase.consolidate_results,
        remove_obsolete_state=phase.remove_obsolete_state,
    )
    return replace(prelude, enabled=phase.enabled, operations=operations)


def _operations(lossy: LossyPhase, selection: SelectionPhase) -> ContentTypeOperations:
    reasoning, user = lossy.assistant_reasoning, lossy.user_messages
    return ContentTypeOperations(
        tool_results=_operation(lossy.tool_results, max_lines=lossy.tool_results.truncate_lines),
        tool_parameters=_operation(lossy.tool_params, max_chars=lossy.tool_params.truncate_chars),
        assistant_reasoning=(
            KEEP if selection.preserve_assistant_text else _operation(reasoning, max_lines=reasoning.truncate_lines)
        ),
        user_messages=KEEP if selection.preserve_user_messages else _operation(user, max_lines=user.truncate_lines),
    )


def _operation(
    strategy: ResultStrategy | ParameterStrategy | ReasoningStrategy | UserTextStrategy,
    *,
    max_lines: int | None = None,
    max_chars: int | None = None,
) -> ContentOperation:
    # A threshold is exclusive, `min_tokens` is inclusive.
    least = strategy.threshold + 1
    match strategy.strategy:
        case "keep":
            return KEEP
        case "suppress":
            return replace(SUPPRESS, min_tokens=least)
        case "truncate":
            return cut(max_lines=max_lines, max_chars=max_chars, min_tokens=least)
        case "summarize":
            params = OperationParams(summarize=SummarizeParams(max_tokens=strategy.summary_max_tokens))
            return ContentOperation(operation="summarize", params=params, min_tokens=least)
        case other:
            assert_never(other)


def _pass(
    pass_id: str, name: str, operations: ContentTypeOperations, lossy: LossyPhase, selection: SelectionPhase
) -> PassConfig:
    return PassConfig(
        id=pass_id,
        name=name,
        selection=Selection(type="preserve_recent", keep_recent_count=selection.preserve_recent_count),
        individual_config=IndividualConfig(defaults=operations),
        stop_at_target=True,
        order=tuple(_CONTENT[kind] for kind in lossy.processing_order),
    )


def _summarized(operations: ContentTypeOperations, llm: LlmPhase) -> ContentTypeOperations:
    """Summarize all content that the lossy phase may touch."""
    params = SummarizeParams(
        max_tokens=llm.summary_max_tokens, max_parallel_calls=llm.max_parallel_calls, validate=llm.validate
    )
    summarize = ContentOperation(operation="summarize", params=OperationParams(summarize=params))
    return _each(operations, lambda _: summarize)


def _fallback(
    fallback: FallbackPhase,
    operations: ContentTypeOperations,
    lossy: LossyPhase,
    selection: SelectionPhase,
    settings: NativeConfig | None,
) -> PassConfig:
    again = fallback.multi_pass
    factor = again.threshold_reduction_factor
    match fallback.strategy:
        case "native":
            return native.summary_pass(settings or NativeConfig(), FALLBACK, "Fallback: one summary of the middle")
        case "strict_truncation":
            strict = _scaled(_operations(_truncating(lossy), selection), factor)
            return _pass(FALLBACK, "Fallback: strict truncation", strict, lossy, selection)
        case "multi_pass":
            pass
        case other:
            assert_never(other)
    if not again.stricter_thresholds_each_pass or factor == 1:
        # Another pass with the same limits would change nothing.
        return _pass(FALLBACK, "Fallback: the lossy phase again", operations, lossy, selection)
    stricter = _pass(FALLBACK, "Fallback: stricter each time", _scaled(operations, factor), lossy, selection)
    return replace(stricter, repeat=Repeat(max_passes=again.max_passes, threshold_reduction_factor=factor))


def _truncating(lossy: LossyPhase) -> LossyPhase:
    """Replace every strategy except `keep` by truncation."""
    reasoning, user = lossy.assistant_reasoning, lossy.user_messages
    return replace(
        lossy,
        tool_results=replace(lossy.tool_results, strategy="truncate"),
        tool_params=replace(lossy.tool_params, strategy="truncate"),
        assistant_reasoning=reasoning if reasoning.strategy == "keep" else replace(reasoning, strategy="truncate"),
        user_messages=user if user.strategy == "keep" else replace(user, strategy="truncate"),
    )


def _scaled(operations: ContentTypeOperations, factor: float) -> ContentTypeOperations:
    """Multiply every threshold and limit."""

    def stricter(operation: ContentOperation) -> ContentOperation:
        params = operation.params or OperationParams()
        if cuts := params.truncate:
            lines, chars = (limit and max(1, int(limit * factor)) for limit in (cuts.max_lines, cuts.max_chars))
            params = replace(params, truncate=replace(cuts, max_lines=lines, max_chars=chars))
        if says := params.summarize:
            params = replace(params, summarize=replace(says, max_tokens=max(1, int(says.max_tokens * factor))))
        return replace(operation, params=operation.params and params, min_tokens=int(operation.min_tokens * factor))

    return _each(operations, stricter)


def _each(
    operations: ContentTypeOperations, change: Callable[[ContentOperation], ContentOperation]
) -> ContentTypeOperations:
    """Change every operation except `keep`."""
    found = {name: getattr(operations, name) for name in _CONTENT.values()}
    changed = {name: change(operation) for name, operation in found.items() if operation.operation != "keep"}
    return replace(operations, **changed)


class SmartConfig(Base, frozen=True, kw_only=True):
    """The provider's own part of a configuration."""

    lossless_prelude: Prelude = Prelude(enabled=False)
    passes: tuple[PassConfig, ...] = ()
    lossless_phase: LosslessPhase | None = None
    selection_phase: SelectionPhase | None = None
    lossy_phase: LossyPhase | None = None
    llm_phase: LlmPhase | None = None
    fallback_phase: FallbackPhase | None = None


class Smart(Provider[SmartConfig]):
    id = "smart"
    name = "References, then passes or phases"
    description = (
        "The lossless prelude, then passes that keep, suppress, truncate or summarize by content type, age, size or "
        "tool; or phases, each of which works only while the target is not met. Presets are configurations of it."
    )
    best_for = "saying exactly what goes"
    example = "llm_phase.enabled=true"
    capabilities = Capabilities(
        lossless=True, lossy=True, summaries=True, parallel=True, thresholds=True, multi_pass=True, fallback=True,
        speed="fast",
    )  # fmt: skip
    settings = SmartConfig
    section = "passes"
    runs_passes = True

    def compiled(self, configuration: Configuration, settings: SmartConfig) -> Configuration:
        return compiled_phases(configuration) if has_phases(configuration) else configuration

    def condense(self, transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
        result = super().condense(transcript, configuration, context)
        told = tuple(ineffective_overrides(transcript, apply(configuration, context.overrides), context.count))
        return replace(result, warnings=(*result.warnings, *told)) if told else result

    def default_configuration(self) -> Configuration:
        return replace(super().default_configuration(), lossy_phase=LossyPhase())

    def settings_of(self, configuration: Configuration, positions: Positions | None = None) -> SmartConfig:
        return SmartConfig(**_own(configuration))

    def is_given(self, configuration: Configuration) -> bool:
        return self.settings_of(configuration) != SmartConfig()

    def with_settings(self, configuration: Configuration, settings: SmartConfig) -> Configuration:
        return replace(configuration, **_own(settings))


def ineffective_overrides(transcript: Transcript, configuration: Configuration, count: Counter) -> Iterator[str]:
    """Yield a sentence for each override of a message that is wholly protected, or preserved by its pass."""
    passes = [
        (config, config.individual_config.overrides)
        for config in configuration.passes
        if config.mode == "individual" and config.enabled and config.individual_config
    ]
    if not any(overrides for _, overrides in passes):
        return
    messages = transcript.messages
    protection = protect(configuration, messages, count, transcript.model)
    places = {message.index: position for position, message in enumerate(messages)}
    length = messages[-1].index + 1 if messages else 0
    for config, overrides in passes:
        preserved = Selection(
            type=config.selection.type,
            keep_recent_count=config.selection.keep_recent_count,
            keep_percentage=config.selection.keep_percentage,
        )
        selected = select(preserved, messages, count)
        for override in overrides:
            index = override.message_index
            position = places.get(index + length if index < 0 else index)
            fields = override.operations.__struct_fields__
            operations = [getattr(override.operations, name) for name in fields]
            if position is None or not any(each is not UNSET and each.operation != "keep" for each in operations):
                continue
            message = messages[position]
            blocks = [block for block in message.blocks if block.content_type is not None]
            why = [why_untouched(position, message, block, selected, protection) for block in blocks]
            if why and PROTECTED.issuperset(why):
                yield f"Pass {config.id} has an override for message {index}, which stays as it is: {why[0]}."


def _own(values: Configuration | SmartConfig) -> dict[str, Any]:
    return {name: getattr(values, name) for name in SmartConfig.__struct_fields__}


PROVIDER: Final = Smart()
