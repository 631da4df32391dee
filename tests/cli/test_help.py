"""Help pages, their examples and completion, and what is said to somebody who names what does not exist."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import condense, condense_process, environment
from real import PROJECT, SESSION
from test_cli import HELP_PAGES

from condense_cli import api
from condense_cli.cli import options
from condense_cli.cli.building import instead_of
from condense_cli.cli.commands.shrink import RunOptions
from condense_cli.cli.options import FORMAT_NAMES
from condense_cli.cli.table import COMMANDS, FIRST, GROUPS, load
from condense_cli.clients.choices import Client
from condense_cli.config.options import COMMON, OUTPUT, options_of
from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus
from condense_cli.formats import FORMATS
from condense_cli.formats.convert import TARGETS

OLD_NAMES = {"keep_recent", "only_tools", "except_tools", "range", "pins"}
"""Other names for --keep: they work, and are in no help page."""


def test_every_option_of_run_is_in_a_group() -> None:
    shown = [field for field in options_of(RunOptions) if not field.flag.is_argument]
    assert all(field.group for field in shown)
    assert {field.name for field in shown if field.flag.is_hidden} == OLD_NAMES


def test_the_help_of_run_has_what_people_need_and_help_all_the_rest() -> None:
    short, whole = condense("run", "--help").text, condense("run", "--help-all").text
    listed = [field for field in options_of(RunOptions) if not (field.flag.is_argument or field.flag.is_hidden)]
    first = [field for field in listed if field.group in (COMMON, OUTPUT)]
    assert 13 <= len(first) <= 17
    assert sorted(_rows(short)[:-2]) == sorted(field.flag.names(field.name)[0] for field in first)
    assert _titles(short) == [COMMON, OUTPUT, "Other options"]
    assert len(short.splitlines()) < 70
    assert {*_rows(whole)} == {*(field.flag.names(field.name)[0] for field in listed), "--help-all", "--help"}
    assert _titles(whole)[:2] == [COMMON, OUTPUT]
    assert {*_titles(whole)} == {field.group for field in listed} | {"Other options"}
    assert f"all {len(listed)} options" in short


def _titles(page: str) -> list[str]:
    return re.findall(r"(?m)^([A-Z][A-Za-z ]+):\n  -", page)


def _rows(page: str) -> list[str]:
    """The options of a page, each by its long name."""
    return re.findall(r"(?m)^  (?:-\w, )?(--[a-z-]+)(?= |$)", page)


def test_every_command_takes_help_all() -> None:
    for name, page in _help_pages("--help-all").items():
        assert {*_rows(condense(*name.split(), "--help").text)} <= {*_rows(page)}, name


@pytest.mark.parametrize(
    ("typed", "meant"), [("--prset", "--preset"), ("--budgt", "--budgets"), ("--keep-recents", "--keep")]
)
def test_a_mistyped_option_is_told_one_that_is_listed(typed: str, meant: str) -> None:
    command = "evaluate" if meant == "--budgets" else "run"
    done = condense(command, "session.jsonl", typed, "3")
    assert (done.status, meant in done.message) == (ExitStatus.USAGE, True)
    suggested = done.message.partition(typed)[2]
    assert {*re.findall(r"--[a-z-]+", suggested)} <= {*_rows(condense(command, "--help-all").text)}


def _flag(name: str) -> str:
    return "--pin" if name == "pins" else f"--{name.replace('_', '-')}"


@pytest.mark.parametrize("name", sorted(OLD_NAMES))
def test_old_names_still_work(name: str, file: Path) -> None:
    value = {"keep_recent": "3", "range": "2:9", "pins": "listing"}.get(name, "Read")
    assert condense("run", file, "-p", "speed", _flag(name), value, "--json").status == ExitStatus.DONE


def test_the_help_of_sessions_names_every_client() -> None:
    text = " ".join(condense("sessions", "--help").text.split())
    assert f"one client: {', '.join(Client)}." in text
    covered = text.partition("Covers ")[2].partition(". ")[0].lower().replace(" ", "-")
    assert [client for client in Client if client.value.partition("-")[0] not in covered] == []


@pytest.mark.parametrize(("command", "is_writing"), [("run", True), ("diff", False), ("evaluate", False)])
def test_only_what_writes_says_that_it_writes_nothing(command: str, is_writing: bool) -> None:
    text = " ".join(condense(command, "--help").text.split())
    about = text.partition("Keep the strings in FILE")[2].partition("status 6")[0]
    assert ("write nothing" in about) is is_writing


def test_the_first_page_has_six_commands_and_names_the_others() -> None:
    page = condense("--help").text
    assert [name for name in COMMANDS if f"\n  {name} " in page] == [name for name in COMMANDS if name in FIRST]
    assert len(FIRST) == 6
    others = " ".join(page.split()).partition("More: ")[2].partition(".")[0]
    assert others.split(", ") == [name for name in COMMANDS if name not in FIRST]


def test_all_commands_are_in_groups_that_tell_whom_they_are_for() -> None:
    text = condense("--help-all").text
    found = [title for title in GROUPS if f"{title}:" in text]
    assert found == [*GROUPS]
    settings, builders = (text.index(f"{title}:") for title in found[-2:])
    assert settings < text.index("  presets ") < builders < text.index("  providers ") < text.index("  profiles ")
    assert all(f"\n  {name} " in text for name in COMMANDS)


@pytest.mark.parametrize("command", ["", "run", "presets", "undo", "presets new"])
def test_help_is_a_command_too(command: str) -> None:
    assert condense("help", *command.split()) == condense(*command.split(), "--help")


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
    assert done.status == ExitStatus.USAGE
    assert "'zzzz'" in done.message
    assert "condense --help lists them" in done.message


def _help_pages(flag: str = "--help") -> dict[str, str]:
    """The pages of all commands, and of those in groups, by their names."""
    groups = {"presets": ("list", "show", "new", "edit"), "config": ("validate", "show", "schema")}
    lines = [(name, *([rest] if rest else [])) for name in COMMANDS for rest in groups.get(name, ("",))]
    return {" ".join(line): condense(*line, flag).text for line in lines}


def test_long_help_pages_have_their_options_in_groups() -> None:
    """More than a dozen options never come in one row, and none is left over."""
    for name, page in _help_pages("--help-all").items():
        rows = re.findall(r"(?m)^(?:Options|[A-Z][^\n]*):\n((?:  .*\n?)+)", page)
        most = max(len(re.findall(r"(?m)^  -", section)) for section in rows)
        assert most <= 12, name
        if "\nOther options:\n" in page:
            assert _rows(page.partition("\nOther options:\n")[2]) in (["--help"], ["--help-all", "--help"]), name


_EXAMPLE = re.compile(r"^ +condense (.+?) \| jq (?:-r )?('[^']+'|\S+)$", re.MULTILINE)
_FASTER = {"test local": "test offline", "evaluate sessions/": "evaluate sessions/ -p speed --against none"}


@pytest.fixture(scope="module")
def small() -> bytes:
    return api.dump(api.condense(api.load(SESSION), preset="speed"))


@pytest.fixture
def folder(tmp_path: Path, small: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples name."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for name in ("session.jsonl", "before.jsonl", "sessions/one.jsonl", "claude/projects/-p/one.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SESSION, tmp_path / name)
    for name in ("small.jsonl", "after.jsonl"):
        (tmp_path / name).write_bytes(small)
    shutil.copy(PROJECT / "presets" / "speed.yaml", tmp_path / "mine.yaml")
    return tmp_path


def follow(found: Any, path: str) -> None:
    """Walk along a path of `jq`, such as `.a[0].b` or `.a[].b`. Raises KeyError where it leads nowhere."""
    values = [found]
    for key, index in re.findall(r"\.(\w+)|\[(\d*)\]", path.partition(" ")[0]):
        if key:
            values = [value[key] for value in values]
        else:
            values = [one for value in values for one in (value if index == "" else [value[int(index)]])]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("page", HELP_PAGES, ids=lambda page: "-".join(page) or "condense")
def test_there_is_what_the_examples_ask_for(page: tuple[str, ...], folder: Path) -> None:
    for command, path in _EXAMPLE.findall(condense(*page, "--help-all").text):
        if page == ("undo",):
            assert condense("run", "session.jsonl", "--in-place", "-q", cwd=folder).status == 0
        for slow, faster in _FASTER.items():
            command = command.replace(slow, faster)
        done = condense(*shlex.split(command), cwd=folder)
        assert done.status == 0, done.stderr
        for printed in done.text.splitlines() if "--raw" in command else [done.text]:
            follow(json.loads(printed), path.strip("'"))


# As PYTHONOPTIMIZE=2 has it.
@pytest.mark.parametrize("arguments", [("run", "--help"), ("presets", "list")])
def test_commands_need_no_docstrings(arguments: tuple[str, ...]) -> None:
    done = condense_process(*arguments, env={"PYTHONOPTIMIZE": "2"})
    assert (done.status, done.stderr) == (0, "")


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_that_of_the_command(name: str) -> None:
    assert load(name).get_short_help_str(limit=200) == COMMANDS[name]


@pytest.mark.parametrize(("group", "name"), [("presets", "max"), ("providers", "smart"), ("profiles", "gpt-4o-mini")])
def test_a_name_where_a_command_should_stand_leads_to_show(group: str, name: str) -> None:
    done = condense(group, name)
    assert done.status == ExitStatus.USAGE
    assert f"No such command '{name}'. Did you mean 'condense {group} show {name}'?" in done.message
    assert condense(group, "show", name).status == ExitStatus.DONE
    assert "Did you mean 'show'?" in condense(group, "shwo").message


@pytest.mark.parametrize(
    ("group", "command"), [("presets", "list"), ("providers", "list"), ("profiles", "list"), ("cache", "info")]
)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_group_alone_is_its_first_command(group: str, command: str, flags: tuple[str, ...]) -> None:
    alone = condense(group, *flags)
    assert alone.status == ExitStatus.DONE
    assert alone == condense(group, command, *flags)


COMPLETE = """
import sys
sys.argv[0] = "condense"
from condense_cli.cli import main
try:
    main()
