"""What holds for the measures on every transcript, generated and real."""

from __future__ import annotations

from pathlib import Path

import pytest
from generated_configurations import configurations
from hypothesis import given
from hypothesis import strategies as st
from real import SAMPLES, all_files, transcript
from strategies import FILES

from condense_cli import api
from condense_cli.api.evaluating import KNOWN_WAYS
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Message, Transcript, cut_before
from condense_cli.formats import parse
from condense_cli.lossless.decode import decode
from condense_cli.quality.cases import Case, cases_of
from condense_cli.quality.recall import Questions, Recall
from condense_cli.quality.witnesses import WITNESSES, measure
from condense_cli.tokens.counting import Counter

CONTENTS = st.sampled_from([0.3, 0.5, 0.75])


def scores(recall: Recall) -> list[int]:
    return [score.standing for score in (recall.facts, recall.edits, recall.files)]


def questions(source: Transcript, at: float) -> tuple[Questions, tuple[Message, ...]]:
    position = cut_before(source.messages, int(len(source.messages) * at))
    before = source.messages[:position]
    return Questions(before, source.messages[position:]), before


def is_all(recall: Recall) -> bool:
    return all(
        (score.standing, score.named) == (score.asked, 0) for score in (recall.facts, recall.edits, recall.files)
    )


# What nobody condensed says everything, and nothing at all says nothing.
@given(FILES, CONTENTS)
def test_all_of_it_stands_in_the_original_and_none_of_it_in_nothing(data: bytes, at: float) -> None:
    ask, before = questions(parse(data), at)
    assert is_all(ask(before))
    assert scores(ask(())) == [0, 0, 0]


# More of the original never answers less, up to files, whose last word decides.
@given(FILES, CONTENTS, st.integers(0, 12))
def test_more_messages_answer_more(data: bytes, at: float, number: int) -> None:
    ask, before = questions(parse(data), at)
    fewer, more = ask(before[:number]), ask(before[: number + 1])
    assert all(less <= much for less, much in zip(scores(fewer)[:2], scores(more)[:2], strict=True))


@given(FILES, CONTENTS)
def test_every_witness_is_one_for_everything_and_zero_for_nothing(data: bytes, at: float) -> None:
    messages = decode(parse(data).messages).messages
    position = cut_before(messages, int(len(messages) * at))
    before, after = messages[:position], messages[position:]
    assert set(measure(before, before, after, names=WITNESSES).values()) <= {1.0, None}
    assert set(measure(before, (), after, names=WITNESSES).values()) <= {0.0, None}


# Nothing that a run leaves can stand more often than it was asked, and what is named does not stand.
@given(FILES, CONTENTS, configurations())
def test_no_run_answers_more_than_was_asked(data: bytes, at: float, configuration: Configuration) -> None:
    source = parse(data)
    ask, _ = questions(source, at)
    found = ask(api.condense(source, configuration).transcript.messages)
    for score in (found.facts, found.edits, found.files):
        assert 0 <= score.standing <= score.asked
        assert score.standing + score.named <= score.asked


@pytest.mark.real
@pytest.mark.parametrize("path", [path for path in all_files() if path not in SAMPLES][::4], ids=lambda path: path.name)
def test_the_ways_to_compare_with_keep_to_their_targets_on_real_transcripts(path: Path) -> None:
    source = transcript(path)
    cases, _ = cases_of(source, (0.6,), Counter.of(source), smallest=2_000)
    for case in cases:
        assert is_all(case.questions(case.before.messages))
        # Thinking, images, short texts and the first lines stay whatever the target is.
        least = max(size(case, name, 1) for name in ("mask", "head", "ends"))
        for name in KNOWN_WAYS:
            assert size(case, name, case.tokens * 6 // 10) <= max(case.tokens * 6 // 10, least), name


def size(case: Case, name: str, target: int) -> int:
    way = KNOWN_WAYS[name].to_target
    assert way is not None
    return case.size_of(way(case, target))
