"""`condense config`: check configurations, show the one in use, print the schema."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import typer
from msgspec import Struct

from ...config.checks import profiles_named, target_warnings, warnings
from ...config.effective import configuration_schema, effective, own_schema
from ...config.loading import load_with_positions, plain_values
from ...config.models import Configuration
from ...config.options import Overrides
from ...config.overrides import checked as checked_overrides
from ...config.own import load_user_configuration, load_user_settings, unknown_profile
from ...config.preset_folders import user_configuration_path
from ...core.wording import plural, visible
from ...errors import ConfigurationError, ExitStatus
from ...providers.registry import Registry
from ...report.lists.settings import as_report, as_yaml
from ...report.sections import to_json
from ..commands.settings import ShowConfiguration, ShowSchema, ValidateConfiguration
from ..console import say, write_text
from .providing import checked, registry_of_user, settings_with
from .reading import check_targets


class Mistake(Struct, frozen=True):
    """An error in a file, with a hint."""

    message: str
    hint: str


class Checked(Struct, frozen=True):
    """The findings in one file: all `mistakes`, of which the first has its message and hint here too.

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


def validate_files(options: ValidateConfiguration) -> None:
    """Print the mistakes and warnings and exit with the status. Raises CondenseError."""
    registry = registry_of_user()
    found = []
    for file in options.files:
        found.append(_check(file, registry))
        if not options.json:
            _say(found[-1])
    is_valid = all(each.valid for each in found)
    if options.json:
        write_text(to_json({"version": 1, "valid": is_valid, "files": found}))
    raise SystemExit(int(ExitStatus.DONE if is_valid else ExitStatus.USAGE))


def show_configuration(options: ShowConfiguration) -> None:
    """Print the configuration in use. Raises CondenseError."""
    check_targets(options.target_tokens, options.target_percent)
    overrides = checked_overrides(options.part(Overrides))
    registry = registry_of_user()
    settings = settings_with(options, registry)
    passes = None
    if options.compiled:
        used = registry.get(settings.configuration.provider)
        passes = registry.compiled(settings.configuration)
        if used.besides:
            say(f"condense: Provider {used.id} also {used.besides}, which passes cannot express.")
    shown = effective(settings, overrides, passes)
    has_defaults = options.shows_all or not sys.stdout.isatty()
    write_text(to_json(as_report(shown, settings.name)) if options.json else as_yaml(shown, has_defaults=has_defaults))


def show_schema(options: ShowSchema) -> None:
    write_text(to_json(own_schema() if options.own else configuration_schema()))


def _check(file: Path, registry: Registry) -> Checked:
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
    """Yield a mistake for each profile that a configuration names and nobody defines.

    Without a configuration the file has other mistakes, and what it says is looked at as it is.
    """
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
