"""`--count`: in whose tokens the figures of every command are, and who permits the call that `exact` takes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import model_server as played
import pytest
from desk import APIS, KEYS, Desk
from helpers import LONG, OPUS, Outcome, condense, session, unharmed
from model_server import Play, model_server

from condense_cli import api
from condense_cli.config import profiles
from condense_cli.errors import ExitStatus
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import family_of

PLAIN: Final = Counter().transcript(api.loads(session()))
TABLE: Final = family_of(OPUS[1])
EXACT: Final = ("--count", "exact")

COMMANDS: Final[dict[str, tuple[tuple[str, ...], Callable[[Any], tuple[int, Any]]]]] = {
    "run": (("--preset", "speed"), lambda told: (told["tokens"]["before"], told["tokens"]["counting"])),
    "inspect": ((), lambda told: (told["tokens"]["total"], told["tokens"]["counting"])),
    "estimate": (("speed",), lambda told: (told["before"]["tokens"], told["before"]["counting"])),
    "check": (("--context-window", "100k"), lambda told: (told["used"]["messages"], told["used"]["counting"])),
    "diff": (("--preset", "speed"), lambda told: (told["tokens"]["before"], told["tokens"]["counting"])),
}
"""What each command is told besides the file; how many tokens the transcript has, and how they were counted."""


def ask(desk: Desk, name: str, *arguments: str, cwd: Path | None = None, **variables: str) -> Outcome:
    done = condense(name, desk.input, *COMMANDS[name][0], *arguments, env={**KEYS, **variables}, cwd=cwd)
    assert "Traceback" not in done.stderr, done.stderr
    assert "sk-" not in done.text + done.stderr
    return done


def counted(desk: Desk, name: str, *arguments: str, **variables: str) -> tuple[int, Any]:
    done = ask(desk, name, "--json", *arguments, cwd=None, **variables)
    assert done.status == ExitStatus.DONE, done.stderr
    return COMMANDS[name][1](done.json)


def with_server(desk: Desk, play: Play, name: str, *arguments: str, **keys: object) -> tuple[Outcome, int]:
    """A command with profiles at a server, and how many calls it made."""
    with model_server(play) as server:
        desk.profiles(server, "", **keys)
        return ask(desk, name, *arguments), server.calls


@pytest.mark.parametrize("name", ["run", "inspect", "estimate", "check"])
def test_figures_are_the_models_unless_plain_counts_are_asked_for(desk: Desk, name: str) -> None:
    assert TABLE is not None
    tokens, counting = counted(desk, name, *OPUS)
    assert tokens == pytest.approx(PLAIN * TABLE.factor, abs=1)
    assert counting["source"] == "table"
    assert counted(desk, name, *OPUS, "--count", "model") == (tokens, counting)
    plain, counting = counted(desk, name, *OPUS, "--count", "o200k")
    assert plain == PLAIN
    assert (counting["factor"], counting["source"]) == (1, "asked for")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_variable_or_a_file_says_it_too(desk: Desk, tmp_path: Path, name: str) -> None:
    desk.input.write_text(json.dumps({"model": OPUS[1], "messages": session()}))
    assert counted(desk, name)[0] > PLAIN
    assert counted(desk, name, "--count", "o200k")[0] == PLAIN
    assert counted(desk, name, CONDENSE_COUNT="o200k")[0] == PLAIN
    desk.own.write_text("count: o200k\n")
    assert counted(desk, name)[0] == PLAIN
    assert counted(desk, name, "--count", "model")[0] > PLAIN, "a flag holds over a file"


# A target in plain counts is met in plain counts.
def test_targets_and_thresholds_are_in_the_same_tokens(desk: Desk) -> None:
    target = PLAIN // 2
    for how, is_shorter in (("o200k", False), ("model", True)):
        done = ask(desk, "run", *OPUS, "--json", "--count", how, "--target-tokens", str(target))
        told = done.json["tokens"]
        assert told["target"] == target
        assert told["after"] <= target
        assert (told["bare"]["after"] < 0.95 * target) is is_shorter
    for how, status in (("o200k", ExitStatus.DONE), ("model", ExitStatus.SHOULD_CONDENSE)):
        arguments = ("--context-window", "40k", "--threshold", str(100 * (PLAIN + 50) / 40_000))
        assert condense("check", desk.input, *OPUS, *arguments, "--count", how).status == status


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["run", "inspect", "estimate"])
def test_rows_are_counted_plainly_too(rows_file: Path, name: str) -> None:
    def told(*arguments: str) -> int:
        done = condense(name, rows_file, *(("speed",) if name == "estimate" else ()), *OPUS, "--json", *arguments)
        found = done.json["presets"][0] if name == "estimate" else done.json
        return int(found["tokens"] if name == "inspect" else found["tokens"]["before"])

    assert TABLE is not None
    assert told() == pytest.approx(TABLE.factor * told("--count", "o200k"), rel=0.01)
    said = condense(name, rows_file, *(("-n",) if name == "run" else ()), *OPUS, "--count", "o200k").plain
    assert "plain counts" in said
    assert "stimate" not in said


@pytest.mark.slow
def test_many_files_are_counted_plainly_too(tree: Path) -> None:
    def told(*arguments: str) -> int:
        return int(condense("run", tree, *OPUS, "--dry-run", "--json", *arguments).json["tokens"]["before"])

    assert told() > told("--count", "o200k")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("profile", APIS)
def test_every_command_shows_what_the_provider_counts(desk: Desk, name: str, profile: str) -> None:
    with model_server(played.counting(1.4)) as server:
        desk.profiles(server)
        tokens, counting = counted(desk, name, *EXACT, "--profile", profile)
        assert server.calls == 2
    assert tokens == pytest.approx(1.4 * PLAIN, rel=0.01)
    assert counting["source"] == "counted by the provider"
    assert counting["factor"] == pytest.approx(1.4, rel=0.01)


def test_reports_say_who_counted(desk: Desk) -> None:
    for name in COMMANDS:
        flags = (*EXACT, "--profile", "openai", *(("--dry-run",) if name == "run" else ()))
        done, _ = with_server(desk, played.counting(1.4), name, *flags)
        said = " ".join(done.plain.split())
        told = ("counted by its provider", "counted by the provider", "the provider's own count of this transcript")
        assert any(words in said for words in told)


# A second run on the result counts anew, and what it finds may be a little more.
def test_a_second_run_changes_nothing(desk: Desk) -> None:
    target = str(int(1.3 * PLAIN / 2))
    to = ("--target-tokens", target, *EXACT, "--profile", "openai", "-o")
    with model_server(played.counting(1.3)) as server:
        desk.profiles(server)
        assert ask(desk, "run", *to, str(desk.output)).status == ExitStatus.DONE
    first = desk.output.read_bytes()
    assert first != desk.input.read_bytes()
    with model_server(played.counting(1.34)) as server:
        desk.profiles(server)
        again = condense("run", desk.output, "--preset", "speed", *to, "-", env=KEYS)
    assert again.stdout == first


# `speed` has summaries of no model: the one call that is made counts.
@pytest.mark.slow
@pytest.mark.usefixtures("masking")
def test_secrets_are_masked_before_they_are_sent(desk: Desk) -> None:
    records = session()
    records[0]["content"] = "The password: hunter2hunter2"
    desk.input.write_text(json.dumps(records))
    for arguments, is_sent in ((("--redact",), False), ((), True)):
        with model_server(played.counting(1.4)) as server:
            desk.profiles(server)
            assert ask(desk, "inspect", *EXACT, "--profile", "openai", *arguments).status == ExitStatus.DONE
            assert ("hunter2hunter2" in json.dumps(server.bodies)) is is_sent


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("play", "why"),
    [
        (played.status(401, "authentication_error"), "key"),
        (played.status(404, "not_found_error"), "no endpoint that counts tokens"),
        (played.status(500, "api_error"), "failed"),
        (played.number(-5), "not an answer of this API"),
        (played.number(10**9), "cannot be right for this transcript"),
        (played.raw('{"input_tok'), "not an answer of this API"),
        (played.hang, "did not answer in time"),
    ],
    ids=["401", "404", "500", "negative", "absurd", "malformed", "hanging"],
)
def test_a_call_that_fails_ends_the_command(desk: Desk, name: str, play: Play, why: str) -> None:
    with model_server(play) as server:
        desk.profiles(server, max_retries=0, timeout_seconds=0.3 if play is played.hang else LONG)
        arguments = ("--in-place", "--force") if name == "run" else ()
        with unharmed(desk.input.parent):
            done = ask(desk, name, *EXACT, "--profile", "anthropic", *arguments)
    assert done.status == ExitStatus.CALLS_FAILED
    assert done.stdout == b""
    assert done.message.startswith("condense: Not counted: ")
    assert why in done.message


def test_a_missing_key_calls_nothing(desk: Desk) -> None:
    done, calls = with_server(
        desk, played.counting(1), "inspect", *EXACT, "--profile", "openai", key_variable="NO_SUCH_KEY"
    )
    assert (done.status, calls) == (ExitStatus.CALLS_FAILED, 0)
    assert "NO_SUCH_KEY" in done.message


@pytest.fixture
def vendors(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts the vendors' own APIs at an address."""

    def put(url: str) -> None:
        monkeypatch.setattr(
            profiles, "_URLS", {"anthropic": url, "openai": f"{url}/v1", "offline": "", "installed": ""}
        )

    return put


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["run", "inspect", "estimate", "check"])
@pytest.mark.parametrize("model", ["claude-opus-4-5-20251101", "anthropic/claude-haiku-4-5", "gpt-4.1", "gpt-4o-mini"])
def test_allowed_calls_go_to_the_vendor_of_the_model(
    desk: Desk, vendors: Callable[[str], None], name: str, model: str
) -> None:
    with model_server(played.counting(1.2)) as server:
        vendors(server.url)
        _, counting = counted(desk, name, *EXACT, "--allow-calls", "--model", model)
    assert counting["source"] == "counted by the provider"
    assert {body["model"] for body in server.bodies} == {model.rpartition("/")[2]}
    assert {"claude": "sk-ant-test", "gpt-4.": "sk-test", "gpt-4o": "sk-test"}[
        model.rpartition("/")[2][:6]
    ] in json.dumps(server.headers[0])


