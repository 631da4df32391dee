"""Find the profile that a pass may use, and mask secrets before anything is sent.

A key in the environment permits nothing. `--profile NAME` permits that profile and stands for every other.
`--allow-calls`, or `allow_calls: true` in the user's own configuration, permits what the configuration names.

The detector is Kingfisher, which knows the forms of several hundred kinds of keys and tokens, private keys, and
passwords in addresses and commands. It runs in this process and asks nobody. A password has no form, so what is
assigned to a name such as `password`, `secret`, `token` or `api_key` is masked as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.files import UserConfiguration, unknown_profile
from ..config.profiles import OFFLINE, Access
from ..core.lazy_pattern import lazy_pattern
from ..errors import CondenseError
from .client import Cause, Failure, ModelRequest, ReasonNames, failure, names_of


class Permission(Struct, frozen=True):
    """What the command line says: the profile it names, and whether calls are allowed."""

    profile: str | None = None
    allow_calls: bool = False


class AccessChoice(Struct, frozen=True):
    """The profile for a pass, or the reason why there is none. `warnings` are sentences.

    Without consent, `failure` is NO_CONSENT and the offline summarizer does the work, as it does for OFFLINE.
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
    """The profile for a pass that names `dedicated`, in a configuration whose main profile is `main`.

    The dedicated one falls back to the main one with a warning, and that to the user's own main one; where nobody
    names any, the offline summarizer works. Where calls are only planned and priced, a missing key is a warning.
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
    """The profile of that name with its key, or the reason why it cannot be used."""
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
    if not (key.isascii() and key.isprintable()):  # It would come back inside the error of the HTTP library.
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


_ASSIGNED: Final = lazy_pattern(
    r"""(?:pass(?:word|wd|phrase)|secret(?:[_-]?(?:access[_-]?)?key)?|token|api[_-]?key|private[_-]?key|bearer)
    (?:\\?["'])?[ \t]*(?:[:=][ \t]*|(?<=bearer)[ \t]+)(?:\\?["'])?
    (?P<value>[^\s"'\\,;(){}\[\]<>$]{6,})""",
    re.VERBOSE | re.IGNORECASE,
)
_SHORTEST: Final = 4
"""Characters. A shorter secret is masked nowhere, for it would be masked in every word that holds it."""

_PLACEHOLDER: Final = "[secret {number}]"


class Redactor:
    """Masks texts of one run; the same secret becomes the same placeholder everywhere."""

    def __init__(self, rules_folder: Path | None = None) -> None:
        """Load the detector; with a folder for its compiled rules that takes a tenth of the time the next time.

        Raises CondenseError if it is not installed.
        """
        try:
            from kingfisher_sdk import Rules, Scanner
        except ImportError:
            raise CondenseError(
                "--redact needs the Python package kingfisher-secret-scanner, which is not installed.",
                "pip install 'condense-cli[redact]'",
            ) from None
        self._scanner: Any = Scanner(
            Rules(confidence="low", cache=rules_folder is not None, cache_dir=rules_folder), base64=False
        )
        self._numbers: dict[str, int] = {}

    @property
    def count(self) -> int:
        """Different secrets that were masked so far."""
        return len(self._numbers)

    def request(self, request: ModelRequest) -> ModelRequest:
        return replace(request, system=self.text(request.system), prompt=self.text(request.prompt))

    def hides(self, text: str) -> bool:
        """Whether a secret that was masked so far is in the text, or the text in a secret."""
        return any(secret in text or text in secret for secret in self._numbers)

    def text(self, text: str) -> str:
        found = sorted({*self._detected(text), *_assigned(text)}, key=lambda secret: (text.find(secret), -len(secret)))
        for secret in found:
            self._numbers.setdefault(secret, len(self._numbers) + 1)
        return self.masked(text)

    def masked(self, text: str) -> str:
        """The text without the secrets that are known so far."""
        # The longest first: a key may stand inside the address that holds it. All that are known, because a
        # secret that gives itself away in one place is one everywhere.
        for secret in sorted(self._numbers, key=len, reverse=True):
            text = text.replace(secret, _PLACEHOLDER.format(number=self._numbers[secret]))
        return text

    def _detected(self, text: str) -> Iterator[str]:
        data = text.encode("utf-8", "replace")
        for finding in self._scanner.scan(data):
            secret = str(finding.secret)
            if len(secret) >= _SHORTEST and secret in text:
                yield secret


def _assigned(text: str) -> Iterator[str]:
    for match in _ASSIGNED.finditer(text):
        value = match["value"]
        # Names, types and calls are assigned to passwords as well; what people and machines make up has digits in it.
        if any(char.isdigit() for char in value):
            yield value
