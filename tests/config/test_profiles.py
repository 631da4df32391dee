"""Profiles: what a user's own configuration may say, and what nobody else may."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from condense_cli.config.loading import parse_configuration
from condense_cli.config.own import UserConfiguration, load_user_configuration, parse_user_configuration
from condense_cli.config.preset_folders import user_configuration_path
from condense_cli.config.profiles import BUILT_IN, DEFAULT, OFFLINE, PriceOverride, Profile
from condense_cli.errors import ConfigurationError
from condense_cli.money.prices import context_window, price_of

EVERYTHING = """
profile: local
allow_calls: true
profiles:
  local:
    api: openai
    model: qwen3:8b
    base_url: http://localhost:11434/v1
    context_window: 32768
    max_parallel_calls: 1
    price: {input: 0, output: 0.05}
    threshold: -1
  myGateway:
    api: anthropic
    model: claude-sonnet-5
    baseUrl: https://gateway.example.com
    keyVariable: GATEWAY_KEY
    timeoutSeconds: 30
    contextWindow: 200000
"""


def test_a_users_configuration() -> None:
    user = parse_user_configuration(EVERYTHING, "condense.yaml")
    assert (user.profile, user.allow_calls) == ("local", True)
    local = user.profiles["local"]
    assert local.origin == "condense.yaml:5"
    assert local.profile.price == PriceOverride(input=Decimal(0), output=Decimal("0.05"))
    gateway = user.profiles["myGateway"].profile
    assert (gateway.variable, gateway.host, gateway.timeout_seconds) == ("GATEWAY_KEY", "gateway.example.com", 30)
    assert BUILT_IN.keys() < user.profiles.keys()


def test_without_a_file_there_is_what_is_built_in() -> None:
    user = load_user_configuration()
    assert user == UserConfiguration()
    assert user.allow_calls is False
    assert user.profiles.keys() == BUILT_IN.keys()


def test_the_file_is_found_in_the_users_folder(isolated_home: Path, tmp_path: Path, monkeypatch: Any) -> None:
    assert user_configuration_path().is_relative_to(isolated_home)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert user_configuration_path() == tmp_path / "condense" / "condense.yaml"
    (tmp_path / "condense").mkdir()
    (tmp_path / "condense" / "condense.yaml").write_text("profile: gpt-4o-mini\n")
    assert load_user_configuration().profile == "gpt-4o-mini"


def test_an_empty_file_says_nothing() -> None:
    assert parse_user_configuration("# nothing yet\n", "f") == UserConfiguration()


# Every error names the file, the line and the column, and what to do.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- a", "f:1:1: expected a mapping"),
        ("profle: x", "f:1:1: unknown key 'profle'"),
        ("allow_calls: 1", "f:1:1: expected true or false"),
        ("profile: gpt-4o-mni", "f:1:1: there is no profile 'gpt-4o-mni'"),
        ("profiles:\n  a:\n    api: antropic", "f:3:5: 'antropic' is not one of anthropic, openai, offline"),
        ("profiles:\n  a:\n    api: openai", "f:2:3: the key 'model' is missing"),
        ("profiles:\n  a:\n    model: m", "f:2:3: the key 'api' is missing"),
        ("profiles:\n  a:\n    api: openai\n    modle: m", "f:4:5: unknown key 'modle'"),
        ("profiles:\n  a: {api: openai, model: m, max_parallel_calls: 0}", "f:2:30: expected a whole number of at le"),
        ("profiles:\n  a: {api: openai, model: m, price: {input: -1}}", "f:2:30: a price must be 0 or more"),
        ("profiles:\n  a: {api: openai, model: m, price: {input: .nan}}", "f:2:30: a price must be 0 or more"),
        ("profiles:\n  a: {api: openai, model: m, base_url: ftp://x, context_window: 9}", "f:2:30: the address must"),
        ("profiles:\n  a: {api: openai, model: m, base_url: http://x}", "f:2:3: a profile with base_url needs context"),
        (
            "profiles:\n  a: {api: anthropic, model: m, base_url: http://x/v1, context_window: 9}",
            "f:2:33: the address of",
        ),
        ("profiles:\n  a: {api: openai, model: m, key_variable: sk-123-456}", "f:2:30: this is not the name of an env"),
        ("profiles:\n  a b: {api: openai, model: m}", "f:2:3: 'a b' cannot be the name of a profile"),
        ("profiles:\n  a: {api: offline}", "f:2:7: offline is built in"),
        ("profiles:\n  offline: {api: openai, model: m}", "f:2:13: offline is built in"),
    ],
)
def test_mistakes_in_a_users_configuration(text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_user_configuration(text, "f")
    assert caught.value.message.startswith(expected)


def test_a_key_in_a_file_is_refused_without_being_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_user_configuration("profiles:\n  a: {api: openai, model: m, key_variable: sk-123-456}", "f")
    assert "sk-123" not in caught.value.message + caught.value.hint


# A cloned repository must not be able to send a session anywhere.
@pytest.mark.parametrize(
    ("text", "where"),
    [
        (
            "name: x\nprofiles:\n  gpt-4o-mini: {api: openai, model: m, base_url: http://evil.example}",
            "project.yaml:2:1",
        ),
        ("name: x\nallow_calls: true", "project.yaml:2:1"),
        ("allowCalls: true", "project.yaml:1:1"),
        ("base_url: http://evil.example", "project.yaml:1:1"),
        ("key_variable: AWS_SECRET_ACCESS_KEY", "project.yaml:1:1"),
        (
            "passes:\n- id: a\n  selection: {type: preserve_recent, keep_recent_count: 1}\n  mode: batch\n"
            "  batch_config:\n    operation: summarize\n    summarization_config:\n      base_url: http://evil.example",
            "project.yaml:8:7",
        ),
    ],
)
def test_a_project_or_preset_cannot_decide_where_a_session_goes(text: str, where: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, "project.yaml")
    assert caught.value.message.startswith(f"{where}: the key ")
    assert "your own configuration" in caught.value.message


def test_a_project_may_name_a_profile() -> None:
    assert parse_configuration("profile: gpt-4o-mini").profile == "gpt-4o-mini"


@pytest.mark.parametrize("name", sorted(BUILT_IN.keys() - {OFFLINE, DEFAULT}))
def test_built_in_profiles_have_a_price_a_window_and_a_key(name: str) -> None:
    from datetime import UTC, datetime

    profile = BUILT_IN[name]
    assert price_of(profile.model, datetime(2026, 8, 1, tzinfo=UTC)) is not None
    assert context_window(profile.model)
    assert profile.variable in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")
    assert profile.base_url is None


# The key of a vendor goes to that vendor; another server gets the key that its profile names, or none.
def test_which_key_goes_where() -> None:
    assert Profile(api="openai", model="m").variable == "OPENAI_API_KEY"
    assert Profile(api="openai", model="m", base_url="http://localhost:1/v1").variable is None
    assert Profile(api="openai", model="m", base_url="https://x.example/v1", key_variable="X_KEY").variable == "X_KEY"
    assert Profile(api="openai", model="m", key_variable=None).variable is None
