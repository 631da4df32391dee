"""Which profile a pass uses, and whether it may: consent first, then the names, then the keys.

A key in the environment permits nothing. `--profile NAME` permits that profile and stands for every other.
`--allow-calls`, or `allow_calls: true` in the user's own configuration, permits what the configuration names.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from ..config.files import UserConfiguration, unknown_profile
from ..config.profiles import OFFLINE, Access
from .client import names_of
from .reasons import Cause, Failure, ReasonNames, failure


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
