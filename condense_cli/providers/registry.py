"""Registry of providers: built-in ones, those of installed packages, and the user's settings for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from ..config.base import ProviderSettings
from ..config.loading import as_typed
from ..config.models import Configuration
from ..config.positions import Positions
from ..core.wording import nearest
from ..errors import ConfigurationError
from . import lossless, native, smart, truncation
from .base import OWN_SECTION, Capabilities, Provider


class FoundPlugin(Struct, frozen=True):
    """An object that a package registered under a name, or the reason why it cannot be loaded."""

    name: str
    origin: str
    thing: Any = None
    error: str = ""


class InstalledProviders(Protocol):
    """Look-up of providers in packages; used only for names that are not built in."""

    def providers(self) -> Sequence[str]:
        """Return all names, without loading any."""

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        """Return everything registered under a name; several results mean that packages clash."""


class NothingInstalled(Struct, frozen=True):
    def providers(self) -> Sequence[str]:
        return ()

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        return ()


AnyProvider = Provider[Any]

BUILT_IN: Final[tuple[AnyProvider, ...]] = (
    smart.PROVIDER,
    lossless.PROVIDER,
    truncation.PROVIDER,
    native.PROVIDER,
)
DEFAULT: Final = smart.PROVIDER.id
_BUILT_IN: Final = "built in"
_REGISTERED: Final = "registered"


class Registered(Struct, frozen=True):
    """A provider, its origin ("built in", "registered", or a package), and the user's settings."""

    provider: AnyProvider
    origin: str
    settings: ProviderSettings


