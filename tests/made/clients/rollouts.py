"""Generated rollouts of Codex CLI: every form of call and output, compactions, rollbacks, results without a call."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

TIME = "2026-01-02T03:04:05.000Z"
ENVIRONMENT = "<environment_context>\n  <cwd>/repo</cwd>\n</environment_context>"
PATHS = st.sampled_from(["a.txt", "src/app.py", "a b/c.txt"])
HEADERS = st.sampled_from(
    [
        "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n",
        "Exit code: 1\nWall time: 0.1 seconds\nTotal output lines: 7\nOutput:\n",
        "Chunk ID: f4792a\nWall time: 0.0001 seconds\nProcess exited with code 0\nOriginal token count: 4\nOutput:\n",
    ]
)
STYLES: Any = st.sampled_from([{}, {"separators": (",", ":")}, {"ensure_ascii": False}, {"indent": 1}])
Record = dict[str, Any]


def record(kind: str, **payload: Any) -> Record:
    return {"timestamp": TIME, "type": kind, "payload": payload}


def message(role: str, *parts: str | Record) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": part} if isinstance(part, str) else part for part in parts]
    return {"type": "message", "role": role, "content": content}


@st.composite
def patches(draw: st.DrawFn, text: str) -> str:
    """A patch that puts the text into one file or two, or the text alone."""
    if draw(st.integers(0, 3)) == 0:
        return text
    sections = [
        f"*** {draw(st.sampled_from(['Update', 'Add', 'Delete']))} File: {draw(PATHS)}\n"
        + draw(st.sampled_from([f"{text}\n", f"@@\n{text}\n", "", "*** Move to: other.txt\n@@\n-x\n"]))
        for _ in range(draw(st.integers(1, 2)))
    ]
    return "*** Begin Patch\n" + "".join(sections) + draw(st.sampled_from(["*** End Patch", "*** End Patch\n", ""]))


@st.composite
def calls(draw: st.DrawFn, call: Record) -> Record:
    """A call in one of the forms in which the client writes it."""
    arguments, form = call["arguments"], draw(st.sampled_from(["function", "function", "custom", "shell", "search"]))
    if form == "custom":
        text = "\n".join(value for value in arguments.values() if isinstance(value, str))
        return {
            "type": "custom_tool_call",
            "id": f"ctc_{call['id']}",
            "call_id": call["id"],
            "name": draw(st.sampled_from(["apply_patch", "exec"])),
            "input": draw(patches(text)),
        }
    if form == "shell":
        command = ["bash", "-lc", "\n".join(["ls", *(value for value in arguments.values() if isinstance(value, str))])]
        action = {"type": "exec", "command": command, "timeout_ms": None}
        named = {"call_id": call["id"]} if draw(st.booleans()) else {"call_id": None, "id": call["id"]}
        return {"type": "local_shell_call", "status": "completed", "action": action, **named}
    if form == "search":
        return {"type": "tool_search_call", "call_id": call["id"], "arguments": arguments}
    text = json.dumps(arguments, **draw(STYLES))
    if draw(st.integers(0, 9)) == 0:
        text = draw(st.sampled_from(["", "{", "[1]", "null"]))
    return {
        "type": "function_call",
        "id": f"fc_{call['id']}",
        "name": call["tool"],
        "namespace": draw(st.sampled_from([None, "mcp__x"])),
        "arguments": text,
        "call_id": call["id"],
    }


@st.composite
def outputs(draw: st.DrawFn, call: Record, kind: str) -> Record:
    """The output of a call in one of the forms that clients have written."""
    if kind == "tool_search_call":
        return {"type": "tool_search_output", "call_id": call["id"], "tools": [{"name": "x", "parameters": {}}]}
    result = call["result"]
    if not isinstance(result, str):
        parts = [{"type": "input_text", "text": part} if isinstance(part, str) else draw(images()) for part in result]
        output: Any = draw(st.sampled_from([parts, {"content": parts, "success": True}]))
    else:
        text = draw(HEADERS) + result if draw(st.booleans()) else result
        wrapped = {"output": result, "metadata": {"exit_code": 0, "duration_seconds": 0.1}}
        output = draw(
            st.sampled_from(
                [
                    text,
                    text,
                    json.dumps(wrapped, **draw(STYLES)),
                    [{"type": "input_text", "text": text}, {"type": "input_text", "text": result}],
                    {"content": text, "success": False},
                    {"type": "input_text", "text": text},
                ]
            )
        )
    kind = "custom_tool_call_output" if kind == "custom_tool_call" else "function_call_output"
    return {"type": kind, "call_id": call["id"], "output": output}


@st.composite
def images(draw: st.DrawFn) -> Record:
    url = draw(st.sampled_from([None, "https://example.com/a.png", f"data:image/png;base64,{'A' * 90}"]))
    return {"type": "input_image", "image_url": url, "detail": "auto"}


@st.composite
def assistant_items(draw: st.DrawFn, turn: Record, number: int) -> list[Record]:
    """What one answer of the model adds: reasoning, words, calls and their outputs."""
    items: list[Record] = []
    if turn["thinking"] is not None:
        summary = [{"type": "summary_text", "text": turn["thinking"]}] if turn["thinking"] else []
        encrypted = draw(st.sampled_from([None, "gAAAAAB" * 30]))
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "encrypted_content": encrypted})
    if turn["text"] is not None:
        words = message("assistant", turn["text"])
        items.append({"id": f"msg_{number}", **words} if draw(st.booleans()) else words)
    if draw(st.integers(0, 6)) == 0:
        action = {"type": "search", "query": "weather"}
        items.append({"type": "web_search_call", "id": f"ws_{number}", "status": "completed", "action": action})
    made = [(call, draw(calls(call))) for call in turn["calls"]]
    answers = [
        draw(outputs(call, item["type"]))
        for call, item in draw(st.permutations(made))
        if draw(st.integers(0, 9)) or item["type"] == "tool_search_call"
    ]
    items += [item for _, item in made]
    if answers and draw(st.integers(0, 5)) == 0:
        answers.insert(1, message("assistant", "Meanwhile, a word."))
    return items + answers


@st.composite
def rollout_records(draw: st.DrawFn, turns: st.SearchStrategy[list[Record]]) -> list[Record]:
    """The records of one session."""
    mode = draw(st.sampled_from([{}, {"history_mode": "legacy"}, {"history_mode": "paginated"}]))
    records = [
        record(
            "session_meta", id="s", cwd="/repo", model_provider="openai", base_instructions={"text": "Help."}, **mode
        ),
        record("turn_context", cwd="/repo", model=draw(st.sampled_from(["gpt-5.1-codex", "o4-mini"]))),
        record("response_item", **message("developer", "<permissions instructions>all</permissions instructions>")),
        record("response_item", **message("user", "# AGENTS.md instructions for /repo\n\nBe brief.", ENVIRONMENT)),
    ]
    sent: list[Record] = []
    for number, turn in enumerate(draw(turns)):
        if "user" in turn:
            picture = [draw(images())] if draw(st.integers(0, 4)) == 0 else []
            items = [message("user", turn["user"], *picture)]
            records.append(record("event_msg", type="user_message", message=turn["user"]))
        else:
            items = draw(assistant_items(turn, number))
        for item in items:
            records.append(record("response_item", **item))
            if item["type"].endswith("_output") and draw(st.booleans()):
                shown = item.get("output")
                records.append(record("event_msg", type="exec_command_end", aggregated_output=shown))
        sent += items
        happened = draw(st.integers(0, 40))
        if happened < 2:
            summary = message("user", "Another language model started to solve this problem, and so on.")
            kept = [draw(st.sampled_from([sent, sent[:1]])), [{"type": "compaction", "encrypted_content": "g" * 99}]]
            history = [*kept[happened], summary]
            records.append(record("compacted", message="", replacement_history=history))
            sent = history
        elif happened == 2:
            records.append(record("compacted", message="What was done so far."))
        elif happened == 3:
            records.append(record("event_msg", type="thread_rolled_back", num_turns=draw(st.integers(1, 3))))
        elif happened == 4:
            records.append(record("response_item", type="ghost_snapshot", ghost_commit={"id": "x"}))
        elif happened == 5:
            records.append(record("response_item", type="function_call_output", call_id="lost", output="x\n" * 30))
        elif happened == 6:
            records.append(record("response_item", type="of_the_future", value=[1, {"text": "new"}]))
    usage = {"input_tokens": draw(st.integers(0, 5_000)), "cached_input_tokens": 0, "output_tokens": 9}
    info = {"total_token_usage": usage, "last_token_usage": usage}
    records.append(record("event_msg", type="token_count", info=draw(st.sampled_from([None, info]))))
    if mode.get("history_mode") == "paginated":
        records = [{**value, "ordinal": ordinal} for ordinal, value in enumerate(records)]
    return records


BARE_ROLLOUT = b"""\
{"id": "5973b6c0-94b8-487b-a530-2aeb6098ae0e", "timestamp": "2025-05-07T17:24:21.123Z", "instructions": null}
{"record_type": "state"}
{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Fix it."}]}
{"type": "function_call", "name": "shell", "arguments": "{}", "call_id": "a"}
{"type": "function_call_output", "call_id": "a", "output": "done"}
"""
"""A rollout of before September 2025: items without the records around them."""
