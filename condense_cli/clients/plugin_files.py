"""Install plugins that run condense in clients without hooks for commands: one script in a folder of the client's."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .choices import Client, own_folder
from .client import Setup
from .settings import InstallPlan, SettingsEdit, Target, program, read_text

_HEAD: Final = "// Added by condense install; condense install --remove takes it out.\n"
_PROGRAM: Final = "const PROGRAM = "


def setup(client: Client, folder: str, in_project: str) -> Setup:
    """Return the setup of a client that loads scripts from a folder beside its settings, and from one of a project."""

    def path(target: Target) -> Path:
        own = own_folder(client, target.home, target.environment) / folder
        return (own if target.project is None else target.project / in_project) / "condense.js"

    def edit(target: Target, after: str | None) -> InstallPlan:
        place = path(target)
        before = read_text(place)
        if before is not None and not before.startswith(_HEAD):
            return InstallPlan((), (f"{place} is not from condense; it was left alone.",))
        return InstallPlan((SettingsEdit(place, before, after),))

    def problems(target: Target) -> Iterator[str]:
        text = read_text(path(target)) or ""
        if not text.startswith(_HEAD):
            yield "The plugin is not installed."
            return
        named = re.search(rf'(?m)^{_PROGRAM}\[("[^"]+")', text)
        runs = json.loads(named[1]) if named else ""
        if named and not Path(runs).is_file():
            yield f"The plugin runs a program that is not there: {runs}"
        elif text != _script(client):
            yield "The plugin is of another version of condense; install it again."

    return Setup(
        lambda target: edit(target, _script(client)), lambda target: edit(target, None), problems, has_server=False
    )


def _script(client: Client) -> str:
    code = Path(__file__).with_name(f"plugin_{client}.js").read_text(encoding="utf-8")
    return f"{_HEAD}{_PROGRAM}{json.dumps(program())}\n{code}"
