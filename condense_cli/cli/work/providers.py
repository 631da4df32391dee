"""`condense providers`: compare the providers, or show one with its settings."""

from __future__ import annotations

from msgspec import to_builtins

from ...providers.registry import Registry
from ...report.lists.providers import comparison, description, facts_of, measured, options_of
from ...report.sections import to_json
from ..commands.settings import ListProviders, ShowProvider
from ..console import print_parts, print_report, say, write_text
from .providing import registry_of_user
from .settings import settings_if_any


def list_providers(options: ListProviders) -> None:
    registry = registry_of_user()
    figures = measured()
    default = _default(registry)
    entries = [facts_of(entry, figures, default) for entry in registry.all()]
    for warning in registry.warnings:
        say(f"condense: warning: {warning}")
    about = {key: value for key, value in to_builtins(figures).items() if key != "providers"}
    found = {"version": 1, "measured": about, "providers": entries, "warnings": registry.warnings}
    print_report(found, lambda: comparison(entries, figures), as_json=options.json)


def show_provider(options: ShowProvider) -> None:
    """Show one provider. Raises ConfigurationError if there is none of that name."""
    registry = registry_of_user()
    entry = registry.entry(options.name)
    facts = facts_of(entry, measured(), _default(registry))
    if options.json:
        settings = list(options_of(entry.provider.settings))
        found = {"version": 1, "provider": facts, "options": settings, "schema": entry.provider.schema()}
        write_text(to_json(found))
    else:
        print_parts(description(entry, facts))


def _default(registry: Registry) -> str:
    """Return the provider of a run that names none: that of the settings, if there are any."""
    settings = settings_if_any()
    return (settings and settings.configuration.provider) or registry.active
