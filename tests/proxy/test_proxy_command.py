"""`condense proxy`: the clients that it starts, and what it says."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import tty
from pathlib import Path
from typing import Any

import pytest
from helpers import COMMAND, LONG, condense, condense_process, environment

from condense_cli.cli.work import proxy as command
from condense_cli.errors import UsageError
from condense_cli.proxy.bodies import ANTHROPIC, CHATGPT, GOOGLE, OPENAI, target, usual_upstream
from condense_cli.proxy.clients import Started, started

from .upstream import api, get, proxied, said

PROXY = "http://127.0.0.1:1"
FIRST_PARTY = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"


def start(*command: str, home: Path = Path("/nowhere"), folder: Path = Path("/nowhere"), **env: str) -> Started:
    return started(command, PROXY, env, home, folder)


def test_claude_gets_settings() -> None:
    found = start("/usr/bin/claude", "--resume", "-p", "hello")
    flag, settings, *rest = found.command[1:]
    assert (found.command[0], flag, rest) == ("/usr/bin/claude", "--settings", ["--resume", "-p", "hello"])
    assert json.loads(settings) == {"env": {"ANTHROPIC_BASE_URL": PROXY, FIRST_PARTY: "1"}}
    assert found.led.upstream == ANTHROPIC
    assert found.environment["NO_PROXY"] == "127.0.0.1,localhost"


# Only where all goes to the vendor's own API, and that is said.
@pytest.mark.parametrize(
    ("more", "env", "is_set"),
    [
        ({}, {}, True),
        ({"upstream": f"{ANTHROPIC}/"}, {"ANTHROPIC_BASE_URL": "https://gateway"}, True),
        ({}, {"ANTHROPIC_BASE_URL": ANTHROPIC}, True),
        ({"upstream": "https://gateway"}, {}, False),
        ({}, {"ANTHROPIC_BASE_URL": "https://gateway"}, False),
        ({"first_party": False}, {}, False),
    ],
)
def test_claude_is_told_whose_api_it_is(more: dict[str, Any], env: dict[str, str], is_set: bool) -> None:
    found = started(["claude"], PROXY, env, Path("/nowhere"), Path("/nowhere"), **more)
    assert (FIRST_PARTY in found.command[2], bool(found.led.notes)) == (is_set, is_set)
    assert all("--no-first-party" in note for note in found.led.notes)


@pytest.mark.parametrize("form", ["json", "file", "equals"])
def test_settings_that_were_given_stay(tmp_path: Path, form: str) -> None:
    given = {"model": "opus", "env": {"A": "1", "ANTHROPIC_BASE_URL": "https://elsewhere"}}
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(given))
    (tmp_path / "run").mkdir()
    value = str(path) if form == "file" else json.dumps(given)
    arguments = [f"--settings={value}"] if form == "equals" else ["--settings", value]
    found = start("claude", "-c", *arguments, "hi", folder=tmp_path / "run")
    assert found.command[3:] == ["-c", "hi"]
    settings = found.command[2]
    if form == "file":  # It may hold keys, and everybody on the machine sees the arguments of a program.
        path = Path(settings)
        assert path.parent == tmp_path / "run"
        assert path.stat().st_mode & 0o077 == 0
        settings = path.read_text()
    assert json.loads(settings) == {"model": "opus", "env": {"A": "1", "ANTHROPIC_BASE_URL": PROXY}}
    assert found.led.upstream == "https://elsewhere"


OURS = {"hooks": [{"type": "command", "command": "echo word"}]}
THEIRS = {"hooks": [{"type": "command", "command": "date"}]}


# A hook of ours prints a word before a compaction; those of the user run as well. Without a word there is none.
@pytest.mark.parametrize(
    ("given", "own", "hooks"),
    [
        ({}, {}, {"PreCompact": [OURS]}),
        ({"hooks": {"PreCompact": [THEIRS], "Stop": [THEIRS]}}, {}, {"PreCompact": [THEIRS, OURS], "Stop": [THEIRS]}),
        ({"disableAllHooks": True}, {}, None),
        ({}, {"disableAllHooks": True}, None),
        ({"hooks": {"PreCompact": "odd"}}, {}, {"PreCompact": "odd"}),
        ({"hooks": []}, {}, []),
    ],
)
def test_a_hook_before_compactions(tmp_path: Path, given: object, own: object, hooks: object) -> None:
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text(json.dumps(own))
    command = ["claude", "--settings", json.dumps(given)]
    found = started(command, PROXY, {}, tmp_path, tmp_path, word="word")
    assert json.loads(found.command[2]).get("hooks") == hooks
    assert found.led.word == ("word" if "echo word" in json.dumps(hooks) else "")
    assert "hooks" not in json.loads(started(["claude"], PROXY, {}, tmp_path, tmp_path).command[2])


@pytest.mark.parametrize("value", ["/nowhere/settings.json", "{", "[1]"])
def test_settings_that_cannot_be_read(value: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        start("claude", "--settings", value)


# Claude Code says itself what is missing, or what it does with the arguments behind a dash.
@pytest.mark.parametrize("arguments", [["-c", "--settings"], ["--settings", "--", "hi"], ["--", "--settings", "{"]])
def test_settings_without_a_value_are_for_the_client(arguments: list[str]) -> None:
    assert start("claude", *arguments).command[3:] == arguments


def test_codex_gets_an_option() -> None:
    found = start("codex", "resume", "--last")
    assert found.command == ["codex", "-c", f'openai_base_url="{PROXY}/v1"', "resume", "--last"]
    assert found.led.upstream is None


# What Codex is told last counts: an address that the user gave would lead past the proxy.
def test_an_address_that_was_given_to_codex() -> None:
    found = start("codex", "-c", "a=1", "--config", 'openai_base_url="https://elsewhere/v1"', "exec", "-c", "b=2", "hi")
    assert found.command == ["codex", "-c", f'openai_base_url="{PROXY}/v1"', "-c", "a=1", "exec", "-c", "b=2", "hi"]
    assert found.led.upstream == "https://elsewhere/v1"


OWN = """
model_provider = "mine"
[model_providers.mine]
base_url = "https://mine/v1"
[profiles.other]
model_provider = "openai"
[model_providers.here]
base_url = "http://127.0.0.1:1/v1"
"""


# Codex with a provider of its user's goes past the proxy, and hears what to set.
@pytest.mark.parametrize(
    ("arguments", "change"),
    [
        (["exec", "hi"], 'mine.base_url="http://127.0.0.1:8788/v1"'),
        (["-c", "model_provider=here"], None),
        (["-c", 'model_provider="openai"'], None),
        (["-c", 'model_providers.mine.base_url="http://127.0.0.1:1/v1"'], None),
        (["--profile", "other"], None),
        (["--profile", "file"], 'plain.base_url="http://127.0.0.1:8788"'),
        (["--", "-c", "model_provider=here"], "mine.base_url"),
    ],
)
def test_codex_with_a_provider_of_its_own(tmp_path: Path, arguments: list[str], change: str | None) -> None:
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".codex" / "config.toml").write_text(OWN)
    profile = 'model_provider = "plain"\n[model_providers.plain]\nbase_url = "https://plain"\n'
    (tmp_path / ".codex" / "file.config.toml").write_text(profile)
    notes = start("codex", *arguments, home=tmp_path).led.notes
    assert len(notes) == (change is not None)
    assert all(str(change) in note and "--upstream https://" in note for note in notes)


def test_gemini_comes_by_with_a_key_alone() -> None:
    found = start("gemini", GOOGLE_GEMINI_BASE_URL="https://mine/")
    assert found.environment["GOOGLE_GEMINI_BASE_URL"] == PROXY
    assert found.vendors == {GOOGLE: "https://mine"}
    assert "past this proxy" in found.led.notes[0]


# Whether its settings can still lead elsewhere.
def test_which_clients_are_led_here() -> None:
    known = [start(name).led.is_led for name in ("claude", "codex", "opencode", "python")]
    assert known == [True, True, False, False]


# What an environment names in place of the vendors is kept, for each of them.
def test_addresses_of_the_environment(tmp_path: Path) -> None:
    found = start("opencode", ANTHROPIC_BASE_URL="https://a/v1/", OPENAI_BASE_URL="https://b/v1")
    assert found.led.upstream is None
    with api() as a, api() as b:
        vendors = {ANTHROPIC: f"{a.url}/v1", OPENAI: b.url}
        assert start("x", ANTHROPIC_BASE_URL=f"{a.url}/v1", OPENAI_BASE_URL=f"{b.url}/").vendors == vendors
        with proxied(None, vendors=vendors) as running:
            get(f"{running.url}/messages")
            get(f"{running.url}/v1/chat/completions")
        assert [[asked.path for asked in each.asked] for each in (a, b)] == [["/v1/messages"], ["/v1/chat/completions"]]


# A client that sends nothing through it.
def test_a_client_that_goes_past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.proxy.app._warm", lambda _: None)
    ran = condense("proxy", "--", "true", env={"XDG_CACHE_HOME": str(tmp_path)})
    assert (ran.status, ran.stderr.count("went past this proxy")) == (0, 1)


# It is said while such a client runs, on which it ends here, and not again.
def test_a_client_that_goes_past_hears_it_while_it_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.proxy.app._warm", lambda _: None)
    monkeypatch.setattr(command, "_WITHOUT_REQUEST", 0)
    monkeypatch.setattr(command, "is_full_screen", lambda: False)
    said: list[str] = []
    os.mkfifo(tmp_path / "heard")

    def say(line: str) -> None:
        said.append(line)
        if "went past" in line:
            (tmp_path / "heard").write_text("yes")

    monkeypatch.setattr(command, "say", say)
    waiting = f"open({str(tmp_path / 'heard')!r}).read()"
    ran = condense("proxy", "--", sys.executable, "-c", waiting, env={"XDG_CACHE_HOME": str(tmp_path)})
    first, last = said
    assert (ran.status, "went past" in first, "no request" in last) == (0, True, True)


# Not where a request came in time, nor into what a client draws on a terminal; the last line says it then.
@pytest.mark.parametrize(("comes", "draws"), [(True, False), (False, True)])
def test_what_a_client_is_not_told_while_it_runs(comes: bool, draws: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "_WITHOUT_REQUEST", LONG if comes else 0)
    monkeypatch.setattr(command, "is_full_screen", lambda: draws)
    said: list[str] = []
    monkeypatch.setattr(command, "say", said.append)
    is_settled = threading.Event()
    doubt = command.Doubt("x", is_settled)
    doubt.begin()
    if comes:
        is_settled.set()
    doubt.end()
    assert said == []
    doubt.tell()
    doubt.tell()
    assert len(said) == 1


def test_a_terminal_on_which_a_client_draws() -> None:
    ours, theirs = os.openpty()
    try:
        assert not command.is_full_screen(theirs)
        tty.setraw(theirs)
        assert command.is_full_screen(theirs)
    finally:
        os.close(ours)
        os.close(theirs)
    with open(os.devnull, "wb") as nothing:
        assert not command.is_full_screen(nothing.fileno())


# The first request settles it.
def test_any_request_is_noticed() -> None:
    with api() as model, proxied(model.url) as running:
        assert not running.proxy.is_reached.is_set()
        get(f"{running.url}/v1/models")
        assert running.proxy.is_reached.is_set()


def test_anything_else_gets_variables() -> None:
    found = start("python", "agent.py", NO_PROXY="a")
    assert found.command == ["python", "agent.py"]
    assert found.environment == {
        "NO_PROXY": "a,127.0.0.1,localhost", "no_proxy": "a,127.0.0.1,localhost",
        "ANTHROPIC_BASE_URL": PROXY, "OPENAI_BASE_URL": f"{PROXY}/v1", "GOOGLE_GEMINI_BASE_URL": PROXY,
    }  # fmt: skip


# The API is the one that the client was set to: its user's settings go before the environment.
def test_the_api_is_the_clients_own(tmp_path: Path) -> None:
    for folder in (".claude", ".codex"):
        (tmp_path / folder).mkdir()
    assert start("claude", home=tmp_path, ANTHROPIC_BASE_URL="https://b").led.upstream == "https://b"
    assert start("codex", home=tmp_path, OPENAI_BASE_URL="https://b/v1").led.upstream == "https://b/v1"
    (tmp_path / ".claude" / "settings.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "https://a"}}')
    (tmp_path / ".codex" / "config.toml").write_text('openai_base_url = "https://a/v1"\n')
    assert start("claude", home=tmp_path, ANTHROPIC_BASE_URL="https://b").led.upstream == "https://a"
    assert start("codex", home=tmp_path).led.upstream == "https://a/v1"
    assert start("claude", CLAUDE_CONFIG_DIR=str(tmp_path / ".claude")).led.upstream == "https://a"
    (tmp_path / ".claude" / "settings.json").write_text("no json")
    assert start("claude", home=tmp_path).led.upstream == ANTHROPIC


@pytest.mark.parametrize(
    ("path", "headers", "url"),
    [
        ("/v1/messages", {}, f"{ANTHROPIC}/v1/messages"),
        ("/api/hello", {}, f"{ANTHROPIC}/api/hello"),
        ("/v1/models", {"anthropic-version": "2026-10-21"}, f"{ANTHROPIC}/v1/models"),
        ("/v1/models", {}, f"{OPENAI}/v1/models"),
        ("/v1/responses", {"chatgpt-account-id": "x"}, f"{CHATGPT}/responses"),
        ("/messages", {}, f"{ANTHROPIC}/v1/messages"),
        ("/models", {"anthropic-version": "2023-06-01"}, f"{ANTHROPIC}/v1/models"),
        ("/responses", {"chatgpt-account-id": "x"}, f"{CHATGPT}/responses"),
        ("/chat/completions", {}, f"{OPENAI}/v1/chat/completions"),
    ],
)
def test_where_requests_go(path: str, headers: dict[str, str], url: str) -> None:
    assert target(usual_upstream(path, headers), path) == url


def test_a_version_is_there_once() -> None:
    assert target("https://gateway/api/v1", "/v1/chat/completions") == "https://gateway/api/v1/chat/completions"
    assert target("https://gateway/api", "/v1/chat/completions") == "https://gateway/api/v1/chat/completions"
    # A client that takes the proxy's address for one with the version; gateways have paths without one.
    assert target("https://gateway/api/v1", "/messages") == "https://gateway/api/v1/messages"
    assert target("https://gateway/api", "/messages/count_tokens") == "https://gateway/api/v1/messages/count_tokens"
    assert target("https://gateway/inference", "/chat/completions") == "https://gateway/inference/chat/completions"


CLIENT = """
import os, sys, urllib.request
data = b'{"messages":[{"role":"user","content":"Hi."}]}'
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", data)
print(urllib.request.urlopen(request).read().decode())
sys.exit(7)
"""


@pytest.mark.slow
def test_a_client_of_its_own(tmp_path: Path) -> None:
    usage = {"usage": {"input_tokens": 1_200, "output_tokens": 3}}
    with api(lambda _: said(usage)) as model:
        ran = condense_process(
            "proxy", "--upstream", model.url, "--", sys.executable, "-c", CLIENT, env={"XDG_CACHE_HOME": str(tmp_path)}
        )
    assert (ran.status, ran.json) == (7, usage)
    assert ran.stderr == "condense: 1 request in 1 conversation; saved 0 of 1,200 input tokens (0%).\n"


@pytest.mark.parametrize("name", ["127.0.0.1", "LOCALHOST", "user:key@localhost"])
def test_a_client_that_is_set_to_this_proxy(tmp_path: Path, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
    address = f"http://{name}:{port}/"
    for arguments, env in (
        (["--port", str(port), "--upstream", address], {}),
        (["--port", str(port), "--", "claude"], {"ANTHROPIC_BASE_URL": address}),
    ):
        ran = condense("proxy", *arguments, env={"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), **env})
        assert (ran.status, "is this proxy itself" in ran.stderr) == (2, True)


# Alone it says where it is, serves, and ends with a summary when it is told to.
@pytest.mark.slow
def test_alone(tmp_path: Path) -> None:
    with api(lambda _: said({"usage": {"input_tokens": 9, "output_tokens": 3}})) as model:
        command = [*COMMAND, "proxy", "--watch", "--port", "0", "--upstream", model.url]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=environment({"XDG_CACHE_HOME": str(tmp_path)})
        )
        try:
            assert process.stderr is not None
            first, second = process.stderr.readline(), process.stderr.readline()
            address = re.findall(r"http://127\.0\.0\.1:\d+", first)[0]
            assert get(f"{address}/v1/models").status_code == 200
            assert get(second.split()[-1]).status_code == 200
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=LONG)
        finally:
            process.kill()
    assert "no request with a conversation has come through" in error
    assert process.returncode == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--upstream", "api.anthropic.com"], "not the address of an API"),
        (["--upstream", "ftp://x"], "not the address of an API"),
        (["--preset", "nothing"], "nothing"),
        (["--policy", "sometimes"], "no policy"),
        (["--", "/nowhere/claude"], "Cannot start"),
        (["--host", "256.0.0.1"], "Cannot listen"),
    ],
)
def test_what_cannot_be(arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran = condense("proxy", *arguments, env={"XDG_CACHE_HOME": str(tmp_path)})
    assert ran.status in (1, 2)
    assert words in ran.stderr


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    needing = ("condense_cli.proxy.app", "condense_cli.cli.work.proxy", "uvicorn")
    for name in [name for name in sys.modules if name.startswith(needing)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delattr("condense_cli.proxy.app", raising=False)
    ran = condense("proxy")
    assert (ran.status, "-m pip install 'httpx>=" in ran.stderr) == (2, True)
