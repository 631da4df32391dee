"""Claude Code itself sends what our reader takes for the conversation, before and after condensing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import claude_cases
import pytest
import real

from condense_cli.formats import parse
from condense_cli.transcript import BlockKind, Transcript
from condense_cli.validity import validate

from . import claude_plan
from .claude import ClaudeCode
from .claude_messages import differences, of_request
from .condensing import WAYS, condensed
from .install import Clients

pytestmark = pytest.mark.client

RECORDED = "c0dec0de-0000-4000-8000-000000000000"
NEXT = "And now the next thing, please."


class Session(NamedTuple):
    """The bytes of a session file and the id that it is resumed by."""

    data: bytes
    id: str


@pytest.fixture(scope="module")
def recorded(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Two requests, the second in the resumed session."""
    client = ClaudeCode(clients.claude, tmp_path_factory.mktemp("recorded"))
    claude_plan.prepare(client.project)
    turns = claude_plan.turns(client.project)
    started = client.start("Give item 7 a name.", turns, RECORDED)
    assert (started.status, len(started.requests)) == (0, len(turns)), started.error
    resumed = client.resume(RECORDED, "Do it once more.", turns)
    assert (resumed.status, len(resumed.requests)) == (0, len(turns)), resumed.error
    return Session(client.session(RECORDED).read_bytes(), RECORDED)


def id_of(data: bytes) -> str:
    ids = re.findall(rb'"sessionId":"([0-9a-f]{8}-[0-9a-f-]{27})"', data)
    return ids[-1].decode() if ids else RECORDED


def is_resumable(transcript: Transcript) -> bool:
    """The client resumes neither sub-agents nor sessions without a message, nor attachments with parts cut out."""
    main = re.search(rb'"isSidechain":\s*false', transcript.source.data)
    return bool(transcript.messages and main) and b"[trimmed for fixture]" not in transcript.source.data


def resumed(client: ClaudeCode, session: Session) -> tuple[Transcript, claude_cases.Json]:
    """What the file says, and the request by which the client goes on with it."""
    transcript = parse(session.data, format="claude-code")
    client.put(session.data, session.id)
    ran = client.resume(session.id, NEXT, model=transcript.model)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert client.session(session.id).read_bytes().startswith(session.data)
    return transcript, ran.requests[0]


def size(body: claude_cases.Json) -> int:
    return sum(len(item.text) for item in of_request(body))


# A session that the client recorded itself.
def test_the_recorded_session_is_read_as_it_is_sent(claude: ClaudeCode, recorded: Session) -> None:
    transcript, request = resumed(claude, recorded)
    assert differences(transcript, request, NEXT) == []
    kinds = {block.kind for _, block in transcript.blocks()}
    assert {BlockKind.TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT} <= kinds


# Each rule of the reader is a rule of the client.
@pytest.mark.parametrize("name", claude_cases.CASES)
def test_the_rules_of_the_reader_are_those_of_the_client(claude: ClaudeCode, name: str) -> None:
    records = claude_cases.CASES[name].records
    lines = b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)
    transcript, request = resumed(claude, Session(lines, claude_cases.SESSION))
    assert differences(transcript, request, NEXT) == []


# Sessions of other people, recorded by many versions of the client.
@pytest.mark.parametrize("path", real.files_of("claude-code"), ids=lambda path: path.name[-40:])
def test_real_sessions_are_read_as_they_are_sent(claude: ClaudeCode, path: Path) -> None:
    session = Session(path.read_bytes(), id_of(path.read_bytes()))
    if not is_resumable(real.transcript(path)):
        claude.put(session.data, session.id)
        assert claude.resume(session.id, NEXT).requests == ()
        return
    transcript, request = resumed(claude, session)
    assert differences(transcript, request, NEXT) == []


# A condensed session resumes in its place, sends what it says, and is smaller.
@pytest.mark.parametrize("way", WAYS)
def test_a_condensed_session_resumes(claude: ClaudeCode, recorded: Session, way: str, tmp_path: Path) -> None:
    small = recorded._replace(data=condensed(recorded.data, way, tmp_path))
    before, whole = resumed(claude, recorded)
    after, request = resumed(claude, small)
    assert differences(after, request, NEXT) == []
    assert size(request) < size(whole)
    assert validate(after) == validate(before) == []
    if way == "no thinking":
        assert [item for item in of_request(request) if item.kind == "thinking"] == []


# So do the sessions of other people, and the sample.
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "path",
    [
        real.PROJECT / "sample_transcripts" / "bugfix-session.jsonl",
        *(path for path in real.files_of("claude-code") if is_resumable(real.transcript(path))),
    ],
    ids=lambda path: path.name[-40:],
)
def test_real_condensed_sessions_resume(claude: ClaudeCode, path: Path, way: str, tmp_path: Path) -> None:
    session = Session(path.read_bytes(), id_of(path.read_bytes()))
    after, request = resumed(claude, session._replace(data=condensed(session.data, way, tmp_path)))
    assert differences(after, request, NEXT) == []
    assert set(validate(after)) <= set(validate(real.transcript(path)))