@pytest.mark.parametrize("name", COMMANDS)
def test_nothing_is_sent_without_consent(desk: Desk, vendors: Callable[[str], None], name: str) -> None:
    desk.input.write_text(json.dumps({"model": OPUS[1], "messages": session()}))
    with model_server(played.counting(1)) as server:
        vendors(server.url)
        done = ask(desk, name, *EXACT)
        assert (done.status, server.calls) == (ExitStatus.USAGE, 0)
    assert "--profile NAME or --allow-calls" in done.message


# Neither a cloned repository nor a flag that prices summaries makes a command send a transcript.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("where", ["project", "variable"])
@pytest.mark.parametrize("flags", [(), ("--profile", "openai"), ("--allow-calls",)], ids=" ".join)
def test_settings_alone_send_nothing(
    desk: Desk, tmp_path: Path, vendors: Callable[[str], None], name: str, where: str, flags: tuple[str, ...]
) -> None:
    desk.input.write_text(json.dumps({"model": "gpt-4o", "messages": session()}))
    project = tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    variables = {"CONDENSE_COUNT": "exact"} if where == "variable" else {}
    if where == "project":
        (project / "condense.yaml").write_text("count: exact\n")
    with model_server(played.counting(1)) as server:
        vendors(server.url)
        desk.profiles(server)
        planned = ("--dry-run",) if name == "run" else ()
        done = ask(desk, name, *flags, *planned, cwd=project, **variables)
        assert (done.status, server.calls) == (ExitStatus.USAGE, 0)
        assert "`count: exact`" in done.message
        assert ask(desk, name, "--count", "model", *planned, cwd=project, **variables).status == ExitStatus.DONE


