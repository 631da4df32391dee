"""The registry of providers: built-in ones first, packages when they are asked for, the user's settings; and
what is done where condensing by itself is switched off."""

from collections.abc import Sequence
from typing import Any

import pytest
from build import anthropic, configuration, conversation
from msgspec.structs import replace
from provided import Mine, Package, registry_of
from summarizers import Short

from condense_cli import CondensationManager, api
from condense_cli.config.base import ProviderSettings
from condense_cli.config.models import Configuration, NativeConfig
from condense_cli.config.yaml_reading import read_yaml
from condense_cli.errors import ConfigurationError
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.modes.sliding_window import dropped
from condense_cli.providers.registry import BUILT_IN, FoundPlugin, Registry
from condense_cli.tokens.counting import Counter
from condense_cli.window.decision import Window
from condense_cli.window.use import Sizing


class Unasked:
    def providers(self) -> Sequence[str]:
        raise AssertionError("the installed packages were looked at")

    def provider(self, name: str) -> Sequence[FoundPlugin]:
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


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
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


def test_of_two_packages_with_one_name_the_first_counts() -> None:
    class Two(Package):
        def provider(self, name: str) -> Sequence[FoundPlugin]:
            return [FoundPlugin("mine", "a 1", Mine()), FoundPlugin("mine", "b 2", Mine())]

    registry = Registry(installed=Two({"mine": None}, []))
    assert registry.all()[-1].origin == "a 1"
    assert "a 1 and b 2" in registry.warnings[0]


def test_a_provider_that_is_switched_off_is_not_given() -> None:
    registry = Registry({"native": ProviderSettings(enabled=False)})
    with pytest.raises(ConfigurationError, match="switched off"):
        registry.get("native")
    assert [entry.provider.id for entry in registry.all() if not entry.settings.enabled] == ["native"]


def test_priorities_order_the_list_and_choose_who_stands_in() -> None:
    settings = {"truncation": ProviderSettings(priority=5), "smart": ProviderSettings(enabled=False)}
    registry = Registry(settings)
    assert registry.all()[0].provider.id == "truncation"
    assert registry.active == "truncation"
    assert Registry().active == "smart"
    assert Registry(active="native").active == "native"


def test_the_users_settings_are_for_configurations_without_any() -> None:
    registry = Registry({"native": ProviderSettings(config={"max_messages_to_keep": 7})})
    assert registry.configured(configuration(provider="native")).native == NativeConfig(max_messages_to_keep=7)
    own = configuration(provider="native", native={"max_messages_to_keep": 2})
    assert registry.configured(own) == own
    wrong = Registry({"native": ProviderSettings(config={"max_messages": 7})})
    with pytest.raises(ConfigurationError, match=r"^providers\.native\.config: unknown key 'max_messages'"):
        wrong.configured(configuration(provider="native"))


@pytest.mark.parametrize("thing", [Mine(), Mine])
def test_a_provider_is_registered_and_taken_away(thing: Mine | type[Mine]) -> None:
    registry = Registry()
    registry.register(thing)
    assert isinstance(registry.get("mine"), Mine)
    assert [(entry.provider.id, entry.origin) for entry in registry.all()][-1] == ("mine", "registered")
    registry.unregister("mine")
    with pytest.raises(ConfigurationError, match="no provider named 'mine'"):
        registry.get("mine")
    assert "mine" not in [entry.provider.id for entry in Registry().all()], "other registries know nothing of it"


class Impostor(Mine):
    id = "native"


@pytest.mark.parametrize("thing", [Mine(), Impostor()])
def test_an_id_is_taken_once(thing: Mine) -> None:
    registry = registry_of(Mine())
    before = registry.get(thing.id)
    with pytest.raises(ConfigurationError) as caught:
        registry.register(thing)
    assert caught.value.message == f"There is a provider named {thing.id!r} already."
    assert caught.value.hint == f"Give it another id, or call unregister({thing.id!r}) first."
    assert registry.get(thing.id) is before
    registry.unregister(thing.id)
    assert thing.id not in [entry.provider.id for entry in registry.all()], "a package's does not come back"
    registry.register(thing)
    assert registry.get(thing.id) is thing


def test_what_is_not_there_cannot_be_taken_away() -> None:
    registry = registry_of(Mine())
    with pytest.raises(ConfigurationError) as caught:
        registry.unregister("min")
    assert caught.value.message == "There is no provider named 'min'."
    assert caught.value.hint == "Did you mean mine? Providers: lossless, mine, native, smart, truncation."
    registry.unregister("mine")
    with pytest.raises(ConfigurationError) as caught:
        registry.unregister("mine")
    assert caught.value.hint == "Providers: lossless, native, smart, truncation."


