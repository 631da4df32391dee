"""The client of a profile: each imports the SDK of its API, which not everybody has."""

from __future__ import annotations

from typing import assert_never

from ..config.profiles import Access
from .client import CallError, CountingClient, names_of
from .reasons import Cause, failure


def connect(access: Access) -> CountingClient:
    """A client for a profile; imports the SDK of its API. Raises CallError if that is not installed."""
    try:
        match access.profile.api:
            case "anthropic":
                from .anthropic_client import AnthropicClient

                return AnthropicClient(access)
            case "openai":
                from .openai_client import OpenAIClient

                return OpenAIClient(access)
            case "offline" | "installed" as api:
                raise ValueError(f"a profile of api {api} has no server")
            case other:
                assert_never(other)
    except ModuleNotFoundError as error:
        if error.name != access.profile.api:
            raise
        raise CallError(failure(Cause.SDK_MISSING, names_of(access))) from None
