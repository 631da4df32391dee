"""`condense estimate`, and the costs in the report of a run: the right tokens, the right money, said plainly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import real
from build import anthropic, assistant, call, claude_line, conversation, cut_to, one_pass, result, text, user
from build import condense as run_passes
from helpers import as_lines, condense, condense_on_terminal, session
from rich.cells import cell_len

from condense_cli.config.presets import preset_names
from condense_cli.economics import Rewrite
from condense_cli.errors import ExitStatus
from condense_cli.passes.pipeline import Condensation
from condense_cli.prices import Price
from condense_cli.report.cost_text import dollars, pays_after
from condense_cli.report.costs import PriceSource, cost_of, rewrite_of
from condense_cli.report.facts import Cost
from condense_cli.tokens import MESSAGE_TOKENS, Counter

COUNT = Counter()
OPUS = ("--model", "claude-opus-4-5")
"""A model whose prices have been the same since it is there: $5 for input, $0.50 read, $6.25 written."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(session()))
    return path


def fixed(price: Price | None) -> PriceSource:
    return PriceSource(lambda tokens: price, "a table")


def costing(read: str | None = "0.1", write: str | None = "1.25", input: str = "1") -> Price:
    """Prices in dollars per token, large enough to be seen."""
    cached = None if read is None else Decimal(read)
    written = None if write is None else Decimal(write)
    return Price("model", "maker", Decimal(input), None, cached, written)


# --- Which tokens ----------------------------------------------------------------------------------------------------


def tokens_of(condensed: Condensation, messages: int) -> int:
    return sum(COUNT.message(message) for message in condensed.before.messages[:messages])


def test_the_prefix_ends_before_the_first_changed_block() -> None:
    condensed = run_passes(anthropic(*conversation()))
    kept = (
        tokens_of(condensed, 2) + MESSAGE_TOKENS
    )  # The first result is the first to go: of its message the frame stays.
    assert rewrite_of(condensed, COUNT, 0) == Rewrite(
        kept, condensed.tokens_before - kept, condensed.tokens_after - kept
    )


def test_of_a_message_only_the_blocks_before_the_changed_one_stay_cached() -> None:
    said = "I will write the file now, and then look at it."
    long, short = call("toolu_x", "Write", content="x y z " * 200), call("toolu_y", "Read", file_path="a")
    turn = [assistant([text(said), long, short]), user([result("toolu_x", "ok"), result("toolu_y", "ok")])]
    parameters = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
    condensation = run_passes(anthropic(user("Go."), *turn, *conversation()[1:]), parameters)
    assert condensation.transcript.messages[1].blocks[2] == condensation.before.messages[1].blocks[2]
    kept = tokens_of(condensation, 1) + MESSAGE_TOKENS + COUNT(said)
    assert rewrite_of(condensation, COUNT, 0).prefix == kept


def test_the_overhead_comes_before_everything() -> None:
    condensed = run_passes(anthropic(*conversation()))
    without, with_it = rewrite_of(condensed, COUNT, 0), rewrite_of(condensed, COUNT, 1_000)
    assert with_it == Rewrite(without.prefix + 1_000, without.old_suffix, without.new_suffix)


def test_without_a_change_everything_stays_cached() -> None:
    condensed = run_passes(anthropic(user("Hi."), assistant("Hello.")))
    assert rewrite_of(condensed, COUNT, 0) == Rewrite(condensed.tokens_before, 0, 0)


# --- How much money --------------------------------------------------------------------------------------------------


def test_costs_are_those_of_the_formulas() -> None:
    condensed = run_passes(anthropic(*conversation()), one_pass(individual_config=cut_to(3)))
    rewrite = rewrite_of(condensed, COUNT, 50)
    cost = cost_of(condensed, COUNT, 50, fixed(costing()))
    assert Decimal(cost.next_turn_before or 0) == rewrite.before * Decimal("0.1")
    assert Decimal(cost.next_turn_after or 0) == rewrite.after * Decimal("0.1")
    assert Decimal(cost.one_off or 0) == rewrite.new_suffix * Decimal("1.15")
    turns = rewrite.new_suffix * 1.15 / ((rewrite.old_suffix - rewrite.new_suffix) * 0.1)
    assert cost.breakeven_turns == round(turns, 2)
    assert (cost.pays, cost.prices) == (True, "a table")
    assert "cache expires" in cost.assumed[0]


