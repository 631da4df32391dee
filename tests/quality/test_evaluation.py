"""Measuring ways to condense: cuts, ways to compare with; each where the right number is known."""

from collections.abc import Sequence
from itertools import count as numbers
from typing import Any

import pytest
from build import anthropic, assistant, call, configuration, one_pass, openai, read_turn, result, user
from looked_up import READS, shown, work
from msgspec.structs import replace

import condense_cli
from condense_cli.api.evaluating import KNOWN_WAYS, Plan, Unread, configured, evaluate_files
from condense_cli.config.loading import load_preset
from condense_cli.config.models import CUT
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Message, cut_before
from condense_cli.errors import CondenseError, UsageError
from condense_cli.quality.baselines import BASELINES, EXTRACTION, mask_but_newest
from condense_cli.quality.cases import Case, Way, cases_of
from condense_cli.quality.evaluation import Evaluated, Point, evaluate
from condense_cli.quality.recall import Recall, Score
from condense_cli.tokens.counting import Counter

COUNT = Counter()


def case() -> Case:
    (found,), _ = cases_of(work(), (0.5,), COUNT, smallest=0)
    return found


def result_lines(messages: Sequence[Message]) -> list[int]:
    return [block.text.count("\n") + 1 for message in messages for block in message.blocks if block.answers]


def test_a_case_is_what_was_said_before_the_cut_and_what_is_asked_after_it() -> None:
    found = case()
    assert len(found.before.messages) == 1 + 2 * READS
    assert found.questions.asked.facts == {f"{place}_{number}" for place in ("first", "middle") for number in range(4)}
    assert found.questions.files == {f"f{number}": "read" for number in range(READS)}
    assert found.tokens == COUNT.transcript(found.before)


def test_no_cut_separates_a_call_from_its_result() -> None:
    transcript = work()
    for at in (0.2, 0.25, 0.3, 0.35, 0.4):
        (found,), _ = cases_of(transcript, (at,), COUNT, smallest=0)
        position = len(found.before.messages)
        assert cut_before(transcript.messages, position) == position


def test_a_target_is_crowded_where_half_of_it_is_not_enough_for_what_stays_at_any_size() -> None:
    found, count = case(), COUNT.message
    first, newest = found.before.messages[0], found.before.messages[-6:]
    stays = count(first) + sum(map(count, newest))
    enough = max(2 * stays, 3 * (stays - count(first)))
    assert not found.is_crowded(enough)
    # With a little less room than three times what the newest six take, only the newest stays whole.
    assert not found.is_crowded(2 * (count(first) + count(newest[-1])))
    assert found.is_crowded(2 * (count(first) + count(newest[-1])) - 1)
    (cut,) = evaluate(work(), [], budgets=(0.999, 0.001), cuts=(0.5,), smallest=0).cuts
    assert cut.crowded == (0.001,)


def test_what_is_left_out_has_a_reason() -> None:
    tokens = COUNT.transcript(work())
    assert cases_of(work(), (0.5,), COUNT, smallest=tokens)[0]
    cases, (left,) = cases_of(work(), (0.5,), COUNT, smallest=tokens + 1)
    assert (cases, left.at) == ([], None)
    assert f"{tokens:,} tokens" in left.reason

    cases, left_out = cases_of(work(), (0.5, 0.51, 0.99), COUNT, smallest=0)
    assert [found.at for found in cases] == [0.5]
    assert [(left.at, left.reason) for left in left_out] == [
        (0.51, "it is the same as another cut"),
        (0.99, "nothing after it needs a fact from before it"),
    ]

    long = openai(
        {"role": "system", "content": shown(0) * 9}, user("Say first_9."), assistant("first_9"), user("Again.")
    )
    cases, (left,) = cases_of(long, (0.6,), COUNT, smallest=0)
    assert (cases, left.at) == ([], 0.6)
    assert "standing instructions" in left.reason


@pytest.mark.parametrize("name", KNOWN_WAYS)
@pytest.mark.parametrize("share", [0.8, 0.6, 0.4])
def test_every_way_gets_down_to_the_target_and_leaves_the_request(name: str, share: float) -> None:
    found = case()
    target = int(share * found.tokens)
    to_target = KNOWN_WAYS[name].to_target
    assert to_target is not None
    messages = to_target(found, target)
    assert found.size_of(messages) <= target
    assert messages[0] == found.before.messages[0]


