"""Operations, conditions, targets, receipts and warnings, on small transcripts."""

import json
from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    changed_messages,
    condense,
    configuration,
    conversation,
    cut_to,
    one_pass,
    openai,
    read_turn,
    reasons,
    result,
    text,
    thinking,
    user,
    written,
)
from msgspec.structs import replace
from summarizers import Failing

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Selection
from condense_cli.core.transcript import Transcript
from condense_cli.passes.blocks.cutting import LEAST_SAVED, CutLimits, truncate
from condense_cli.passes.receipts import PRELUDE, Kept, Status
from condense_cli.report.run.shortcomings import warnings_of
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import factor_of


def test_parameters_are_treated_value_by_value() -> None:
    arguments = {
        "file_path": "/home/somebody/projects/" + "a-rather-long-folder-name/" * 8 + "and_a_file.py",
        "edits": [{"old": LONG, "n": 3}, {"old": "short", "flag": True}],
        "content": LONG,
        "big": 2**70,
    }
    suppress = {"defaults": {"tool_parameters": {"operation": "suppress"}}}
    messages = [user("a"), assistant([call("x", "MultiEdit", **arguments)]), user([result("x", "ok")]), assistant("z")]
    after = written(condense(anthropic(*messages), one_pass(individual_config=suppress)))[1]["content"][0]["input"]
    assert list(after) == list(arguments)
    assert after["file_path"] == arguments["file_path"]
    assert after["edits"][1] == {"old": "short", "flag": True}
    assert after["edits"][0]["n"] == 3
    assert after["content"] == after["edits"][0]["old"] != LONG
    assert after["content"].startswith("[… 40 lines #")
    assert after["big"] == 2**70


# A marker takes eight tokens; a cut has to save ten more, or what goes is not worth it.
@pytest.mark.parametrize("operation", ["tool_results", "tool_parameters"])
@pytest.mark.parametrize(("saved", "is_cut"), [(LEAST_SAVED - 1, False), (LEAST_SAVED, True)])
def test_a_cut_has_to_save_some_tokens(operation: str, saved: int, is_cut: bool) -> None:
    count = Counter()
    cut = {"operation": "truncate", "params": {"truncate": {"max_lines": 4}}}
    printed = "one\ntwo\nthree\nfour\nfive"
    while count(printed) - count(truncate(printed, CutLimits(max_lines=4))) != saved:
        printed += " x"
    messages = [user("a"), assistant([call("x", "Write", text=printed)]), user([result("x", printed)]), assistant("z")]
    done = condense(anthropic(*messages), one_pass(individual_config={"defaults": {operation: cut}}))
    assert [receipt.message for receipt in done.changes] == [1 if operation == "tool_parameters" else 2] * is_cut


# In arguments that are JSON in a string, everything but the long value keeps its spelling.
def test_arguments_in_a_string_keep_their_spelling() -> None:
    arguments = '{ "path":"a.py",\t"content" : ' + json.dumps(LONG) + ', "n": 1.50 , "e":"\\u00e9" }'
    calls = [{"id": "x", "type": "function", "function": {"name": "write", "arguments": arguments}}]
    messages = [
        user("a"),
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "x", "content": "k"},
    ]
    suppress = {"defaults": {"tool_parameters": {"operation": "suppress"}}}
    after = written(condense(openai(*messages, assistant("z")), one_pass(individual_config=suppress)))
    spelled = after[1]["tool_calls"][0]["function"]["arguments"]
    marker = json.loads(spelled)["content"]
    assert spelled == arguments.replace(json.dumps(LONG), json.dumps(marker))


