"""Profiles: named accesses to models. The built-in ones, and the values of a profile.

Only the user's own configuration defines profiles, because a profile decides where a transcript is sent and which key
goes with it. Any configuration may name one.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final, Literal, assert_never
from urllib.parse import urlsplit

from msgspec import UNSET, Meta, Struct, UnsetType

Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Tokens = Annotated[int, Meta(ge=1, le=100_000_000)]

OFFLINE: Final = "offline"
DEFAULT: Final = "default"
"""The name of a profile that means the configured one, or `offline` without one, unless the user defines it."""
INSTALLED: Final = "installed"
"""The api of a profile whose summaries an installed package writes."""

Api = Literal["anthropic", "openai", "offline", "installed"]

_URLS: Final[dict[Api, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    OFFLINE: "",
    INSTALLED: "",
}
_VARIABLES: Final[dict[Api, str | None]] = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    OFFLINE: None,
    INSTALLED: None,
}

MIN_THRESHOLD: Final = 5
MAX_THRESHOLD: Final = 100
INHERIT: Final = -1


class PriceOverride(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """US dollars per million tokens; what is not given is as the price table says."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


class Profile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to reach one model, and within which limits.

    `max_tokens` is the most that one answer may cost in output tokens; `reasoning_tokens` are those of them that a
    model may spend before it answers. `timeout_seconds` is the longest silence of the server, `total_seconds` the
    longest time for a call with its retries. `threshold` is the percentage of the window at which to condense, `above`
    the tokens in use.
    `summarizer` is the name under which an installed package registers one, in place of a model.
    """

    api: Api
    model: str = ""
    summarizer: str | None = None
    base_url: str | None = None
    key_variable: str | UnsetType | None = UNSET
    timeout_seconds: Seconds = 120
    total_seconds: Seconds = 600
    max_retries: Annotated[int, Meta(ge=0, le=20)] = 2
    max_tokens: Tokens = 8_192
    reasoning_tokens: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    reasoning_effort: str | None = None
    max_parallel_calls: Annotated[int, Meta(ge=1, le=100)] = 5
    context_window: Tokens | None = None
    price: PriceOverride | None = None
    threshold: float | None = None
    above: Tokens | None = None

    @property
    def url(self) -> str:
        return self.base_url or _URLS[self.api]

    @property
    def has_model(self) -> bool:
        """Whether a model on a server does the work, with a price and a context window."""
        match self.api:
            case "anthropic" | "openai":
                return True
            case "offline" | "installed":
                return False
            case other:
                assert_never(other)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.api

    @property
    def variable(self) -> str | None:
        """Return the environment variable with the key; None if no key is sent.

        The vendor's own key never goes to another server unless the profile names its variable.
        """
        if self.key_variable is not UNSET:
            return self.key_variable
        return None if self.base_url else _VARIABLES[self.api]


class Access(Struct, frozen=True):
    """A profile that is ready to be used: with its name, and the key if it needs one."""

    name: str
    profile: Profile
    key: str | None = None

    def __repr__(self) -> str:
        return f"Access({self.name!r})"  # No key must reach a log or a traceback.


BUILT_IN: Final = {
    OFFLINE: Profile(api=OFFLINE),
    DEFAULT: Profile(api=OFFLINE),
    "claude-haiku-4-5": Profile(api="anthropic", model="claude-haiku-4-5"),
    "claude-haiku-5-5": Profile(api="anthropic", model="claude-haiku-5-5", reasoning_tokens=4_096),
    "claude-haiku": Profile(api="anthropic", model="claude-haiku-5-5", reasoning_tokens=4_096),
    "claude-sonnet-5": Profile(api="anthropic", model="claude-sonnet-5", reasoning_tokens=4_096),
    "claude-opus-5": Profile(api="anthropic", model="claude-opus-5", reasoning_tokens=4_096),
    "gpt-4o-mini": Profile(api="openai", model="gpt-4o-mini"),
    "gpt-5-mini": Profile(api="openai", model="gpt-5-mini", reasoning_tokens=4_096, reasoning_effort="low"),
    "gpt-5.6-luna": Profile(api="openai", model="gpt-5.6-luna", reasoning_tokens=4_096, reasoning_effort="low"),
    "gpt-5.6-sol": Profile(api="openai", model="gpt-5.6-sol", reasoning_tokens=4_096, reasoning_effort="low"),
}


def threshold_of(name: str, profile: Profile, common: float) -> tuple[float, str | None]:
    """Return the percentage of the window at which this profile condenses, and a warning if its own is invalid."""
    own = profile.threshold
    if own is None or own == INHERIT:
        return common, None
    if MIN_THRESHOLD <= own <= MAX_THRESHOLD:
        return own, None
    warning = (
        f"The threshold {own:g} of the profile {name} is not from {MIN_THRESHOLD} to {MAX_THRESHOLD} "
        f"(or {INHERIT}): {common:g} is used."
    )
    return common, warning
