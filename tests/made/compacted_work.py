"""One piece of work in the files of several clients, compacted in its middle: what is lost of it is known.

Two files are read before the compaction. Behind it the first of them is read again; then a line of the other, which
only stands before the compaction, is edited, and a name from there is said.
"""

import json
from functools import partial
from typing import Any

import kimi_logs
import opencode_exports
import pi_sessions
import rollout_items
import rollouts
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
    def ran(name: str, printed: str, path: str) -> list[Json]:
        asked = rollout_items.function(name, "shell", command=["cat", path])
        return rollout_items.items(asked, rollout_items.output(name, f"Exit code: 0\nOutput:\n{printed}"))

    request, summary, done = (
        rollouts.message(role, words) for role, words in (("user", REQUEST), ("user", SUMMARY), ("assistant", DONE))
    )
    encrypted = {"type": "compaction", "encrypted_content": "Z0FBQUFB" * 20}
    patch = f"*** Begin Patch\n*** Update File: src/other.py\n@@\n-{LINE}\n+retry_limit_total = 9\n*** End Patch"
    edit = rollout_items.custom("d", patch)
    edited = rollout_items.output("d", "Success. Updated the file.", "custom_tool_call_output")
    return as_lines(
        [
            rollout_items.head(),
            *rollout_items.items(request),
            *ran("a", APP, "src/app.py"),
            *ran("b", OTHER, "src/other.py"),
            rollouts.record(
                "compacted", message="", replacement_history=[request, encrypted if is_encrypted else summary]
            ),
            *ran("c", APP, "src/app.py"),
            *rollout_items.items(edit, edited, done),
        ]
    )


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
    message = partial(opencode_exports.message, tokens={})

    def ran(number: int, name: str, tool: str, printed: str, **arguments: Any) -> Json:
        part = opencode_exports.tool(name, printed, input=arguments)
        return message(number, "assistant", part | {"tool": tool})

    messages = [
        message(1, "user", text(REQUEST)),
        ran(2, "a", "read", APP, filePath="src/app.py"),
        ran(3, "b", "read", OTHER, filePath="src/other.py"),
        message(4, "user", {"type": "compaction", "auto": True}),
        message(5, "assistant", text(SUMMARY), summary=True, parentID="msg_4", finish="stop"),
        ran(6, "c", "read", APP, filePath="src/app.py"),
        ran(7, "d", "edit", "Edit applied.", filePath="src/other.py", oldString=LINE, newString="x"),
        message(8, "assistant", text(DONE)),
    ]
    return json.dumps({"info": {"id": "s"}, "messages": messages}).encode()


def pi() -> bytes:
    def ran(number: int, name: str, tool: str, printed: str, **arguments: Any) -> list[Json]:
        asked = pi_sessions.said(str(number), str(number - 1), "assistant", [pi_sessions.call(name, tool, **arguments)])
        return [asked, pi_sessions.answer(str(number + 1), str(number), name, printed)]

    return as_lines(
        [
            pi_sessions.HEADER,
            pi_sessions.said("1", None, "user", [text(REQUEST)]),
            *ran(2, "a", "read", APP, path="src/app.py"),
            *ran(4, "b", "read", OTHER, path="src/other.py"),
            pi_sessions.entry("compaction", "6", "5", summary=SUMMARY, firstKeptEntryId="6", tokensBefore=900),
            *ran(7, "c", "read", APP, path="src/app.py"),
            *ran(9, "d", "edit", "Edited.", path="src/other.py", oldText=LINE, newText="x"),
            pi_sessions.said("11", "10", "assistant", [text(DONE)]),
        ]
    )


def kimi() -> bytes:
    def ran(name: str, tool: str, printed: str, **arguments: Any) -> list[Json]:
        asked = kimi_logs.event("tool.call", stepUuid=name, toolCallId=name, name=tool, args=arguments)
        return kimi_logs.step(name, asked, kimi_logs.answer(name, printed))

    return as_lines(
        [
            kimi_logs.HEADER,
            kimi_logs.said(REQUEST),
            *ran("a", "Read", APP, path="src/app.py"),
            *ran("b", "Read", OTHER, path="src/other.py"),
            {"type": "context.apply_compaction", "summary": SUMMARY, "compactedCount": 5, "time": 4},
            *ran("c", "Read", APP, path="src/app.py"),
            *ran("d", "Edit", "Replaced.", path="src/other.py", old_string=LINE, new_string="x"),
            *kimi_logs.step("last", kimi_logs.part("last", DONE)),
        ]
    )