@pytest.mark.parametrize(
    ("thing", "why"),
    [
        (object(), "it is not a Provider but object"),
        (Nameless(), "it has no name"),
        (Grabbing(), "it takes the section 'native', which is not its own"),
    ],
)
def test_what_is_no_provider_is_not_registered(thing: Any, why: str) -> None:
    registry = Registry()
    with pytest.raises(ConfigurationError) as caught:
        registry.register(thing)
    assert caught.value.message == f"This cannot be registered: {why}."
    assert len(registry.all()) == len(BUILT_IN)
    assert registry.warnings == []


def test_the_active_provider_runs_where_a_configuration_names_none() -> None:
    registry = Registry()
    registry.register(Mine)
    registry.active = "mine"
    transcript = anthropic(*conversation(4))

    def ran(**given: Any) -> str:
        metrics = api.condense(transcript, registry=registry, **given).metrics
        assert metrics is not None
        return metrics.provider

    assert ran(configuration={"keep_first": 2}) == ran() == "mine"
    assert ran(configuration={"provider": "truncation"}) == "truncation"
    assert ran(configuration=configuration(provider="smart")) == "smart"
    assert api.condense(transcript, registry=registry).warnings == (), "a preset's passes would not be used"
    registry.active = "smart"
    assert ran(configuration={"keep_first": 2}) == ran() == "smart"


def test_the_active_provider_of_a_manager_may_change() -> None:
    manager = CondensationManager({"keep_first": 2}, context_window=100_000)
    manager.registry.register(Mine())
    for name in ("mine", "truncation"):
        manager.registry.active = name
        metrics = manager.condense(conversation(4), force=True).result.metrics
        assert metrics is not None
        assert metrics.provider == name


def test_only_what_can_run_is_made_active() -> None:
    registry = Registry({"native": ProviderSettings(enabled=False)})
    for name, why in (("nativ", "no provider named 'nativ'"), ("native", "switched off")):
        with pytest.raises(ConfigurationError, match=why):
            registry.active = name
        with pytest.raises(ConfigurationError, match=why):
            Registry({"native": ProviderSettings(enabled=False)}, active=name)
    assert registry.active == "smart"


def test_for_an_active_provider_that_is_gone_another_stands_in() -> None:
    registry = Registry({"lossless": ProviderSettings(priority=1)})
    registry.register(Mine())
    registry.active = "mine"
    registry.unregister("mine")
    assert registry.active == registry.get().id == "lossless"
    for entry in registry.all():
        registry.unregister(entry.provider.id)
    with pytest.raises(ConfigurationError, match="no provider named 'mine'"):
        registry.get()


MESSAGES = conversation(12)
TOKENS = Counter().transcript(anthropic(*MESSAGES))
OFF = Configuration(provider="native", auto_condense_context=False, fallback="sliding_window")


def run(configuration: Configuration, window: int | None, *, if_needed: bool = True, may: bool = True) -> Condensation:
    known = Window("model", None, window, "option", 100, None, 0)
    sizing = Sizing(lambda: known, lambda: (0, "estimated"), if_needed, lambda: may)
    return api.condense(anthropic(*MESSAGES), configuration, summarizer=Short(), sizing=sizing)


def test_over_the_limit_the_older_half_goes() -> None:
    result = run(OFF, TOKENS)
    assert dropped(result.receipts)
    assert result.is_needed
    assert result.tokens_after < result.tokens_before
    assert not any("short" in str(receipt) for receipt in result.receipts), "no summary was asked for"
    [warning] = result.warnings
    assert "auto_condense_context is false" in warning
    assert "are lost from this transcript" in warning
    assert "Nothing was done" not in warning


@pytest.mark.parametrize(
    ("configuration", "window", "may"),
    [
        (OFF, 100 * TOKENS, True),
        (OFF, None, True),
        (OFF, TOKENS, False),
        (replace(OFF, fallback="none"), TOKENS, True),
    ],
    ids=["below the limit", "an unknown window", "a dry run", "no fallback"],
)
def test_otherwise_nothing_is_done(configuration: Configuration, window: int | None, may: bool) -> None:
    result = run(configuration, window, may=may)
    assert not result.changes
    assert not result.is_needed
    assert api.dump(result) == result.before.source.data


def test_a_run_that_was_asked_for_condenses_as_ever() -> None:
    result = run(OFF, TOKENS, if_needed=False)
    assert not dropped(result.receipts)
    assert result.changes
