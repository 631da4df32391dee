"""Going on where a run on many files stopped: what is up to date is left alone, all else is done."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers import COMMAND, DATA, SMALLER, condense, environment, snapshot
from many_files import SHORT, run
from rowsets import SPEED

from condense_cli.errors import ExitStatus
from condense_cli.rows.many_files import NAME, RECORD, FileRecord, add_entry, read_record


def test_what_is_up_to_date_is_left_alone(tree: Path, tmp_path: Path) -> None:
    run("in", "--out-dir", "out", cwd=tmp_path)
    before = snapshot(tmp_path)
    again = run("in", "--out-dir", "out", cwd=tmp_path)
    assert again.status == ExitStatus.DONE
    assert "5 files are up to date" in again.text
    assert snapshot(tmp_path) == before
    first = run("in", "-n", "--json", cwd=tmp_path).json
    told = run("in", "--out-dir", "out", "--json", cwd=tmp_path).json
    assert (told["files"]["up_to_date"], told["files"]["done"]) == (5, 0)
    for figures in ("formats", "rows", "messages", "tokens", "reading"):
        assert told[figures] == first[figures], "those of the run that wrote them"


def test_what_changed_is_done_again(tree: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("in", "--out-dir", "out", cwd=tmp_path)
    (tree / "a/session.jsonl").write_bytes(SHORT)
    (out / "b/session.jsonl").write_bytes(b"something else")
    (out / "short.jsonl").unlink()
    done = run("in", "--out-dir", "out", "--json", cwd=tmp_path)
    assert [each["status"] for each in done.json["results"] if each["status"] != "passed over"] == [
        "up to date",
        "unchanged",
        "unchanged",
        "done",
        "up to date",
    ]
    assert (out / "a/session.jsonl").read_bytes() == SHORT
    assert (out / "b/session.jsonl").read_bytes().startswith(b'{"role"')


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "flags", [("--keep", "last:9"), ("--target-tokens", "900"), ("-m", "gpt-4"), ("--slim",), ("--lossless-only",)]
)
def test_another_configuration_does_everything_again(tree: Path, tmp_path: Path, flags: tuple[str, ...]) -> None:
    run("in", "--out-dir", "out", cwd=tmp_path)
    assert run("in", "--out-dir", "out", *flags, "--json", cwd=tmp_path).json["files"]["up_to_date"] == 0
    single = condense("run", "-", *SPEED, *flags, stdin=DATA).stdout
    assert (tmp_path / "out/a/session.jsonl").read_bytes() == single


# Settings of the user decide as much as flags do; so does the leave to call a model.
@pytest.mark.parametrize(
    ("own", "flags"),
    [
        ("{providers: {truncation: {config: {max_tool_result_lines: 2}}}}", ()),
        ("{profiles: {mine: {api: anthropic, model: claude-opus-4-5, context_window: 9000}}}", ()),
        ("{}", ("--allow-calls",)),
        ("{}", ("--to", "anthropic")),
    ],
    ids=str,
)
def test_other_settings_of_the_user_do_everything_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, own: str, flags: tuple[str, ...]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    command = ("run", "in/a", "--out-dir", "out", "--provider", "truncation", "-j", "1", "--json")
    first = [condense(*command, cwd=tmp_path).json["files"]["up_to_date"] for _ in range(2)]
    (tmp_path / "condense").mkdir()
    (tmp_path / "condense/condense.yaml").write_text(own)
    assert [*first, condense(*command, *flags, cwd=tmp_path).json["files"]["up_to_date"]] == [0, 1, 0]


# Earlier versions of the program may have written something else from the same.
def test_what_another_version_wrote_is_done_again(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("condense_cli.cli.running.many.RECORD", RECORD - 1)
        run("in", "--out-dir", "out", cwd=tmp_path)
    assert run("in", "--out-dir", "out", "--json", cwd=tmp_path).json["files"]["up_to_date"] == 0


def test_a_record_that_is_cut_off_counts_as_far_as_it_goes(tree: Path, tmp_path: Path) -> None:
    run("in", "--out-dir", "out", cwd=tmp_path)
    record = tmp_path / "out" / NAME
    record.write_bytes(record.read_bytes()[:-10])
    known = read_record(tmp_path / "out")
    assert len(known) == 4
    told = run("in", "--out-dir", "out", "--json", cwd=tmp_path).json["files"]
    assert (told["up_to_date"], told["failed"]) == (4, 0)
    assert len(read_record(tmp_path / "out")) == 5


def test_a_name_need_not_be_utf_8(tree: Path, tmp_path: Path) -> None:
    (tree / "short.jsonl").rename(tree / os.fsdecode(b"\xff.jsonl"))
    for up_to_date in (0, 5):
        told = run("in", "--out-dir", "out", "--json", cwd=tmp_path)
        assert told.status == ExitStatus.DONE
        assert (told.json["files"]["up_to_date"], told.json["files"]["failed"]) == (up_to_date, 0)
    assert (tmp_path / "out" / os.fsdecode(b"\xff.jsonl")).exists()


def test_the_last_entry_of_a_file_counts(tmp_path: Path) -> None:
    for number in (1, 2):
        add_entry(tmp_path, FileRecord("a", str(number), ""))
    assert read_record(tmp_path)["a"].made_from == "2"


# Results of an earlier run are no input of the next.
def test_the_folder_of_results_may_lie_in_that_of_the_input(tree: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert run("in", "--out-dir", "in/small", cwd=tmp_path).status == ExitStatus.DONE
    assert not (tree / "small/small").exists()


@pytest.mark.parametrize("spelled", ["../in/small", "a/../small", "../other/small"])
def test_a_folder_of_results_is_known_however_it_is_spelled(tree: Path, tmp_path: Path, spelled: str) -> None:
    (tmp_path / "other").symlink_to(tree)
    for _ in range(2):
        assert run(".", "--out-dir", spelled, cwd=tree).status == ExitStatus.DONE
    assert (tree / "small/short.jsonl").exists()
    assert not (tree / "small/small").exists()


@pytest.mark.slow
def test_ctrl_c_leaves_whole_files_and_the_next_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(300):
        (tmp_path / f"in/{number:03}.jsonl").write_bytes(DATA)
    command = [*COMMAND, "run", "in", "--out-dir", "out", *SPEED, "-j", "2"]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        env=environment(),
        start_new_session=True,
    ) as process:
        while len(list((tmp_path / "out").glob("[0-9]*.jsonl"))) < 5:
            assert process.poll() is None
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr
        said = process.stderr.read().decode()
    assert process.returncode == ExitStatus.INTERRUPTED
    assert "of 300 files are done; the same command continues from there.\ncondense: interrupted.\n" in said
    assert "Traceback" not in said
    written = [path for path in (tmp_path / "out").iterdir() if path.name != NAME]
    assert 5 <= len(written) < 300
    assert all(path.read_bytes() == SMALLER for path in written)
    known = len(read_record(tmp_path / "out"))
    done = run("in", "--out-dir", "out", "--json", cwd=tmp_path)
    assert done.json["files"]["up_to_date"] == known > 0
    assert done.json["files"]["done"] == 300 - known
