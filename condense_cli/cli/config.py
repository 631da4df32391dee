"""`condense config`: check a configuration, show what a run would use, and the schema for editors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..errors import ConfigurationError, ExitStatus, UsageError
from ..report.visible import visible
from .console import exits, say, write_text
from .options import ExceptTools, KeepRecent, OnlyTools, Pins, Preset, Range, TargetTokens, overrides_of

config_app = typer.Typer(
    help="Check configurations, show every value in use, print the schema.",
    epilog="Examples:\n\n\b\ncondense config validate mine.yaml\ncondense config show --preset cost\n"
    "condense config schema > condense.schema.json",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@config_app.command("validate")
def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Configurations to check.")],
) -> None:
    """Check configurations. Exit status 0 if all are valid, 2 if not.

    Examples:

    \b
    condense config validate mine.yaml
    condense config validate presets/*.yaml
    """
    with exits():
        from ..config.checks import warnings
        from ..config.loading import load_configuration
        from ..config.user import load_user_configuration, user_configuration_path
        from ..providers.compiled import compiled as in_passes

        status = ExitStatus.DONE
        for file in files:
            try:
                if file.absolute() == user_configuration_path():
                    load_user_configuration(file)
                    typer.echo(visible(f"{file}: valid, your own configuration"))
                    continue
                configuration = load_configuration(file)
            except ConfigurationError as error:
                say(f"condense: {error.message}" + (f"\n{error.hint}" if error.hint else ""))
                status = error.status
                continue
            for warning in warnings(configuration):
                say(f"condense: warning: {file}: {warning}")
            number = len(in_passes(configuration).passes)
            typer.echo(visible(f"{file}: valid, {number} pass{'' if number == 1 else 'es'}"))
        raise SystemExit(int(status))


@config_app.command("show")
def show(
    preset: Preset = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML or JSON configuration instead.")
    ] = None,
    keep_recent: KeepRecent = None,
    only_tools: OnlyTools = None,
    except_tools: ExceptTools = None,
    range: Range = None,
    pin: Pins = None,
    target_tokens: TargetTokens = None,
    compiled: Annotated[
        bool,
        typer.Option(
            "--compiled", help="Show the passes that a provider's settings, or phases, become; they run as they are."
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Show the configuration that a run with the same flags would use.

    Every default is filled in. A comment beside each value says where it came from: a flag, a line of the file,
    the preset, or the default.

    Examples:

    \b
    condense config show
    condense config show --config mine.yaml --keep-recent 20
    condense config show --config phases.yaml --compiled > passes.yaml
    condense config show --preset speed --json | jq .origins
    """
    with exits():
        if preset is not None and config is not None:
            raise UsageError("--preset and --config cannot be used together.", "Name one configuration.")

        from ..config.effective import effective
        from ..config.loading import load_with_positions
        from ..config.presets import DEFAULT_PRESET, find_preset, preset_names
        from ..providers.compiled import compiled as in_passes
        from ..report.facts import to_json
        from ..report.settings import as_report, as_yaml

        overrides = overrides_of(keep_recent, only_tools, except_tools, range, pin, target_tokens)
        name = str(config) if config is not None else preset or DEFAULT_PRESET
        is_preset = config is None and name in preset_names()
        loaded = load_with_positions(config if config is not None else find_preset(name))
        passes = in_passes(loaded.configuration) if compiled else None
        settings = effective(loaded, overrides, preset=name if is_preset else None, compiled=passes)
        if passes is not None and loaded.configuration.provider == "native":
            say("condense: Provider native leaves short conversations alone besides, which passes cannot say.")
        write_text(to_json(as_report(settings, name)) if json else as_yaml(settings))


@config_app.command("schema")
def schema() -> None:
    """Print the JSON Schema of a configuration, for editors.

    Examples:

    \b
    condense config schema > condense.schema.json
    """
    with exits():
        from ..config.schema import configuration_schema
        from ..report.facts import to_json

        write_text(to_json(configuration_schema()))
