"""What a condensed conversation no longer says, the most valuable first; the one figure of what a way keeps."""

from collections.abc import Sequence
from typing import Any

import pytest
import real
from helpers import condense
from msgspec.structs import replace
from real import PROJECT, SESSION

from condense_cli import api
from condense_cli.api.evaluating import evaluate
from condense_cli.config.loading import load_preset
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Message
from condense_cli.quality.evaluation import Cut, Evaluated, Point, beats, expected_of, kept_by
from condense_cli.quality.losses import MOST, LossKind, LostItem, losses
from condense_cli.quality.recall import Recall, Score
from condense_cli.tokens.counting import Counter

DECIDED = "The root cause is the rounding in apply_discount, so we must use ROUND_HALF_UP."


def _said(*texts: str) -> Sequence[Message]:
    roles = ("user", "assistant")
    said: list[dict[str, Any]] = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    return api.loads(said, format="anthropic").messages


def _lost(before: Sequence[Message], after: Sequence[Message]) -> list[LostItem]:
    return [*losses(before, after, Counter("o200k_base")).shown]


def test_a_name_is_lost_where_nothing_names_it_any_more() -> None:
    before = _said("Begin.", "See src/alpha_one.py and BETA_TWO.", "And BETA_TWO again.", "Done.")
    after = _said("Begin.", "See […].", "And BETA_TWO again.", "Done.")
    assert _lost(before, after) == [LostItem(LossKind.FACT, "src/alpha_one.py", 1)]
    assert _lost(before, before) == []


def test_the_end_of_a_path_that_is_still_named_is_not_lost() -> None:
    before = _said("Begin.", "In src/deep/alpha_one.py.", "Yes.", "alpha_one.py it is.")
    after = _said("Begin.", "In src/deep/alpha_one.py.", "Yes.", "It is.")
    assert _lost(before, after) == []


def test_the_users_words_go_before_decisions_and_names() -> None:
    before = _said("Begin.", f"{DECIDED}\nFine.", "Never touch the tests.", "It takes gamma_three.")
    after = _said("Begin.", "Fine.", "[… 1 line]", "It takes it.")
    words, decision, fact = _lost(before, after)
    assert words == LostItem(LossKind.WORDS, "Never touch the tests.", 2)
    assert decision == LostItem(LossKind.DECISION, DECIDED, 1)
    assert fact == LostItem(LossKind.FACT, "gamma_three", 3)


# A file that was read again has its blocks in other places.
def test_words_in_another_message_are_not_lost() -> None:
    before = _said("Begin.", "Yes.", "Never touch the tests.\nUse tabs.", "Fine.")
    after = _said("Begin.\nNever touch the tests.", "Fine.")
    [lost] = _lost(before, after)
    assert lost == LostItem(LossKind.WORDS, "Use tabs.", 2)


# A sentence among others on a line, and a name that only a parameter has.
def test_what_is_listed_is_in_no_text_that_is_left() -> None:
    said = f"{DECIDED}\nThen it passed, and we use run_in_background_2 there."
    call = {"type": "tool_use", "id": "a", "name": "Bash", "input": {"run_in_background_2": True}}
    answered = {"type": "tool_result", "tool_use_id": "a", "content": "see src/gone_one.py"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Begin."},
        {"role": "assistant", "content": [{"type": "text", "text": said}, call]},
        {"role": "user", "content": [answered]},
    ]
    before = api.loads(messages, format="anthropic").messages
    messages[1]["content"][0]["text"] = f"So: {DECIDED} […]"
    answered["content"] = "see"
    after = api.loads(messages, format="anthropic").messages
    assert [item.text for item in _lost(before, after)] == ["src/gone_one.py"]


def test_escapes_are_no_names() -> None:
    before = _said("Begin.", r"The file has \tdefault_one, \u003epicture_two and delta_four.", "Yes.", "Ok.")
    assert [item.text for item in _lost(before, _said("Begin.", "Gone.", "Yes.", "Ok."))] == ["delta_four"]


def test_plain_words_and_short_names_are_not_listed() -> None:
    before = _said("Begin.", "We call print(x) with A1 and Method, then TODAY.", "Yes.", "Ok.")
    assert _lost(before, _said("Begin.", "We do.", "Yes.", "Ok.")) == []


def test_ids_and_numbers_tell_nobody_anything() -> None:
    by_chance = "TncM5, FzXby, s11Ah, 46323, dae4f8, af294e7358608c48f, toolu_018ymfiz47372grXy9D7huGu"
    names = ["useId", "sha256", "spf13", "repoID", "gamma_three", "src/a1/b2.py", "1.2.30"]
    before = _said("Begin.", f"See {by_chance} and {', '.join(names)}.", "Yes.", "Ok.")
    listed = [item.text for item in _lost(before, _said("Begin.", "Gone.", "Yes.", "Ok."))]
    assert sorted(listed) == sorted(names)


@pytest.mark.parametrize("preset", ["balanced", "speed", "max", "lossless"])
def test_what_is_listed_is_in_no_text_of_the_result(preset: str) -> None:
    transcript = api.load(SESSION)
    result = api.condense(transcript, preset=preset)
    found = losses(transcript.messages, result.transcript.messages, Counter.of(transcript))
    left = "\n".join(block.text for message in result.transcript.messages for block in message.blocks)
    by_index = {message.index: message for message in transcript.messages}
    assert len(found.shown) <= MOST
    assert (preset == "lossless") is (not found.shown)
    for item in found.shown:
        assert item.text not in left.split()
        assert any(item.text in block.text for block in by_index[item.message].blocks)


