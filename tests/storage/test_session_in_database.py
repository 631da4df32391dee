"""A session in a database of opencode whose content is broken is told as such."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from condense_cli.errors import UnreadableError
from condense_cli.storage.session_databases import exported


@pytest.mark.parametrize("data", ["null", "[" * 200_000, "{"])
def test_a_part_that_is_no_object_is_told(tmp_path: Path, data: str) -> None:
    with sqlite3.connect(tmp_path / "opencode.db") as database:
        database.executescript("CREATE TABLE session (id); CREATE TABLE part (id, message_id, session_id, data)")
        database.execute("INSERT INTO session VALUES ('ses_1')")
        database.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', ?)", (data,))
    with pytest.raises(UnreadableError, match=r"Cannot read .*opencode\.db"):
        exported(tmp_path / "opencode.db" / "ses_1")