@pytest.mark.parametrize("flags", [("--profile", "openai"), ("--allow-calls",)], ids=" ".join)
def test_a_run_that_may_call_may_count(desk: Desk, vendors: Callable[[str], None], flags: tuple[str, ...]) -> None:
    desk.input.write_text(json.dumps({"model": "small", "messages": session()}))
    with model_server(played.counting(1.1)) as server:
        vendors(server.url)
        desk.profiles(server)
        assert counted(desk, "run", *flags, CONDENSE_COUNT="exact")[1]["source"] == "counted by the provider"


@pytest.mark.parametrize("name", COMMANDS)
def test_who_allows_calls_always_allows_this_one(desk: Desk, name: str) -> None:
    desk.input.write_text(json.dumps({"model": "small", "messages": session()}))
    with model_server(played.counting(1.1)) as server:
        desk.profiles(server, "allow_calls: true\ncount: exact")
        assert counted(desk, name)[1]["source"] == "counted by the provider"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--profile", "offline"), "has no API that counts"),
        (("--profile", "nobody"), "no profile 'nobody'"),
        (("--profile", "gpt-4o-mini", "--model", "claude-opus-4-5"), "about claude-opus-4-5"),
        (("--profile", "claude-haiku-4-5", "--model", "claude-opus-5"), "about claude-opus-5"),
        (("--allow-calls",), "names none"),
        (("--allow-calls", "--model", "qwen3-coder"), "a profile for qwen3-coder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_who_cannot_count_is_named(desk: Desk, arguments: tuple[str, ...], why: str) -> None:
    done = ask(desk, "inspect", *EXACT, *arguments)
    assert done.status == ExitStatus.USAGE
    assert why in done.message


# Models of one family share a tokenizer: the dearest need not count.
def test_another_model_of_the_family_counts_as_well(desk: Desk, vendors: Callable[[str], None]) -> None:
    with model_server(played.counting(1.2)) as server:
        vendors(server.url)
        counted(desk, "inspect", *EXACT, "--profile", "claude-haiku-4-5", "--model", "claude-opus-4-5")
        assert server.bodies[1]["model"] == "claude-haiku-4-5"


@pytest.mark.parametrize("name", ["run", "inspect", "estimate"])
@pytest.mark.parametrize("way", ["flag", "variable"])
def test_a_set_of_rows_is_not_sent(rows_file: Path, name: str, way: str) -> None:
    variables = {"CONDENSE_COUNT": "exact"} if way == "variable" else {}
    flags = () if way == "variable" else (*EXACT, "--allow-calls")
    done = condense(name, rows_file, *flags, env=variables)
    assert done.status == ExitStatus.USAGE
    assert "set of rows" in done.message


def test_many_files_are_not_sent(tree: Path) -> None:
    done = condense("run", tree, "--dry-run", *EXACT, "--allow-calls")
    assert done.status == ExitStatus.USAGE
    assert "--count o200k" in done.message
