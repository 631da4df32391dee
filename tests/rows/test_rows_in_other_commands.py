"""The other commands on sets of rows: restore, validate, inspect, estimate, and those that take one row."""

from pathlib import Path

import pytest
from helpers import as_lines, condense, listing
from rowsets import BROKEN, DATA, LONG, SPEED, row

from condense_cli.errors import ExitStatus
from condense_cli.storage.files import unpacked

pytestmark = pytest.mark.usefixtures("anywhere")


def repeating() -> bytes:
    """Rows in which the same file is read twice."""
    found = []
    for number in range(3):
        each = row(number, 2)
        for message in each["messages"]:
            if message["role"] == "tool":
                message["content"] = listing(number)
        found.append(each)
    return as_lines(found, ensure_ascii=True)


def test_restore_gives_the_rows_back(tmp_path: Path) -> None:
    data, small, whole = repeating(), tmp_path / "small.jsonl.zst", tmp_path / "whole.jsonl"
    assert condense("run", "-", "--lossless-only", "-o", small, stdin=data).status == ExitStatus.DONE
    assert unpacked(small.read_bytes(), "") != data
    done = condense("restore", small, "-o", whole)
    assert done.status == ExitStatus.DONE
    assert whole.read_bytes() == data
    assert "3 rows, 3 restored." in done.text
    assert "3 references restored." in done.text
    assert condense("restore", "-", stdin=small.read_bytes()).stdout == data
    told = condense("restore", small, "--json").json
    assert (told["rows"], told["resolved"]) == ({"total": 3, "changed": 3, "bad": 0}, 3)
    assert condense("restore", "-", stdin=data + BROKEN).status == ExitStatus.INPUT


def test_validate_names_the_rows_that_break_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(DATA)
    done = condense("validate", path)
    assert (done.status, done.text) == (ExitStatus.DONE, "valid: 3 rows, 40 messages\n")
    orphan = {"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "no", "content": "y"}]}
    path.write_bytes(DATA + as_lines([orphan]))
    done = condense("validate", path)
    assert done.status == ExitStatus.INPUT
    assert f"{path}:4: #1:" in done.text
    told = condense("validate", path, "--json").json
    assert (told["valid"], told["rows"]) == (False, {"total": 4, "faulty": 1, "bad": 0})
    assert told["faults"][0]["line"] == 4
    path.write_bytes(DATA + BROKEN)
    assert condense("validate", path).status == ExitStatus.INPUT
    assert condense("validate", path, "--lenient").status == ExitStatus.DONE


def test_inspect_says_which_counts_are_estimates() -> None:
    assert "estimates for all others" in condense("inspect", "-", stdin=DATA).text


def test_inspect_adds_the_rows_up() -> None:
    told = condense("inspect", "-", "--json", stdin=DATA).json
    alone = [condense("inspect", "-", "--json", stdin=line).json for line in DATA.splitlines()]
    assert told["rows"] == 3
    assert told["tokens"] == sum(each["tokens"]["total"] for each in alone)
    assert sum(share["tokens"] for share in told["content_types"]) + told["constants"] == told["tokens"]
    assert told["tools"][0]["calls"] == 2 * LONG + 1
    assert [each["line"] for each in told["largest_rows"]] == [3, 1, 2], "of one size the later first"
    text = condense("inspect", "-", "--top", "1", stdin=DATA, env={"COLUMNS": "80"}).text
    assert "largest rows" in text
    assert max(map(len, text.splitlines())) <= 80
    bad = condense("inspect", "-", stdin=DATA + b"no row\n").text
    assert ".\n\nstandard input:" in bad  # A blank line between the report and what is wrong.


@pytest.mark.slow
def test_estimate_compares_presets_on_all_rows(rows_file: Path) -> None:
    told = condense("estimate", rows_file, "speed", "cost", "--json").json
    assert [each["configuration"] for each in told["presets"]] == ["speed", "cost"]
    assert told["presets"][0]["tokens"] == condense("run", rows_file, *SPEED, "--json").json["tokens"]
    done = condense("estimate", "-", "-m", "gpt-4o", stdin=DATA, env={"COLUMNS": "80"})
    assert "read once" in done.text
    assert max(map(len, done.text.partition("\n\n")[2].partition("\n\n")[0].splitlines())) <= 80
    assert "--model" in condense("estimate", rows_file, "speed").text
    single = condense("estimate", "-", "speed", "-f", "rows", stdin=DATA.splitlines()[0]).text
    assert single.startswith("standard input: 1 row, ")


@pytest.mark.parametrize(
    ("command", "flag"),
    [
        ("inspect", "--overhead-tokens=5"),
        ("estimate", "--overhead-tokens=5"),
        ("estimate", "--target-tokens=60k"),
        ("estimate", "--target-percent=50"),
    ],
)
def test_what_is_for_one_transcript_is_refused(rows_file: Path, command: str, flag: str) -> None:
    done = condense(command, rows_file, flag)
    assert done.status == ExitStatus.USAGE
    assert f"is a set of rows, and {flag.partition('=')[0]} works on one transcript." in done.message


@pytest.mark.parametrize("arguments", [("diff", "--preset", "speed"), ("show", "1:0")], ids=lambda each: each[0])
def test_other_commands_say_how_to_take_one_row(rows_file: Path, arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    done = condense(command, rows_file, *rest)
    assert done.status == ExitStatus.INPUT
    assert "sed -n 1p" in done.message
