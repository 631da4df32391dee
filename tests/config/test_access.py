"""Who may be called: consent first, then the names, then the keys; every way to it, without a network."""

from typing import Any

import pytest

from condense_cli.config.own import KnownProfile, UserConfiguration, parse_user_configuration
from condense_cli.config.profiles import BUILT_IN, OFFLINE, Access, Profile
from condense_cli.llm.access import AccessChoice, Permission, choose, open_access
from condense_cli.llm.client import Cause, Failure

NOTHING = Permission()
ALLOWED = Permission(allow_calls=True)
KEYS = {"FIRST": "k1", "SECOND": "k2", "ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}
PROFILES = {
    "first": Profile(api="openai", model="m", base_url="http://a.test/v1", key_variable="FIRST"),
    "second": Profile(api="anthropic", model="m", key_variable="SECOND"),
    "keyless": Profile(api="openai", model="m", base_url="http://a.test/v1"),
}


def user(**settings: Any) -> UserConfiguration:
    known = {name: KnownProfile(profile) for name, profile in {**BUILT_IN, **PROFILES}.items()}
    return UserConfiguration(profiles=known, **settings)


def chosen(
    dedicated: str | None = None,
    main: str | None = None,
    permission: Permission = ALLOWED,
    user: str = "",
) -> AccessChoice:
    return choose(dedicated, main, parse_user_configuration(user, "f"), permission, KEYS)


def name_of(choice: AccessChoice) -> str | None:
    return choice.access.name if choice.access else None


# A key in the environment permits nothing, and neither does a name in a configuration.
@pytest.mark.parametrize(
    ("dedicated", "main", "own"), [("first", None, None), (None, "first", None), (None, None, "first")]
)
def test_without_consent_nobody_is_called(dedicated: str | None, main: str | None, own: str | None) -> None:
    choice = choose(dedicated, main, user(profile=own), NOTHING, KEYS)
    assert choice.access is None
    assert choice.failure is not None
    assert choice.failure.reason is Cause.NO_CONSENT
    assert choice.is_offline
    assert choice.warnings == ()


@pytest.mark.parametrize(("permission", "allow"), [(ALLOWED, False), (NOTHING, True), (ALLOWED, True)])
def test_consent_by_the_flag_or_by_the_user(permission: Permission, allow: bool) -> None:
    choice = choose("first", None, user(allow_calls=allow), permission, KEYS)
    assert choice.access == Access("first", PROFILES["first"], "k1")
    assert choice.access.key == "k1"
    assert not choice.is_offline
    assert (choice.failure, choice.warnings) == (None, ())


def test_the_profile_of_the_command_line_stands_for_every_other() -> None:
    choice = choose("first", "first", user(profile="first"), Permission("second"), KEYS)
    assert choice.access == Access("second", PROFILES["second"], "k2")
    missing = choose("first", "first", user(profile="first", allow_calls=True), Permission("second"), {"FIRST": "k1"})
    assert missing.access is None
    assert missing.failure is not None
    assert missing.failure.reason is Cause.NO_KEY
    assert not missing.is_offline


@pytest.mark.parametrize(
    ("dedicated", "main", "own", "expected"),
    [
        ("first", "second", "keyless", "first"),
        (None, "second", "keyless", "second"),
        (None, None, "keyless", "keyless"),
    ],
)
def test_the_closest_name_is_taken(dedicated: str | None, main: str | None, own: str, expected: str) -> None:
    assert name_of(choose(dedicated, main, user(profile=own), ALLOWED, KEYS)) == expected


# Where nobody names a profile, or the closest name is offline, no consent is asked for and no further name looked at.
@pytest.mark.parametrize(("dedicated", "main"), [(None, None), (OFFLINE, "first"), (None, OFFLINE)])
@pytest.mark.parametrize("permission", [NOTHING, ALLOWED])
def test_offline_needs_no_consent(dedicated: str | None, main: str | None, permission: Permission) -> None:
    choice = choose(dedicated, main, user(), permission, KEYS)
    assert choice.access == Access(OFFLINE, BUILT_IN[OFFLINE])
    assert choice.is_offline
    assert choice.failure is None


def test_one_that_cannot_be_used_falls_back_with_a_warning() -> None:
    choice = choose("second", "none-such", user(profile="first"), ALLOWED, {"FIRST": "k1"})
    assert choice.access == Access("first", PROFILES["first"], "k1")
    assert choice.failure is None
    assert choice.warnings == (
        "The profile second needs a key, and the environment variable SECOND is not set. "
        "The profile first is used instead.",
        "There is no profile none-such. The profile first is used instead.",
    )


def test_where_none_can_be_used_the_first_reason_is_the_reason() -> None:
    choice = choose("second", "none-such", user(profile="first"), ALLOWED, {})
    assert choice.access is None
    assert not choice.is_offline
    assert choice.failure is not None
    assert choice.failure.reason is Cause.NO_KEY
    assert "SECOND" in choice.failure.what
    assert choice.warnings == (
        "There is no profile none-such.",
        "The profile first needs a key, and the environment variable FIRST is not set.",
    )


def test_a_name_is_tried_once() -> None:
    assert choose("second", "second", user(profile="second"), ALLOWED, {}).warnings == ()


# What is only planned and priced needs no key; a profile that there is not cannot be priced.
@pytest.mark.parametrize("permission", [ALLOWED, Permission("second")])
def test_a_plan_needs_no_key(permission: Permission) -> None:
    choice = choose("second", None, user(), permission, {}, is_planned=True)
    assert choice.access == Access("second", PROFILES["second"])
    assert choice.access.key is None
    assert choice.failure is None
    assert choice.warnings == (
        "The profile second needs a key, and the environment variable SECOND is not set. "
        "Set SECOND, or name another profile.",
    )
    unknown = choose("none-such", None, user(), ALLOWED, {}, is_planned=True)
    assert unknown.access is None
    assert unknown.failure is not None
    assert unknown.failure.reason is Cause.UNKNOWN_PROFILE


def test_a_plan_needs_consent() -> None:
    assert choose("second", None, user(), NOTHING, KEYS, is_planned=True).access is None


def test_an_unknown_profile_is_named_with_the_nearest() -> None:
    refused = open_access("secnd", user(), KEYS)
    assert isinstance(refused, Failure)
    assert refused.reason is Cause.UNKNOWN_PROFILE
    assert refused.what == "There is no profile secnd."
    assert "Did you mean second?" in refused.hint


@pytest.mark.parametrize("key", ["", "  ", "\n"])
def test_a_blank_key_is_none(key: str) -> None:
    refused = open_access("first", user(), {"FIRST": key})
    assert isinstance(refused, Failure)
    assert refused.reason is Cause.NO_KEY
    assert refused.detail == ""
    assert "first" in refused.what


# It would come back inside the error of the HTTP library, and so on the terminal.
@pytest.mark.parametrize("key", ["k\x00ey", "kéy", "k\ney"])
def test_a_key_that_no_key_can_be_is_refused_and_not_shown(key: str) -> None:
    refused = open_access("first", user(), {"FIRST": key})
    assert isinstance(refused, Failure)
    assert refused.reason is Cause.NO_KEY
    assert refused.detail == "(It is set, but not to a valid key.)"
    assert "FIRST" in refused.what


def test_blanks_around_a_key_go() -> None:
    opened = open_access("first", user(), {"FIRST": " k1\n"})
    assert isinstance(opened, Access)
    assert opened.key == "k1"


# The vendor's own key never goes to another server.
def test_a_profile_of_another_server_without_a_variable_sends_no_key() -> None:
    opened = open_access("keyless", user(), {**KEYS, "OPENAI_API_KEY": "sk"})
    assert isinstance(opened, Access)
    assert opened.key is None
    assert opened.profile is PROFILES["keyless"]


# `default` is whatever a pass that names no profile would use.
@pytest.mark.parametrize(
    ("dedicated", "main", "user", "expected"),
    [
        ("default", None, "", OFFLINE),
        ("default", "default", "profile: default", OFFLINE),
        ("default", "gpt-4o-mini", "profile: claude-opus-5", "gpt-4o-mini"),
        ("default", None, "profile: claude-opus-5", "claude-opus-5"),
        (None, "default", "profile: claude-opus-5", "claude-opus-5"),
        ("gpt-4o-mini", "default", "", "gpt-4o-mini"),
        ("default", None, "profile: default\nprofiles: {default: {api: openai, model: mine}}", "default"),
        ("default", "gpt-4o-mini", "profiles: {default: {api: openai, model: mine}}", "default"),
    ],
)
def test_default_stands_for_the_configured_profile(dedicated: str, main: str, user: str, expected: str) -> None:
    choice = chosen(dedicated, main, user=user)
    assert name_of(choice) == expected
    assert choice.is_offline == (expected == OFFLINE)
    assert (choice.failure, choice.warnings) == (None, ())


def test_default_on_the_command_line_is_the_users_main_profile() -> None:
    named = Permission("default")
    assert chosen("gpt-4o-mini", "gpt-4o-mini", named).is_offline
    choice = chosen("gpt-4o-mini", None, named, "profile: claude-opus-5")
    assert choice.access == Access("default", BUILT_IN["claude-opus-5"], "a")
    assert not choice.is_offline
    own = chosen(None, None, named, "profiles: {default: {api: openai, model: mine}}")
    assert own.access == Access("default", Profile(api="openai", model="mine"), "b")


def test_offline_on_the_command_line_stands_for_every_other() -> None:
    assert chosen("gpt-4o-mini", None, Permission(OFFLINE)).is_offline


def test_default_needs_consent_as_what_it_stands_for_does() -> None:
    assert chosen("default", "gpt-4o-mini", Permission()).failure is not None
    assert chosen("default", None, Permission()).failure is None


def test_claude_haiku_needs_no_version() -> None:
    assert BUILT_IN["claude-haiku"] == BUILT_IN["claude-haiku-5-5"]
    assert name_of(chosen("claude-haiku")) == "claude-haiku"


def test_a_plan_uses_the_profile_that_a_run_would_fall_back_to() -> None:
    choice = choose("second", "first", user(), ALLOWED, {"FIRST": "k1"}, is_planned=True)
    assert name_of(choice) == "first"
