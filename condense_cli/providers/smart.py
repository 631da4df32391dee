"""Provider smart: the lossless prelude, then passes, or phases that become passes."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from ..config.base import Base
from ..config.checks import has_phases
from ..config.models import Configuration, PassConfig, Prelude
from ..config.phases import FallbackPhase, LlmPhase, LosslessPhase, LossyPhase, SelectionPhase
from ..config.positions import Positions
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

    def default_configuration(self) -> Configuration:
        return replace(super().default_configuration(), lossy_phase=LossyPhase())

    def settings_of(self, configuration: Configuration, positions: Positions | None = None) -> SmartConfig:
        return SmartConfig(**_own(configuration))

    def is_given(self, configuration: Configuration) -> bool:
        return self.settings_of(configuration) != SmartConfig()

    def with_settings(self, configuration: Configuration, settings: SmartConfig) -> Configuration:
        return replace(configuration, **_own(settings))


def _own(values: Configuration | SmartConfig) -> dict[str, Any]:
    return {name: getattr(values, name) for name in SmartConfig.__struct_fields__}


PROVIDER: Final = Smart()
