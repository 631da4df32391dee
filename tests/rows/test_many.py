"""Many files in one run: a folder of results, one failing file among others, and going on where it stopped."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from helpers import (
    COMMAND,
    DATA,
    SMALLER,
    Outcome,
    as_lines,
    condense,
    condense_on_terminal,
    environment,
    session,
    snapshot,
)
from many_files import SHORT, run
from rowsets import LONG, SPEED, rows

from condense_cli.errors import ExitStatus
from condense_cli.rows.many_files import NAME, RECORD, FileRecord, add_entry, read_record


def statuses(done: Outcome) -> dict[str, str]:
    return {Path(each["input"]).name: each["status"] for each in done.json["results"]}


def test_a_folder_is_condensed_into_another(tree: Path, tmp_path: Path) -> None:
    done = run("in", "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.DONE
    out = tmp_path / "out"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        NAME,
        "a/session.jsonl",
        "b/deep/rows.jsonl",
        "b/session.jsonl",
        "packed.jsonl.gz",
        "short.jsonl",
    ]
    assert (out / "a/session.jsonl").read_bytes() == SMALLER
    assert gzip.decompress((out / "packed.jsonl.gz").read_bytes()) == SMALLER
    assert (out / "short.jsonl").read_bytes() == SHORT
    single = condense("run", "-", *SPEED, stdin=(tree / "b/deep/rows.jsonl").read_bytes()).stdout
    assert (out / "b/deep/rows.jsonl").read_bytes() == single
    assert "Skipped 1 other file, not a transcript that can be written (package.json)." in done.text


def test_files_that_are_passed_over_are_named_up_to_three(tree: Path, tmp_path: Path) -> None:
    for number in range(4):
        (tree / f"package{number}.json").write_bytes(b"{}")
    said = run("in", "--out-dir", "out", cwd=tmp_path).text
    assert "(package.json, package0.json, package1.json and 2 more)." in said


def test_a_dry_run_says_what_would_be_done(tree: Path, tmp_path: Path) -> None:
    said = run("in", "--dry-run", cwd=tmp_path).text
    assert re.search(r"^a/session\.jsonl .* would change$", said, re.MULTILINE)
    assert not re.search(r" done$", said, re.MULTILINE)
    assert re.search(r"^5 of 5 files: [\d,]+ → [\d,]+ tokens \(.*, estimated\)$", said, re.MULTILINE)


def test_trajectories_in_folders_are_found(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/run.traj").write_bytes(SHORT)
    assert run("in", "--out-dir", "out", cwd=tmp_path).status == ExitStatus.DONE
    assert (tmp_path / "out/run.traj").read_bytes() == SHORT


def test_the_table_fits_and_adds_up(tree: Path, tmp_path: Path) -> None:
    long = tree / ("a-very-long-name-of-a-folder-" * 4)
    long.mkdir()
    (long / "session.jsonl").write_bytes(DATA)
    done = condense_on_terminal("run", str(tree), "--dry-run", *SPEED, "-j", "1")
    table = [line for line in done.plain.splitlines() if "%" in line]
    assert len(table) == 7
    assert max(map(len, done.plain.splitlines())) <= 80
    assert table[-1].startswith("6 of 6 files: ")
    told = condense("run", tree, "--dry-run", *SPEED, "-j", "1", "--json").json
    assert told["tokens"]["before"] == sum(each["tokens"]["before"] for each in told["results"])
    assert f"{told['tokens']['before']:,} → {told['tokens']['after']:,} tokens" in table[-1]


# Files are rows of another kind: what is told of rows is told of them, with what reading all of them costs.
def test_files_have_the_figures_of_rows(tree: Path, tmp_path: Path) -> None:
    told = run("in", "--dry-run", "-m", "gpt-5.1", "--json", cwd=tmp_path).json
    rows = json.loads(condense("run", tree / "b/deep/rows.jsonl", *SPEED, "-m", "gpt-5.1", "--json").stdout)
    assert set(rows) | {"files", "results"} == set(told)
    assert set(rows["tokens"]) == set(told["tokens"])
    assert (told["rows"], told["input"]) == (rows["rows"], str(tree))
    assert told["formats"] == {"anthropic": 4, **rows["formats"]}
    said = run("in", "--dry-run", "-m", "gpt-5.1", "--cost", "-v", cwd=tmp_path).text
    assert re.search(r"^Reading every file once with gpt-5\.1: \$[\d.]+ → \$[\d.]+$", said, re.MULTILINE)
    assert re.search(r"files a second$", said, re.MULTILINE)


def test_the_report_for_programs(tree: Path, tmp_path: Path) -> None:
    done = run("in", "--out-dir", "out", "--json", "--report", "report.json", cwd=tmp_path)
    told = done.json
    assert json.loads((tmp_path / "report.json").read_text()) == told
    assert (told["version"], told["output"], told["configuration"]) == (2, "out", "speed")
    assert statuses(done) == {
        "session.jsonl": "done",
        "rows.jsonl": "done",
        "packed.jsonl.gz": "done",
        "short.jsonl": "unchanged",
        "package.json": "passed over",
    }
    by_name = {Path(each["input"]).name: each for each in told["results"]}
    assert (by_name["rows.jsonl"]["format"], by_name["rows.jsonl"]["rows"]) == ("rows", 2)
    assert by_name["session.jsonl"]["format"] == "anthropic"
    assert told["files"]["total"] == 6


# Names that are the same in several folders stay apart: the tree below the folder that all have in common is kept.
def test_files_of_one_name_get_paths_of_their_own(tree: Path, tmp_path: Path) -> None:
    run("in/a/session.jsonl", "in/b/session.jsonl", "--out-dir", "out", cwd=tmp_path)
    assert (tmp_path / "out/a/session.jsonl").exists()
    assert (tmp_path / "out/b/session.jsonl").exists()
    run("in/a/session.jsonl", "--out-dir", "one", cwd=tmp_path)
    assert (tmp_path / "one/session.jsonl").exists()


def test_a_file_that_is_named_twice_is_worked_on_once(tree: Path, tmp_path: Path) -> None:
    (tree / "link.jsonl").symlink_to(tree / "short.jsonl")
    done = run("in/short.jsonl", "in/link.jsonl", "in", "in/a/../short.jsonl", "-n", "--json", cwd=tmp_path)
    assert len(done.json["results"]) == 6


def test_one_failing_file_does_not_stop_the_others(tree: Path, tmp_path: Path) -> None:
    (tree / "a/broken.jsonl").write_bytes(DATA[:-20])
    done = run("in", "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert "a/broken.jsonl: 18:" in done.text
    assert "5 of 6" in done.text
    assert (tmp_path / "out/b/session.jsonl").exists()
    assert not (tmp_path / "out/a/broken.jsonl").exists()


# What was named was meant; what lies in a folder may be anything.
def test_a_named_file_that_is_no_transcript_fails(tree: Path, tmp_path: Path) -> None:
    done = run("in/package.json", "in/missing.jsonl", "in/short.jsonl", "--out-dir", "out", "--json", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert statuses(done) == {"package.json": "failed", "missing.jsonl": "failed", "short.jsonl": "unchanged"}
    assert all(each["why"] for each in done.json["results"] if each["status"] == "failed")


def test_a_file_that_is_named_beside_its_folder_is_no_guess(tree: Path, tmp_path: Path) -> None:
    for arguments in (("in", "in/package.json"), ("in/package.json", "in")):
        assert statuses(run(*arguments, "--dry-run", "--json", cwd=tmp_path))["package.json"] == "failed"


def test_written_is_said_where_something_was(tree: Path, tmp_path: Path) -> None:
    assert "Written" not in run("in/package.json", "in/missing.jsonl", "--out-dir", "out", cwd=tmp_path).text
    assert "Written: out" in run("in/package.json", "in/short.jsonl", "--out-dir", "out", cwd=tmp_path).text


def test_a_file_that_cannot_be_written_fails_alone(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "out/a/session.jsonl").mkdir(parents=True)
    done = run("in", "--out-dir", "out", "--json", cwd=tmp_path)
    assert done.status == ExitStatus.FAILED
    assert [each["exit_status"] for each in done.json["results"] if each["status"] == "failed"] == [1]
    assert (tmp_path / "out/b/session.jsonl").exists()


def test_bad_rows_show_in_the_table(tree: Path, tmp_path: Path) -> None:
    (tree / "b/deep/rows.jsonl").write_bytes(as_lines(rows(LONG, 1)) + b"{broken\n")
    done = run("in", "--out-dir", "out", cwd=tmp_path)
    assert done.status == ExitStatus.INPUT
    assert "* b/deep/rows.jsonl: 1 bad row; line 3:" in done.text
    [problem] = run("in", "--dry-run", "--json", cwd=tmp_path).json["problems"]
    assert (problem["file"], problem["line"]) == (str(tree / "b/deep/rows.jsonl"), 3)
    assert (tmp_path / "out/b/deep/rows.jsonl").read_bytes().endswith(b"{broken\n")
    assert run("in", "--out-dir", "out", "--lenient", cwd=tmp_path).status == ExitStatus.DONE


# In a cron job nothing else would tell why it failed.
def test_what_failed_is_said_where_nothing_else_is(tree: Path, tmp_path: Path) -> None:
    (tree / "b/deep/rows.jsonl").write_bytes(as_lines(rows(LONG, 1)) + b"{broken\n")
    done = run("in", "in/package.json", "--out-dir", "out", "-q", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
    said = re.findall("^condense: (.*?): ", done.stderr, re.MULTILINE)
    assert sorted(said) == ["b/deep/rows.jsonl", "package.json"]
    assert run("in/short.jsonl", "--out-dir", "out", "-q", cwd=tmp_path).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("in",), "in is a folder. Say where to write."),
        (("in/short.jsonl", "in/package.json"), "2 transcripts. Say where to write."),
        (("in", "--out-dir", "out", "-o", "x"), "-o and --out-dir cannot be used together."),
        (("in/short.jsonl", "--out-dir", "out", "-o", "x"), "-o and --out-dir cannot be used together."),
        (("--session", "latest", "--out-dir", "out"), "--session and --out-dir cannot be used together."),
        (("in", "-o", "x"), "in is a folder, and -o works on one transcript.\n--out-dir DIR"),
        (("in", "--log-json", "--dry-run"), "in is a folder, and --log-json works on one transcript.\nLeave --log"),
        (("in", "--out-dir", "out", "--in-place"), "--in-place and --out-dir cannot be used together."),
        (("in", "--out-dir", "out", "--new-session"), "--new-session and --out-dir cannot be used together."),
        (("in", "--out-dir", "out", "--explain"), "--explain and --out-dir cannot be used together."),
        (("in", "--out-dir", "out", "--log-json"), "--log-json and --out-dir cannot be used together."),
        (("in", "--out-dir", "out", "--strict"), "--strict needs a target."),
        (("-", "in", "--out-dir", "out"), "- reads one transcript"),
        (("in", "--out-dir", "in"), "would overwrite itself"),
        (("in/.hidden/..", "--out-dir", "in"), "would overwrite itself"),
        (("--out-dir", "out"), "No transcript given"),
        (("empty", "--out-dir", "out"), "No files to condense"),
        (("in", "--out-dir", "in/short.jsonl"), "Cannot make the folder"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_makes_no_sense_is_refused(tree: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    (tmp_path / "empty").mkdir()
    before = snapshot(tmp_path)
    done = run(*arguments, cwd=tmp_path)
    assert done.status == (ExitStatus.FAILED if said.startswith("Cannot") else ExitStatus.USAGE)
    assert said in done.message
    assert snapshot(tmp_path) == before


# Nor is any input written over, by a link in the folder of the results or by its path.
@pytest.mark.parametrize(
    "arguments", [("in/a", "in/b", "--out-dir", "out"), ("in", "in/a/in/short.jsonl", "--out-dir", "in/a/in")]
)
def test_no_input_is_written_over(tree: Path, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    (tmp_path / "out/a").mkdir(parents=True)
    (tmp_path / "out/a/session.jsonl").symlink_to(tree / "b/session.jsonl")
    (tree / "a/in").mkdir()
    (tree / "a/in/short.jsonl").write_bytes(DATA)
    before = snapshot(tmp_path)
    done = run(*arguments, cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert re.search(r"would overwrite .*, which is an input too\.", done.message)
    assert snapshot(tmp_path) == before


def test_files_on_several_drives_are_refused(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_common_path(paths: object) -> str:
        raise ValueError("Paths don't have the same drive")

    monkeypatch.setattr(os.path, "commonpath", no_common_path)
    done = run("in/a", "in/b", "--out-dir", "out", cwd=tmp_path)
    assert (done.status, "on several drives" in done.message) == (ExitStatus.USAGE, True)


@pytest.mark.slow
def test_several_processes_do_the_same(tree: Path, tmp_path: Path) -> None:
    (tree / "a/broken.jsonl").write_bytes(DATA[:-20])
    reports = []
    for jobs in ("1", "2"):
        done = condense("run", "in", "--out-dir", jobs, *SPEED, "-j", jobs, "--json", cwd=tmp_path)
        assert done.status == ExitStatus.INPUT
        reports.append([{**each, "output": None} for each in done.json["results"]])
    assert reports[0] == reports[1]
    one, two = ({path: entry[3] for path, entry in snapshot(tmp_path / jobs).items()} for jobs in ("1", "2"))
    assert one == two


def test_a_ray_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        raise Exception("The current node timed out during startup.")  # The class that Ray raises.

    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, init=init))
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(as_lines(session()))
    done = condense("run", tmp_path, "--out-dir", tmp_path / "out", "--engine", "ray")
    assert done.status == ExitStatus.FAILED
    assert "Ray did not start (The current node timed out" in done.message


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
