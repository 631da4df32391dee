"""Determine the window, threshold and answer limit of the model that continues a conversation."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from ..config.files import UserConfiguration, unknown_profile
from ..config.models import Configuration
from ..config.profiles import INHERIT, OFFLINE, Profile, threshold_of
from ..core.values import WindowSigns
from ..errors import UsageError
from ..money.prices import bare_name, window_size
from .decision import RESERVED_TOKENS, Sizes, limit_of


class WindowFlags(Struct, frozen=True):
    """A caller's explicit values, which take precedence. None: not given."""

    profile: str | None = None
    window: int | None = None
    threshold: float | None = None
    above: int | None = None


class Window(Struct, frozen=True):
    """Facts about a model's window. Sources are "option", "profile NAME" and those of `money.prices`.

    `above` is the number of tokens in use that starts condensing, whatever the window; None if not set. A threshold's
    source is None if the threshold comes from the configuration.
    """

    model: str | None
    profile: str | None
    tokens: int | None
    source: str
    threshold: float
    threshold_source: str | None
    reserved: int
    warnings: tuple[str, ...] = ()
    above: int | None = None
    above_source: str | None = None

    @property
    def unknown(self) -> UsageError:
        """Error if a window is needed and unknown: a guess could be wrong by a factor of ten."""
        hint = "Give its tokens with --context-window N, name the model with --model, or a token count with --above N."
        if self.model is None:
            return UsageError("The context window is not known: the transcript names no model.", hint)
        return UsageError(f"The context window of {self.model} is not known.", hint)

    def sizes(self, tokens: int, beside: int, configuration: Configuration, source: str = "estimated") -> Sizes:
        """Return the sizes to decide on, for a conversation of `tokens` tokens."""
        automatic = configuration.auto_condense_context
        return Sizes(tokens, beside, self.tokens, self.threshold, self.reserved, automatic, source, self.above)


def window_of(
    model: str | None,
    configuration: Configuration,
    user: UserConfiguration,
    asked: WindowFlags = WindowFlags(),  # noqa: B008
    signs: WindowSigns = WindowSigns(),  # noqa: B008
) -> Window:
    """Determine the window of a model or of the profile that is requested or has this model.

    `signs` are the transcript's. Raises ConfigurationError.
    """
    name = asked.profile or (profile_of(model, user) if model else None)
    profile = _profile(name, user) if name else None
    if profile is not None and (asked.profile or not model):
        model = profile.model or model
    tokens, source = _size(model, name, profile, asked, signs)
    common = configuration.auto_condense_context_percent
    threshold, warning = threshold_of(name, profile, common) if name and profile else (common, None)
    threshold_source = None
    if asked.threshold is not None:
        threshold, threshold_source, warning = asked.threshold, "option", None
    elif profile is not None and profile.threshold not in (None, INHERIT) and warning is None:
        threshold_source = f"profile {name}"
    reserved = profile.max_tokens if profile is not None else RESERVED_TOKENS
    return Window(
        model,
        name,
        tokens,
        source,
        threshold,
        threshold_source,
        reserved,
        tuple(_said(warning, tokens, reserved)),
        *_above(configuration, name, profile, asked),
    )


def _size(
    model: str | None, name: str | None, profile: Profile | None, asked: WindowFlags, signs: WindowSigns
) -> tuple[int | None, str]:
    if asked.window is not None:
        return asked.window, "option"
    if profile is not None and profile.context_window is not None:
        return profile.context_window, f"profile {name}"
    return window_size(model, signs)


def _above(
    configuration: Configuration, name: str | None, profile: Profile | None, asked: WindowFlags
) -> tuple[int | None, str | None]:
    if asked.above is not None:
        return asked.above, "option"
    if profile is not None and profile.above is not None:
        return profile.above, f"profile {name}"
    return configuration.auto_condense_context_above, None


def _profile(name: str, user: UserConfiguration) -> Profile:
    if name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    return user.profiles[name].profile


def profile_of(model: str, user: UserConfiguration) -> str | None:
    """Return the profile of a model: the main one, else one defined by the user, else a built-in one."""
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
            f"An answer may take {reserved:,} tokens, which leaves no room in a window of {tokens:,}; "
            "give the profile a smaller max_tokens."
        )
