"""Determine the window of the model that continues a conversation, and decide whether to condense.

The price table lists a model's largest window. A client may use a smaller one; a beta or a plan may allow a larger one.
The decision depends on sizes and thresholds alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from math import inf
from typing import Final

from msgspec import Struct

from ..config.models import Configuration
from ..config.own import UserConfiguration, load_user_configuration, unknown_profile
from ..config.profiles import INHERIT, OFFLINE, Profile, threshold_of
from ..core.markers import is_marked
from ..core.transcript import Transcript
from ..core.values import WindowSigns
from ..errors import UsageError
from ..money.prices import context_window, names_window
from ..tokens.models import bare_name

LISTED: Final = "price table"
UNKNOWN: Final = "unknown"
RECORDED_USE: Final = "recorded use"
NAMED: Final = "named by the client"

USUAL: Final = (
    *(32_000, 64_000, 128_000, 200_000, 256_000, 400_000, 500_000),
    *(1_000_000, 2_000_000, 5_000_000, 10_000_000),
)
"""Common window sizes."""

LARGEST_BESIDE: Final = 100_000
"""System prompt and tools hardly ever take more tokens."""

_LARGEST: Final = 2_000_000
"""Hardly any window is larger."""

_FAR_LESS: Final = 0.5
"""Clients compact when most of the window is full. Compacting below this share of the listed window implies a smaller
one.
"""


def signs_of(transcript: Transcript) -> WindowSigns:
    """Collect evidence in a transcript of its model's window, ignoring requests of other models."""
    model = transcript.model
    sent = [usage.input_tokens for usage in transcript.usages if _is_same(usage.model, model)]
    found = [signs for signs in transcript.window_signs if _is_same(signs.model, model)]
    used, most = [*sent, *(signs.used for signs in found)], most_sent(transcript)
    if max(used, default=0) > most and not any(is_marked(block.content) for _, block in transcript.blocks()):
        used = [tokens for tokens in used if tokens <= most]  # The file is complete, so this was never sent.
    return WindowSigns(
        model,
        max(used, default=0),
        max((signs.compacted_at for signs in found), default=0),
        max((signs.named for signs in found), default=0),
    )


def most_sent(transcript: Transcript) -> float:
    """Return an upper bound of tokens in one request: the largest windows, or the bytes of the file plus prompt and
    tools.

    Unlimited for a conversation that begins in its middle, because earlier content is not in the file.
    """
    return inf if transcript.begins_in_middle else max(_LARGEST, len(transcript.source.data) + LARGEST_BESIDE)


def window_size(model: str | None, signs: WindowSigns) -> tuple[int | None, str]:
    """Return the tokens of a model's window, or None if unknown, and the source of that figure."""
    listed = context_window(model)
    if not _is_same(signs.model, model):
        return listed, UNKNOWN if listed is None else LISTED
    if signs.named and not names_window(model):
        return signs.named, NAMED
    size, source = listed, UNKNOWN if listed is None else LISTED
    at = signs.compacted_at
    if at and not names_window(model) and (listed is None or at < _FAR_LESS * listed):
        smaller = _holding(at)
        if smaller and signs.used <= smaller:
            size, source = smaller, f"the client's own compaction at {at:,}"
    if size and signs.used > size:
        larger = _holding(signs.used)
        size, source = (larger, RECORDED_USE) if larger else (size, source)
    return size, source


def _holding(tokens: int) -> int | None:
    """Return the smallest usual size that holds the tokens. None if none does."""
    return next((size for size in USUAL if size >= tokens), None)


def _is_same(one: str | None, other: str | None) -> bool:
    """Return whether both may be the same model; None matches any."""
    return one is None or other is None or bare_name(one) == bare_name(other)


RESERVED_TOKENS: Final = 8_192
"""Tokens kept free for the answer if no profile limits it."""

USABLE_PERCENT: Final = 90
"""Usable part of the window. The rest is a margin: for most models token counts are estimates."""

FAR: Final = 500_000
"""Tokens in use that few conversations reach, because each turn has become expensive long before."""


class DecisionReason(StrEnum):
    SWITCHED_OFF = "switched_off"
    UNKNOWN_WINDOW = "unknown_window"
    THRESHOLD = "threshold"
    ABOVE = "above"
    LIMIT = "limit"
    BELOW = "below"


