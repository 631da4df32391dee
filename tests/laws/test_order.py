"""Law 10 on conversations with earlier summaries, compactions of their clients, and pins in between."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import laws
import pytest
from build import LONG, anthropic, assistant, configuration, read_turn, user
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES
from summary_laws import order_is_kept
from yesterday.sources import inputs

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.markers import SummaryMark
from condense_cli.core.transcript import Transcript
from condense_cli.formats import format_named, parse
from condense_cli.formats.engine.client_text import NO_REQUEST
from condense_cli.passes.condensation import Condensation
from condense_cli.tokens.counting import Counter

EARLIER = st.sampled_from([None, {"max_messages_to_keep": 6}, {"max_messages_to_keep": 12}])
"""What condensed a conversation before: nothing, or a summary behind which the rest is new work to the next run."""

PLACES = st.lists(st.integers(1, 30), max_size=3, unique=True)
SHARES = st.sampled_from([None, 0.8, 0.5, 0.3, 0.15])


@cache
def sources() -> dict[str, bytes]:
    """A session in every format that can be written, some of them compacted by their client."""
    return {name: data for name, data in inputs().items() if format_named(parse(data).format).is_writable}


def pinned_to(
    places: list[int], configured: Configuration, share: float | None, transcript: Transcript
) -> Configuration:
    """A configuration with pins on single messages, and a target that is such a share of the transcript."""
    pins = configuration(pins=[{"range": {"start": place, "end": place + 1}} for place in places]).pins
    target = None if share is None else max(1, int(Counter.of(transcript).transcript(transcript) * share))
    return replace(configured, pins=pins, target_tokens=target)


def with_new_work(earlier: Condensation) -> Transcript:
    """What a run left, as if all that follows its summaries had been said since."""
    return parse(re.sub(rb", \d+ follow", b", 0 follow", api.dump(earlier)), format=earlier.transcript.format)


def check_order(
    data: bytes, earlier: dict[str, Any] | None, places: list[int], configured: Configuration, share: float | None
) -> None:
    transcript = parse(data)
    if earlier:
        before = configuration(provider="native", native=earlier)
        first = api.condense(transcript, pinned_to(places[:1], before, None, transcript))
        order_is_kept(first)
        transcript = with_new_work(first)
    result = laws.check_all(transcript, pinned_to(places[1:], configured, share, transcript))
    assert not any("report this" in warning for warning in result.warnings)


NATIVE = configuration(provider="native", native={"max_messages_to_keep": 2})
WAYS = {**{name: load_preset(name) for name in preset_names()}, "native": NATIVE}
ANY = st.sampled_from(list(WAYS.values()))


# Messages that stay between earlier summaries and new work come where they came before, in every format.
@settings(max_examples=settings().max_examples // 2)
@given(name=st.sampled_from(sorted(sources())), earlier=EARLIER, places=PLACES, configured=ANY, share=SHARES)
def test_order_is_kept_in_every_format(
    name: str, earlier: dict[str, Any] | None, places: list[int], configured: Configuration, share: float | None
) -> None:
    check_order(sources()[name], earlier, places, configured, share)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", sorted(sources()))
def test_order_is_kept_in_every_format_by_every_way(name: str, way: str) -> None:
    for earlier, share in ((None, None), ({"max_messages_to_keep": 9}, 0.5), ({"max_messages_to_keep": 12}, 0.2)):
        check_order(sources()[name], earlier, [4, 7, 13], WAYS[way], share)


@given(data=FILES, earlier=EARLIER, places=PLACES, configured=ANY, share=SHARES)
def test_order_is_kept_in_any_conversation(
    data: bytes, earlier: dict[str, Any] | None, places: list[int], configured: Configuration, share: float | None
) -> None:
    check_order(data, earlier, places, configured, share)


# A client compacted the session, and the user typed something long after that.
@pytest.mark.parametrize("way", WAYS)
def test_an_earlier_summary_stays_in_front_of_the_work_that_followed_it(way: str) -> None:
    earlier = user(f"{SummaryMark(34, 4, 'eba847c5', NO_REQUEST)}\n{LONG}")
    reminder = user("<system-reminder>Be brief.</system-reminder>")
    old, new = ([each for n in range(12) for each in read_turn(f"{key}{n}", f"{key}_{n}.py")] for key in ("old", "new"))
    typed = [assistant("Ready."), user("Look at all parts.")]
    transcript = anthropic(earlier, reminder, *old, *typed, *new, assistant("Done."))
    assert transcript.messages[0].is_summary
    for share in (None, 0.6, 0.3):
        result = laws.check_all(transcript, pinned_to([], WAYS[way], share, transcript))
        texts = ["".join(block.text for block in message.blocks) for message in result.transcript.messages]
        assert texts.index("Look at all parts.") > next(n for n, text in enumerate(texts) if "old_0.py" in text)
