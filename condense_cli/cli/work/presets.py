"""`condense presets`: list presets, show one, or write a configuration to start from."""

from __future__ import annotations

import shlex
import shutil
import sys
import textwrap
from pathlib import Path
from typing import Final

import typer

from ...config.loading import Presets
from ...config.preset_folders import DEFAULT_PRESET
from ...config.starter import DEFAULT_FILE, starter, starter_values
from ...core.wording import visible
from ...errors import ConfigurationError, UsageError
from ...report.sections import to_json
from ...storage.files import write_bytes
from ..commands.settings import ListPresets, NewPreset, ShowPreset
from ..console import say, write_out, write_text
from .settings import presets_here

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
