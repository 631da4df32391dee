"""Live: how long a request waits for a decision, decisions that are prepared, and what does not fit the window."""

import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from build import assistant, call, read_turn, result, text, thinking, user
from helpers import LONG
from live_conversations import conversation, finished, lines, live_of, turns
from live_replay import Replay, as_sent
from summarizers import Short

from condense_cli import Live
from condense_cli.errors import UsageError
from condense_cli.live import deciding, freezing
from condense_cli.live.deciding import DecisionKind, Fitted, rates_of
from condense_cli.live.state import StateFile
from condense_cli.money.prices import price_of


class Held:
    """Tries that are not done before they may be."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_end = threading.Event()
        self.number = 0
        monkeypatch.setattr(deciding, "next_segment", self._try)

    def _try(self, *given: Any) -> Any:
        self.number += 1
        assert self.may_end.wait(LONG)
        return freezing.next_segment(*given)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)


def test_a_request_does_not_wait_longer_than_its_timeout(held: Held) -> None:
    live, messages = live_of(timeout=0.01), conversation()
    first = live.fit(messages, now=0)
    assert (first.decision.kind, first.messages) == (DecisionKind.PENDING, messages)
    assert "0.01 s" in first.decision.reason
    assert live.fit(messages, now=0).decision.kind is DecisionKind.PENDING
    held.may_end.set()
    finished(live)
    messages += [assistant("Yes."), user("Go on.")]
    taken = live.fit(messages, now=0)
    assert (taken.decision.kind, held.number) == (DecisionKind.SEGMENT, 1)
    assert as_sent(taken.messages) == as_sent([*live_of().fit(messages[:-2]).messages, *messages[-2:]])
    assert live.fit(messages, now=0, decide=False).messages == taken.messages


# A decision for a conversation that was rewound or edited meanwhile is none for this one.
def test_what_was_decided_for_another_conversation_is_dropped(held: Held) -> None:
    live, messages = live_of(timeout=0.01), conversation()
    live.fit(messages, now=0)
    held.may_end.set()
    finished(live)
    other = [user("Please find another bug."), *messages[1:]]
    held.may_end.clear()
    assert live.fit(other, now=0).decision.kind is DecisionKind.PENDING
    assert held.number == 2
    held.may_end.set()
    finished(live)


def test_a_decision_is_prepared_ahead_of_its_threshold(held: Held) -> None:
    held.may_end.set()
    live = live_of(policy="tokens:20000", ahead=0.8)
    kinds = []
    for number in range(1, 13):
        messages = [user("Go."), *turns(0, number)]
        before = held.number
        fitted = live.fit(messages, now=0)
        kinds.append(fitted.decision.kind)
        if fitted.decision.is_change:
            break
        if held.number or live._decider._work is not None:
            finished(live)
    assert (held.number, before) == (1, 1), "the decision was there when it was due"
    assert kinds == [DecisionKind.NONE] * (len(kinds) - 1) + [DecisionKind.SEGMENT]
    assert fitted.covered < len(messages) - 3, "it was made of fewer messages"
    assert fitted.decision.tokens_before - fitted.decision.tokens_after > 1_000


# Thinking of turns that came while a decision was worked on was thought over what is not sent any more.
def test_thinking_that_came_meanwhile_goes(held: Held, tmp_path: Path) -> None:
    messages: list[Any] = [user("Go.")]
    for n in range(8):
        asked = assistant([thinking(f"thought {n}"), call(f"t{n}", "Read", file_path=f"{n}.py")])
        messages += [asked, user([result(f"t{n}", lines(f"f{n}"))])]
    path = tmp_path / "live.db"
    live = live_of(model="claude-opus-5-5", timeout=0.01, state=path)
    replay = Replay(live, "anthropic", "claude-opus-5-5", keep_recent=2)
    replay.send(messages, now=0)
    held.may_end.set()
    finished(live)
    messages += [assistant([thinking("thought meanwhile"), text("Done.")]), user("Go on.")]
    taken = replay.send(messages, now=0)
    assert taken.decision.kind is DecisionKind.SEGMENT
    assert "thought meanwhile" not in str(taken.messages)
    messages += [assistant([thinking("thought later"), text("Done.")]), user("Go on.")]
    again = replay.send(messages, now=0, decide=False)
    assert "thought later" in str(again.messages)
    assert "thought meanwhile" not in str(again.messages)
    restarted = live_of(model="claude-opus-5-5", state=path).fit(messages, decide=False)
    assert as_sent(restarted.messages) == as_sent(again.messages)


def test_what_does_not_fit_the_window_waits(held: Held) -> None:
    live, messages = live_of(timeout=0.01, context_window=20_000, policy="tokens:900000"), conversation()
    threading.Timer(0.2, held.may_end.set).start()
    fitted = live.fit(messages, now=0)
    assert fitted.decision.is_change
    assert fitted.tokens < 20_000


# One request for which nothing may be decided goes out as the last one did, unless the API would refuse it.
def test_what_does_not_fit_the_window_is_decided_whatever_was_asked() -> None:
    messages = conversation()
    assert live_of(context_window=200_000).fit(messages, decide=False).decision.kind is DecisionKind.NONE
    fitted = live_of(context_window=20_000).fit(messages, decide=False)
    assert fitted.decision.is_change
    assert fitted.tokens < 20_000


# The originals go out only where they fit.
def test_a_state_that_cannot_be_used_is_decided_anew(tmp_path: Path) -> None:
    path, messages = tmp_path / "live.db", conversation()
    path.write_bytes(b"no database at all, but a text of some length" * 100)
    fitted = live_of(state=path, context_window=20_000).fit(messages)
    assert fitted.decision.is_change
    assert fitted.tokens < 20_000


def test_an_error_of_a_decision_beside_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> Any:
        raise RuntimeError("no")

    monkeypatch.setattr(deciding, "next_segment", fail)
    live, messages = live_of(timeout=60), conversation()
    fitted = live.fit(messages, now=0)
    assert (fitted.decision.kind, fitted.decision.reason, fitted.messages) == (
        DecisionKind.FAILED,
        "RuntimeError: no",
        messages,
    )


# The API's own figure goes before an estimate, where it is smaller, too.
def test_a_report_is_believed_where_it_is_smaller() -> None:
    live, messages = live_of(policy="tokens:20000"), conversation()
    live.fit(messages[:-2], now=0, decide=False)
    fitted = live.fit(messages, usage={"input_tokens": 12_000, "output_tokens": 50}, now=0)
    assert fitted.decision.kind is DecisionKind.NONE
    assert 12_000 < fitted.tokens < 12_100
    messages += [assistant("Yes."), user("Go on.")]
    assert live.fit(messages, usage={"input_tokens": 20_000}, now=0).decision.is_change


@pytest.mark.parametrize("tokens", [-(10**9), 0, float("inf")])
def test_a_report_that_cannot_be_is_no_report(tokens: Any) -> None:
    live, messages = live_of(policy="tokens:20000"), conversation()
    estimated = live.fit(messages[:-2], now=0, decide=False).tokens
    fitted = live.fit(messages, usage={"input_tokens": tokens}, now=0, decide=False)
    assert fitted.tokens >= estimated > 0


@pytest.mark.parametrize("messages", [None, 3, b"Hello", {"role": "user", "content": "Hello"}])
def test_what_is_no_list_is_refused_with_a_hint(messages: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Live().fit(messages)
    assert caught.value.hint


@pytest.mark.parametrize(
    "arguments",
    [{"timeout": -1}, {"timeout": "soon"}, {"ahead": 2}, {"ahead": 0}, {"keep_recent": "all"}, {"cache_life": None}],
)
def test_numbers_that_cannot_be_are_refused_with_a_hint(arguments: Any) -> None:
    with pytest.raises(UsageError) as caught:
        Live(**arguments)
    assert caught.value.hint


# A model does not write the same text twice, so what it wrote has to be kept.
def test_summaries_of_a_model_need_a_state_that_keeps_them(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="recomputed"):
        Live(summarizer=Short(), state=tmp_path / "live.db")
    Live(summarizer=Short(), state=StateFile(tmp_path / "live.db", keep=True))
    Live(summarizer=Short())


def test_a_cache_that_lives_for_an_hour_is_dearer_to_write() -> None:
    short, long = (rates_of("claude-opus-4-6", 1.8e9, is_long_lived=each) for each in (False, True))
    assert short.write is not None
    assert long.write == short.write * 8 / 5
    assert long.read == short.read
    listed = price_of("claude-opus-4-6", datetime.fromtimestamp(1.8e9, UTC))
    assert listed is not None
    assert long.write == listed.cache_write_1h
    assert rates_of(None, 1.8e9, is_long_lived=True).write == 2
    for name in ("gpt-5", "gpt-5.6"):  # One life alone, whether writing costs more than input or not.
        assert rates_of(name, 1.8e9, is_long_lived=True) == rates_of(name, 1.8e9)


LIMIT = 10_000


def reads(first: int, last: int) -> list[Any]:
    """Reads of files, some 1,300 tokens each."""
    return [message for n in range(first, last) for message in read_turn(f"r{n}", f"src/m{n}.py", lines(f"m{n}", 100))]


def writes(number: int) -> list[Any]:
    """The files are written anew: what was read of them is not at work any more."""
    found = []
    for n in range(number):
        made = call(f"w{n}", "Write", file_path=f"src/m{n}.py", content="x = 1\n")
        found += [assistant([made]), user([result(f"w{n}", "Written.")])]
    return found


def sent(live: Live, *parts: list[Any]) -> list[Fitted]:
    """One conversation, with a request after each of its parts."""
    replay, messages = Replay(live, "anthropic", keep_recent=2), []
    for part in parts:
        messages += part
        replay.send([*messages, assistant("Yes."), user("Go on.")])
    return replay.fitted


def limited(**more: Any) -> Live:
    return Live(**{"format": "anthropic", "policy": f"tokens:{LIMIT}", "keep_reads": 40, **more})


# Files are at work when the first segment is frozen. Nothing behind it gets smaller when they no longer are.
@pytest.mark.slow
@pytest.mark.parametrize("policy", [f"tokens:{LIMIT}", "share:20%"])
def test_a_stated_limit_is_kept_by_condensing_anew(policy: str) -> None:
    live = limited(policy=policy, context_window=5 * LIMIT)
    start = [user("Rewrite them."), *reads(20, 26), *reads(0, 4), assistant("Read."), user("Good.")]
    first, second = sent(live, [*start, *reads(10, 13)], [*writes(14), *reads(30, 34)])
    assert first.decision.kind is DecisionKind.SEGMENT
    assert second.decision.kind is DecisionKind.RENEWAL
    assert second.decision.reason.endswith("from the start")
    assert second.tokens <= LIMIT


# Nothing is frozen yet, and files at work alone are too many.
def test_files_at_work_go_before_a_stated_limit_is_passed() -> None:
    (fitted,) = sent(limited(), [user("Read them."), *reads(0, 14)])
    assert fitted.decision.kind is DecisionKind.SEGMENT
    assert fitted.decision.reason.endswith("cut further to fit")
    assert fitted.tokens <= LIMIT
    (fitted,) = sent(limited(policy="economic"), [user("Read them."), *reads(0, 14)])
    assert not fitted.decision.is_change


# System prompt and tools may be larger than what was stated: the messages cannot make up for them.
def test_a_limit_that_is_taken_up_already_costs_no_files() -> None:
    live, messages = limited(), [user("Read them."), *reads(0, 5), assistant("Yes."), user("Go on.")]
    live.fit(messages, now=0, decide=False)
    messages += [*reads(5, 9), assistant("Yes."), user("Go on.")]
    fitted = live.fit(messages, now=10, usage={"input_tokens": 3 * LIMIT, "output_tokens": 1})
    assert "the threshold is 10,000" in fitted.decision.reason
    assert "further" not in fitted.decision.reason
    assert fitted.tokens > 3 * LIMIT


# What the user wrote stays, whatever was stated: then nothing is rewritten again and again.
@pytest.mark.slow
def test_what_cannot_be_cut_is_not_rewritten_at_each_request() -> None:
    words = " ".join(f"Rule {n} says that value {n * n} has to be named." for n in range(300))
    start = [user(words), *reads(0, 16)]
    fits = sent(limited(policy="tokens:4000"), start, *(reads(n, n + 4) for n in range(20, 40, 10)))
    assert min(fitted.tokens for fitted in fits) > 4_000
    assert [fitted.decision.kind for fitted in fits].count(DecisionKind.RENEWAL) <= 1


# No request waits for a try; the one for the limit is gone on with, not the first one again.
def test_a_try_for_a_limit_comes_to_an_end_beside_the_conversation() -> None:
    live = limited(timeout=0.0)
    messages = [user("Read them."), *reads(0, 14), assistant("Yes."), user("Go on.")]
    while (fitted := live.fit(messages, now=0)).decision.kind is DecisionKind.PENDING:
        finished(live)
    assert fitted.decision.is_change
    assert fitted.tokens <= LIMIT
