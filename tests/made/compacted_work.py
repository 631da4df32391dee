"""One piece of work in the files of several clients, compacted in its middle: what is lost of it is known.

Two files are read before the compaction. Behind it the first of them is read again; then a line of the other, which
only stands before the compaction, is edited, and a name from there is said.
"""

import json
from typing import Any

from build import call, result, text
from claude_tree import boundary, record, reply, said, uuid
from helpers import as_lines

Json = dict[str, Any]

APP = "\n".join(f"app_{n} = the value that part {n} of the application begins with" for n in range(30))
LINE = "retry_limit_total = 7"
OTHER = "\n".join([LINE, "connect_timeout_ms = 30", *(f"word {n} of the other file" for n in "abcdefghijklmnopqrst")])
REQUEST = "Please make the limits larger."
SUMMARY = "We have read both files; connect_timeout_ms has to stay."
DONE = "I left connect_timeout_ms alone."
READ_APP = {"file_path": "src/app.py"}
READ_OTHER = {"file_path": "src/other.py"}
EDIT = {"file_path": "src/other.py", "old_string": LINE, "new_string": "retry_limit_total = 9"}


def before_in_claude() -> list[Json]:
    return [
        said(1, None, REQUEST),
        reply(2, 1, "m2", call("a", **READ_APP)),
        said(3, 2, [result("a", APP)]),
        reply(4, 3, "m4", call("b", **READ_OTHER)),
        said(5, 4, [result("b", OTHER)]),
    ]


def later_in_claude(first: int, parent: int) -> list[Json]:
    return [
        reply(first, parent, "m21", call("c", **READ_APP)),
        said(first + 1, first, [result("c", APP)]),
        reply(first + 2, first + 1, "m23", call("d", "Edit", **EDIT)),
        said(first + 3, first + 2, [result("d", "The file src/other.py has been updated.")]),
        reply(first + 4, first + 3, "m25", text(DONE)),
    ]


