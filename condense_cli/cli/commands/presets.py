"""`condense presets`: the presets that come with the program, and a start for a configuration of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import ConfigurationError, UsageError
from ...report.text.visible import visible
from ..console import exits, say, write_out, write_text
from ..named_things import group_of
from ..options import Session, complete_preset
from ..running.settings import preset_names_here, presets_here

if TYPE_CHECKING:
    from ...config.presets import Presets

presets_app = typer.Typer(
    cls=group_of("list", preset_names_here),
    help="List presets, show one, or write a configuration of your own.",
    epilog="Examples:\n\n\b\ncondense presets\ncondense presets show cost\ncondense presets new mine.yaml\n"
    "condense presets new mine.yaml --from speed\ncondense presets edit mine.yaml",
    rich_markup_mode=None,
)

_WIDTH = 100


@presets_app.command("list")
def list_presets(json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the presets.

    Examples:

    \b
    condense presets list
    condense presets list --json | jq -r '.presets[].name'
    """
    with exits():
        from ...report.run.facts import to_json

        presets = presets_here()
        entries = [_facts(presets, name) for name in presets.names()]
        if json:
            write_text(to_json({"version": 1, "presets": entries}))
            return
        names = [f"{entry['name']}{' (default)' if entry['default'] else ''}" for entry in entries]
        width = max(map(len, names))
        for name, entry in zip(names, entries, strict=True):
            origin = f" ({entry['folder']})" if entry["folder"] else ""
            typer.echo(_entry(name.ljust(width), visible(f"{entry['description']}{origin}")))


@presets_app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_preset, help="Name of a preset.")],
    json: Annotated[bool, typer.Option("--json", help="Print the configuration as JSON.")] = False,
) -> None:
    """Print the file of a preset as it is.

    Examples:

    \b
    condense presets show cost
    condense presets show cost > mine.yaml
    condense presets show cost --json | jq .configuration
    """
    with exits():
        presets = presets_here()
        data = presets.read(name)
        if json:
            from ...report.run.facts import to_json

            values = presets.named(name).values
            write_text(to_json({"version": 1, "preset": _facts(presets, name), "configuration": values}))
        elif sys.stdout.isatty():
            typer.echo(visible(data.decode("utf-8", "replace")), nl=False)
        else:
            write_out(data)


@presets_app.command("new")
def new(
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|-]", help="File to write; - prints it.  [default: condense.yaml]"),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="NAME", autocompletion=complete_preset, help="Start from a copy of this preset."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a configuration to start from.

    It works as is; comments explain the rest. A name that ends in .json gets JSON, which has none.

    Examples:

    \b
    condense presets new                           writes condense.yaml
    condense presets new mine.yaml --from quality
    condense presets new - | less
    """
    with exits():
        import shlex

        from ...config.starter import DEFAULT_FILE, starter, starter_values
        from ...report.run.facts import to_json
        from ...storage.files import write_bytes

        preset = _text(presets_here(), source) if source is not None else ""
        if file == "-":
            write_text(starter(source, preset))
            return
        path = Path(DEFAULT_FILE if file is None else file)
        if path.suffix.lower() not in ("", ".yaml", ".yml", ".json"):
            raise UsageError(f"{path}: a configuration is YAML or JSON.", "Give it a name that ends in .yaml or .json.")
        is_json = path.suffix.lower() == ".json"
        text = to_json(starter_values(source, preset)) if is_json else starter(source, preset, str(path))
        if not force and (path.exists() or path.is_symlink()):
            raise UsageError(f"{path} exists already.", "Name another file, or add --force to overwrite it.")
        write_bytes(path, text.encode())
        say(f"Wrote {path}. Try it: condense run FILE --config {shlex.quote(str(path))}")


@presets_app.command("edit")
def edit(
    name: Annotated[
        str, typer.Argument(metavar="NAME|PATH", autocompletion=complete_preset, help="A preset or a file.")
    ],
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="Transcript to show the effect of each pass on.")
    ] = None,
    session: Session = None,
) -> None:
    """Edit a preset in the terminal.

    One of the package is saved as your own.

    Examples:

    \b
    condense presets edit balanced
    condense presets edit mine.yaml session.jsonl
    condense presets edit cost --session latest
    """
    with exits():
        from .ui import check_terminal, edit_configuration

        check_terminal()
        edit_configuration(name, file, session)


def _text(presets: Presets, name: str) -> str:
    """The file of a preset as text. Raises ConfigurationError, for one that does not work as well."""
    data = presets.read(name)
    presets.named(name)
    return data.decode()


def _facts(presets: Presets, name: str) -> dict[str, str | bool | None]:
    from ...config.preset_folders import DEFAULT_PRESET

    return {
        "name": name,
        "default": name == DEFAULT_PRESET,
        "description": _description(presets, name),
        "folder": str(presets.folder_of(name) or "") or None,
    }


def _description(presets: Presets, name: str) -> str:
    """What a preset says of itself, or what is wrong with it: one that cannot be read must not hide the others."""
    try:
        return presets.load(name).description
    except ConfigurationError as error:
        return f"Broken: {error.message}"


def _entry(name: str, description: str) -> str:
    import shutil
    import textwrap

    width = min(_WIDTH, shutil.get_terminal_size().columns)
    first, *rest = textwrap.wrap(description, max(20, width - len(name) - 2)) or [""]
    margin = " " * (len(name) + 2)
    return "\n".join([f"{name}  {first}".rstrip(), *(margin + line for line in rest)])
