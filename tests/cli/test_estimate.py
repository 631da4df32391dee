"""`condense estimate`: what each preset would save and cost, said plainly."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import real
from build import claude_line, one_pass, text, user
from helpers import OPUS, as_lines, condense, condense_on_terminal, session
from rich.cells import cell_len

from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus


def estimate(file: Path, *arguments: str) -> dict[str, Any]:
    done = condense("estimate", file, "--json", *arguments)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    found = done.json
    assert isinstance(found, dict)
    return found


def test_all_presets_are_estimated_and_each_as_a_run_would_do(file: Path) -> None:
    found = estimate(file, *OPUS)
    assert sorted(option["preset"] for option in found["presets"]) == preset_names()
    for option in found["presets"]:
        report = condense("run", file, "--json", "-p", option["preset"], *OPUS).json
        assert option["tokens_after"] == report["tokens"]["after"]
        assert option["cost"] == report["cost"]
        assert option["saved_percent"] == report["tokens"]["saved_percent"]


def test_presets_can_be_named_in_two_ways_and_once(file: Path) -> None:
    def names(*arguments: str) -> list[str]:
        return [option["preset"] for option in estimate(file, *arguments)["presets"]]

    assert names("speed") == ["speed"]
    assert names("cost", "speed", "cost") == ["speed", "cost"], "not the smallest first"
    assert names("--preset", "speed", "-p", "cost") == ["speed", "cost"]


def test_a_configuration_file_is_a_preset_too(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"passes": [one_pass()]}))
    assert [option["saved"] > 0 for option in estimate(file, str(config))["presets"]] == [True]


# A target or pins of the project make a run do what no preset does, and the figures would contradict its report.
def test_settings_that_are_none_of_the_presets_are_said(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    project = tmp_path / "condense.yaml"
    project.write_text("preset: speed\ntarget_tokens: 500\n")
    (tmp_path / ".git").mkdir()
    said = "condense: warning: A run here uses speed with condense.yaml, which is not in this table"
    assert condense("estimate", file, "speed").stderr.startswith(said)
    named = condense("estimate", file, "condense.yaml", "--json")
    assert named.stderr == ""
    assert named.json["presets"][0]["tokens_after"] == condense("run", file, "--json").json["tokens"]["after"]
    project.write_text("preset: speed\n")
    assert condense("estimate", file, "cost").stderr == ""


def test_the_prices_are_those_of_the_named_model(file: Path) -> None:
    found = estimate(file, "speed", *OPUS)
    assert found["model"] == "claude-opus-4-5"
    assert found["prices"]["cache_read"] == 0.0000005
    (option,) = found["presets"]
    cost = option["cost"]
    assert Decimal(str(cost["next_turn_before"])) == found["before"]["tokens"] * Decimal("0.0000005")
    assert Decimal(str(cost["one_time"])) == option["rewritten"] * Decimal("0.00000575")
    assert option["kept_prefix"] + option["rewritten"] == option["tokens_after"]


def test_overhead_that_is_given_counts_in_every_turn(file: Path) -> None:
    found = estimate(file, "speed", *OPUS, "--overhead-tokens", "1000000")
    assert (found["before"]["overhead"], found["before"]["overhead_source"]) == (1_000_000, "option")
    expected = (found["before"]["tokens"] + 1_000_000) * Decimal("0.0000005")
    assert Decimal(str(found["presets"][0]["cost"]["next_turn_before"])) == expected
    assert found["presets"][0]["kept_prefix"] > 1_000_000


def test_overhead_that_is_given_goes_before_what_the_file_tells(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "claude-opus-4-5", "system": "word " * 300, "messages": session()}))
    assert estimate(path, "speed")["before"]["overhead_source"] == "request"
    before = estimate(path, "speed", "--overhead-tokens", "0")["before"]
    assert (before["overhead"], before["overhead_source"]) == (0, "option")


def test_an_unknown_model_has_tokens_and_no_costs(file: Path) -> None:
    found = estimate(file, "speed")
    assert (found["model"], found["prices"]) == (None, None)
    assert found["presets"][0]["saved"] > 0
    assert found["presets"][0]["cost"]["next_turn_before"] is None
    shown = condense("estimate", file, "speed").text
    assert "The model is unknown" in shown
    assert "$" not in shown
    assert "The price of my-own is not known" in condense("estimate", file, "--model", "my-own").text


def test_passes_that_do_not_run_are_named(file: Path) -> None:
    skipped = estimate(file, "cost")["presets"][0]["skipped"]
    assert any("does not exceed its threshold of 60,000" in entry["reason"] for entry in skipped)
    shown = " ".join(condense("estimate", file).text.split())
    assert re.search(r"Skipped by cost: .*: [0-9,]+ tokens does not exceed its threshold of 60,000\.", shown)


def test_a_pass_that_runs_in_no_preset_is_said_once(tmp_path: Path, file: Path) -> None:
    names = [tmp_path / "one.json", tmp_path / "two.json"]
    for name in names:
        name.write_text(json.dumps({"passes": [one_pass(name="Idle", individual_config={"defaults": {}})]}))
    said = "Idle: it keeps everything."
    assert f"Skipped by all: {said}\n" in condense("estimate", file, *names).text
    assert f"Skipped by {names[0]}: {said}" in " ".join(condense("estimate", file, names[0]).text.split())


# In a pipe; a path is a word, and is not broken.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("columns", ["80", "120", ""])
@pytest.mark.parametrize("command", ["check", "inspect", "estimate"])
def test_no_sentence_is_wider_than_the_terminal(
    command: str, columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    file = tmp_path / f"{'long' * 30}.jsonl"
    file.write_bytes((real.PROJECT / "sample_transcripts" / "bugfix-session.jsonl").read_bytes())
    lines = condense(command, file).text.splitlines()
    wide = [line for line in lines if len(line) > int(columns or 80)]
    assert all(str(file) in line and len(line.split()) == 1 for line in wide), wide
    assert len(lines) > 5


def test_footnotes_take_a_line_each(file: Path) -> None:
    footnotes = condense(
        "estimate", file, "speed", "-m", "claude-sonnet-4-5-20250929", "--overhead-tokens", "20000"
    ).text
    _, _, _, _, *lines = footnotes.partition("\n\n")[2].splitlines()
    assert len(lines) >= 6
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.slow
def test_what_is_exact_and_what_is_assumed_is_said(file: Path) -> None:
    shown = condense("estimate", file, *OPUS).text
    for sentence in (
        "Tokens are estimates for claude-opus-4-5",
        "Not counted: system prompt and tools (--overhead-tokens N",
        "a warm cache (5 minutes)",
        "Prices: claude-opus-4-5 by Anthropic, genai-prices",
        "of the context window of 200,000 tokens",
    ):
        assert sentence in shown
    assert "Tokens are exact for gpt-5.1" in condense("estimate", file, "-m", "gpt-5.1").text
    assert "(--overhead-tokens)" in condense("estimate", file, "--overhead-tokens", "7").text


def test_recorded_overhead_says_where_it_is_from(tmp_path: Path) -> None:
    asked = claude_line("user", "a", None, "Hello, what is in the file?")
    usage = {"input_tokens": 5_000, "output_tokens": 5}
    answered = claude_line("assistant", "b", "a", [text("Nothing.")], reply="msg_1")
    answered["message"]["usage"] = usage
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines([asked, answered]))
    before = estimate(path)["before"]
    assert before["overhead_source"] == "recorded usage"
    assert 4_900 < before["overhead"] < 5_000
    assert "(from recorded usage)" in condense("estimate", path).text


@pytest.mark.slow
@pytest.mark.parametrize("given", [(), ("--overhead-tokens", "500")], ids=["recorded", "given"])
def test_the_window_is_as_full_as_check_says(given: tuple[str, ...]) -> None:
    checked = condense("check", real.SESSION, "--json", *given).json["used"]
    before = estimate(real.SESSION, *given)["before"]
    assert (before["used"], before["used_source"]) == (checked["total"], checked["total_source"])
    share = f"{100 * before['used'] / 200_000:.1f}% of the context window of 200,000 tokens ({before['used_source']})"
    assert f"Now in use: {share}." in condense("estimate", real.SESSION, *given).text


# The usage stands beside an answer that came when all of it was there.
@pytest.mark.slow
def test_the_overhead_before_a_summary_is_known_behind_it(tmp_path: Path) -> None:
    path, small = tmp_path / "session.jsonl", tmp_path / "small.jsonl"
    path.write_bytes(real.SESSION.read_bytes())
    overhead = estimate(path)["before"]["overhead"]
    condense("run", path, "-p", "max", "-o", small)
    before = estimate(small)["before"]
    # Of the usage that led to the factor a part went with what was summarized.
    assert before["overhead"] == pytest.approx(overhead, rel=0.01)
    assert before["overhead_source"] == "recorded usage"


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(as_lines(session(["a word and another\n" * 20_000] * 9)))
    done = condense_on_terminal("estimate", path, "speed", "quality", *OPUS, columns=columns)
    assert done.status == ExitStatus.DONE
    lines = done.plain.splitlines()
    assert max(map(cell_len, lines)) <= columns
    (row,) = [line for line in lines if line.startswith("speed ")]
    assert re.match(r"speed (\* )? *(1,\d{3},\d{3} → )?\d", row)
    assert "$" in row
    assert row.endswith(("turns", "turn")), "a column was cut off"


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "figures"), [(60, 5), (40, 3), (30, 2)])
def test_a_narrow_terminal_loses_no_name(file: Path, columns: int, figures: int) -> None:
    """What is the same for all presets gets a row, and then columns go; whole figures stay."""
    presets = preset_names()
    shown = condense_on_terminal("estimate", file, *presets, *OPUS, columns=columns).plain
    assert "…" not in shown
    table = shown.split("\n\n")[1].splitlines()
    assert max(map(cell_len, table)) <= columns
    rows = {
        name: re.split(r" {2,}", figures) for name, figures in (re.split(r" {2,}", row, maxsplit=1) for row in table)
    }
    first, second, *others = rows
    assert (first, second) == ("preset", "as it is")
    assert sorted(name.removesuffix(" *") for name in others) == presets
    assert {len(row) for row in rows.values()} == {figures}
    assert {"saved", "pays after"} <= set(rows["preset"])


def test_nothing_in_a_file_steers_the_terminal(file: Path) -> None:
    shown = condense("estimate", file, "--model", "evil\x1b]0;title\x07").text
    assert "\x1b" not in shown
    assert "evil␛]0;title␇" in shown


@pytest.mark.parametrize("content", [[], [user("Hello.")]])
def test_a_transcript_with_next_to_nothing_in_it_has_an_estimate(tmp_path: Path, content: list[dict[str, Any]]) -> None:
    path = tmp_path / "small.json"
    path.write_text(json.dumps(content))
    done = condense("estimate", path, *OPUS, "--format", "anthropic")
    assert done.status == ExitStatus.DONE
    assert "0.0%" in done.text


def test_standard_input_is_read(file: Path) -> None:
    done = condense("estimate", "-", "--json", stdin=file.read_bytes())
    assert done.json["input"] == "standard input"


def test_lines_that_are_no_json_need_the_option(file: Path) -> None:
    file.write_bytes(b"not json\n" + file.read_bytes())
    assert condense("estimate", file).status == ExitStatus.INPUT
    assert condense("estimate", file, "--lenient").status == ExitStatus.DONE


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("no-such-file.jsonl",), ExitStatus.INPUT, "no-such-file.jsonl"),
        (("FILE", "spede"), ExitStatus.USAGE, "Did you mean speed?"),
        (("FILE", "--format", "nonsense"), ExitStatus.USAGE, "nonsense"),
        (("FILE", "--overhead-tokens", "-1"), ExitStatus.USAGE, "overhead"),
    ],
)
def test_mistakes_are_said_in_a_sentence(file: Path, arguments: tuple[str, ...], status: ExitStatus, said: str) -> None:
    done = condense("estimate", *(str(file) if argument == "FILE" else argument for argument in arguments))
    assert done.status == status
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_presets_that_do_the_same_are_named_together(file: Path, tmp_path: Path) -> None:
    """With a target only, where equal figures look like a mistake; and by their results, not by their figures."""
    target = ("--target-percent", "60")
    options, same = (estimate(file, *target)[key] for key in ("presets", "same"))
    assert ["balanced", "cost", "quality", "speed"] in same
    for names in same:
        results = {condense("run", file, *target, "-p", name, "-o", "-").stdout for name in names}
        assert len(results) == 1
    alone = {option["preset"] for option in options} - {name for names in same for name in names}
    assert "lossless" in alone
    told = "With this target, balanced, cost, quality and speed do the same."
    assert told in condense("estimate", file, *target).text
    assert "do the same" not in condense("estimate", file).text


@pytest.mark.slow
def test_a_target_holds_for_every_preset(file: Path) -> None:
    options = estimate(file, "--target-percent", "20")["presets"]
    target = estimate(file, "--target-percent", "20")["target"]
    for option in options:
        run = condense("run", file, "--target-percent", "20", "-p", option["preset"], "--json").json
        assert (option["tokens_after"], target) == (run["tokens"]["after"], run["tokens"]["target"])
    missed = [option["preset"] for option in options if option["tokens_after"] > target]
    said = condense("estimate", file, "--target-percent", "20").text
    assert f"Target: {target:,} tokens, not reached by {', '.join(missed)}." in said
    assert condense("estimate", file, "--target-tokens", "9", "--target-percent", "20").status == ExitStatus.USAGE
