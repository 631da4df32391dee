"""Open a profile's client. Each imports its API's SDK, which takes up to a second, so only before a call."""

from __future__ import annotations

from typing import assert_never

from ..config.profiles import Access
from .client import CountingClient


def connect(access: Access) -> CountingClient:
    """Open a client for a profile."""
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
