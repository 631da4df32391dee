"""One figure of what a way keeps, and which way beats which."""

import pytest
import real
from msgspec.structs import replace

from condense_cli import api
from condense_cli.api.evaluating import evaluate
from condense_cli.config.loading import load_preset
from condense_cli.config.preset_folders import preset_names
from condense_cli.quality.evaluation import Cut, Evaluated, Point, beats, expected_of, kept_by
from condense_cli.quality.recall import Recall, Score
from condense_cli.tokens.counting import Counter


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
