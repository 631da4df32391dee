"""opencode and pi, whose compactions a plugin of ours answers: installed, twice in a row, and without condense."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from condense_cli.ledger.compaction import read_back

from .agents import chat_api
from .agents.agent import Agent
from .agents.opencode import OpenCode
from .agents.pi import Pi
from .install import TIMEOUT, Clients
from .loopback import Answer, Json, Request, Responder, Service, serve
from .proxying import run

pytestmark = pytest.mark.client


class WithPlugins(OpenCode):
    def settings(self, url: str) -> dict[str, str]:
        found = super().settings(url)
        del found["OPENCODE_PURE"]
        return found


def install(agent: Agent, *options: str) -> None:
    command = [sys.executable, "-m", "condense_cli", "install", agent.format, "--yes", *options]
    agent.home.mkdir(parents=True, exist_ok=True)
    ran = run(command, agent.home, agent.environment())
    assert ran.returncode == 0, ran.stdout + ran.stderr


def recorded(agent: Agent) -> None:
    install(agent)
    agent.record()


def check(text: str, *words: str) -> None:
    """The text of a compaction holds the words of the user, in order, and what was done."""
    held = read_back(text)
    assert held is not None, text
    assert [said.text.strip('"') for said in held.words] == [*words]
    assert [Path(entry.path).name for entry in held.ledger.changed] == ["store.py"]


def texts_in(request: Json) -> Iterator[str]:
    for message in request["messages"]:
        content = message["content"]
        yield from [content] if isinstance(content, str) else [part["text"] for part in content or ()]


def lose_condense(plugin: Path) -> None:
    plugin.write_text(re.sub(r"(?m)^const PROGRAM = .*$", 'const PROGRAM = ["/gone/condense"]', plugin.read_text()))


def pi_compacted(client: Pi, instructions: str = "") -> tuple[Json, Service]:
    """What pi answers to `/compact`, and what it asked its model for."""
    command = [*client.command("", str(client.path()))[:2], "--mode", "rpc", "--session", str(client.path())]
    command += ["--provider", "loopback", "--model", chat_api.MODEL]
    asked = json.dumps({"type": "compact", "customInstructions": instructions}) + "\n"
    with serve(chat_api.Script()) as service:
        process = subprocess.Popen(
            command, cwd=client.project, env=client.environment() | client.settings(service.url),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(asked)
            process.stdin.flush()
            answers = map(json.loads, process.stdout)
            answer = next(each for each in answers if each.get("type") == "response")
            process.terminate()
    return answer, service


def pi(clients: Clients, home: Path) -> Pi:
    client = Pi(clients, home)
    settings = client.home / ".pi" / "agent" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"compaction": {"enabled": True, "reserveTokens": 1000, "keepRecentTokens": 300}}))
    return client


def test_pi(clients: Clients, tmp_path: Path) -> None:
    client = pi(clients, tmp_path / "pi")
    install(client)
    client.record()
    answer, asked = pi_compacted(client, "keep store.py")
    assert (answer["success"], asked.requests) == (True, [])
    text = answer["data"]["summary"]
    check(text, *client.requests)
    entry = json.loads(client.path().read_text().splitlines()[-1])
    assert (entry["type"], entry["fromHook"]) == ("compaction", True)
    ran = client.run("Go on.", client.turns(), str(client.path()))
    assert any(text in each for each in texts_in(ran.requests[-1]))
    again, asked = pi_compacted(client)
    assert asked.requests == []
    check(again["data"]["summary"], *client.requests, "Go on.")


def test_pi_asks_its_model_if_condense_is_not_there(clients: Clients, tmp_path: Path) -> None:
    client = pi(clients, tmp_path / "pi")
    client.record()
    for is_installed in (False, True):
        if is_installed:
            install(client)
            lose_condense(client.home / ".pi" / "agent" / "extensions" / "condense.js")
        answer, asked = pi_compacted(client)
        assert (answer["success"], len(asked.requests) > 0) == (True, True)
        assert client.run("Go on.", client.turns(), str(client.path())).status == 0


# The API reports 1,010 tokens for each request.
def test_pi_compacts_by_itself(clients: Clients, tmp_path: Path) -> None:
    client = pi(clients, tmp_path / "pi")
    install(client)
    client.record()
    models = client.home / ".pi" / "agent" / "models.json"

    class Full(Pi):
        def settings(self, url: str) -> dict[str, str]:
            found = super().settings(url)
            config = json.loads(models.read_text())
            config["providers"]["loopback"]["models"][0]["contextWindow"] = 2_000
            models.write_text(json.dumps(config))
            return found

    full = Full(clients, client.home)
    ran = full.run("Go on.", full.turns(), str(full.path()))
    assert ran.status == 0, ran.output + ran.error
    entries = [json.loads(line) for line in full.path().read_text().splitlines()]
    found = [entry for entry in entries if entry["type"] == "compaction"]
    assert found
    assert all(entry["fromHook"] and read_back(entry["summary"]) for entry in found)


@contextmanager
def serving(client: OpenCode, answers: Responder | None = None) -> Iterator[tuple[str, Service]]:
    """opencode as a server of its own, and the service that is its model."""
    with serve(answers or chat_api.Script()) as service:
        process = subprocess.Popen(
            [client.program, "serve", "--port", "0"],
            cwd=client.project, env=client.environment() | client.settings(service.url),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        with process:
            assert process.stdout is not None
            found = next(filter(None, (re.search(r"http://\S+", line) for line in process.stdout)))
            try:
                yield found[0], service
            finally:
                process.terminate()


def ask(url: str, body: Json | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
        return json.load(answer)


def compacted(url: str, session: str) -> str:
    """Compact a session; return the text that replaces it."""
    assert ask(f"{url}/session/{session}/summarize", {"providerID": "loopback", "modelID": chat_api.MODEL}) is True
    newest = ask(f"{url}/session/{session}/message")[-1]
    assert (newest["info"].get("summary"), newest["info"].get("error")) == (True, None)
    return str(next(part["text"] for part in newest["parts"] if part["type"] == "text"))


def test_opencode(clients: Clients, tmp_path: Path) -> None:
    client = WithPlugins(clients, tmp_path / "opencode")
    recorded(client)
    session, _ = client.session()
    with serving(client) as (url, service):
        text = compacted(url, session)
        check(text, *client.requests)
        assert service.requests == []
        ask(f"{url}/session/{session}/message", {"parts": [{"type": "text", "text": "Go on."}]})
        assert text in texts_in(service.requests[-1].body)
        asked = len(service.requests)
        check(compacted(url, session), *client.requests, "Go on.")
        assert len(service.requests) == asked


def test_opencode_compacts_by_itself(clients: Clients, tmp_path: Path) -> None:
    class Full(WithPlugins):
        def settings(self, url: str) -> dict[str, str]:
            found = super().settings(url)
            config = json.loads(found["OPENCODE_CONFIG_CONTENT"])
            (model,) = config["provider"]["loopback"]["models"].values()
            model["limit"] = {"context": 9_000, "output": 8_000}
            return found | {"OPENCODE_CONFIG_CONTENT": json.dumps(config)}

    script = chat_api.Script()

    def full_once(request: Request) -> Answer:
        answer = script(request)
        usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
        if "Compacted by condense" in str(request.body):
            return replace(answer, events=tuple({**event, "usage": usage} for event in answer.events))
        return answer

    client = WithPlugins(clients, tmp_path / "opencode")
    recorded(client)
    session, _ = client.session()
    with serving(Full(clients, client.home), full_once) as (url, _):
        ask(f"{url}/session/{session}/message", {"parts": [{"type": "text", "text": "Go on."}]})
        messages = ask(f"{url}/session/{session}/message")
    (found,) = (each for each in messages if each["info"].get("summary") is True)
    text = next(part["text"] for part in found["parts"] if part["type"] == "text")
    check(text, *client.requests, "Go on.")


# The model is not asked, and the client goes on in the copy.
def test_opencode_writes_a_smaller_copy(clients: Clients, tmp_path: Path) -> None:
    client = WithPlugins(clients, tmp_path / "opencode")
    recorded(client)
    session, _ = client.session()
    with serving(client) as (url, service):
        with pytest.raises(HTTPError):
            ask(f"{url}/session/{session}/command", {"command": "condense", "arguments": ""})
        assert service.requests == []
        newest = ask(f"{url}/session/{session}/message")[-1]
        (part,) = newest["parts"]
        assert part["ignored"] is True
        copy = re.search(r"opencode -s (ses_\w+)", part["text"])
        assert copy, part["text"]
        assert ask(f"{url}/session/{copy[1]}")["title"] == "Items (condensed)"
        for each in (session, copy[1]):
            ask(f"{url}/session/{each}/message", {"parts": [{"type": "text", "text": "Go on."}]})
        whole, small = (request.body for request in service.requests)
        assert part["text"] not in texts_in(whole)
        assert len(json.dumps(small)) < len(json.dumps(whole)) - 10_000
        assert any(client.requests[0] in text for text in texts_in(small))


# A session without an answer would be stuck.
def test_opencode_gets_an_answer_if_condense_is_gone(clients: Clients, tmp_path: Path) -> None:
    client = WithPlugins(clients, tmp_path / "opencode")
    recorded(client)
    session, _ = client.session()
    lose_condense(client.home / ".config" / "opencode" / "plugin" / "condense.js")
    with serving(client) as (url, service):
        text = compacted(url, session)
        assert all(words in text for words in client.requests)
        ask(f"{url}/session/{session}/message", {"parts": [{"type": "text", "text": "Go on."}]})
        assert service.requests[-1].body["messages"][-1]["content"] == "Go on."
