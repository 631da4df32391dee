"""`condense providers`: the strategies there are, side by side, and one of them with its settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ..console import console, exits, say, write_text
from ..named_things import group_of
from ..options import PROVIDER_IDS, complete_provider
from ..running.providing import registry_of_user
from ..running.settings import settings_if_any

if TYPE_CHECKING:
    from ...providers.registry import Registry


def _names() -> list[str]:
    """Those of all that there are; what is installed is not loaded."""
    from ...plugins import Installed

    return [*PROVIDER_IDS, *Installed().providers()]


providers_app = typer.Typer(
    cls=group_of("list", _names),
    help="Compare the providers, or show one with its settings.",
    epilog="Examples:\n\n\b\ncondense providers\ncondense providers show truncation\n"
    "condense providers --json | jq -r '.providers[].id'",
    rich_markup_mode=None,
)

Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@providers_app.command("list")
def list_providers(json: Json = False) -> None:
    """Compare the providers.

    The built-in ones and those of installed packages; the figures are measured, and a note says on what.

    Examples:

    \b
    condense providers list
    condense providers list --json | jq '.providers[] | {id, measured}'
    """
    with exits():
        from ...report.lists.providers import comparison, facts_of, measured
        from ...report.run.facts import to_json

        registry = registry_of_user()
        figures = measured()
        default = _default(registry)
        entries = [facts_of(entry, figures, default) for entry in registry.all()]
        for warning in registry.warnings:
            say(f"condense: warning: {warning}")
        if json:
            from msgspec import to_builtins

            about = {key: value for key, value in to_builtins(figures).items() if key != "providers"}
            found = {"version": 1, "measured": about, "providers": entries, "warnings": registry.warnings}
            write_text(to_json(found))
            return
        screen = console()
        for line in comparison(entries, figures, screen.width):
            screen.print(line, soft_wrap=True)


@providers_app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_provider, help="Name of a provider.")],
    json: Json = False,
) -> None:
    """Show a provider with its settings.

    What it does, what it can do, every setting with its default and what it takes, and an example.

    Examples:

    \b
    condense providers show truncation
    condense providers show smart --json | jq .schema
    """
    with exits():
        from ...report.lists.providers import description, facts_of, measured, options_of
        from ...report.run.facts import to_json

        registry = registry_of_user()
        entry = registry.entry(name)
        facts = facts_of(entry, measured(), _default(registry))
        if json:
            options = list(options_of(entry.provider.settings))
            found = {"version": 1, "provider": facts, "options": options, "schema": entry.provider.schema()}
            write_text(to_json(found))
            return
        screen = console()
        for line in description(entry, facts, screen.width):
            screen.print(line, soft_wrap=True)


def _default(registry: Registry) -> str:
    """The provider of a run that names none: that of the settings, where somebody wrote some down."""
    settings = settings_if_any()
    return (settings and settings.configuration.provider) or registry.active
