"""Open an SDK's client, and keep its requests within their origin.

By default the SDKs follow 20 redirects to any address, and retry each call after too many. Here a redirect is followed
only within the origin (scheme, host, port), with the same method, and a few times. The SDK receives any other redirect
as the response, which it reports as a status error without a retry.
"""

from __future__ import annotations

from typing import Any, Final

import httpx2

from ..config.profiles import Access
from ..money.economics import CallUsage
from .client import CallError, Cause, failure, names_of

MOST: Final = 3
"""Maximum redirects per request: gateways add a slash or a version to the path."""


class OneOrigin(httpx2.Client):
    """HTTP client that never leaves a request's origin. Inherit from it before an SDK's default client."""

    def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        options["follow_redirects"] = False
        response = super().send(request, **options)
        for _ in range(MOST):
            following = response.next_request
            if (
                following is None
                or _origin(following.url) != _origin(request.url)
                or following.method != request.method
            ):
                break
            response.close()
            response = super().send(following, **options)
        return response


class SdkClient:
    """Client for one model of an API."""

    _client: Any

    def __init__(self, access: Access, sdk: Any, http: type[OneOrigin]) -> None:
        self._profile = access.profile
        self._names = names_of(access)
        # Pass everything that determines the destination: environment variables must not redirect a transcript.
        self._client = sdk(
            api_key=access.key or "none",  # The SDKs require one; servers without keys ignore it.
            base_url=access.profile.url,
            timeout=access.profile.timeout_seconds,
            max_retries=access.profile.max_retries,
            http_client=http(),
        )

    def close(self) -> None:
        self._client.close()

    def _error(self, reason: Cause, detail: str, usage: CallUsage | None) -> CallError:
        return CallError(failure(reason, self._names, detail), usage)


def destination(response: httpx2.Response) -> str:
    """Describe a redirect's target, without query and credentials; empty if there is none."""
    following = response.next_request
    if following is None:
        return ""
    url = following.url.copy_with(userinfo=b"", query=None, fragment=None)
    return f"(It names {url}.)"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
