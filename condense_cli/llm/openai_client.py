"""Call the Chat Completions API, streamed, of OpenAI or compatible servers, and OpenAI's token counting.

If the server cuts a stream, the SDK ends it without an error; only the finish reason tells. Compatible servers may lack
parameters and may not report usage.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

import openai
from msgspec.structs import replace

from ..config.profiles import Access
from ..money.economics import CallUsage
from .client import Answer, Cause, ModelRequest, as_count, max_output, reason_of, usage_of
from .sdk import OneOrigin, SdkClient, destination

_REASON_OF_FINISH: Final = {
    None: Cause.CUT_OFF,
    "length": Cause.OVER_LIMIT,
    "content_filter": Cause.REFUSED_BY_MODEL,
}
"""Only `stop` is a whole answer. Anything unlisted (a tool call) was not requested."""

Parameters = dict[str, Any]

_DISPENSABLE: Final = ("max_completion_tokens", "stream_options", "reasoning_effort")
"""Parameters that are left out if a compatible server refuses them; for the first the older `max_tokens` is sent."""

_OF_VALUE: Final = frozenset({"invalid_value", "unsupported_value"})
"""Error codes about a parameter's value: the server knows the parameter, and the user chose the value."""


class _Http(OneOrigin, openai.DefaultHttpxClient):
    """The SDK's HTTP client, restricted to one origin."""


class OpenAIClient(SdkClient):
    """Client for one model of a server with the Chat Completions API."""

    _client: openai.OpenAI

    def __init__(self, access: Access) -> None:
        super().__init__(access, openai.OpenAI, _Http)
        self._refused: frozenset[str] = frozenset()

    def call(self, request: ModelRequest) -> Answer:
        while True:
            try:
                return self._answer(request)
            except _ParameterRefusedError as refused:
                self._refused |= {refused.parameter}

    def _answer(self, request: ModelRequest) -> Answer:
        heard = _Heard()
        parameters = self._parameters(request)
        with self._errors(heard, parameters):
            stream: Any = self._client.chat.completions.create(**parameters)
            with stream:
                for chunk in stream:
                    heard.take(chunk)
        if not heard.chunks:
            raise self._error(Cause.MALFORMED, "The stream holds no event.", heard.usage)
        if heard.is_refusal:
            raise self._error(Cause.REFUSED_BY_MODEL, "", heard.usage)
        if heard.finish != "stop":
            raise self._error(_REASON_OF_FINISH.get(heard.finish, Cause.MALFORMED), "", heard.usage)
        text = "".join(heard.texts).strip()
        if not text:
            raise self._error(Cause.EMPTY, "", heard.usage)
        return Answer(text, heard.usage)

    def _parameters(self, request: ModelRequest) -> Parameters:
        parameters: Parameters = {
            "model": self._profile.model,
            "messages": [
                {"role": "system", "content": request.system},
                {"role": "user", "content": request.prompt},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "max_completion_tokens": max_output(self._profile, request.limit),
        }
        if self._profile.reasoning_effort is not None:
            parameters["reasoning_effort"] = self._profile.reasoning_effort
        for name in self._refused & parameters.keys():
            value = parameters.pop(name)
            if name == "max_completion_tokens":
                parameters["max_tokens"] = value
        return parameters

    def count_tokens(self, body: dict[str, Any]) -> int:
        with self._errors(_Heard()):
            return as_count(self._client.responses.input_tokens.count(model=self._profile.model, **body).input_tokens)

    @contextmanager
    def _errors(self, heard: _Heard, parameters: Collection[str] = ()) -> Iterator[None]:
        """Turn any error of the SDK into CallError, or into _ParameterRefusedError for some `parameters`."""
        try:
            yield
        except openai.APITimeoutError as error:
            raise self._error(Cause.TIMEOUT, "", heard.usage) from error
        except openai.APIConnectionError as error:
            reason = Cause.CUT_OFF if heard.chunks else Cause.CONNECTION
            raise self._error(reason, str(error.__cause__ or ""), heard.usage) from error
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            for name in _DISPENSABLE if error.code not in _OF_VALUE else ():
                if name in parameters and (error.param == name or name in error.message):
                    raise _ParameterRefusedError(name) from None
            raise self._error(
                reason_of(error.status_code, error.code, error.type), error.message, heard.usage
            ) from error
        except openai.APIStatusError as error:
            reason = reason_of(error.status_code, error.code, error.type)
            raise self._error(reason, destination(error.response) or error.message, heard.usage) from error
        except openai.APIError as error:
            raise self._error(reason_of(None, error.code, error.type), error.message, heard.usage) from error
        except Exception as error:  # The SDK does not wrap errors of its parsers.
            raise self._error(Cause.MALFORMED, f"{type(error).__name__}: {error}", heard.usage) from error


class _ParameterRefusedError(Exception):
    def __init__(self, parameter: str) -> None:
        self.parameter = parameter


class _Heard:
    """Content of a stream so far. Nothing is taken for granted: the SDK does not check the server's data."""

    def __init__(self) -> None:
        self.chunks = 0
        self.texts: list[str] = []
        self.finish: str | None = None
        self.is_refusal = False
        self._usage: CallUsage | None = None

    @property
    def usage(self) -> CallUsage | None:
        """Usage; partial if the answer broke off, since some servers report it with every chunk."""
        return self._usage and replace(self._usage, is_whole=self.finish is not None)

    def take(self, chunk: Any) -> None:
        self.chunks += 1
        if chunk.usage is not None:
            self._usage = _usage(chunk.usage)
        for choice in chunk.choices:
            self.finish = choice.finish_reason or self.finish
            if choice.delta.content:
                self.texts.append(choice.delta.content)
            self.is_refusal = self.is_refusal or bool(choice.delta.refusal)


def _usage(usage: Any) -> CallUsage | None:
    details = usage.prompt_tokens_details
    written, cached = (getattr(details, name, None) for name in ("cache_write_tokens", "cached_tokens"))
    return usage_of(usage.prompt_tokens, usage.completion_tokens, written, cached)
