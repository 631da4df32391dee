"""The Python API with models: profiles, limits, summarizers and selectors as arguments; and the manager."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import model_server as played
import pytest
from build import conversation, read_turn, user
from desk import BY_MODEL, CALL, KEYS, WAYS, Desk
from model_server import ModelServer, model_server
from summarizers import Failing, Short

import condense_cli
from condense_cli import CondensationManager, api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Block, Message
from condense_cli.errors import ConfigurationError, UsageError
from condense_cli.window.decision import DecisionReason

MESSAGES = conversation(12)


@pytest.fixture
def server(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModelServer]:
    """A server whose profiles are the user's; nothing permits a call."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(desk.own.parent.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        yield server


def batch(desk: Desk, **more: Any) -> condense_cli.Condensation:
    return condense_cli.condense(condense_cli.load(desk.input), WAYS["batch"], **more)


def test_nothing_is_called_without_leave(server: ModelServer, desk: Desk) -> None:
    result = batch(desk)
    assert (server.calls, result.calls, result.cost) == (0, 0, Decimal(0))
    assert result.changes


@pytest.mark.parametrize("leave", [{"profile": "anthropic"}, {"allow_calls": True}])
def test_a_profile_writes_the_summaries(server: ModelServer, desk: Desk, leave: dict[str, Any]) -> None:
    result = batch(desk, **leave)
    assert server.paths == ["/v1/messages" if "profile" in leave else "/v1/chat/completions"]
    assert (result.calls, result.cost) == (1, CALL)
    by_pass = {one.id: (one.calls, one.cost) for one in result.passes}
    assert sum(cost for _, cost in by_pass.values()) == CALL
    assert {name for name, (calls, _) in by_pass.items() if calls} == {WAYS["batch"]["passes"][0]["id"]}
    assert BY_MODEL in str(api.dump(result))
    again = batch(desk, **leave)
    assert (server.calls, again.calls) == (1, 0), "the answer is in the cache"


@pytest.mark.parametrize("limit", [{"max_cost": 0}, {"max_cost": "$0.0001"}, {"max_summary_tokens": 10}])
def test_limits_hold(server: ModelServer, desk: Desk, limit: dict[str, Any]) -> None:
    result = batch(desk, profile="openai", **limit)
    assert server.calls == 0
    assert not result.changes
    assert any("Raise --max-cost" in warning for warning in result.warnings)
    assert batch(desk, profile="openai", max_cost=Decimal("0.5"), max_summary_tokens=100_000).calls == 1


def test_the_users_own_limits_hold_where_nothing_is_said(server: ModelServer, desk: Desk) -> None:
    desk.profiles(server, "max_cost: 0")
    assert batch(desk, profile="openai").calls == 0
    assert batch(desk, profile="openai", max_cost=1).calls == 1


def test_a_summarizer_of_ones_own(desk: Desk) -> None:
    result = batch(desk, summarizer=Short())
    assert "hundred characters." in str(api.dump(result))


