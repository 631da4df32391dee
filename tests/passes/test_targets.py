"""Down to a target: passes in mode extract, and presets that meet the target."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import laws
import pytest
import real
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    configuration,
    conversation,
    extract,
    one_pass,
    read_turn,
    reasons,
    result,
    text,
    thinking,
    user,
)
from helpers import as_lines, condense_process, session
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ConfigurationError, ExitStatus
from condense_cli.formats import parse
from condense_cli.lossless.encode import encode
from condense_cli.passes import prelude
from condense_cli.passes.modes.approach import approach
from condense_cli.passes.receipts import Kept, Status
from condense_cli.tokens.counting import Counter

MEETING = ("balanced", "cost", "speed")
"""Presets that meet a target."""


@given(st.integers(0, 3_000), st.integers(0, 400), st.integers(1, 60), st.integers(-500, 4_000), st.integers(0, 2_000))
def test_the_last_attempt_is_the_best_one(target: int, others: int, step: int, budget: int, most: int) -> None:
    tried: list[int] = []

    def attempt(amount: int) -> int:
        assert 0 <= amount <= most
        tried.append(amount)
        return target - (others + amount // step * step)

    left = approach(target, attempt, budget, most)
    assert left == target - (others + tried[-1] // step * step)
    assert left >= 0 or (others > target and tried[-1] == 0)
    assert len(tried) < 10
    if others <= target:
        assert left <= max(2 * step, target // 50) or tried[-1] == most


def test_without_a_target_the_pass_does_nothing() -> None:
    condensation = condense(anthropic(*conversation()), extract())
    assert not condensation.changes
    (skipped,) = (receipt for receipt in condensation.passes if receipt.id == "to-target")
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "there is no target")


@pytest.mark.parametrize("preset", MEETING)
def test_a_target_that_is_met_to_the_token_changes_nothing(preset: str) -> None:
    transcript = anthropic(*conversation(12))
    tokens = Counter.of(transcript).transcript(transcript)
    assert not api.condense(transcript, preset=preset, target_tokens=tokens).changes
    done = api.condense(transcript, preset=preset, target_tokens=tokens - 1)
    assert done.changes
    assert done.tokens_after < tokens


@pytest.mark.parametrize("percent", [10, 30, 50, 70])
def test_the_target_is_met_and_not_missed_by_much(percent: int) -> None:
    transcript = anthropic(*conversation(12))
    condensation = condense(transcript, extract(), target_reduction_percent=percent)
    assert condensation.target is not None
    assert 0.98 * condensation.target <= condensation.tokens_after <= condensation.target
    assert {receipt.operation for receipt in condensation.changes} <= {"extract", "empty", "note", "remove"}
    assert Kept.FIRST_REQUEST in reasons(condensation)
    again = condense(condensation.transcript, extract(), target_tokens=condensation.target)
    assert not again.changes


# Old reads of one file say the same, one of another says something else: tokens go to what nothing else says.
def test_the_budget_goes_where_it_is_worth_most() -> None:
    other = "\n".join(f"    setting_{n} = load_setting({n * 7919})" for n in range(40))
    messages = [
        user("Find the setting."),
        *read_turn("t0", "a.txt", "\n".join(["nothing of note here"] * 200)),
        *read_turn("t1", "b.py", other),
        assistant("Done."),
    ]
    transcript = anthropic(*messages)
    target = Counter.of(transcript).transcript(transcript) - 700
    condensation = condense(transcript, extract(), target_tokens=target)
    texts = [block.text for _, block in condensation.transcript.blocks()]
    assert other in texts
    assert condensation.tokens_after <= target


def test_only_the_named_content_is_shortened() -> None:
    long = "I think about it. " * 60
    turns = [
        assistant([text(long), call("t0", "Write", file_path="a.py", content=LONG)]),
        user([result("t0", LONG)]),
        assistant("Done."),
    ]
    transcript = anthropic(user("Go."), *turns)
    for content in ("message_text", "tool_parameters", "tool_results"):
        condensation = condense(transcript, extract(extract_config={"content": [content]}), target_reduction_percent=25)
        kinds = {receipt.content_type.value for receipt in condensation.changes if receipt.content_type}
        assert kinds == {content}
        written = [block for _, block in condensation.transcript.blocks() if block.tool == "Write"]
        assert json.loads(written[0].text)["file_path"] == "a.py"
    with pytest.raises(ConfigurationError, match="content"):
        condense(transcript, extract(extract_config={"content": ["images"]}))


def test_out_of_reach_it_cuts_what_it_can_or_leaves_all() -> None:
    transcript = anthropic(*conversation())
    cut = condense(transcript, extract(), target_tokens=5)
    assert cut.is_target_missed
    assert cut.tokens_after < cut.tokens_before / 3
    assert not condense(cut.transcript, extract(), target_tokens=5).changes
    left = condense(transcript, extract(extract_config={"out_of_reach": "leave"}), target_tokens=5)
    assert not left.changes
    assert Kept.OUT_OF_REACH in reasons(left)
    # What references save does not make it think that it can.
    twice = anthropic(*[message for n in range(6) for message in read_turn(f"t{n}", "a.py")], assistant("Done."))
    prelude = {"enabled": True}
    left = condense(
        twice, extract(extract_config={"out_of_reach": "leave"}), target_tokens=90, lossless_prelude=prelude
    )
    assert {receipt.operation for receipt in left.changes} == {"refer"}


# Thinking that goes because something before it was cut is room for lines.
def test_thinking_that_goes_counts() -> None:
    turns = [
        [assistant([thinking("so I wonder about it " * 40), *turn[0]["content"]]), turn[1]]
        for turn in (read_turn(f"t{n}", f"{n}.py", LONG + f"\nfile_{n}") for n in range(8))
    ]
    transcript = anthropic(user("Go."), *[message for turn in turns for message in turn], assistant("Done."))
    transcript = replace(transcript, model="claude-opus-5-5")
    condensation = condense(transcript, extract(), target_reduction_percent=60)
    assert condensation.target is not None
    assert "drop" in {receipt.operation for receipt in condensation.changes}
    assert 0.98 * condensation.target <= condensation.tokens_after <= condensation.target


# Thinking went before the second pass ran: what stands behind it in its message has another place in the draft.
def test_receipts_name_the_places_of_the_input_after_thinking_went() -> None:
    turns = [
        [assistant([thinking(), text("Let me look."), call(f"t{n}", "Bash", command=LONG)]), user([result(f"t{n}")])]
        for n in range(4)
    ]
    transcript = anthropic(user("Go."), *[message for turn in turns for message in turn], assistant("Done."))
    suppress = {"defaults": {"tool_parameters": {"operation": "suppress"}, "message_text": {"operation": "keep"}}}
    condensation = condense(
        replace(transcript, model="claude-opus-5-5"),
        extract(extract_config={"content": ["tool_results"]}),
        one_pass(id="calls", individual_config=suppress),
        thinking="drop",
        target_tokens=20,
    )
    laws.receipts_add_up(condensation, Counter())
    calls = [receipt for receipt in condensation.changes if receipt.pass_id == "calls" and receipt.operation != "refer"]
    assert {(receipt.message, receipt.block, receipt.tool) for receipt in calls} == {
        (n, 2, "Bash") for n in (1, 3, 5, 7)
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", MEETING)
@pytest.mark.parametrize("path", real.SAMPLES, ids=lambda path: path.name)
def test_presets_meet_the_target(path: Any, preset: str) -> None:
    transcript = real.transcript(path)
    count = Counter.of(transcript)
    lossless = api.condense(transcript, preset="lossless", counter=count)
    met, shown = 0, lossless.factor.shown
    for share in (0.9, 0.6, 0.4, 0.2, 0.1):
        target = int(lossless.shown_before * share)
        condensation = api.condense(transcript, preset=preset, target_tokens=target, counter=count)
        if condensation.is_target_missed:
            # Markers, the smallest summary and the constants of messages need a little besides.
            assert target < shown(condensation.protected_tokens + 400)
        else:
            met += 1
            # In a short text a line is more than 2%, or a reference to a text that the line makes another one.
            least = min(0.98 * target - shown(200), lossless.shown_after)
            assert least <= condensation.shown_after <= target, (share, condensation.passes)
    assert met > 2


@given(
    data=st.one_of(FILES, REPEATING_FILES),
    model=MODELS,
    target=st.integers(1, 3_000),
    extraction=st.fixed_dictionaries({
        "out_of_reach": st.sampled_from(["cut", "leave"]), "may_summarize": st.booleans()
    }),
    prelude=st.booleans(),
)  # fmt: skip
def test_laws_hold_with_a_target(
    data: bytes, model: str | None, target: int, extraction: dict[str, Any], prelude: bool
) -> None:
    keys = {"target_tokens": target, "lossless_prelude": {"enabled": prelude}}
    laws.check_all(replace(parse(data), model=model), configuration(extract(extract_config=extraction), **keys))


@pytest.mark.real
@pytest.mark.parametrize("path", real.all_files(), ids=lambda path: path.name[-40:])
def test_laws_hold_with_a_target_on_real_transcripts(path: Any) -> None:
    transcript = real.transcript(path)
    target = max(1, Counter.of(transcript).transcript(transcript) * 2 // 5)
    laws.check_all(transcript, replace(load_preset("cost"), target_tokens=target))


def test_a_target_below_what_is_protected_is_told(tmp_path: Path) -> None:
    messages = conversation(8)
    messages[0] = user("Please find the bug.\n" + LONG)
    file = tmp_path / "session.jsonl"
    file.write_text("".join(json.dumps(message) + "\n" for message in messages))
    done = condense_process(
        "run", file, "-p", "speed", "--target-tokens", "50", "--strict", "-o", tmp_path / "small.jsonl"
    )
    assert done.status == ExitStatus.TARGET_MISSED
    assert "The target cannot be met, because" in done.stderr


@pytest.mark.slow
def test_passes_that_need_a_target_are_not_told_where_there_is_none(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    assert "there is no target" not in condense_process("run", file, "--preset", "speed", "-n").text
    assert "there is no target" not in condense_process("estimate", file).text
    assert "there is no target" in condense_process("run", file, "--preset", "speed", "-n", "-v").text


# A condensed file counts as the run said: the same target changes nothing, and one that it misses is worked on.
@pytest.mark.slow
def test_a_second_run_takes_the_target_as_the_first_one_did() -> None:
    def run(transcript: Transcript, target: int) -> api.Condensation:
        return api.condense(transcript, preset="balanced", target_tokens=target)

    first = run(api.load(real.SESSION), 20_000)
    small = api.loads(api.dump(first))
    again = run(small, 20_000)
    assert again.shown_before == first.shown_after <= 20_000
    assert again.was_within_target
    assert run(small, 19_000).shown_after <= 19_000


@pytest.mark.parametrize(("share", "is_tried"), [(90, True), (30, False)])
def test_references_are_tried_alone_where_they_may_be_enough(
    share: int, is_tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = ["\n".join(f"step {name} of part {number} is done" for number in range(60)) for name in "abcda"]
    read = [message for name, text in zip("vwxyz", logs, strict=True) for message in read_turn(name, text)]
    transcript = anthropic(user("Go."), *read, assistant("Thanks."), *(user("On."), assistant("Yes.")) * 6)
    writing = Mock(wraps=encode)
    monkeypatch.setattr(prelude, "encode", writing)
    target = Counter().transcript(transcript) * share // 100
    found = api.condense(transcript, preset="balanced", target_tokens=target)
    assert not found.is_target_missed
    tried = [[*one.args[0]] == [*transcript.messages] for one in writing.call_args_list]
    assert any(tried) is is_tried
