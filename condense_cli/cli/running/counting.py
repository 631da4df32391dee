"""`--count`: in whose tokens the figures are, and the call that `exact` takes, where it is permitted."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from ...errors import CallFailedError, UsageError
from ..console import console
from ..options import AllowCount, CountAs, CounterOption, CountProfile, Redact

if TYPE_CHECKING:
    from ...calling import Calls
    from ...config.files import UserConfiguration
    from ...config.overrides import Settings
    from ...config.profiles import Access, Profile
    from ...core.factor import CountName, Factor
    from ...core.tokens import Counter, CounterName, Encoding
    from ...core.transcript import Transcript

_WITHOUT: Final = "--count model calls nothing."


class CountOptions(NamedTuple):
    """In whose tokens a command counts that calls no model otherwise, and whether the call of `exact` is permitted."""

    counter: CounterOption = None
    count_as: CountAs = None
    profile: CountProfile = None
    allow_calls: AllowCount = False
    redact: Redact = False

    def asked(self, settings: Settings | None) -> tuple[CountName, Calls]:
        return count_asked(self.count_as, settings, self.profile, self.allow_calls, redact=self.redact)


def count_asked(
    flag: CountName | None, settings: Settings | None, profile: str | None, allow_calls: bool, *, redact: bool
) -> tuple[CountName, Calls]:
    """In whose tokens a command counts that calls no model otherwise, and what its flags say about that call."""
    from ...calling import Calls
    from ...config.base import Limits

    calls = Calls(profile, allow_calls, Limits(redact=redact), is_planned=True, is_count_asked=flag == "exact")
    return flag or (settings.configuration.count if settings else "model"), calls


class Counted(NamedTuple):
    """A transcript with what counts it, and the factor from its counts to the model's tokens."""

    transcript: Transcript
    count: Counter
    factor: Factor
    encoding: Encoding


def counted_transcript(transcript: Transcript, counter: CounterName, how: CountName, calls: Calls) -> Counted:
    """Raises as `factor_for` does."""
    from ...core.tokens import Counter, encoding_for

    count = Counter.of(transcript, counter)
    return Counted(
        transcript, count, factor_for(how, transcript, count, calls), encoding_for(transcript.model, counter)
    )


def check_one(how: CountName, what: str) -> None:
    """Raises UsageError where `what`, more than one transcript, would be counted by a provider."""
    if how == "exact":
        raise UsageError(f"`count: exact` is for one transcript, and {what}.", "Add --count model or --count o200k.")


def factor_for(how: CountName, transcript: Transcript, count: Counter, calls: Calls) -> Factor:
    """The factor for a transcript; for `exact` its provider counts, if the flags permit the call.

    Raises UsageError where they do not, or where nobody can be asked, and CallFailedError.
    """
    from ...core.factor import factor_as

    if how != "exact":
        return factor_as(how, transcript, count)
    from ...calling import redactor_of
    from ...config.files import load_user_configuration
    from ...llm.client import CallError
    from ...llm.counting import counted_factor

    access = _access(transcript.model, calls, load_user_configuration())
    try:
        with _waiting(f"{access.profile.host} counts the tokens"):
            return counted_factor(transcript, count, access, redactor_of(calls))
    except CallError as error:
        raise CallFailedError(f"Not counted: {error.failure}", error.failure.hint) from error


def _access(model: str | None, calls: Calls, user: UserConfiguration) -> Access:
    """The access to what counts for a model. Raises UsageError and CallFailedError."""
    from msgspec.structs import replace

    from ...config.files import KnownProfile, unknown_profile
    from ...llm.access import open_access
    from ...llm.client import Failure

    is_permitted = calls.is_count_asked or not calls.is_planned
    name = calls.profile if is_permitted else None
    if name is None:
        if not (user.allow_calls or (is_permitted and calls.allow_calls)):
            raise _no_consent(calls)
        name, profile = _of_model(model, user)
        user = replace(user, profiles={**user.profiles, name: KnownProfile(profile)})
    elif name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    _check(name, user.profiles[name].profile, model)
    access = open_access(name, user, os.environ)
    if isinstance(access, Failure):
        raise CallFailedError(f"Not counted: {access}", access.hint)
    return access


def _no_consent(calls: Calls) -> UsageError:
    sends = "sends the transcript to a provider, which is not permitted yet"
    if calls.is_count_asked:
        return UsageError(f"--count exact {sends}.", f"Add --profile NAME or --allow-calls; {_WITHOUT}")
    flags = "--count exact and one of --profile NAME and --allow-calls"
    return UsageError(
        f"The settings say `count: exact`, which {sends}.",
        f"Add {flags if calls.is_planned else '--profile NAME or --allow-calls'}; {_WITHOUT}",
    )


def _of_model(model: str | None, user: UserConfiguration) -> tuple[str, Profile]:
    """The profile of a model, or its vendor's own API. Raises UsageError."""
    from ...config.profiles import Profile
    from ...core.tokens import encoding_for
    from ...money.prices import bare_name
    from ...providers.window import profile_of

    hint = "Name a profile with --profile NAME."
    if model is None:
        raise UsageError("--count exact needs a model, but the transcript names none.", hint)
    name = profile_of(model, user)
    if name is not None:
        return name, user.profiles[name].profile
    bare = bare_name(model)
    if bare.startswith("claude"):
        return bare, Profile(api="anthropic", model=bare)
    if encoding_for(model).exact:
        return bare, Profile(api="openai", model=bare)
    raise UsageError(f"--count exact needs a profile for {model}, but there is none.", hint)


def _check(name: str, profile: Profile, model: str | None) -> None:
    """Raises UsageError for a profile that cannot count, or counts the tokens of other models."""
    if not profile.has_model:
        raise UsageError(f"The profile {name} has no API that counts tokens.", f"Name another one; {_WITHOUT}")
    if model is not None and not _are_counted_alike(model, profile.model):
        raise UsageError(
            f"The profile {name} counts the tokens of {profile.model}, but these figures are about {model}.",
            f"Name a profile of {model}, or {profile.model} as the model.",
        )


def _are_counted_alike(one: str, other: str) -> bool:
    from ...core.factor import tokenizer_of
    from ...core.tokens import encoding_for
    from ...money.prices import bare_name

    if bare_name(one) == bare_name(other):
        return True
    family, encoding = tokenizer_of(one), encoding_for(one)
    if encoding.exact:
        return encoding_for(other) == encoding
    return family is not None and tokenizer_of(other) == family


@contextmanager
def _waiting(text: str) -> Iterator[None]:
    """A line on the terminal while a server is asked, if messages go to one."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.status import Status

    with Status(text, console=console(stderr=True)):
        yield
