"""The parts of Live that stand alone: reported usage, policies, digests of requests."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from build import conversation, user

from condense_cli import Live
from condense_cli.errors import UsageError
from condense_cli.live.breakpoints import with_breakpoints
from condense_cli.live.policies import Economic, Moment, Outcome, Share, Tokens, break_even, policy_named
from condense_cli.live.requests import Request
from condense_cli.live.usage import tokens_of
from condense_cli.money.economics import Rates

RATES = Rates(Decimal("1.25"), Decimal("0.1"))


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"input_tokens": 1, "cache_read_input_tokens": 2, "cache_creation_input_tokens": 3, "output_tokens": 4}, 10),
        ({"prompt_tokens": 7, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 5}}, 9),
        ({"input_tokens": 7, "output_tokens": None}, 7),
        (12, 12),
    ],
)
def test_usage_of_every_api(usage: Any, tokens: int) -> None:
    assert tokens_of(usage) == tokens


@pytest.mark.parametrize("usage", [{}, "many", True, {"input_tokens": "7"}])
def test_usage_that_is_none(usage: Any) -> None:
    with pytest.raises(UsageError):
        tokens_of(usage)


def test_policies_by_name() -> None:
    assert policy_named("economic") == Economic(10, looks_back=True)
    assert policy_named("economic:20") == Economic(20)
    assert policy_named("tokens:60000") == Tokens(60_000)
    assert policy_named("share:0.6") == Share(0.6)


@pytest.mark.parametrize("name", ["", "cheap", "tokens", "tokens:0", "share:2", "economic:x"])
def test_policies_that_are_none(name: str) -> None:
    with pytest.raises(UsageError, match="no policy"):
        Live(policy=name)


# The formula of the economics: ((w - r) / r) * rho / (1 - rho); what is new is written either way.
def test_break_even() -> None:
    moment = Moment(used=110_000, suffix=100_000, older=90_000, fresh=0, turns=5, window=None, is_cold=False)
    outcome = Outcome(before=110_000, after=60_000, prefix=10_000)
    assert break_even(outcome, moment, RATES) == Decimal("11.5")
    fresh = Moment(used=110_000, suffix=100_000, older=90_000, fresh=10_000, turns=5, window=None, is_cold=False)
    assert break_even(outcome, fresh, RATES) == Decimal("9.2")
    cold = Moment(used=110_000, suffix=100_000, older=90_000, fresh=0, turns=5, window=None, is_cold=True)
    assert break_even(outcome, cold, RATES) == 0


# The client's newest mark is never taken, the old end goes before the new one, and there are four at most.
@pytest.mark.parametrize("beside", range(5))
@pytest.mark.parametrize("marked", [[], [5], [3, 5], [2, 3, 4, 5], [3, 4]])
@pytest.mark.parametrize("ends", [[2], [1, 2]])
def test_marks_of_the_client_and_ours(beside: int, marked: list[int], ends: list[int]) -> None:
    mark = {"cache_control": {"type": "ephemeral"}}
    messages = [user([{"type": "text", "text": f"{n}", **(mark if n in marked else {})}]) for n in range(6)]
    sent = with_breakpoints(messages, ends, beside)
    found = [at for at, message in enumerate(sent) if "cache_control" in str(message)]
    if beside == 4:
        assert sent == messages
        return
    room, newest = 4 - beside, marked[-1:]
    ours = [end - 1 for end in ends][: room - len(newest)]
    older = [at for at in marked[:-1][::-1]][: room - len(newest) - len(ours)]
    assert found == sorted([*newest, *ours, *older])


# Messages that did not change are not read again.
def test_what_is_known_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = conversation()
    before = Request(messages)
    read: list[Any] = []
    monkeypatch.setattr("condense_cli.live.requests._known", lambda *given: read.append(given))
    assert Request(messages, before.known).known == before.known
    assert read == []


# A conversation is taken to go on for as long as it went, where nothing else is said.
def test_economic_looks_back() -> None:
    moment = Moment(used=100_000, suffix=50_000, older=40_000, fresh=0, turns=45, window=None, is_cold=False)
    outcome = Outcome(before=100_000, after=60_000, prefix=10_000)
    assert policy_named("economic").pays(outcome, Decimal(30), moment)
    assert not policy_named("economic").pays(outcome, Decimal(31), moment)
    assert not policy_named("economic:20").pays(outcome, Decimal(21), moment)


@pytest.mark.parametrize(("after", "is_enough"), [(99_500, False), (95_600, False), (95_000, True)])
def test_a_small_saving_is_not_enough(after: int, is_enough: bool) -> None:
    assert Outcome(before=100_000, after=after, prefix=10_000).is_enough is is_enough


def test_requests_are_counted_by_their_answers() -> None:
    assert Request(conversation(6)).answers == 7
