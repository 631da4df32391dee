"""What a rollout of Codex tells without being read as a conversation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .records import records, records_with
from .requests import first_request, texts_in


def title(data: bytes) -> str | None:
    """The first request: as the client shows it, otherwise as the model gets it."""
    return first_request(_shown(data)) or first_request(_sent(data))


def _shown(data: bytes) -> Iterator[str]:
    for payload in _payloads(data, "event_msg", b'"user_message"'):
        if payload.get("type") == "user_message" and isinstance(payload.get("message"), str):
            # An editor puts what is open in it before the request.
            yield payload["message"].rpartition("## My request for Codex:\n")[2]


def _sent(data: bytes) -> Iterator[str]:
    for payload in _payloads(data, "response_item", b'"user"'):
        if payload.get("type") == "message" and payload.get("role") == "user":
            yield from texts_in(payload.get("content"), ("input_text",))


def _payloads(data: bytes, kind: str, mark: bytes) -> Iterator[dict[str, Any]]:
    for record in records_with(data, mark):
        payload = record.get("payload")
        if record.get("type") == kind and isinstance(payload, dict):
            yield payload


def project(data: bytes) -> str | None:
    for record in records(data):
        payload = record.get("payload")
        if isinstance(payload, dict) and isinstance(payload.get("cwd"), str):
            return str(payload["cwd"])
    return None


def has_messages(data: bytes) -> bool:
    return b'"response_item"' in data
