"""The command that installs an extra is one that works where this program runs."""

from __future__ import annotations

import shlex
import sys
from importlib import metadata

import pytest

from condense_cli.errors import ExitStatus
from condense_cli.storage import extras

EXTRAS = ("images", "mcp", "parquet", "png", "proxy", "ray", "redact", "ui")


@pytest.mark.parametrize("extra", EXTRAS)
def test_it_names_the_packages_of_the_extra(extra: str) -> None:
    command = shlex.split(extras.how_to_install(extra))
    assert command[0] == sys.executable
    assert command[1:4] == ["-m", "pip", "install"]
    assert len(command) == (7 if extra == "proxy" else 5)
    assert all(">=" in package and "extra" not in package for package in command[4:])


@pytest.mark.parametrize("prefix", ["/home/me/.local/share/pipx/venvs/condense-cli", "/home/me/.local/pipx/venvs/c"])
def test_pipx_is_asked_where_it_made_the_environment(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert extras.how_to_install("ui").startswith("pipx inject condense-cli 'textual>=")


def test_uv_is_asked_where_there_is_no_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    assert extras.how_to_install("ui").startswith(f"uv pip install --python {sys.executable} 'textual>=")


def test_what_is_not_installed_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", unknown)
    assert extras.how_to_install("ui").endswith("'condense-cli[ui]'")


def test_one_exit_status_tells_of_a_missing_extra() -> None:
    assert {extras.missing("It needs that", extra).status for extra in EXTRAS} == {ExitStatus.USAGE}
