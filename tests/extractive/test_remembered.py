"""A conversation that is condensed again and again is read once, and comes out as if it were read anew."""

from __future__ import annotations

import pytest
from real import SAMPLES

from condense_cli import api
from condense_cli.extractive.remembered import priced_of, remember
from condense_cli.extractive.survey import Survey
from condense_cli.tokens.counting import Counter

SESSION = next(path for path in SAMPLES if path.name == "bugfix-session.jsonl")


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0.4, None, 0.4)])
def test_it_comes_out_the_same(order: tuple[float | None, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    transcript = api.load(SESSION)
    before = Counter.of(transcript).transcript(transcript)
    remembering = Counter.of(transcript)
    remember(remembering)
    read: list[Survey] = []
    survey = Survey._tell

    def reading(self: Survey) -> None:
        read.append(self)
        survey(self)

    monkeypatch.setattr(Survey, "_tell", reading)
    numbers = []
    for share in order:
        target = None if share is None else int(share * before)
        anew = api.condense(transcript, target_tokens=target, counter=Counter.of(transcript))
        read.clear()
        again = api.condense(transcript, target_tokens=target, counter=remembering)
        numbers.append(len(read))
        assert api.dump(again) == api.dump(anew)
        assert again.changes == anew.changes
    assert numbers[-1] < numbers[0]


def test_nothing_is_remembered_unless_it_is_wanted_or_where_it_is_another_conversation() -> None:
    transcript = api.load(SESSION)
    messages, count = transcript.messages[:40], Counter.of(transcript)
    assert priced_of(messages, count) is not priced_of(messages, count)
    remember(count)
    first = priced_of(messages, count)
    assert priced_of(list(messages), count) is first
    assert priced_of(messages[:30], count) is not first
    assert priced_of([*messages[1:], messages[0]], count) is not first
    assert priced_of(messages, count) is first
