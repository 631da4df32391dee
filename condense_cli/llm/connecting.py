"""The client of a profile. Each imports the SDK of its API, which takes up to a second: only where a call is made."""

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
