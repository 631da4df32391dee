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
