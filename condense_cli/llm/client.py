"""Define model calls: a request, and a whole answer or the reason why there is none.

https://platform.claude.com/docs/en/api/errors https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, Protocol

from msgspec import Struct
from msgspec.structs import asdict

from ..config.profiles import Access, Profile
from ..core.wording import brief
from ..money.economics import CallUsage

_MOST: Final = 300
"""Maximum characters shown of an API's message."""


class Cause(StrEnum):
    NO_CONSENT = "no_consent"
    UNKNOWN_PROFILE = "unknown_profile"
    NO_KEY = "no_key"
    UNPRICED = "unpriced"
    UNAUTHORISED = "unauthorised"
    OUT_OF_CREDIT = "out_of_credit"
    MODEL_NOT_FOUND = "model_not_found"
    REDIRECTED = "redirected"
    REQUEST_REFUSED = "request_refused"
    TOO_LARGE = "too_large"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    CUT_OFF = "cut_off"
    MALFORMED = "malformed"
    EMPTY = "empty"
    OVER_LIMIT = "over_limit"
    REFUSED_BY_MODEL = "refused_by_model"
    NOT_SMALLER = "not_smaller"
    LACKS_CONTENT = "lacks_content"
    BUDGET_SPENT = "budget_spent"
    INTERRUPTED = "interrupted"
    INSTALLED_FAILED = "installed_failed"
    NO_COUNTING = "no_counting"
    NOT_BELIEVED = "not_believed"


HOPELESS: Final = frozenset(
    {
        Cause.NO_KEY,
        Cause.UNPRICED,
        Cause.UNAUTHORISED,
        Cause.OUT_OF_CREDIT,
        Cause.MODEL_NOT_FOUND,
        Cause.REDIRECTED,
        Cause.BUDGET_SPENT,
    }
)
"""After one of these, no further call of the same profile can succeed."""

LASTING: Final = frozenset({Cause.EMPTY, Cause.OVER_LIMIT, Cause.REFUSED_BY_MODEL})
"""The model answered in full but uselessly. The cache keeps that, so nobody pays for it twice."""

ANSWERED: Final = LASTING | {Cause.NOT_SMALLER, Cause.LACKS_CONTENT}
"""The model has answered, perhaps too often already; asking again changes nothing."""

_LATER: Final = "Run it again later; finished summaries come from the cache."

