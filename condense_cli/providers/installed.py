"""What a registry asks of installed packages. How they are looked up is not its to know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from msgspec import Struct


class FoundPlugin(Struct, frozen=True):
    """What a package registered under a name: the thing itself, or why it cannot be had."""

    name: str
    origin: str
    thing: Any = None
    error: str = ""


class InstalledProviders(Protocol):
    """What installed packages register as providers. Asked only for what the table does not know."""

    def providers(self) -> Sequence[str]:
        """Their names, without loading any."""

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        """Those registered under a name; more than one where packages clash."""


class NothingInstalled(Struct, frozen=True):
    def providers(self) -> Sequence[str]:
        return ()

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        return ()
