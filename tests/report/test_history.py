"""`condense inspect --history`: what a session cost by source, each rebuilding of the cache, and what if."""

import json
from pathlib import Path
from typing import Any

import pytest
from build import call, result
from claude_tree import boundary, reply, said
from compacted_work import codex, opencode, pi, summary_in_claude
from helpers import as_lines, condense, session

from condense_cli import api
from condense_cli.formats.requests import recorded_requests
from condense_cli.money.bill import Billed

MODEL = "claude-opus-4-6"
INPUT, READ, WRITE, HOUR, MILLION = 5.0, 0.5, 6.25, 10.0, 1_000_000
"""Dollars: https://platform.claude.com/docs/en/about-claude/pricing"""
Json = dict[str, Any]


def turn(number: int, seconds: int, read: int, written: int, *, model: str = MODEL, hour: bool = False) -> list[Json]:
    """A call that reads a file, with its result."""
    asked = reply(number, number - 1, f"msg_{number}", call(f"t{number}", file_path="src/app.py"))
    life = {"ephemeral_1h_input_tokens": written} if hour else {"ephemeral_5m_input_tokens": written}
    asked["message"] |= {"model": model, "usage": {
        "input_tokens": 0, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
        "cache_creation": life, "output_tokens": 5}}  # fmt: skip
    asked["timestamp"] = f"2026-06-01T10:{seconds // 60:02}:{seconds % 60:02}.000Z"
    lines = "\n".join(f"value_{number}_{line} = compute({line})" for line in range(400))
    return [asked, said(number + 1, number, [result(f"t{number}", lines)])]


def work(*turns: list[Json]) -> bytes:
    return as_lines([said(1, None, "Please find the bug in src/app.py."), *(line for each in turns for line in each)])


def history(path: Path, *options: str) -> Json:
    found: Json = json.loads(condense("inspect", "--history", path, "--json", *options).stdout)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def test_dollars_are_those_of_the_recorded_usage(file: Path) -> None:
    file.write_bytes(work(turn(2, 0, 0, 20_000), turn(4, 20, 20_000, 6_000, hour=True), turn(6, 40, 26_000, 6_000)))
    found = history(file)
    assert (found["requests"], found["recorded"], found["unpriced"]) == (3, 3, 0)
    assert found["tokens"] == {"read": 46_000, "written": 32_000, "plain": 0, "hour": 6_000}
    spent = found["dollars"]
    assert spent["read"] == pytest.approx(46_000 * READ / MILLION)
    assert spent["written"] == pytest.approx((26_000 * WRITE + 6_000 * HOUR) / MILLION)
    assert found["rebuildings"] == []


# Each source is a part of every request that it stayed in: together they are the bill.
def test_sources_add_up_to_the_bill(file: Path) -> None:
    file.write_bytes(work(turn(2, 0, 0, 20_000), turn(4, 20, 20_000, 6_000), turn(6, 40, 26_000, 6_000)))
    found = history(file, "--top", "100")
    sources = {(each["kind"], each["name"]): each for each in found["sources"]}
    assert sum(each["dollars"] for each in found["sources"]) == pytest.approx(found["dollars"]["total"])
    assert sum(each["token_requests"] for each in found["sources"]) == pytest.approx(78_000, abs=10)
    asked = sources["prompt", "Please find the bug in src/app.py."]
    assert (asked["requests"], asked["token_requests"]) == (3, 3 * asked["tokens"])
    read = sources["file", "src/app.py"]
    assert read["requests"] == 2
    beside = sources["", "system prompt and tools"]
    assert (beside["requests"], beside["tokens"]) == (3, 20_000 - asked["tokens"])
    # It lies at the beginning: read from the cache in all requests but the first.
    assert beside["dollars"] == pytest.approx(beside["tokens"] * (WRITE + 2 * READ) / MILLION, rel=0.02)


@pytest.mark.parametrize(
    ("later", "cause", "price"),
    [
        (turn(4, 320, 0, 26_000), "expired", WRITE),
        (turn(4, 320, 0, 26_000, model="claude-opus-4-5"), "another model", WRITE),
        (turn(4, 20, 9_000, 17_000), "earlier text changed", WRITE),
    ],
)
def test_rebuildings_have_a_cause_and_dollars(file: Path, later: list[Json], cause: str, price: float) -> None:
    file.write_bytes(
        work(turn(2, 0, 0, 20_000), later, turn(6, 330, 26_000, 6_000, model=later[0]["message"]["model"]))
    )
    whole = history(file)
    (found,) = whole["rebuildings"]
    (by_cause,) = whole["causes"]
    assert by_cause == {key: found[key] for key in ("cause", "tokens", "dollars")} | {"times": 1}
    tokens = 20_000 - later[0]["message"]["usage"]["cache_read_input_tokens"]
    assert (found["request"], found["cause"], found["tokens"]) == (2, cause, tokens)
    assert found["dollars"] == pytest.approx(tokens * (price - READ) / MILLION)
    assert found["pause"] == (320 if "10:05" in found["time"] else 20)


def test_what_lives_an_hour_is_not_expired_after_five_minutes(file: Path) -> None:
    turns = turn(2, 0, 0, 20_000, hour=True), turn(4, 600, 20_000, 6_000, hour=True)
    file.write_bytes(work(*turns))
    assert history(file)["rebuildings"] == []


def test_requests_before_and_behind_a_compaction(file: Path) -> None:
    compacted = [boundary(6), summary_in_claude(7, 6), said(8, 7, "Go on, please.")]
    later = turn(9, 60, 3_000, 5_000)
    data = work(turn(2, 0, 0, 20_000), turn(4, 20, 20_000, 6_000), compacted, later)
    found = [*recorded_requests(api.loads(data, format="claude-code"))]
    assert [(each.sent, each.is_first) for each in found] == [(1, True), (3, False), (found[-1].sent, True)]
    assert found[-1].billed == Billed(3_000, 5_000)
    file.write_bytes(data)
    (rebuilt,) = history(file)["rebuildings"]
    assert (rebuilt["cause"], rebuilt["tokens"]) == ("compacted", 5_000)


