"""Which requests hold a conversation, and where requests go on to."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Final

from msgspec import Struct

from ..errors import UsageError
from ..money.economics import Accounting


class Api(Struct, frozen=True):
    """One way to send a conversation: the value of `key` in the body is a list of messages of a `format`."""

    path: str
    key: str
    format: str
    accounting: Accounting


_APIS: Final = (
    Api("/v1/messages", "messages", "anthropic", Accounting.ANTHROPIC),
    Api("/v1/chat/completions", "messages", "openai-chat", Accounting.OPENAI),
    Api("/v1/responses", "input", "openai-responses", Accounting.OPENAI),
)

ANTHROPIC: Final = "https://api.anthropic.com"
OPENAI: Final = "https://api.openai.com"
CHATGPT: Final = "https://chatgpt.com/backend-api/codex"
"""Where Codex sends to when its user is logged in with ChatGPT; paths have no /v1 there."""

_VERSION: Final = "/v1"
_MESSAGES: Final = "/messages"
_UNVERSIONED: Final = (_MESSAGES, "/chat/completions", "/responses", "/models")
"""Paths as clients send them that take an address for one with the version: the AI SDK of Vercel, and so opencode, has
https://api.anthropic.com/v1 where Anthropic's own SDK has none."""


def api_of(method: str, path: str) -> Api | None:
    """The API of a request that holds a conversation; None for every other request."""
    if method != "POST":
        return None
    return next((api for api in _APIS if path.endswith(api.path) or _versioned(path) == api.path), None)


def _versioned(path: str) -> str:
    return _VERSION + path if path.startswith(_UNVERSIONED) else path


def check_upstream(url: str) -> str:
    """The address as it is used. Raises UsageError for what is no address of a server."""
    from urllib.parse import urlsplit

    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise UsageError(f"{url!r} is not the address of an API.", "Write it like https://api.anthropic.com.")
    return url.rstrip("/")


def check_other(upstream: str | None, own: Set[str]) -> None:
    """Raises UsageError where requests would go to one of the proxy's `own` names, and so round and round."""
    from urllib.parse import urlsplit

    if upstream is not None and urlsplit(upstream).netloc.rpartition("@")[2].lower() in own:
        raise UsageError(
            f"{upstream} is this proxy itself.",
            "Name the API with --upstream; clients may be set to the proxy by their settings or ANTHROPIC_BASE_URL.",
        )


def usual_upstream(path: str, headers: Mapping[str, str]) -> str:
    """The vendor that a request is meant for, where nobody said which server it goes to."""
    if "anthropic-version" in headers or _versioned(path).startswith(("/v1/messages", "/api/")):
        return ANTHROPIC
    return CHATGPT if "chatgpt-account-id" in headers else OPENAI


def target(upstream: str, path: str) -> str:
    """The address that a path becomes. Base addresses name the version or not, and it is there once.

    Gateways may have paths of their own without one, but none for Anthropic's messages.
    """
    if path.startswith(_MESSAGES) or upstream in (ANTHROPIC, OPENAI):
        path = _versioned(path)
    if path.startswith(f"{_VERSION}/") and (upstream.endswith(_VERSION) or upstream == CHATGPT):
        path = path.removeprefix(_VERSION)
    return upstream + path
