"""`condense run --if-needed`, the fallback that a configuration asks for, and what is logged of a run."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import real
from build import conversation
from helpers import CUT, Outcome, as_lines, condense, condense_on_terminal, condense_process, condensed, session

from condense_cli.errors import ExitStatus
from condense_cli.report.run.log import RunLog

DATA = as_lines(session())
FULL = ("--if-needed", "--context-window", "1000")
ROOMY = ("--if-needed", "--context-window", "1000000")


def logged(done: Outcome) -> dict[str, Any]:
    """The only thing on standard error: one line, a JSON object."""
    (line,) = done.stderr.splitlines()
    value = json.loads(line)
    assert isinstance(value, dict)
    return value


@pytest.mark.sampled(1)
@pytest.mark.parametrize("data", [DATA, DATA.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + DATA + b"\n\n"])
def test_below_the_threshold_a_pipe_passes_the_bytes_on(data: bytes) -> None:
    done = condense_process("run", "-", "-p", "speed", "--slim", *ROOMY, stdin=data)
    assert (done.status, done.stdout) == (ExitStatus.DONE, data)
    assert done.stderr.startswith("condense: Nothing was done: ")
    assert "below the threshold of 100%" in done.stderr


def test_nothing_is_slimmed_either() -> None:
    path = real.SESSION
    assert condense_process("run", path, "--slim", *ROOMY).stdout == path.read_bytes()


def test_above_it_the_transcript_is_condensed() -> None:
    done = condense_process("run", "-", "-p", "speed", *FULL, stdin=DATA)
    assert done.stdout == condensed(DATA, CUT)


def test_a_file_is_written_all_the_same_and_no_other(tmp_path: Path) -> None:
    path, output = tmp_path / "session.jsonl", tmp_path / "out.jsonl"
    path.write_bytes(DATA)
    assert condense_process("run", path, "-o", output, *ROOMY).status == ExitStatus.DONE
    assert output.read_bytes() == DATA
    done = condense_process("run", path, "--in-place", "--force", *ROOMY)
    assert done.status == ExitStatus.DONE
    assert path.read_bytes() == DATA
    assert sorted(tmp_path.iterdir()) == [output, path]


def test_a_target_that_nobody_worked_for_is_not_missed() -> None:
    done = condense_process("run", "-", "--target-tokens", "5", "--strict", *ROOMY, stdin=DATA)
    assert (done.status, done.stdout) == (ExitStatus.DONE, DATA)


@pytest.mark.slow
def test_a_token_count_decides_where_the_window_does_not() -> None:
    for window in ((), ("--context-window", "1M")):
        done = condense_process("run", "-", "-p", "speed", "--if-needed", "--above", "10", *window, stdin=DATA)
        assert done.stdout == condensed(DATA, CUT)
        done = condense_process("run", "-", "-p", "speed", "--if-needed", "--above", "150k", *window, stdin=DATA)
        assert (done.status, done.stdout) == (ExitStatus.DONE, DATA)
        assert "150,000 tokens" in done.stderr
    alone = condense_process("run", "-", "--above", "150k", stdin=DATA)
    assert (alone.status, alone.stdout) == (ExitStatus.USAGE, b"")
    assert "--above needs --if-needed." in alone.stderr


def test_an_unknown_window_writes_nothing() -> None:
    done = condense_process("run", "-", "--if-needed", stdin=DATA)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "--context-window" in done.stderr


def test_a_threshold_alone_is_refused() -> None:
    """Who gives one expects a run that waits for it."""
    done = condense_process("run", "-", "--threshold", "80", stdin=DATA)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "--threshold needs --if-needed." in done.message


def test_the_report_says_that_nothing_was_needed() -> None:
    done = condense_process("run", "-", "--json", *ROOMY, stdin=DATA)
    report = json.loads(done.stdout)
    assert [(entry["id"], entry["status"]) for entry in report["passes"]] == [("check", "skipped")]
    assert report["warnings"][0].startswith("Nothing was done: ")


@pytest.mark.slow
def test_check_and_run_agree_on_thresholds() -> None:
    for threshold, is_needed in (("100", False), ("5", True)):
        flags = ("--context-window", "60000", "--threshold", threshold)
        checked = condense_process("check", "-", "-q", *flags, stdin=DATA)
        ran = condense_process("run", "-", "-p", "speed", "--if-needed", *flags, stdin=DATA)
        assert (checked.status == ExitStatus.SHOULD_CONDENSE) is is_needed
        assert (ran.stdout != DATA) is is_needed


def without_a_key(folder: Path, *flags: str, fallback: str = "sliding_window") -> Outcome:
    """A run whose only summary fails: the profile's key is not set."""
    (folder / "mine.yaml").write_text(f"provider: native\nfallback: {fallback}\n")
    path = folder / "session.jsonl"
    path.write_bytes(as_lines(conversation(12)))
    return condense_process(
        "run", path, "-c", folder / "mine.yaml", "--profile", "gpt-4o-mini", *flags, env={"OPENAI_API_KEY": ""}
    )


