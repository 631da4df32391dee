"""`condense run --html FILE`: where the page goes, beside what else, and where it makes no sense."""

import json
import re
from pathlib import Path

import pytest
from helpers import DATA, OPUS, SMALLER, condense, condense_process, session, unharmed
from real import PROJECT

from condense_cli.errors import ExitStatus


def page_in(folder: Path) -> str:
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("other", [(), ("-o", "small.jsonl"), ("--dry-run",), ("--json",), ("-q",)], ids=" ".join)
def test_a_page_is_written_beside_anything_else(other: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    done = condense("run", file.name, "-p", "speed", "--html", "page.html", *other, cwd=tmp_path)
    assert done.status == ExitStatus.DONE
    assert page_in(tmp_path).startswith("<!doctype html>")
    assert file.read_bytes() == DATA


def test_a_pipe_gets_the_transcript_alone(file: Path, tmp_path: Path) -> None:
    done = condense("run", file.name, "-p", "speed", "--html", "page.html", cwd=tmp_path)
    assert done.stdout == SMALLER
    assert "Page: page.html" in done.stderr


def test_where_the_transcript_goes_to_a_file_the_page_is_named_on_standard_output(file: Path, tmp_path: Path) -> None:
    done = condense("run", file.name, "-p", "speed", "--html", "page.html", "-o", "small.jsonl", cwd=tmp_path)
    assert done.text.endswith("Page: page.html\n")


def test_a_page_has_the_money_without_being_asked(file: Path, tmp_path: Path) -> None:
    condense("run", file.name, "-p", "speed", "--html", "page.html", "-n", *OPUS, cwd=tmp_path)
    assert "Pays for itself" in page_in(tmp_path)


def test_a_page_of_a_session_in_place_names_the_backup(file: Path, tmp_path: Path) -> None:
    condense("run", file.name, "-p", "speed", "--html", "page.html", "--in-place", cwd=tmp_path)
    assert file.read_bytes() == SMALLER
    assert '["backup",' in page_in(tmp_path)
    assert "1: line 30 of the listing" in page_in(tmp_path), "what was there"


def test_a_page_of_a_session_that_needs_nothing_says_why(file: Path, tmp_path: Path) -> None:
    condense("run", file.name, "--html", "page.html", "--if-needed", "--threshold", "90", *OPUS, "-n", cwd=tmp_path)
    assert "Nothing was done" in page_in(tmp_path)


def test_a_page_says_what_became_of_lines_without_being_asked(tmp_path: Path) -> None:
    file = PROJECT / "sample_transcripts" / "bugfix-session.jsonl"
    condense("run", file, "-p", "balanced", "--html", tmp_path / "page.html", "-n")
    assert '"why":"read again in message ' in page_in(tmp_path)


def test_an_older_page_is_replaced(file: Path, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    condense("run", file.name, "--html", "page.html", "-n", cwd=tmp_path)
    assert page_in(tmp_path) != "old"


@pytest.mark.parametrize("several", [("session.jsonl", "--out-dir", "out"), ("session.jsonl", "other.jsonl", "-n")])
def test_several_files_have_no_page(several: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_bytes(DATA)
    with unharmed(tmp_path):
        done = condense("run", *several, "--html", "page.html", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "--html works on one" in " ".join(done.message.split())


def test_rows_have_no_page(rows_file: Path, tmp_path: Path) -> None:
    with unharmed(tmp_path):
        done = condense("run", rows_file.name, "-n", "--html", "page.html", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "--html works on one transcript" in done.message


def test_a_page_wants_a_file(file: Path, tmp_path: Path) -> None:
    with unharmed(tmp_path):
        done = condense("run", file.name, "--html", "-", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "--html writes a file" in done.message


def test_a_configuration_is_not_overwritten_by_a_page(file: Path, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("preset: speed\n")
    with unharmed(tmp_path):
        done = condense("run", file.name, "-c", "own.yaml", "--html", "own.yaml", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "is a configuration file" in done.message


@pytest.mark.parametrize("preset", ["speed", "max"])
def test_the_same_run_writes_the_same_page(preset: str, file: Path, tmp_path: Path) -> None:
    pages = []
    for _ in range(2):
        condense("run", file.name, "-p", preset, "--html", "page.html", "-n", cwd=tmp_path)
        pages.append(page_in(tmp_path))
    assert pages[0] == pages[1]


def test_without_a_page_nothing_of_it_is_imported(file: Path) -> None:
    done = condense_process("run", file, "-q", "-n", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert "condense_cli.report.run.facts" in done.stderr
    assert "report.page" not in done.stderr


# Whoever gets the page must not read from it who made it, beyond what the report says.
def test_a_page_names_no_folder_but_the_one_that_was_named(file: Path, tmp_path: Path) -> None:
    condense("run", file.name, "--html", "page.html", "-n", cwd=tmp_path)
    assert str(tmp_path) not in page_in(tmp_path)
    assert json.dumps(session()[0]["content"]) in page_in(tmp_path)


def test_the_title_is_the_first_request(file: Path, tmp_path: Path) -> None:
    condense("run", file, "--html", tmp_path / "page.html", "-n")
    found = re.search("<title>(.*?)</title>", page_in(tmp_path))
    assert found is not None
    assert found[1].startswith("Please look around. (")
