"""Refuse a file of which nothing was understood: it is not valid, and is not silently written back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import condense

from condense_cli.errors import ExitStatus, UnknownFormatError
from condense_cli.formats import parse

LINE = {"uuid": "1", "parentUuid": None, "sessionId": "s", "type": "user", "message": {"role": "user", "text": "hi"}}
FILES = {
    "claude-code": LINE,
    "copilot": {"type": "session.start", "data": {}, "id": "1", "timestamp": "", "parentId": None},
    "pi": {"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/src"},
}


@pytest.mark.parametrize("format", FILES)
def test_it_is_refused(format: str) -> None:
    with pytest.raises(UnknownFormatError, match=f"read as {format}, but holds no message"):
        parse(json.dumps(FILES[format]).encode() + b"\n")


def test_commands_refuse_it(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(LINE) + "\n")
    for command, options in (("validate", ()), ("run", ("-o", tmp_path / "out.jsonl"))):
        done = condense(command, path, *options)
        assert done.status == ExitStatus.INPUT
        assert "holds no message" in done.message
    assert not (tmp_path / "out.jsonl").exists()