@pytest.mark.parametrize(
    "arguments",
    [
        {"profile": "none"},
        {"max_cost": 1},
        {"redact": True},
        {"profile": "openai", "max_cost": "much"},
        {"profile": "openai", "max_cost": -1},
        {"profile": "openai", "max_summary_tokens": -1},
        {"profile": "openai", "summarizer": Short()},
        {"summarizer": print},
        {"selectors": {"mine": 5}},
        {"prest": "speed"},
    ],
)
def test_what_cannot_be_is_refused_with_a_hint(server: ModelServer, desk: Desk, arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        batch(desk, **arguments)
    assert caught.value.hint
    assert server.calls == 0


def reads_python(message: Message, block: Block) -> bool:
    return block.tool == "Read" and block.answers is not None


def selecting(name: str) -> dict[str, Any]:
    cut = {"operation": "suppress"}
    one = {"id": "mine", "selection": {"type": "custom", "selector": name}}
    return {"passes": [{**one, "individual_config": {"defaults": {"tool_results": cut, "message_text": cut}}}]}


def test_a_function_selects() -> None:
    messages = [user("Go."), *read_turn("a", "a.py", "text " * 200), user("note " * 200), user("Go on.")]
    transcript = condense_cli.loads(messages)
    result = condense_cli.condense(transcript, selecting("reads"), selectors={"reads": reads_python})
    assert {change.tool for change in result.changes} == {"Read"}
    nothing = condense_cli.condense(transcript, selecting("reads"), selectors={"reads": lambda message, block: False})
    assert not nothing.changes
    with pytest.raises(ConfigurationError, match="no selector"):
        condense_cli.condense(transcript, selecting("other"), selectors={})


NATIVE = {"provider": "native", "auto_condense_context_percent": 80}


def test_the_manager_decides_and_runs() -> None:
    manager = CondensationManager(NATIVE, context_window=200_000, summarizer=Short())
    left = manager.condense(MESSAGES)
    assert (left.messages, left.is_condensed, left.decision.reason) == (MESSAGES, False, DecisionReason.BELOW)
    assert left.tokens_after == left.tokens_before > 0
    due = manager.condense(MESSAGES, usage={"input_tokens": 170_000, "output_tokens": 10})
    assert due.is_condensed
    assert due.decision.reason is DecisionReason.THRESHOLD
    assert len(due.messages) < len(MESSAGES)
    assert due.tokens_after < due.tokens_before
    assert condense_cli.loads(due.messages).format == "anthropic"
    assert manager.condense(MESSAGES, tokens=170_000).messages == due.messages
    assert manager.condense(MESSAGES, force=True).messages == due.messages


def test_the_manager_falls_back_only_where_that_is_said() -> None:
    over: dict[str, Any] = {"context_window": 12_000, "summarizer": Failing()}
    failed = CondensationManager(NATIVE, **over).condense(MESSAGES, tokens=11_000)
    assert failed.messages == MESSAGES
    assert "the model is overloaded" in str(failed.result.passes) + str(failed.result.receipts)
    assert "no summary was written" in str(failed.error)
    slid = CondensationManager({**NATIVE, "fallback": "sliding_window"}, **over).condense(MESSAGES, tokens=11_000)
    assert len(slid.messages) < len(MESSAGES)
    assert "are lost from this transcript" in str(slid.result.warnings)
    assert slid.error == failed.error


def test_the_manager_says_why_a_provider_refused() -> None:
    few = CondensationManager(NATIVE, summarizer=Short()).condense(MESSAGES[:3], force=True)
    assert few.messages == MESSAGES[:3]
    assert few.error is not None
    assert few.error.provider == "native"
    assert "fewer than 5 messages" in few.error.message


def test_the_manager_names_its_providers_and_takes_one_for_a_call() -> None:
    manager = CondensationManager(model="claude-opus-4-6", provider="lossless")
    assert {"smart", "lossless", "truncation", "native"} <= {each.provider.id for each in manager.list_providers()}
    assert manager.condense(MESSAGES, force=True).result.metrics is not None
    metrics = manager.condense(MESSAGES, force=True, provider="truncation").result.metrics
    assert metrics is not None
    assert metrics.provider == "truncation"


def test_the_manager_keeps_to_its_budget(server: ModelServer) -> None:
    manager = CondensationManager(NATIVE, profile="openai", max_cost=0, model="claude-opus-4-6")
    assert manager.condense(MESSAGES, force=True).cost == 0
    assert server.calls == 0
    paid = CondensationManager(NATIVE, profile="openai", max_cost=1, model="claude-opus-4-6")
    assert paid.condense(MESSAGES, force=True).cost in (CALL, 2 * CALL)


@pytest.mark.parametrize(
    "arguments", [{"provider": "mine"}, {"profile": "none"}, {"preset": "sped"}, {"context_window": "large"}]
)
def test_a_manager_that_cannot_be_is_refused_with_a_hint(arguments: dict[str, Any]) -> None:
    with pytest.raises(UsageError) as caught:
        CondensationManager(**arguments)
    assert caught.value.hint


def test_an_unknown_window_is_said() -> None:
    with pytest.raises(UsageError, match="window"):
        CondensationManager().condense(MESSAGES)
    with pytest.raises(ConfigurationError):
        CondensationManager(model="claude-opus-4-6").condense(MESSAGES, provider="mine")


class Odd:
    pass


GOOD: dict[str, tuple[Any, ...]] = {
    "load": ("x",),
    "loads": (MESSAGES,),
    "condense": (condense_cli.loads(MESSAGES),),
    "restore": (condense_cli.loads(MESSAGES),),
    "dump": (condense_cli.loads(MESSAGES),),
    "dump_messages": (condense_cli.loads(MESSAGES),),
    "convert": (condense_cli.loads(MESSAGES), "anthropic"),
    "diff": (condense_cli.loads(MESSAGES), condense_cli.loads(MESSAGES)),
    "estimate": (condense_cli.loads(MESSAGES),),
    "evaluate": (condense_cli.loads(MESSAGES),),
    "judge_recorded": (condense_cli.loads(MESSAGES),),
    "recap": (condense_cli.loads(MESSAGES),),
    "compare": ([condense_cli.loads(MESSAGES)], {"speed": load_preset("speed")}),
    "overrides_from": (),
    "Live": (),
    "Condenser": (),
    "CondensationManager": (),
}


def flags(name: str) -> set[str]:
    """Arguments that are taken for true or false, whatever is given."""
    known = """
    lenient slim if_needed proves settles allow_calls redact lossless_only keep_thinking drop_thinking quality decide
    raw lost
    """
    return {*known.split()} & {*parameters(name)}


def parameters(name: str) -> tuple[str, ...]:
    function = getattr(condense_cli, name)
    function = getattr(function, "__init__", function) if isinstance(function, type) else function
    code = function.__wrapped__.__code__
    return tuple(each for each in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if each != "self")


# No argument ends in an error of Python's own.
@pytest.mark.parametrize("name", GOOD)
def test_arguments_of_a_wrong_type_are_refused_with_a_hint(name: str) -> None:
    function = getattr(condense_cli, name)
    for position, parameter in enumerate(parameters(name)):
        if parameter in flags(name):
            continue
        given = [*GOOD[name]]
        more: dict[str, Any] = {}
        if position < len(given):
            given[position] = Odd()
        else:
            more[parameter] = Odd()
        with pytest.raises(condense_cli.errors.CondenseError) as caught:
            function(*given, **more)
        assert caught.value.hint, (name, parameter)
    with pytest.raises(UsageError, match="no argument"):
        function(*GOOD[name], nonsense=1)
