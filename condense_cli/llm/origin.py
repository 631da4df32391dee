"""Keep an SDK's requests within their origin.

By default the SDKs follow 20 redirects to any address, and retry each call after too many. Here a redirect is followed
only within the origin (scheme, host, port), with the same method, and a few times. The SDK receives any other redirect
as the response, which it reports as a status error without a retry.
"""

from __future__ import annotations

from typing import Any, Final

import httpx2

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


def destination(response: httpx2.Response) -> str:
    """Describe a redirect's target, without query and credentials; empty if there is none."""
    following = response.next_request
    if following is None:
        return ""
    url = following.url.copy_with(userinfo=b"", query=None, fragment=None)
    return f"(It names {url}.)"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
