"""condense inside the real clients: installed by its command; a compaction of theirs, and the next request."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from condense_cli.clients.codex import listed_hooks
from condense_cli.clients.settings import Target

from . import messages_api, responses_api
from .claude import ClaudeCode
from .codex import Codex
from .command import condense
from .install import Ran
from .resuming import ANY_ID

pytestmark = pytest.mark.client

RULE = "Look at limits.py. Never touch payments.py."
LINE = "retry_limit_total = 7"


def put_limits(project: Path) -> Path:
    project.mkdir(parents=True, exist_ok=True)
    path = project / "limits.py"
    path.write_text("\n".join([*(f"limit_{n} = {n}" for n in range(60)), LINE]))
    return path


def texts_of(ran: Ran) -> str:
    return json.dumps(ran.requests[-1], ensure_ascii=False)


def recap_in(sent: str) -> tuple[str, str]:
    """The user's words and the data in the recap that a request holds."""
    found = re.search(
        r"<words-(?P<key>[0-9a-f]{6})>(?P<words>.*?)</words-(?P=key)>"
        r".*?<record-(?P=key)>(?P<data>.*?)</record-(?P=key)>",
        sent,
    )
    assert found, sent[-6_000:]
    return found["words"], found["data"]


def worked_in_claude(claude: ClaudeCode) -> Ran:
    """A session that looked at a file, was compacted by the client, and goes on."""
    limits = put_limits(claude.project)
    reads = [messages_api.call("Read", file_path=str(limits))]
    runs = [messages_api.call("Bash", command="ls nowhere_at_all", description="look")]
    started = claude.start(RULE, [reads, runs, [messages_api.text("I saw all limits.")]], ANY_ID)
    assert len(started.requests) == 3, started.error
    compacted = claude.resume(ANY_ID, "/compact", [[messages_api.text("<summary>We looked around.</summary>")]])
    assert compacted.status == 0, compacted.error
    return claude.resume(ANY_ID, "Go on.")


def test_claude_code_sends_the_recap_after_its_compaction(claude: ClaudeCode) -> None:
    installed = condense(claude.home, "install", "claude-code", "--yes")
    assert installed.returncode == 0, installed.stderr
    ran = worked_in_claude(claude)
    sent = texts_of(ran)
    assert "We looked around." in sent
    words, data = recap_in(sent)
    assert RULE in words
    assert "limits.py" in data
    assert "ls nowhere_at_all" in data
    assert len(re.findall(r"<words-[0-9a-f]{6}>", sent)) == 1

    # What was before is kept, and found.
    session = claude.session(ANY_ID)
    backups = json.loads(condense(claude.home, "undo", str(session), "--list", "--json").stdout)["backups"]
    assert [each["kind"] for each in backups] == ["snapshot"]
    kept = session.with_name(backups[0]["name"]).read_bytes()
    assert session.read_bytes().startswith(kept)
    assert b"compact_boundary" not in kept
    listed = json.loads(condense(claude.home, "sessions", "--all", "--json").stdout)["sessions"]
    assert [each["path"] for each in listed if each["aside"]] == [str(session.with_name(backups[0]["name"]))]
    status = condense(claude.home, "install", "claude-code", "--status")
    assert status.returncode == 0, status.stdout
    assert "failed" not in status.stdout


def test_claude_code_shows_when_it_is_time(claude: ClaudeCode) -> None:
    condense(claude.home, "install", "claude-code", "--yes")
    large = {"input_tokens": 150_000, "output_tokens": 10}
    started = claude.start("Look around.", [[messages_api.text("I did.")]], ANY_ID, usage=large)
    assert started.status == 0, started.error
    recorded = [json.loads(line) for line in claude.session(ANY_ID).read_bytes().splitlines()]
    shown = [each["attachment"]["content"] for each in recorded if _is_system_message(each)]
    assert [text[:51] for text in shown] == ["condense: 75% of the context window is in use (150,"]


def _is_system_message(record: dict[str, Any]) -> bool:
    attachment = record.get("attachment")
    return isinstance(attachment, dict) and attachment.get("type") == "hook_system_message"


