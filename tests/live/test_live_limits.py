"""Live: a limit that is stated is kept, and what goes on beside the conversation for it comes to an end."""

from typing import Any

import pytest
from build import assistant, call, read_turn, result, user
from live_conversations import finished, lines
from live_replay import Replay

from condense_cli import Live
from condense_cli.live.deciding import DecisionKind, Fitted

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


def live_of(**more: Any) -> Live:
    return Live(**{"format": "anthropic", "policy": f"tokens:{LIMIT}", "keep_reads": 40, **more})


# Files are at work when the first segment is frozen. Nothing behind it gets smaller when they no longer are.
@pytest.mark.slow
@pytest.mark.parametrize("policy", [f"tokens:{LIMIT}", "share:20%"])
def test_a_stated_limit_is_kept_by_condensing_anew(policy: str) -> None:
    live = live_of(policy=policy, context_window=5 * LIMIT)
    start = [user("Rewrite them."), *reads(20, 26), *reads(0, 4), assistant("Read."), user("Good.")]
    first, second = sent(live, [*start, *reads(10, 13)], [*writes(14), *reads(30, 34)])
    assert first.decision.kind is DecisionKind.SEGMENT
    assert second.decision.kind is DecisionKind.RENEWAL
    assert second.decision.reason.endswith("from the start")
    assert second.tokens <= LIMIT


# Nothing is frozen yet, and files at work alone are too many.
def test_files_at_work_go_before_a_stated_limit_is_passed() -> None:
    (fitted,) = sent(live_of(), [user("Read them."), *reads(0, 14)])
    assert fitted.decision.kind is DecisionKind.SEGMENT
    assert fitted.decision.reason.endswith("cut further to fit")
    assert fitted.tokens <= LIMIT
    (fitted,) = sent(live_of(policy="economic"), [user("Read them."), *reads(0, 14)])
    assert not fitted.decision.is_change


# System prompt and tools may be larger than what was stated: the messages cannot make up for them.
def test_a_limit_that_is_taken_up_already_costs_no_files() -> None:
    live, messages = live_of(), [user("Read them."), *reads(0, 5), assistant("Yes."), user("Go on.")]
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
    fits = sent(live_of(policy="tokens:4000"), start, *(reads(n, n + 4) for n in range(20, 40, 10)))
    assert min(fitted.tokens for fitted in fits) > 4_000
    assert [fitted.decision.kind for fitted in fits].count(DecisionKind.RENEWAL) <= 1


# No request waits for a try; the one for the limit is gone on with, not the first one again.
def test_a_try_for_a_limit_comes_to_an_end_beside_the_conversation() -> None:
    live = live_of(timeout=0.0)
    messages = [user("Read them."), *reads(0, 14), assistant("Yes."), user("Go on.")]
    while (fitted := live.fit(messages, now=0)).decision.kind is DecisionKind.PENDING:
        finished(live)
    assert fitted.decision.is_change
    assert fitted.tokens <= LIMIT
