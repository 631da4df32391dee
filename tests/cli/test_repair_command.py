"""`condense repair`: where it writes, what it says, and how it ends."""

import base64
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from broken import broken, turns
from build import assistant, call, text, user
from helpers import as_lines, condense, condense_on_terminal, snapshot

from condense_cli.errors import ExitStatus
from condense_cli.formats import parse
from condense_cli.repair.mending import repair
from condense_cli.rules import validity

CALLED = as_lines([user("look"), assistant([call("a")]), user("never mind"), assistant("fine")])
RIGHT = as_lines([user("look"), assistant("fine")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(CALLED)
    return path


def test_each_change_is_one_line_with_its_place_and_reason(file: Path) -> None:
    done = condense("repair", file, "-n")
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    change, last = done.text.splitlines()
    assert change.startswith(
        f"{file}:2: Answered the call by a note that its result is missing (messages.1: `tool_use`"
    )
    assert last == "Valid after 1 change: 4 messages, format anthropic"
    assert file.read_bytes() == CALLED


def test_it_replaces_the_file_and_undo_brings_it_back(file: Path) -> None:
    before = snapshot(file.parent)
    done = condense("repair", file, "--in-place")
    assert done.status == ExitStatus.DONE
    assert "condense undo restores it." in done.text
    assert condense("validate", file).status == ExitStatus.DONE
    assert condense("undo", file).status == ExitStatus.DONE
    assert snapshot(file.parent) == before


def test_a_right_session_is_left_alone(file: Path) -> None:
    file.write_bytes(RIGHT)
    before = snapshot(file.parent)
    done = condense("repair", file, "--in-place")
    assert (done.status, done.text) == (
        ExitStatus.DONE,
        "Nothing to mend: 2 messages, format anthropic\nNothing changed, so nothing was written.\n",
    )
    assert snapshot(file.parent) == before
    assert condense("repair", "-", "-o", "-", stdin=RIGHT).stdout == RIGHT


def test_it_writes_to_a_file_or_a_pipe(file: Path, tmp_path: Path) -> None:
    piped = condense("repair", file)
    assert (piped.stdout, "Valid after 1 change" in piped.stderr) == (repair(CALLED).data, True)
    assert condense("repair", file, "-q").stderr == ""
    packed = tmp_path / "mended.jsonl.gz"
    written = condense("repair", file, "-o", packed)
    assert f"Written: {packed}" in written.text
    assert condense("validate", packed).status == ExitStatus.DONE


def test_json_tells_changes_and_paths(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    told = condense("repair", file, "--json", "-o", out).json
    (change,) = told.pop("changes")
    assert told == {
        "version": 2,
        "input": str(file),
        "format": "anthropic",
        "messages": 4,
        "output": str(out),
        "backup": None,
    }
    assert (change["rule"], change["line"]) == ("calls_answered_next", 2)
    told = condense("repair", file, "--json", "--in-place").json
    assert told["output"] == str(file)
    assert Path(told["backup"]).read_bytes() == CALLED


def test_on_a_terminal_nothing_is_written_unless_asked_for(file: Path) -> None:
    done = condense_on_terminal("repair", file)
    assert "Nothing was written; add --in-place, or -o FILE." in done.plain
    assert file.read_bytes() == CALLED


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--in-place", "-o", "x"), "cannot be used together"),
        (("--force",), "--force needs --in-place"),
        (("--json", "-o", "-"), "both write to standard output"),
        (("-o", "session.jsonl"), "is the input file"),
    ],
)
def test_options_that_make_no_sense_together(file: Path, options: tuple[str, ...], said: str) -> None:
    done = condense("repair", "session.jsonl", *options, cwd=file.parent)
    assert (done.status, said in done.message) == (ExitStatus.USAGE, True)


def test_where_it_would_have_to_guess_nothing_is_written(file: Path) -> None:
    file.write_bytes(as_lines(turns(cached=0)))
    before = snapshot(file.parent)
    done = condense("repair", file, "--in-place")
    assert (done.status, snapshot(file.parent)) == (ExitStatus.INPUT, before)
    assert "and may continue any of these:\n  00000004-" in done.stderr
    chosen = condense("repair", file, "--in-place", "--join", "00000002-0000-4000-8000-000000000000")
    assert "Joined to line 2" in chosen.text


def test_a_format_that_is_only_read_is_said(tmp_path: Path) -> None:
    lines = [{"type": "request", "request_params": {"messages": [user("a"), {"role": "tool", "tool_call_id": "x"}]}}]
    (tmp_path / "log.jsonl").write_bytes(as_lines(lines))
    done = condense("repair", tmp_path / "log.jsonl")
    assert (done.status, "cannot write them" in done.message) == (ExitStatus.USAGE, True)


# A run that meets a broken session names the command, and asks nothing.
def test_a_run_names_the_command(file: Path) -> None:
    assert "condense repair FILE mends it, if it can." in condense("run", file, "-o", "-").stderr
    file.write_bytes(broken()["a torn last line"].data)
    assert "condense repair FILE removes it" in condense("run", file).message


def photo(width: int, height: int, kind: str = "PNG") -> dict[str, Any]:
    """An image that can be opened."""
    from PIL import Image

    written = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 30)).save(written, kind)
    data = base64.b64encode(written.getvalue()).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": f"image/{kind.lower()}", "data": data}}


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_images_are_scaled_down_in_their_own_kind(kind: str) -> None:
    data = as_lines([user([photo(8_400, 210, kind), text("look")]), assistant("fine")])
    found = repair(data)
    (image,) = [block for _, block in found.transcript.blocks() if block.pixels]
    assert image.pixels == (2_000, 50)
    assert [change.said for change in found.changes] == ["Scaled an image down from 8400x210 pixels"]
    source = json.loads(found.data.splitlines()[0])["content"][0]["source"]
    assert source["media_type"] == f"image/{kind.lower()}"
    assert source | {"data": ""} == photo(9, 9, kind)["source"] | {"data": ""}
    assert found.data.splitlines()[1] == data.splitlines()[1]


def test_without_pillow_a_note_takes_their_place(monkeypatch: pytest.MonkeyPatch) -> None:
    large = photo(8_400, 210)
    answers = {"type": "tool_result", "tool_use_id": "x", "content": [large]}
    messages = [user([large, text("look")]), assistant([call("x")]), user([answers]), assistant("fine")]
    monkeypatch.setitem(sys.modules, "PIL", None)
    found = repair(as_lines(messages))
    assert {change.said for change in found.changes} == {"Put a note in place of an image of 8400x210 pixels"}
    assert [str(block.text) for _, block in found.transcript.blocks()].count(
        "[An image of 8400x210 pixels was here: the API takes none so large.]"
    ) == 2


def test_of_too_many_images_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validity, "IMAGES", 3)
    found = repair(as_lines([user([photo(9, 9 + number) for number in range(5)]), assistant("fine")]))
    assert [block.pixels for _, block in found.transcript.blocks() if block.pixels] == [(9, 11), (9, 12), (9, 13)]
    monkeypatch.setattr(validity, "IMAGES", 600)
    large = photo(200, 100)
    data = as_lines([user([large, text("a")]), assistant("b"), user([photo(9, 9), text("c")])])
    assert len(large["source"]["data"]) > 300
    monkeypatch.setattr(validity, "REQUEST", 400)
    left = [block.pixels for _, block in parse(repair(data).data).blocks() if block.pixels]
    assert left == [(9, 9)]
