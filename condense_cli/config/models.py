"""The configuration as typed values, with the phases of provider smart, which `providers.smart` compiles to passes.

Field names are the snake_case keys; the loader also accepts their camelCase forms.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import force_setattr, replace

from ..tokens.counting import BUILT_IN, CounterName
from ..tokens.factor import CountName
from .base import Base as _Base
from .base import Count, Percent, Positive, SummaryCheck

ContentTypeName = Literal[
    "message_text", "tool_parameters", "tool_results", "images", "assistant_reasoning", "user_messages"
]
RoleName = Literal["system", "developer", "user", "assistant", "tool"]


# --- Phases -----------------------------------------------------------------------------------------------------------


Kind = Literal["tool_results", "tool_params", "assistant_reasoning", "user_messages"]
"""Content of the lossy phase. Reasoning is text of assistant turns without calls, never thinking; user messages are
those without results."""


class LosslessPhase(_Base, frozen=True, kw_only=True):
    enabled: bool = True
    deduplicate_file_reads: bool = True
    consolidate_results: bool = True
    remove_obsolete_state: bool = True


class SelectionPhase(_Base, frozen=True, kw_only=True):
    """What no phase before the fallback touches; a `preserve_*` outranks any strategy."""

    preserve_recent_count: Count = 5
    preserve_user_messages: bool = True
    preserve_assistant_text: bool = True


class ResultStrategy(_Base, frozen=True, kw_only=True):
    """Blocks of more than `threshold` tokens are treated. The same for the other strategies."""

    strategy: Literal["suppress", "truncate", "summarize"] = "truncate"
    threshold: Count = 500
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class ParameterStrategy(_Base, frozen=True, kw_only=True):
    strategy: Literal["suppress", "truncate", "summarize"] = "truncate"
    threshold: Count = 100
    truncate_chars: Positive = 100
    summary_max_tokens: Positive = 100


class ReasoningStrategy(_Base, frozen=True, kw_only=True):
    strategy: Literal["keep", "truncate", "summarize"] = "keep"
    threshold: Count = 1000
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class UserTextStrategy(_Base, frozen=True, kw_only=True):
    """For user messages that `preserve_user_messages: false` gives up."""

    strategy: Literal["keep", "truncate", "summarize"] = "truncate"
    threshold: Count = 1000
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class LossyPhase(_Base, frozen=True, kw_only=True):
    """`target_reduction_percent` is the target of the run where the configuration names no other."""

    enabled: bool = True
    target_reduction_percent: Annotated[float, Meta(gt=0, lt=100)] = 50
    tool_results: ResultStrategy = ResultStrategy()
    tool_params: ParameterStrategy = ParameterStrategy()
    assistant_reasoning: ReasoningStrategy = ReasoningStrategy()
    user_messages: UserTextStrategy = UserTextStrategy()
    processing_order: tuple[Kind, ...] = ("tool_results", "tool_params", "assistant_reasoning", "user_messages")


class LlmPhase(_Base, frozen=True, kw_only=True):
    """Summaries of what the lossy phase may touch and left longer than `summary_max_tokens`."""

    enabled: bool = False
    max_parallel_calls: Positive = 5
    summary_max_tokens: Positive = 100
    validate: SummaryCheck = SummaryCheck()


class MultiPass(_Base, frozen=True, kw_only=True):
    max_passes: Annotated[int, Meta(ge=1, le=20)] = 3
    stricter_thresholds_each_pass: bool = True
    threshold_reduction_factor: Annotated[float, Meta(gt=0, le=1)] = 0.5


class FallbackPhase(_Base, frozen=True, kw_only=True):
    enabled: bool = True
    strategy: Literal["native", "strict_truncation", "multi_pass"] = "multi_pass"
    multi_pass: MultiPass = MultiPass()


# --- Passes -----------------------------------------------------------------------------------------------------------


class TruncateParams(_Base, frozen=True, kw_only=True):
    max_lines: Positive | None = None
    max_chars: Positive | None = None
    keep: Literal["head", "tail", "both"] = "head"
    add_ellipsis: bool = True


class SummarizeParams(_Base, frozen=True, kw_only=True):
    """How single texts are summarized: with at most `max_parallel_calls` at a time, where the profile allows more."""

    api_profile: str | None = None
    max_tokens: Positive = 100
    custom_prompt: str | None = None
    max_parallel_calls: Positive | None = None
    validate: SummaryCheck = SummaryCheck()


class OperationParams(_Base, frozen=True, kw_only=True):
    truncate: TruncateParams | None = None
    summarize: SummarizeParams | None = None


class ContentOperation(_Base, frozen=True, kw_only=True):
    """What happens to one content type; blocks of fewer than `min_tokens` tokens stay.

    `truncate` without a limit cuts to 10 lines and 500 characters.
    """

    operation: Literal["keep", "suppress", "truncate", "summarize"] = "keep"
    params: OperationParams | None = None
    min_tokens: Count = 0

    def __post_init__(self) -> None:
        if self.operation != "truncate":
            return
        params = self.params or OperationParams()
        limits = params.truncate or TruncateParams()
        if limits.max_lines is None and limits.max_chars is None:
            limits = replace(limits, max_lines=10, max_chars=500)
            force_setattr(self, "params", replace(params, truncate=limits))


class ImageOperation(_Base, frozen=True, kw_only=True):
    """What happens to images: they stay, or a marker takes their place. Smaller than `min_tokens` they stay."""

    operation: Literal["keep", "suppress"] = "keep"
    min_tokens: Count = 0


class ContentTypeOperations(_Base, frozen=True, kw_only=True):
    """One operation for each content type.

    Two kinds of message text may have one of their own: that of assistant turns without calls, and that of user
    messages without results.
    """

    message_text: ContentOperation = ContentOperation()
    tool_parameters: ContentOperation = ContentOperation()
    tool_results: ContentOperation = ContentOperation()
    images: ImageOperation = ImageOperation()
    assistant_reasoning: ContentOperation | UnsetType = UNSET
    user_messages: ContentOperation | UnsetType = UNSET


class PartialOperations(_Base, frozen=True, kw_only=True):
    message_text: ContentOperation | UnsetType = UNSET
    tool_parameters: ContentOperation | UnsetType = UNSET
    tool_results: ContentOperation | UnsetType = UNSET
    images: ImageOperation | UnsetType = UNSET
    assistant_reasoning: ContentOperation | UnsetType = UNSET
    user_messages: ContentOperation | UnsetType = UNSET


class Override(_Base, frozen=True, kw_only=True):
    """Operations for one message, by its index in the transcript; negative counts from the end."""

    message_index: int
    operations: PartialOperations


class IndividualConfig(_Base, frozen=True, kw_only=True):
    defaults: ContentTypeOperations = ContentTypeOperations()
    overrides: tuple[Override, ...] = ()


class SummarizationConfig(_Base, frozen=True, kw_only=True):
    """How a batch is summarized. Without `max_tokens` the profile decides how long the summary may get."""

    api_profile: str | None = None
    custom_prompt: str | None = None
    max_tokens: Positive | None = None
    keep_first: Count = 1
    keep_last: Count = 5
    validate: SummaryCheck = SummaryCheck()


CUT: Final = "cut-as-asked"
"""The id of the pass that cuts what `cut` names, whatever the target is."""

NOT_IN_FILES: Final = "drop_older_half"
"""An operation that loses what it drops: only a fallback may ask for it."""


class BatchConfig(_Base, frozen=True, kw_only=True):
    """What happens to the selected messages together."""

    operation: Literal["keep", "summarize", "drop_older_half"] = "keep"
    summarization_config: SummarizationConfig | None = None


class Globs(_Base, frozen=True, kw_only=True):
    """Names that match any of `include` (all, when empty) and none of `exclude`; case does not matter."""

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


class IndexRange(_Base, frozen=True, kw_only=True):
    """Messages from `start` up to, not including, `end`; negative counts from the end."""

    start: int = 0
    end: int | None = None


class Age(_Base, frozen=True, kw_only=True):
    """Age in turns: the newest message is 0 turns old. Both ends included."""

    min: Count = 0
    max: Count | None = None


class Predicates(_Base, frozen=True, kw_only=True):
    """Conditions on a block and its message. All that are given must hold.

    `match` are selectors (`core.selectors`), one of which must mean the block. `only_tools` are globs, for messages
    that hold nothing but calls and results of such tools (and thinking).
    """

    match: tuple[str, ...] | None = None
    roles: tuple[RoleName, ...] | None = None
    tools: Globs | None = None
    only_tools: tuple[str, ...] | None = None
    range: IndexRange | None = None
    age: Age | None = None
    min_tokens: Count | None = None
    regex: str | None = None
    failed: bool | None = None
    superseded: bool | None = None


class WorthOf(Predicates, frozen=True, kw_only=True):
    """Another `min_worth`, for the blocks that the predicates mean."""

    min_worth: Annotated[float, Meta(gt=0)]


class ExtractConfig(_Base, frozen=True, kw_only=True):
    """What a pass in mode `extract` may shorten, and how far. Blocks of fewer than `min_tokens` tokens stay.

    It works to the target; where that cannot be reached, it cuts all it may (`cut`), or leaves everything to the passes
    that follow (`leave`). With `may_summarize` the oldest messages become one summary if nothing else reaches the
    target. With `min_worth` it needs no target: lines go that are worth less for every 1,000 of their tokens, in facts
    and lines that later work is expected to need. In blocks that one of the `overrides` means, the first that does says
    how much that is.
    """

    content: tuple[Literal["message_text", "tool_parameters", "tool_results"], ...] = (
        "message_text",
        "tool_parameters",
        "tool_results",
    )
    out_of_reach: Literal["cut", "leave"] = "cut"
    min_tokens: Count = 0
    min_worth: Annotated[float, Meta(gt=0)] | None = None
    overrides: tuple[WorthOf, ...] = ()
    may_summarize: bool = False


class Selection(Predicates, frozen=True, kw_only=True):
    """Which messages a pass may touch. `preserve_*` name what stays; predicates narrow any type down.

    Without a number `preserve_recent` keeps 5 turns, and `preserve_percent` 50 percent. `selector` is the name of one
    that an installed package brings; it narrows the selection down as predicates do.
    """

    type: Literal["preserve_recent", "preserve_percent", "custom"]
    keep_recent_count: Count | None = None
    keep_percentage: Annotated[float, Meta(ge=0, le=100)] | None = None
    selector: str | None = None

    def __post_init__(self) -> None:
        if self.type == "preserve_recent" and self.keep_recent_count is None:
            force_setattr(self, "keep_recent_count", 5)
        elif self.type == "preserve_percent" and self.keep_percentage is None:
            force_setattr(self, "keep_percentage", 50.0)


class Condition(_Base, frozen=True, kw_only=True):
    token_threshold: Count


class Execution(_Base, frozen=True, kw_only=True):
    """When a pass runs: always, only above so many tokens, or only where there is a target."""

    type: Literal["always", "conditional", "target"] = "always"
    condition: Condition | None = None


class Repeat(_Base, frozen=True, kw_only=True):
    """Run the pass again with stricter thresholds until the target is met."""

    max_passes: Annotated[int, Meta(ge=1, le=20)] = 3
    threshold_reduction_factor: Annotated[float, Meta(gt=0, lt=1)] = 0.5


class PassConfig(_Base, frozen=True, kw_only=True):
    """One pass. Where it is not `enabled`, it is as if it were not there.

    A pass in mode `target` does nothing without a target; with one it runs as the steps of `passes.limits.in_steps`.
    """

    id: str
    name: str = ""
    description: str = ""
    enabled: bool = True
    selection: Selection = Selection(type="preserve_recent", keep_recent_count=5)
    mode: Literal["batch", "individual", "extract", "target"] = "individual"
    individual_config: IndividualConfig | None = None
    batch_config: BatchConfig | None = None
    extract_config: ExtractConfig | None = None
    execution: Execution = Execution()
    stop_at_target: bool = False
    order: tuple[ContentTypeName, ...] = ("tool_results", "images", "tool_parameters", "message_text")
    repeat: Repeat | None = None


class PreludeOperations(_Base, frozen=True, kw_only=True):
    deduplicate_file_reads: bool = True
    consolidate_tool_results: bool = True
    remove_obsolete_state: bool = True


class Prelude(_Base, frozen=True, kw_only=True):
    """The lossless step. It leaves the newest `keep_recent` turns alone, and six in any case.

    `file_tools` are globs and `state_tags` names of elements besides those that are known.
    """

    enabled: bool = True
    operations: PreludeOperations = PreludeOperations()
    keep: Literal["latest", "earliest"] = "latest"
    keep_recent: Count = 0
    tool_parameters: bool = False
    file_tools: tuple[str, ...] = ()
    state_tags: tuple[str, ...] = ()


class NativeConfig(_Base, frozen=True, kw_only=True):
    """Provider native: one summary between the first message and the newest turns."""

    max_messages_to_keep: Count = 3
    api_profile: str | None = None
    custom_prompt: str | None = None
    max_tokens: Positive | None = None
    validate: SummaryCheck = SummaryCheck()


class LosslessConfig(_Base, frozen=True, kw_only=True):
    """Provider lossless: references alone; with a fallback, what it does next where a target is missed."""

    deduplicate_file_reads: bool = True
    consolidate_tool_results: bool = True
    remove_obsolete_state: bool = True
    keep: Literal["latest", "earliest"] = "latest"
    keep_recent: Count = 0
    tool_parameters: bool = False
    fallback: Literal["native"] | None = None


class TruncationConfig(_Base, frozen=True, kw_only=True):
    """Provider truncation: old results and parameters are cut, or results suppressed; the newest turns stay."""

    preserve_recent_count: Count = 5
    truncation_mode: Literal["suppress", "truncate"] = "truncate"
    max_tool_result_lines: Positive = 5
    max_tool_param_chars: Positive = 100
    preserve_user_messages: bool = True
    preserve_assistant_text: bool = True


class Configuration(_Base, frozen=True, kw_only=True):
    """A whole configuration; the defaults change nothing.

    `keep` are selectors of what nothing touches, `cut` of what is cut before the passes begin. `must_keep` are strings:
    the newest line with each stays, and a result without one is refused.
    `profile` names the access to a model for passes that name none of their own. Without a `provider` the registry's
    active one runs, which is smart unless somebody set another. Provider smart works with `passes`
    or with phases; where one phase is given, the others have their defaults. `no_larger_than` is accepted from
    earlier versions, and has no effect. `provider_config` are the settings of a
    provider that an installed package brings. `auto_condense_context_percent` is the share of the context window from
    which on a conversation should be condensed, `auto_condense_context_above` the tokens in use; `fallback` is what
    happens to one that is over its limit when the provider failed.
    """

    name: str = ""
    description: str = ""
    provider: str | None = None
    profile: str | None = None
    target_tokens: Positive | None = None
    target_reduction_percent: Annotated[float, Meta(gt=0, lt=100)] | None = None
    keep_first: Count = 1
    min_saving: Count | Percent = "0.5%"
    thinking: Literal["auto", "drop", "keep"] = "auto"
    old_images: Literal["drop", "keep"] = "drop"
    counter: CounterName = BUILT_IN
    keep: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    must_keep: tuple[str, ...] = ()
    pins: tuple[Predicates, ...] = ()
    lossless_prelude: Prelude = Prelude(enabled=False)
    passes: tuple[PassConfig, ...] = ()
    no_larger_than: tuple[str, ...] = ()
    native: NativeConfig | None = None
    auto_condense_context: bool = True
    auto_condense_context_percent: Annotated[float, Meta(ge=5, le=100)] = 100
    auto_condense_context_above: Positive | None = None
    fallback: Literal["none", "sliding_window"] = "none"
    count: CountName = "model"
    lossless: LosslessConfig | None = None
    provider_config: dict[str, Any] | None = None
    truncation: TruncationConfig | None = None
    lossless_phase: LosslessPhase | None = None
    selection_phase: SelectionPhase | None = None
    lossy_phase: LossyPhase | None = None
    llm_phase: LlmPhase | None = None
    fallback_phase: FallbackPhase | None = None

    @property
    def has_target(self) -> bool:
        return self.target_tokens is not None or self.target_reduction_percent is not None


class FileConfiguration(Configuration, frozen=True, kw_only=True):
    """What a file may say: a configuration, or a preset and what is different from it."""

    preset: str | None = None
