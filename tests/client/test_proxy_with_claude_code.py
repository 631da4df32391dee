"""Claude Code through the proxy: forty turns with whatever happens in a session."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from proxy.upstream import proxied

from condense_cli.live.requests import digest_beside
from condense_cli.live.state import StateFile
from condense_cli.proxy.clients import started

from .claude import ClaudeCode
from .loopback import Json, Service, serve
from .messages_api import MODEL, Script, call, text, thinking
from .proxying import SETTINGS, Moody, breaks, changes, interrupt, is_condensed, run, tokens_of, violations
from .resuming import ANY_ID

pytestmark = pytest.mark.client

ALIKE = "step %g of all is done"
"""Lines that say no more than each other, which go first."""

SESSION, AGENT = "x-claude-code-session-id", "x-claude-code-agent-id"


def turns(number: int, start: int = 0, line: str = "%g") -> list[list[Json]]:
    """Turns that fill the context: listings of such lines, thinking, two calls at once, a failure."""
    found: list[list[Json]] = []
    for n in range(start, start + number):
        blocks = [call("Bash", command=f"seq -f '{line}' {n * 1000} {n * 1000 + 900}")]
        if n % 4 == 1:
            blocks = [thinking(f"Now number {n}."), text(f"I look at {n}."), *blocks, call("Bash", command="exit 3")]
        found.append(blocks)
    return found


ASKS = [call("Agent", description="look", prompt="Look around.", subagent_type="Explore")]
"""The conversation hands something to a sub-agent, which works beside it."""


def command(client: ClaudeCode, *arguments: str) -> list[str | Path]:
    options = ["-p", "--model", MODEL, "--dangerously-skip-permissions", "--output-format", "json"]
    return [client.executable, *options, *arguments]


def main_requests(service: Service) -> list[Json]:
    """Bodies of the requests of the conversation itself, in order."""
    return [
        request.body
        for request in service.requests
        if isinstance(request.body, dict) and request.body.get("tools") and AGENT not in request.headers
    ]


def reported(service: Service) -> int:
    """Input tokens that the service reported for all requests."""
    asked = (request for request in service.requests if request.path.startswith("/v1/messages?"))
    return sum(map(tokens_of, asked))


def test_forty_turns(claude: ClaudeCode, tmp_path: Path) -> None:
    claude.project.mkdir(parents=True)
    state = tmp_path / "live.db"
    done = [text("Done.")]
    plan = [*turns(8), ASKS, *turns(8, 10), done]
    script = Script([*plan, *turns(7, 20), *turns(9, 30), done, *turns(6, 40), done], tokens_of)
    agent = Script([*turns(2, 50), [text("There is nothing.")]], tokens_of)
    moody = Moody(script, cut=frozenset({5}), silent=len(plan) + 4)
    with serve(lambda request: (agent if AGENT in request.headers else moody)(request)) as service:
        with proxied(service.url, StateFile(state), **SETTINGS) as running:
            env = claude.environment(service) | {"ANTHROPIC_BASE_URL": running.url}
            first = run(command(claude, "--session-id", ANY_ID, "Please look at everything."), claude.project, env)
            assert (first.returncode, json.loads(first.stdout)["is_error"]) == (0, False), first.stdout + first.stderr
            # What the client counts is what was reported for the smaller requests.
            used = json.loads(first.stdout)["modelUsage"][MODEL]["inputTokens"]
            assert 0 < used <= reported(service)
            interrupt(command(claude, "--resume", ANY_ID, "Go on."), claude.project, env, moody)
            assert running.proxy.record.fault_count == 0
            before = main_requests(service)
            decided = changes(running)
        # It is started again, and goes on with the same bytes.
        with proxied(service.url, StateFile(state), **SETTINGS) as running:
            env["ANTHROPIC_BASE_URL"] = running.url
            third = run(command(claude, "--resume", ANY_ID, "Once more."), claude.project, env)
            assert third.returncode == 0, third.stdout + third.stderr
            whole = main_requests(service)
            assert is_condensed(before[-1]["messages"])
            assert breaks([body["messages"] for body in whole]) <= decided + changes(running)
            # Back to an earlier answer, and on from there.
            records = [json.loads(line) for line in claude.session(ANY_ID).read_text().splitlines()]
            answers = [record["uuid"] for record in records if record["type"] == "assistant"]
            back = command(claude, "--resume", ANY_ID, "--resume-session-at", answers[30], "Another way.")
            fourth = run(back, claude.project, env)
            assert fourth.returncode == 0, fourth.stdout + fourth.stderr
            rewound = main_requests(service)[len(whole) :]
            assert is_condensed(rewound[0]["messages"])
            breaks([body["messages"] for body in rewound])
            compacted = run(command(claude, "--resume", ANY_ID, "/compact"), claude.project, env)
            assert compacted.returncode == 0, compacted.stdout + compacted.stderr
            asked = len(main_requests(service))
            last = run(command(claude, "--resume", ANY_ID, "What is left?"), claude.project, env)
            assert last.returncode == 0, last.stdout + last.stderr
            assert len(main_requests(service)[asked]["messages"]) < 8
            assert running.proxy.record.fault_count == 0
    bodies = main_requests(service)
    assert len(bodies) >= 40
    assert violations(bodies, "messages", "anthropic") == []
    assert any(AGENT in request.headers for request in service.requests)


# Killed without a word, and started again on the same port: the next request begins with the same bytes.
def test_a_proxy_that_is_killed(claude: ClaudeCode, tmp_path: Path) -> None:
    claude.project.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with serve(Script([*turns(9, line=ALIKE), [text("Done.")], *turns(2, 20)], tokens_of)) as service:
        proxy = [sys.executable, "-m", "condense_cli", "proxy", "--port", str(port), "--upstream", service.url]
        proxy += ["--policy", "tokens:20000", "--keep-recent", "2", "--state", str(tmp_path / "live.db")]
        env = claude.environment(service) | {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}"}
        arguments = [["--session-id", ANY_ID, "Look."], ["--resume", ANY_ID, "Go on."]]
        for each in arguments:
            process = subprocess.Popen(proxy, stderr=subprocess.PIPE, text=True)
            try:
                assert process.stderr is not None
                assert "Listening" in process.stderr.readline()
                ran = run(command(claude, *each), claude.project, env)
            finally:
                process.send_signal(signal.SIGKILL)
                process.communicate(timeout=60)
            assert ran.returncode == 0, ran.stdout + ran.stderr
        requests = [body["messages"] for body in main_requests(service)]
    assert is_condensed(requests[9])
    assert breaks(requests[9:11]) == 0


# As its users start it: the client's exit status, its own settings, and one line at the end.
def test_the_client_that_the_proxy_starts(claude: ClaudeCode, tmp_path: Path) -> None:
    claude.project.mkdir(parents=True)
    (claude.home / ".claude").mkdir()
    with serve(Script(turns(10, line=ALIKE), tokens_of)) as service:
        settings = {"env": {"ANTHROPIC_BASE_URL": service.url}}
        (claude.home / ".claude" / "settings.json").write_text(json.dumps(settings))
        proxy = [sys.executable, "-m", "condense_cli", "proxy", "--policy", "tokens:20000", "--", "claude"]
        bin = tmp_path / "bin"
        bin.mkdir()
        (bin / "claude").symlink_to(claude.executable)
        env = claude.environment(service) | {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
        env["PATH"] = f"{bin}:{env['PATH']}"
        ran = run([*proxy, *map(str, command(claude, "Look at it.")[1:])], claude.project, env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["result"] == "Done."
    assert ran.stderr.splitlines()[-1].startswith("condense: 11 requests in 1 conversation; saved ")
    assert is_condensed(main_requests(service)[-1]["messages"])


# Told that it talks to its vendor's own API it keeps what it leaves out behind other addresses. The line about billing
# that comes with that is another one in each request, and makes no cache cold.
@pytest.mark.parametrize("first_party", [True, False])
def test_whose_api_it_is(claude: ClaudeCode, tmp_path: Path, first_party: bool) -> None:
    claude.project.mkdir(parents=True)
    with serve(Script(turns(3), tokens_of)) as service, proxied(service.url, None, **SETTINGS) as running:
        env = claude.environment(service)
        del env["ANTHROPIC_BASE_URL"]
        line = [*map(str, command(claude, "Look at it."))]
        found = started(line, running.url, env, claude.home, tmp_path, first_party=first_party)
        ran = run(found.command, claude.project, found.environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    bodies = main_requests(service)
    assert len(bodies) == 4
    assert all(('"scope": "global"' in json.dumps(body["system"])) is first_party for body in bodies)
    assert len({digest_beside(body["system"], body["tools"]) for body in bodies}) == 1
    assert len({json.dumps(body["system"]) for body in bodies}) == (4 if first_party else 1)
