"""The user's own settings: their file with profiles, consent and providers, and variables of the environment.

No other file may have profiles or consent. A project's files and presets only name profiles, so that a cloned
repository cannot send a session anywhere. YAML is imported when there is a file to read. A variable is `CONDENSE_` and
a key that one word can say, or a limit of calls.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

from ..core.lazy_pattern import lazy_pattern
from ..core.wording import count_in, nearest, quoted
from ..errors import ConfigurationError
from .base import DOLLARS, HINTS, LIMITS, Limits, ProviderSettings, dollars_in, fault_of, parts_of, types_of
from .loading import Layer, Loaded, Presets, as_typed, in_words, read_text, read_values, typed_file
from .models import FileConfiguration
from .positions import KeyPath, Positions
from .preset_folders import user_configuration_path
from .profiles import BUILT_IN, DEFAULT, INSTALLED, OFFLINE, Profile

_NAME: Final = lazy_pattern(r"[A-Za-z0-9][\w.:/@-]*")
_VARIABLE: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")


class KnownProfile(Struct, frozen=True):
    """A profile and its origin: a file with its line, or None for a built-in one."""

    profile: Profile
    origin: str | None = None


class UserConfiguration(Struct, frozen=True):
    """`profile` is the main one, for passes that name none; `profiles` are the user's own and the built-in ones.

    `default` among them is the main one, or offline without one, unless the user defined one of that name.
    """

    profile: str | None = None
    allow_calls: bool = False
    profiles: dict[str, KnownProfile] = field(default_factory=lambda: _built_in())
    providers: dict[str, ProviderSettings] = field(default_factory=dict)
    limits: Limits = Limits()

    def is_placeholder(self, name: str) -> bool:
        """Whether a name refers to the profile that is configured elsewhere."""
        known = self.profiles.get(DEFAULT)
        return name == DEFAULT and (known is None or known.origin is None)


class OwnFile(FileConfiguration, frozen=True, kw_only=True):
    """What the user's own file may say: what any may, whether calls may be made and what for, profiles, providers."""

    allow_calls: bool = False
    max_cost: Decimal | None = None
    max_cost_per_conversation: Decimal | None = None
    max_cost_per_day: Decimal | None = None
    max_summary_tokens: int | None = None
    redact: bool = False
    profiles: dict[str, Any] = field(default_factory=dict)
    providers: dict[str, ProviderSettings] = field(default_factory=dict)


def load_user_configuration(path: Path | None = None) -> UserConfiguration:
    """Read the user's own configuration; without a file, the built-in one. Raises ConfigurationError."""
    path = path or user_configuration_path()
    # A file that is there and cannot be read is an error: what it says must not be passed over.
    if not os.path.lexists(path):
        return UserConfiguration()
    return parse_user_configuration(read_text(path), str(path))


def load_user_settings(path: Path, presets: Presets | None = None) -> Loaded | None:
    """Read the settings in the user's own file, or None if it has none. Raises ConfigurationError."""
    if not os.path.lexists(path):
        return None
    value, positions = _mapping(read_text(path), str(path))
    return typed_file(value, OwnFile, positions, path.parent, presets) if value else None


def parse_user_configuration(text: str, name: str) -> UserConfiguration:
    value, positions = _mapping(text, name)
    file = as_typed(value, OwnFile, positions)
    profiles = dict(_built_in())
    for key, given in file.profiles.items():
        path = ("profiles", key)
        spelled = positions.spelling(path)  # Keys of a file are read in snake_case; a name stays as it is.
        profile = as_typed(given, Profile, positions, path)
        for key_of_profile, what, hint in _problems(spelled, profile):
            raise positions.error((*path, key_of_profile) if key_of_profile else path, what, hint)
        profiles[spelled] = KnownProfile(profile, f"{name}:{positions.marks.get(path, (1, 1))[0]}")
    if file.profile is not None and file.profile not in profiles:
        raise unknown_profile(file.profile, profiles, positions)
    main = file.profile
    if profiles[DEFAULT].origin is None:
        main = None if main == DEFAULT else main
        profiles[DEFAULT] = KnownProfile(profiles[main or OFFLINE].profile)
    providers = {positions.spelling(("providers", key)): given for key, given in file.providers.items()}
    limits = Limits(**{key: getattr(file, key) for key in LIMITS})
    return UserConfiguration(main, file.allow_calls, profiles, providers, limits)


def _mapping(text: str, name: str) -> tuple[dict[str, Any], Positions]:
    value, positions = read_values(text, name)
    if value is not None and not isinstance(value, dict):
        raise positions.error((), "expected a mapping with keys such as profiles")
    value = value or {}
    for key in LIMITS:
        if fault := fault_of(key, value.get(key)):
            raise positions.error((key,), *fault)
        if key in DOLLARS and value.get(key) is not None:
            value[key] = str(value[key]).removeprefix("$")
    return value, positions


def unknown_profile(
    name: str,
    known: dict[str, KnownProfile],
    positions: Positions | None = None,
    path: KeyPath = ("profile",),
) -> ConfigurationError:
    near = nearest(name, known)
    hint = f"Did you mean {near}? " if near else ""
    hint += f"Profiles: {', '.join(known)}."
    if positions is not None:
        return positions.error(path, f"there is no profile {quoted(name)}", hint)
    return ConfigurationError(f"There is no profile {quoted(name)}.", hint)


