"""Independent parts of Live: reported usage, policies, digests of requests."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from build import assistant, conversation, text, user
from msgspec.structs import replace

from condense_cli import Live
from condense_cli.errors import UsageError
from condense_cli.live.deciding import DecisionRequest
from condense_cli.live.policies import Economic, Moment, Outcome, Share, Tokens, break_even, policy_named
from condense_cli.live.requests import Request, tokens_of, with_breakpoints
from condense_cli.live.state import LastRequest, Memory, StateFile
from condense_cli.money.economics import NEVER, Rates

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
    # The least and the most that there is.
    assert policy_named("economic:0") == Economic(0)
    assert policy_named("share:1") == Share(1)


@pytest.mark.parametrize("name", ["", "cheap", "tokens", "tokens:0", "share:0", "share:2", "economic:x", "economic:-1"])
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
    older = [*reversed(marked[:-1])][: room - len(newest) - len(ours)]
    assert found == sorted([*newest, *ours, *older])


# Messages that did not change are not read again.
def test_what_is_known_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = conversation()
    before = Request(messages)
    read: list[Any] = []
    monkeypatch.setattr("condense_cli.live.requests._known", lambda *given: read.append(given))
    assert Request(messages, before.known).known == before.known
    assert read == []


# A conversation is taken to go on for a third of its requests so far, where nothing else is said.
def test_economic_looks_back() -> None:
    moment = Moment(used=100_000, suffix=50_000, older=40_000, fresh=0, turns=45, window=None, is_cold=False)
    outcome = Outcome(before=100_000, after=60_000, prefix=10_000)
    assert policy_named("economic").pays(outcome, Decimal(15), moment)
    assert not policy_named("economic").pays(outcome, Decimal(16), moment)
    assert not policy_named("economic:20").pays(outcome, Decimal(21), moment)


@pytest.mark.parametrize(("after", "is_enough"), [(99_500, False), (95_600, False), (95_000, True)])
def test_a_small_saving_is_not_enough(after: int, is_enough: bool) -> None:
    assert Outcome(before=100_000, after=after, prefix=10_000).is_enough is is_enough


@pytest.mark.parametrize(("saved", "is_enough"), [(1_000, True), (999, False)])
def test_the_least_that_is_saved(saved: int, is_enough: bool) -> None:
    assert Outcome(before=10_000, after=10_000 - saved, prefix=1_000).is_enough is is_enough
    assert policy_named("tokens:1").pays(Outcome(10_000, 10_000 - saved, 0), Decimal(0), MOMENT) is is_enough


MOMENT = Moment(used=50_000, suffix=40_000, older=10_000, fresh=0, turns=8, window=100_000, is_cold=False)


@pytest.mark.parametrize("policy", ["economic", "tokens:50000", "share:0.5"])
def test_policies_begin_at_their_limits(policy: str) -> None:
    assert policy_named(policy).due(MOMENT)
    is_economic = policy == "economic"
    assert not policy_named(policy).due(replace(MOMENT, older=9_999 if is_economic else 3_999))
    assert bool(policy_named(policy).due(replace(MOMENT, used=49_999))) is is_economic
    assert bool(policy_named(policy).due(replace(MOMENT, turns=7))) is not is_economic
    assert policy_named(policy).due(replace(MOMENT, turns=7, older=4_000, is_cold=True))


def test_without_a_window_no_share_is_due() -> None:
    assert not policy_named("share:0.5").due(replace(MOMENT, window=None))


def test_what_saves_nothing_never_pays() -> None:
    for is_cold in (False, True):
        moment = replace(MOMENT, is_cold=is_cold)
        assert break_even(Outcome(before=100, after=100, prefix=0), moment, RATES) == NEVER
        assert break_even(Outcome(before=100, after=99, prefix=0), moment, RATES) < NEVER


def test_a_window_is_full_at_its_limit() -> None:
    asked = [
        DecisionRequest(Request([]), (), replace(MOMENT, used=used), None, 0.0, 0)
        for used in (0, 99_999, 100_000, 100_001)
    ]
    assert [each.is_too_large for each in asked] == [False, False, False, True]
    limit = asked[0].limit or 0
    for used, is_over in ((limit, False), (limit + 1, True)):
        assert replace(asked[0], moment=replace(MOMENT, used=used)).is_over is is_over
    assert not replace(asked[0], moment=replace(MOMENT, window=None)).is_over


def test_requests_are_counted_by_their_answers() -> None:
    assert Request(conversation(6)).answers == 7


class Watching:
    """A policy that notes each moment, and does nothing."""

    renews = False

    def __init__(self) -> None:
        self.moments: list[Moment] = []

    def due(self, moment: Moment) -> str:
        self.moments.append(moment)
        return ""

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return False


def moment_of(state: Any, messages: list[Any], **more: Any) -> Moment:
    """The moment of a request in a process of its own."""
    policy = Watching()
    Live(policy=policy, state=state, format="anthropic").fit(messages, **{"now": 0.0, "model": OPUS, **more})
    return policy.moments[-1]


OPUS = "claude-opus-4-6"


def billed(checksum: str) -> list[Any]:
    line = f"x-anthropic-billing-header: cc_version=2.1.332; cch={checksum};"
    mark = {"cache_control": {"type": "ephemeral"}} if checksum > "b" else {}
    return [{"type": "text", "text": line}, {"type": "text", "text": "You are good.", **mark}]


# Whether the cache is cold is known by the request before, whichever process sent it.
@pytest.mark.parametrize(
    ("more", "is_cold"),
    [
        ({}, False),
        ({"now": 299.0}, False),
        ({"now": 301.0}, True),
        ({"model": "claude-opus-4-5"}, True),
        ({"system": "You are bad."}, True),
        ({"tools": [{"name": "another"}]}, True),
        ({"system": billed("c")}, False),  # Another checksum, and a mark that moved.
    ],
)
def test_a_process_knows_the_request_before(tmp_path: Path, more: dict[str, Any], is_cold: bool) -> None:
    messages = conversation(9)
    for state in (Memory(), tmp_path / "live.db"):
        given = {"system": billed("a"), "tools": [{"name": "one"}]}
        first = moment_of(state, messages[:-4], **given)
        assert (first.is_cold, first.fresh) == (False, first.suffix)  # Nobody knows.
        found = moment_of(state, messages, **{**given, **more})
        assert (found.is_cold, 0 < found.fresh < found.suffix) == (is_cold, True)


# A fork shares what was before it; what the client sent behind its last mark may be gone.
def test_a_request_that_shares_a_part_with_the_one_before() -> None:
    state, messages = Memory(), conversation(9)
    marked = [*messages[:-1], {**messages[-1], "content": [{**text("x"), "cache_control": {"type": "ephemeral"}}]}]
    moment_of(state, [*marked, user("A private note.")])
    found = moment_of(state, [*marked, assistant("Yes."), user("More.")])
    assert not found.is_cold
    assert found.fresh < found.suffix / 2
    live = Live(policy=(policy := Watching()), format="anthropic")
    for each in (messages, [*messages[:-3], user("Another way.")]):
        live.fit(each, now=0.0)
    assert policy.moments[-1].fresh < policy.moments[-1].suffix / 2


def test_only_the_newest_requests_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.live.state.MOST_REQUESTS", 2)
    for state in (Memory(), StateFile(tmp_path / "live.db")):
        before = None
        for n in range(4):
            made = LastRequest(n, f"prefix {n}", float(n), None, "")
            state.sent(made, before if n == 2 else None)
            before = made
        assert [each.messages for each in state.requests()] == [3, 2]
