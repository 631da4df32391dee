"""A condensed session knows which one it is from: `show`, `undo`, `sessions` and a second run find the original."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import real
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.clients.new_session import SUFFIX, origin_of, origins_of, write_origin
from condense_cli.errors import ExitStatus


@pytest.fixture
def sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The original and a session that was condensed from it, where Claude Code keeps them."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "claude" / "projects" / "-work"
    folder.mkdir(parents=True)
    original = folder / "11111111-2222-4333-8444-555555555555.jsonl"
    original.write_bytes(real.SESSION.read_bytes())
    done = condense("run", original, "-p", "speed", "--new-session", "-q")
    return original, folder / f"{done.text.strip()}.jsonl"


def test_quietly_the_new_id_is_all_that_is_printed(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    assert new.is_file()
    assert new != original
    again = condense("run", original, "-p", "speed", "--new-session", "-q")
    assert (again.text, again.stderr) == (f"{new.stem}\n", "")
    # A script that takes the id must not take nothing for one.
    unchanged = condense("run", new, "-p", "speed", "--new-session", "-q")
    assert (unchanged.status, unchanged.text) == (ExitStatus.DONE, "")
    assert unchanged.stderr == "condense: nothing changed, so no new session was written.\n"


def test_the_origin_is_noted_beside_the_session(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    assert origin_of(new) == original
    assert origin_of(original) is None
    noted = new.with_name(new.name + SUFFIX)
    assert json.loads(noted.read_text()) == {"version": 1, "origin": original.name}
    original.unlink()
    assert origin_of(new) is None


def test_show_finds_in_the_original_what_a_marker_stands_for(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    marker = re.search(r"#(\d{6})\]", new.read_text())
    assert marker
    of_original, of_new = (condense("show", file, marker[1]) for file in (original, new))
    assert of_new.stdout == of_original.stdout
    assert f"from the original, {original.name}" in of_new.stderr
    assert condense("show", new, "999999").status != ExitStatus.DONE


def test_undo_says_where_the_original_is(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    before = new.read_bytes()
    done = condense("undo", new)
    assert done.status == ExitStatus.DONE
    assert str(original) in done.text
    assert new.read_bytes() == before
    assert condense("undo", new, "--json").json["original"] == str(original)
    assert condense("undo", original).status != ExitStatus.DONE


def test_the_list_of_sessions_names_the_original(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    rows = {row["path"]: row for row in condense("sessions", "--json").json["sessions"]}
    assert rows[str(new)]["origin"] == str(original)
    assert rows[str(original)]["origin"] is None
    assert f"{rows[str(new)]['short']} was condensed from {rows[str(original)]['short']}." in condense("sessions").text


@pytest.mark.slow
def test_latest_and_a_second_run_say_what_they_look_at(sessions: tuple[Path, Path]) -> None:
    original, new = sessions
    said = f"this session is already condensed; its original is {original}"
    for arguments in (("run", new), ("run", "--session", new.stem), ("inspect", "--session", "latest")):
        done = condense(*arguments, *(("--dry-run",) if arguments[0] == "run" else ()))
        assert (said in done.stderr) is True, arguments
    assert said not in condense("run", original, "--dry-run").stderr
    assert said not in condense("run", new, "--dry-run", "-q").stderr


def test_the_original_of_the_original(sessions: tuple[Path, Path], tmp_path: Path) -> None:
    original, new = sessions
    third = new.with_name("third.jsonl")
    third.write_bytes(new.read_bytes())
    write_origin(third, new)
    assert [*origins_of(third)] == [new, original]
    write_origin(original, third)  # However they came to name each other.
    assert [*origins_of(third)] == [new, original]


@given(
    st.binary(max_size=300)
    | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(
        lambda value: json.dumps({"origin": value}).encode()
    )
)
def test_whatever_is_noted_is_a_file_of_the_folder_or_nothing(data: Any) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / f"a.jsonl{SUFFIX}").write_bytes(data)
        assert origin_of(folder / "a.jsonl") is None
