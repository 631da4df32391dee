"""Session files of every client are found where it keeps them, and named; nothing there stops the search."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import further_agents
import pytest
import real
from agent_work import WORK
from helpers import condense
from machine import Machine, task, written

from condense_cli.clients.choices import Client
from condense_cli.clients.client import Layout
from condense_cli.clients.listing import facts_of
from condense_cli.clients.table import Finding, find, places
from condense_cli.errors import ExitStatus

HOME = Path("/home/me")


def folders(client: Client, environment: dict[str, str] | None = None, platform: str = "linux") -> list[str]:
    found = places(HOME, environment or {}, platform)
    return [place.folder.as_posix() for place in found if place.client is client]


def found(machine: Machine, *, everything: bool = False) -> Finding:
    environment = {key: value for key, value in machine.env.items() if key != "HOME"}
    return find(places(machine.home, environment, "linux"), everything=everything)


def test_claude_code_has_two_homes_unless_the_environment_names_one() -> None:
    assert folders(Client.CLAUDE_CODE) == ["/home/me/.claude/projects", "/home/me/.config/claude/projects"]
    assert folders(Client.CLAUDE_CODE, {"XDG_CONFIG_HOME": "/etc/me"})[1] == "/etc/me/claude/projects"
    assert folders(Client.CLAUDE_CODE, {"CLAUDE_CONFIG_DIR": "/else"}) == ["/else/projects"]
    assert folders(Client.CLAUDE_CODE, {"CLAUDE_CONFIG_DIR": ""}) == folders(Client.CLAUDE_CODE)


def test_codex_and_cline_follow_their_variables() -> None:
    assert folders(Client.CODEX) == ["/home/me/.codex/sessions", "/home/me/.codex/archived_sessions"]
    assert folders(Client.CODEX, {"CODEX_HOME": "/c"}) == ["/c/sessions", "/c/archived_sessions"]
    assert folders(Client.CLINE)[-2:] == ["/home/me/.cline/data/tasks", "/home/me/.cline/data/sessions"]
    assert folders(Client.CLINE, {"CLINE_DIR": "/c"})[-2:] == ["/c/data/tasks", "/c/data/sessions"]
    assert folders(Client.CLINE, {"CLINE_DIR": "/c", "CLINE_DATA_DIR": "/d"})[-2:] == ["/d/tasks", "/d/sessions"]


@pytest.mark.parametrize(
    ("platform", "environment", "config"),
    [
        ("linux", {}, "/home/me/.config"),
        ("linux", {"XDG_CONFIG_HOME": "/x"}, "/x"),
        ("darwin", {}, "/home/me/Library/Application Support"),
        ("win32", {}, "/home/me/AppData/Roaming"),
        ("win32", {"APPDATA": "/roaming"}, "/roaming"),
    ],
)
def test_editors_keep_extensions_where_their_system_wants_it(
    platform: str, environment: dict[str, str], config: str
) -> None:
    for editor in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"):
        storage = f"{config}/{editor}/User/globalStorage"
        assert f"{storage}/rooveterinaryinc.roo-cline/tasks" in folders(Client.ROO, environment, platform)
        assert f"{storage}/saoudrizwan.claude-dev/tasks" in folders(Client.CLINE, environment, platform)


def test_the_server_of_an_editor_is_looked_at_on_linux_alone() -> None:
    server = "/home/me/.vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks"
    assert server in folders(Client.ROO)
    assert server not in folders(Client.ROO, platform="darwin")


def test_every_client_is_found_the_newest_first(machine: Machine) -> None:
    machine.claude_code("aaaa", age=40)
    machine.codex("019fc8be-3658-7ca3-9e29-000000000001", age=30)
    machine.task("1779999000000", task(), age=20)
    machine.task("1779999000001", task(), extension="saoudrizwan.claude-dev", age=10)
    written(machine.home / ".cline/data/sessions/177_abc/177_abc.messages.json", b"{}")
    assert [(file.client, file.id) for file in found(machine).files] == [
        (Client.CLINE, "177_abc"),
        (Client.CLINE, "1779999000001"),
        (Client.ROO, "1779999000000"),
        (Client.CODEX, "019fc8be-3658-7ca3-9e29-000000000001"),
        (Client.CLAUDE_CODE, "aaaa"),
    ]


def test_what_lies_aside_is_found_on_demand(machine: Machine) -> None:
    machine.claude_code("main")
    machine.claude_code("", path="-srv-app/agent-1234.jsonl")
    machine.claude_code("", path="-srv-app/main/subagents/agent-5678.jsonl")
    machine.codex("019fc8be-3658-7ca3-9e29-000000000002", folder="archived_sessions")
    written(machine.home / ".cline/data/sessions/177/177.messages.json", b"{}")
    written(machine.home / ".cline/data/sessions/177/helper.messages.json", b"{}")
    written(machine.home / ".cline/data/sessions/177/177.compaction.json", b"{}")
    assert {file.id for file in found(machine).files} == {"main", "177"}
    aside = {file.id for file in found(machine, everything=True).files if file.is_side}
    assert aside == {"agent-1234", "agent-5678", "019fc8be-3658-7ca3-9e29-000000000002", "helper"}


def test_rollouts_without_days_are_found_and_compressed_ones_counted(machine: Machine) -> None:
    machine.codex("019fc8be-3658-7ca3-9e29-000000000003", folder="sessions")
    day = machine.home / ".codex/sessions/2025/01/02"
    for number in range(3):
        written(day / f"rollout-2025-01-02T00-00-0{number}-x.jsonl.zst", b"\x28\xb5\x2f\xfd")
    finding = found(machine)
    assert [file.id for file in finding.files] == ["019fc8be-3658-7ca3-9e29-000000000003"]
    assert [(skipped.reason, skipped.count) for skipped in finding.skipped] == [("are compressed", 3)]


def test_other_files_are_no_sessions(machine: Machine) -> None:
    written(machine.claude / "-srv-app" / "notes.txt", b"x")
    written(machine.claude / "-srv-app" / "empty.jsonl", b"")
    written(machine.claude / "loose.jsonl", b"{}")
    (machine.claude / "-srv-app" / "folder.jsonl").mkdir()
    os.mkfifo(machine.claude / "-srv-app" / "pipe.jsonl")
    assert found(machine).files == ()
    assert found(machine).skipped == ()


def test_links_in_circles_end_and_no_session_is_found_twice(machine: Machine) -> None:
    file = machine.claude_code("one")
    rollout = machine.codex("019fc8be-3658-7ca3-9e29-000000000004")
    (machine.claude / "again").symlink_to(machine.claude)
    (machine.claude / "-srv-app" / "same.jsonl").symlink_to(file)
    (machine.claude / "-srv-app" / "self.jsonl").symlink_to("self.jsonl")
    (machine.claude / "-other").symlink_to(file.parent)
    (machine.home / ".codex/sessions/2026/loop").symlink_to(machine.home / ".codex/sessions")
    rollout.with_name("loop").symlink_to(rollout.parent)
    (machine.home / ".config").mkdir(exist_ok=True)
    (machine.home / ".config" / "claude").symlink_to(machine.home / ".claude")
    finding = found(machine, everything=True)
    assert {file.path for file in finding.files} == {str(file), str(rollout)}
    assert [skipped.reason for skipped in finding.skipped] == ["cannot be read"]


@pytest.fixture
def locked(machine: Machine) -> Iterator[Path]:
    folder = machine.claude / "-srv-locked"
    written(folder / "hidden.jsonl", b"{}")
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is locked for root")
def test_a_locked_folder_is_counted_and_the_rest_found(machine: Machine, locked: Path) -> None:
    machine.claude_code("open")
    finding = found(machine)
    assert [file.id for file in finding.files] == ["open"]
    assert [(skipped.reason, skipped.path) for skipped in finding.skipped] == [("cannot be read", str(locked))]


def test_a_folder_that_cannot_be_listed_is_counted(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.claude_code("open")
    machine.claude_code("hidden", project="/srv/locked")
    scandir = os.scandir

    def refuse(path: str) -> object:
        if "locked" in str(path):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    finding = found(machine)
    assert [file.id for file in finding.files] == ["open"]
    assert [(skipped.reason, skipped.count) for skipped in finding.skipped] == [("cannot be read", 1)]


def test_a_machine_without_sessions_has_been_searched(machine: Machine) -> None:
    finding = found(machine)
    assert finding.files == ()
    assert {place.layout for place in finding.places} == set(Layout) - {Layout.ARCHIVE}


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