_TEXTS: Final = {
    Cause.NO_CONSENT: (
        "No model was called, because nothing permits it.",
        "Add --profile NAME or --allow-calls, or `allow_calls: true` to your own configuration.",
    ),
    Cause.UNKNOWN_PROFILE: ("There is no profile {profile}.", "`condense profiles` lists them."),
    Cause.NO_KEY: (
        "The profile {profile} needs a key, and the environment variable {variable} is not set.",
        "Set {variable}, or name another profile.",
    ),
    Cause.UNPRICED: (
        "The price of {model} is not known, so a cost limit cannot be enforced.",
        "Give the profile a `price`, or limit tokens with --max-summary-tokens.",
    ),
    Cause.UNAUTHORISED: (
        "{host} refused the key of the profile {profile}.",
        "Check the key in {variable}, and whether it may use {model}.",
    ),
    Cause.OUT_OF_CREDIT: (
        "The account behind {variable} has no credit left.",
        "Top it up, or name another profile.",
    ),
    Cause.MODEL_NOT_FOUND: (
        "{host} does not know the model {model}.",
        "Check `model` and `base_url` of the profile {profile}.",
    ),
    Cause.REDIRECTED: (
        "{host} redirects to another address; transcripts are not sent there.",
        "If that address is right, make it the `base_url` of the profile {profile}.",
    ),
    Cause.REQUEST_REFUSED: (
        "{host} refused the request.",
        "Check the profile {profile}: model, limits, base_url.",
    ),
    Cause.TOO_LARGE: (
        "The text does not fit into the context window of {model}, not even in parts.",
        "Name a profile with a larger `context_window`, or lower the limit of the summary.",
    ),
    Cause.RATE_LIMITED: (
        "{host} refused the call because of its rate limit.",
        "Lower `max_parallel_calls` of the profile, or run it again later.",
    ),
    Cause.OVERLOADED: ("{host} is overloaded.", _LATER),
    Cause.SERVER_ERROR: ("{host} failed.", _LATER),
    Cause.TIMEOUT: (
        "{host} did not answer in time.",
        "Run it again, or raise `timeout_seconds` or `total_seconds` of the profile {profile}.",
    ),
    Cause.CONNECTION: (
        "{host} cannot be reached.",
        "Check the network and `base_url` of the profile {profile}.",
    ),
    Cause.CUT_OFF: ("The answer of {model} was cut off.", _LATER),
    Cause.MALFORMED: (
        "{host} returned something that is not an answer of this API.",
        "Check `api` and `base_url` of the profile {profile}.",
    ),
    Cause.EMPTY: ("{model} gave an empty answer.", "Name another profile, or change the prompt."),
    Cause.OVER_LIMIT: (
        "The answer of {model} is longer than the limit.",
        "Raise `max_tokens` of the summary; a model that reasons needs `reasoning_tokens` in its profile as well.",
    ),
    Cause.REFUSED_BY_MODEL: ("{model} refused to answer.", "Name another profile for this content."),
    Cause.LACKS_CONTENT: (
        "The summary by {model} lacks facts that later work needs.",
        "Name another profile, or lower `validate: {{min_facts: …}}` of the summary.",
    ),
    Cause.NOT_SMALLER: (
        "The summary is not smaller than the original.",
        "Nothing to do; the original stays.",
    ),
    Cause.BUDGET_SPENT: (
        "The budget does not cover another call.",
        "Raise --max-cost, --max-summary-tokens or the limit of the day or the conversation; "
        "finished summaries come from the cache.",
    ),
    Cause.INSTALLED_FAILED: (
        "The summarizer of the profile {profile} failed.",
        "It comes from an installed package; ask its authors, or name another profile.",
    ),
    Cause.NO_COUNTING: (
        "{host} has no endpoint that counts tokens, or does not know the model {model}.",
        "Leave --count exact out, or name a profile of the vendor's own API.",
    ),
    Cause.NOT_BELIEVED: (
        "The count returned by {host} cannot be right for this transcript.",
        "Leave --count exact out, or check `model` and `base_url` of the profile {profile}.",
    ),
    Cause.INTERRUPTED: ("Interrupted before the answer arrived.", _LATER),
}


NO_VARIABLE: Final = "(none)"
"""Shown as the key variable of a profile without one."""

_NO_KEY_SENT: Final = (
    "{host} asked for a key, and the profile {profile} sends no key.",
    "Give the profile {profile} a `key_variable`: the name of the environment variable that holds one.",
)


class Failure(Struct, frozen=True):
    """A reason in words: what happened and what to do. `detail` quotes the other side."""

    reason: Cause
    what: str
    hint: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.detail}" if self.detail else self.what


class ReasonNames(Struct, frozen=True):
    """Names to fill into the sentences."""

    profile: str = "(none)"
    model: str = "The model"
    host: str = "The server"
    variable: str = NO_VARIABLE


def failure(reason: Cause, names: ReasonNames | None = None, detail: str = "") -> Failure:
    names = names or ReasonNames()
    is_without_key = reason is Cause.UNAUTHORISED and names.variable == NO_VARIABLE
    what, hint = (text.format_map(asdict(names)) for text in (_NO_KEY_SENT if is_without_key else _TEXTS[reason]))
    return Failure(reason, what, hint, brief(" ".join(detail.split()), _MOST))


class ModelRequest(Struct, frozen=True):
    """A request. The answer may have `limit` tokens, and must have fewer than the `replaced` tokens of the original."""

    system: str
    prompt: str
    limit: int
    replaced: int | None = None