def _built_in() -> dict[str, KnownProfile]:
    return {name: KnownProfile(profile) for name, profile in BUILT_IN.items()}


def _problems(name: str, profile: Profile) -> Iterator[tuple[str, str, str]]:
    if not _NAME.fullmatch(name):
        yield "", f"{quoted(name)} cannot be the name of a profile", "Use letters, digits and . _ : / @ -"
    if name == OFFLINE or profile.api == OFFLINE:
        if name != OFFLINE or profile.api != OFFLINE:
            yield (
                "api",
                "offline is built in and cannot be redefined",
                "Use the profile name `offline` where you want it.",
            )
        return
    if (profile.api == INSTALLED) != (profile.summarizer is not None):
        hint = "For example `{api: installed, summarizer: NAME}`."
        yield "", "api installed and the key summarizer go together", hint
        return
    if profile.api == INSTALLED:
        return
    if not profile.model:
        yield "", "the key 'model' is missing", ""
    prices = [] if profile.price is None else [value for value in astuple(profile.price) if value is not None]
    if not all(value.is_finite() and value >= 0 for value in prices):
        yield "price", "a price must be 0 or more", "Write US dollars per million tokens."
    if profile.base_url is not None:
        if not profile.base_url.startswith(("https://", "http://")):
            yield "base_url", "the address must begin with https:// or http://", ""
        if profile.api == "anthropic" and profile.base_url.rstrip("/").endswith("/v1"):
            yield "base_url", "the address of an anthropic profile ends before /v1", "Leave /v1 out."
        if profile.context_window is None:
            # Some servers cut a longer text without a word, and what they cut would be lost to the summary.
            hint = "Say how many tokens the model can read there: `context_window: 32768`."
            yield "", "a profile with base_url needs context_window", hint
    if isinstance(profile.key_variable, str) and not _VARIABLE.fullmatch(profile.key_variable):
        hint = "Write the name of an environment variable; keys themselves never belong in a file."
        yield "key_variable", "this is not the name of an environment variable", hint


_PREFIX: Final = "CONDENSE_"
_OTHERS: Final = tuple(
    f"{_PREFIX}{name}" for name in ("DEBUG", "COMPACT", "COMPACT_TOKENS", "HINTS", "HINTS_LEAST", "HINTS_TURNS")
)


@cache
def keys() -> tuple[str, ...]:
    """Return the keys of a configuration that a variable can give: those that are no mapping and no list."""
    return tuple(
        key
        for key, kind in types_of(FileConfiguration).items()
        if key not in ("name", "description") and all(map(_is_plain, parts_of(kind)))
    )


def _is_plain(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) not in (tuple, list, dict) and not (isinstance(kind, type) and issubclass(kind, Struct))


def variable_of(key: str) -> str:
    return f"{_PREFIX}{key.upper()}"


def has_variables(environment: Mapping[str, str]) -> bool:
    """Whether a variable gives a key of the configuration. An empty one gives nothing."""
    return bool(_given(environment))


def _given(environment: Mapping[str, str]) -> dict[str, str]:
    if not any(name.startswith(_PREFIX) for name in environment):  # The usual case.
        return {}
    return {key: text for key in keys() if (text := environment.get(variable_of(key), "").strip())}


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable whose name is nearly that of a known one."""
    names = sorted(name for name in environment if name.startswith(_PREFIX))
    known = [*map(variable_of, (*keys(), *LIMITS)), *_OTHERS] if names else []
    near = ((name, nearest(name, known)) for name in names if name not in known)
    return [f"There is no variable {name}. Did you mean {other}?" for name, other in near if other]


def read_variables(environment: Mapping[str, str], presets: Presets) -> Layer | None:
    """Return the values of the variables, or None if there are none. Raises ConfigurationError."""
    given = _given(environment)
    if not given:
        return None
    types = types_of(FileConfiguration)
    values = {key: _typed(key, text, types[key]) for key, text in given.items()}
    preset = values.pop("preset", None)
    names = tuple(((key,), variable_of(key)) for key in values)
    base = presets.named(preset) if preset else None
    return Layer("CONDENSE_* variables", values, base=base, assigned=names)


def _typed(key: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        if str(error).startswith("Invalid enum value"):
            what = f"{quoted(text)} is not one of {', '.join(get_args(kind))}"
        else:
            what = f"{in_words(str(error)).partition(', got')[0]}, not {quoted(text)}"
        raise ConfigurationError(f"{variable_of(key)}: {what}.") from None


def limits_in(environment: Mapping[str, str]) -> Limits:
    """Return the limits that variables set. Raises ConfigurationError."""
    given = {key: text for key in LIMITS if (text := environment.get(variable_of(key), "").strip())}
    return Limits(**{key: _limit(key, text) for key, text in given.items()})


def _limit(key: str, text: str) -> Any:
    value: Any
    if key in DOLLARS:
        value = dollars_in(text)
    elif key == "max_summary_tokens":
        value = count_in(text)
    else:
        value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise ConfigurationError(f"{variable_of(key)} cannot be {quoted(text)}.", HINTS[key])
    return value
