"""`--split`: a trajectory becomes several rows, each what a model would have seen whose conversation was condensed."""

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import condense

from condense_cli import api
from condense_cli.rules.validity import validate

MOST = 3_000
TURNS = 14
Json = dict[str, Any]


def chat(turns: int) -> list[Json]:
    said: list[Json] = [{"role": "user", "content": "Why does the total differ?"}]
    for turn in range(turns):
        function = {"name": "look", "arguments": json.dumps({"part": turn})}
        text = "\n".join(f"line {line} of part {turn}: total = prices[{line}] * {line * turn}" for line in range(30))
        call = {"id": f"c{turn}", "type": "function", "function": function}
        said.append({"role": "assistant", "content": f"Part {turn}.", "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"c{turn}", "content": text})
    return [*said, {"role": "assistant", "content": "The third price was counted twice."}]


def messages_api(turns: int) -> list[Json]:
    said: list[Json] = []
    for message in chat(turns):
        if message["role"] == "tool":
            part = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            said.append({"role": "user", "content": [part]})
        elif "tool_calls" in message:
            [made] = message["tool_calls"]
            call = {"type": "tool_use", "id": made["id"], "name": "look", "input": {"part": 1}}
            said.append({"role": "assistant", "content": [{"type": "text", "text": message["content"]}, call]})
        else:
            said.append(message)
    return said


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    made = [{"id": 0, "messages": chat(1), "score": 1}, {"id": 1, "messages": chat(TURNS), "score": 2}]
    made.append({"id": 2, "messages": messages_api(TURNS), "score": 3})
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


def split(rows: Path) -> tuple[list[Json], Json]:
    small = rows.with_name("small.jsonl")
    done = condense(
        "run", rows, "-o", small, "--split", "--target-tokens", str(MOST), "-m", "gpt-5.1", "--json", "-j", "1"
    )
    assert done.status == 0, done.stderr
    return [json.loads(line) for line in small.read_bytes().splitlines()], done.json


@pytest.mark.slow
def test_rows_fit_and_are_valid(rows: Path) -> None:
    found, told = split(rows)
    assert told["rows"] == {"total": 3, "changed": 2, "bad": 0, "missed": 0, "added": len(found) - 3}
    assert [row["id"] for row in found] == sorted(row["id"] for row in found)
    for id in (1, 2):
        parts = [row for row in found if row["id"] == id]
        assert len(parts) > 2
        assert {row["score"] for row in parts} == {id + 1}
        for part in parts:
            transcript = api.loads(part["messages"])
            assert not validate(transcript)
            assert part["messages"][-1]["role"] == "assistant" or part is parts[-1]
            assert part["messages"][0]["content"] == "Why does the total differ?"
    sizes = condense("inspect", rows.with_name("small.jsonl"), "-m", "gpt-5.1", "--json").json["largest_rows"]
    assert sizes[0]["tokens"] <= MOST


# Every answer is there once as it was, to be trained on, in a row that goes on where the one before it ended.
@pytest.mark.slow
def test_every_answer_is_in_one_row_as_it_was(rows: Path) -> None:
    found, _ = split(rows)
    given = chat(TURNS)
    position = 0
    for number, row in enumerate(row for row in found if row["id"] == 1):
        messages = row["messages"]
        # The answers behind the condensed part go on from where the row before stopped.
        begin = next(at for at, message in enumerate(messages) if message == given[position])
        assert number == 0 or 0 < begin < len(messages)
        stop = position + len(messages) - begin
        assert messages[begin:] == given[position:stop]
        position = stop
        while position < len(given) and given[position]["role"] != "assistant":
            position += 1
    assert position == len(given)


@pytest.mark.slow
def test_a_row_that_fits_stays_byte_for_byte(rows: Path) -> None:
    split(rows)
    assert rows.with_name("small.jsonl").read_bytes().splitlines()[0] == rows.read_bytes().splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rows.jsonl", "--split"), "--split needs a size."),
        (("one.json", "--split", "--target-tokens", "3k"), "--split works on sets of rows"),
        (("array.json", "--split", "--target-tokens", "3k"), "--split needs rows that are lines of JSON."),
    ],
)
def test_what_cannot_be_split_is_refused(rows: Path, arguments: tuple[str, ...], said: str) -> None:
    rows.with_name("one.json").write_text(json.dumps(chat(4)))
    lines = rows.read_text().splitlines()
    rows.with_name("array.json").write_text(f"[{','.join(lines)}]")
    done = condense("run", *arguments, "--dry-run", cwd=rows.parent)
    assert done.status == 2
    assert said in done.stderr


# What was written without --split is not up to date with it.
@pytest.mark.slow
def test_an_earlier_run_that_did_not_split_is_done_again(rows: Path) -> None:
    def run(*how: str) -> list[str]:
        done = condense("run", rows, "--out-dir", rows.parent / "out", "--target-tokens", "3k", "--json", *how)
        return [file["status"] for file in done.json["results"]]

    assert run() == ["done"]
    assert run() == ["up to date"]
    assert run("--split") == ["done"]


# Further rows repeat what each turn had before it.
@pytest.mark.slow
def test_more_tokens_than_before_are_not_called_saved(rows: Path) -> None:
    small = rows.with_name("small.jsonl")
    done = condense("run", rows, "-o", small, "--split", "--target-tokens", str(MOST), "-m", "gpt-5.1", "-j", "1")
    assert done.status == 0, done.stderr
    assert " times as many)" in done.text
    assert "saved" not in done.text
