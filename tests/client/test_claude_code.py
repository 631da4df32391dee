"""Claude Code itself sends what our reader takes for the conversation, before and after condensing."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import claude_cases
import claude_tree
import pytest
import real
from build import configuration
from build import text as text_of
from kind_cases import attached

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.formats import parse
from condense_cli.rules.validity import validate

from . import claude_plan, claude_surroundings
from .claude import ClaudeCode
from .claude_messages import differences, of_request
from .condensing import WAYS, condensed, condensed_beside
from .install import Clients
from .messages_api import text
from .resuming import ANY_ID, NEXT, Session, resume_session
from .token_counts import of_envelope, overhead

pytestmark = pytest.mark.client

RULES = "\n".join(f"Rule {number}: never use tool {number * 37} on a Monday." for number in range(30))


@pytest.fixture(scope="module")
def recorded(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Two requests, the second in the resumed session."""
    client = ClaudeCode(clients.program("claude"), tmp_path_factory.mktemp("recorded"))
    claude_plan.prepare(client.project)
    turns = claude_plan.turns(client.project)
    started = client.start("Give item 7 a name.", turns, ANY_ID)
    assert (started.status, len(started.requests)) == (0, len(turns)), started.error
    resumed = client.resume(ANY_ID, "Do it once more.", turns)
    assert (resumed.status, len(resumed.requests)) == (0, len(turns)), resumed.error
    return Session(client.session(ANY_ID).read_bytes(), ANY_ID)


def is_resumable(transcript: Transcript) -> bool:
    """The client resumes neither sub-agents nor sessions without a message."""
    return bool(transcript.messages) and re.search(rb'"isSidechain":\s*false', transcript.source.data) is not None


def is_whole(path: Path) -> bool:
    """Some versions stumble over attachments with parts cut out."""
    return b"[trimmed for fixture]" not in path.read_bytes()


REAL = [path for path in real.files_of("claude-code") if is_whole(path)]
MORE = [path for path in real.more_of("claude-code") if is_whole(path)]


def lines_of(records: list[claude_tree.Json]) -> bytes:
    return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in records)


def size(body: claude_tree.Json) -> int:
    return sum(len(item.text) for item in of_request(body))


# A session that the client recorded itself.
def test_the_recorded_session_is_read_as_it_is_sent(claude: ClaudeCode, recorded: Session) -> None:
    transcript, request = resume_session(claude, recorded)
    assert differences(transcript, request, NEXT) == []
    kinds = {block.kind for _, block in transcript.blocks()}
    assert {BlockKind.TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT} <= kinds


# A session with whatever the client can be made to write, for a model that reads reminders in the user's turns, and for
# one that gets them as messages of the system; and what the client leaves of it when it compacts.
@pytest.mark.parametrize("model", claude_surroundings.MODELS)
def test_whatever_the_client_writes_is_read_as_it_is_sent(claude: ClaudeCode, model: str) -> None:
    options = claude_surroundings.prepare(claude.project)
    turns = claude_surroundings.turns(claude.project)
    started = claude.start(claude_surroundings.PROMPT, turns, ANY_ID, model, options)
    assert (started.status, len(started.requests) > len(turns)) == (0, True), started.error
    session = Session(claude.session(ANY_ID).read_bytes(), ANY_ID)
    assert claude_surroundings.kinds_of(session.data) >= claude_surroundings.KINDS
    for compacted in (False, True):
        if compacted:
            claude.resume(ANY_ID, "/compact", [[text("<summary>All of it was done.</summary>")]], model)
            session = Session(claude.session(ANY_ID).read_bytes(), ANY_ID)
        transcript, request = resume_session(claude, session)
        assert differences(transcript, request, NEXT) == []
        assert transcript.unknown == ()
        assert of_envelope(transcript) == pytest.approx(overhead(request), rel=0.01)


# A resume needs no copies of requests: without them the client sends the same, prompt and tools too.
def test_a_session_without_copies_of_requests_resumes(claude: ClaudeCode, recorded: Session) -> None:
    slim = api.condense(parse(recorded.data), configuration(), slim=True)
    small = recorded._replace(data=api.dump(slim))
    assert len(small.data) < 0.7 * len(recorded.data)
    _, whole = resume_session(claude, recorded)
    _, request = resume_session(claude, small)
    assert [request[key] for key in ("messages", "tools")] == [whole[key] for key in ("messages", "tools")]


# Each rule of the reader is a rule of the client.
@pytest.mark.parametrize("name", claude_cases.CASES)
def test_the_rules_of_the_reader_are_those_of_the_client(claude: ClaudeCode, name: str) -> None:
    data = lines_of(claude_cases.CASES[name].records)
    transcript, request = resume_session(claude, Session(data, claude_tree.SESSION))
    assert differences(transcript, request, NEXT) == []


# A session that ended at work: this client answers the open calls, older ones leave them out.
def test_calls_that_are_open_at_the_end(claude: ClaudeCode) -> None:
    data = lines_of(claude_cases.OPEN_AT_THE_END.records)
    transcript, request = resume_session(claude, Session(data, claude_tree.SESSION))
    sent = {item.about for item in of_request(request) if item.kind == "call"}
    assert differences(transcript, request, NEXT) == [] or sent == {"a"}


