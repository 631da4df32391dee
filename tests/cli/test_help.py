"""The help pages in groups, and what is said to somebody who names a command that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import condense

from condense_cli.cli.building import instead_of
from condense_cli.cli.commands.shrink import RunOptions
from condense_cli.cli.table import COMMANDS, GROUPS
from condense_cli.clients.choices import Client
from condense_cli.config.options import COMMON, OUTPUT, options_of
from condense_cli.errors import ExitStatus

OLD_NAMES = {"keep_recent", "only_tools", "except_tools", "range", "pins"}
"""Other names for --keep: they work, and are in no help page."""


def test_every_option_of_run_is_in_a_group() -> None:
    shown = [field for field in options_of(RunOptions) if not field.flag.is_argument]
    assert all(field.group for field in shown)
    assert {field.name for field in shown if field.flag.is_hidden} == OLD_NAMES


def test_the_ten_that_people_need_come_first() -> None:
    text = condense("run", "--help").text
    titles = re.findall(r"(?m)^([A-Z][A-Za-z ]+):\n  -", text)
    assert titles[:2] == [COMMON, OUTPUT]
    assert {*titles} == {field.group for field in options_of(RunOptions) if field.group} | {"Other options"}
    first = [field for field in options_of(RunOptions) if field.group == COMMON and not field.flag.is_hidden]
    assert len([field for field in first if not field.flag.is_argument]) == 10
    assert not any(f"{name} " in text for name in map(_flag, OLD_NAMES))


def _flag(name: str) -> str:
    return "--pin" if name == "pins" else f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("name", sorted(OLD_NAMES))
def test_old_names_still_work(name: str, file: Path) -> None:
    value = {"keep_recent": "3", "range": "2:9", "pins": "listing"}.get(name, "Read")
    assert condense("run", file, "-p", "speed", _flag(name), value, "--json").status == ExitStatus.DONE


def test_the_help_of_sessions_names_every_client() -> None:
    text = " ".join(condense("sessions", "--help").text.split())
    assert f"one client: {', '.join(Client)}." in text
    assert "Cline, opencode, pi" in text


def test_commands_are_in_groups_that_tell_whom_they_are_for() -> None:
    text = condense("--help").text
    found = [title for title in GROUPS if f"{title}:" in text]
    assert found == [*GROUPS]
    settings, builders = (text.index(f"{title}:") for title in found[-2:])
    assert settings < text.index("  presets ") < builders < text.index("  providers ") < text.index("  profiles ")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert {name for names in GROUPS.values() for name in names} >= {*COMMANDS}


@pytest.mark.parametrize("command", ["run", "presets", "undo"])
def test_help_is_a_command_too(command: str) -> None:
    assert condense("help", command) == condense(command, "--help")
    assert condense("help") == condense("--help")


def test_version_is_a_command_too() -> None:
    assert condense("version") == condense("--version")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("compress", "condense run"),
        ("Compact", "condense run"),
        ("estimat", "condense estimate"),
        ("models", "condense profiles"),
        ("list", "condense sessions"),
        ("revert", "condense undo"),
        ("eval", "condense evaluate"),
        ("session.jsonl", "condense run session.jsonl"),
        ("logs/one", "condense run logs/one"),
        ("-", "condense run -"),
    ],
)
def test_a_wrong_name_is_understood_by_its_meaning(name: str, said: str) -> None:
    assert instead_of(name, COMMANDS).endswith(f"Did you mean: {said}")


def test_a_file_in_place_of_a_command_is_told_the_command(file: Path) -> None:
    done = condense(file)
    assert done.status == ExitStatus.USAGE
    assert f"condense run {file}" in done.message.replace("\n", "")
    done = condense("zzzz")
    assert (done.status, "condense --help lists them" in done.message) == (ExitStatus.USAGE, True)


def _help_pages() -> dict[str, str]:
    """The pages of all commands, and of those in groups, by their names."""
    groups = {"presets": ("list", "show", "new", "edit"), "config": ("validate", "show", "schema")}
    lines = [(name, *([rest] if rest else [])) for name in COMMANDS for rest in groups.get(name, ("",))]
    return {" ".join(line): condense(*line, "--help").text for line in lines}


def test_long_help_pages_have_their_options_in_groups() -> None:
    """More than a dozen options never come in one row, and none is left over."""
    for name, page in _help_pages().items():
        rows = re.findall(r"(?m)^(?:Options|[A-Z][^\n]*):\n((?:  .*\n?)+)", page)
        most = max(len(re.findall(r"(?m)^  -", section)) for section in rows)
        assert most <= 12, name
        if "\nOther options:\n" in page:
            assert re.findall(r"(?m)^  -.*", page.partition("\nOther options:\n")[2]) == [
                "  -h, --help  Show this message and exit."
            ], name


def test_every_help_page_has_examples() -> None:
    pages = _help_pages()
    assert [name for name, page in pages.items() if f"condense {name}" not in page.partition("Examples:")[2]] == []


def test_help_of_a_command_in_a_group() -> None:
    assert condense("help", "presets", "new") == condense("presets", "new", "--help")


def test_the_bare_command_takes_three_lines_of_a_narrow_terminal() -> None:
    done = condense()
    assert (done.status, len(done.text.splitlines())) == (ExitStatus.USAGE, 3)
    assert max(map(len, done.text.splitlines())) < 80
