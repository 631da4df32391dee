"""Generated items of the Responses API: those of Codex, and others that clients of the API have besides."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from rollouts import Record, assistant_items, images, message

DATA = "gAAAAAB" * 30
APPROVAL = {"server_label": "docs", "name": "search", "arguments": "{}"}
SERVER_ITEMS: list[list[Record]] = [
    [{"type": "file_search_call", "id": "fs_{n}", "queries": ["x"], "status": "completed", "results": None}],
    [{"type": "code_interpreter_call", "id": "ci_{n}", "container_id": "c", "code": "1 + 1", "outputs": None}],
    [{"type": "image_generation_call", "id": "ig_{n}", "result": "aGVsbG8=", "status": "completed"}],
    [{"type": "mcp_call", "id": "mcp_{n}", "output": "found", **APPROVAL}],
    [
        {"type": "mcp_approval_request", "id": "mcpr_{n}", **APPROVAL},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_{n}", "approve": True},
    ],
    [
        {"type": "computer_call", "id": "cu_{n}", "call_id": "cc_{n}", "action": {"type": "screenshot"}},
        {"type": "computer_call_output", "call_id": "cc_{n}", "output": {"type": "computer_screenshot"}},
    ],
    [{"type": "item_reference", "id": "msg_elsewhere_{n}"}],
    [{"type": "compaction", "id": "cmp_{n}", "encrypted_content": DATA}],
    [{"type": "of_the_future", "id": "new_{n}", "value": [1, {"text": "new"}]}],
]
"""What servers add to a conversation, and what belongs to it."""


def _numbered(value: Record, number: int) -> Record:
    return {key: inner.replace("{n}", str(number)) if isinstance(inner, str) else inner for key, inner in value.items()}


@st.composite
def said(draw: st.DrawFn, role: str, text: str) -> Record:
    """A message in one of the forms that the API takes."""
    parts = message(role, text, *draw(st.lists(images(), max_size=1)) if role == "user" else ())
    return draw(st.sampled_from([{"role": role, "content": text}, parts, {**parts, "status": "completed"}]))


@st.composite
def built_in(draw: st.DrawFn, turn: Record) -> list[Record]:
    """The calls of a turn as those of the tools that the API itself describes, each with its output."""
    items: list[Record] = []
    for call in turn["calls"]:
        texts = [value for value in call["arguments"].values() if isinstance(value, str)]
        text = call["result"] if isinstance(call["result"], str) else "\n".join(map(str, call["result"]))
        link = {"call_id": call["id"]}
        if draw(st.booleans()):
            outcome = draw(st.sampled_from([{"type": "exit", "exit_code": 1}, {"type": "timeout"}]))
            printed = [{"stdout": text, "stderr": "", "outcome": outcome}]
            items.append({"type": "shell_call", "id": f"sh_{call['id']}", **link, "action": {"commands": texts}})
            items.append({"type": "shell_call_output", **link, "output": printed * draw(st.integers(0, 2))})
        else:
            operation = {"type": "update_file", "path": "src/app.py", "diff": "\n".join(texts)}
            answer = draw(st.sampled_from([{"output": text}, {}]))
            items.append({"type": "apply_patch_call", "id": f"apc_{call['id']}", **link, "operation": operation})
            items.append({"type": "apply_patch_call_output", **link, "status": "completed", **answer})
    return items


@st.composite
def request_items(draw: st.DrawFn, turns: st.SearchStrategy[list[Record]]) -> list[Record]:
    """The items of one conversation, as they are sent with the next request."""
    items: list[Record] = [{"type": "message", "role": "developer", "content": "Be brief."}]
    for number, turn in enumerate(draw(turns)):
        if "user" in turn:
            items.append(draw(said("user", turn["user"])))
            continue
        if turn["calls"] and draw(st.integers(0, 3)) == 0:
            items += draw(built_in(turn))
            continue
        answer: list[Any] = draw(assistant_items(turn, number))
        if draw(st.integers(0, 5)) == 0:
            place = draw(st.integers(0, len(answer)))
            answer[place:place] = (_numbered(item, number) for item in draw(st.sampled_from(SERVER_ITEMS)))
        items += answer
    return items