def test_an_unknown_price_leaves_every_cost_unknown() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(None))
    assert cost == Cost(prices="a table")
    assert (cost.one_off, cost.next_turn_before, cost.next_turn_after, cost.pays) == (None, None, None, None)


def test_an_unknown_price_of_writing_is_said_and_not_guessed() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(costing(write=None)))
    assert cost.next_turn_after is not None
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == (None, None, None)
    assert any("No price of writing" in sentence for sentence in cost.assumed)


def test_without_a_known_cache_it_pays_at_once_and_says_why() -> None:
    cost = cost_of(run_passes(anthropic(*conversation())), COUNT, 0, fixed(costing(read=None, write=None)))
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == ("0", 0, True)
    assert cost.assumed == ["No price of cached input is known: each turn costs the full price of input."]


def test_what_changes_nothing_never_pays() -> None:
    cost = cost_of(run_passes(anthropic(user("Hi."), assistant("Hello."))), COUNT, 0, fixed(costing()))
    assert (cost.one_off, cost.breakeven_turns, cost.pays) == ("0", None, False)
    assert cost.next_turn_before == cost.next_turn_after


def test_each_request_has_the_price_of_its_size() -> None:
    condensed = run_passes(anthropic(*conversation()))
    source = PriceSource(lambda tokens: costing(read="2" if tokens > condensed.tokens_after else "1", write="9"), "t")
    cost = cost_of(condensed, COUNT, 0, source)
    assert (cost.next_turn_before, cost.next_turn_after) == (
        str(2 * condensed.tokens_before),
        str(condensed.tokens_after),
    )


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(None, "unknown"), ("0", "$0"), ("0.00002", "<$0.0001"), ("0.0128151", "$0.0128"), ("1234.567", "$1,234.57")],
)
def test_money_is_shown_with_the_digits_that_matter(amount: str | None, shown: str) -> None:
    assert dollars(amount) == shown


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (Cost(), "unknown"),
        (Cost(pays=False), "never"),
        (Cost(pays=True, breakeven_turns=0.33), "next turn"),
        (Cost(pays=True, breakeven_turns=1.01), "1.0 turns"),
        (Cost(pays=True, breakeven_turns=34.5), "34.5 turns"),
        (Cost(pays=True, breakeven_turns=12345.6), "12,346 turns"),
    ],
)
def test_turns_until_it_pays_are_said_in_words(cost: Cost, shown: str) -> None:
    assert pays_after(cost) == shown


# --- The command -----------------------------------------------------------------------------------------------------


def estimate(file: Path, *arguments: str) -> dict[str, Any]:
    done = condense("estimate", file, "--json", *arguments)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    found = done.json
    assert isinstance(found, dict)
    return found


def test_all_presets_are_estimated_and_each_as_a_run_would_do(file: Path) -> None:
    found = estimate(file, *OPUS)
    assert [option["preset"] for option in found["presets"]] == preset_names()
    for option in found["presets"]:
        report = condense("run", file, "--json", "-p", option["preset"], *OPUS).json
        assert option["tokens_after"] == report["tokens"]["after"]
        assert option["cost"] == report["cost"]
        assert option["saved_percent"] == report["tokens"]["saved_percent"]


def test_presets_can_be_named_in_two_ways_and_once(file: Path) -> None:
    def names(*arguments: str) -> list[str]:
        return [option["preset"] for option in estimate(file, *arguments)["presets"]]

    assert names("speed") == ["speed"]
    assert names("speed", "cost", "speed") == ["speed", "cost"]
    assert names("--preset", "speed", "-p", "cost") == ["speed", "cost"]


