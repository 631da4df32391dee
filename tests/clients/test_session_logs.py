"""Sessions of pi, Gemini CLI, Kimi Code, Qwen Code and Copilot CLI are found and named."""

import json
from pathlib import Path

import further_agents
import pytest
import real
from agent_work import WORK
from helpers import condense
from machine import Machine

from condense_cli.clients.choices import Client
from condense_cli.clients.listing import facts_of
from condense_cli.clients.table import find, places
from condense_cli.errors import ExitStatus

SAMPLES = real.PROJECT / "sample_transcripts"
FILES = {
    Client.PI: (".pi/agent/sessions/--src--/2026-01-02T03-04-05-678Z_aaaa1111.jsonl", "bugfix-pi.jsonl"),
    Client.GEMINI: (".gemini/tmp/abc/chats/session-2026-01-02T03-04-aaaa1111.jsonl", "logs/bugfix-gemini.jsonl"),
    Client.KIMI: (".kimi-code/sessions/wd/aaaa1111/agents/main/wire.jsonl", "logs/bugfix-kimi.jsonl"),
    Client.QWEN: (".qwen/projects/-src/chats/aaaa1111.jsonl", "qwen-code"),
    Client.COPILOT: (".copilot/session-state/aaaa1111/events.jsonl", "copilot"),
}


def put(home: Path, client: Client) -> Path:
    name, sample = FILES[client]
    path = home / name
    path.parent.mkdir(parents=True)
    written = further_agents.WRITABLE.get(sample)
    path.write_bytes(written(WORK) if written else (SAMPLES / sample).read_bytes())
    return path


@pytest.mark.parametrize("client", FILES)
def test_a_session_is_found(tmp_path: Path, client: Client) -> None:
    path = put(tmp_path, client)
    (path.parent / "notes.txt").write_text("x")
    (file,) = find(places(tmp_path, {}, "linux")).files
    assert (file.client, file.path) == (client, str(path))
    assert file.id.endswith("aaaa1111")
    facts = facts_of(file)
    assert facts.title
    assert "bug" in facts.title.lower() or "test" in facts.title.lower()
    assert facts.messages
    assert facts.tokens
    assert facts.problem is None
    assert (facts.project is None) == (client in (Client.GEMINI, Client.KIMI))


# Gemini CLI and Kimi Code say beside a log which project it belongs to, and Kimi Code what it was called.
def test_what_is_said_beside_a_log(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    (put(machine.home, Client.GEMINI).parents[1] / ".project_root").write_text("/srv/shop")
    state = {"cwd": "/srv/mill", "title": "The mill", "isCustomTitle": True}
    (put(machine.home, Client.KIMI).parents[2] / "state.json").write_text(json.dumps(state))
    known = {row["client"]: (row["project"], row["title"]) for row in machine.rows()}
    assert known["kimi"] == ("/srv/mill", "The mill")
    assert known["gemini"][0] == "/srv/shop"


# A client that goes on with a session may leave a second log of the same id, in which nobody said anything.
def test_a_log_in_which_nothing_was_said(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    path = put(machine.home, Client.GEMINI)
    whole = "aaaa1111-87ff-40ff-b7e3-bf2094e06cc5"
    path.write_bytes(path.read_bytes().replace(b'"sessionId":"bugfix"', f'"sessionId":"{whole}"'.encode()))
    context = {"id": "c", "timestamp": "2026-01-02T03:05:00Z", "type": "user", "content": "<session_context>\nToday"}
    lines = [{"sessionId": whole, "projectHash": "h"}, {"$set": {"messages": [context]}}]
    second = path.with_name("session-2026-01-02T03-05-aaaa1111.jsonl")
    second.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [row["path"] for row in machine.rows()] == [str(path)]
    for name in ("aaaa1111", "aaaa", whole):
        assert condense("validate", "--session", name, env=machine.env).status == ExitStatus.DONE, name
    second.write_bytes(path.read_bytes())
    assert "2 sessions have the id 'aaaa'" in condense("validate", "--session", "aaaa", env=machine.env).stderr


def test_commands_take_such_a_session(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    put(machine.home, Client.COPILOT)
    assert [(row["client"], row["id"]) for row in machine.rows()] == [("copilot", "aaaa1111")]
    done = condense("validate", "--session", "aaaa1111", env=machine.env)
    assert done.status == ExitStatus.DONE
    assert "format copilot" in done.text


# The client shows the whole of an id, the beginning of which is in the name of the file.
def test_the_whole_id_of_gemini_cli(tmp_path: Path) -> None:
    machine = Machine(tmp_path / "home", tmp_path / "cache")
    path = put(machine.home, Client.GEMINI)
    whole = "aaaa1111-87ff-40ff-b7e3-bf2094e06cc5"
    path.write_bytes(path.read_bytes().replace(b'"sessionId":"bugfix"', f'"sessionId":"{whole}"'.encode()))
    assert condense("validate", "--session", whole, env=machine.env).status == ExitStatus.DONE
    other = condense("validate", "--session", whole[:-4] + "0000", env=machine.env)
    assert "There is no session" in other.stderr
