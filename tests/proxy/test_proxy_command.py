"""`condense proxy`: the clients that it starts, and what it says."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from helpers import COMMAND, LONG, condense, condense_process, environment

from condense_cli.errors import UsageError
from condense_cli.proxy.apis import ANTHROPIC, CHATGPT, OPENAI, target, usual_upstream
from condense_cli.proxy.clients import Started, started

from .upstream import api, get, said

PROXY = "http://127.0.0.1:1"


def start(*command: str, home: Path = Path("/nowhere"), folder: Path = Path("/nowhere"), **env: str) -> Started:
    return started(command, PROXY, env, home, folder)


def test_claude_gets_settings() -> None:
    found = start("/usr/bin/claude", "--resume", "-p", "hello")
    flag, settings, *rest = found.command[1:]
    assert (found.command[0], flag, rest) == ("/usr/bin/claude", "--settings", ["--resume", "-p", "hello"])
    assert json.loads(settings) == {"env": {"ANTHROPIC_BASE_URL": PROXY}}
    assert found.upstream == ANTHROPIC
    assert found.environment["NO_PROXY"] == "127.0.0.1,localhost"


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
    assert found.upstream == "https://elsewhere"


@pytest.mark.parametrize("value", ["/nowhere/settings.json", "{", "[1]"])
def test_settings_that_cannot_be_read(value: str) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        start("claude", "--settings", value)


def test_codex_gets_an_option() -> None:
    found = start("codex", "resume", "--last")
    assert found.command == ["codex", "-c", f'openai_base_url="{PROXY}/v1"', "resume", "--last"]
    assert found.upstream is None


# What Codex is told last counts: an address that the user gave would lead past the proxy.
def test_an_address_that_was_given_to_codex() -> None:
    found = start("codex", "-c", "a=1", "--config", 'openai_base_url="https://elsewhere/v1"', "exec", "-c", "b=2", "hi")
    assert found.command == ["codex", "-c", f'openai_base_url="{PROXY}/v1"', "-c", "a=1", "exec", "-c", "b=2", "hi"]
    assert found.upstream == "https://elsewhere/v1"


def test_anything_else_gets_variables() -> None:
    found = start("python", "agent.py", NO_PROXY="a")
    assert found.command == ["python", "agent.py"]
    assert found.environment == {
        "NO_PROXY": "a,127.0.0.1,localhost", "no_proxy": "a,127.0.0.1,localhost",
        "ANTHROPIC_BASE_URL": PROXY, "OPENAI_BASE_URL": f"{PROXY}/v1",
    }  # fmt: skip


# The API is the one that the client was set to: its user's settings go before the environment.
def test_the_api_is_the_clients_own(tmp_path: Path) -> None:
    for folder in (".claude", ".codex"):
        (tmp_path / folder).mkdir()
    assert start("claude", home=tmp_path, ANTHROPIC_BASE_URL="https://b").upstream == "https://b"
    assert start("codex", home=tmp_path, OPENAI_BASE_URL="https://b/v1").upstream == "https://b/v1"
    (tmp_path / ".claude" / "settings.json").write_text('{"env": {"ANTHROPIC_BASE_URL": "https://a"}}')
    (tmp_path / ".codex" / "config.toml").write_text('openai_base_url = "https://a/v1"\n')
    assert start("claude", home=tmp_path, ANTHROPIC_BASE_URL="https://b").upstream == "https://a"
    assert start("codex", home=tmp_path).upstream == "https://a/v1"
    assert start("claude", CLAUDE_CONFIG_DIR=str(tmp_path / ".claude")).upstream == "https://a"
    (tmp_path / ".claude" / "settings.json").write_text("no json")
    assert start("claude", home=tmp_path).upstream == ANTHROPIC


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
    for name in [name for name in sys.modules if name.startswith(("condense_cli.proxy.server", "uvicorn"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    monkeypatch.delattr("condense_cli.proxy.server", raising=False)
    ran = condense("proxy")
    assert (ran.status, "pip install 'condense-cli[proxy]'" in ran.stderr) == (2, True)
