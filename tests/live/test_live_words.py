"""Live: what it refuses, and what its decisions say."""

from typing import Any

import pytest
from build import assistant, user
from live_conversations import conversation, live_of, turns

from condense_cli import Live
from condense_cli.errors import UsageError
from condense_cli.live.deciding import DecisionKind, DecisionRequest
from condense_cli.live.policies import Moment, Share, Tokens, policy_named
from condense_cli.live.requests import Request
from condense_cli.tokens.factor import typical_of

OPUS = "claude-opus-5-5"


@pytest.mark.parametrize(("model", "words"), [("my-model", "of my-model is not known"), (None, "is not known")])
def test_a_share_of_a_window_that_is_not_known_is_said(model: str | None, words: str) -> None:
    live = live_of(policy="share:0.05", model=model)
    fitted = live.fit(conversation(), now=0)
    assert fitted.decision.kind is DecisionKind.FAILED
    assert live.fit(conversation(), now=0).decision.kind is DecisionKind.NONE, "it is not said at every request"
    assert live.fit(conversation(20), now=0).decision.kind is DecisionKind.FAILED
    assert words in fitted.decision.reason
    assert "context_window" in fitted.decision.reason


def test_a_share_of_a_window_that_is_known_or_of_little_is_no_failure() -> None:
    assert live_of(policy="share:0.05").fit(conversation(2)).decision.kind is DecisionKind.NONE
    assert live_of(policy="share:0.02").fit(conversation(), model="claude-opus-4-6").decision.is_change
    assert live_of(policy="share:0.05", context_window=200_000).fit(conversation()).decision.is_change


# The API may count fewer tokens than we do: then a decision saves fewer of them, too.
@pytest.mark.parametrize("part", [0.02, 0.5, 0.9])
def test_what_is_left_is_told_in_the_tokens_of_the_api(part: float) -> None:
    live, messages = live_of(), conversation()
    ours = live.fit(messages, now=0, decide=False).tokens
    messages += [assistant("Yes."), user("Go on.")]
    reported = int(ours * part)
    decided = live.fit(messages, usage={"input_tokens": reported}, now=0)
    assert decided.decision.is_change
    left = decided.decision.tokens_after / decided.decision.tokens_before
    assert decided.tokens == pytest.approx(reported * left, abs=20)
    messages += [assistant("Yes."), user("Go on.")]
    assert 0 <= live.fit(messages, now=0, decide=False).tokens - decided.tokens < 20


def test_system_prompt_and_tools_stay_as_many_tokens() -> None:
    live, messages = live_of(), conversation()
    live.fit(messages, now=0, decide=False)
    messages += [assistant("Yes."), user("Go on.")]
    decided = live.fit(messages, usage={"input_tokens": 100_000}, now=0)
    saved = decided.decision.tokens_before - decided.decision.tokens_after
    assert decided.tokens == pytest.approx(100_000 - saved, abs=20)


@pytest.mark.parametrize(("format", "hint"), [("antropic", "anthropic?"), ("xml", "openai-chat"), ("codex", "openai-")])
def test_a_format_that_is_none_is_refused_at_once(format: str, hint: str) -> None:
    with pytest.raises(UsageError, match=format) as caught:
        Live(format=format)
    assert hint in caught.value.hint


@pytest.mark.parametrize("usage", ["many", {"input_toks": 1}, {"input_tokens": "7"}, object()])
def test_usage_without_a_count_is_said(usage: Any) -> None:
    live, messages = live_of(policy="tokens:900000"), conversation()
    live.fit(messages, now=0)
    fitted = live.fit(messages, usage=usage, now=0)
    assert (fitted.decision.kind, fitted.decision.reason) == (
        DecisionKind.NONE,
        "usage holds no token counts; they were estimated",
    )
    decided = live_of().fit(messages, usage=usage)
    assert decided.decision.reason == "a test; usage holds no token counts; they were estimated"


def test_usage_with_counts_is_no_matter_for_words() -> None:
    for usage in ({"input_tokens": 0}, 7):
        assert live_of(policy="tokens:900000").fit(conversation(1), usage=usage).decision.reason == ""


def test_the_threshold_is_told_once() -> None:
    moment = Moment(used=70_000, suffix=70_000, older=60_000, fresh=0, turns=5, window=200_000, is_cold=False)
    assert Share(0.29).due(moment) == "70,000 of 200,000 tokens are in use; the threshold is 29%"


def test_what_was_declined_tells_its_figures() -> None:
    live, messages = live_of(preset="lossless", policy="tokens:10000"), conversation()
    declined = live.fit(messages).decision
    assert declined.kind is DecisionKind.DECLINED
    assert declined.reason.endswith("; nothing would get smaller")
    assert declined.tokens_before == declined.tokens_after > 10_000


def test_what_is_behind_the_last_cut_is_named() -> None:
    live, messages = live_of(), conversation()
    assert live.fit(messages).decision.is_change
    messages += [assistant("Yes."), user("Go on."), assistant("Yes."), user("Go on.")]
    assert live.fit(messages).decision.reason == "a test; nothing behind the last cut would get smaller"


def test_thresholds_as_people_write_them() -> None:
    assert policy_named("tokens:60k") == policy_named("tokens:60,000") == Tokens(60_000)
    assert policy_named("share:60%") == policy_named("share:60 %") == Share(0.6)


@pytest.mark.parametrize("name", ["tokens:0k", "tokens:-5", "share:0%", "share:101%", "share:nan"])
def test_thresholds_that_are_none(name: str) -> None:
    with pytest.raises(UsageError, match="no policy"):
        policy_named(name)


# 400,000 tokens of ours are 200,000 of the API's, of which 60 percent of the limit are to stay.
@pytest.mark.parametrize(("ours", "beside", "room"), [(190_000, 10_000, 93_084), (400_000, -200_000, 206_169)])
def test_what_fits_is_told_in_our_tokens(ours: int, beside: int, room: int) -> None:
    used = ours + beside
    moment = Moment(used=used, suffix=ours, older=ours, fresh=0, turns=5, window=200_000, is_cold=False)
    asked = DecisionRequest(Request([]), (), moment, None, 0.0, beside)
    assert asked.limit == 171_808
    assert asked.room(171_808) == room


# What nobody reported is estimated in the tokens of the model, from the first request on.
def test_estimates_are_in_the_tokens_of_the_model() -> None:
    messages = [user("Look."), *turns(0, 8), assistant("Found."), user("Go on.")]
    first = {model: Live(policy="tokens:900000").fit(messages, model=model).tokens for model in (None, OPUS)}
    assert first[OPUS] == pytest.approx(first[None] * typical_of(OPUS), rel=0.01)
    live = Live(policy="tokens:900000")
    live.fit(messages, model=OPUS)
    messages += [assistant("Yes."), user("Go on.")]
    reported = live.fit(messages, model=OPUS, usage={"input_tokens": 100_000, "output_tokens": 5}).tokens
    assert reported == pytest.approx(100_005, abs=20)
