"""The template of providers: what a provider need not do itself, and what a broken one cannot do."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from build import anthropic, configuration, conversation, user
from msgspec.structs import replace
from provided import Limits, Mine, cut, registry_of
from summarizers import Short

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.config.yaml_reading import read_yaml
from condense_cli.core.transcript import Message
from condense_cli.errors import ConfigurationError, UsageError
from condense_cli.llm.budget import Spent
from condense_cli.llm.summarizer import ProfileUse
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.context import Context
from condense_cli.passes.offline import Offline
from condense_cli.passes.summaries import Outcome, Task
from condense_cli.providers.base import Provider, Run
from condense_cli.providers.registry import BUILT_IN
from condense_cli.tokens.counting import Counter

TRANSCRIPT = anthropic(*conversation(8), user("And now?"))


def run(provider: Any, **keys: Any) -> Condensation:
    return api.condense(TRANSCRIPT, configuration(provider="mine", **keys), registry=registry_of(provider))


# A provider that says what it does as passes does it, with its own settings or their defaults.
def test_a_provider_is_its_passes() -> None:
    for keys, lines in ({}, 3), ({"provider_config": {"lines": 7}}, 7):
        found, same = run(Mine(), **keys), api.condense(TRANSCRIPT, cut(lines))
        assert found.error is None
        assert found.transcript == same.transcript
        assert found.receipts == same.receipts
        assert found.changes


def test_a_run_has_metrics() -> None:
    ticks = iter(range(1000))
    found = api.condense(
        TRANSCRIPT, configuration(provider="mine"), registry=registry_of(Mine()), clock=lambda: float(next(ticks))
    )
    assert found.metrics
    assert (found.metrics.provider, found.metrics.version) == ("mine", "1.0.0")
    assert found.metrics.operations == {"truncate": len(found.changes)}
    assert found.metrics.seconds > 0


# Whatever the provider's own code raises: the messages are those of before, and the error says what it was.
@pytest.mark.parametrize("error", [ValueError("no such thing"), RecursionError(), KeyError("x"), AssertionError()])
def test_an_error_changes_nothing(error: Exception) -> None:
    class Broken(Mine):
        def strategy(self, run: Run[Limits]) -> Condensation:
            raise error

    found = run(Broken())
    assert found.transcript is TRANSCRIPT
    assert not found.changes
    assert found.error
    assert (found.error.provider, found.error.kind) == ("mine", type(error).__name__)
    assert "raise error" in found.error.traceback
    assert api.dump(found) == TRANSCRIPT.source.data


def test_an_error_while_settings_are_checked_says_whose_it_is() -> None:
    class Broken(Mine):
        def problems(self, settings: Limits) -> Any:
            raise ZeroDivisionError("by zero")

    with pytest.raises(ConfigurationError, match="Provider mine failed: ZeroDivisionError: by zero"):
        run(Broken())


def test_a_result_that_is_none_is_an_error() -> None:
    class Broken(Mine):
        def strategy(self, run: Run[Limits]) -> Any:
            return None

    found = run(Broken())
    assert found.transcript is TRANSCRIPT
    assert found.error


# Wrong flags or configurations are the user's to fix, so they are raised; so are interrupts.
@pytest.mark.parametrize("error", [UsageError("no"), KeyboardInterrupt(), MemoryError()])
def test_errors_of_the_user_and_interrupts_are_not_kept_back(error: BaseException) -> None:
    class Broken(Mine):
        def strategy(self, run: Run[Limits]) -> Condensation:
            raise error

    with pytest.raises(type(error)):
        run(Broken())


def grown(run: Run[Limits]) -> Condensation:
    """A result with more in it than before, whatever it says of itself."""
    found = run.pipeline(cut(3))
    (first, *rest) = found.transcript.messages
    block = replace(first.blocks[0], content="more " * 5_000, changed=True)
    return found.with_transcript(replace(found.transcript, messages=(replace(first, blocks=(block,)), *rest)))


def unpaired(run: Run[Limits]) -> Condensation:
    """A result whose calls went and whose results stayed."""
    found = run.pipeline(cut(3))
    messages = tuple(m for m in found.transcript.messages if not m.has_calls)
    return found.with_transcript(replace(found.transcript, messages=messages))


def test_a_result_that_grew_is_not_taken() -> None:
    class Growing(Mine):
        def strategy(self, run: Run[Limits]) -> Condensation:
            return grown(run)

    found = run(Growing())
    assert found.transcript is TRANSCRIPT
    assert not found.changes
    assert found.error is None
    assert any("tokens larger" in warning for warning in found.warnings)


def test_a_result_that_would_be_refused_is_not_taken() -> None:
    class Careless(Mine):
        def strategy(self, run: Run[Limits]) -> Condensation:
            return unpaired(run)

    found = run(Careless())
    assert found.transcript is TRANSCRIPT
    assert found.error
    assert found.error.kind == "RefusedResult"


def test_what_a_summarizer_raises_changes_nothing() -> None:
    class Broken:
        def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
            raise ZeroDivisionError

    found = api.condense(TRANSCRIPT, configuration(provider="native"), summarizer=Broken())
    assert found.transcript is TRANSCRIPT
    assert found.error


def test_settings_are_checked() -> None:
    class Choosy(Mine):
        def problems(self, settings: Limits) -> Any:
            if settings.lines > 99:
                yield ("lines",), f"{settings.lines} lines are no cut", "Say at most 99."

    for given, wrong in (
        ({"lines": "many"}, r"expected a whole number, got text at provider_config\.lines"),
        ({"lnes": 3}, r"unknown key 'lnes'"),
        ({"lines": 100}, r"100 lines are no cut at provider_config\.lines"),
    ):
        with pytest.raises(ConfigurationError, match=wrong):
            run(Choosy(), provider_config=given)
    value, positions = read_yaml("provider: mine\nprovider_config:\n  lines: many\n", "c.yaml")
    with pytest.raises(ConfigurationError, match=r"^c.yaml:3:3: "):
        Choosy().validate_config(msgspec.convert(value, Configuration), positions)


def test_the_schema_is_that_of_the_settings() -> None:
    schema = Mine().schema()
    assert schema["$defs"]["Limits"]["properties"]["lines"] == {"type": "integer", "default": 3}


@pytest.mark.parametrize("provider", [entry for entry in BUILT_IN if not entry.runs_passes], ids=lambda entry: entry.id)
def test_passes_that_do_not_run_are_told_of(provider: Provider[Any]) -> None:
    config = replace(cut(3), provider=provider.id)
    warnings = api.condense(TRANSCRIPT, config).warnings
    assert any("passes in the configuration are not used" in warning for warning in warnings)
    assert not api.condense(TRANSCRIPT, cut(3)).warnings


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        ({"provider": "native", "lossy_phase": {}}, "The phases in the configuration are not used by provider native"),
        (
            {"provider": "native", "truncation": {}},
            "The settings under truncation are not used: the provider is native.",
        ),
        ({"provider": "truncation", "provider_config": {"a": 1}}, "The settings under provider_config are not used"),
        ({"provider_config": {"a": 1}}, "The settings under provider_config are not used: the provider is smart."),
        ({"lossless": {}}, "The settings under lossless are not used: the provider is smart."),
    ],
)
def test_settings_that_do_nothing_are_told_of_once(keys: dict[str, Any], warning: str) -> None:
    told = api.condense(TRANSCRIPT, configuration(**keys)).warnings
    assert sum(sentence.startswith(warning) for sentence in told) == 1
    assert len(told) == 1


def test_settings_that_are_used_are_not_told_of() -> None:
    used: tuple[dict[str, Any], ...] = (
        {"provider": "lossless", "lossless": {"fallback": "native"}, "native": {}, "target_tokens": 9},
        {"provider": "truncation", "truncation": {}},
        {"lossy_phase": {}, "native": {}},
    )
    for keys in used:
        assert not api.condense(TRANSCRIPT, configuration(**keys)).warnings


class Planned(Short, frozen=True):
    """Calls nothing and says what each request would cost."""

    @property
    def used(self) -> list[ProfileUse]:
        return [
            ProfileUse("p", "m", 1, 0, 0, Spent(calls=2, tokens=70)),
            ProfileUse("q", "m", 1, 0, 0, Spent(calls=1, tokens=5)),
        ]


def context() -> Context:
    count = Counter()
    return Context(count=count, summarizer=Offline(count))


@pytest.mark.parametrize("provider", BUILT_IN, ids=lambda entry: entry.id)
def test_estimates_are_what_a_run_gives(provider: Provider[Any]) -> None:
    config = provider.default_configuration()
    found = provider.condense(TRANSCRIPT, config, context())
    estimate = provider.estimate_reduction(TRANSCRIPT, config, context())
    assert (estimate.tokens_before, estimate.tokens_after) == (found.tokens_before, found.tokens_after)
    assert provider.estimate_cost(TRANSCRIPT, config, context(), Planned()) == Spent(calls=3, tokens=75)


def test_a_selector_narrows_a_selection() -> None:
    def every_other(messages: Sequence[Message], count: Counter) -> Any:
        chosen = {message.index for message in messages if message.index % 4 == 2}
        return lambda message, block: message.index in chosen

    config = cut(3)
    (only,) = config.passes
    config = replace(config, passes=(replace(only, selection=replace(only.selection, selector="every-other")),))
    found = BUILT_IN[0].condense(
        TRANSCRIPT, config, replace(context(), selectors={"every-other": every_other}.__getitem__)
    )
    assert {change.message for change in found.changes} == {2, 6, 10, 14}
    with pytest.raises(ConfigurationError, match="no selector named 'every-other'"):
        api.condense(TRANSCRIPT, config)


def test_a_selector_that_fails_changes_nothing() -> None:
    def broken(messages: Sequence[Message], count: Counter) -> Any:
        raise AttributeError("no such thing")

    config = configuration(
        {
            "id": "a",
            "selection": {"type": "custom", "selector": "s"},
            "individual_config": {"defaults": {"tool_results": {"operation": "suppress"}}},
        }
    )
    found = BUILT_IN[0].condense(TRANSCRIPT, config, replace(context(), selectors={"s": broken}.__getitem__))
    assert found.transcript is TRANSCRIPT
    assert found.error
    assert found.error.kind == "AttributeError"
