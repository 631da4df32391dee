"""Items of a rollout of Codex CLI, as the client writes them, and a rollout of some."""

import json
from typing import Any

from build import LONG
from rollouts import message, record

from condense_cli import api
from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import BlockKind

HEADER = "Chunk ID: f4792a\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n"
PATCH = f"*** Begin Patch\n*** Update File: src/app.py\n@@\n{LONG}\n*** Add File: b.txt\n+x\n*** End Patch"
HEAD = record("session_meta", id="s", cwd="/repo", model_provider="openai", base_instructions={"text": "Help."})
Item = dict[str, Any]


def function(call_id: str, name: str = "exec_command", **arguments: Any) -> Item:
    return {
        "type": "function_call",
        "id": f"fc_{call_id}",
        "name": name,
        "arguments": json.dumps(arguments),
        "call_id": call_id,
    }


def custom(call_id: str, text: str, name: str = "apply_patch") -> Item:
    return {"type": "custom_tool_call", "id": f"ctc_{call_id}", "call_id": call_id, "name": name, "input": text}


def output(call_id: str, value: Any = HEADER + LONG, kind: str = "function_call_output") -> Item:
    return {"type": kind, "call_id": call_id, "output": value}


def reasoning(number: int = 1, encrypted: str | None = "gAAAAAB" * 30) -> Item:
    summary = [{"type": "summary_text", "text": "**Thinking about it**"}]
    return {"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": encrypted}


def head(**keys: Any) -> dict[str, Any]:
    return record("session_meta", **{"id": "s", "model_provider": "openai", **keys})


def items(*values: Item) -> list[dict[str, Any]]:
    return [record("response_item", **value) for value in values]


def rollout(*records: dict[str, Any], head: dict[str, Any] = HEAD) -> Transcript:
    transcript = api.loads("".join(json.dumps(value) + "\n" for value in (head, *records)))
    assert transcript.format == "codex"
    return transcript


def only(transcript: Transcript, kind: BlockKind) -> Block:
    [block] = [block for _, block in transcript.blocks() if block.kind is kind]
    return block


REQUEST = message("user", "Please fix it.")
DONE = message("assistant", "Done.")
