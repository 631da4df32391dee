"""A provider as a package brings it, and packages as they are found."""

from collections.abc import Sequence
from typing import Any

import msgspec
from build import configuration
from msgspec.structs import replace

from condense_cli.config.base import ProviderSettings
from condense_cli.config.models import Configuration
from condense_cli.providers.base import Capabilities, Provider
from condense_cli.providers.registry import FoundPlugin, Registry


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines: int = 3


class Mine(Provider[Limits]):
    """Cuts results to some lines, unless a test says what it does."""

    id = "mine"
    name = "Mine"
    description = "Cuts results."
    capabilities = Capabilities(lossy=True)
    settings = Limits

    def compiled(self, configuration: Configuration, settings: Limits) -> Configuration:
        return replace(configuration, passes=cut(settings.lines).passes)


def cut(lines: int) -> Configuration:
    operation = {"operation": "truncate", "params": {"truncate": {"max_lines": lines}}}
    return configuration(
        {
            "id": "cut",
            "selection": {"type": "preserve_recent", "keep_recent_count": 1},
            "individual_config": {"defaults": {"tool_results": operation}},
        }
    )


class Package(msgspec.Struct):
    """What an installed package registers, and which names were loaded."""

    things: dict[str, Any]
    loaded: list[str] = []

    def providers(self) -> Sequence[str]:
        return list(self.things)

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        self.loaded.append(name)
        return [FoundPlugin(name, "package 1.0", self.things[name])] if name in self.things else []


def registry_of(*things: Any, **settings: ProviderSettings) -> Registry:
    return Registry(settings, installed=Package({getattr(thing, "id", "mine"): thing for thing in things}, []))
