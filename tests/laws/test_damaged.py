"""Damaged files, and sessions whose lines stand in odd orders: what a run writes of them reads back as it was meant."""

from random import Random
from typing import Any

import pytest
from batches import batch
from build import LONG, call, result, session, text
from claude_tree import GO, answer, reply, said
from damage import damaged, interleaved
from real import PROJECT

from condense_cli import api
from condense_cli.config.options import Overrides
from condense_cli.core.transcript import Transcript

SAMPLES = PROJECT / "sample_transcripts"
Json = dict[str, Any]
WAYS: list[dict[str, Any]] = [
    {"preset": "max"},
    {"preset": "max", "overrides": Overrides(only_tools=("Bash",))},
    {"preset": "cost", "overrides": Overrides(keep_recent=12, keep=("/pricing/",))},
    {"preset": "balanced", "overrides": Overrides(target_percent=30)},
]


def is_sound(transcript: Transcript, way: dict[str, Any]) -> bool:
    """Whether the run writes what it means at once: what it would have to leave alone, it warns of."""
    result = api.condense(transcript, **way)
    api.dump(result)
    return result.error is None and not any("left alone" in warning for warning in result.warnings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [*range(24), 244])
def test_damaged_files(seed: int) -> None:
    names = ("bugfix-session.jsonl", "bugfix-session.jsonl", "bugfix-rollout.jsonl", "bugfix-pi.jsonl")
    data = damaged((SAMPLES / names[seed % 4]).read_bytes(), Random(seed))
    transcript = api.loads(data, lenient=True)
    assert is_sound(transcript, WAYS[seed // 4 % 4])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(16), 68, 76, 116, 168, 229, 244, 280, 287])
def test_replies_among_one_another(seed: int) -> None:
    assert is_sound(session(*interleaved(Random(seed))), WAYS[seed % 4])


def reads(first: int, after: int) -> list[Json]:
    """Four reads of a long file, behind a record."""
    lines: list[Json] = []
    for number in range(first, first + 8, 2):
        above = number - 1 if lines else after
        lines += [reply(number, above, f"m{number}", call(f"read_{number}")), answer_of(number)]
    return lines


def answer_of(number: int) -> Json:
    return said(number + 1, number, [result(f"read_{number}", LONG)])


# The client answers a call without a result itself, unless the user's next word follows, which to it a summary is too.
def test_no_summary_behind_an_open_call_that_stays() -> None:
    records = [GO, reply(2, 1, "m2", text("I look")), reply(3, 2, "m2", call("open", "Bash")), *reads(4, 3)]
    transcript = session(*records, reply(12, 11, "m12", text("done")))
    assert [block.call_id for block in transcript.messages[1].blocks] == [None, "open"]
    assert not batch(transcript, pins=[{"tools": {"include": ["Bash"]}}]).changes
    assert batch(transcript).changes


# A result behind another reply is not sent; it shows that the call was answered, which would go too without one.
def test_late_results_go_along_with_their_calls() -> None:
    records = [GO, *reads(2, 1), reply(10, 9, "m10", call("a")), reply(11, 10, "m11", call("b"))]
    records += [answer(12, 11, "b"), answer(13, 12, "a"), said(14, 13, "go on"), reply(15, 14, "m15", text("done"))]
    condensation = batch(session(*records), pins=[{"range": {"start": 9}}])
    assert [block.call_id for block in api.loads(api.dump(condensation)).messages[2].blocks] == ["a"]
