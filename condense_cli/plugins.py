"""Load providers, selectors, formats and summarizers of installed packages by their entry points.

Entry points are read only for names that are not built in, because reading takes longer than a small run. A broken
package is reported and harms nothing else. No configuration can install a package, so none can run code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from .core.wording import nearest
from .errors import ConfigurationError
from .formats.engine.base import Format
from .formats.table import TABLE
from .providers.registry import FoundPlugin

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from .passes.selection import FindSelector, Predicate, Selector
    from .passes.summaries import Summarizer
    from .tokens.counting import Counter

PROVIDERS: Final = "condense.providers"
SELECTORS: Final = "condense.selectors"
FORMATS_GROUP: Final = "condense.formats"
SUMMARIZERS: Final = "condense.summarizers"
GROUPS: Final = (PROVIDERS, SELECTORS, FORMATS_GROUP, SUMMARIZERS)


class Installed:
    """Cached entry points of the packages in this environment."""

    @cached_property
    def _entries(self) -> dict[str, list[EntryPoint]]:
        from importlib.metadata import entry_points

        # Sorted by package, so that a clash is settled alike on every machine.
        return {
            group: sorted(entry_points(group=group), key=lambda entry: (entry.name, origin(entry))) for group in GROUPS
        }

    def names(self, group: str) -> list[str]:
        return list(dict.fromkeys(entry.name for entry in self._entries[group]))

    def found(self, group: str, name: str) -> list[FoundPlugin]:
        """Load everything registered under a name; several results mean that packages clash."""
        return [_loaded(entry) for entry in self._entries[group] if entry.name == name]

    def providers(self) -> Sequence[str]:
        return self.names(PROVIDERS)

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        return self.found(PROVIDERS, name)

    def selector(self, name: str) -> Selector:
        """Return a function of messages and counter that makes a predicate. Raises ConfigurationError."""
        selector: Selector = self._callable(SELECTORS, "selector", name)
        return selector

    def selectors(self, given: Mapping[str, Predicate]) -> FindSelector:
        """Return a look-up of selectors that tries the given predicates first, then packages."""

        def find(name: str) -> Selector:
            test = given.get(name)
            return self.selector(name) if test is None else lambda messages, count: test

        return find

    def summarizer(self, name: str) -> Callable[[Counter], Summarizer]:
        """Return a factory of summarizers for a run. Raises ConfigurationError."""
        make: Callable[[Counter], Summarizer] = self._callable(SUMMARIZERS, "summarizer", name)
        return make

    def formats(self) -> tuple[list[Format], list[str]]:
        """Return formats of packages, and warnings about broken ones."""
        formats: list[Format] = []
        warnings = []
        for name in self.names(FORMATS_GROUP):
            one = self.found(FORMATS_GROUP, name)[0]
            fault = one.error
            if not fault and not (isinstance(one.thing, Format) and one.thing.name == name):
                fault = f"it is not a Format named {name!r}"
            if not fault and any(row.name == name for row in TABLE):
                fault = "there is a built-in format of that name"
            if fault:
                warnings.append(f"The format {name!r} of {one.origin} cannot be used: {fault}.")
            else:
                formats.append(one.thing)
        return formats, warnings

    def _callable(self, group: str, kind: str, name: str) -> Any:
        found = self.found(group, name)
        if not found:
            known = self.names(group)
            near = nearest(name, known)
            installed = f"Installed: {', '.join(known)}." if known else "No installed package provides one."
            hint = f"{f'Did you mean {near}? ' if near else ''}{installed}"
            raise ConfigurationError(f"There is no {kind} named {name!r}.", hint)
        fault = found[0].error or ("" if callable(found[0].thing) else "it cannot be called")
        if fault:
            raise ConfigurationError(f"The {kind} {name!r} of {found[0].origin} cannot be used: {fault}.")
        return found[0].thing


def origin(entry: EntryPoint) -> str:
    """Return an entry point's package and version."""
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else "an unknown package"


def _loaded(entry: EntryPoint) -> FoundPlugin:
    try:
        return FoundPlugin(entry.name, origin(entry), entry.load())
    except (Exception, SystemExit) as error:  # Importing a module may raise anything.
        return FoundPlugin(entry.name, origin(entry), error=f"{type(error).__name__}: {error}")