@pytest.mark.parametrize("arguments", ["", "not json", '["a list"]', '"a string"', '{"cut": "o'])
def test_arguments_that_are_no_object_stay(arguments: str) -> None:
    arguments = arguments + " " * 400 if arguments else arguments
    calls = [{"id": "x", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    messages = [
        user("a"),
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "x", "content": "k"},
    ]
    suppress = {"defaults": {"tool_parameters": {"operation": "suppress"}}}
    condensation = condense(openai(*messages, assistant("z")), one_pass(individual_config=suppress))
    assert not condensation.changes
    assert reasons(condensation, 1) == {Kept.NOT_AN_OBJECT}


def test_overrides_of_single_messages_and_their_thresholds_hold() -> None:
    config = {
        "defaults": {"tool_results": {"operation": "suppress"}},
        "overrides": [
            {"message_index": 4, "operations": {"tool_results": {"operation": "keep"}}},
            {"message_index": -6, "operations": {"tool_results": {"operation": "suppress", "min_tokens": 9_999}}},
            {"message_index": 12, "operations": {"message_text": {"operation": "suppress"}}},
            {"message_index": -16, "operations": {"tool_results": {"operation": "keep"}}},
        ],
    }
    condensation = condense(anthropic(*conversation()), one_pass(individual_config=config))
    assert changed_messages(condensation) == [2, 6, 10, 12]
    assert reasons(condensation, 4) == {Kept.CONFIGURED}
    assert reasons(condensation, 8) == {Kept.SMALL}


# Many tools answer in one line: a limit of lines means lines that somebody can read.
def test_a_limit_of_lines_bounds_long_lines_too() -> None:
    one_line = json.dumps([{"name": f"part {number}", "price": number} for number in range(400)])
    messages = [user("a"), *read_turn("1", content=one_line), *read_turn("2"), assistant("z")]

    def left(**limits: int) -> int:
        cut = {"operation": "truncate", "params": {"truncate": {"max_lines": 3, "add_ellipsis": False, **limits}}}
        condensation = condense(anthropic(*messages), one_pass(individual_config={"defaults": {"tool_results": cut}}))
        return len(condensation.transcript.messages[2].blocks[0].text.split("\n")[0])

    assert len(one_line) > 10_000
    assert left() == 1_500
    assert left(max_chars=9_000) == 9_000


# A block that would not become smaller, its marker included, stays as it is.
def test_what_would_not_shrink_stays() -> None:
    messages = [user("a"), *read_turn("1", content="one\ntwo\nthree"), assistant("z")]
    condensation = condense(anthropic(*messages), one_pass(individual_config=cut_to(1)))
    assert not condensation.changes
    assert reasons(condensation, 2) == {Kept.NOT_SMALLER}
    assert not condensation.transcript.is_changed


def test_a_conditional_pass_runs_above_its_threshold_only() -> None:
    transcript = anthropic(*conversation())
    for threshold, runs in ((10, True), (10**6, False)):
        execution = {"type": "conditional", "condition": {"token_threshold": threshold}}
        condensation = condense(transcript, one_pass(execution=execution))
        assert bool(condensation.changes) is runs
        assert condensation.passes[1].status is (Status.COMPLETED if runs else Status.SKIPPED)
        assert bool(condensation.passes[1].reason) is not runs


def test_a_threshold_is_meant_and_told_in_the_models_tokens() -> None:
    transcript = replace(anthropic(*conversation()), model="claude-opus-4-8")
    factor = factor_of(transcript, Counter.of(transcript))
    tokens = factor.shown(Counter.of(transcript).transcript(transcript))
    for threshold, runs in ((tokens - 1, True), (tokens, False)):
        execution = {"type": "conditional", "condition": {"token_threshold": threshold}}
        receipt = condense(transcript, one_pass(execution=execution), lossless_prelude={"enabled": False}).passes[1]
        assert receipt.status is (Status.COMPLETED if runs else Status.SKIPPED)
    assert factor.value > 1
    assert receipt.reason == f"{tokens:,} tokens does not exceed its threshold of {tokens:,}"


# Once the target is reached the passes after it are skipped, those that always run too.
def test_the_run_stops_at_the_target() -> None:
    passes = [one_pass(id="first", individual_config=cut_to(20)), one_pass(id="second")]
    first = condense(anthropic(*conversation()), passes[0]).tokens_after
    condensation = condense(anthropic(*conversation()), *passes, target_tokens=first)
    assert [receipt.status for receipt in condensation.passes[1:]] == [Status.COMPLETED, Status.SKIPPED]
    assert condensation.passes[2].reason == "the target was already reached"
    missed = condense(anthropic(*conversation()), *passes, target_tokens=10)
    assert missed.is_target_missed
    assert [receipt.status for receipt in missed.passes[1:]] == [Status.COMPLETED] * 2


# With stop_at_target a pass takes the oldest first, by content type, and no more than it needs.
def test_a_pass_works_only_until_the_target() -> None:
    transcript = anthropic(*conversation())
    whole = condense(transcript).tokens_before
    one = (
        whole
        - condense(transcript, one_pass(selection={"type": "custom", "range": {"start": 2, "end": 3}})).tokens_after
    )
    condensation = condense(transcript, one_pass(stop_at_target=True), target_tokens=whole - 2 * one)
    assert changed_messages(condensation) == [2, 4]
    assert reasons(condensation, 6) == {Kept.TARGET_REACHED}
    half = condense(transcript, one_pass(stop_at_target=True), target_reduction_percent=50)
    assert half.target == int(whole / 2)
    assert not half.is_target_missed
    assert len(half.changes) < 6


def test_the_order_of_content_types_is_configurable() -> None:
    messages = [user("a"), assistant([call("x", "Write", content=LONG)]), user([result("x")]), assistant("z")]
    config = {"defaults": {name: {"operation": "suppress"} for name in ("tool_parameters", "tool_results")}}
    transcript = anthropic(*messages)
    for order, expected in ((["tool_results", "tool_parameters"], [2]), (["tool_parameters", "tool_results"], [1])):
        keys = {"stop_at_target": True, "order": order, "individual_config": config}
        target = condense(transcript, one_pass(**keys)).tokens_before - 100
        assert changed_messages(condense(transcript, one_pass(**keys), target_tokens=target)) == expected


# A pass that repeats grows stricter each time, until the target is met or the rounds are used up.
def test_repeat_grows_stricter() -> None:
    transcript = anthropic(*conversation())
    once = condense(transcript, one_pass(individual_config=cut_to(20))).tokens_after
    repeat = {"max_passes": 3, "threshold_reduction_factor": 0.5}
    keys = {"individual_config": cut_to(20), "repeat": repeat}
    assert condense(transcript, one_pass(**keys)).tokens_after == once
    strict = condense(transcript, one_pass(**keys), target_tokens=10)
    assert strict.tokens_after == condense(transcript, one_pass(individual_config=cut_to(5))).tokens_after
    assert condense(transcript, one_pass(**keys), target_tokens=once).tokens_after == once


# A saving below min_saving is not worth a broken cache: nothing changes, and the report says why.
def test_a_saving_below_min_saving_changes_nothing() -> None:
    transcript = anthropic(*conversation())
    saved = condense(transcript).tokens_before - condense(transcript).tokens_after
    assert condense(transcript, min_saving=saved).changes
    refused = condense(transcript, min_saving=saved + 1)
    assert refused.transcript is transcript
    assert not refused.changes
    assert any("min_saving" in warning for warning in refused.warnings)


def test_what_was_not_summarized_stays_with_a_reason() -> None:
    summarize = {"defaults": {"tool_results": {"operation": "summarize"}}}
    batch = {"id": "b", "selection": {"type": "custom"}, "mode": "batch", "batch_config": {"operation": "summarize"}}
    transcript = anthropic(*conversation())
    configured = configuration(one_pass(individual_config=summarize), batch)
    condensation = api.condense(transcript, configured, summarizer=Failing())
    assert condensation.transcript == transcript
    refused = [receipt for receipt in condensation.receipts if receipt.kept is Kept.NO_SUMMARY]
    assert {receipt.pass_id for receipt in refused} == {"only", "b"}
    assert {receipt.reason for receipt in refused} == {"the model is overloaded"}


# The prelude runs before the passes and has a receipt of its own, also where it finds nothing.
@pytest.mark.usefixtures("anywhere")
def test_the_prelude_has_a_receipt() -> None:
    prelude = {"enabled": True}
    twice = [user("a"), *read_turn("1"), *read_turn("2"), assistant("z")]
    different = [user("a"), *read_turn("1"), *read_turn("2", content="another text"), assistant("z")]
    for messages, changes in ((twice, [2]), (different, [])):
        condensation = condense(
            anthropic(*messages), one_pass(selection={"type": "custom", "failed": True}), lossless_prelude=prelude
        )
        assert condensation.passes[0].id == PRELUDE
        assert condensation.passes[0].status is Status.COMPLETED
        assert condensation.passes[0].changes == len(changes)
        assert changed_messages(condensation) == changes
    met = condense(anthropic(*twice), one_pass(), lossless_prelude=prelude, target_tokens=10**6)
    assert [receipt.status for receipt in met.passes] == [Status.SKIPPED] * 2
    assert not met.changes


# Every block has a receipt for every pass that ran.
def test_every_block_has_a_receipt() -> None:
    condensation = condense(anthropic(*conversation()), one_pass(), one_pass(id="again"))
    assert len(condensation.receipts) == 2 * 14
    assert all(receipt.is_change or receipt.kept for receipt in condensation.receipts)
    assert len(condensation.changes) == 6


# When nothing changed, the report says which blocks stayed and why.
@pytest.mark.parametrize(
    ("keys", "why"),
    [
        (
            {"selection": {"type": "preserve_recent", "keep_recent_count": 99}},
            "among the preserved turns",
        ),
        ({"selection": {"type": "custom", "range": {"start": 500}}}, "not selected by the pass"),
        ({"individual_config": {"defaults": {"tool_results": {"operation": "summarize"}}}}, "overloaded"),
    ],
)
def test_a_run_without_changes_says_why(keys: dict[str, Any], why: str) -> None:
    from condense_cli.report.run import facts
    from condense_cli.tokens.counting import Counter, encoding_for

    configured = configuration(one_pass(**keys))
    condensation = api.condense(anthropic(*conversation()), configured, summarizer=Failing())
    report = facts.build(
        condensation,
        facts.RunFiles("x", 0),
        count=Counter(),
        encoding=encoding_for(None),
        configuration="y",
    )
    told = [warning for warning in report.warnings if warning.startswith(("Nothing was changed", "Not summarized"))]
    assert any(why in warning for warning in told)


def turns_with_thinking() -> list[dict[str, Any]]:
    messages = [user("a"), *read_turn("1"), assistant([thinking(), call("2")]), user([result("2")])]
    return [*messages, assistant([thinking(), text("b")]), user("c"), assistant([thinking("only this")]), user("d")]


@pytest.mark.parametrize(
    ("mode", "model", "left"),
    [
        ("auto", "claude-opus-5-5", 0),
        ("auto", "anthropic.claude-fable-5-2-v1:0", 0),
        ("auto", "claude-opus-4-6", 3),
        ("auto", None, 3),
        ("keep", "claude-opus-4-6", 3),
        ("drop", None, 0),
    ],
)
def test_mode_and_model_decide_what_thinking_stays(mode: str, model: str | None, left: int) -> None:
    from msgspec.structs import replace

    transcript = replace(anthropic(*turns_with_thinking()), model=model)
    condensation = condense(transcript, thinking=mode)
    kept = [block for _, block in condensation.transcript.blocks() if block.kind == "thinking"]
    assert len(kept) == left


# A message that held nothing but dropped thinking goes, and its neighbours are one turn, as the API joins them.
def test_an_emptied_message_goes() -> None:
    condensation = condense(anthropic(*turns_with_thinking()), thinking="drop")
    assert [message["role"] for message in written(condensation)].count("assistant") == 3
    assert [receipt.operation for receipt in condensation.changes if receipt.block < 0] == ["remove", "merge"]
    assert len(condensation.transcript.messages) == len(condensation.before.messages) - 2


# Thinking before the first change is still bound to what it was bound to, and stays.
def test_thinking_before_the_first_change_stays() -> None:
    from msgspec.structs import replace

    messages = [user("a"), assistant([thinking("early"), text("b")]), user("c"), *read_turn("1"), assistant("z")]
    transcript = replace(anthropic(*messages), model="claude-sonnet-5-5")
    condensation = condense(transcript)
    assert condensation.changes
    assert not condensation.transcript.removed


def test_unusual_values_of_a_pass_are_told_once_and_those_of_flags_are_not() -> None:
    transcript = anthropic(*conversation(9))
    unusual = configuration(one_pass(selection={"type": "preserve_recent", "keep_recent_count": 101}))
    said = "passes[0].selection.keep_recent_count is 101; 0 to 100 is usual. Change it unless you mean it."
    assert api.condense(transcript, unusual).warnings == (said,)
    usual = replace(unusual, passes=(replace(unusual.passes[0], selection=Selection(type="preserve_recent")),))
    assert api.condense(transcript, usual, overrides=api.overrides_from(keep_recent=101)).warnings == ()


def _warnings(transcript: Transcript, target: int | None = None, **keys: Any) -> list[str]:
    return warnings_of(api.condense(transcript, configuration(one_pass(**keys)), target_tokens=target))


def test_reasons_read_well_after_a_number() -> None:
    large = {"operation": "suppress", "min_tokens": 9_999}
    (said,) = _warnings(anthropic(*conversation()), individual_config={"defaults": {"tool_results": large}})
    assert said == (
        "Nothing was changed. Blocks kept: "
        "the pass keeps this kind (6); smaller than min_tokens (6); part of the user's first request (1)."
    )


def test_what_was_condensed_before_is_not_explained_block_by_block() -> None:
    once = api.condense(anthropic(*conversation()), configuration(one_pass()))
    (said,) = _warnings(api.loads(api.dump(once.transcript)))
    assert said == "Nothing was changed: the transcript is already condensed, and nothing more is worth cutting."


def test_passes_for_a_target_are_not_named_where_there_is_none_and_others_say_more() -> None:
    (said,) = warnings_of(api.condense(replace(anthropic(user("a")), messages=()), load_preset("cost")))
    assert said == "Nothing was changed. One summary of the middle: 0 tokens does not exceed its threshold of 60,000."


@pytest.mark.parametrize(("last", "is_said"), [(result("2", "word " * 100), True), (text("word " * 100), False)])
def test_only_turns_that_would_get_smaller_are_said_to_help(last: dict[str, Any], is_said: bool) -> None:
    """The pass rewrites results; a long text among the preserved turns would stay in any case."""
    turns = [*conversation(), assistant([call("1"), call("2")]), user([result("1", "done"), last])]
    said = " ".join(_warnings(anthropic(*turns), 1))
    assert "The target of 1 token was not reached" in said
    assert ("Preserving fewer turns (--keep last:N) would free" in said) == is_said


def test_where_all_lines_are_worth_their_tokens_a_target_is_named() -> None:
    passes = [one_pass(mode="extract", extract_config={"min_worth": 0.000_1})]
    (said,) = warnings_of(api.condense(anthropic(*conversation()), configuration(*passes)))
    assert "worth their tokens (6)" in said
    assert said.endswith("--target-percent 50 cuts more anyway.")
    (within,) = warnings_of(api.condense(anthropic(*conversation()), configuration(*passes), target_tokens=99_999))
    assert "--target-percent" not in within