def test_a_configuration_file_is_a_preset_too(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.json"
    config.write_text(json.dumps({"passes": [one_pass()]}))
    assert [option["saved"] > 0 for option in estimate(file, str(config))["presets"]] == [True]


def test_the_prices_are_those_of_the_named_model(file: Path) -> None:
    found = estimate(file, "speed", *OPUS)
    assert found["model"] == "claude-opus-4-5"
    assert found["prices"]["cache_read"] == "0.0000005"
    (option,) = found["presets"]
    cost = option["cost"]
    assert Decimal(cost["next_turn_before"]) == found["before"]["tokens"] * Decimal("0.0000005")
    assert Decimal(cost["one_off"]) == option["rewritten"] * Decimal("0.00000575")
    assert option["kept_prefix"] + option["rewritten"] == option["tokens_after"]


def test_overhead_that_is_given_counts_in_every_turn(file: Path) -> None:
    found = estimate(file, "speed", *OPUS, "--overhead-tokens", "1000000")
    assert (found["before"]["overhead"], found["before"]["overhead_source"]) == (1_000_000, "option")
    expected = (found["before"]["tokens"] + 1_000_000) * Decimal("0.0000005")
    assert Decimal(found["presets"][0]["cost"]["next_turn_before"]) == expected
    assert found["presets"][0]["kept_prefix"] > 1_000_000


def test_overhead_that_is_given_goes_before_what_the_file_tells(tmp_path: Path) -> None:
    path = tmp_path / "request.json"
    path.write_text(json.dumps({"model": "claude-opus-4-5", "system": "word " * 300, "messages": session()}))
    assert estimate(path, "speed")["before"]["overhead_source"] == "request"
    before = estimate(path, "speed", "--overhead-tokens", "0")["before"]
    assert (before["overhead"], before["overhead_source"]) == (0, "option")


def test_overhead_enters_the_next_turn_of_a_run(file: Path, tmp_path: Path) -> None:
    given = ("--overhead-tokens", "1000000")
    report = condense("run", file, "-p", "speed", *OPUS, *given, "--json").json
    assert (report["tokens"]["overhead"], report["tokens"]["overhead_source"]) == (1_000_000, "option")
    assert report["cost"] == estimate(file, "speed", *OPUS, *given)["presets"][0]["cost"]
    assert report["cost"] != condense("run", file, "-p", "speed", *OPUS, "--json").json["cost"]
    condense("run", file, "-p", "speed", *OPUS, *given, "-n", "-q", "--report", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_bytes())["cost"] == report["cost"]
    shown = condense("run", file, "-p", "speed", *OPUS, *given, "--cost", "--dry-run", env={"COLUMNS": "200"}).text
    assert f"Next turn: {dollars(report['cost']['next_turn_before'])} → " in shown
    assert "1,000,000 more: system prompt and tools (--overhead-tokens)" in " ".join(shown.split())


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
    assert any("are not above its 60,000" in entry["reason"] for entry in skipped)
    shown = condense("estimate", file).text
    assert re.search("^Skipped in cost: .*, [0-9,]+ tokens are not above its 60,000\\.$", shown, re.MULTILINE)


def test_a_pass_that_runs_in_no_preset_is_said_once(tmp_path: Path, file: Path) -> None:
    names = [tmp_path / "one.json", tmp_path / "two.json"]
    for name in names:
        name.write_text(json.dumps({"passes": [one_pass(name="Idle", individual_config={"defaults": {}})]}))
    said = "Idle, it keeps everything."
    assert f"Skipped everywhere: {said}\n" in condense("estimate", file, *names).text
    assert f"Skipped in {names[0]}: {said}\n" in condense("estimate", file, names[0]).text


def test_footnotes_take_a_line_each(file: Path) -> None:
    """Of 80 columns, with all that there is to say of a known model."""
    footnotes = condense(
        "estimate", file, "speed", "-m", "claude-sonnet-4-5-20250929", "--overhead-tokens", "20000"
    ).text
    _, _, _, _, *lines = footnotes.partition("\n\n")[2].splitlines()
    assert len(lines) >= 6
    assert [line for line in lines if len(line) > 80] == []


def test_what_is_exact_and_what_is_assumed_is_said(file: Path) -> None:
    shown = condense("estimate", file, *OPUS).text
    for sentence in (
        "Tokens are estimates for claude-opus-4-5",
        "not counted: system prompt and tools (--overhead-tokens N)",
        "before the cache expires (5 minutes)",
        "Prices: claude-opus-4-5 by Anthropic, genai-prices",
        "of the window of 200,000 tokens",
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


# The usage stands beside an answer that came when all of it was there.
def test_the_overhead_before_a_summary_is_known_behind_it(tmp_path: Path) -> None:
    path, small = tmp_path / "session.jsonl", tmp_path / "small.jsonl"
    path.write_bytes(next(sample for sample in real.SAMPLES if sample.name == "bugfix-session.jsonl").read_bytes())
    overhead = estimate(path)["before"]["overhead"]
    condense("run", path, "-p", "max", "-o", small)
    before = estimate(small)["before"]
    assert (before["overhead"], before["overhead_source"]) == (overhead, "recorded usage")


@pytest.mark.parametrize("columns", [80, 120])
def test_the_table_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(as_lines(session(["a word and another\n" * 60_000] * 9)))
    done = condense_on_terminal("estimate", path, "speed", "quality", *OPUS, columns=columns)
    assert done.status == ExitStatus.DONE
    lines = done.plain.splitlines()
    assert max(map(cell_len, lines)) <= columns
    (row,) = [line for line in lines if line.startswith("speed ")]
    assert re.match(r"speed +2,700,\d{3} → \d", row)
    assert "$" in row
    assert row.endswith(("turns", "turn")), "a column was cut off"


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
    assert "0.0 %" in done.text


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


@pytest.mark.parametrize("command", ["run", "estimate", "inspect", "validate", "restore", "check"])
def test_a_terminal_is_no_transcript(command: str) -> None:
    done = condense_on_terminal(command, "-")
    assert done.status == ExitStatus.USAGE
    assert "which is a terminal" in done.text


# --- The report of a run ---------------------------------------------------------------------------------------------


def asks_for_report(file: Path, tmp_path: Path) -> Any:
    condense("run", file, *OPUS, "-n", "-q", "--report", tmp_path / "report.json")
    return json.loads((tmp_path / "report.json").read_bytes())["cost"]


def asks_for_json(file: Path, tmp_path: Path) -> Any:
    return condense("run", file, *OPUS, "--json").json["cost"]


@pytest.mark.parametrize("asks", [asks_for_report, asks_for_json])
def test_reports_for_programs_have_costs(file: Path, tmp_path: Path, asks: Callable[[Path, Path], Any]) -> None:
    cost = asks(file, tmp_path)
    assert Decimal(cost["next_turn_after"]) < Decimal(cost["next_turn_before"])
    assert cost["breakeven_turns"] > 0
    assert cost["pays"] is True
    assert cost["prices"].startswith("genai-prices ")


@pytest.mark.parametrize("option", ["--cost", "--verbose"])
def test_reports_for_people_have_costs_when_asked(file: Path, option: str) -> None:
    figures = "Next turn: $"
    assert figures in condense("run", file, *OPUS, "-n", option).text
    assert figures not in condense("run", file, *OPUS, "-n").text


def test_in_a_pipe_costs_are_a_second_line(file: Path) -> None:
    with_costs, without = condense("run", file, *OPUS, "--cost"), condense("run", file, *OPUS)
    assert with_costs.stdout == without.stdout
    first, second = with_costs.stderr.splitlines()
    assert first + "\n" == without.stderr
    assert second.startswith("condense: Next turn: $")


def test_figures_say_only_what_applies(file: Path) -> None:
    """A run that changes nothing has no one-off cost to name; one that does names it and when it pays."""
    nothing = ("--only-tools", "nothing", "--range", "0:0")
    run = ("run", file, *OPUS, "--cost", "-p", "speed")
    changed, unchanged = (condense(*run, *flags).stderr for flags in ((), nothing))
    assert "one-off cost $" in changed
    assert "pays after" in changed
    assert "one-off" not in unchanged


def test_a_target_holds_for_every_preset(file: Path) -> None:
    """The tokens are those that the run would give, and the presets that miss it are named."""
    options = estimate(file, "--target-percent", "20")["presets"]
    target = estimate(file, "--target-percent", "20")["target"]
    for option in options:
        run = condense("run", file, "--target-percent", "20", "-p", option["preset"], "--json").json
        assert (option["tokens_after"], target) == (run["tokens"]["after"], run["tokens"]["target"])
    missed = [option["preset"] for option in options if option["tokens_after"] > target]
    said = condense("estimate", file, "--target-percent", "20").text
    assert f"Target: {target:,} tokens, not reached by {', '.join(missed)}." in said
    assert condense("estimate", file, "--target-tokens", "9", "--target-percent", "20").status == ExitStatus.USAGE