def test_claude_code_asks_the_server_what_a_marker_stands_for(claude: ClaudeCode) -> None:
    condense(claude.home, "install", "claude-code", "--yes")
    worked_in_claude(claude)
    asks = [messages_api.call("mcp__condense__search", text="retry_limit")]
    ran = claude.resume(ANY_ID, "What was the limit of retries?", [asks, [messages_api.text("Seven.")]])
    assert len(ran.requests) == 2, ran.error
    answers = [
        block
        for message in ran.requests[-1]["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else ())
        if block["type"] == "tool_result"
    ]
    assert LINE in json.dumps(answers[-1])
    assert not answers[-1].get("is_error")


# The model is not asked, and the client goes on in the copy.
def test_claude_code_writes_a_smaller_copy(claude: ClaudeCode) -> None:
    condense(claude.home, "install", "claude-code", "--yes")
    limits = put_limits(claude.project)
    reads = [messages_api.call("Bash", command=f"cat {limits}; seq 3000", description="look")]
    started = claude.start(RULE, [*[reads] * 8, [messages_api.text("I saw all limits.")]], ANY_ID)
    assert len(started.requests) == 9, started.error
    asked = claude.resume(ANY_ID, "/condense speed")
    assert (asked.status, asked.requests) == (0, ()), asked.error
    named = re.search(r"in a shell: claude --resume ([0-9a-f-]{36})", asked.output)
    assert named, asked.output
    assert b'(condensed)"' in claude.session(named[1]).read_bytes()
    ran = claude.resume(named[1], "Go on.", [[messages_api.text("Done.")]])
    assert ran.status == 0, ran.error
    assert RULE in texts_of(ran)
    assert len(texts_of(ran)) < len(json.dumps(started.requests[-1]))


def test_nothing_is_left_of_it_in_claude_code(claude: ClaudeCode) -> None:
    condense(claude.home, "install", "claude-code", "--yes")
    condense(claude.home, "install", "claude-code", "--remove", "--yes")
    assert "words-" not in texts_of(worked_in_claude(claude))


def worked_in_codex(codex: Codex, *options: str) -> Ran:
    limits = put_limits(codex.project)
    reads = [responses_api.call("exec_command", cmd=f"cat {limits}")]
    started = codex.start(RULE, [reads, [responses_api.text("I saw all limits.")]], options=options)
    assert len(started.requests) == 2, started.error
    session = codex.rollouts()[0].stem[-36:]
    compacting = ("-c", "model_auto_compact_token_limit=900", *options)
    return codex.resume(session, "Go on.", [[responses_api.text("We looked around.")]], options=compacting)


def test_codex_sends_the_recap_after_its_compaction(codex: Codex) -> None:
    installed = condense(codex.home, "install", "codex", "--yes")
    assert "/hooks" in installed.stdout
    ran = worked_in_codex(codex, "--dangerously-bypass-hook-trust")
    assert len(ran.requests) == 2, ran.error
    sent = texts_of(ran)
    assert "We looked around." in sent
    found = re.search(r"What the last compaction lost.*?<record-([0-9a-f]{6})>(.*?)</record-\1>", sent)
    assert found, sent[-4_000:]
    assert LINE in found[2]
    rollout = codex.rollouts()[0]
    backups = json.loads(condense(codex.home, "undo", str(rollout), "--list", "--json").stdout)["backups"]
    assert [each["kind"] for each in backups] == ["snapshot"]


# What typing /hooks does: the hash that Codex shows goes into its configuration.
def test_codex_runs_the_hooks_that_are_trusted_and_the_status_says_so(codex: Codex) -> None:
    condense(codex.home, "install", "codex", "--yes")
    path = f"{codex.executable.parent}{os.pathsep}{os.environ['PATH']}"
    seen = {"HOME": str(codex.home), "CODEX_HOME": str(codex.folder), "PATH": path}
    hooks = listed_hooks(Target(codex.home, seen)) or []
    assert sorted(hook["eventName"] for hook in hooks) == ["preCompact", "sessionStart", "stop"]
    configuration = codex.folder / "config.toml"
    trusted = [f'[hooks.state."{hook["key"]}"]\ntrusted_hash = "{hook["currentHash"]}"\n' for hook in hooks]
    configuration.write_text("\n".join([configuration.read_text(), *trusted]))
    status = condense(codex.home, "install", "codex", "--status", PATH=path)
    assert status.returncode == 0, status.stdout
    assert "<record-" in texts_of(worked_in_codex(codex))


# Untrusted hooks are passed over in silence; the status knows, by Codex's own word.
def test_codex_runs_no_hook_that_nobody_trusts_and_the_status_says_so(codex: Codex) -> None:
    condense(codex.home, "install", "codex", "--yes")
    ran = worked_in_codex(codex)
    assert "<record-" not in texts_of(ran)
    path = f"{codex.executable.parent}{os.pathsep}{os.environ['PATH']}"
    status = condense(codex.home, "install", "codex", "--status", PATH=path)
    assert status.returncode == 1
    assert "Not trusted yet: SessionStart, PreCompact, Stop." in status.stdout
