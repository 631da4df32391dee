"""`condense config`: check a configuration, show what a run would use, and the schema for editors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer
from msgspec import Struct

from ...core.wording import plural
from ...errors import ConfigurationError, ExitStatus
from ...report.text.visible import visible
from ..console import exits, say, write_text
from ..grouped import grouped
from ..help_pages import InGroups
from ..running.options import Choosing, Configuring
from ..running.providing import checked, registry_of_user, settings_with

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...config.models import Configuration
    from ...providers.registry import Registry

config_app = typer.Typer(
    help="Check configurations, show the one in use, print the schema.",
    epilog="Examples:\n\n\b\ncondense config validate mine.yaml\ncondense config show --preset cost\n"
    "condense config schema > condense.schema.json",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Mistake(Struct, frozen=True):
    """What is wrong, where, and what to do."""

    message: str
    hint: str


class Checked(Struct, frozen=True):
    """What was found in one file: all `mistakes`, of which the first has its message and hint here too.

    `own`: it is the user's own configuration, which has no passes.
    """

    file: str
    valid: bool
    own: bool
    passes: int | None = None
    warnings: list[str] = []
    message: str | None = None
    hint: str | None = None
    mistakes: list[Mistake] = []


@config_app.command("validate")
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Configurations to check.")],
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check configurations. Exit status 0 if all are valid, 2 if not.

    Examples:

    \b
    condense config validate mine.yaml
    condense config validate presets/*.yaml
    condense config validate mine.yaml --json | jq -r '.files[].message'
    """
    with exits():
        registry = registry_of_user()
        found = []
        for file in files:
            found.append(_check(file, registry))
            if not json:
                _say(found[-1])
        is_valid = all(each.valid for each in found)
        if json:
            from ...report.run.facts import to_json

            write_text(to_json({"version": 1, "valid": is_valid, "files": found}))
        raise SystemExit(int(ExitStatus.DONE if is_valid else ExitStatus.USAGE))


def _check(file: Path, registry: Registry) -> Checked:
    from ...config.checks import target_warnings, warnings
    from ...config.files import load_user_configuration, load_user_settings
    from ...config.loading import load_with_positions
    from ...config.preset_folders import user_configuration_path

    is_own = file.absolute() == user_configuration_path()
    try:
        if is_own:
            load_user_configuration(file)
            load_user_settings(file)
            return Checked(str(file), True, is_own)
        configuration = checked(load_with_positions(file), registry)
    except ConfigurationError as error:
        return _refused(file, is_own, [error, *error.others, *_undefined_profiles(file)])
    undefined = [*_undefined_profiles(file, configuration)]
    if undefined:
        return _refused(file, is_own, undefined)
    of_provider = registry.get(configuration.provider).warnings(configuration)
    said = dict.fromkeys([*warnings(configuration), *target_warnings(configuration), *of_provider])
    number = len(registry.compiled(configuration).passes)
    return Checked(str(file), True, is_own, number, list(said))


def _refused(file: Path, is_own: bool, errors: list[ConfigurationError]) -> Checked:
    mistakes = [Mistake(error.message, error.hint) for error in errors]
    return Checked(str(file), False, is_own, message=errors[0].message, hint=errors[0].hint or None, mistakes=mistakes)


def _undefined_profiles(file: Path, configuration: Configuration | None = None) -> Iterator[ConfigurationError]:
    """A mistake for each profile that a configuration names and nobody defines.

    Without a configuration the file has other mistakes, and what it says is looked at as it is.
    """
    from ...config.checks import profiles_named
    from ...config.files import load_user_configuration, unknown_profile
    from ...config.loading import plain_values

    try:
        value, positions = plain_values(file)
        known = load_user_configuration().profiles
    except ConfigurationError:  # Told already.
        return
    for path, name in profiles_named(configuration or value):
        if name not in known:
            yield unknown_profile(name, known, positions, path)


def _say(found: Checked) -> None:
    for mistake in found.mistakes:
        say(f"condense: {mistake.message}" + (f"\n{mistake.hint}" if mistake.hint else ""))
    if not found.valid:
        return
    for warning in found.warnings:
        say(f"condense: warning: {found.file}: {warning}")
    what = "your own configuration" if found.passes is None else plural(found.passes, "pass", "passes")
    typer.echo(visible(f"{found.file}: valid, {what}"))


class _ShowPage(InGroups):
    groups: ClassVar = {
        "Common options": ("preset", "config", "no_config", "keep", "cut", "target_tokens", "target_percent"),
        "Output": ("shows_all", "json", "compiled"),
        "More that a run can be told": ("provider", "assignments", "lossless_only", "drop_thinking"),
    }


@config_app.command("show", cls=_ShowPage)
@grouped
def show(
    configuring: Configuring,
    choosing: Choosing,
    compiled: Annotated[
        bool,
        typer.Option("--compiled", help="Show the passes that a provider's settings or phases turn into."),
    ] = False,
    shows_all: Annotated[bool, typer.Option("--all", help="Include every default, as in a pipe.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show the configuration that a run with the same flags would use.

    On a terminal it shows what is set; --all, and a pipe, add every default. A comment behind each value says where it
    came from: a flag, a variable, a line of the project's or your own file, the preset, or the default.

    Examples:

    \b
    condense config show
    condense config show --config mine.yaml --keep last:20
    condense config show --provider truncation --set max_tool_result_lines=20
    condense config show --config phases.yaml --compiled > passes.yaml
    condense config show --preset speed --json | jq .origins
    """
    with exits():
        from ...config.effective import effective
        from ...report.lists.settings import as_report, as_yaml
        from ...report.run.facts import to_json

        overrides = choosing.overrides(with_target=True)
        registry = registry_of_user()
        settings = settings_with(configuring, registry)
        passes = None
        if compiled:
            used = registry.get(settings.configuration.provider)
            passes = registry.compiled(settings.configuration)
            if used.besides:
                say(f"condense: Provider {used.id} also {used.besides}, which passes cannot express.")
        shown = effective(settings, overrides, passes)
        has_defaults = shows_all or not sys.stdout.isatty()
        write_text(to_json(as_report(shown, settings.name)) if json else as_yaml(shown, has_defaults=has_defaults))


@config_app.command("schema")
def schema(
    own: Annotated[
        bool, typer.Option("--own", help="The schema of your own settings file, with profiles, instead.")
    ] = False,
) -> None:
    """Print the JSON Schema of a configuration, for editors.

    It is that of a project's condense.yaml as well.

    Examples:

    \b
    condense config schema > condense.schema.json
    condense config schema --own > own.schema.json
    """
    with exits():
        from ...config.effective import configuration_schema, own_schema
        from ...report.run.facts import to_json

        write_text(to_json(own_schema() if own else configuration_schema()))
