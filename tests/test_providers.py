"""The template of providers, and the registry: what a provider need not do itself, and what a broken one cannot do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from build import anthropic, assistant, call, configuration, conversation, result, user
from msgspec.structs import replace
from summarizers import Failing, Short

from condense_cli import api
from condense_cli.config.models import Configuration, LosslessConfig, NativeConfig
from condense_cli.config.provider_settings import ProviderSettings
from condense_cli.config.yaml_reading import read_yaml
from condense_cli.errors import ConfigurationError, UsageError
from condense_cli.llm.spending import Spent
from condense_cli.llm.summarizer import Used
from condense_cli.markers import SummaryMark, parse_summary
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.offline import Offline
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import Outcome, Task
from condense_cli.providers.base import Capabilities, Provider
from condense_cli.providers.installed import Found
from condense_cli.providers.registry import BUILT_IN, Registry
from condense_cli.providers.run import Context, Run
from condense_cli.tokens import Counter
from condense_cli.transcript import Message

TRANSCRIPT = anthropic(*conversation(8), user("And now?"))


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lines: int = 3


class Mine(Provider[Limits]):
    """Cuts results to some lines, unless a test says what it does."""

    id = "mine"
    name = "Mine"
    description = "Cuts results."
    capabilities = Capabilities(lossy=True)
    settings = Limits

    def compiled(self, configuration: Configuration, settings: Limits) -> Configuration:
        return replace(configuration, passes=cut(settings.lines).passes)


def cut(lines: int) -> Configuration:
    operation = {"operation": "truncate", "params": {"truncate": {"max_lines": lines}}}
    return configuration(
        {
            "id": "cut",
            "selection": {"type": "preserve_recent", "keep_recent_count": 1},
            "individual_config": {"defaults": {"tool_results": operation}},
        }
    )


class Package(msgspec.Struct):
    """What an installed package registers, and which names were loaded."""

    things: dict[str, Any]
    loaded: list[str] = []

    def providers(self) -> Sequence[str]:
        return list(self.things)

    def provider(self, name: str) -> Sequence[Found]:
        self.loaded.append(name)
        return [Found(name, "package 1.0", self.things[name])] if name in self.things else []


def registry_of(*things: Any, **settings: ProviderSettings) -> Registry:
    return Registry(settings, installed=Package({getattr(thing, "id", "mine"): thing for thing in things}, []))


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


# What is wrong with the flags or the configuration is the user's to know; what is interrupted is.
@pytest.mark.parametrize("error", [UsageError("no"), KeyboardInterrupt(), MemoryError()])
def test_other_errors_are_not_kept_back(error: BaseException) -> None:
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
    return replace(found, transcript=replace(found.transcript, messages=(replace(first, blocks=(block,)), *rest)))


def unpaired(run: Run[Limits]) -> Condensation:
    """A result whose calls went and whose results stayed."""
    found = run.pipeline(cut(3))
    messages = tuple(m for m in found.transcript.messages if not m.has_calls)
    return replace(found, transcript=replace(found.transcript, messages=messages))


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
    assert any("passes of the configuration do not run" in warning for warning in warnings)
    assert not api.condense(TRANSCRIPT, cut(3)).warnings


@pytest.mark.parametrize(
    ("keys", "warning"),
    [
        ({"provider": "native", "lossy_phase": {}}, "The phases of the configuration do not run: provider native"),
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


def test_settings_that_are_used_are_not() -> None:
    used: tuple[dict[str, Any], ...] = (
        {"provider": "lossless", "lossless": {"fallback": "native"}, "native": {}, "target_tokens": 9},
        {"provider": "truncation", "truncation": {}},
        {"lossy_phase": {}, "native": {}},
    )
    for keys in used:
        assert not api.condense(TRANSCRIPT, configuration(**keys)).warnings


# --- Estimates -------------------------------------------------------------------------------------------------------


class Planned(Short, frozen=True):
    """Calls nothing and says what each request would cost."""

    @property
    def used(self) -> list[Used]:
        return [Used("p", "m", 1, 0, 0, Spent(calls=2, tokens=70)), Used("q", "m", 1, 0, 0, Spent(calls=1, tokens=5))]


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


# --- Lossless --------------------------------------------------------------------------------------------------------

REPEATING = anthropic(
    user("Please find the bug."),
    *(m for n in range(8) for m in (assistant([call(f"t{n}", file_path="a.py")]), user([result(f"t{n}")]))),
    assistant("Found it."),
    user("And now?"),
)


def test_lossless_writes_references_alone() -> None:
    found = api.condense(REPEATING, configuration(provider="lossless", target_tokens=10))
    assert found.tokens_after < found.tokens_before
    assert {change.operation for change in found.changes} == {"refer"}
    restored = api.restore(found.transcript).transcript
    assert [block.text for _, block in restored.blocks()] == [block.text for _, block in REPEATING.blocks()]


def test_lossless_is_the_prelude_with_its_settings() -> None:
    for settings in (
        LosslessConfig(),
        LosslessConfig(keep="earliest", keep_recent=4),
        LosslessConfig(tool_parameters=True),
    ):
        prelude = {
            "keep": settings.keep,
            "keep_recent": settings.keep_recent,
            "tool_parameters": settings.tool_parameters,
        }
        ours = api.condense(REPEATING, Configuration(provider="lossless", lossless=settings))
        assert ours.transcript == api.condense(REPEATING, configuration(lossless_prelude=prelude)).transcript


# The fallback is for a target that references miss, and only where it is asked for.
def test_lossless_falls_back_to_one_summary() -> None:
    alone = api.condense(REPEATING, configuration(provider="lossless"))

    def condensed(target: int, **keys: Any) -> Condensation:
        config = configuration(provider="lossless", target_tokens=target, lossless={"fallback": "native"}, **keys)
        return api.condense(REPEATING, config, summarizer=Short())

    assert condensed(alone.tokens_after).transcript == alone.transcript
    fallen = condensed(alone.tokens_after - 1)
    assert fallen.tokens_after < alone.tokens_after
    assert len(summaries(fallen)) == 1
    kept = condensed(alone.tokens_after - 1, native={"max_messages_to_keep": 9})
    assert summaries(kept)[0].messages < summaries(fallen)[0].messages


def test_without_a_target_there_is_no_fallback() -> None:
    found = api.condense(REPEATING, configuration(provider="lossless", lossless={"fallback": "native"}))
    assert found.transcript == api.condense(REPEATING, configuration(provider="lossless")).transcript
    assert found.warnings == ("Without a target the fallback of provider lossless does not run.",)


def summaries(found: Condensation) -> list[SummaryMark]:
    return [mark for _, block in found.transcript.blocks() if (mark := parse_summary(block.text))]


def test_a_fallback_that_fails_leaves_the_references() -> None:
    config = configuration(provider="lossless", target_tokens=10, lossless={"fallback": "native"})
    found = api.condense(REPEATING, config, summarizer=Failing())
    assert found.transcript == api.condense(REPEATING, configuration(provider="lossless")).transcript
    assert found.passes[-1].status is Status.FAILED
    short = api.condense(anthropic(user("a"), assistant("b")), config)
    assert short.passes[-1].status is Status.SKIPPED


# --- The registry ----------------------------------------------------------------------------------------------------


class Unasked:
    def providers(self) -> Sequence[str]:
        raise AssertionError("the installed packages were looked at")

    def provider(self, name: str) -> Sequence[Found]:
        raise AssertionError("the installed packages were looked at")


def test_packages_are_not_looked_at_for_what_is_built_in() -> None:
    registry = Registry(installed=Unasked())
    for provider in BUILT_IN:
        assert registry.get(provider.id) is provider


def test_asking_for_one_loads_no_other() -> None:
    package = Package({"mine": Mine(), "other": object()}, [])
    assert Registry(installed=package).get("mine").id == "mine"
    assert package.loaded == ["mine"]


def test_a_class_is_as_good_as_an_instance() -> None:
    assert isinstance(registry_of(Mine).get("mine"), Mine)


def test_an_unknown_name() -> None:
    with pytest.raises(ConfigurationError, match="no provider named 'nativ'") as caught:
        registry_of(Mine()).get("nativ")
    assert "Did you mean native?" in caught.value.hint
    assert "mine" in caught.value.hint
    _, positions = read_yaml("name: x\nprovider: nativ\n", "c.yaml")
    with pytest.raises(ConfigurationError, match=r"^c\.yaml:2:1: there is no provider"):
        Registry().get("nativ", positions)


class Nameless(Mine):
    name = None  # type: ignore[assignment]


class Other(Mine):
    id = "other"


class Grabbing(Mine):
    section = "native"


@pytest.mark.parametrize("thing", [object(), None, 3, Nameless(), type("X", (), {})])
def test_a_broken_package_harms_nothing_else(thing: object) -> None:
    registry = Registry(installed=Package({"bad": thing, "mine": Mine()}, []))
    assert [entry.provider.id for entry in registry.all()] == [*(provider.id for provider in BUILT_IN), "mine"]
    (warning,) = registry.warnings
    assert "'bad' of package 1.0 cannot be used" in warning
    with pytest.raises(ConfigurationError) as caught:
        registry.get("bad")
    assert warning in caught.value.hint


@pytest.mark.parametrize(("thing", "why"), [(Other(), "calls itself 'other'"), (Grabbing(), "not its own")])
def test_a_provider_takes_no_other_ones_place(thing: Mine, why: str) -> None:
    registry = Registry(installed=Package({"mine": thing}, []))
    registry.all()
    assert why in registry.warnings[0]


def test_a_built_in_name_stays_built_in() -> None:
    class Impostor(Mine):
        id = "native"

    registry = registry_of(Impostor())
    assert registry.all()[-1].provider is BUILT_IN[-1]
    assert "'native'" in registry.warnings[0]


def test_two_packages_with_one_name() -> None:
    class Two(Package):
        def provider(self, name: str) -> Sequence[Found]:
            return [Found("mine", "a 1", Mine()), Found("mine", "b 2", Mine())]

    registry = Registry(installed=Two({"mine": None}, []))
    assert registry.all()[-1].origin == "a 1"
    assert "a 1 and b 2" in registry.warnings[0]


def test_a_provider_that_is_switched_off() -> None:
    registry = Registry({"native": ProviderSettings(enabled=False)})
    with pytest.raises(ConfigurationError, match="switched off"):
        registry.get("native")
    assert [entry.provider.id for entry in registry.all() if not entry.settings.enabled] == ["native"]


def test_priorities_order_the_list_and_choose_the_default() -> None:
    settings = {"truncation": ProviderSettings(priority=5), "smart": ProviderSettings(enabled=False)}
    registry = Registry(settings)
    assert registry.all()[0].provider.id == "truncation"
    assert registry.default == "truncation"
    assert Registry().default == "smart"
    assert Registry(default="native").default == "native"


def test_the_users_settings_are_for_configurations_without_any() -> None:
    registry = Registry({"native": ProviderSettings(config={"max_messages_to_keep": 7})})
    assert registry.configured(configuration(provider="native")).native == NativeConfig(max_messages_to_keep=7)
    own = configuration(provider="native", native={"max_messages_to_keep": 2})
    assert registry.configured(own) == own
    wrong = Registry({"native": ProviderSettings(config={"max_messages": 7})})
    with pytest.raises(ConfigurationError, match=r"^providers\.native\.config: unknown key 'max_messages'"):
        wrong.configured(configuration(provider="native"))


# --- Selectors -------------------------------------------------------------------------------------------------------


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


def test_what_a_summarizer_raises_changes_nothing() -> None:
    class Broken:
        def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
            raise ZeroDivisionError

    found = api.condense(TRANSCRIPT, configuration(provider="native"), summarizer=Broken())
    assert found.transcript is TRANSCRIPT
    assert found.error
