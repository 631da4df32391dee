"""Sessions of opencode are found in its database, and read from there as `opencode export` writes them."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import real
from helpers import condense
from machine import Machine

from condense_cli.errors import ExitStatus, UnreadableError
from condense_cli.storage import session_databases
from condense_cli.storage.files import read_bytes

EXPORT = json.loads((real.PROJECT / "sample_transcripts" / "bugfix-opencode.json").read_bytes())
ID = EXPORT["info"]["id"]
TABLES = """
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT, directory TEXT, title TEXT,
        version TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
"""


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", tmp_path / "cache")


@pytest.fixture
def database(machine: Machine) -> Iterator[sqlite3.Connection]:
    """The database of the client, which has it open and has not put its newest rows into the file itself."""
    path = machine.home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.executescript(TABLES)
    yield database
    database.close()


def put(
    database: sqlite3.Connection, id: str = ID, title: str = "", updated: int = 1_779_999_000_000, **more: object
) -> None:
    row = {
        "id": id, "project_id": "global", "slug": "a", "directory": "/srv/shop", "version": "1.18",
        "title": title or "The shop", "time_created": 1, "time_updated": updated, "parent_id": None,
        "time_archived": None, **more,
    }  # fmt: skip
    names = ", ".join(row)
    database.execute(f"INSERT INTO session ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    for number, message in enumerate(EXPORT["messages"]):
        own = {key: value for key, value in message["info"].items() if key not in ("id", "sessionID")}
        name = f"{id}{message['info']['id']}" if id != ID else message["info"]["id"]
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (name, id, number, json.dumps(own)))
        for part in message["parts"]:
            data = {key: value for key, value in part.items() if key not in ("id", "sessionID", "messageID")}
            part_id = f"{id}{part['id']}" if id != ID else part["id"]
            database.execute("INSERT INTO part VALUES (?, ?, ?, ?)", (part_id, name, id, json.dumps(data)))
    database.commit()


def path_in(machine: Machine, id: str = ID) -> Path:
    return machine.home / ".local" / "share" / "opencode" / "opencode.db" / id


def test_a_session_is_found(machine: Machine, database: sqlite3.Connection) -> None:
    put(database)
    (row,) = machine.rows()
    assert [row[key] for key in ("client", "id", "title", "project")] == ["opencode", ID, "The shop", "/srv/shop"]
    assert (row["updated"], row["path"]) == ("2026-05-28T20:10:00Z", str(path_in(machine)))
    inspected = condense("inspect", str(path_in(machine)), "--json", env=machine.env)
    assert row["tokens"] == json.loads(inspected.stdout)["tokens"]["total"]


# What was named by nobody is called after what was asked; sub-agents and what was put away are shown on demand.
def test_titles_and_what_is_aside(machine: Machine, database: sqlite3.Connection) -> None:
    put(database, title="New session - 2026-05-28T20:10:00.000Z")
    put(database, "ses_child", parent_id=ID)
    put(database, "ses_old", time_archived=5)
    (row,) = machine.rows()
    assert "bug" in row["title"].lower() or "test" in row["title"].lower()
    assert {row["id"] for row in machine.rows("--all")} == {ID, "ses_child", "ses_old"}


def test_a_session_is_read_as_it_is_exported(machine: Machine, database: sqlite3.Connection) -> None:
    put(database)
    files = [path for path in path_in(machine).parents[1].iterdir() if path.suffix == ".db"]
    before = [path.read_bytes() for path in files]
    read = json.loads(read_bytes(path_in(machine)))
    assert read["messages"] == EXPORT["messages"]
    assert read["info"].items() >= {"id": ID, "title": "The shop", "directory": "/srv/shop"}.items()
    assert [path.read_bytes() for path in files] == before


# A database of a thousand sessions takes a second to read.
def test_finding_sessions_reads_nothing_of_what_was_said(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "opencode.db") as database:
        database.executescript(TABLES.replace(", data TEXT", ""))
        row = (ID, "The shop", "/srv/shop", 5)
        database.execute("INSERT INTO session (id, title, directory, time_updated) VALUES (?, ?, ?, ?)", row)
        database.execute("INSERT INTO part (id, message_id, session_id) VALUES ('p', 'm', ?)", (ID,))
    (stored,) = session_databases.sessions(tmp_path / "opencode.db")
    assert (stored.id, stored.title, stored.parts) == (ID, "The shop", 1)


# One that goes on is counted anew, though the client notes its time only when the turn is over.
def test_a_session_that_goes_on_is_counted_anew(machine: Machine, database: sqlite3.Connection) -> None:
    put(database)
    (before,) = machine.rows()
    assert before["bytes"] == len(read_bytes(path_in(machine)))
    message = EXPORT["messages"][-1]["info"]["id"]
    said = json.dumps({"type": "text", "text": "and once more, " * 50})
    database.execute("INSERT INTO part VALUES ('prt_zzz', ?, ?, ?)", (message, ID, said))
    database.commit()
    (after,) = machine.rows()
    assert after["tokens"] > before["tokens"]
    assert after["bytes"] == len(read_bytes(path_in(machine)))


@pytest.mark.parametrize("option", ["--in-place", "--new-session"])
def test_a_database_is_never_written(
    machine: Machine, database: sqlite3.Connection, option: str, tmp_path: Path
) -> None:
    put(database)
    refused = condense("run", "--session", ID, "--preset", "speed", option, env=machine.env)
    assert refused.status == ExitStatus.USAGE
    assert "opencode import FILE" in refused.stderr
    done = condense("run", "--session", ID, "--preset", "max", "-o", str(tmp_path / "out.json"), env=machine.env)
    assert done.status == ExitStatus.DONE, done.stderr
    assert json.loads((tmp_path / "out.json").read_bytes())["info"]["id"] == ID


def test_what_is_no_database_is_said(machine: Machine, database: sqlite3.Connection) -> None:
    with pytest.raises(UnreadableError, match="holds no session ses_none"):
        session_databases.exported(path_in(machine, "ses_none"))
    broken = path_in(machine).parent.with_name("opencode-dev.db")
    broken.write_bytes(b"no database at all, of some length" * 40)
    with pytest.raises(UnreadableError, match="Cannot read"):
        session_databases.sessions(broken)
    put(database)
    assert "opencode-dev.db" in machine.sessions().stderr