class Registry:
    """Providers of a process or a test, with their settings. Instances share nothing."""

    def __init__(
        self,
        settings: Mapping[str, ProviderSettings] | None = None,
        *,
        active: str = DEFAULT,
        installed: InstalledProviders | None = None,
    ) -> None:
        self.given = dict(settings or {})
        self._active = DEFAULT
        self._installed = installed or NothingInstalled()
        self._table = {provider.id: provider for provider in BUILT_IN}
        self._origins = dict.fromkeys(self._table, _BUILT_IN)
        self._unregistered: set[str] = set()
        self._warnings: dict[str, str] = {}
        if active != DEFAULT:  # The default may be switched off; then another one replaces it.
            self.active = active

    @property
    def active(self) -> str:
        """Provider of a configuration that names none.

        If it is switched off or gone, the enabled provider of highest priority.
        """
        if self._lookup(self._active) is not None and self.settings(self._active).enabled:
            return self._active
        enabled = [entry for entry in self.all() if entry.settings.enabled]
        return enabled[0].provider.id if enabled else self._active

    @active.setter
    def active(self, provider_id: str) -> None:
        """Raises ConfigurationError for a provider that is not there or is switched off."""
        self._active = self.get(provider_id).id

    def register(self, provider: AnyProvider | type[AnyProvider]) -> None:
        """Add a provider, or a class to instantiate. Raises ConfigurationError if invalid or if the id is taken."""
        provider_id = getattr(provider, "id", "")
        made, fault = _examined(FoundPlugin(provider_id, _REGISTERED, provider), provider_id)
        if fault:
            raise ConfigurationError(f"This cannot be registered: {fault}.", "Give a Provider; see docs/api.md.")
        if self._lookup(provider_id) is not None:
            hint = f"Give it another id, or call unregister({provider_id!r}) first."
            raise ConfigurationError(f"There is a provider named {provider_id!r} already.", hint)
        self._table[provider_id], self._origins[provider_id] = made, _REGISTERED
        self._unregistered.discard(provider_id)

    def unregister(self, provider_id: str) -> None:
        """Remove a provider of any origin. Raises ConfigurationError if it does not exist."""
        self.entry(provider_id)
        del self._table[provider_id], self._origins[provider_id]
        self._unregistered.add(provider_id)

    @property
    def warnings(self) -> list[str]:
        """Warnings about installed packages looked up so far."""
        return list(self._warnings.values())

    @property
    def unknown(self) -> list[str]:
        """Sentences about names in the user's settings that no provider has."""
        names = [name for name in self.given if name not in self._table]
        known = sorted({*self._table, *self._installed.providers()}) if names else []
        near = {name: nearest(name, known) for name in names if name not in known}
        return [
            f"There is no provider {name!r}.{f' Did you mean {other}?' if other else ''}"
            for name, other in near.items()
        ]

    def settings(self, provider_id: str) -> ProviderSettings:
        return self.given.get(provider_id, ProviderSettings())

    def get(self, provider_id: str | None = None, positions: Positions | None = None) -> AnyProvider:
        """Return a provider by name, or the active one. Raises ConfigurationError, also for one switched off."""
        provider_id = self.active if provider_id is None else provider_id
        provider = self._lookup(provider_id)
        if provider is None:
            raise self._unknown(provider_id, positions)
        if not self.settings(provider_id).enabled:
            hint = f"Your own configuration says `providers: {{{provider_id}: {{enabled: false}}}}`."
            raise _error(f"the provider {provider_id!r} is switched off", hint, positions)
        return provider

    def entry(self, provider_id: str) -> Registered:
        """Return a provider, enabled or not, with origin and settings. Raises ConfigurationError."""
        provider = self._lookup(provider_id)
        if provider is None:
            raise self._unknown(provider_id, None)
        return Registered(provider, self._origins[provider_id], self.settings(provider_id))

    def all(self) -> list[Registered]:
        """Return every provider, highest priority first. Loads installed packages."""
        for name in self._installed.providers():
            if self._origins.get(name) == _BUILT_IN:
                self._warnings[name] = f"An installed package registers {name!r}: the built-in provider is used."
            self._lookup(name)
        return sorted(map(self.entry, self._table), key=lambda entry: -entry.settings.priority)

    def configured(self, configuration: Configuration) -> Configuration:
        """Return the configuration with its provider and, unless it has its own, the user's settings for it."""
        provider = self.get(configuration.provider)
        configuration = replace(configuration, provider=provider.id)
        own = self.settings(provider.id).config
        return configuration if own is None or provider.is_given(configuration) else self.filled(configuration, {})

    def filled(self, configuration: Configuration, given: Mapping[str, Any]) -> Configuration:
        """Return the configuration with all settings of its provider: `given`, else the user's, else defaults."""
        provider = self.get(configuration.provider)
        configuration = replace(configuration, provider=provider.id)
        values = {**(self.settings(provider.id).config or {}), **given}
        settings = as_typed(values, provider.settings, Positions(f"providers.{provider.id}.config", is_file=False))
        return provider.with_settings(configuration, settings)

    def compiled(self, configuration: Configuration) -> Configuration:
        """Return the configuration with its prelude and passes written out. Raises ConfigurationError.

        The passes do everything that the provider does, except for its `besides`.
        """
        return self.get(configuration.provider).in_passes(self.configured(configuration))

    def _lookup(self, provider_id: str) -> AnyProvider | None:
        if provider_id not in self._table and provider_id not in {*self._warnings, *self._unregistered}:
            self._look_up_installed(provider_id)
        return self._table.get(provider_id)

    def _look_up_installed(self, provider_id: str) -> None:
        found = self._installed.provider(provider_id)
        if len(found) > 1:
            names = " and ".join(one.origin for one in found)
            self._warnings[provider_id] = (
                f"{names} all register the provider {provider_id!r}: that of {found[0].origin} is used."
            )
        for one in found[:1]:
            provider, fault = _examined(one, provider_id)
            if fault:
                self._warnings[provider_id] = f"The provider {provider_id!r} of {one.origin} cannot be used: {fault}."
            else:
                self._table[provider_id], self._origins[provider_id] = provider, one.origin

    def _unknown(self, provider_id: str, positions: Positions | None) -> ConfigurationError:
        if provider_id in self._warnings:
            return _error(f"the provider {provider_id!r} cannot be used", self._warnings[provider_id], positions)
        known = sorted({*self._table, *self._installed.providers()} - self._unregistered)
        near = nearest(provider_id, known)
        hint = f"{f'Did you mean {near}? ' if near else ''}Providers: {', '.join(known)}."
        return _error(f"there is no provider named {provider_id!r}", hint, positions)


def _examined(found: FoundPlugin, provider_id: str) -> tuple[Any, str]:
    """Return the provider that a package registers, and an empty string or the reason why it is invalid."""
    if found.error:
        return None, found.error
    thing = found.thing
    try:
        provider = thing() if isinstance(thing, type) and issubclass(thing, Provider) else thing
        return provider, _fault(provider, provider_id)
    except Exception as error:  # A package's own code may raise anything.
        return None, f"{type(error).__name__}: {error}"


def _fault(provider: Any, provider_id: str) -> str:
    if not isinstance(provider, Provider):
        return f"it is not a Provider but {type(provider).__name__}"
    for field in ("id", "name", "description", "version"):
        if not isinstance(getattr(provider, field, None), str):
            return f"it has no {field}"
    if provider.id != provider_id:
        return f"it calls itself {provider.id!r}"
    if not isinstance(getattr(provider, "capabilities", None), Capabilities):
        return "it has no capabilities"
    settings = getattr(provider, "settings", None)
    if not (isinstance(settings, type) and issubclass(settings, Struct)):
        return "its settings are not a msgspec.Struct"
    if provider.section != OWN_SECTION:
        return f"it takes the section {provider.section!r}, which is not its own"
    return ""


def _error(what: str, hint: str, positions: Positions | None) -> ConfigurationError:
    if positions is not None:
        return positions.error(("provider",), what, hint)
    return ConfigurationError(f"{what[0].upper()}{what[1:]}.", hint)
