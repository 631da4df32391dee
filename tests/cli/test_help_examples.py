"""What help pages show for `jq` is there: each path leads to a value in what the command prints."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers import condense, condense_process
from real import PROJECT, SESSION
from test_cli import HELP_PAGES

from condense_cli import api

_EXAMPLE = re.compile(r"^ +condense (.+?) \| jq (?:-r )?('[^']+'|\S+)$", re.MULTILINE)
_FASTER = {"test local": "test offline", "evaluate sessions/": "evaluate sessions/ -p speed --against none"}


@pytest.fixture(scope="module")
def small() -> bytes:
    return api.dump(api.condense(api.load(SESSION), preset="speed"))


@pytest.fixture
def folder(tmp_path: Path, small: bytes, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that the examples name."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    for name in ("session.jsonl", "before.jsonl", "sessions/one.jsonl", "claude/projects/-p/one.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SESSION, tmp_path / name)
    for name in ("small.jsonl", "after.jsonl"):
        (tmp_path / name).write_bytes(small)
    shutil.copy(PROJECT / "presets" / "speed.yaml", tmp_path / "mine.yaml")
    return tmp_path


def follow(found: Any, path: str) -> None:
    """Walk along a path of `jq`, such as `.a[0].b` or `.a[].b`. Raises KeyError where it leads nowhere."""
    values = [found]
    for key, index in re.findall(r"\.(\w+)|\[(\d*)\]", path.partition(" ")[0]):
        if key:
            values = [value[key] for value in values]
        else:
            values = [one for value in values for one in (value if index == "" else [value[int(index)]])]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("page", HELP_PAGES, ids=lambda page: "-".join(page) or "condense")
def test_there_is_what_the_examples_ask_for(page: tuple[str, ...], folder: Path) -> None:
    for command, path in _EXAMPLE.findall(condense(*page, "--help-all").text):
        if page == ("undo",):
            assert condense("run", "session.jsonl", "--in-place", "-q", cwd=folder).status == 0
        for slow, faster in _FASTER.items():
            command = command.replace(slow, faster)
        done = condense(*shlex.split(command), cwd=folder)
        assert done.status == 0, done.stderr
        for printed in done.text.splitlines() if "--raw" in command else [done.text]:
            follow(json.loads(printed), path.strip("'"))


# As PYTHONOPTIMIZE=2 has it.
@pytest.mark.parametrize("arguments", [("run", "--help"), ("presets", "list")])
def test_commands_need_no_docstrings(arguments: tuple[str, ...]) -> None:
    done = condense_process(*arguments, env={"PYTHONOPTIMIZE": "2"})
    assert (done.status, done.stderr) == (0, "")
