"""What a configuration does, as passes: settings of a provider, and phases, become a prelude and passes of `smart`."""

from __future__ import annotations

from ..config.models import Configuration
from .registry import Registry


def compiled(configuration: Configuration, registry: Registry | None = None) -> Configuration:
    """The configuration with its prelude and its passes written out. It says of itself all that a run needs.

    Of a provider with a strategy of its own it says only the passes. Raises ConfigurationError.
    """
    registry = registry or Registry()
    provider = registry.get(configuration.provider)
    configuration = registry.configured(configuration)
    return provider.compiled(configuration, provider.settings_of(configuration))
