"""Redirects: text that the user lets one server read is sent to no other, however that server answers.

The SDKs follow 20 redirects to anywhere, and try each call again after too many. Here a redirect is followed only to
the origin (scheme, host, port) that was asked, with the same body, and a few times; the SDK gets any other as the
answer that it is, which it reports as a status error and does not try again.
"""

from __future__ import annotations

from typing import Any, Final

import httpx2

MOST: Final = 3
"""Redirects that are followed for one request: gateways add a slash or a version to the path."""


class OneOrigin(httpx2.Client):
    """A client that leaves the origin of a request to nobody. It goes before the default client of an SDK."""

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
    """Where a redirect leads, for a message: without query and credentials; "" for what is none."""
    following = response.next_request
    if following is None:
        return ""
    url = following.url.copy_with(userinfo=b"", query=None, fragment=None)
    return f"(It names {url}.)"


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
