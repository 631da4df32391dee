"""Choose the profile for a pass and open its client, and mask secrets before anything is sent.

A key in the environment permits nothing. `--profile NAME` permits that profile and replaces all others.
`--allow-calls`, or `allow_calls: true` in the user's own configuration, permits the profiles that a configuration
names.

Kingfisher detects several hundred kinds of keys and tokens, private keys, and passwords in addresses and commands. It
runs in this process and contacts nobody. Passwords have no recognisable form, so values assigned to names such as
`password`, `secret`, `token` or `api_key` are masked too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..config.own import UserConfiguration, unknown_profile
from ..config.profiles import OFFLINE, Access
from ..core.lazy_pattern import lazy_pattern
from ..storage.extras import missing
from .client import Cause, CountingClient, Failure, ModelRequest, ReasonNames, failure, names_of


class Permission(Struct, frozen=True):
    """Permission given on the command line: a profile, or calls in general."""

    profile: str | None = None
    allow_calls: bool = False


class AccessChoice(Struct, frozen=True):
    """Profile for a pass, or the reason why there is none. `warnings` are sentences.

    Without consent `failure` is NO_CONSENT, and the offline summarizer does the work, as for OFFLINE.
    """

    access: Access | None
    failure: Failure | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_offline(self) -> bool:
        if self.access is not None:
            return self.access.profile.api == OFFLINE
        return self.failure is not None and self.failure.reason is Cause.NO_CONSENT


def choose(
    dedicated: str | None,
    main: str | None,
    user: UserConfiguration,
    permission: Permission,
    environment: Mapping[str, str],
    *,
    is_planned: bool = False,
) -> AccessChoice:
    """Choose the profile for a pass that names `dedicated`, in a configuration with the main profile `main`.

    Falls back from `dedicated` to `main` with a warning, then to the user's main profile, then to the offline
    summarizer. If calls are only planned and priced, a missing key is a warning.
    """
    if permission.profile is not None:
        return _first_usable([permission.profile], user, environment, is_planned)
    names = (name for name in (dedicated, main, user.profile) if name is not None and not user.is_placeholder(name))
    named = list(dict.fromkeys(names))
    if not named or named[0] == OFFLINE:
        return AccessChoice(Access(OFFLINE, user.profiles[OFFLINE].profile))
    if not (permission.allow_calls or user.allow_calls):
        return AccessChoice(None, failure(Cause.NO_CONSENT))
    return _first_usable(named, user, environment, is_planned)


def open_access(name: str, user: UserConfiguration, environment: Mapping[str, str]) -> Access | Failure:
    """Look up a profile and its API key; return the reason if it cannot be used."""
    known = user.profiles.get(name)
    if known is None:
        refused = unknown_profile(name, user.profiles)
        text = failure(Cause.UNKNOWN_PROFILE, ReasonNames(profile=name))
        return Failure(text.reason, text.what, refused.hint)
    access = Access(name, known.profile)
    variable = known.profile.variable
    if variable is None:
        return access
    key = environment.get(variable, "").strip()
    if not key:
        return failure(Cause.NO_KEY, names_of(access))
    if not (key.isascii() and key.isprintable()):  # The HTTP library would quote it in its error.
        return failure(Cause.NO_KEY, names_of(access), "(It is set, but not to a valid key.)")
    return Access(name, known.profile, key)


def _first_usable(
    names: list[str], user: UserConfiguration, environment: Mapping[str, str], is_planned: bool
) -> AccessChoice:
    failures: list[Failure] = []
    for name in names:
        opened = open_access(name, user, environment)
        if isinstance(opened, Access):
            warnings = (f"{failed.what} The profile {name} is used instead." for failed in failures)
            return AccessChoice(opened, warnings=tuple(warnings))
        failures.append(opened)
    first, *others = failures
    if is_planned and first.reason is Cause.NO_KEY:
        keyless = Access(names[0], user.profiles[names[0]].profile)
        return AccessChoice(keyless, warnings=(f"{first.what} {first.hint}",))
    return AccessChoice(None, first, tuple(failed.what for failed in others))


def connect(access: Access) -> CountingClient:
    """Open a client for a profile. Importing an SDK takes up to a second."""
    match access.profile.api:
        case "anthropic":
            from .anthropic_client import AnthropicClient

            return AnthropicClient(access)
        case "openai":
            from .openai_client import OpenAIClient

            return OpenAIClient(access)
        case "offline" | "installed" as api:
            raise ValueError(f"a profile of api {api} has no server")
        case other:
            assert_never(other)


_ASSIGNED: Final = lazy_pattern(
    r"""(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|token|api[_-]?key|private[_-]?key|bearer)
    (?:\\?["'])?[ \t]*(?:[:=][ \t]*|(?<=bearer)[ \t]+)(?:\\?["'])?
    (?P<value>[^\s"'\\,;(){}\[\]<>$]{6,})""",
    re.VERBOSE | re.IGNORECASE,
)
_SHORTEST: Final = 4
"""Minimum characters of a secret: masking a shorter one would garble ordinary words."""

_PLACEHOLDER: Final = "[secret {number}]"


class Redactor:
    """Masks secrets in a run's texts; each secret has one placeholder everywhere."""

    def __init__(self, rules_folder: Path | None = None) -> None:
        """Load the detector. With a folder for compiled rules, later loads take a tenth of the time.

        Raises CondenseError if it is not installed.
        """
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError:
            raise missing("--redact needs the Python package kingfisher-secret-scanner", "redact") from None
        self._scanner: Any = Scanner(
            Rules(confidence="low", cache=rules_folder is not None, cache_dir=rules_folder), base64=False
        )
        self._numbers: dict[str, int] = {}

    @property
    def count(self) -> int:
        """Number of different secrets masked so far."""
        return len(self._numbers)

    def request(self, request: ModelRequest) -> ModelRequest:
        return replace(request, system=self.text(request.system), prompt=self.text(request.prompt))

    def hides(self, text: str) -> bool:
        """Return whether a known secret contains the text or occurs in it."""
        return any(secret in text or text in secret for secret in self._numbers)

    def text(self, text: str) -> str:
        assigned = (match["value"] for match in _ASSIGNED.finditer(text))
        # Names, types and calls are assigned to passwords too; secrets that people or machines make have digits.
        found = {*self._detected(text), *(value for value in assigned if any(char.isdigit() for char in value))}
        for secret in sorted(found, key=lambda secret: (text.find(secret), -len(secret))):
            self._numbers.setdefault(secret, len(self._numbers) + 1)
        return self.masked(text)

    def masked(self, text: str) -> str:
        """Mask all secrets known so far."""
        # Longest first: an address may contain a key. All known ones: a secret detected in one place is one everywhere.
        for secret in sorted(self._numbers, key=len, reverse=True):
            text = text.replace(secret, _PLACEHOLDER.format(number=self._numbers[secret]))
        return text

    def _detected(self, text: str) -> Iterator[str]:
        data = text.encode("utf-8", "replace")
        for finding in self._scanner.scan(data):
            secret = str(finding.secret)
            if len(secret) >= _SHORTEST and secret in text:
                yield secret
