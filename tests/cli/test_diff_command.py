"""`condense diff`: two transcripts side by side, or one and what a preset makes of it."""

import json
import re
from pathlib import Path

import pytest
import real
from documented import check_documented
from helpers import CUT, DATA, SMALLER, as_lines, condense, session, snapshot

from condense_cli.errors import ExitStatus


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_bytes(SMALLER)
    return path


def test_diff_shows_what_was_cut(file: Path, small: Path) -> None:
    done = condense("diff", file, small)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert [int(number) for number in re.findall(r"^message (\d+) +cut", done.text, re.MULTILINE)] == [
        2,
        4,
        6,
        8,
        10,
        12,
    ]
    assert re.search(r"^ *- 1: line 4 of the listing *$", done.text, re.MULTILINE)
    assert re.search(r"^ *\+ \[… 37 lines #\d{6}\] *$", done.text, re.MULTILINE)
    assert "7: line" not in done.text, "a block that stayed is no difference"


def test_diff_with_a_preset_is_diff_with_its_result(file: Path, small: Path) -> None:
    """`diff A --preset P` and `diff A B` say the same where B is what P makes of A; only the run knows its reasons."""
    reason = "old tool result: 3 lines or 1,500 characters of it stay"
    shown = condense("diff", file, "--preset", "speed").text
    assert shown.replace(f"    ({reason})\n", "") == condense("diff", file, small).text != shown
    report = condense("diff", file, "--preset", "speed", "--json").json
    for block in report["blocks"]:
        assert block["reason"] == reason
        block["reason"] = ""
    assert report == condense("diff", file, small, "--json").json


def test_diff_stat_is_one_line(file: Path, small: Path) -> None:
    done = condense("diff", file, small, "--stat", env={"COLUMNS": "200"})
    assert re.fullmatch(
        r"[\d,]+ → [\d,]+ tokens \(\+?\d+\.\d% saved, estimated\) +6 of 18 messages differ; blocks: 6 cut\n", done.text
    )


@pytest.mark.slow
@pytest.mark.parametrize(("model", "is_exact"), [("gpt-4o", True), ("claude-sonnet-4-5", False)])
def test_diff_says_whether_its_counts_are_exact(tmp_path: Path, model: str, is_exact: bool) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(real.SESSION.read_bytes().replace(b"claude-sonnet-4-5-20250929", model.encode()))
    for other in (("--preset", "speed"), (path,)):
        assert ("estimated" in condense("diff", path, *other, "--stat").text) is not is_exact
        assert condense("diff", path, *other, "--json").json["tokens"]["exact"] is is_exact


def test_diff_json_has_the_documented_shape(file: Path, small: Path) -> None:
    full = condense("diff", file, small, "--json").json
    check_documented(full, "diff")
    assert full["version"] == 2
    assert full["counts"]["cut"] == len(full["blocks"]) == full["messages_changed"] == len(CUT)
    gone = [line for entry in full["blocks"][0]["lines"] if entry["sign"] == "-" for line in entry["lines"]]
    assert gone == CUT[0].split("\n")[3:]
    brief = condense("diff", file, small, "--json", "--stat").json
    assert brief == {
        **full,
        "blocks": [{k: v for k, v in b.items() if k not in ("lines", "stayed")} for b in full["blocks"]],
    }


def test_diff_finds_nothing_between_equal_transcripts(file: Path, tmp_path: Path) -> None:
    (tmp_path / "array.json").write_text(json.dumps(session(), indent=2))
    for other in (file, tmp_path / "array.json"):
        done = condense("diff", file, other)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        assert done.text.startswith("No difference")


def test_no_difference_in_a_single_message(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text('[{"role": "user", "content": "Hi."}]')
    assert condense("diff", "one.json", "one.json", cwd=tmp_path).text.startswith("No difference in 1 message, ")


def test_diff_shows_added_and_removed_messages(file: Path, tmp_path: Path) -> None:
    (tmp_path / "more.jsonl").write_bytes(DATA + as_lines([{"role": "user", "content": "One more thing."}]))
    assert re.search(r"^message 18 +added", condense("diff", file, tmp_path / "more.jsonl").text, re.MULTILINE)
    assert re.search(r"^message 18 +removed", condense("diff", tmp_path / "more.jsonl", file).text, re.MULTILINE)


def test_diff_reads_one_of_the_two_from_standard_input(file: Path, small: Path) -> None:
    expected = condense("diff", file, small).text
    assert condense("diff", file, "-", stdin=SMALLER).text == expected
    assert condense("diff", "-", small, stdin=DATA).text == expected
    assert condense("diff", "-", "-").status == ExitStatus.USAGE


def test_diff_needs_exactly_two_things_to_compare(file: Path, small: Path) -> None:
    for arguments in ((file,), (file, small, "--preset", "speed")):
        done = condense("diff", *arguments)
        assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
        assert "--preset" in done.message


def test_diff_shows_few_lines_unless_all_are_asked_for(file: Path) -> None:
    few = condense("diff", file, "-p", "speed").text
    assert "1: line 6 of the listing" in few
    assert "1: line 7 of the listing" not in few
    assert "1: line 40 of the listing" in condense("diff", file, "-p", "speed", "--all-lines").text


def test_diff_changes_nothing(file: Path, small: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    condense("diff", file, small, cwd=tmp_path)
    condense("diff", file, "--preset", "speed", "--json", cwd=tmp_path)
    assert snapshot(tmp_path) == before