@pytest.mark.parametrize("data", [codex(), opencode(), pi()])
def test_clients_without_usage_are_billed_by_the_rules(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    found = history(file, "--what-if")
    assert found["requests"] > 1
    assert found["what_if"]["requests"] > 1
    assert found["recorded"] == 0
    assert found["tokens"]["read"] + found["tokens"]["written"] + found["tokens"]["plain"] > 1_000


def test_messages_of_an_api_are_computed_and_their_models_have_no_price(file: Path) -> None:
    file.write_bytes(as_lines(session()))
    found = history(file)
    assert (found["recorded"], found["unpriced"]) == (0, found["requests"])
    assert found["tokens"]["read"] + found["tokens"]["written"] + found["tokens"]["plain"] > 0
    assert b"without recorded usage" in condense("inspect", "--history", file).stdout


@pytest.mark.parametrize("time", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "yesterday", 1e300, None])
def test_odd_times_stop_nothing(file: Path, time: object) -> None:
    odd = turn(4, 20, 0, 26_000)
    odd[0]["timestamp"] = time
    file.write_bytes(work(turn(2, 0, 0, 20_000), odd, turn(6, 40, 26_000, 6_000)))
    found = history(file, "--what-if")
    assert (found["requests"], found["what_if"]["requests"]) == (3, 3)


@pytest.mark.parametrize(
    "usage", [{"cache_read_input_tokens": -5}, {"input_tokens": 10**30}, [], {"cache_creation": 3}]
)
def test_a_request_without_usage_is_not_billed_among_others(file: Path, usage: object) -> None:
    odd = turn(4, 20, 0, 26_000)
    odd[0]["message"]["usage"] = usage
    file.write_bytes(work(turn(2, 0, 0, 20_000), odd, turn(6, 40, 20_000, 6_000)))
    found = history(file)
    assert (found["requests"], found["unbilled"], found["rebuildings"]) == (2, 1, [])
    assert found["tokens"]["written"] == 26_000
    assert "1 more request without recorded usage" in condense("inspect", "--history", file).text


def test_sources_beyond_the_dearest_are_counted(file: Path) -> None:
    file.write_bytes(work(turn(2, 0, 0, 20_000), turn(4, 20, 20_000, 6_000)))
    shown = condense("inspect", "--history", file, "--top", "1").text
    more = len(history(file)["sources"]) - 1
    assert f"{more} more sources: --all shows them." in shown
    assert "--all shows them" not in condense("inspect", "--history", file, "--all").text


def long_work(pause: int) -> bytes:
    turns = []
    tokens = 20_000
    for number in range(30):
        seconds = 20 * number + (pause if number > 20 else 0)
        turns.append(turn(2 + 2 * number, seconds, 0 if number in (0, 21) else tokens, 6_000))
        tokens += 6_000
    return work(*turns)


def test_what_the_proxy_would_have_cost(file: Path) -> None:
    file.write_bytes(long_work(1_200))
    found = history(file, "--what-if")["what_if"]
    assert (found["policy"], found["requests"]) == ("economic", 30)
    assert found["decisions"] > 0
    assert found["tokens_with"] < found["tokens"]
    assert found["dollars_with"] < found["dollars"]
    told = " ".join(condense("inspect", "--history", file, "--what-if").text.split())
    assert "With condense proxy (economic): saves $" in told
    assert "(the API billed $" in told


def test_a_folder_is_added_up(tmp_path: Path) -> None:
    for name, seconds in (("a", 0), ("b", 30)):
        (tmp_path / f"{name}.jsonl").write_bytes(
            work(turn(2, seconds, 0, 20_000), turn(4, seconds + 20, 20_000, 6_000))
        )
    (tmp_path / "notes.json").write_text('"no transcript"')
    found = history(tmp_path)
    assert (len(found["inputs"]), found["unread"]) == (2, [str(tmp_path / "notes.json")])
    assert found["requests"] == 4
    said = condense("inspect", "--history", tmp_path).stdout
    assert b"4 requests in 2 sessions" in said
    assert b"1 file could not be read" in said


def test_what_does_not_go_together(file: Path) -> None:
    file.write_bytes(as_lines(session()))
    for options, words in (
        (("--what-if", file), "--what-if needs --history"),
        ((file, file), "Several transcripts need --history"),
        (("--history", file, "--model", MODEL), "--model cannot be used with --history"),
    ):
        done = condense("inspect", *options)
        assert done.status == 2
        assert words in done.stderr


# A condensed session keeps the records of the requests that its original made; so does a fork.
def test_requests_of_copies_count_once(tmp_path: Path) -> None:
    first, second = turn(2, 0, 0, 20_000), turn(4, 20, 20_000, 6_000)
    copy = tmp_path / "a-copy.jsonl"
    copy.write_bytes(work(first, second, turn(6, 90, 26_000, 3_000)))
    (tmp_path / "a-copy.jsonl.condense-origin").write_text('{"version": 1, "origin": "session.jsonl"}')
    (tmp_path / "session.jsonl").write_bytes(work(first, second))
    found = history(tmp_path)
    assert [Path(name).name for name in found["inputs"]] == ["session.jsonl", "a-copy.jsonl"]
    assert (found["requests"], found["repeated"]) == (3, 2)
    assert found["tokens"]["written"] == 29_000
    assert "2 more requests in copies" in condense("inspect", "--history", tmp_path).text
