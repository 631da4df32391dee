"""The model that continues a conversation: its window, its threshold, and how much an answer of it may take."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ..config.models import Configuration
from ..config.profiles import INHERIT, OFFLINE, Profile, threshold_of
from ..config.user import UserConfiguration, unknown_profile
from ..errors import UsageError
from ..prices import bare_name, context_window
from .decision import RESERVED_TOKENS, Sizes, limit_of


class Asked(Struct, frozen=True):
    """What a caller says itself, which goes before what is looked up. None: nothing."""

    profile: str | None = None
    window: int | None = None
    threshold: float | None = None


class Window(Struct, frozen=True):
    """What is known about a model's window. The sources are "option", "profile NAME", "price table" or "unknown".

    `threshold_source` is None where the threshold is the common one of the configuration.
    """

    model: str | None
    profile: str | None
    tokens: int | None
    source: str
    threshold: float
    threshold_source: str | None
    reserved: int
    warnings: tuple[str, ...] = ()

    @property
    def unknown(self) -> UsageError:
        """What to say where a window is needed and not known: a guess could be wrong by a factor of ten."""
        hint = "Give its tokens with --context-window N, or name the model with --model."
        if self.model is None:
            return UsageError("The context window is not known: the transcript names no model.", hint)
        return UsageError(f"The context window of {self.model} is not known.", hint)

    def sizes(self, tokens: int, beside: int, configuration: Configuration, source: str = "estimated") -> Sizes:
        """What is decided about, for a conversation of so many tokens."""
        automatic = configuration.auto_condense_context
        return Sizes(tokens, beside, self.tokens, self.threshold, self.reserved, automatic, source)


def window_of(
    model: str | None,
    configuration: Configuration,
    user: UserConfiguration,
    asked: Asked = Asked(),  # noqa: B008
) -> Window:
    """The window of a model, of the profile that is asked for or that has this model. Raises ConfigurationError."""
    name = asked.profile or (_profile_of(model, user) if model else None)
    profile = _profile(name, user) if name else None
    if profile is not None and (asked.profile or not model):
        model = profile.model or model
    tokens, source = _window(model, name, profile, asked)
    common = configuration.auto_condense_context_percent
    threshold, warning = threshold_of(name, profile, common) if name and profile else (common, None)
    threshold_source = None
    if asked.threshold is not None:
        threshold, threshold_source, warning = asked.threshold, "option", None
    elif profile is not None and profile.threshold not in (None, INHERIT) and warning is None:
        threshold_source = f"profile {name}"
    reserved = profile.max_tokens if profile is not None else RESERVED_TOKENS
    return Window(
        model, name, tokens, source, threshold, threshold_source, reserved, tuple(_said(warning, tokens, reserved))
    )


def _window(model: str | None, name: str | None, profile: Profile | None, asked: Asked) -> tuple[int | None, str]:
    if asked.window is not None:
        return asked.window, "option"
    if profile is not None and profile.context_window is not None:
        return profile.context_window, f"profile {name}"
    listed = context_window(model)
    return listed, "unknown" if listed is None else "price table"


def _profile(name: str, user: UserConfiguration) -> Profile:
    if name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    return user.profiles[name].profile


def _profile_of(model: str, user: UserConfiguration) -> str | None:
    """The profile of a model: the main one, else one that the user defined, else a built-in one."""
    names = [
        name
        for name, known in user.profiles.items()
        if known.profile.api != OFFLINE and bare_name(known.profile.model) == bare_name(model)
    ]
    return min(names, key=lambda name: (name != user.profile, user.profiles[name].origin is None), default=None)


def _said(warning: str | None, tokens: int | None, reserved: int) -> Iterator[str]:
    if warning:
        yield warning
    if tokens is not None and limit_of(tokens, reserved) <= 0:
        yield (
            f"An answer may take {reserved:,} tokens, which leaves no room in a window of {tokens:,}: "
            "give the profile a smaller max_tokens."
        )
