"""Models that write summaries for rows, and for many files: one budget and one cache for all of them."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import model_server as played
import pytest
from build import one_batch
from helpers import Outcome, as_lines, condense, session
from model_server import ModelServer, model_server
from rowsets import LONG, rows

from condense_cli.errors import ExitStatus

KEYS: Final = {"OPENAI_API_KEY": "sk-test"}
BY_MODEL: Final = "A short summary of 1.py and 2.py."
CALL: Final = Decimal("0.0012")
"""Dollars of a call that the server answers, at the price of the profile."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "condense").mkdir()
    (tmp_path / "batch.json").write_text(json.dumps({"passes": [one_batch(keep_first=1)]}))
    data = as_lines(rows(LONG, LONG))
    first, second = data.splitlines(keepends=True)
    (tmp_path / "rows.jsonl").write_bytes(first + second.replace(b"listing", b"catalogue"))
    return tmp_path


def run(folder: Path, server: ModelServer, *arguments: str) -> Outcome:
    address = {"api": "openai", "base_url": f"{server.url}/v1", "model": "small", "context_window": 100_000}
    profile = {**address, "max_retries": 1, "price": {"input": 1, "output": 10}}
    (folder / "condense" / "condense.yaml").write_text(f"profiles: {json.dumps({'mine': profile})}\n")
    done = condense(
        "run", *arguments, "-c", "batch.json", "--profile", "mine", "-j", "2", "--json", env=KEYS, cwd=folder
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def spent(told: Any) -> Decimal:
    return Decimal(str(told["spent"]))


def test_a_model_summarizes_each_row(folder: Path) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        done = run(folder, server, "rows.jsonl", "-o", "small.jsonl")
    assert done.status == ExitStatus.DONE
    [used] = done.json["summaries"]
    assert (used["profile"], used["written"], used["refused"]) == ("mine", 2, 0)
    assert spent(done.json) == CALL * server.calls > 0
    small = (folder / "small.jsonl").read_text().splitlines()
    assert all(BY_MODEL in line for line in small)


# What one row spent is not there for the next.
def test_the_budget_holds_for_all_rows_together(folder: Path) -> None:
    dear = {"prompt_tokens": 90_000, "completion_tokens": 10}
    with model_server(played.good(BY_MODEL, usage=dear)) as server:
        done = run(folder, server, "rows.jsonl", "-o", "small.jsonl", "--max-cost", "0.10")
    assert done.status == ExitStatus.CALLS_FAILED
    [used] = done.json["summaries"]
    assert used["written"] == 1
    assert spent(done.json) == Decimal("0.0901")
    assert [BY_MODEL in line for line in (folder / "small.jsonl").read_text().splitlines()] == [True, False]
    assert any("Not summarized" in warning for warning in done.json["warnings"])


# In several processes or one, and with a limit that is too small as well.
@pytest.mark.parametrize("files", [("rows.jsonl", "-o", "small.jsonl"), ("in", "--out-dir", "out")])
def test_a_dry_run_names_a_limit_that_is_enough_for_all(folder: Path, files: tuple[str, ...]) -> None:
    (folder / "rows.jsonl").write_bytes(as_lines(rows(*[LONG] * 9)))
    (folder / "in").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (folder / "in" / name).write_bytes(as_lines(session()).replace(b"listing", name[:1].encode() * 7))

    def named(*flags: str) -> str:
        warnings = run(folder, server, *files, "--no-cache", *flags).json["warnings"]
        (said,) = (each for each in warnings if "is enough for all of them" in each)
        return str(said).partition("--max-cost ")[2].partition(" ")[0]

    with model_server(played.good(BY_MODEL)) as server:
        enough = named("-n")
        assert named("-n", "--max-cost", "0.001") == enough
        assert server.calls == 0
        done = run(folder, server, *files, "--no-cache", "--max-cost", enough)
        assert server.calls > 1
    assert (done.status, done.json["warnings"]) == (ExitStatus.DONE, [])


def test_many_files_share_budget_and_summarizer(folder: Path) -> None:
    (folder / "session.jsonl").write_bytes(as_lines(session()))
    files = ("session.jsonl", "rows.jsonl", "--out-dir", "out")
    with model_server(played.good(BY_MODEL)) as server:
        done = run(folder, server, *files)
        assert done.status == ExitStatus.DONE
        assert spent(done.json) == CALL * server.calls > 0
        calls = server.calls
        again = run(folder, server, *files)
        assert (again.json["files"]["up_to_date"], server.calls) == (2, calls)


def test_a_failing_model_shows_in_the_status_of_each_file(folder: Path) -> None:
    (folder / "session.jsonl").write_bytes(as_lines(session()))
    with model_server(played.status(400)) as server:
        done = run(folder, server, "session.jsonl", "rows.jsonl", "--out-dir", "out")
    assert done.status == ExitStatus.CALLS_FAILED
    assert [each["exit_status"] for each in done.json["results"]] == [5, 5]
    assert (folder / "out/session.jsonl").read_bytes() == (folder / "session.jsonl").read_bytes()
    with model_server(played.good(BY_MODEL)) as server:
        again = run(folder, server, "session.jsonl", "rows.jsonl", "--out-dir", "out")
    assert again.json["files"]["done"] == 2, "what fell short is not up to date"


# Neither a file that cannot be read nor one that is up to date has anything to tell of the calls before it.
def test_what_was_spent_is_told_whatever_comes_last(folder: Path) -> None:
    (folder / "in").mkdir()
    (folder / "in/a.jsonl").write_bytes(as_lines(session()))
    (folder / "in/z.jsonl").write_text("no transcript\n")
    with model_server(played.good(BY_MODEL)) as server:
        done = run(folder, server, "in", "--out-dir", "out")
        assert [each["status"] for each in done.json["results"]] == ["done", "failed"]
        assert spent(done.json) == CALL * server.calls > 0


@pytest.mark.slow
@pytest.mark.usefixtures("masking")
@pytest.mark.parametrize("files", ["rows.jsonl -o small.jsonl", "in --out-dir out"])
def test_how_many_secrets_were_masked_is_told(folder: Path, files: str) -> None:
    (folder / "in").mkdir()
    secret = b"password=hunter2hunter2"
    (folder / "in/a.jsonl").write_bytes(as_lines(session()).replace(b"listing", secret))
    (folder / "rows.jsonl").write_bytes((folder / "rows.jsonl").read_bytes().replace(b"listing", secret))
    with model_server(played.good(BY_MODEL)) as server:
        done = run(folder, server, *files.split(), "--redact")
    assert "1 secret was masked (--redact)." in done.json["warnings"]


# What is known of the server after one row is known for all that follow.
@pytest.mark.slow
@pytest.mark.parametrize(("status", "calls"), [(401, 1), (400, 5)])
def test_a_server_that_fails_is_left_alone_for_all_rows(folder: Path, status: int, calls: int) -> None:
    (folder / "rows.jsonl").write_bytes(as_lines(rows(*[LONG] * 12)))
    with model_server(played.status(status)) as server:
        done = run(folder, server, "rows.jsonl", "-o", "small.jsonl")
    assert done.status == ExitStatus.CALLS_FAILED
    assert done.json["summaries"][0]["refused"] == 12
    assert server.calls == calls
