"""Installed packages: what they bring works, and what is wrong with one harms nothing else."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from build import LONG, anthropic, assistant, call, result, user
from helpers import Outcome, condense_process
from plugins import install, install_example

from condense_cli.config.profiles import Access, Profile
from condense_cli.core.transcript import Message
from condense_cli.errors import ExitStatus, UnknownFormatError
from condense_cli.formats import parse
from condense_cli.llm.access import AccessChoice
from condense_cli.llm.calls import Caller
from condense_cli.llm.client import Cause
from condense_cli.llm.summarizer import Summaries
from condense_cli.passes.summaries import Refused, Task, TextTask, Written
from condense_cli.plugins import Installed
from condense_cli.providers.registry import BUILT_IN
from condense_cli.tokens.counting import Counter

LOG = "\n".join(f"2026-11-0{n % 9 + 1} 12:00:{n:02} request {n} took {n * 7} ms" for n in range(60))
CONVERSATION = [
    user("Why is it slow?"),
    assistant([call("t1", "Bash", command="cat server.log")]),
    user([result("t1", LOG)]),
    assistant([call("t2", "Bash", command="make test")]),
    user([result("t2", LONG, is_error=True)]),
    assistant([call("t3", "Read", file_path="a.py")]),
    user([result("t3", LONG.replace("value", "price"))]),
    *(message for n in range(4) for message in (assistant(f"Thought {n}."), user("Go on."))),
    assistant("It is the database."),
]


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """A folder for packages."""
    return tmp_path / "packages"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in CONVERSATION))
    return path


def run(packages: Path, *arguments: str | Path) -> Outcome:
    """The command in an environment with these packages and nobody's settings."""
    paths = [str(packages), *sys.path, *([os.environ["PYTHONPATH"]] if "PYTHONPATH" in os.environ else [])]
    home = packages.parent / "home"
    home.mkdir(exist_ok=True)
    env = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "HOME": str(home), "XDG_CONFIG_HOME": str(home / "c")}
    env |= {"XDG_CACHE_HOME": str(home / "cache")}
    return condense_process(*arguments, env=env, cwd=home)


def own_settings(packages: Path, text: str) -> None:
    folder = packages.parent / "home" / "c" / "condense"
    folder.mkdir(parents=True)
    (folder / "condense.yaml").write_text(text)


def results(done: Outcome) -> list[str]:
    """The tool results of what a run wrote to its standard output."""
    messages = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return [
        block["content"]
        for message in messages
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]


# The example's provider leaves out the log, and neither what failed nor what is no command's.
@pytest.mark.slow
def test_the_provider_of_the_example(packages: Path, session: Path) -> None:
    install_example(packages)
    done = run(packages, "run", session, "--provider", "quiet", "-o", "-")
    assert done.status == ExitStatus.DONE, done.stderr
    log, failed, file = results(done)
    assert log.startswith("[… 60 lines #")
    assert failed == LONG
    assert file == LONG.replace("value", "price")
    kept = run(packages, "run", session, "--provider", "quiet", "--set", "min_tokens=99999", "-o", "-")
    assert kept.stdout == session.read_bytes()


@pytest.mark.slow
def test_a_configuration_names_it_and_its_settings(packages: Path, session: Path, tmp_path: Path) -> None:
    install_example(packages)
    config = tmp_path / "c.yaml"
    for given, status, said in (
        ("{minTokens: 100}", ExitStatus.DONE, "valid"),
        ("{min_tokns: 100}", ExitStatus.USAGE, "c.yaml:2:19: unknown key 'min_tokns'"),
        ("{keep_recent: -1}", ExitStatus.USAGE, "expected a whole number of at least 0"),
    ):
        config.write_text(f"provider: quiet\nprovider_config: {given}\n")
        done = run(packages, "config", "validate", config)
        assert done.status == status
        assert said in done.stderr + done.stdout.decode()
        assert run(packages, "run", session, "-c", config, "-o", "-").status == status
    without = condense_process("run", session, "-c", config)
    assert without.status == ExitStatus.USAGE
    assert "c.yaml:1:1: there is no provider named 'quiet'" in without.stderr


@pytest.mark.slow
def test_it_is_listed_and_shown(packages: Path) -> None:
    install_example(packages)
    listed = json.loads(run(packages, "providers", "list", "--json").stdout)
    quiet = listed["providers"][-1]
    assert (quiet["id"], quiet["origin"], quiet["measured"]) == ("quiet", "condense-example 1.0.0", None)
    assert listed["warnings"] == []
    shown = run(packages, "providers", "show", "quiet").text
    assert "min_tokens" in shown
    assert "condense run FILE --provider quiet --set min_tokens=500" in shown
    assert "quiet" in run(packages, "providers").text


