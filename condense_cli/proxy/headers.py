"""Headers of requests and answers as they go on: all of them, but for those of a single connection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

Headers = list[tuple[bytes, bytes]]

OFF: Final = b"x-condense"
"""With the value `off` a request goes on as it came; it is for this proxy alone."""

_OF_A_CONNECTION: Final = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization", b"te",
        b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip
"""https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1"""

_ANEW: Final = frozenset({b"host", b"content-length", b"expect", OFF})
"""What the next request has of its own."""

READABLE: Final = (b"gzip", b"deflate", b"zstd", b"identity")
"""Packings of an answer in which its usage can be read."""


def names_this_machine(host: str) -> bool:
    """Whether a request asked for this machine by a name that no page of another site can have."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdecimal() else host) in ("127.0.0.1", "localhost", "[::1]")


def sent_on(headers: Iterable[tuple[bytes, bytes]], *, length: int | None, reads: bool = False) -> Headers:
    """The headers of a request for the upstream.

    `length` is that of the body where it is known. With `reads` the answer may be packed only in ways that can be read.
    """
    headers = [*headers]
    dropped = _ANEW | _of_connection(headers)
    new = [(name, value) for name, value in headers if name.lower() not in dropped]
    if reads:
        new = [(name, _readable(value) if name.lower() == b"accept-encoding" else value) for name, value in new]
        if not any(name.lower() == b"accept-encoding" for name, _ in new):
            new.append((b"accept-encoding", b"identity"))
    if length is not None:
        new.append((b"content-length", b"%d" % length))
    return new


def sent_back(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """The headers of an answer for the client."""
    headers = [*headers]
    dropped = _of_connection(headers)
    return [(name.lower(), value) for name, value in headers if name.lower() not in dropped]


def _of_connection(headers: Headers) -> frozenset[bytes]:
    named = (value for name, value in headers if name.lower() == b"connection")
    return _OF_A_CONNECTION | {each.strip().lower() for value in named for each in value.split(b",")}


def _readable(accepted: bytes) -> bytes:
    """Of the packings that a client accepts those that can be read here, as it wrote them."""
    kept = [each.strip() for each in accepted.split(b",") if each.split(b";")[0].strip().lower() in READABLE]
    return b", ".join(kept) or b"identity"