class Answer(Struct, frozen=True):
    """A whole, non-blank answer. `usage` is None if the server does not report it."""

    text: str
    usage: CallUsage | None


def usage_of(read: Any, written: Any, to_cache: Any, from_cache: Any, *, is_whole: bool = True) -> CallUsage | None:
    """Check the token counts that a server reports. None if one is not a count; SDKs do not check.

    Unreported cache counts are 0.
    """
    numbers = (read, written, to_cache or 0, from_cache or 0)
    if not all(isinstance(number, int) and number >= 0 for number in numbers):
        return None
    return CallUsage(*numbers, is_whole=is_whole)


def as_count(told: Any) -> int:
    """Check a token count that a server reports. Raises ValueError if it is not one; SDKs do not check."""
    if isinstance(told, bool) or not isinstance(told, int) or told < 0:
        raise ValueError(f"{told!r} is not a number of tokens")
    return told


class CallError(Exception):
    """A call without an answer. `usage` is its use, or None if unknown."""

    def __init__(self, failure: Failure, usage: CallUsage | None = None) -> None:
        super().__init__(str(failure))
        self.failure = failure
        self.usage = usage


class ModelClient(Protocol):
    """Client for one model. Thread-safe."""

    def call(self, request: ModelRequest) -> Answer:
        """Return the answer. Raises CallError only."""

    def close(self) -> None:
        """Close the connections; running calls fail."""


class CountingClient(ModelClient, Protocol):
    """Client for one model that can also count tokens."""

    def count_tokens(self, body: dict[str, Any]) -> int:
        """Count the tokens of a request with this body, without an answer. Raises CallError only."""


def max_output(profile: Profile, limit: int) -> int:
    """Return the output tokens to allow for an answer of `limit` tokens.

    Half as much is added because the model's vocabulary differs from ours, and further tokens for reasoning.
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


_OF_TYPE: Final = {
    "authentication_error": Cause.UNAUTHORISED,
    "permission_error": Cause.UNAUTHORISED,
    "billing_error": Cause.OUT_OF_CREDIT,
    "insufficient_quota": Cause.OUT_OF_CREDIT,
    "not_found_error": Cause.MODEL_NOT_FOUND,
    "model_not_found": Cause.MODEL_NOT_FOUND,
    "rate_limit_error": Cause.RATE_LIMITED,
    "rate_limit_exceeded": Cause.RATE_LIMITED,
    "overloaded_error": Cause.OVERLOADED,
    "timeout_error": Cause.TIMEOUT,
    "api_error": Cause.SERVER_ERROR,
    "server_error": Cause.SERVER_ERROR,
    "invalid_request_error": Cause.REQUEST_REFUSED,
    "request_too_large": Cause.REQUEST_REFUSED,
    "context_length_exceeded": Cause.REQUEST_REFUSED,
}
_OF_STATUS: Final = {
    401: Cause.UNAUTHORISED,
    402: Cause.OUT_OF_CREDIT,
    403: Cause.UNAUTHORISED,
    404: Cause.MODEL_NOT_FOUND,
    408: Cause.TIMEOUT,
    429: Cause.RATE_LIMITED,
    503: Cause.OVERLOADED,
    504: Cause.TIMEOUT,
    529: Cause.OVERLOADED,
}


def reason_of(status: int | None, *types: str | None) -> Cause:
    """Find the reason behind an error. A failure status decides; inside a stream only the type does.

    Running out of credit is a 429 with a type of its own.
    """
    named = [_OF_TYPE[kind] for kind in types if kind in _OF_TYPE]
    if Cause.OUT_OF_CREDIT in named:
        return Cause.OUT_OF_CREDIT
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if status is not None and 300 <= status < 400:
        return Cause.REDIRECTED
    if status is None or status < 400:
        return named[0] if named else Cause.SERVER_ERROR
    return Cause.SERVER_ERROR if status >= 500 else Cause.REQUEST_REFUSED
