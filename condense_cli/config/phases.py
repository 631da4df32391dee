"""The phases of provider smart: lossless, selection, lossy, summaries, fallback; `providers.smart` compiles them.

Field names are the snake_case keys; the loader also accepts their camelCase forms.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from .base import Base, Count, Positive, SummaryCheck

Kind = Literal["tool_results", "tool_params", "assistant_reasoning", "user_messages"]
"""What the lossy phase works on. Reasoning is text of assistant turns without calls, never thinking; user messages are
those without results."""


class LosslessPhase(Base, frozen=True, kw_only=True):
    enabled: bool = True
    deduplicate_file_reads: bool = True
    consolidate_results: bool = True
    remove_obsolete_state: bool = True


class SelectionPhase(Base, frozen=True, kw_only=True):
    """What no phase before the fallback touches; a `preserve_*` stands above any strategy."""

    preserve_recent_count: Count = 5
    preserve_user_messages: bool = True
    preserve_assistant_text: bool = True


class ResultStrategy(Base, frozen=True, kw_only=True):
    """Blocks of more than `threshold` tokens are treated. The same for the other strategies."""

    strategy: Literal["suppress", "truncate", "summarize"] = "truncate"
    threshold: Count = 500
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class ParameterStrategy(Base, frozen=True, kw_only=True):
    strategy: Literal["suppress", "truncate", "summarize"] = "truncate"
    threshold: Count = 100
    truncate_chars: Positive = 100
    summary_max_tokens: Positive = 100


class ReasoningStrategy(Base, frozen=True, kw_only=True):
    strategy: Literal["keep", "truncate", "summarize"] = "keep"
    threshold: Count = 1000
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class UserTextStrategy(Base, frozen=True, kw_only=True):
    """For user messages that `preserve_user_messages: false` gives up."""

    strategy: Literal["keep", "truncate", "summarize"] = "truncate"
    threshold: Count = 1000
    truncate_lines: Positive = 5
    summary_max_tokens: Positive = 100


class LossyPhase(Base, frozen=True, kw_only=True):
    """`target_reduction_percent` is the target of the run where the configuration names no other."""

    enabled: bool = True
    target_reduction_percent: Annotated[float, Meta(gt=0, lt=100)] = 50
    tool_results: ResultStrategy = ResultStrategy()
    tool_params: ParameterStrategy = ParameterStrategy()
    assistant_reasoning: ReasoningStrategy = ReasoningStrategy()
    user_messages: UserTextStrategy = UserTextStrategy()
    processing_order: tuple[Kind, ...] = ("tool_results", "tool_params", "assistant_reasoning", "user_messages")


class LlmPhase(Base, frozen=True, kw_only=True):
    """Summaries of what the lossy phase may touch and left longer than `summary_max_tokens`."""

    enabled: bool = False
    max_parallel_calls: Positive = 5
    summary_max_tokens: Positive = 100
    validate: SummaryCheck = SummaryCheck()


class MultiPass(Base, frozen=True, kw_only=True):
    max_passes: Annotated[int, Meta(ge=1, le=20)] = 3
    stricter_thresholds_each_pass: bool = True
    threshold_reduction_factor: Annotated[float, Meta(gt=0, le=1)] = 0.5


class FallbackPhase(Base, frozen=True, kw_only=True):
    enabled: bool = True
    strategy: Literal["native", "strict_truncation", "multi_pass"] = "multi_pass"
    multi_pass: MultiPass = MultiPass()
