"""The registry of providers: built-in ones first, packages when they are asked for, the user's settings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from build import configuration
from provided import Mine, Package, registry_of

from condense_cli.config.models import NativeConfig
from condense_cli.config.provider_settings import ProviderSettings
from condense_cli.config.yaml_reading import read_yaml
from condense_cli.errors import ConfigurationError
from condense_cli.providers.installed import FoundPlugin
from condense_cli.providers.registry import BUILT_IN, Registry


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
