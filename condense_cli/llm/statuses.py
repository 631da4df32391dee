"""What the status and the type of an API's error mean; both vendors speak alike.

https://platform.claude.com/docs/en/api/errors
https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from typing import Final

from .reasons import Cause

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
    """The reason behind an error. A status that says failure decides; inside a stream only a type tells.

    Running out of credit comes as a 429 with a type of its own.
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