# So they are when the thinking is gone, from what a compaction keeps as well.
@pytest.mark.parametrize("name", claude_cases.CASES)
def test_the_rules_hold_without_the_thinking(claude: ClaudeCode, name: str, tmp_path: Path) -> None:
    data = condensed(lines_of(claude_cases.CASES[name].records), "no thinking", tmp_path)
    transcript, request = resume_session(claude, Session(data, claude_tree.SESSION))
    assert differences(transcript, request, NEXT) == []


# Sessions of other people, recorded by many versions of the client.
@pytest.mark.parametrize("path", [*REAL, *MORE], ids=lambda path: path.name[-40:])
def test_real_sessions_are_read_as_they_are_sent(claude: ClaudeCode, path: Path) -> None:
    session = Session.of(path.read_bytes())
    if not is_resumable(real.transcript(path)):
        claude.put(session.data, session.id)
        assert claude.resume(session.id, NEXT).requests == ()
        return
    transcript, request = resume_session(claude, session)
    assert differences(transcript, request, NEXT) == []


# A condensed session resumes in its place, sends what it says, and is smaller.
@pytest.mark.parametrize("way", WAYS)
def test_a_condensed_session_resumes(claude: ClaudeCode, recorded: Session, way: str, tmp_path: Path) -> None:
    small = recorded._replace(data=condensed(recorded.data, way, tmp_path))
    before, whole = resume_session(claude, recorded)
    after, request = resume_session(claude, small)
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
        real.SESSION,
        *(path for path in REAL if is_resumable(real.transcript(path))),
    ],
    ids=lambda path: path.name[-40:],
)
def test_real_condensed_sessions_resume(claude: ClaudeCode, path: Path, way: str, tmp_path: Path) -> None:
    session = Session.of(path.read_bytes())
    after, request = resume_session(claude, session._replace(data=condensed(session.data, way, tmp_path)))
    assert differences(after, request, NEXT) == []
    assert set(validate(after)) <= set(validate(real.transcript(path)))


# The end that a session names, even one it went back to, does not lead the client past a summary behind it.
# The client makes what it attached anew of the values in the file: references there reach the model.
@pytest.mark.parametrize(
    ("kind", "keys_of"),
    [
        (
            "nested_memory",
            lambda text: {
                "path": "/p/CLAUDE.md",
                "content": {"path": "/p/CLAUDE.md", "type": "Project", "content": text},
            },
        ),
        ("edited_text_file", lambda text: {"filename": "/p/a.py", "snippet": text}),
    ],
)
def test_references_in_attachments_are_sent(
    claude: ClaudeCode, kind: str, keys_of: Callable[[str], claude_tree.Json]
) -> None:
    records = [claude_tree.GO, claude_tree.reply(2, 1, "m1", text_of("I begin."))]
    for n in range(2, 17, 3):
        records += [
            claude_tree.said(n + 1, n, f"On, {n}."),
            attached(n + 2, n + 1, kind, keys_of(RULES if n < 8 else "x")),
            claude_tree.reply(n + 3, n + 2, f"m{n}", text_of(f"Step {n}.")),
        ]
    small = api.dump(api.condense(parse(lines_of(records)), configuration(lossless_prelude={})))
    transcript, request = resume_session(claude, Session.of(small))
    (told,) = re.findall(r"\[see [^\]]* of the next attached [^\]]*\]", json.dumps(request))
    assert [told in block.text for _, block in transcript.blocks() if block.kind is BlockKind.OPAQUE] == [
        True,
        *[False] * 4,
    ]


@pytest.mark.parametrize(("leaf", "keys"), [(12, {}), (12, {"explicit": True}), (8, {"explicit": True})])
def test_a_summary_is_resumed_whatever_end_is_named(
    claude: ClaudeCode, leaf: int, keys: dict[str, bool], tmp_path: Path
) -> None:
    records = [*claude_tree.LOOKING_AROUND, claude_tree.prompt_note(leaf, **keys)]
    data = condensed(lines_of(records), "summary", tmp_path)
    assert data.startswith(lines_of(records))
    transcript, request = resume_session(claude, Session(data, claude_tree.SESSION))
    assert any(message.is_summary for message in transcript.messages)
    assert differences(transcript, request, NEXT) == []


# What is written as a session beside the old one, or in its place, is what the client finds and resumes.
@pytest.mark.parametrize("destination", ["--new-session", "--in-place"])
def test_a_written_session_is_found(claude: ClaudeCode, recorded: Session, destination: str) -> None:
    path = condensed_beside(claude.put(recorded.data, recorded.id), destination)
    transcript = parse(path.read_bytes())
    ran = claude.resume(path.stem, NEXT, model=transcript.model)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert differences(transcript, ran.requests[0], NEXT) == []
    if destination == "--new-session":
        assert path.stem != recorded.id
        assert claude.session(recorded.id).read_bytes() == recorded.data
