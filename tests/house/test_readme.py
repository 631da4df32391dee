"""What the README and the page of commands show is what happens: their console sessions and their Python are run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import condense
from real import PROJECT

from condense_cli.config.preset_folders import preset_names

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


# Before anything is installed: an environment of an older Python would stay, and pip's own words help nobody.
@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_an_older_python_is_refused_at_once(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "hatch_build.py"):
        shutil.copy(PROJECT / name, tmp_path)
    older = tmp_path / "python"
    code = "import sys; sys.version_info = (3, 10, 12); exec(sys.argv[1])"
    older.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$2"\n')
    older.chmod(0o755)
    done = subprocess.run(
        ["make", "demo", f"PYTHON={older}"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "Python 3.11 or later" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize("line", re.findall(r"(?m)^    (condense .*)$", README))
def test_commands_that_are_not_run_exist_with_their_options(line: str) -> None:
    """What follows two spaces says what a command does; what follows -- is a client's."""
    name, *words = re.split(r"\s{2,}|\s--\s", line)[0].split()[1:]
    page = condense(name, "--help-all").text
    options = [word for word in words if word.startswith("-")]
    assert [option for option in options if not re.search(rf"(?m)^  (-\w, )?{option}\b", page)] == []


def test_the_readme_names_every_preset() -> None:
    assert sorted(re.findall(r"(?m)^\| `(\w+)`", README)) == sorted(preset_names())


@pytest.mark.slow
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