@pytest.mark.parametrize("name", [name for name in KNOWN_WAYS if name != "summary"])
def test_what_fits_stays_as_it_is(name: str) -> None:
    found = case()
    to_target = KNOWN_WAYS[name].to_target
    assert to_target is not None
    messages = to_target(found, found.tokens)
    assert tuple(messages) == found.before.messages
    assert found.questions(messages) == Recall(Score(8, 8), Score(0, 0), Score(4, 4))


def test_first_lines_keep_what_the_first_lines_say() -> None:
    found = case()
    head = BASELINES["head"].to_target
    assert head is not None
    messages = head(found, found.tokens // 2)
    assert all(2 < lines < 21 for lines in result_lines(messages))
    assert found.questions(messages).facts == Score(8, 4)


def test_masking_begins_with_the_oldest_result_and_keeps_the_calls() -> None:
    found = case()
    mask = BASELINES["mask"].to_target
    assert mask is not None
    messages = mask(found, int(found.tokens * 0.6))
    assert result_lines(messages) == [1, 1, 41, 41]
    assert found.questions(messages) == Recall(Score(8, 4), Score(0, 0), Score(4, 4))


def test_dropping_the_oldest_drops_calls_with_their_results() -> None:
    found = case()
    oldest = BASELINES["oldest"].to_target
    assert oldest is not None
    messages = oldest(found, int(found.tokens * 0.6))
    assert list(messages) == [found.before.messages[0], *found.before.messages[5:]]
    assert found.questions(messages) == Recall(Score(8, 4), Score(0, 0), Score(4, 2))


def test_the_newest_results_are_not_masked() -> None:
    turns = [message for number in range(12) for message in read_turn(f"t{number}", f"f{number}", shown(number))]
    transcript = anthropic(user("Look."), *turns, user("Well?"), assistant("first_0 and first_11"), user("Yes."))
    (found,), _ = cases_of(transcript, (0.95,), COUNT, smallest=0)
    ((_, but_newest),) = BASELINES["mask"].as_is
    assert result_lines(but_newest(found)) == [1, 1, *(41,) * 10]
    assert result_lines(mask_but_newest(found, keep=11)) == [1, *(41,) * 11]
    assert result_lines(mask_but_newest(found, keep=20)) == [*(41,) * 12]


def test_the_extraction_keeps_what_was_not_said_elsewhere() -> None:
    found = case()
    lines, summary = EXTRACTION["lines"].to_target, EXTRACTION["summary"].to_target
    assert lines is not None
    assert summary is not None
    assert found.questions(lines(found, found.tokens // 2)).facts == Score(8, 8)
    assert found.questions(summary(found, found.tokens // 2)) == Recall(Score(8, 8), Score(0, 0), Score(4, 0))


# Results of a message and calls of several kinds: nothing is left alone that belongs together.
def test_parallel_calls_go_together() -> None:
    calls = assistant([call("x", file_path="a"), call("y", file_path="b")])
    results = user([result("x", shown(0)), result("y", shown(1))])
    transcript = anthropic(
        user("Look."), calls, results, assistant("Well, well."), user("So?"), assistant("first_0 it is")
    )
    (found,), _ = cases_of(transcript, (0.7,), COUNT, smallest=0)
    oldest = BASELINES["oldest"].to_target
    assert oldest is not None
    messages = oldest(found, found.tokens - 10)
    assert [message.index for message in messages] == [0, 3]


def _nothing(case: Case, target: int) -> Sequence[Message]:
    return ()


def _fails(case: Case, target: int) -> Sequence[Message]:
    raise CondenseError("It cannot do that.")


def test_a_way_is_measured_at_every_cut_and_budget() -> None:
    clock = numbers()
    done: list[float] = []
    found = evaluate(
        work(),
        [Way("nothing", _nothing, (("as it is", lambda case: case.before.messages),)), Way("fails", _fails)],
        budgets=(0.5, 0.3),
        cuts=(0.5,),
        smallest=0,
        name="work",
        clock=lambda: float(next(clock)),
        done=done.append,
    )
    (cut,) = found.cuts
    before = case()
    assert (found.name, found.tokens) == ("work", COUNT.transcript(work()))
    assert (cut.messages, cut.tokens, cut.facts, cut.lines, cut.files) == (9, before.tokens, 8, 0, 4)
    whole, empty, _, failed, _ = cut.points
    everything = Recall(Score(8, 8), Score(0, 0), Score(4, 4))
    assert whole == Point("nothing", "as it is", None, before.tokens, 1.0, everything, 1.0)
    nothing = Recall(Score(8, 0), Score(0, 0), Score(4, 0))
    assert empty == Point("nothing", "to 50%", 0.5, 0, 0.0, nothing, 1.0)
    assert failed == Point("fails", "to 50%", 0.5, 0, 0.0, None, 1.0, "It cannot do that.")
    assert done == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_a_target_is_a_share_of_what_lies_before_the_cut() -> None:
    targets: list[int] = []

    def asked(case: Case, target: int) -> Sequence[Message]:
        targets.append(target)
        return case.before.messages

    evaluate(work(), [Way("any", asked)], budgets=(0.5, 0.25), cuts=(0.5,), smallest=0)
    assert targets == [case().tokens // 2, case().tokens // 4]


def test_a_configuration_runs_as_it_is_and_to_each_budget() -> None:
    suppressed = configuration(one_pass())
    way = configured("mine", suppressed)
    found = case()
    ((name, as_is),) = way.as_is
    assert name == "as it is"
    assert result_lines(as_is(found)) == [1, 1, 1, 41]
    assert way.to_target is not None
    assert result_lines(way.to_target(found, int(found.tokens * 0.8))) == [1, 41, 41, 41]


# To a target presets work alike as long as they begin alike, unless a pass behind the target runs all the same.
def test_what_configurations_do_alike_to_a_target_is_done_once() -> None:
    found, presets = case(), {name: load_preset(name) for name in ("balanced", "speed", "quality")}
    asked = presets["speed"].passes[1]
    presets["unnamed"] = replace(presets["speed"], name="")
    presets["cut"] = replace(presets["speed"], passes=(presets["speed"].passes[0], replace(asked, id=CUT)))
    target = int(found.tokens * 0.6)
    left = {}
    for name, each in presets.items():
        to_target = configured(name, each).to_target
        assert to_target is not None
        left[name] = to_target(found, target)
        assert left[name] == to_target(case(), target)
    assert left["speed"] is left["balanced"] is left["unnamed"]
    assert left["quality"] is not left["balanced"] is not left["cut"]


@pytest.mark.slow
def test_the_package_measures_presets_and_configurations_by_their_names() -> None:
    mine = {"mine": configuration(one_pass())}
    found = condense_cli.evaluate(
        work(), presets=["speed"], configurations=mine, against=("head",), budgets=(0.5,), cuts=(0.5,), smallest=0
    )
    names = [(point.way, point.setting) for point in found.cuts[0].points]
    assert names == [
        ("speed", "as it is"),
        ("speed", "to 50%"),
        ("mine", "as it is"),
        ("mine", "to 50%"),
        ("first lines", "to 50%"),
    ]
    assert [(setting.way, setting.setting) for setting in found.summary.settings] == names
    assert {at.way: at.facts for at in found.summary.at_size}["first lines"] == pytest.approx(0.5, abs=0.02)
    assert {point.way for point in condense_cli.evaluate(work(), against=(), smallest=0).cuts[0].points} == set(
        preset_names()
    )


def test_the_package_measures_the_witnesses_that_are_named() -> None:
    found = condense_cli.evaluate(
        work(), presets=["speed"], against=(), witnesses=["grounding"], cuts=(0.5,), smallest=0
    )
    assert [list(point.witnesses) for point in found.cuts[0].points] == [["grounding"]] * 4
    with pytest.raises(UsageError, match="no measure named 'bit'"):
        condense_cli.evaluate(work(), witnesses=["bit"])


@pytest.mark.slow
def test_files_are_measured_in_their_order_by_one_process_or_two(tmp_path: Any) -> None:
    names = []
    for number in range(3):
        path = tmp_path / f"{number}.json"
        path.write_bytes(work().source.data)
        names.append(str(path))
    names[1:1] = [str(tmp_path / "missing.json")]
    plan = Plan((("mine", configuration(one_pass())),), ("mask",), (0.5,), (0.5,), 0)
    alone, seen = evaluate_files(names, plan), list[float]()
    together = evaluate_files(names, plan, jobs=2, done=seen.append)
    assert [one.name for one in together] == names
    assert isinstance(together[1], Unread)
    assert "missing.json" in together[1].reason
    assert seen == [1, 2, 3, 4]
    assert [_without_seconds(one) for one in together] == [_without_seconds(one) for one in alone]


def _without_seconds(found: Evaluated | Unread) -> object:
    if isinstance(found, Unread):
        return found
    return [[(point.way, point.tokens, point.recall) for point in cut.points] for cut in found.cuts]
