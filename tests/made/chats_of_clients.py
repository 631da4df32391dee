"""Generated sessions of further clients, from the same conversations in no format."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Turns = st.SearchStrategy[list[dict[str, Any]]]
Json = dict[str, Any]


def texts_of(result: Any) -> str:
    """The text of a result that may be a list of texts and images."""
    return result if isinstance(result, str) else "\n".join(part for part in result if isinstance(part, str))


def images_of(result: Any) -> list[str]:
    """The data of the images in a result."""
    parts = [] if isinstance(result, str) else [part for part in result if isinstance(part, dict)]
    return [part["source"].get("data", "") for part in parts]


@st.composite
def opencode_exports(draw: st.DrawFn, turns: Turns) -> bytes:
    messages: list[Json] = []
    request = "msg_000"

    def add(role: str, parts: list[Json], **info: Any) -> str:
        id = f"msg_{len(messages):03}"
        named = [
            {"id": f"prt_{len(messages):03}_{number}", "sessionID": "ses_1", "messageID": id, **part}
            for number, part in enumerate(parts)
        ]
        model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
        about = {"model": model} if role == "user" else {**model, "parentID": request, "mode": "build"}
        time = {"created": 1_700_000_000_000 + len(messages)}
        info = {"id": id, "sessionID": "ses_1", "role": role, "time": time, "agent": "build", **about, **info}
        messages.append({"info": info, "parts": named})
        return id

    for turn in draw(turns):
        if "user" in turn:
            extra = draw(st.lists(st.sampled_from([_IMAGE, _IGNORED, _ATTACHED]), max_size=1))
            request = add("user", [{"type": "text", "text": turn["user"]}, *extra])
            continue
        parts: list[Json] = [{"type": "step-start"}]
        if turn["thinking"] is not None:
            parts.append(
                {"type": "reasoning", "text": turn["thinking"], "metadata": {"anthropic": {"signature": "abc"}}}
            )
        if turn["text"] is not None:
            parts.append({"type": "text", "text": turn["text"]})
        parts += (_opencode_tool(draw, call) for call in turn["calls"])
        add("assistant", [*parts, {"type": "step-finish", "cost": 0.013875000000000002}])
        if not turn["calls"] and draw(st.integers(0, 12)) == 0:
            request = add("user", [{"type": "compaction", "auto": True, "tail_start_id": request}])
            add("assistant", [{"type": "text", "text": "What was done."}], summary=True, finish="stop")
    value = {"info": {"id": "ses_1", "title": "A session"}, "messages": messages}
    text = json.dumps(value, indent=draw(st.sampled_from([None, 2])), ensure_ascii=draw(st.booleans()))
    return text.encode("utf-8", "backslashreplace")


_IMAGE: Json = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGVsbG8="}
_ATTACHED: Json = {"type": "file", "mime": "text/plain", "url": "file:///a.py"}
_IGNORED: Json = {"type": "text", "text": "shown to the user alone", "ignored": True}


def _opencode_tool(draw: st.DrawFn, call: Json) -> Json:
    text = texts_of(call["result"])
    state: Json = {"status": "completed", "input": call["arguments"], "output": text}
    if call["error"]:
        state = {"status": "error", "input": call["arguments"], "error": text}
    elif images_of(call["result"]):
        state["attachments"] = [{**_IMAGE, "id": "prt_x"}]
    state = draw(st.sampled_from([state, state, {**state, "time": {"compacted": 5}}, {**state, "status": "running"}]))
    state["metadata"] = {"output": text, "truncated": False}
    return {"type": "tool", "callID": call["id"], "tool": call["tool"], "state": state}


@st.composite
def pi_sessions(draw: st.DrawFn, turns: Turns) -> bytes:
    """A session of version 1 or 3, with settings, an abandoned branch, a command of the user and compactions."""
    is_tree = draw(st.booleans())
    records: list[Json] = [{"type": "session", "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/home/me"}]
    if is_tree:
        records[0]["version"] = 3

    def add(kind: str, *, branch: bool = False, **members: Any) -> None:
        record: Json = {"type": kind, "timestamp": f"2026-01-02T03:05:{len(records) % 60:02}.000Z"}
        if is_tree:
            parents = [entry["id"] for entry in records[1:] if not entry.get("aside")]
            record |= {"id": f"{len(records):08x}", "parentId": parents[-1] if parents else None}
            record |= {"aside": True} if branch else {}
        records.append({**record, **members})

    def say(role: str, content: Any, **extra: Any) -> None:
        add("message", message={"role": role, "content": content, "timestamp": 1_700_000_000_000, **extra})

    for turn in draw(turns):
        if "user" in turn:
            if draw(st.integers(0, 4)) == 0:
                add(draw(st.sampled_from(["model_change", "thinking_level_change", "custom", "label"])), targetId="x")
            if draw(st.integers(0, 4)) == 0:
                add(
                    "message", message={"role": "bashExecution", "command": "ls", "output": turn["user"], "exitCode": 0}
                )
            if is_tree and draw(st.integers(0, 4)) == 0:
                add("message", branch=True, message={"role": "user", "content": "another way"})
            say("user", draw(st.sampled_from([turn["user"], [{"type": "text", "text": turn["user"]}, _PI_IMAGE]])))
            continue
        content: list[Json] = []
        if turn["thinking"] is not None:
            content.append({"type": "thinking", "thinking": turn["thinking"], "thinkingSignature": "c2lnbmVk"})
        if turn["text"] is not None:
            content.append({"type": "text", "text": turn["text"]})
        content += (
            {"type": "toolCall", "id": call["id"], "name": call["tool"], "arguments": call["arguments"]}
            for call in turn["calls"]
        )
        say("assistant", content, model="claude-sonnet-4-5", usage={"input": 5, "cacheRead": 7}, stopReason="stop")
        for call in turn["calls"]:
            parts = [
                {"type": "text", "text": texts_of(call["result"])},
                *(_PI_IMAGE for _ in images_of(call["result"])),
            ]
            extra = {"toolCallId": call["id"], "toolName": call["tool"], "isError": bool(call["error"])}
            say("toolResult", parts, **extra, details={"diff": "+1 one"})
        if len(records) > 4 and draw(st.integers(0, 6)) == 0:
            kept = draw(st.integers(1, len(records) - 1))
            # What is kept never begins with a result, whose call would be left behind.
            while kept > 1 and records[kept].get("message", {}).get("role") == "toolResult":
                kept -= 1
            named = {"firstKeptEntryId": records[kept]["id"]} if is_tree else {"firstKeptEntryIndex": kept}
            add("compaction", summary="What was done.", tokensBefore=1_000, **named)
    return "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records).encode()


_PI_IMAGE: Json = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}


@st.composite
def gemini_chats(draw: st.DrawFn, turns: Turns) -> bytes:
    messages: list[Json] = []

    def add(kind: str, content: Any, **members: Any) -> None:
        time = f"2026-01-02T03:05:{len(messages) % 60:02}.000Z"
        messages.append({"id": f"m{len(messages)}", "timestamp": time, "type": kind, "content": content, **members})

    for turn in draw(turns):
        if "user" in turn:
            shapes: list[Any] = [turn["user"], [{"text": turn["user"]}], [turn["user"], _GEMINI_IMAGE]]
            add("user", draw(st.sampled_from(shapes)))
            if draw(st.integers(0, 5)) == 0:
                add("info", "The model was changed.")
            continue
        calls = [
            {"id": call["id"], "name": call["tool"], "args": call["arguments"], **_gemini_result(draw, call)}
            for call in turn["calls"]
        ]
        said = [{"text": turn["text"]}] if turn["text"] else []
        if draw(st.booleans()):
            thoughts = [{"subject": "Plan", "description": turn["thinking"]}] if turn["thinking"] else []
            add("gemini", turn["text"] or "", thoughts=thoughts, toolCalls=calls, tokens={"input": 9, "cached": 3})
        else:
            thought = [{"text": turn["thinking"], "thought": True}] if turn["thinking"] else []
            asked = [{"functionCall": {key: call[key] for key in ("id", "name", "args")}} for call in calls]
            add("gemini", [*thought, *said, *asked], toolCalls=calls, model="gemini-3-pro")
    value = {"sessionId": "s", "projectHash": "h", "messages": messages}
    return json.dumps(value, indent=draw(st.sampled_from([None, 2]))).encode()


_GEMINI_IMAGE: Json = {"inlineData": {"mimeType": "image/png", "data": "aGVsbG8="}}


def _gemini_result(draw: st.DrawFn, call: Json) -> Json:
    text = texts_of(call["result"])
    said = {"error": text} if call["error"] else {"output": text}
    part = {"functionResponse": {"id": call["id"], "name": call["tool"], "response": said}}
    images = [_GEMINI_IMAGE for _ in images_of(call["result"])]
    result = draw(st.sampled_from([[part, *images], part, text or [part]]))
    return {"result": result, "status": "error" if call["error"] else "success", "resultDisplay": text}
