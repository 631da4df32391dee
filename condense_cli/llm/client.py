"""One model call: a request, and either a whole answer or the reason why there is none."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from ..config.profiles import Access, Profile
from ..money.economics import CallUsage
from .reasons import NO_VARIABLE, Failure, ReasonNames


class ModelRequest(Struct, frozen=True):
    """What is asked. The answer may have `limit` tokens, and fewer than the `replaced` tokens it stands for."""

    system: str
    prompt: str
    limit: int
    replaced: int | None = None


class Answer(Struct, frozen=True):
    """A whole answer that is not blank. `usage` is None where the server does not report it."""

    text: str
    usage: CallUsage | None


def usage_of(read: Any, written: Any, to_cache: Any, from_cache: Any, *, is_whole: bool = True) -> CallUsage | None:
    """The tokens that a server tells of; None where one of them is no number of tokens, which no SDK checks.

    What it does not tell of the cache is 0.
    """
    numbers = (read, written, to_cache or 0, from_cache or 0)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        return None
    return CallUsage(*numbers, is_whole=is_whole)


def a_count(told: Any) -> int:
    """A number of tokens that a server tells. Raises ValueError for what is none, which no SDK checks."""
    if isinstance(told, bool) or not isinstance(told, int) or told < 0:
        raise ValueError(f"{told!r} is no number of tokens")
    return told


class CallError(Exception):
    """A call that gave no answer. `usage` is what it used all the same; None is unknown."""

    def __init__(self, failure: Failure, usage: CallUsage | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.usage = usage


class ModelClient(Protocol):
    """Access to one model. Its calls may run in several threads at once."""

    def call(self, request: ModelRequest) -> Answer:
        """The answer to a request. Raises CallError, and nothing else."""

    def close(self) -> None:
        """Give the connections back; calls that still run fail."""


class CountingClient(ModelClient, Protocol):
    """Access to one model that also counts."""

    def count_tokens(self, body: dict[str, Any]) -> int:
        """Tokens of a request with this body, of which nothing is answered. Raises CallError, and nothing else."""


def max_output(profile: Profile, limit: int) -> int:
    """Tokens that the API may write for an answer of at most `limit` tokens.

    Half as many more, because the model counts with another vocabulary than we do, and what it reasons before.
    """
    return min(profile.max_tokens, limit + limit // 2 + profile.reasoning_tokens)


def names_of(access: Access) -> ReasonNames:
    profile = access.profile
    return ReasonNames(
        profile=access.name,
        model=profile.model or access.name,
        host=profile.host,
        variable=profile.variable or NO_VARIABLE,
    )