finally:
    sys.stdout.flush()
    sys.stderr.write("MODULES " + " ".join(sys.modules))
"""


def completions(typed: str) -> tuple[list[str], set[str]]:
    """What a shell is offered for a command line, and the modules that were imported for it."""
    variables = {
        "_CONDENSE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE], env=environment(variables), capture_output=True, text=True, check=False
    )
    return done.stdout.split(), set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("condense run --preset ", preset_names()),
        ("condense run x.jsonl -p q", ["quality"]),
        ("condense diff --preset s", ["speed"]),
        ("condense run --format ", [*FORMAT_NAMES, "rows"]),
        ("condense estimate x.jsonl -p sp", ["speed"]),
        ("condense evaluate x.jsonl --provider s", ["smart"]),
        ("condense evaluate x.jsonl --against n", ["none"]),
        ("condense run x.jsonl --to an", ["anthropic"]),
        ("condense show x.jsonl -f ge", ["gemini", "gemini-contents", "gemini-log"]),
        (
            "condense diff -f open",
            ["openai-chat", "openai-responses", "opencode", "opencode-events", "openhands", "openhands-sdk"],
        ),
    ],
)
def test_names_are_completed(typed: str, found: list[str]) -> None:
    printed, modules = completions(typed)
    assert printed == found
    assert not modules & {"rich", "splintr", "yaml", "msgspec", "asyncio", "rapidfuzz"}


def test_completed_formats_are_the_formats() -> None:
    assert sorted(form.name for form in FORMATS) == list(FORMAT_NAMES)
    assert options.TARGETS == TARGETS