class Sizes(Struct, frozen=True):
    """Sizes to decide on, in tokens. `beside` is everything in use besides the counted messages.

    `threshold` (percent of `window`) and `above` (tokens in use) start condensing. `reserved` stays free for the
    answer. `source` names the origin of the figures.
    """

    tokens: int
    beside: int
    window: int | None
    threshold: float = 100
    reserved: int = RESERVED_TOKENS
    is_automatic: bool = True
    source: str = "estimated"
    above: int | None = None

    @property
    def used(self) -> int:
        """Tokens of a request."""
        return self.tokens + self.beside


class CheckDecision(Struct, frozen=True):
    """A decision and its figures. `percent` is the share of the window in use, `limit` the most that may be in use.

    Both are None if the window is unknown. `is_over_limit` holds even if condensing is switched off.
    """

    sizes: Sizes
    reason: DecisionReason
    percent: float | None = None
    limit: int | None = None

    @property
    def should_condense(self) -> bool:
        return self.reason in (DecisionReason.THRESHOLD, DecisionReason.ABOVE, DecisionReason.LIMIT)

    @property
    def is_hardly_ever_due(self) -> bool:
        """Return whether only the limit decides, at a size that few conversations reach."""
        sizes = self.sizes
        if not sizes.is_automatic or sizes.window is None or sizes.above is not None or self.limit is None:
            return False
        return FAR <= self.limit < sizes.window * sizes.threshold / 100

    @property
    def is_over_limit(self) -> bool:
        return self.limit is not None and self.sizes.used > self.limit

    def __str__(self) -> str:
        """Word the reason with the figures that decided."""
        sizes = self.sizes
        if self.percent is None or self.limit is None:
            share = f"{sizes.used:,} tokens are in use; the context window of the model is not known"
        else:
            share = f"{sizes.used:,} of {sizes.window:,} tokens are in use ({self.percent:.1f}%, {sizes.source})"
        match self.reason:
            case DecisionReason.SWITCHED_OFF:
                return f"{share}; auto_condense_context is false."
            case DecisionReason.UNKNOWN_WINDOW:
                return f"{share}."
            case DecisionReason.THRESHOLD:
                return f"{share}, at or above the threshold of {sizes.threshold:g}%."
            case DecisionReason.ABOVE:
                return f"{share}; condensing is due from {sizes.above:,} tokens on."
            case DecisionReason.LIMIT:
                return f"{share}, above the limit of {self.limit:,}."
            case DecisionReason.BELOW if self.limit is None:
                return f"{share}; condensing is due from {sizes.above:,} tokens on."
            case DecisionReason.BELOW:
                above = "" if sizes.above is None else f"the {sizes.above:,} tokens set with --above, "
                return f"{share}, below {above}the threshold of {sizes.threshold:g}% and the limit of {self.limit:,}."


def decide(sizes: Sizes) -> CheckDecision:
    """Decide to condense if use reaches a threshold or leaves too little room for the answer."""
    percent = limit = None
    if sizes.window is not None:
        percent = 100 * sizes.used / sizes.window
        limit = limit_of(sizes.window, sizes.reserved)
    return CheckDecision(sizes, _reason(sizes, percent, limit), percent, limit)


def limit_of(window: int, reserved: int) -> int:
    """Return the most tokens that may be in use if `reserved` stay free for the answer."""
    return window * USABLE_PERCENT // 100 - reserved


def _reason(sizes: Sizes, percent: float | None, limit: int | None) -> DecisionReason:
    if not sizes.is_automatic:
        return DecisionReason.SWITCHED_OFF
    if percent is not None and percent >= sizes.threshold:
        return DecisionReason.THRESHOLD
    if sizes.above is not None and sizes.used >= sizes.above:
        return DecisionReason.ABOVE
    if limit is None:
        return DecisionReason.UNKNOWN_WINDOW if sizes.above is None else DecisionReason.BELOW
    return DecisionReason.LIMIT if sizes.used > limit else DecisionReason.BELOW


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
    if name and name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    profile = user.profiles[name].profile if name else None
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


def listed_window(model: str, tokens: int) -> int:
    """Look up the window of a model in the user's profiles, else in the table of prices; 0 if it is in neither."""
    return window_of(model, Configuration(), load_user_configuration(), signs=WindowSigns(model, tokens)).tokens or 0