def test_a_failed_summary_over_the_limit_drops_the_older_half(tmp_path: Path) -> None:
    done = without_a_key(tmp_path, "--context-window", "10000", "--log-json")
    log = logged(done)
    assert done.status == ExitStatus.CALLS_FAILED == log["status"]
    assert log["fallback"] == "sliding_window"
    assert any("are lost from this transcript" in warning for warning in log["warnings"])
    assert 0 < len(done.stdout.splitlines()) < 26


@pytest.mark.slow
@pytest.mark.parametrize("flags", [("--context-window", "1000000"), ("--context-window", "10000", "--dry-run")])
def test_it_drops_nothing_otherwise(tmp_path: Path, flags: tuple[str, ...]) -> None:
    done = without_a_key(tmp_path, "--json", *flags)
    report = json.loads(done.stdout)
    is_planned = "--dry-run" in flags  # The summary that it would ask for is there in the report.
    assert (report["messages"]["before"] > report["messages"]["after"]) is is_planned
    assert "sliding-window" not in {entry["id"] for entry in report["passes"]}


def test_it_does_not_run_where_nobody_asked_for_it(tmp_path: Path) -> None:
    done = without_a_key(tmp_path, "--context-window", "10000", fallback="none")
    assert len(done.stdout.splitlines()) == 26


def test_the_log_is_one_line_of_json_in_place_of_messages() -> None:
    done = condense_process("run", "-", "-p", "speed", "--log-json", stdin=DATA)
    log = logged(done)
    assert set(log) == set(RunLog.__struct_fields__)
    assert msgspec.convert(log, RunLog).version == 1
    assert log["tokens_after"] < log["tokens_before"]
    assert (log["provider"], log["configuration"], log["fallback"]) == ("smart", "speed", None)
    assert log["if_needed"] is False
    assert (log["custom_prompt"], log["dedicated_profile"], log["calls"], log["cost"]) == (False, False, 0, 0)
    assert datetime.fromisoformat(log["time"]).utcoffset() is not None
    assert done.stdout == condensed(DATA, CUT)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("flags", [("-o", "out.jsonl"), ("--in-place", "--force"), ("--new-session",), ()])
@pytest.mark.parametrize("more", [(), ROOMY, ("-v",)])
def test_in_a_script_too_it_is_all_that_standard_error_holds(
    tmp_path: Path, flags: tuple[str, ...], more: tuple[str, ...]
) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(real.SESSION.read_bytes())
    done = condense("run", path, "-p", "speed", "--log-json", *flags, *more, cwd=tmp_path)
    assert logged(done)["status"] == ExitStatus.DONE == done.status


def test_the_log_names_a_prompt_and_a_profile(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("provider: native\nnative: {custom_prompt: Briefly., api_profile: offline}\n")
    log = logged(condense_process("run", "-", "-c", tmp_path / "mine.yaml", "-q", "--log-json", stdin=DATA))
    assert (log["custom_prompt"], log["dedicated_profile"]) == (True, True)


def test_the_log_of_a_run_that_was_not_needed() -> None:
    log = logged(condense_process("run", "-", "--log-json", *ROOMY, stdin=DATA))
    assert (log["provider"], log["tokens_before"], log["status"]) == (None, log["tokens_after"], 0)
    assert log["if_needed"] is True


def test_verbose_says_it_in_plain_words(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(DATA)
    done = condense_on_terminal("run", path, "-p", "speed", "-v", columns=200)
    assert "provider smart 1.0.0 took " in done.stdout.decode()


def test_nothing_is_kept_or_logged_unless_asked(tmp_path: Path) -> None:
    done = condense_process("run", "-", "-p", "speed", stdin=DATA, cwd=tmp_path)
    assert "took" not in done.stderr
    assert list(tmp_path.iterdir()) == []
