"""A session file put where its client looks for it, and the request by which the client goes on with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final, NamedTuple

from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse

from .claude import ClaudeCode
from .codex import Codex
from .loopback import Json

NEXT: Final = "And now the next thing, please."
ANY_ID: Final = "c0dec0de-0000-4000-8000-000000000000"


class Session(NamedTuple):
    """The bytes of a session file of Claude Code and the id that it is resumed by."""

    data: bytes
    id: str

    @classmethod
    def of(cls, data: bytes) -> Session:
        """The session under the id that its records name, or any where they name none."""
        ids = re.findall(rb'"sessionId":"([0-9a-f]{8}-[0-9a-f-]{27})"', data)
        return cls(data, ids[-1].decode() if ids else ANY_ID)


class Rollout(NamedTuple):
    """The bytes of a rollout of Codex and the name of its file, which ends with the id that it is resumed by."""

    data: bytes
    name: str

    @property
    def id(self) -> str:
        return Path(self.name).stem[-36:]

    @property
    def records(self) -> list[Json]:
        return [json.loads(line) for line in self.data.splitlines()]

    def with_records(self, records: list[Json]) -> Rollout:
        return self._replace(data=b"".join(json.dumps(record).encode() + b"\n" for record in records))


def resume_session(client: ClaudeCode, session: Session) -> tuple[Transcript, Json]:
    """What the file says, and what the client sends of it with the prompt NEXT. The file is only added to."""
    transcript = parse(session.data, format="claude-code")
    path = client.put(session.data, session.id)
    ran = client.resume(session.id, NEXT, model=transcript.model)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert path.read_bytes().startswith(session.data)
    return transcript, ran.requests[0]


def resume_rollout(client: Codex, rollout: Rollout) -> tuple[Transcript, Json]:
    """The same for a rollout of Codex."""
    transcript = parse(rollout.data, format="codex")
    path = client.put(rollout.data, rollout.name)
    ran = client.resume(rollout.id, NEXT)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert path.read_bytes().startswith(rollout.data)
    return transcript, ran.requests[0]
