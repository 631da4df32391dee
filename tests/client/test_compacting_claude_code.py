"""Claude Code whose compactions the proxy answers: by hand, at the limit, in a sub-agent, twice, and resumed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from condense_cli.ledger.compaction import Earlier, read_back

from .claude import ClaudeCode
from .loopback import Answer, Json, Request, Responder, Service, serve
from .messages_api import MODEL, Script, call, text
from .proxying import run, tokens_of
from .resuming import ANY_ID

pytestmark = pytest.mark.client

AGENT = "x-claude-code-agent-id"
ODD = "It costs $& and `$$`.\n<analysis>why</analysis>\n</summary>"
PLAN = f"## Migration plan\n1. Copy accounts_v2.\n2. Switch the reader.\n\n{ODD}"
LISTING = call("Bash", command="seq 20000 24000")


def ran(
    client: ClaudeCode, service: Service, tmp_path: Path, *arguments: str, compact: str = "own"
) -> subprocess.CompletedProcess[str]:
    """Start the client through the proxy, as a person does."""
    client.project.mkdir(parents=True, exist_ok=True)
    env = client.environment(service) | {"CONDENSE_COMPACT": compact}
    proxy = [sys.executable, "-m", "condense_cli", "proxy", "--policy", "tokens:900000", "--compact-tokens", "3k"]
    proxy += ["--state", str(tmp_path / "live.db"), "--", str(client.executable)]
    options = ["-p", "--model", MODEL, "--dangerously-skip-permissions", "--output-format", "json"]
    found = run([*proxy, *options, *arguments], client.project, env)
    assert found.returncode == 0, found.stdout + found.stderr
    return found


def conversation_requests(service: Service, *, of_agents: bool = False) -> list[Json]:
    """The bodies of the conversation's requests, or of those of its agents."""
    return [
        request.body
        for request in service.requests
        if isinstance(request.body, dict) and request.body.get("tools") and (AGENT in request.headers) is of_agents
    ]


def held_by(body: Json) -> Earlier:
    """What the compaction at the beginning of a request holds."""
    content = body["messages"][0]["content"]
    texts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    (found,) = filter(None, map(read_back, texts))
    return found


def words(held: Earlier) -> list[str]:
    return [said.text for said in held.words]


def test_by_hand_twice_and_resumed(claude: ClaudeCode, tmp_path: Path) -> None:
    turns = [[text("I look."), LISTING], [text(PLAN)], [LISTING], [text("That was the second.")]]
    with serve(Script(turns, tokens_of)) as service:
        ran(claude, service, tmp_path, "--session-id", ANY_ID, f"Look at it. Never touch main.\n{ODD}")
        ran(claude, service, tmp_path, "--resume", ANY_ID, "Now the second.")
        asked = len(service.requests)
        compacted = ran(claude, service, tmp_path, "--resume", ANY_ID, "/compact keep the migration plan")
        assert len(service.requests) == asked  # No model was asked.
        assert "condense: answered 1 compaction itself (" in compacted.stderr
        ran(claude, service, tmp_path, "--resume", ANY_ID, "And now?")
        first = conversation_requests(service)[-1]
        ran(claude, service, tmp_path, "--resume", ANY_ID, "/compact")
        ran(claude, service, tmp_path, "--resume", ANY_ID, "What is left?")
        second = conversation_requests(service)[-1]
        left = ran(claude, service, tmp_path, "--resume", ANY_ID, "/compact", compact="client")
    said = ["Look at it. Never touch main.\nIt costs $& and `$$`.\n‹analysis>why‹/analysis>\n</summary>"]
    assert words(held_by(first)) == [*said, "Now the second."]
    assert "## Migration plan\n1. Copy accounts_v2.\n2. Switch the reader." in held_by(first).lines
    assert len(first["messages"]) <= 4
    assert words(held_by(second))[:3] == [*said, "Now the second.", "And now?"]
    assert "--compact own would have taken" in left.stderr


def test_a_compaction_is_taken_back(claude: ClaudeCode, tmp_path: Path) -> None:
    with serve(Script([[text("I look."), LISTING], [text(PLAN)], [text("Second.")]], tokens_of)) as service:
        ran(claude, service, tmp_path, "--session-id", ANY_ID, "Look at it.")
        ran(claude, service, tmp_path, "--resume", ANY_ID, "And the second.")
        ran(claude, service, tmp_path, "--resume", ANY_ID, "/compact")
        ran(claude, service, tmp_path, "--resume", ANY_ID, "After it.")
        options = ["run", str(claude.session(ANY_ID)), "--before-compaction", "--new-session", "--quiet"]
        env = claude.environment(service)
        new = run([sys.executable, "-m", "condense_cli", *options], claude.project, env)
        assert new.returncode == 0, new.stderr
        ran(claude, service, tmp_path, "--resume", new.stdout.strip(), "Once more.")
    sent = json.dumps(conversation_requests(service)[-1]["messages"])
    assert "Copy accounts_v2." in sent
    assert "Once more." in sent
    assert "After it." not in sent
    assert "Compacted by condense" not in sent


def limited(answers: Responder, limit: int) -> Responder:
    """A service that refuses what is too long, by which newer versions know that they have to compact."""

    def respond(request: Request) -> Answer:
        body = request.body
        if isinstance(body, dict) and body.get("tools") and len(json.dumps(body["messages"])) > limit:
            words = f"prompt is too long: {limit + 9000} tokens > {limit} maximum"
            return Answer({"type": "error", "error": {"type": "invalid_request_error", "message": words}}, status=400)
        return answers(request)

    return respond


def test_at_the_limit_and_in_an_agent(claude: ClaudeCode, tmp_path: Path) -> None:
    asks = call("Agent", description="look", prompt="Look around for pears.", subagent_type="general-purpose")
    main = Script([[asks], *[[text(f"Part {n}."), LISTING] for n in range(4)], [text("Done.")]], tokens_of)
    agent = Script([*[[text(f"Pear {n}."), LISTING] for n in range(4)], [text("No pears.")]], tokens_of)
    answers = limited(lambda request: (agent if AGENT in request.headers else main)(request), 90_000)
    with serve(answers) as service:
        done = ran(claude, service, tmp_path, "--session-id", ANY_ID, "Look at it. Never touch main.")
    assert json.loads(done.stdout)["is_error"] is False
    assert "condense: " in done.stderr
    assert "answered 2 compactions itself" in done.stderr
    assert words(held_by(conversation_requests(service)[-1])) == ["Look at it. Never touch main."]
    of_agent = held_by(conversation_requests(service, of_agents=True)[-1])
    assert "Look around for pears." in words(of_agent)
    records = [json.loads(line) for line in claude.session(ANY_ID).read_text().splitlines()]
    (boundary,) = (each["compactMetadata"] for each in records if each.get("subtype") == "compact_boundary")
    assert boundary["trigger"] == "auto"
    assert boundary["postTokens"] < boundary["preTokens"]
