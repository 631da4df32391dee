"""Provider smart: the lossless prelude, then passes, or phases that become passes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import replace

from ..config.base import Base
from ..config.checks import has_phases
from ..config.models import (
    Configuration,
    FallbackPhase,
    LlmPhase,
    LosslessPhase,
    LossyPhase,
    PartialOperations,
    PassConfig,
    Prelude,
    Selection,
    SelectionPhase,
)
from ..config.overrides import apply
from ..config.positions import Positions
from ..core.tokens import Counter
from ..core.transcript import Transcript
from ..passes.condensation import Condensation
from ..passes.context import Context
from ..passes.receipts import PROTECTED
from ..passes.selection import protect, select, why_untouched
from . import phases
from .base import Capabilities, Provider


class SmartConfig(Base, frozen=True, kw_only=True):
    """What of a configuration is the provider's own."""

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
        return phases.compiled(configuration) if has_phases(configuration) else configuration

    def condense(self, transcript: Transcript, configuration: Configuration, context: Context) -> Condensation:
        result = super().condense(transcript, configuration, context)
        told = tuple(vain_overrides(transcript, apply(configuration, context.overrides), context.count))
        return replace(result, warnings=(*result.warnings, *told)) if told else result

    def default_configuration(self) -> Configuration:
        return replace(super().default_configuration(), lossy_phase=LossyPhase())

    def settings_of(self, configuration: Configuration, positions: Positions | None = None) -> SmartConfig:
        return SmartConfig(**_own(configuration))

    def is_given(self, configuration: Configuration) -> bool:
        return self.settings_of(configuration) != SmartConfig()

    def with_settings(self, configuration: Configuration, settings: SmartConfig) -> Configuration:
        return replace(configuration, **_own(settings))


def vain_overrides(transcript: Transcript, configuration: Configuration, count: Counter) -> Iterator[str]:
    """A sentence for each override that would change a message all of which is protected, or preserved by its pass."""
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
            if position is None or not _changes(override.operations):
                continue
            message = messages[position]
            blocks = [block for block in message.blocks if block.content_type is not None]
            why = [why_untouched(position, message, block, selected, protection) for block in blocks]
            if why and PROTECTED.issuperset(why):
                yield f"Pass {config.id} has an override for message {index}, which stays as it is: {why[0]}."


def _changes(operations: PartialOperations) -> bool:
    found = (getattr(operations, name) for name in operations.__struct_fields__)
    return any(operation is not UNSET and operation.operation != "keep" for operation in found)


def _own(values: Configuration | SmartConfig) -> dict[str, Any]:
    return {name: getattr(values, name) for name in SmartConfig.__struct_fields__}


PROVIDER: Final = Smart()
