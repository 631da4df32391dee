"""What the status and the type of an API's error mean; both vendors speak alike.

https://platform.claude.com/docs/en/api/errors
https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from typing import Final

from .reasons import Reason

_OF_TYPE: Final = {
    "authentication_error": Reason.UNAUTHORISED,
    "permission_error": Reason.UNAUTHORISED,
    "billing_error": Reason.OUT_OF_CREDIT,
    "insufficient_quota": Reason.OUT_OF_CREDIT,
    "not_found_error": Reason.MODEL_NOT_FOUND,
    "model_not_found": Reason.MODEL_NOT_FOUND,
    "rate_limit_error": Reason.RATE_LIMITED,
    "rate_limit_exceeded": Reason.RATE_LIMITED,
    "overloaded_error": Reason.OVERLOADED,
    "timeout_error": Reason.TIMEOUT,
    "api_error": Reason.SERVER_ERROR,
    "server_error": Reason.SERVER_ERROR,
    "invalid_request_error": Reason.REQUEST_REFUSED,
    "request_too_large": Reason.REQUEST_REFUSED,
    "context_length_exceeded": Reason.REQUEST_REFUSED,
}
_OF_STATUS: Final = {
    401: Reason.UNAUTHORISED,
    402: Reason.OUT_OF_CREDIT,
    403: Reason.UNAUTHORISED,
    404: Reason.MODEL_NOT_FOUND,
    408: Reason.TIMEOUT,
    429: Reason.RATE_LIMITED,
    503: Reason.OVERLOADED,
    504: Reason.TIMEOUT,
    529: Reason.OVERLOADED,
}


def reason_of(status: int | None, *types: str | None) -> Reason:
    """The reason behind an error. A status that says failure decides; inside a stream only a type tells.

    Running out of credit comes as a 429 with a type of its own.
    """
    named = [_OF_TYPE[kind] for kind in types if kind in _OF_TYPE]
    if Reason.OUT_OF_CREDIT in named:
        return Reason.OUT_OF_CREDIT
    if status in _OF_STATUS:
        return _OF_STATUS[status]
    if status is not None and 300 <= status < 400:
        return Reason.REDIRECTED
    if status is None or status < 400:
        return named[0] if named else Reason.SERVER_ERROR
    return Reason.SERVER_ERROR if status >= 500 else Reason.REQUEST_REFUSED
