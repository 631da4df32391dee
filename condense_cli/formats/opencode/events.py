"""What a plugin of opencode sees, one hook a line: ["event", {"event": {"type", "properties"}}], ["chat.message", …].

A message and each of its parts come again whenever they change: the newest one counts. Such a log is a record of
what happened, from which no client continues, so it is only read. Of several sessions in it, that is of a session and
its subagents, the first is read.
https://opencode.ai/docs/plugins
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core.transcript import JsonPath, Transcript
from ...core.values import Family
from ...errors import UnknownFormatError
from ..engine.base import Evidence, Format
from ..engine.container import Document
from .turns import ROLES, OpencodeEntry, OpencodePart, transcript


def evidence(value: Any) -> Evidence:
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str) or not isinstance(value[1], dict):
        return Evidence.NO
    return Evidence.YES if value[0] == "event" and _event(value) else Evidence.MAYBE


def _event(value: list[Any]) -> dict[str, Any]:
    """The properties of an event, with its type."""
    event = value[1].get("event")
    properties = event.get("properties") if isinstance(event, dict) else None
    if not isinstance(properties, dict) or not isinstance(event.get("type"), str):
        return {}
    return {**properties, "type": event["type"]}


def read(document: Document, values: Iterator[Any]) -> Transcript:
    log = _Log()
    for record, value in enumerate(values):
        if evidence(value) is not Evidence.NO:
            log.take(record, value)
    entries = log.entries()
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a log in which an opencode plugin recorded some.")
    return replace(
        transcript("opencode-events", entries, document.source),
        envelope="\n".join(log.envelope.values()),
        unknown=tuple(log.unknown.items()),
    )


_PROMPT: Final = "system prompt"


class _Log:
    """Messages and parts by their ids, in the order in which they first came."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._infos: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, dict[str, OpencodePart]] = {}
        self.envelope: dict[str, str] = {}
        """What is sent with every request: the description of each tool, and the system prompt."""
        self.unknown = Tally[str]()

    def take(self, record: int, value: list[Any]) -> None:
        hook, given = value[0], value[2] if len(value) > 2 else None
        if hook == "event":
            self._event(_event(value), record)
        elif hook == "chat.message" and isinstance(given, dict):
            self._message(given.get("message"))
            parts = given.get("parts")
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                self._part(part, record, (2, "parts", number))
        elif hook == "tool.definition" and isinstance(given, dict):
            # The schema beside it is that of opencode's own library, many times as long as what is sent.
            self.envelope[str(value[1].get("toolID"))] = str(given.get("description"))
        elif hook == "experimental.chat.system.transform" and isinstance(given, dict):
            system = given.get("system")
            texts = system if isinstance(system, list) else []
            prompt = "\n".join(text for text in texts if isinstance(text, str))
            # The prompt of the session, not that by which its title is made.
            if self._is_ours(value[1].get("sessionID")) and len(prompt) > len(self.envelope.get(_PROMPT, "")):
                self.envelope[_PROMPT] = prompt

    def _event(self, event: dict[str, Any], record: int) -> None:
        kind = event.get("type")
        if kind == "message.updated":
            self._message(event.get("info"))
        elif kind == "message.part.updated":
            self._part(event.get("part"), record, (1, "event", "properties", "part"))
        elif kind == "message.removed":
            self._infos.pop(str(event.get("messageID")), None)
        elif kind == "message.part.removed":
            self._parts.get(str(event.get("messageID")), {}).pop(str(event.get("partID")), None)
        elif str(kind).startswith("message.") and kind != "message.part.delta":
            self.unknown[f"event {kind}"] += 1

    def _is_ours(self, session: Any) -> bool:
        if self._session is None and isinstance(session, str):
            self._session = session
        return bool(session == self._session)

    def _message(self, info: Any) -> None:
        is_message = isinstance(info, dict) and isinstance(info.get("id"), str) and info.get("role") in tuple(ROLES)
        if is_message and self._is_ours(info.get("sessionID")):
            self._infos[info["id"]] = info
        elif not is_message:
            self.unknown["message without an id or a role"] += 1

    def _part(self, part: Any, record: int, path: JsonPath) -> None:
        if isinstance(part, dict) and isinstance(part.get("id"), str):
            parts = self._parts.setdefault(str(part.get("messageID")), {})
            parts[part["id"]] = OpencodePart(part, record, path)
        else:
            self.unknown["part without an id"] += 1

    def entries(self) -> list[OpencodeEntry]:
        return [
            OpencodeEntry(info, list(self._parts.get(message_id, {}).values()))
            for message_id, info in self._infos.items()
        ]


FORMAT = Format(
    "opencode-events",
    Family.OPENAI_CHAT,
    "Logs of opencode plugins, read-only",
    evidence,
    read,
    is_writable=False,
)
