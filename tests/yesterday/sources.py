"""The inputs that a version freezes its work on: one small session in every format, and others for what is rare."""

import importlib.util
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from types import ModuleType
from typing import Any, Final

import agent_logs
import claude_tree
import further_agents
import real
from build import LONG, assistant, call, result, text, thinking, user
from pictures import PIXEL

from condense_cli.formats import FORMATS

Json = dict[str, Any]
SAMPLES: Final = real.PROJECT / "sample_transcripts"
_LONGEST: Final = 1_500
"""Characters that are left of a tool result of the recorded chat: the fixtures are to stay small."""


_FORMATS: Final = {form.name for form in FORMATS}
_FURTHER: Final = {
    **further_agents.WRITABLE,
    **further_agents.READ_ONLY,
    "request-log": agent_logs.READ_ONLY["request-log"],
}


def _writers(name: str) -> ModuleType:
    """A script beside the samples, which writes a chat down as others would."""
    if str(SAMPLES) not in sys.path:
        sys.path.append(str(SAMPLES))  # They import each other by their bare names.
    spec = importlib.util.spec_from_file_location(name, SAMPLES / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses look their module up.
    spec.loader.exec_module(module)
    return module


def chat(ids: str = "") -> list[Json]:
    """The messages of the recorded chat with less of each long result; to the ids of calls something is added."""
    messages: list[Json] = json.loads((SAMPLES / "bugfix-chat.json").read_text())["messages"]
    for message in messages:
        if message["role"] == "tool":
            message["content"] = message["content"][:_LONGEST]
            message["tool_call_id"] += ids
        for each in message.get("tool_calls", ()):
            each["id"] += ids
    return messages


def inputs() -> dict[str, bytes]:
    """Bytes by the name of the file; what stands before the first dot is the format, or what is rare about it."""
    clients = _writers("other_clients")
    messages = chat()
    rollout = _rollout()
    return {
        **{name: write() for name, write in sessions(messages).items()},
        "codex.jsonl": _lines(rollout),
        "mixed.json": _one(_mixed()),
        "compacted-claude-code.jsonl": _lines(_compacted_by_claude(messages)),
        "compacted-codex.jsonl": _lines(_compacted_by_codex(rollout)),
        "compacted-roo.json": _one(_compacted_by_roo(_roo(messages)), "\t"),
        "compacted-opencode.json": _one(_compacted_by_opencode(clients.opencode(messages))),
        "compacted-pi.jsonl": _lines(_compacted_by_pi(clients.pi(messages))),
    }


def sessions(messages: list[Json]) -> dict[str, Callable[[], bytes]]:
    """What writes a chat, which begins with a system prompt, as a file of each format; Codex has the items alone."""
    agents, clients = _writers("other_agents"), _writers("other_clients")
    system, tools = messages[0]["content"], json.loads((SAMPLES / "bugfix-chat.json").read_text())["tools"]
    return {
        "anthropic.json": lambda: _one(_anthropic(messages)),
        "openai-chat.jsonl": lambda: _lines(messages),
        "openai-responses.json": lambda: _one(clients.responses(system, tools, messages)),
        "claude-code.jsonl": lambda: _lines(_claude(messages)),
        "codex.jsonl": lambda: _lines(_items(clients.responses(system, tools, messages)["input"])),
        "roo.json": lambda: _one(_roo(messages), "\t"),
        "cline.json": lambda: _one(clients.cline(system, messages)),
        "opencode.json": lambda: _one(clients.opencode(messages)),
        "pi.jsonl": lambda: _lines(clients.pi(messages)),
        "gemini.json": lambda: _one(clients.gemini(messages)),
        "sharegpt.json": lambda: _one(clients.sharegpt(system, tools, messages)),
        "swe-agent.traj": lambda: _one(agents.swe_agent(messages)),
        "mini-swe-agent.json": lambda: _one(agents.mini_swe_agent(messages)),
        "openhands.jsonl": lambda: _lines([agents.openhands(messages)]),
        "openhands-sdk.jsonl": lambda: _lines(agents.openhands_sdk(messages)),
        "inspect.json": lambda: _one(agents.inspect(messages)),
        "tau2.json": lambda: _one(agents.tau2(messages)),
        "gemini-log.jsonl": lambda: _lines(clients.gemini_log(clients.gemini(messages))),
        "kimi.jsonl": lambda: _lines(clients.kimi(system, messages)),
        "opencode-events.jsonl": lambda: _lines(clients.opencode_events(clients.opencode(messages))),
        "claude-stream-json.jsonl": lambda: _lines(agents.claude_stream(messages)),
        **{f"{name}.json": partial(write, messages) for name, write in _FURTHER.items() if name in _FORMATS},
    }


def grown(name: str, condensed: bytes, more: list[Json] | None = None, start: int = 1_000) -> bytes:
    """A condensed session of Claude Code, Roo Code or bare messages that went on since, with records from a number."""
    more = chat("_2")[1:] if more is None else more
    if name == "claude-code.jsonl":
        records = [json.loads(line) for line in condensed.splitlines()]
        return condensed + _lines(_claude(more, start=start, parent=records[-1]["uuid"]))
    if name == "openai-chat.jsonl":
        return condensed + _lines(more)
    old = json.loads(condensed)
    return _one([*old, *(_roo(more, start // 10) if name == "roo.json" else _anthropic(more))])


def _one(value: Any, indent: int | str = 1) -> bytes:
    return json.dumps(value, indent=indent, ensure_ascii=False).encode() + b"\n"


def _lines(records: Iterable[Any]) -> bytes:
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records).encode()


def _anthropic(messages: list[Json]) -> list[Json]:
    """The same as messages of Anthropic's API, without the system prompt."""
    found: list[Json] = []
    for message in messages:
        if message["role"] == "tool":
            answer = result(message["tool_call_id"], message["content"])
            if found[-1]["role"] == "user":
                found[-1]["content"].append(answer)
            else:
                found.append(user([answer]))
        elif message["role"] == "user":
            found.append(user(message["content"]))
        elif message["role"] == "assistant":
            blocks = [text(message["content"])] if message["content"] else []
            for use in message.get("tool_calls", ()):
                named = use["function"]
                blocks.append(
                    {
                        "type": "tool_use",
                        "id": use["id"],
                        "name": named["name"],
                        "input": json.loads(named["arguments"]),
                    }
                )
            found.append(assistant(blocks))
    return found


def _claude(messages: list[Json], *, start: int = 1, parent: str | None = None) -> list[Json]:
    """A session of Claude Code, a record for each message; the client keeps of a result what it shows."""
    records: list[Json] = []
    for number, message in enumerate(_anthropic(messages), start):
        if message["role"] == "assistant":
            record = claude_tree.reply(number, number - 1, f"msg_{number}", *message["content"])
        else:
            record = claude_tree.said(number, number - 1, message["content"])
            if isinstance(message["content"], list):
                shown = "\n".join(block["content"] for block in message["content"])
                record["toolUseResult"] = {"stdout": shown, "stderr": "", "interrupted": False}
        record |= {"cwd": "/home/dev/inventory", "version": "2.1.200"}
        records.append({**record, "parentUuid": records[-1]["uuid"] if records else parent})
    return records


def _rollout() -> list[Json]:
    """The first request of the recorded rollout of Codex."""
    records = [json.loads(line) for line in (SAMPLES / "bugfix-rollout.jsonl").read_text().splitlines()]
    requests = [number for number, record in enumerate(records) if record["type"] == "turn_context"]
    return records[: requests[1]]


def _items(items: list[Json]) -> Iterator[Json]:
    """A rollout of Codex of these items and nothing else."""
    for item in items:
        if item.get("role") == "user":
            item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": item["content"]}]}
        yield {"timestamp": "2026-03-02T09:00:00.000Z", "type": "response_item", "payload": item}


def _roo(messages: list[Json], start: int = 0) -> list[Json]:
    """A task of Roo Code, whose first message names it."""
    stamped = [
        message | {"ts": 1_772_442_000_000 + number} for number, message in enumerate(_anthropic(messages), start)
    ]
    if not start:
        details = "<environment_details>\n# Current Time\nnoon\n</environment_details>"
        stamped[0]["content"] = [text(f"<task>\n{stamped[0]['content']}\n</task>"), text(details)]
    return stamped


def _mixed() -> list[Json]:
    """What the session does not have: images, thinking, todos, long lines and parameters, results in parts."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
    words = "the queue holds 40 entries and the worker takes one of them; " * 40
    todos = [{"content": f"step {n}: check_{n}() of module_{n}.py", "status": "pending"} for n in range(12)]
    done = [todo | {"status": "completed"} for todo in todos]
    turns = [
        ([call("toolu_1", "Read", file_path="docs/queue.md")], [result("toolu_1", [text(LONG), image, text(words)])]),
        ([call("toolu_2", "TodoWrite", todos=todos)], [result("toolu_2", "Todos have been modified.")]),
        ([call("toolu_3", "Write", file_path="queue.py", content=LONG)], [result("toolu_3", "ok")]),
        ([call("toolu_4", "Bash", command="cat queue.py")], [result("toolu_4", f"{LONG}\nexit 1", is_error=True)]),
        ([call("toolu_5", "TodoWrite", todos=done)], [result("toolu_5", "Todos have been modified.")]),
        ([call("toolu_6", "Bash", command="echo 'größer → kleiner'")], [result("toolu_6", words)]),
    ]
    messages = [user([text("Please make queue.py faster. Never touch `schema.sql`."), image])]
    for calls, results in turns:
        messages += [assistant([thinking(), text("I go on with the queue."), *calls]), user(results)]
    tail = [message for n in range(6) for message in (assistant(f"Step {n} is done."), user(f"And step {n + 1}?"))]
    return [*messages, assistant("The worker takes entries in batches now."), user("Thanks. What is left?"), *tail]


def _compacted_by_claude(messages: list[Json]) -> list[Json]:
    """A session that its client compacted before the request of the chat."""
    before = [*claude_tree.OLD, claude_tree.boundary(5), claude_tree.summary(6, 5)]
    return [*before, *_claude(messages, start=10, parent=before[-1]["uuid"])]


def _compacted_by_codex(records: list[Json]) -> list[Json]:
    """The rollout with a compaction before its first call."""
    first = next(number for number, record in enumerate(records) if record["payload"].get("type") == "function_call")
    asked = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix the prices."}]}
    told = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "What was done so far."}]}
    compacted = {"message": "What was done so far.", "replacement_history": [asked, told]}
    stamp = records[first]["timestamp"]
    return [*records[:first], {"timestamp": stamp, "type": "compacted", "payload": compacted}, *records[first:]]


def _compacted_by_roo(messages: list[Json]) -> list[Json]:
    """The task with a summary in place of its first exchange."""
    hidden = [message | {"condenseParent": "condense-1"} for message in messages[1:3]]
    told = assistant([text("The tests of inventory/pricing.py fail; I ran them.")])
    summary = told | {"ts": messages[2]["ts"], "isSummary": True, "condenseId": "condense-1"}
    return [messages[0], *hidden, summary, user("Go on.") | {"ts": messages[2]["ts"]}, *messages[3:]]


def _compacted_by_pi(records: list[Json]) -> list[Json]:
    """The session with a compaction that keeps its last entries, and a last question."""
    replies = [record for record in records if record.get("message", {}).get("role") == "assistant"]
    kept, last = replies[len(replies) // 3], records[-1]
    entry = {"id": "0000aaaa", "parentId": last["id"], "timestamp": last["timestamp"]}
    compaction = {"type": "compaction", **entry, "summary": "What was done so far.", "tokensBefore": 9_000}
    asked = {"role": "user", "content": [text("And the rest?")], "timestamp": 1_772_442_000_000}
    question = {"type": "message", **entry, "id": "0000bbbb", "parentId": "0000aaaa", "message": asked}
    return [*records, {**compaction, "firstKeptEntryId": kept["id"]}, question]


def _compacted_by_opencode(export: Json) -> Json:
    """The export with a compaction after its first exchange."""
    asked, *rest = export["messages"]
    request, told = asked["info"] | {"id": "msg_0001a"}, rest[0]["info"] | {"id": "msg_0001b"}
    told |= {"parentID": request["id"], "summary": True, "finish": "stop"}
    parts = [{"type": "compaction", "auto": True}], [text("What was done so far.")]
    compaction = [
        {"info": info, "parts": [{"id": f"prt_{info['id']}", "sessionID": "ses_0001", "messageID": info["id"]} | part]}
        for info, (part,) in zip((request, told), parts, strict=True)
    ]
    return {**export, "messages": [asked, rest[0], *compaction, *rest[1:]]}
