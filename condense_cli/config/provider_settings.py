"""What a user says about a provider: whether it may be used, where it stands, and its own settings."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`priority` orders lists, the highest first, and decides who stands in for an active one that is not enabled.

    `config` are settings of the provider, each for configurations that do not give it.
    """

    enabled: bool = True
    priority: int = 0
    config: dict[str, Any] | None = None