def summary_in_claude(number: int, parent: int) -> Json:
    return said(number, parent, SUMMARY, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def claude_summary(**metadata: Any) -> bytes:
    """The client's own words follow the summary before anything is said anew."""
    words = said(8, 7, "<local-command-stdout>Compacted</local-command-stdout>")
    compaction = [boundary(6, preTokens=900, **metadata), summary_in_claude(7, 6), words]
    return as_lines([*before_in_claude(), *compaction, *later_in_claude(21, 8)])


def claude_keeping() -> bytes:
    """The boundary keeps the second read."""
    compaction = [
        boundary(6, preservedMessages={"anchorUuid": uuid(7), "uuids": [uuid(4), uuid(5)]}),
        summary_in_claude(7, 6),
    ]
    return as_lines([*before_in_claude(), *compaction, *later_in_claude(21, 5)])


def claude_clearing(*calls: str) -> bytes:
    """The client cleared the results of these calls, and noted only that."""
    noted = {"trigger": "auto", "preTokens": 900, "tokensSaved": 100, "compactedToolIds": list(calls)}
    note = record(6, 5, "system", subtype="microcompact_boundary", microcompactMetadata=noted, content="")
    return as_lines([*before_in_claude(), note, *later_in_claude(21, 6)])


def claude_cut(*calls: str) -> bytes:
    """The same in the way of newer versions, which say what they send instead."""
    note = {"type": "tool_results_cut", "callIds": list(calls), "standIn": "[cleared]"}
    return as_lines([*before_in_claude(), record(6, 5, "attachment", attachment=note), *later_in_claude(21, 6)])


def claude_twice() -> bytes:
    """First a result is cleared, then all is summarized."""
    noted = {"trigger": "auto", "compactedToolIds": ["a"]}
    note = record(6, 5, "system", subtype="microcompact_boundary", microcompactMetadata=noted, content="")
    between = [reply(7, 6, "m7", text("I have seen app_3, and go on.")), said(8, 7, "Yes.")]
    compaction = [boundary(9), summary_in_claude(10, 9)]
    return as_lines([*before_in_claude(), note, *between, *compaction, *later_in_claude(21, 10)])


def codex(*, is_encrypted: bool = False) -> bytes:
    def one(kind: str, **payload: Any) -> Json:
        return {"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}

    def words(role: str, content: str) -> Json:
        kind = "output_text" if role == "assistant" else "input_text"
        return {"type": "message", "role": role, "content": [{"type": kind, "text": content}]}

    def ran(name: str, tool: str, output: str, **arguments: Any) -> list[Json]:
        asked = {"type": "function_call", "name": tool, "arguments": json.dumps(arguments), "call_id": name}
        return [one("response_item", **each) for each in (asked, _output(name, output))]

    encrypted = {"type": "compaction", "encrypted_content": "Z0FBQUFB" * 20}
    kept = [words("user", REQUEST), encrypted if is_encrypted else words("user", SUMMARY)]
    patch = f"*** Begin Patch\n*** Update File: src/other.py\n@@\n-{LINE}\n+retry_limit_total = 9\n*** End Patch"
    return as_lines(
        [
            one("session_meta", id="s", cwd="/srv"),
            one("response_item", **words("user", REQUEST)),
            *ran("a", "shell", APP, command=["cat", "src/app.py"]),
            *ran("b", "shell", OTHER, command=["cat", "src/other.py"]),
            one("compacted", message="", replacement_history=kept),
            *ran("c", "shell", APP, command=["cat", "src/app.py"]),
            one("response_item", type="custom_tool_call", name="apply_patch", input=patch, call_id="d"),
            one("response_item", type="custom_tool_call_output", call_id="d", output="Success. Updated the file."),
            one("response_item", **words("assistant", DONE)),
        ]
    )


def _output(name: str, output: str) -> Json:
    return {"type": "function_call_output", "call_id": name, "output": f"Exit code: 0\nOutput:\n{output}"}


def roo(kind: str) -> bytes:
    """`user`: a summary at the end; `assistant`: one before the newest three messages; `truncation`: half is hidden;
    `old`: what the summary stands for is gone."""

    def one(number: int, role: str, *content: Json, **keys: Any) -> Json:
        return {"role": role, "content": list(content), "ts": 1_700_000_000_000 + number, **keys}

    first = one(1, "user", text(f"<task>{REQUEST}</task>"))
    old = [
        one(2, "assistant", call("a", "read_file", path="src/app.py")),
        one(3, "user", result("a", APP)),
        one(4, "assistant", call("b", "read_file", path="src/other.py")),
        one(5, "user", result("b", OTHER)),
    ]
    later = [
        one(21, "assistant", call("c", "read_file", path="src/app.py")),
        one(22, "user", result("c", APP)),
        one(23, "assistant", call("d", "search_and_replace", path="src/other.py", search=LINE, replace="x")),
        one(24, "user", result("d", "done")),
        one(25, "assistant", text(DONE)),
    ]
    hidden = {"condenseParent": "C"}
    if kind == "old":
        made = [one(6, "assistant", text(SUMMARY), isSummary=True), *old[2:]]
    elif kind == "user":
        made = [*(each | hidden for each in old), one(6, "user", text(SUMMARY), isSummary=True, condenseId="C")]
        first |= hidden
    elif kind == "assistant":
        summary = one(3, "assistant", text(SUMMARY), isSummary=True, condenseId="C")
        more = [one(6, "assistant", text("I have read both."))]
        made = [*(each | hidden for each in old[:2]), summary, *old[2:], *more]
    else:
        marker = one(3, "user", text("[2 messages hidden]"), isTruncationMarker=True, truncationId="T")
        made = [*(each | {"truncationParent": "T"} for each in old[:2]), marker, *old[2:]]
    return json.dumps([first, *made, *later], indent=1).encode()


def opencode() -> bytes:
    def one(number: int, role: str, *parts: Json, **info: Any) -> Json:
        about = {"id": f"msg_{number:02}", "sessionID": "s", "role": role, "time": {"created": number}, **info}
        return {"info": about, "parts": list(parts)}

    def ran(name: str, tool: str, output: str, **arguments: Any) -> Json:
        state = {"status": "completed", "input": arguments, "output": output}
        return {"type": "tool", "callID": name, "tool": tool, "state": state}

    edit = {"filePath": "src/other.py", "oldString": LINE, "newString": "x"}
    return json.dumps(
        {
            "info": {"id": "s"},
            "messages": [
                one(1, "user", text(REQUEST)),
                one(2, "assistant", ran("a", "read", APP, filePath="src/app.py")),
                one(3, "assistant", ran("b", "read", OTHER, filePath="src/other.py")),
                one(4, "user", {"type": "compaction", "auto": True}),
                one(5, "assistant", text(SUMMARY), summary=True, parentID="msg_04", finish="stop"),
                one(6, "assistant", ran("c", "read", APP, filePath="src/app.py")),
                one(7, "assistant", ran("d", "edit", "Edit applied.", **edit)),
                one(8, "assistant", text(DONE)),
            ],
        }
    ).encode()


def pi() -> bytes:
    def one(number: int, kind: str, **members: Any) -> Json:
        parent = str(number - 1) if number > 1 else None
        return {
            "type": kind,
            "id": str(number),
            "parentId": parent,
            "timestamp": f"2026-01-02T03:04:{number:02}.000Z",
        } | (members)

    def words(number: int, role: str, *content: Json, **keys: Any) -> Json:
        return one(number, "message", message={"role": role, "content": list(content), **keys})

    def ran(number: int, name: str, tool: str, output: str, **arguments: Any) -> list[Json]:
        asked = {"type": "toolCall", "id": name, "name": tool, "arguments": arguments}
        answered = words(number + 1, "toolResult", text(output), toolCallId=name, toolName=tool)
        return [words(number, "assistant", asked), answered]

    return as_lines(
        [
            {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:00.000Z", "cwd": "/srv"},
            words(1, "user", text(REQUEST)),
            *ran(2, "a", "read", APP, path="src/app.py"),
            *ran(4, "b", "read", OTHER, path="src/other.py"),
            one(6, "compaction", summary=SUMMARY, firstKeptEntryId="6", tokensBefore=900),
            *ran(7, "c", "read", APP, path="src/app.py"),
            *ran(9, "d", "edit", "Edited.", path="src/other.py", oldText=LINE, newText="x"),
            words(11, "assistant", text(DONE)),
        ]
    )


def kimi() -> bytes:
    def words(role: str, content: str) -> Json:
        message = {"role": role, "content": [text(content)], "toolCalls": [], "origin": {"kind": "user"}}
        return {"type": "context.append_message", "message": message, "time": 2}

    def event(kind: str, **members: Any) -> Json:
        return {"type": "context.append_loop_event", "event": {"type": kind, **members}, "time": 3}

    def ran(name: str, tool: str, output: str, **arguments: Any) -> list[Json]:
        step = f"step {name}"
        return [
            event("step.begin", uuid=step),
            event("tool.call", stepUuid=step, toolCallId=name, name=tool, args=arguments),
            event("tool.result", toolCallId=name, result={"output": output}),
            event("step.end", uuid=step),
        ]

    return as_lines(
        [
            {"type": "metadata", "protocol_version": "1.4", "created_at": 1},
            words("user", REQUEST),
            *ran("a", "Read", APP, path="src/app.py"),
            *ran("b", "Read", OTHER, path="src/other.py"),
            {"type": "context.apply_compaction", "summary": SUMMARY, "compactedCount": 5, "time": 4},
            *ran("c", "Read", APP, path="src/app.py"),
            *ran("d", "Edit", "Replaced.", path="src/other.py", old_string=LINE, new_string="x"),
            event("step.begin", uuid="last"),
            event("content.part", stepUuid="last", part=text(DONE)),
            event("step.end", uuid="last"),
        ]
    )