def test_reports_list_five_and_more_where_somebody_asks() -> None:
    run = ("run", SESSION, "-p", "speed", "--dry-run")
    usual, more = (condense(*run, *flag).text for flag in ((), ("--explain",)))
    assert "No longer said, 5 of " in usual
    assert "(--explain lists more):\n" in usual
    listed = usual.partition("No longer said")[2].splitlines()[1:6]
    assert all(line.rpartition("  message ")[2].isdigit() for line in listed)
    assert "No longer said, 20 of " in more
    assert "No longer said, 20 of " in condense("diff", SESSION, "-p", "speed").text
    assert len(condense(*run, "--json").json["lost"]["things"]) == MOST
    assert "(condense diff --all-lines lists all):" in more
    every = condense("diff", SESSION, "-p", "speed", "--all-lines").text
    assert "No longer said:\n" in every
    assert every.partition("No longer said:")[2].partition("\n\n")[0].count("  message ") > MOST
    assert "No longer said" not in condense("diff", SESSION, "-p", "lossless").text


@pytest.mark.sampled(2)
@pytest.mark.parametrize("preset", ["balanced", "max", "cost", "speed", "quality"])
@pytest.mark.parametrize("name", ["session.jsonl", "inspect.json", "sharegpt.json", "responses.json"])
def test_no_block_is_shown_twice(name: str, preset: str) -> None:
    """Once as gone and once as new: texts that a run left, or moved into a summary, find their older version."""
    path = PROJECT / "sample_transcripts" / f"bugfix-{name}"
    transcript = api.load(path)
    count = Counter.of(transcript)
    for target in (None, 30):
        configuration = {"preset": preset} | ({"target_reduction_percent": 100 - target} if target else {})
        result = api.condense(transcript, configuration, counter=count)
        if not result.changes:
            continue
        after = api.loads(api.dump(result), format=transcript.format)
        blocks = api.diff(transcript, after, count, result.factor).blocks
        gone = {block.before for block in blocks if block.new is None and block.before}
        assert [block.after for block in blocks if block.old is None and block.after in gone] == []
        fates = {id(block.old) for block in blocks if block.old}
        assert len(fates) == sum(block.old is not None for block in blocks)


def point(way: str, tokens: int, facts: int, lines: int) -> Point:
    """A way that kept so many of 6 facts and of 4 lines."""
    recall = Recall(Score(6, facts), Score(4, lines), Score(0, 0))
    return Point(way, "as it is", None, tokens, tokens / 1_000, recall, 0.0)


def evaluated(*cuts: tuple[Point, ...]) -> list[Evaluated]:
    found = tuple(Cut(0.5, 9, 1_000, facts=6, lines=4, files=0, points=points) for points in cuts)
    return [Evaluated("a", "anthropic", 2_000, found)]


def test_facts_and_lines_count_together() -> None:
    found = kept_by("a", evaluated(*((point("a", 500, facts, 4),) for facts in (0, 2, 6))))
    assert found is not None
    assert (found.percent, found.low, found.high, found.cuts) == (60, 40, 100, 3)
    assert (found.facts, found.edits) == (44.4, 100)
    assert kept_by("b", evaluated((point("a", 500, 1, 1),))) is None


def test_of_many_cuts_the_range_leaves_out_a_tenth_at_each_end() -> None:
    shares = (0, *[3] * 18, 6)
    found = kept_by("a", evaluated(*((point("a", 500, facts, 0),) for facts in shares)))
    assert found is not None
    assert (found.low, found.percent, found.high) == (30, 30, 30)


@pytest.mark.parametrize(
    ("larger", "worse", "better", "expected"),
    [(0, 2, 8, True), (0, 3, 7, False), (0, 0, 0, False), (5, 0, 5, False), (5, 0, 10, True)],
)
def test_a_way_beats_another_where_that_is_the_rule(larger: int, worse: int, better: int, expected: bool) -> None:
    """Of ten cuts or more at which it leaves no more; a larger result is no comparison, and equality no victory."""
    same = max(0, 10 - larger - worse - better)
    cuts = [(point("a", 900, 0, 0), point("b", 500, 6, 4))] * larger
    cuts += [(point("a", 400, 1, 1), point("b", 500, 6, 4))] * worse
    cuts += [(point("a", 400, 6, 4), point("b", 500, 1, 1))] * better
    cuts += [(point("a", 500, 3, 3), point("b", 500, 3, 3))] * same
    assert beats("a", "b", evaluated(*cuts)) is expected


# Sizes are shares of the tokens as they are counted, whatever the model makes of them, and so are budgets.
@pytest.mark.parametrize("model", ["gpt-5.1", "claude-opus-4-8"])
def test_a_budget_is_a_share_of_what_is_counted(model: str) -> None:
    transcript = replace(api.load(real.PROJECT / "sample_transcripts" / "bugfix-chat.jsonl"), model=model)
    found = evaluate(transcript, presets=["balanced"], against=(), budgets=(0.7,), smallest=0)
    (size,) = [setting.size for setting in found.summary.settings if setting.budget]
    assert 0.66 < size <= 0.7


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["session.jsonl", "chat.jsonl", "messages.json"])
def test_balanced_keeps_more_where_descriptions_of_presets_say_so(name: str) -> None:
    transcript = api.load(real.PROJECT / "sample_transcripts" / f"bugfix-{name}")
    count = Counter.of(transcript)
    said = [each for each in preset_names() if "balanced keeps more at the same size" in load_preset(each).description]
    assert said == ["cost", "quality", "speed"]
    for preset in said:
        usual = api.condense(transcript, preset=preset, counter=count)
        better = api.condense(transcript, preset="balanced", target_tokens=usual.shown_after, counter=count)
        assert better.tokens_after <= usual.tokens_after
        runs = {one: result.transcript.messages for one, result in (("usual", usual), ("better", better))}
        kept = expected_of(transcript.messages, runs, count)
        assert kept["better"].percent > kept["usual"].percent
