"""Call the Messages API, streamed, and its token counting.

If the server cuts a stream, the SDK ends it without an error; only the stop reason tells. It reports an error inside a
stream as a status error with status 200, and passes connection errors through unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import anthropic
import httpx2

from ..config.profiles import Access
from ..money.economics import CallUsage
from .client import Answer, Cause, ModelRequest, as_count, max_output, reason_of, usage_of
from .sdk import OneOrigin, SdkClient, destination

_REASON_OF_STOP: Final = {
    None: Cause.CUT_OFF,
    "max_tokens": Cause.OVER_LIMIT,
    "model_context_window_exceeded": Cause.OVER_LIMIT,
    "refusal": Cause.REFUSED_BY_MODEL,
}
"""Only `end_turn` is a whole answer. Anything unlisted (a tool call, a pause) was not requested."""


class _Http(OneOrigin, anthropic.DefaultHttpxClient):
    """The SDK's HTTP client, restricted to one origin."""


class AnthropicClient(SdkClient):
    """Client for one model of the Messages API."""

    _client: anthropic.Anthropic

    def __init__(self, access: Access) -> None:
        super().__init__(access, anthropic.Anthropic, _Http)

    def call(self, request: ModelRequest) -> Answer:
        usage: CallUsage | None = None
        with (
            self._errors(lambda: usage),
            self._client.messages.stream(
                model=self._profile.model,
                max_tokens=max_output(self._profile, request.limit),
                system=request.system,
                messages=[{"role": "user", "content": request.prompt}],
            ) as stream,
        ):
            try:
                stream.until_done()
                message = stream.get_final_message()
            finally:
                usage = _usage_so_far(stream)
        if message.stop_reason != "end_turn":
            reason = _REASON_OF_STOP.get(message.stop_reason, Cause.MALFORMED)
            raise self._error(reason, "", usage)
        text = "".join(block.text for block in message.content if block.type == "text").strip()
        if not text:
            raise self._error(Cause.EMPTY, "", usage)
        return Answer(text, usage)

    def count_tokens(self, body: dict[str, Any]) -> int:
        with self._errors():
            return as_count(self._client.messages.count_tokens(model=self._profile.model, **body).input_tokens)

    @contextmanager
    def _errors(self, usage: Callable[[], CallUsage | None] = lambda: None) -> Iterator[None]:
        """Turn any error of the SDK into CallError."""
        try:
            yield
        except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
            raise self._error(Cause.TIMEOUT, "", usage()) from error
        except httpx2.TransportError as error:
            raise self._error(Cause.CUT_OFF, str(error), usage()) from error
        except anthropic.APIConnectionError as error:
            raise self._error(Cause.CONNECTION, str(error.__cause__ or ""), usage()) from error
        except anthropic.APIStatusError as error:
            reason = reason_of(error.status_code, error.type)
            detail = destination(error.response) or error.api_message or error.message
            raise self._error(reason, detail, usage()) from error
        except Exception as error:  # The SDK does not wrap errors of its parsers.
            raise self._error(Cause.MALFORMED, f"{type(error).__name__}: {error}", usage()) from error


def _usage_so_far(stream: anthropic.MessageStream[None]) -> CallUsage | None:
    """Return usage reported by the stream. If the answer broke off, output covers only its beginning."""
    try:
        message = stream.current_message_snapshot
    except AssertionError:  # No message had begun.
        return None
    usage = message.usage
    return usage_of(
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_creation_input_tokens,
        usage.cache_read_input_tokens,
        is_whole=message.stop_reason is not None,
    )
