"""A summary in a Claude Code session: a compact boundary at the end of the file, and what the client sends behind it.

The client sends what follows the last boundary, so what stands before it stays. The file grows by the boundary, the
summary, and copies of the messages that stay, under ids of their own. Copies of one reply share a new `message.id`;
under the old one the client would find the lines before the boundary as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath
from ...core.values import BlockKind, Role
from ..engine.base import INPUT_TOKENS, Rewrite
from ..engine.display_text import objects_with
from ..engine.ids import derived_uuid
from ..engine.writing import slimmed_source
from . import cut as claude_cut

_COMMON: Final = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""Keys that say where and when a line was written; a new line takes them from the newest one."""


def write(rewrite: Rewrite) -> bytes:
    return _Appended(rewrite).data()


class _Appended:
    """The lines that go to the end of the file, each linked to the one before."""

    def __init__(self, rewrite: Rewrite) -> None:
        transcript = rewrite.transcript
        blocks = [block for _, block in transcript.blocks()]
        summaries = [block.text for block in blocks if block.is_inserted]
        records = sorted({block.place.record for block in (*blocks, *transcript.removed)})
        self.rewrite = rewrite
        self.records = records
        self.newest: dict[str, Any] = json_text.parse(transcript.source.view(records[-1]))
        self.seed = derived_uuid(*summaries, str(self.newest.get("uuid")))
        self.lines: list[bytes] = []
        self.uuids: dict[str, str] = {}
        self.parent: str | None = None

    def data(self) -> bytes:
        self._boundary()
        done: set[int] = set()
        too_late = self._too_late()
        waiting: list[int] = []
        for turn, message in enumerate(self.rewrite.transcript.messages):
            for block in message.blocks:
                record = block.place.record
                if block.is_inserted:
                    self._summary(block.text)
                elif record not in done:
                    done.add(record)
                    self._copy(record, turn)
            if message.role is Role.ASSISTANT:
                for record in waiting:
                    self._copy(record, turn)
                calls = [block.call_id or "" for block in message.blocks if block.kind is BlockKind.TOOL_CALL]
                waiting = sorted({too_late[call] for call in calls if call in too_late})
        for record in self._notes():
            self._copy(record, -1)
        data = slimmed_source(self.rewrite.transcript)
        between = b"" if data.endswith(b"\n") else b"\n"
        # At once: a sum of such sizes would hold the whole file once more.
        return b"".join([data, between, *self.lines])

    def _id(self, name: str) -> str:
        return derived_uuid(self.seed, name)

    def _too_late(self) -> dict[str, int]:
        """Records of results that another reply cut off from their calls, by these calls.

        The client sends no such result, but it shows that the call was answered: without one the call goes too.
        """
        blocks = [block for _, block in self.rewrite.transcript.blocks()]
        calls = {block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
        lost = [call for call in calls - {block.answers for block in blocks} if call]
        found: dict[str, int] = {}
        for record, value in objects_with(self.rewrite.transcript.source, *lost) if lost else ():
            message = value.get("message") if value.get("type") == "user" and record not in self.records else None
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if (
                    isinstance(part, dict)
                    and str(part.get("tool_use_id")) in lost
                    and isinstance(value.get("uuid"), str)
                ):
                    found.setdefault(part["tool_use_id"], record)
        return found

    def _notes(self) -> Iterator[int]:
        """Notes that results which stay were cut by the client: it looks for them behind the boundary only."""
        cut = {block.answers for _, block in self.rewrite.transcript.blocks() if claude_cut.is_stand_in(block)}
        for record, value in objects_with(self.rewrite.transcript.source, "tool_results_cut") if cut else ():
            calls = dict(claude_cut.stand_ins([value.get("attachment")]))
            if isinstance(value.get("uuid"), str) and not cut.isdisjoint(calls):
                yield record

    def _boundary(self) -> None:
        self._line(
            "boundary",
            {
                "logicalParentUuid": self.newest.get("uuid"),
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "isMeta": False,
                "level": "info",
                "compactMetadata": {"trigger": "manual", "preTokens": self._tokens_sent()},
            },
        )

    def _tokens_sent(self) -> int:
        """Tokens of the last request, as the API reported them; the client shows this number."""
        for record in reversed(self.records):
            value = json_text.parse(self.rewrite.transcript.source.view(record))
            message = value.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            if isinstance(usage, dict):
                return sum(number for key in INPUT_TOKENS if isinstance(number := usage.get(key), int))
        return 0

    def _summary(self, text: str) -> None:
        message = {"role": "user", "content": text}
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self._line(f"summary {len(self.lines)}", {"type": "user", "message": message, **flags})

    def _line(self, name: str, members: dict[str, Any]) -> None:
        uuid = self._id(name)
        line: dict[str, Any] = {"parentUuid": self.parent, "isSidechain": self.newest.get("isSidechain", False)}
        line |= {key: self.newest[key] for key in _COMMON if key in self.newest}
        line |= {**members, "uuid": uuid, "timestamp": self.newest.get("timestamp")}
        self._add(self.rewrite.style.dump(line))
        self.parent = uuid

    def _copy(self, record: int, turn: int) -> None:
        value = json_text.parse(self.rewrite.transcript.source.raw(record))
        uuid = self.uuids[value["uuid"]] = self._id(value["uuid"])
        literals: dict[JsonPath, str | None] = {("uuid",): json.dumps(uuid)}
        if "parentUuid" in value:
            literals["parentUuid",] = json.dumps(self.parent)
        caller = value.get("sourceToolAssistantUUID")
        if isinstance(caller, str) and caller in self.uuids:
            literals["sourceToolAssistantUUID",] = json.dumps(self.uuids[caller])
        reply = value["message"].get("id") if value["type"] == "assistant" else None
        # Other models behind the client may leave it empty; then each line is a reply of its own.
        if reply and isinstance(reply, str):
            literals["message", "id"] = json.dumps(self._reply(reply, turn))
        line = self.rewrite.record(record, literals)
        if "parentUuid" not in value:
            line = json_text.with_member(line, "parentUuid", json.dumps(self.parent))
        self._add(line)
        self.parent = uuid

    def _add(self, line: str) -> None:
        self.lines.append(json_text.encode(line) + b"\n")

    def _reply(self, old: str, turn: int) -> str:
        """The id of a reply's copies. The old one may have come again in another turn, with which they would join."""
        return "msg_" + self._id(f"{turn} {old}").replace("-", "")
