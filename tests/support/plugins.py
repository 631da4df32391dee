"""Packages as an installer leaves them: modules and their entry points in a folder for PYTHONPATH."""

import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path

from real import PROJECT

EXAMPLE = PROJECT / "docs" / "examples" / "condense-example"


def install_example(folder: Path) -> None:
    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    folder.mkdir(exist_ok=True)
    shutil.copy(EXAMPLE / "src" / "condense_example.py", folder)
    _register(folder, project["name"], project["version"], project["entry-points"])


def install(folder: Path, name: str, code: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """A package of one module; `groups` are its entry points, name and object by group."""
    folder.mkdir(exist_ok=True)
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    entries = {
        f"condense.{group}": {key: f"{module}:{thing}" for key, thing in things.items()}
        for group, things in groups.items()
    }
    _register(folder, name, "2.0", entries)


def _register(folder: Path, name: str, version: str, entries: Mapping[str, Mapping[str, str]]) -> None:
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {thing}\n" for key, thing in things.items()) + "\n"
            for group, things in entries.items()
        )
    )
