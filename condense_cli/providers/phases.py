"""Provider `smart` configured by phases, which become passes. Each works only while the target is not met.

The lossy phase takes its candidates in the processing order, the oldest first, until the target is met; what it may
touch and left long the LLM phase summarizes. If that is not enough, the fallback follows: the lossy phase again with
stricter limits, once (`strict_truncation`) or several times (`multi_pass`), or one summary of the middle (`native`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, assert_never

from msgspec.structs import replace

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
from . import native
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


def compiled(configuration: Configuration) -> Configuration:
    """The prelude and the passes that do the work of the phases.

    The target is that of the configuration, else the `target_reduction_percent` of the lossy phase, which counts
    whether or not that phase is enabled.
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
    has_target = configuration.target_tokens is not None or configuration.target_reduction_percent is not None
    return replace(
        configuration,
        target_reduction_percent=(
            configuration.target_reduction_percent if has_target else lossy.target_reduction_percent
        ),
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
    """What the phase says; what only `lossless_prelude` can say stays."""
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
    # A candidate has more tokens than the threshold; a pass takes what has at least its `min_tokens`.
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
    """Summaries of whatever the lossy phase may touch."""
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
        # What one pass with these limits leaves, another one leaves too.
        return _pass(FALLBACK, "Fallback: the lossy phase again", operations, lossy, selection)
    stricter = _pass(FALLBACK, "Fallback: stricter each time", _scaled(operations, factor), lossy, selection)
    return replace(stricter, repeat=Repeat(max_passes=again.max_passes, threshold_reduction_factor=factor))


def _truncating(lossy: LossyPhase) -> LossyPhase:
    """The phase with truncation in place of every other strategy but `keep`."""
    reasoning, user = lossy.assistant_reasoning, lossy.user_messages
    return replace(
        lossy,
        tool_results=replace(lossy.tool_results, strategy="truncate"),
        tool_params=replace(lossy.tool_params, strategy="truncate"),
        assistant_reasoning=reasoning if reasoning.strategy == "keep" else replace(reasoning, strategy="truncate"),
        user_messages=user if user.strategy == "keep" else replace(user, strategy="truncate"),
    )


def _scaled(operations: ContentTypeOperations, factor: float) -> ContentTypeOperations:
    """The operations with every threshold and limit multiplied."""

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
    """The operations with those changed that do anything."""
    found = {name: getattr(operations, name) for name in _CONTENT.values()}
    changed = {name: change(operation) for name, operation in found.items() if operation.operation != "keep"}
    return replace(operations, **changed)
