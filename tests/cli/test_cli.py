"""The command line itself: help, version, configurations, and what is refused."""

import re
from pathlib import Path

import pytest
from helpers import SMALLER, Outcome, condense, condense_process, snapshot, unharmed

import condense_cli
from condense_cli.cli.table import COMMANDS
from condense_cli.errors import ExitStatus

HELP_PAGES: tuple[tuple[str, ...], ...] = (
    (),
    *((name,) for name in COMMANDS),
    *(("presets", name) for name in ("list", "show", "new", "edit")),
    *(("providers", name) for name in ("list", "show")),
    *(("profiles", name) for name in ("list", "show", "test")),
    *(("config", name) for name in ("validate", "show", "schema")),
    *(("cache", name) for name in ("info", "clear")),
)


def test_the_version_is_the_packages() -> None:
    for flag in ("--version", "-V"):
        assert condense(flag) == Outcome(0, f"condense {condense_cli.__version__}\n".encode(), "")


@pytest.mark.parametrize("arguments", [("--version", "--verbose"), ("--verbose", "-V"), ("version", "--verbose")])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_the_version_says_whether_it_is_compiled(
    arguments: tuple[str, ...], is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("condense_cli.cli.table.IS_COMPILED", is_compiled)
    assert condense(*arguments).text.splitlines() == [
        f"condense {condense_cli.__version__}",
        "Kernels are compiled." if is_compiled else "Kernels are interpreted Python.",
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", HELP_PAGES, ids=lambda command: "-".join(command) or "condense")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_help_page_has_examples_and_fits(command: tuple[str, ...], flag: str) -> None:
    done = condense(*command, flag, env={"COLUMNS": "80"})
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert "Examples:" in done.text
    assert f"condense {' '.join(command)}" in done.text.split("Examples:")[1]
    assert max(map(len, done.text.splitlines())) <= 80


@pytest.mark.parametrize(
    "group",
    [(), ("presets",), ("providers",), ("config",), ("profiles",), ("cache",)],
    ids=lambda group: group[0] if group else "condense",
)
def test_no_summary_of_a_command_is_cut_off(group: tuple[str, ...]) -> None:
    page = condense(*group, *(["--help"] if group else ["--help-all"]), env={"COLUMNS": "80"}).text.split("Examples:")[
        0
    ]
    listed = [line for line in page.splitlines() if re.match(r"  [a-z]", line)]
    assert len(listed) >= 2
    for line in listed:
        assert re.fullmatch(r"  [a-z]+ +[A-Z][^…]*[^.]\.", line), line


def test_the_help_documents_every_exit_status() -> None:
    text = condense("--help").text.split("Exit status:")[1]
    for status in ExitStatus:
        assert re.search(rf"\b{status.value}\b", text), status


def test_the_help_of_run_documents_every_option() -> None:
    text = condense("run", "--help-all").text
    for option in re.findall(r"(--[a-z-]+)", text.split("Common options:")[1]):
        assert re.search(rf"{option}\b.* [A-Z]", text), option


def test_nothing_to_do_shows_how_to_begin() -> None:
    done = condense()
    assert done.status == ExitStatus.USAGE
    assert len(done.text.splitlines()) == 3
    assert max(map(len, done.text.splitlines())) < 80
    assert all(line.startswith("condense ") for line in done.text.splitlines())


def test_the_default_preset_is_the_documented_one(file: Path) -> None:
    assert condense("run", file, "--json").json["configuration"] == "balanced"
    assert condense("run", file).stdout == condense("run", file, "--preset", "balanced").stdout


def test_a_configuration_file_can_be_named_in_two_ways(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(
        "passes:\n  - id: a\n    selection: {type: preserve_recent, keep_recent_count: 5}\n"
        "    individual_config: {defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 3}}}}}\n"
    )
    assert condense("run", file, "--config", config).stdout == SMALLER
    assert condense("run", file, "--preset", config).stdout == SMALLER


def test_two_configurations_are_refused(file: Path, tmp_path: Path) -> None:
    """Which one should win nobody can know."""
    done = condense("run", file, "--preset", "speed", "--config", tmp_path / "x.yaml")
    assert done.status == ExitStatus.USAGE
    assert "--preset" in done.message


BAD_CONFIGURATIONS: dict[str, tuple[str, str]] = {
    "wrong key": ("pases: []\n", "mine.yaml:1:1: unknown key 'pases'"),
    "wrong type": ("keep_first: many\n", "mine.yaml:1:1:"),
    "impossible value": ("keep_first: -1\n", "mine.yaml:1:1:"),
    "code": ("name: !!python/object/apply:os.system [touch executed]\n", "mine.yaml:1:"),
    "no YAML": ("passes: [\n", "mine.yaml:"),
    "duplicate key": ("keep_first: 1\nkeep_first: 1\n", "mine.yaml:2:1:"),
    "no mapping": ("- a\n", "mine.yaml:1:1:"),
    "a value that denies its tag": ("keep_first: !!int abc\n", "mine.yaml:1:"),
}


@pytest.mark.parametrize("option", ["--config", "--preset"])
@pytest.mark.parametrize("name", BAD_CONFIGURATIONS)
def test_a_wrong_configuration_is_a_usage_error(name: str, option: str, file: Path, tmp_path: Path) -> None:
    text, says = BAD_CONFIGURATIONS[name]
    (tmp_path / "mine.yaml").write_text(text)
    with unharmed(tmp_path):
        done = condense("run", file.name, option, "mine.yaml", "-o", "out.jsonl", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b""), done.stderr
    assert says in done.message


def test_an_unknown_preset_is_a_usage_error(file: Path, tmp_path: Path) -> None:
    with unharmed(tmp_path):
        for arguments in (("run", file, "-o", tmp_path / "out.jsonl"), ("diff", file)):
            done = condense(*arguments, "--preset", "spede")
            assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
            assert "'spede'" in done.message
            assert "speed" in done.message


def test_a_missing_configuration_is_a_usage_error(file: Path, tmp_path: Path) -> None:
    done = condense("run", file, "--config", tmp_path / "nowhere.yaml")
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "nowhere.yaml" in done.message


@pytest.mark.parametrize(
    "arguments",
    [
        ("--target-percent", "0"),
        ("--target-percent", "100"),
        ("--target-percent", "-5"),
        ("--target-percent", "nan"),
        ("--target-percent", "half"),
        ("--target-tokens", "0"),
        ("--target-tokens", "many"),
        ("--target-tokens", "5", "--target-percent", "5"),
        ("--no-such-option",),
        ("--format", "bogus"),
        ("another-file.jsonl",),
    ],
    ids=" ".join,
)
def test_an_impossible_command_line_is_refused(arguments: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense("run", file, *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert arguments[0].lstrip("-").split("-")[0] in done.stderr
    assert done.message
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize(
    ("command", "option"), [("diff", "--lines=3"), ("sessions", "--sort=largest"), ("recap", "--counter=built-in")]
)
def test_an_option_that_is_gone_names_what_replaces_it(command: str, option: str) -> None:
    done = condense(command, option)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert f"{option.partition('=')[0]} is gone. " in done.stderr


def test_options_of_the_program_may_stand_anywhere_before_two_hyphens(file: Path, tmp_path: Path) -> None:
    """What stands after them is a file, whatever it is called."""
    (tmp_path / "--debug").write_bytes(file.read_bytes())
    done = condense_process("inspect", "--json", "--debug", "--", "--debug", cwd=tmp_path)
    assert (done.status, done.json["input"]) == (ExitStatus.DONE, "--debug")
