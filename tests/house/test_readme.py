"""What the README and the page of commands show is what happens: their console sessions and their Python are run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real import PROJECT

README = (PROJECT / "README.md").read_text()
COMMANDS = (PROJECT / "docs" / "commands.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", README + COMMANDS, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    shutil.copytree(PROJECT / "sample_transcripts", tmp_path / "sample_transcripts")
    return tmp_path


def test_the_readme_has_examples() -> None:
    assert CONSOLE
    assert PYTHON
    assert len(README.split()) < 1_500


@pytest.mark.parametrize("session", CONSOLE)
def test_console_sessions_print_what_they_show(session: str, workplace: Path) -> None:
    shown = ""
    printed = ""
    for line in session.splitlines():
        if not line.startswith("$ "):
            shown += line + "\n"
            continue
        command = line[2:].replace("condense ", f"{sys.executable} -m condense_cli ")
        done = subprocess.run(
            command, shell=True, cwd=workplace, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
        )
        printed += done.stdout
    assert _without_prices(printed) == _without_prices(shown)


def _without_prices(output: str) -> str:
    """Prices come from a package that is updated, and what they decide comes from it too."""
    return re.sub(r"\$\d+\.\d+|\d+\.\d turns", "#", output)


@pytest.mark.parametrize("code", PYTHON)
def test_python_examples_run(code: str, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert isinstance(names["smaller"], bytes)


# Every key of the configuration, and every key of the report, is documented.
def test_every_key_is_documented() -> None:
    import msgspec

    from condense_cli.config import models
    from condense_cli.config.variables import KEYS, variable_of
    from condense_cli.report.difference import (
        as_json,
    )
    from condense_cli.report.estimate import (
        facts as estimate,
    )
    from condense_cli.report.evaluation import (
        recorded,
    )
    from condense_cli.report.inspection import (
        facts as inspection,
    )
    from condense_cli.report.inspection import (
        lookup_json,
        savings,
    )
    from condense_cli.report.lists import (
        check,
        sessions,
        validation,
    )
    from condense_cli.report.run import (
        facts,
        log,
    )
    from condense_cli.report.text import (
        shares,
    )

    def keys(module: object) -> set[str]:
        kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
        own = [kind for kind in kinds if kind.__module__ == getattr(module, "__name__", "")]
        return {name for kind in own for name in kind.__struct_encode_fields__}

    configuration = (PROJECT / "docs" / "configuration.md").read_text()
    report = (PROJECT / "docs" / "json-report.md").read_text()
    assert {key for key in keys(models) if key not in configuration} == set()
    modules = (
        *(check, facts, as_json, estimate, inspection, lookup_json, recorded, savings, sessions, shares),
        validation,
    )
    reported = set().union(*map(keys, modules))
    assert {key for key in reported if not re.search(rf"\b{key}\b", report)} == set()
    settings = (PROJECT / "docs" / "settings.md").read_text()
    assert {key for key in keys(log) if f"`{key}`" not in settings} == set()
    assert {name for name in map(variable_of, KEYS) if f"`{name}`" not in settings} == set()
