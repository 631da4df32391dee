"""Other tools as ways to send the requests of a recorded session.

A tool that takes messages changes each request, as it does inside an agent. One that takes session files is run once
the context reaches a size, as a user would, and the client goes on from what it wrote.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace
from peers import Peer, Worker
from shapes import session_file

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.live.replaying import ApiMessage, Way, api_messages, as_marked

REREAD: Final = "reread-"
"""Beginning of the ids of calls that are in no file."""

_TAKEN: Final = ("text", "tool_use", "tool_result")
_AGAIN: Final = 1.25
"""How much the context has to grow after a run until the next one."""


class PeerWays:
    """A tool in a process and a home of its own."""

    def __init__(self, peer: Peer, cache: Path, home: Path) -> None:
        self.peer, self._worker = peer, Worker(peer, cache, home)

    def way(self, setting: dict[str, Any], above: int, transcript: Transcript) -> Way:
        if self.peer.takes == "messages":
            return self._on_messages(setting, above)
        return self._on_files(setting, above, transcript)

    def close(self) -> None:
        self._worker.close()

    def _on_messages(self, setting: dict[str, Any], above: int) -> Way:
        is_over, seen = False, 0

        def send(messages: list[ApiMessage], now: float, used: int) -> list[ApiMessage]:
            # These tools look at the whole history at each request, and `used` is of the last one as it was sent: a
            # history that was too large once stays so until it gets shorter.
            nonlocal is_over, seen
            is_over, seen = used >= above or (is_over and len(messages) >= seen), len(messages)
            if not is_over:
                return messages
            shown, places = [], []
            for message in messages:
                parts = [part for part in _parts(message) if part.get("type") in _TAKEN]
                if parts:
                    shown.append({"role": message["role"], "content": [_flat(part) for part in parts]})
                    places.append(parts)
            given = self._worker.ask(shown, setting)[0]
            for message, old, parts in zip(given, shown, places, strict=True):
                for new, before, part in zip(_parts(message), old["content"], parts, strict=True):
                    part.update({key: value for key, value in new.items() if value != before.get(key)})
            return messages

        return send

    def _on_files(self, setting: dict[str, Any], above: int, transcript: Transcript) -> Way:
        wrote: list[ApiMessage] = []
        covered, limit = 0, float(above)

        def send(messages: list[ApiMessage], now: float, used: int) -> list[ApiMessage]:
            nonlocal wrote, covered, limit
            if used >= limit:
                recorded = sum(not is_reread(message) for message in messages)
                wrote = self._written(setting, transcript, recorded)
                covered = recorded
                limit = max(above, _AGAIN * used)
            return as_marked([*wrote, *_behind(messages, covered)]) if covered else messages

        return send

    def _written(self, setting: dict[str, Any], transcript: Transcript, recorded: int) -> list[ApiMessage]:
        """Run the tool on the file as it was with the first `recorded` messages."""
        low, high = 0, len(transcript.messages)
        while low < high:
            middle = (low + high) // 2
            if len(api_messages(transcript, transcript.messages[:middle])) < recorded:
                low = middle + 1
            else:
                high = middle
        file = session_file(replace(transcript, messages=transcript.messages[:low]))
        return api_messages(api.load(self._worker.ask_file(file, setting), format=transcript.format))


def is_reread(message: ApiMessage) -> bool:
    """Check for a call, or its result, that is in no file."""
    ids = (str(part.get("id") or part.get("tool_use_id") or "") for part in _parts(message))
    return any(each.startswith(REREAD) for each in ids)


def _behind(messages: list[ApiMessage], recorded: int) -> list[ApiMessage]:
    """Return what follows the first `recorded` messages of the file."""
    at = 0
    while recorded:
        recorded -= not is_reread(messages[at])
        at += 1
    while at < len(messages) and is_reread(messages[at]):
        at += 1
    return messages[at:]


def _parts(message: ApiMessage) -> list[dict[str, Any]]:
    content = message["content"]
    if isinstance(content, str):
        message["content"] = content = [{"type": "text", "text": content}]
    return [part for part in content if isinstance(part, dict)]


def _flat(part: dict[str, Any]) -> dict[str, Any]:
    """Copy a part as the tools take it: a result is one text."""
    flat = {key: value for key, value in part.items() if key != "cache_control"}
    if part["type"] == "tool_result" and not isinstance(part.get("content"), str):
        texts = (str(each.get("text", "")) for each in part.get("content") or () if isinstance(each, dict))
        flat["content"] = "\n".join(texts)
    return flat
