"""What a configuration does, as passes: providers with settings of their own, and phases, become passes of `smart`."""

from __future__ import annotations

from ..config.models import Configuration
from . import native, phases, truncation


def compiled(configuration: Configuration) -> Configuration:
    """The configuration with its prelude and its passes written out. It says of itself all that a run needs.

    Besides, provider `native` leaves short conversations alone (`native.refusal`), which no pass can say.
    """
    if configuration.provider == "native":
        return native.compiled(configuration)
    if configuration.provider == "truncation":
        return truncation.compiled(configuration)
    return phases.compiled(configuration) if configuration.has_phases else configuration
