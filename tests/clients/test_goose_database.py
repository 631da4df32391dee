"""Sessions of Goose are found in its database, and read from there as `goose session export` writes them."""

import json
import sqlite3
from pathlib import Path

import further_agents
import pytest
from agent_work import WORK, shape
from helpers import condense
from machine import Machine

from condense_cli.errors import ExitStatus, UnreadableError
from condense_cli.formats import parse
from condense_cli.storage import session_databases
from condense_cli.storage.files import read_bytes

ID = "20260528_1"
TABLES = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', user_set_name BOOLEAN DEFAULT FALSE,
        session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL, created_at TIMESTAMP,
        updated_at TIMESTAMP, extension_data TEXT DEFAULT '{}', recipe_json TEXT, model_config_json TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
        role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL, metadata_json TEXT);
"""
OLD_TABLES = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, description TEXT, working_dir TEXT, updated_at TIMESTAMP);
    CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,
        created_timestamp INTEGER);
"""
MESSAGES = list(further_agents.goose(WORK))[1:]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", tmp_path / "cache")


def made(machine: Machine, tables: str = TABLES) -> sqlite3.Connection:
    path = path_in(machine).parent
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.executescript(tables)
    return database


def path_in(machine: Machine, id: str = ID) -> Path:
    return machine.home / ".local" / "share" / "goose" / "sessions" / "sessions.db" / id


def put(database: sqlite3.Connection, id: str = ID, kind: str = "user", name: str = "The shop") -> None:
    row = (id, name, kind, "/srv/shop", "2026-05-28 20:00:00", "2026-05-28 20:10:00", '{"model_name": "gpt-5.1"}')
    columns = "id, name, session_type, working_dir, created_at, updated_at, model_config_json"
    database.execute(f"INSERT INTO sessions ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for message in MESSAGES:
        metadata = json.dumps(message["metadata"]) if "metadata" in message else None
        said = (id, message["role"], json.dumps(message["content"]), message["created"], metadata)
        columns = "session_id, role, content_json, created_timestamp, metadata_json"
        database.execute(f"INSERT INTO messages ({columns}) VALUES (?, ?, ?, ?, ?)", said)
    database.commit()


def test_sessions_are_found(machine: Machine) -> None:
    with made(machine) as database:
        put(database)
        put(database, "20260528_2", "sub_agent")
        put(database, "20260528_3", name="New session 3")
    rows = {row["id"]: row for row in machine.rows()}
    assert rows.keys() == {ID, "20260528_3"}
    row = rows[ID]
    assert [row[key] for key in ("client", "title", "project")] == ["goose", "The shop", "/srv/shop"]
    assert (row["updated"], row["path"]) == ("2026-05-28T20:10:00Z", str(path_in(machine)))
    assert rows["20260528_3"]["title"] == "Fix the bug."
    assert {row["id"] for row in machine.rows("--all")} == {*rows, "20260528_2"}


def test_a_session_is_read_as_it_is_exported(machine: Machine) -> None:
    with made(machine) as database:
        put(database)
    read = json.loads(read_bytes(path_in(machine)))
    assert [message["content"] for message in read["conversation"]] == [message["content"] for message in MESSAGES]
    assert read.items() >= {"working_dir": "/srv/shop", "created_at": "2026-05-28T20:00:00Z"}.items()
    assert (read["extension_data"], read["message_count"]) == ({}, len(MESSAGES))
    transcript = parse(read_bytes(path_in(machine)))
    assert (transcript.format, transcript.model) == ("goose", "gpt-5.1")
    assert shape(transcript) == shape(parse(b"".join(json.dumps(each).encode() + b"\n" for each in MESSAGES)))


def test_a_database_of_an_early_version_is_read(machine: Machine) -> None:
    with made(machine, OLD_TABLES) as database:
        database.execute("INSERT INTO sessions VALUES (?, 'The shop', '/srv/shop', '2026-05-28 20:10:00')", (ID,))
        said = (ID, json.dumps(MESSAGES[0]["content"]))
        database.execute("INSERT INTO messages VALUES (1, ?, 'user', ?, 5)", said)
    (stored,) = session_databases.sessions(path_in(machine).parent)
    assert (stored.title, stored.parts, stored.is_side) == ("The shop", 1, False)
    assert len(parse(read_bytes(path_in(machine))).messages) == 1


def test_a_database_is_never_written(machine: Machine, tmp_path: Path) -> None:
    with made(machine) as database:
        put(database)
    before = path_in(machine).parent.read_bytes()
    refused = condense("run", "--session", ID, "--preset", "speed", "--in-place", env=machine.env)
    assert refused.status == ExitStatus.USAGE
    assert "Goose keeps its sessions in a database" in refused.stderr
    assert "goose session import FILE" in refused.stderr
    done = condense("run", "--session", ID, "--preset", "max", "-o", str(tmp_path / "out.json"), env=machine.env)
    assert done.status == ExitStatus.DONE, done.stderr
    assert json.loads((tmp_path / "out.json").read_bytes())["id"] == ID
    assert path_in(machine).parent.read_bytes() == before


@pytest.mark.parametrize("content", ["[" * 200_000, "{"])
def test_broken_content_is_told(machine: Machine, content: str) -> None:
    with made(machine) as database:
        put(database)
        database.execute("UPDATE messages SET content_json = ?", (content,))
    with pytest.raises(UnreadableError, match=r"Cannot read .*sessions\.db"):
        read_bytes(path_in(machine))
