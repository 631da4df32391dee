"""`condense config` and `presets`: check and show configurations, and write one to start from."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import typer
from msgspec import Struct

from ...config.checks import profiles_named, target_warnings, warnings
from ...config.effective import configuration_schema, effective, own_schema
from ...config.loading import Presets, load_with_positions, plain_values
from ...config.models import Configuration
from ...config.options import Overrides
from ...config.overrides import checked as checked_overrides
from ...config.own import load_user_configuration, load_user_settings, unknown_profile
from ...config.preset_folders import DEFAULT_PRESET, user_configuration_path
from ...config.starter import DEFAULT_FILE, starter, starter_values
from ...core.wording import plural, visible
from ...errors import ConfigurationError, ExitStatus, UsageError
from ...providers.registry import Registry
from ...report.lists.settings import as_report, as_yaml
from ...report.sections import to_json
from ...storage.files import write_bytes
from ..commands.settings import ListPresets, NewPreset, ShowConfiguration, ShowPreset, ShowSchema, ValidateConfiguration
from ..console import say, write_out, write_text
from .providing import checked, registry_of_user, settings_with
from .reading import check_targets
from .settings import presets_here


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


_WIDTH: Final = 100


def list_presets(options: ListPresets) -> None:
    presets = presets_here()
    entries = [_facts(presets, name) for name in presets.names()]
    if options.json:
        write_text(to_json({"version": 1, "presets": entries}))
        return
    names = [f"{entry['name']}{' (default)' if entry['default'] else ''}" for entry in entries]
    width = max(map(len, names))
    for name, entry in zip(names, entries, strict=True):
        origin = f" ({entry['folder']})" if entry["folder"] else ""
        typer.echo(_entry(name.ljust(width), visible(f"{entry['description']}{origin}")))


def show_preset(options: ShowPreset) -> None:
    """Print the file of a preset. Raises ConfigurationError."""
    presets, name = presets_here(), options.name
    data = presets.read(name)
    if options.json:
        values = presets.named(name).values
        write_text(to_json({"version": 1, "preset": _facts(presets, name), "configuration": values}))
    elif sys.stdout.isatty():
        typer.echo(visible(data.decode("utf-8", "replace")), nl=False)
    else:
        write_out(data)


def new_preset(options: NewPreset) -> None:
    """Write a configuration. Raises CondenseError."""
    source = options.source
    preset = _text(presets_here(), source) if source is not None else ""
    if options.file == "-":
        write_text(starter(source, preset))
        return
    path = Path(DEFAULT_FILE if options.file is None else options.file)
    if path.suffix.lower() not in ("", ".yaml", ".yml", ".json"):
        raise UsageError(f"{path}: a configuration is YAML or JSON.", "Give it a name that ends in .yaml or .json.")
    is_json = path.suffix.lower() == ".json"
    text = to_json(starter_values(source, preset)) if is_json else starter(source, preset, str(path))
    if not options.force and (path.exists() or path.is_symlink()):
        raise UsageError(f"{path} exists already.", "Name another file, or add --force to overwrite it.")
    write_bytes(path, text.encode())
    say(f"Wrote {path}. Try it: condense run FILE --config {shlex.quote(str(path))}")


def _text(presets: Presets, name: str) -> str:
    """Return the file of a preset as text. Raises ConfigurationError, also if the preset is broken."""
    data = presets.read(name)
    presets.named(name)
    return data.decode()


def _facts(presets: Presets, name: str) -> dict[str, str | bool | None]:
    return {
        "name": name,
        "default": name == DEFAULT_PRESET,
        "description": _description(presets, name),
        "folder": str(presets.folder_of(name) or "") or None,
    }


def _description(presets: Presets, name: str) -> str:
    """Return the description of a preset, or its error: a broken one must not hide the others."""
    try:
        return presets.load(name).description
    except ConfigurationError as error:
        return f"Broken: {error.message}"


def _entry(name: str, description: str) -> str:
    width = min(_WIDTH, shutil.get_terminal_size().columns)
    first, *rest = textwrap.wrap(description, max(20, width - len(name) - 2)) or [""]
    margin = " " * (len(name) + 2)
    return "\n".join([f"{name}  {first}".rstrip(), *(margin + line for line in rest)])