@pytest.mark.slow
def test_the_selector_of_the_example(packages: Path, session: Path, tmp_path: Path) -> None:
    install_example(packages)
    config = tmp_path / "c.yaml"
    config.write_text(
        "passes:\n  - id: logs\n    selection: {type: custom, selector: logs}\n"
        "    individual_config: {defaults: {tool_results: {operation: suppress}}}\n"
    )
    done = run(packages, "run", session, "-c", config, "-o", "-")
    assert done.status == ExitStatus.DONE, done.stderr
    log, *others = results(done)
    assert log.startswith("[… 60 lines #")
    assert others == [LONG, LONG.replace("value", "price")]
    config.write_text(config.read_text().replace("selector: logs", "selector: log"))
    for command in (("run", session, "-c", config), ("config", "validate", config)):
        wrong = run(packages, *command)
        assert wrong.status == ExitStatus.USAGE
        assert "c.yaml:3:31: there is no selector named 'log' at passes[0].selection.selector" in wrong.stderr
        assert "Did you mean logs?" in wrong.stderr


@pytest.mark.slow
def test_the_format_of_the_example(packages: Path, tmp_path: Path) -> None:
    install_example(packages)
    file = tmp_path / "talk.jsonl"
    lines = [
        {"speaker": "human" if n % 2 == 0 else "machine", "line": LONG if n == 3 else f"Line {n}."} for n in range(8)
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    config = tmp_path / "c.yaml"
    config.write_text(
        "passes:\n  - id: a\n    selection: {type: preserve_recent, keep_recent_count: 1}\n"
        "    individual_config: {defaults: {message_text: {operation: truncate, params: {truncate: {max_lines: 2}}}}}\n"
    )
    for arguments in ([], ["--format", "speaker-lines"]):
        done = run(packages, "run", file, "-c", config, "-o", "-", *arguments)
        assert done.status == ExitStatus.DONE, done.stderr
        written = [json.loads(line) for line in done.stdout.decode().splitlines()]
        assert [line for n, line in enumerate(written) if n != 3] == [line for n, line in enumerate(lines) if n != 3]
        assert len(written[3]["line"].splitlines()) == 3
    assert json.loads(run(packages, "inspect", file, "--json").stdout)["format"] == "speaker-lines"
    measured = run(packages, "evaluate", file, "--min-tokens", "0", "-p", "speed", "-j", "1", "--json")
    assert [len(json.loads(measured.stdout)[found]) for found in ("transcripts", "unread")] == [1, 0]
    unknown = condense_process("run", file)
    assert unknown.status == ExitStatus.INPUT
    assert "is not a transcript that condense knows" in unknown.stderr


SUMMARIZING = "provider: native\nprofile: first\n"
PROFILE = "profiles:\n  first: {api: installed, summarizer: first-lines}\n"


@pytest.mark.slow
def test_the_summarizer_of_the_example(packages: Path, session: Path, tmp_path: Path) -> None:
    install_example(packages)
    own_settings(packages, PROFILE)
    config = tmp_path / "c.yaml"
    config.write_text(SUMMARIZING)
    done = run(packages, "run", session, "-c", config, "--allow-calls", "-o", "-")
    assert done.status == ExitStatus.DONE, done.stderr
    assert "0: the value of item 0 is 0" in done.stdout.decode()
    assert "1: the value of item 1 is 1" not in done.stdout.decode()
    # Naming it permits nothing, and a dry run asks nobody.
    assert "--allow-calls lets one write them" in run(packages, "run", session, "-c", config, "-o", "-").stderr
    dry = run(packages, "run", session, "-c", config, "--allow-calls", "--dry-run", "--json")
    assert any("was not used" in warning for warning in json.loads(dry.stdout)["warnings"])
    shown = run(packages, "profiles", "test", "first")
    assert shown.status == ExitStatus.DONE, shown.stderr
    limited = run(packages, "run", session, "-c", config, "--allow-calls", "--redact", "-o", "-")
    assert limited.status == ExitStatus.CALLS_FAILED
    assert "have no effect on it" in limited.stderr
    assert limited.stdout == session.read_bytes()


BROKEN: dict[str, tuple[str, dict[str, dict[str, str]]]] = {
    "an import that fails": ("import nothing_of_that_name", {"providers": {"bad": "Bad"}}),
    "a syntax error": ("def :", {"providers": {"bad": "Bad"}}),
    "an exit": ("raise SystemExit(3)", {"providers": {"bad": "Bad"}}),
    "a name that is not there": ("", {"providers": {"bad": "Bad"}}),
    "a wrong type": ("Bad = 3", {"providers": {"bad": "Bad"}}),
    "a class that cannot be made": (
        "from condense_cli.extending import Provider\nclass Bad(Provider):\n    def __init__(self):\n        1 / 0",
        {"providers": {"bad": "Bad"}},
    ),
    "a built-in name": ("Bad = 3", {"providers": {"native": "Bad"}}),
}


@pytest.mark.slow
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_package_is_told_of(packages: Path, session: Path, broken: str) -> None:
    install_example(packages)
    code, groups = BROKEN[broken]
    install(packages, "broken", code, groups)
    listed = run(packages, "providers", "list", "--json")
    assert listed.status == ExitStatus.DONE, listed.stderr
    found = json.loads(listed.stdout)
    assert [entry["id"] for entry in found["providers"]] == [*(provider.id for provider in BUILT_IN), "quiet"]
    (warning,) = found["warnings"]
    assert f"condense: warning: {warning}" in listed.stderr
    assert run(packages, "run", session, "--provider", "quiet", "-o", "-").status == ExitStatus.DONE
    assert run(packages, "run", session, "--provider", "native", "-o", "-").stderr.count("broken") == 0
    if "bad" in groups["providers"]:
        wrong = run(packages, "run", session, "--provider", "bad")
        assert wrong.status == ExitStatus.USAGE
        assert "broken 2.0" in wrong.message


@pytest.mark.slow
def test_a_broken_format_is_told_of(packages: Path, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text('{"speaker": "human", "line": "Hello"}\n')
    install(packages, "broken", "import nothing_of_that_name", {"formats": {"bad": "BAD"}})
    alone = run(packages, "run", file)
    assert alone.status == ExitStatus.INPUT
    assert "The format 'bad' of broken 2.0 cannot be used" in alone.stderr
    install_example(packages)
    beside = run(packages, "run", file, "-o", "-")
    assert beside.status == ExitStatus.DONE
    assert "The format 'bad' of broken 2.0 cannot be used" in beside.stderr


# A format that fails on a file is no reason to call that an error of the program.
def test_a_format_that_fails_is_told_of(packages: Path, tmp_path: Path) -> None:
    code = (
        "from msgspec.structs import replace\nfrom condense_example import SPEAKER_LINES\n"
        "def evidence(value): return value['none']\n"
        "BAD = replace(SPEAKER_LINES, name='bad', evidence=evidence)\n"
    )
    install_example(packages)
    install(packages, "broken", code, {"formats": {"bad": "BAD"}})
    file = tmp_path / "talk.jsonl"
    file.write_text('{"speaker": "human", "line": "Hello"}\n')
    done = run(packages, "run", file)
    assert done.status == ExitStatus.INPUT
    assert "a format of a package failed (KeyError: 'none')" in done.message


FAILING: dict[str, Any] = {
    "raises": "raise ValueError('it is late')",
    "says too little": "return []",
    "says something else": "return ['a'] * len(tasks)",
}


@pytest.mark.slow
@pytest.mark.parametrize("way", FAILING)
def test_a_summarizer_that_fails_changes_nothing(packages: Path, session: Path, tmp_path: Path, way: str) -> None:
    code = f"class Bad:\n def __init__(self, count): pass\n def summarize(self, tasks, messages): {FAILING[way]}\n"
    install(packages, "broken", code, {"summarizers": {"first-lines": "Bad"}})
    own_settings(packages, PROFILE)
    config = tmp_path / "c.yaml"
    config.write_text(SUMMARIZING)
    done = run(packages, "run", session, "-c", config, "--allow-calls", "-o", "-")
    assert done.status == ExitStatus.CALLS_FAILED
    assert done.stdout == session.read_bytes()
    assert "ask its authors" in done.stderr


# As many outcomes as tasks, and each one of the two kinds: another list says nothing of what became of which text.
@pytest.mark.parametrize(
    "outcomes", [[], [Written("a", "mine")], [Written("a", "mine")] * 3, ["a", Written("b", "mine")]]
)
def test_outcomes_that_are_not_one_for_each_task_are_refused(outcomes: list[Any]) -> None:
    class Mine:
        def __init__(self, count: Counter) -> None:
            pass

        def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Any]:
            return outcomes

    def no_caller(access: Access) -> Caller:
        raise AssertionError("no model is called")

    choice = AccessChoice(Access("first", Profile(api="installed", summarizer="mine")))
    summaries = Summaries(Counter(), lambda name: choice, no_caller, installed=lambda name: Mine)
    block = anthropic(user(LONG)).messages[0].blocks[0]
    found = summaries.summarize([TextTask(block, LONG, 10, profile="first")] * 2, ())
    assert [type(outcome) for outcome in found] == [Refused, Refused]
    assert [*summaries.failures] == [Cause.INSTALLED_FAILED]


# Its own code fails: the transcript comes out as it went in, and the status tells.
@pytest.mark.slow
def test_a_provider_that_fails_changes_nothing(packages: Path, session: Path) -> None:
    code = (
        "from condense_example import Quiet\nclass Bad(Quiet):\n    id = 'bad'\n"
        "    def strategy(self, run):\n        raise ValueError('it is late')\n"
    )
    install_example(packages)
    install(packages, "broken", code, {"providers": {"bad": "Bad"}})
    done = run(packages, "run", session, "--provider", "bad", "-o", "-")
    assert done.status == ExitStatus.FAILED
    assert done.stdout == session.read_bytes()
    assert "condense: Provider bad failed: ValueError: it is late.\nThe transcript is unchanged." in done.stderr
    assert "Traceback" not in done.stderr
    assert "ValueError: it is late" in run(packages, "--debug", "run", session, "--provider", "bad").stderr
    done = run(packages, "run", session, "--provider", "bad", "--log-json")
    assert "ValueError: it is late" in json.loads(done.stderr)["error"], "the line is all there is"
    out = packages.parent / "out"
    for _ in range(2):
        done = run(packages, "run", session, "--provider", "bad", "--out-dir", out, "--json")
        [told] = done.json["results"]
        assert (done.status, told["status"]) == (ExitStatus.FAILED, "unchanged"), "not up to date the second time"
        assert told["why"] == "Provider bad failed: ValueError: it is late."
    assert (out / session.name).read_bytes() == session.read_bytes()
    rows = packages.parent / "rows.jsonl"
    rows.write_text(2 * (json.dumps({"messages": CONVERSATION}) + "\n"))
    done = run(packages, "run", rows, "--provider", "bad", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.INPUT, rows.read_bytes())
    assert "rows.jsonl:2: Provider bad failed: ValueError: it is late." in done.stderr


@pytest.mark.slow
def test_the_user_orders_configures_and_switches_off(packages: Path, session: Path) -> None:
    install_example(packages)
    own_settings(
        packages,
        "provider: truncation\n"
        "providers:\n  native: {enabled: false}\n  quiet: {priority: 10, config: {min_tokens: 99999}}\n",
    )
    listed = json.loads(run(packages, "providers", "list", "--json").stdout)["providers"]
    assert [entry["id"] for entry in listed if entry["enabled"]] == ["quiet", "smart", "lossless", "truncation"]
    assert [entry["id"] for entry in listed if entry["default"]] == ["truncation"]
    assert "native (off)" in run(packages, "providers").text
    off = run(packages, "run", session, "--provider", "native")
    assert off.status == ExitStatus.USAGE
    assert "switched off" in off.message
    assert run(packages, "run", session, "--provider", "quiet", "-o", "-").stdout == session.read_bytes()


def test_a_project_cannot_switch_providers_off(packages: Path, session: Path, tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("providers: {native: {enabled: false}}\n")
    done = run(packages, "run", session, "-c", config)
    assert done.status == ExitStatus.USAGE
    assert "c.yaml:1:1: the key 'providers' belongs in your own configuration only" in done.stderr
    assert "provider: NAME" in done.stderr


def test_an_error_stays_what_it_is_and_its_hint_tells_of_broken_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(UnknownFormatError):
        def __init__(self) -> None:
            super().__init__("odd")

    def fail(*_: object, **__: object) -> None:
        raise Odd

    monkeypatch.setattr("condense_cli.formats._read", fail)
    monkeypatch.setattr(Installed, "formats", lambda self: ([], ["One is broken."]))
    with pytest.raises(Odd) as caught:
        parse(b"{}", others=Installed().formats)
    assert (caught.value.message, caught.value.hint) == ("odd", "One is broken.")
