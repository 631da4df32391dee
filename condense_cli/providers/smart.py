"""Provider smart: the lossless prelude, then the passes of the configuration."""

from __future__ import annotations

from typing import Final

from ..config.models import Configuration
from ..config.yaml_reading import Positions
from .base import Capabilities, Provider


class Smart(Provider[Configuration]):
    id = "smart"
    name = "References, then passes"
    description = (
        "The lossless prelude, then passes that keep, suppress, truncate or summarize by content type, age, size or "
        "tool, each only until a target is reached if you like. Presets are configurations of it."
    )
    best_for = "saying exactly what goes"
    capabilities = Capabilities(
        lossless=True, lossy=True, summaries=True, parallel=True, thresholds=True, multi_pass=True, fallback=True,
        speed="fast",
    )  # fmt: skip
    settings = Configuration
    runs_passes = True

    def settings_of(self, configuration: Configuration, positions: Positions | None = None) -> Configuration:
        return configuration

    def with_settings(self, configuration: Configuration, settings: Configuration) -> Configuration:
        return settings


PROVIDER: Final = Smart()
