"""A project where Claude Code writes records of many kinds: hooks, memory, skills, MCP, mentions, tasks, an agent."""

import base64
import json
import sys
from pathlib import Path
from typing import Any, Final

from pictures import PIXEL

from .loopback import Json
from .messages_api import MODEL, call, text

MODELS: Final = (MODEL, "claude-opus-5")
PROMPT: Final = "Look at @notes.md and @sub/ please, ultrathink."

KINDS: Final = {
    *(
        "agent_listing_delta",
        "command_permissions",
        "date",
        "deferred_tools_delta",
        "deferred_tools_record",
        "directory",
    ),
    *("environment", "file", "hook_additional_context", "hook_success", "hook_system_message", "instructions"),
    *("mcp_instructions_delta", "model", "nested_memory", "prompt_snapshot", "queued_command", "remote_session_change"),
    *("session_context", "skill_listing", "total_tokens_reminder", "ultrathink_effort"),
}
"""Attachments that such a session holds."""

_SERVER: Final = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    said = {}
    if asked["method"] == "initialize":
        said = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        said |= {"serverInfo": {"name": "toy", "version": "1"}, "instructions": "Use the toys gently."}
    elif asked["method"] == "tools/list":
        said = {"tools": [{"name": "spin", "description": "Spin a top", "inputSchema": {"type": "object"}}]}
    elif asked["method"] == "tools/call":
        said = {"content": [{"type": "text", "text": "It spins."}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


def prepare(project: Path) -> list[str]:
    """Write the project; the options with which the client finds its server."""
    skill = project / ".claude" / "skills" / "greet"
    for folder in (project / "sub", skill):
        folder.mkdir(parents=True)
    (project / "notes.md").write_text("".join(f"- note {n} about the store\n" for n in range(80)))
    (project / "CLAUDE.md").write_text("# Rules\nAlways be kind to the tests.\n")
    (project / "sub" / "CLAUDE.md").write_text("In this folder, use tabs.\n")
    (project / "sub" / "a.txt").write_text("hello\nworld\n")
    (project / "picture.png").write_bytes(base64.b64decode(PIXEL))
    (skill / "SKILL.md").write_text("---\nname: greet\ndescription: greets\n---\nGreet in French.\n")
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": _hooks()}))
    (project / "server.py").write_text(_SERVER)
    servers = {"toy": {"command": sys.executable, "args": [str(project / "server.py")]}}
    (project / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    return ["--mcp-config", str(project / "servers.json")]


def _hooks() -> dict[str, Any]:
    def says(event: str, **more: str) -> str:
        said = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": f"{event} was heard"}, **more}
        return f"echo '{json.dumps(said)}'"

    commands = {
        "SessionStart": says("SessionStart"),
        "UserPromptSubmit": "echo the prompt was heard",
        "PreToolUse": says("PreToolUse", systemMessage="for the user"),
        "PostToolUse": says("PostToolUse"),
        "Stop": "echo stopped",
    }
    return {event: [{"hooks": [{"type": "command", "command": command}]}] for event, command in commands.items()}


def turns(project: Path) -> list[list[Json]]:
    return [
        [text("I look."), call("Read", file_path=str(project / "picture.png"))],
        [call("Read", file_path=str(project / "sub" / "a.txt")), call("Bash", command="seq 50")],
        [call("ToolSearch", query="select:mcp__toy__spin")],
        [call("mcp__toy__spin")],
        [call("Agent", description="look", prompt="Look around.", subagent_type="Explore")],
        [text("There is nothing.")],
        [call("Write", file_path=str(project / "new.txt"), content="fresh\n")],
        [call("Skill", skill="greet")],
        [call("Bash", command="sleep 5", run_in_background=True, description="sleeps")],
        [call("Read", file_path=str(project / "missing.txt"))],
    ]


def kinds_of(session: bytes) -> set[str]:
    """Kinds of the attachments that a session file holds."""
    records = map(json.loads, session.splitlines())
    return {record["attachment"]["type"] for record in records if record["type"] == "attachment"}
