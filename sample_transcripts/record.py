"""Record the sample transcripts: play the scripted sessions and write down what happened.

    python sample_transcripts/record.py

The words of the user and the agent are scripted; every tool result is what the tool really returned.
Recording again with the same Python and pytest gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sys
import tempfile
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.dont_write_bytecode = True

import codex  # noqa: E402
import other_agents  # noqa: E402
import other_clients  # noqa: E402
from project import FILES  # noqa: E402
from scenario import CHAT, CHAT_MORE, FEATURE, FIX, SMALL, STORAGE, SYSTEM, Call, Prompt, Step, Turn  # noqa: E402
from tools import PROJECT, Json, Outcome, Toolbox  # noqa: E402

HERE = Path(__file__).resolve().parent
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://condense.invalid/sample-transcripts")
CLAUDE_MODEL = "claude-sonnet-4-5-20250929"
ALPHABET = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True)
class Played:
    """A turn of the agent with the outcomes of its calls."""

    turn: Turn
    outcomes: list[Outcome]


Event = Prompt | Played


def play(steps: list[Step]) -> list[Event]:
    """Carry out the steps on a fresh copy of the project."""
    events: list[Event] = []
    with tempfile.TemporaryDirectory(prefix="condense-sample-") as folder:
        tools = Toolbox(Path(folder), FILES)
        for step in steps:
            if isinstance(step, Prompt):
                events.append(step)
            else:
                events.append(Played(step, [tools.use(call.name, call.args) for call in step.calls]))
    return events


def token(seed: str, length: int) -> str:
    """Letters and digits that look random and depend on the seed alone."""
    number = int.from_bytes(hashlib.sha512(seed.encode()).digest(), "big")
    letters = []
    for _ in range(length):
        number, rest = divmod(number, len(ALPHABET))
        letters.append(ALPHABET[rest])
    return "".join(letters)


def signature(seed: str, blocks: int) -> str:
    digests = [hashlib.sha256(f"{seed}/{number}".encode()).digest() for number in range(blocks)]
    return base64.b64encode(b"".join(digests)).decode()


def user_content(prompt: Prompt) -> str | list[Json]:
    if not prompt.reminder:
        return prompt.text
    reminder = f"<system-reminder>\n{prompt.reminder}\n</system-reminder>"
    return [{"type": "text", "text": reminder}, {"type": "text", "text": prompt.text}]


def tool_use(call: Call, call_id: str) -> Json:
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": call.args}


def tool_result(call: Call, call_id: str, outcome: Outcome) -> Json:
    if outcome.is_error:
        return {"type": "tool_result", "content": outcome.text, "is_error": True, "tool_use_id": call_id}
    block: Json = {"tool_use_id": call_id, "type": "tool_result", "content": outcome.text}
    return block | {"is_error": False} if call.name == "Bash" else block


# -- Claude Code sessions


@dataclass
class Session:
    """The lines of one Claude Code session file, as they are appended."""

    name: str
    lines: list[Json] = field(default_factory=list)
    leaf: str | None = None
    clock: datetime = START
    asked: datetime = START
    context: int = 58_000  # characters of the system prompt and the tool definitions
    cached: int = 0
    prompt_id: str = ""
    messages: int = 0
    backups: Json = field(default_factory=dict)

    @property
    def session_id(self) -> str:
        return str(uuid.uuid5(NAMESPACE, self.name))

    def new_uuid(self) -> str:
        return str(uuid.uuid5(NAMESPACE, f"{self.name}/line/{len(self.lines)}"))

    def now(self, milliseconds: int = 0) -> str:
        self.clock += timedelta(milliseconds=milliseconds)
        return self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def append(self, parent: str | None, head: Json, wait: int, tail: Json | None = None) -> str:
        """Add a line to the tree and return its uuid."""
        own = self.new_uuid()
        self.lines.append(
            {"parentUuid": parent, "isSidechain": False, **head, "uuid": own, "timestamp": self.now(wait)}
            | (tail or {})
            | {
                "userType": "external",
                "entrypoint": "cli",
                "cwd": PROJECT,
                "sessionId": self.session_id,
                "version": "2.1.200",
                "gitBranch": "main",
            }
        )
        self.leaf = own
        return own

    def prompt(self, prompt: Prompt) -> None:
        if self.lines:
            self.now(95_000 + 40 * len(prompt.text))
        self.prompt_id = str(uuid.uuid5(NAMESPACE, f"{self.name}/prompt/{len(self.lines)}"))
        snapshot_id = str(uuid.uuid5(NAMESPACE, f"{self.name}/line/{len(self.lines) + 1}"))
        mark = {"messageId": snapshot_id}
        snapshot = {**mark, "trackedFileBackups": dict(self.backups), "timestamp": self.now()}
        self.lines.append({"type": "file-history-snapshot", **mark, "snapshot": snapshot, "isSnapshotUpdate": False})
        message = {"role": "user", "content": user_content(prompt)}
        head = {"promptId": self.prompt_id, "type": "user", "message": message}
        mode = {"thinkingMetadata": {"maxThinkingTokens": 31999}, "todos": [], "permissionMode": "default"}
        self.append(self.leaf, head, 0, mode)
        self.asked = self.clock
        self.context += len(prompt.text) + len(prompt.reminder)

    def turn(self, played: Played) -> None:
        """One assistant message, a line for each block, then a line for each result."""
        self.messages += 1
        seed = f"{self.name}/message/{self.messages}"
        turn = played.turn
        call_ids = [f"toolu_01{token(f'{seed}/{index}', 22)}" for index in range(len(turn.calls))]
        blocks: list[Json] = []
        if turn.thinking:
            sign = signature(seed, 6 + len(turn.thinking) // 40)
            blocks.append({"type": "thinking", "thinking": turn.thinking, "signature": sign})
        if turn.text:
            blocks.append({"type": "text", "text": turn.text})
        for call, call_id in zip(turn.calls, call_ids, strict=True):
            blocks.append(tool_use(call, call_id) | {"caller": {"type": "direct"}})
        length = sum(len(json.dumps(block, ensure_ascii=False)) for block in blocks)
        uuids = []
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            stop = ("tool_use" if turn.calls else "end_turn") if last else None
            message = {
                "model": CLAUDE_MODEL,
                "id": f"msg_01{token(seed, 22)}",
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": stop,
                "stop_sequence": None,
                "usage": self.usage(length // 4 if last else 5 + length % 4),
            }
            request = f"req_011C{token(f'{seed}/request', 20)}"
            head: Json = {"message": message, "requestId": request, "type": "assistant"}
            wait = (1700 if index == 0 else 350) + 6 * len(json.dumps(block))
            uuids.append(self.append(self.leaf, head, wait))
        self.cached = self.context
        self.context += length
        sources = uuids[len(uuids) - len(call_ids) :]
        answered = zip(turn.calls, call_ids, sources, played.outcomes, strict=True)
        for call, call_id, source, outcome in answered:
            block = tool_result(call, call_id, outcome)
            head = {
                "promptId": self.prompt_id,
                "type": "user",
                "message": {"role": "user", "content": [block]},
            }
            tail = {"toolUseResult": outcome.detail, "sourceToolAssistantUUID": source}
            wait = (840 if call.name == "Bash" else 25) + len(outcome.text) // 50
            self.append(source, head, wait, tail)
            self.context += len(outcome.text)
            if call.name in ("Edit", "Write") and not outcome.is_error:
                self.back_up(call.args["file_path"])
        if not turn.calls:
            spent = int((self.clock - self.asked).total_seconds() * 1000)
            head = {"type": "system", "subtype": "turn_duration", "durationMs": spent, "isMeta": False}
            self.append(self.leaf, head, 12)

    def back_up(self, path: str) -> None:
        """Note an edited file for the next snapshot."""
        name = path.removeprefix(f"{PROJECT}/")
        version = self.backups.get(name, {"version": 0})["version"] + 1
        digest = hashlib.sha256(path.encode()).hexdigest()[:16]
        self.backups[name] = {
            "backupFileName": f"{digest}@v{version}",
            "version": version,
            "backupTime": self.now(),
        }

    def usage(self, output: int) -> Json:
        """Token counts at four characters per token; what was sent before is read from the cache."""
        fresh = (self.context - self.cached) // 4
        return {
            "input_tokens": 4,
            "cache_creation_input_tokens": fresh,
            "cache_read_input_tokens": self.cached // 4,
            "cache_creation": {"ephemeral_5m_input_tokens": fresh, "ephemeral_1h_input_tokens": 0},
            "output_tokens": output,
            "service_tier": "standard",
            "inference_geo": "not_available",
        }


def claude_code(name: str, events: list[Event]) -> list[Json]:
    session = Session(name)
    for event in events:
        if isinstance(event, Prompt):
            session.prompt(event)
        else:
            session.turn(event)
    return session.lines


def rollout(events: list[Event]) -> list[Json]:
    session = codex.Rollout(START, NAMESPACE, token)
    for event in events:
        if isinstance(event, Prompt):
            session.prompt(event)
        else:
            session.turn(event.turn.text, event.turn.thinking, event.turn.calls, event.outcomes)
    return session.records


# -- bare messages


def anthropic(name: str, events: list[Event]) -> list[Json]:
    """Messages as they are sent to the Anthropic API; results go first in the next user message."""
    messages: list[Json] = []
    for number, event in enumerate(events):
        if isinstance(event, Prompt):
            messages.append({"role": "user", "content": user_content(event)})
            continue
        blocks: list[Json] = [{"type": "text", "text": event.turn.text}] if event.turn.text else []
        results = []
        for index, (call, outcome) in enumerate(zip(event.turn.calls, event.outcomes, strict=True)):
            call_id = f"toolu_01{token(f'{name}/{number}/{index}', 22)}"
            blocks.append(tool_use(call, call_id))
            results.append(tool_result(call, call_id, outcome))
        messages.append({"role": "assistant", "content": blocks})
        if results:
            messages.append({"role": "user", "content": results})
    return messages


def openai(name: str, events: list[Event]) -> list[Json]:
    """Messages in the chat format: calls beside an empty content, results with the role `tool`."""
    messages: list[Json] = [{"role": "system", "content": SYSTEM}]
    for number, event in enumerate(events):
        if isinstance(event, Prompt):
            messages.append({"role": "user", "content": event.text})
            continue
        calls, results = [], []
        for index, (call, outcome) in enumerate(zip(event.turn.calls, event.outcomes, strict=True)):
            call_id = f"call_{token(f'{name}/{number}/{index}', 24)}"
            function = {"name": call.name, "arguments": json.dumps(call.args, ensure_ascii=False)}
            calls.append({"id": call_id, "type": "function", "function": function})
            results.append({"role": "tool", "tool_call_id": call_id, "content": outcome.text})
        message: Json = {"role": "assistant", "content": event.turn.text or None}
        messages += [message | {"tool_calls": calls} if calls else message, *results]
    return messages


def function(name: str, description: str, required: Json, optional: Json | None = None) -> Json:
    """The definition of a tool; parameters are given as name -> (type, description)."""
    known = required | (optional or {})
    properties = {key: {"type": kind, "description": text} for key, (kind, text) in known.items()}
    parameters = {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
    definition = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": definition}


def chat_tools() -> list[Json]:
    path = {"path": ("string", "Path relative to the project")}
    texts = {
        "old_text": ("string", "Text that is in the file exactly once"),
        "new_text": ("string", "Text to put in its place"),
    }
    lines = {
        "start_line": ("integer", "First line to show, counted from 1"),
        "end_line": ("integer", "Last line to show"),
    }
    command = {"command": ("string", "A shell command, run in the project folder")}
    return [
        function("read_file", "Show a file with line numbers.", path, lines),
        function("edit_file", "Replace a piece of text in a file.", path | texts),
        function("run_command", "Run a command and show its output.", command),
    ]


# -- files


def save(name: str, text: str) -> None:
    (HERE / name).write_text(text, encoding="utf-8", newline="\n")
    print(f"{name}: {len(text.encode()):,} bytes")


def save_lines(name: str, records: Iterable[object]) -> None:
    compact = (json.dumps(record, ensure_ascii=False, separators=(",", ":")) for record in records)
    save(name, "".join(f"{line}\n" for line in compact))


def lines_of(records: Iterable[Json]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def main() -> None:
    lines = claude_code("bugfix-session", play([*FIX, *FEATURE, *SMALL]))
    compact = (json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
    save("bugfix-session.jsonl", "".join(f"{line}\n" for line in compact))

    records = rollout(play(codex.STEPS))
    save("bugfix-rollout.jsonl", "".join(f"{json.dumps(r, separators=(',', ':'))}\n" for r in records))

    messages = anthropic("bugfix-messages", play(FIX))
    save("bugfix-messages.json", json.dumps(messages, ensure_ascii=False, indent=2) + "\n")

    messages = anthropic("bugfix-storage", play(STORAGE))
    save("bugfix-messages.jsonl", "".join(f"{json.dumps(message)}\n" for message in messages))

    messages = openai("bugfix-chat", play([*CHAT, *CHAT_MORE]))
    save("bugfix-chat.jsonl", "".join(f"{json.dumps(message, ensure_ascii=False)}\n" for message in messages))

    messages = openai("bugfix-chat-short", play(CHAT))
    document = {"model": "gpt-5.1", "messages": messages, "tools": chat_tools()}
    save("bugfix-chat.json", json.dumps(document, indent=2) + "\n")

    conversation = other_clients.sharegpt(SYSTEM, chat_tools(), messages)
    save("bugfix-sharegpt.json", json.dumps(conversation, indent=2) + "\n")
    request = other_clients.responses(SYSTEM, chat_tools(), messages)
    save("bugfix-responses.json", json.dumps(request, indent=2, ensure_ascii=False) + "\n")
    export = other_clients.opencode(messages)
    save("bugfix-opencode.json", json.dumps(export, indent=2, ensure_ascii=False) + "\n")
    save_lines("logs/bugfix-opencode-events.jsonl", other_clients.opencode_events(export))
    save_lines("bugfix-pi.jsonl", other_clients.pi(messages))
    save("bugfix-cline.json", json.dumps(other_clients.cline(SYSTEM, messages), indent=2, ensure_ascii=False) + "\n")
    chat = other_clients.gemini(messages)
    save("bugfix-gemini.json", json.dumps(chat, indent=2, ensure_ascii=False))
    save_lines("logs/bugfix-gemini.jsonl", other_clients.gemini_log(chat))
    save_lines("logs/bugfix-kimi.jsonl", other_clients.kimi(SYSTEM, messages))

    save("bugfix.traj", json.dumps(other_agents.swe_agent(messages), indent=2) + "\n")
    save("bugfix.traj.json", json.dumps(other_agents.mini_swe_agent(messages), indent=2) + "\n")
    save("bugfix-openhands.jsonl", json.dumps(other_agents.openhands(messages)) + "\n")
    save("bugfix-openhands-events.jsonl", lines_of(other_agents.openhands_sdk(messages)))
    save("bugfix-inspect.json", json.dumps(other_agents.inspect(messages), indent=2) + "\n")
    save("bugfix-tau2.json", json.dumps(other_agents.tau2(messages), indent=2) + "\n")
    save("logs/bugfix-stream.jsonl", lines_of(other_agents.claude_stream(messages)))
    save("logs/bugfix-requests.jsonl", lines_of(other_agents.request_log(messages)))


if __name__ == "__main__":
    main()
