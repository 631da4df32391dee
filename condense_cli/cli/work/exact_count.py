"""`--count exact`: ask the provider of a model for its own count of a transcript."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from msgspec.structs import replace

from ...calling import Calls, redactor_of
from ...config.own import KnownProfile, UserConfiguration, load_user_configuration, unknown_profile
from ...config.profiles import Access, Profile
from ...core.transcript import Transcript
from ...errors import CallFailedError, UsageError
from ...llm.access import open_access
from ...llm.client import CallError, Failure
from ...llm.counting import counted_factor
from ...tokens.counting import Counter, encoding_for
from ...tokens.factor import Factor
from ...tokens.models import bare_name, tokenizer_of
from ...window.decision import profile_of
from ..console import console

_WITHOUT: Final = "--count model calls nothing."


def exact_factor(transcript: Transcript, count: Counter, calls: Calls) -> Factor:
    """Have the provider count. Raises UsageError without permission or a provider, and CallFailedError."""
    access = _access(transcript.model, calls, load_user_configuration())
    try:
        with _waiting(f"{access.profile.host} counts the tokens"):
            return counted_factor(transcript, count, access, redactor_of(calls))
    except CallError as error:
        raise CallFailedError(f"Not counted: {error.failure}", error.failure.hint) from error


def _access(model: str | None, calls: Calls, user: UserConfiguration) -> Access:
    """Return the access to the API that counts for a model. Raises UsageError and CallFailedError."""

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
    """Return the profile of a model, or of its vendor's own API. Raises UsageError."""
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
    """Raise UsageError for a profile that cannot count, or counts the tokens of other models."""
    if not profile.has_model:
        raise UsageError(f"The profile {name} has no API that counts tokens.", f"Name another one; {_WITHOUT}")
    if model is not None and not _are_counted_alike(model, profile.model):
        raise UsageError(
            f"The profile {name} counts the tokens of {profile.model}, but these figures are about {model}.",
            f"Name a profile of {model}, or {profile.model} as the model.",
        )


def _are_counted_alike(one: str, other: str) -> bool:
    if bare_name(one) == bare_name(other):
        return True
    family, encoding = tokenizer_of(one), encoding_for(one)
    if encoding.exact:
        return encoding_for(other) == encoding
    return family is not None and tokenizer_of(other) == family


@contextmanager
def _waiting(text: str) -> Iterator[None]:
    """Show a line on the terminal while a server is asked, if messages go to one."""
    if not sys.stderr.isatty():
        yield
        return
    with console(stderr=True).status(text):
        yield
