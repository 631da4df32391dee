"""Measure how long `condense sessions` takes on a machine with many sessions. Prints seconds.

    python benchmarks/sessions.py --sessions 1000 --mixed

The sessions are Claude Code's, or with `--mixed` equally many of each of eight clients, in a throw-away home. Those of
Claude Code and opencode have 10 to 1,000 KB; those of other clients are copies of the samples (20 to 45 KB). Each row
is the median of a few runs: cold (empty cache) and warm. Under other load, look at processor seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

from processes import Cost, cost
from recorded import SAMPLES
from synthetic import write_transcript

KILOBYTES: Final = (10, 30, 50, 80, 120, 200, 400, 1_000)
"""Sizes of the sessions that vary, taken in turns."""
PROJECTS: Final = 40
_TASK: Final = ".config/Code/User/globalStorage/{}/tasks/{{id}}/api_conversation_history.json"
COPIED: Final = (
    (".codex/sessions/2026/05/28/rollout-2026-05-28T10-00-00-{id}.jsonl", "bugfix-rollout.jsonl"),
    (_TASK.format("rooveterinaryinc.roo-cline"), "bugfix-cline.json"),
    (_TASK.format("saoudrizwan.claude-dev"), "bugfix-cline.json"),
    (".pi/agent/sessions/--srv-{project}--/2026-05-28T10-00-00-000Z_{id}.jsonl", "bugfix-pi.jsonl"),
    (".gemini/tmp/{project}/chats/session-2026-05-28T10-00-{id:.8}.jsonl", "logs/bugfix-gemini.jsonl"),
    (".kimi-code/sessions/{project}/session_{id}/agents/main/wire.jsonl", "logs/bugfix-kimi.jsonl"),
)
"""Where clients keep a session, below home, and the sample to copy there."""
CLIENTS: Final = len(COPIED) + 2
_TABLES: Final = """
    CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, directory TEXT, title TEXT,
        version TEXT, time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
    CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
    CREATE INDEX part_session_idx ON part (session_id);
    CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
"""


def make_sessions(home: Path, number: int, now: float, *, mixed: bool = False) -> int:
    """Write `number` sessions, ten minutes apart, newest last, and return their total bytes.

    They are Claude Code's or, if `mixed`, equally many of each client.
    """
    random, total = Random(1), 0
    models = [home / f"{size}.jsonl" for size in KILOBYTES]
    for model, size in zip(models, KILOBYTES, strict=True):
        write_transcript(model, size / 1_000, "claude-code")
    database = _database(home) if mixed else None
    for count in range(number):
        changed = now - 600 * (number - count)
        turn, client = divmod(count, CLIENTS) if mixed else (count, 0)
        id, project = str(uuid.UUID(int=random.getrandbits(128), version=4)), f"project{count % PROJECTS}"
        if database and client == CLIENTS - 1:
            total += _put(database, id, f"/home/user/{project}", KILOBYTES[turn % len(KILOBYTES)], changed)
            continue
        place, source = f".claude/projects/-home-user-{project}/{id}.jsonl", models[turn % len(models)]
        if client:
            pattern, sample = COPIED[client - 1]
            place, source = pattern.format(id=id, project=project), SAMPLES / sample
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, path)
        os.utime(path, (changed, changed))
        total += path.stat().st_size
    for model in models:
        model.unlink()
    if database:
        database.commit()
        database.close()
    return total


def _database(home: Path) -> sqlite3.Connection:
    """Create opencode's empty database."""
    path = home / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.executescript(_TABLES)
    return database


def _put(database: sqlite3.Connection, id: str, project: str, kilobytes: int, changed: float) -> int:
    """Insert a session that repeats the sample up to a size; return the bytes of its parts."""
    time, size = int(changed * 1_000), 0
    session = (f"ses_{id}", "global", project, "Bugs in the price list", "1.18", time, time)
    names = "id, project_id, directory, title, version, time_created, time_updated"
    database.execute(f"INSERT INTO session ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", session)
    for number, (info, parts) in enumerate(_messages(kilobytes * 1_000)):
        message = f"msg_{id}_{number:06}"
        database.execute("INSERT INTO message VALUES (?, ?, ?, ?)", (message, session[0], time + number, info))
        for place, part in enumerate(parts):
            database.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?)", (f"prt_{message}_{place}", message, session[0], part)
            )
            size += len(part)
    return size


def _messages(size: int) -> Iterator[tuple[str, list[str]]]:
    """Yield the sample's messages and their parts, as JSON without ids, until `size` characters."""
    messages: list[dict[str, Any]] = json.loads((SAMPLES / "bugfix-opencode.json").read_bytes())["messages"]
    ids = ("id", "sessionID", "messageID")
    stripped = [
        [
            json.dumps({key: part[key] for key in part if key not in ids})
            for part in (message["info"], *message["parts"])
        ]
        for message in messages
    ]
    said = 0
    while said < size:
        for info, *parts in stripped:
            yield info, parts
            said += sum(map(len, parts))


def median(home: Path, rounds: int, *options: str, cold: bool) -> Cost:
    """Run the command a few times, with an empty cache if `cold`."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SYSTEMROOT")}
    variables = kept | {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    runs = []
    for _ in range(rounds):
        if cold:
            shutil.rmtree(home / ".cache", ignore_errors=True)
        runs.append(cost([sys.executable, "-m", "condense_cli", "sessions", *options], variables))
    return sorted(runs, key=lambda run: run.processor)[len(runs) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time condense sessions.")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--mixed", action="store_true", help="sessions of eight clients")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        total = make_sessions(home, arguments.sessions, time.time(), mixed=arguments.mixed)
        print(f"{arguments.sessions:,} sessions, {total / 1e6:,.0f} MB")
        rounds = arguments.rounds
        rows = (
            ("the newest 20, cold", median(home, rounds, cold=True)),
            ("the newest 20, warm", median(home, rounds, cold=False)),
            ("all, cold (once)", median(home, 1, "--limit", "0", cold=True)),
            ("all, warm", median(home, rounds, "--limit", "0", cold=False)),
        )
        for name, taken in rows:
            print(f"{name:<24}{taken.seconds:>8.2f} s{taken.processor:>8.2f} s of processor")


if __name__ == "__main__":
    main()
