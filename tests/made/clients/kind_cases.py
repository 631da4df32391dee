"""Small sessions of Claude Code with records beside the messages: which of them are sent, and what others change."""

from typing import Any

from build import call, text
from claude_tree import GO, OLD, OLD_TURNS, SESSION, Case, Json, answer, boundary, chain, record, reply, said, summary

TOOLS = [
    {"name": name, "description": f"It does {name}.", "schema": {"name": name, "input_schema": {"type": "object"}}}
    for name in ("Read", "Bash")
]


def attached(number: int, parent: int | None, kind: str, keys: Json | None = None, **record_keys: Any) -> Json:
    return record(number, parent, "attachment", attachment={"type": kind, **(keys or {})}, **record_keys)


def reminded(number: int, parent: int, kind: str, words: str, role: str = "system", **keys: Any) -> Json:
    """An attachment with the words that it was sent with."""
    rendered = [{"content": f"<system-reminder>\n{words}\n</system-reminder>"}]
    return attached(number, parent, kind, keys, rendered=rendered, renderedRole=role)


def snapshot(number: int, parent: int, **keys: Any) -> Json:
    """The system prompt, and with `tools` what stands besides it in each request."""
    return attached(number, parent, "prompt_snapshot", {"systemPrompt": ["You are brief.", "You are kind."], **keys})


def replayed(kind: str, **keys: Any) -> Json:
    return {"type": kind, "sessionId": SESSION, "version": "2.1.330", **keys}


REPLAY = [
    replayed("api-request-shape", shapeHash="1", shape={"system": [text("You are brief.")], "tools": TOOLS}),
    replayed("api-request-blob", hash="2", message={"role": "user", "content": [text("go")]}),
    replayed("api-request", id="3", shapeHash="1", keep=0, tail=["2"]),
]
"""A request, written once more."""

_CUT: Json = {"callIds": ["a", "b", "lost"], "standIn": "[cleared]", "roughTokens": 9}
_SAID = ("before a", "behind a", "before b")
_LONG = "a result that is longer than what takes its place"

SENT_OR_NOT: dict[str, Case] = {
    "a recorded prompt is no message": Case(
        [
            GO,
            snapshot(9, 1),
            *REPLAY,
            reply(2, 9, "m1", text("one")),
            snapshot(10, 2, tools=TOOLS),
            said(3, 10, "more"),
        ],
        [["go"], ["one"], ["more"]],
    ),
    "a recorded prompt below the last message is none": Case([*OLD, snapshot(9, 4, tools=TOOLS)], OLD_TURNS),
    "what the client notes for itself is not sent": Case(
        [
            GO,
            attached(5, 1, "session_context", {"context": {}}),
            attached(6, 5, "command_permissions", {"allowedTools": ["Bash"]}),
            attached(7, 6, "hook_system_message", {"content": "shown", "hookEvent": "SessionStart"}),
            attached(8, 7, "hook_success", {"content": "ok", "hookEvent": "PostToolUse", "stdout": "ok"}),
            attached(9, 8, "hook_success", {"content": "", "hookEvent": "SessionStart", "stdout": "ok"}),
            attached(10, 9, "hook_additional_context", {"content": [], "hookEvent": "SessionStart"}),
            attached(11, 10, "todo_reminder", {"content": [{"content": "x", "status": "pending"}], "itemCount": 1}),
            reply(2, 11, "m1", text("one")),
        ],
        [["go"], ["one"]],
    ),
    "attachments are sent in the words that were recorded": Case(
        [
            GO,
            reminded(5, 1, "date", "Today is Monday.", date="2026-03-02"),
            reminded(6, 5, "a_kind_of_later", "Later has come.", role="user", note="x" * 500),
            reply(2, 6, "m1", text("one")),
        ],
        [
            [
                "go",
                "<system-reminder>\nToday is Monday.\n</system-reminder>",
                "<system-reminder>\nLater has come.\n</system-reminder>",
            ],
            ["one"],
        ],
    ),
    "an unknown kind without its words is not sent": Case(
        [GO, attached(5, 1, "a_kind_of_later", {"content": "hello"}), reply(2, 5, "m1", text("one"))], [["go"], ["one"]]
    ),
    "what hooks said at parallel calls is sent": Case(
        [
            *chain("go / m1 calls a"),
            reminded(3, 2, "hook_additional_context", "before a", content=["before a"]),
            reply(4, 2, "m1", call("b")),
            answer(5, 2, "a"),
            reminded(6, 5, "hook_additional_context", "behind a", content=["behind a"]),
            reminded(7, 4, "hook_additional_context", "before b", content=["before b"]),
            answer(8, 4, "b"),
            reply(9, 8, "m2", text("done")),
        ],
        [
            ["go"],
            ["a", "b"],
            ["a", "b", *(f"<system-reminder>\n{said}\n</system-reminder>" for said in _SAID)],
            ["done"],
        ],
    ),
    "branches at parallel calls stand in the order of the file": Case(
        [
            *chain("go / m1 calls a / m1 calls b"),
            answer(4, 2, "a"),
            reply(5, 4, "m1", call("c")),
            answer(6, 3, "b"),
            answer(7, 5, "c"),
            reply(8, 7, "m2", text("done")),
        ],
        [["go"], ["a", "b", "c"], ["a", "b", "c"], ["done"]],
    ),
    "a message that is only shown is not sent": Case(
        [
            *OLD[:2],
            said(5, 2, "shown", isVirtual=True),
            record(6, 5, "system", subtype="local_command", content="shown", isDisplayOnly=True),
            record(7, 6, "system", subtype="away_summary", content="You were asked."),
            said(3, 7, "more"),
            OLD[3],
        ],
        OLD_TURNS,
    ),
    "results that the client cut are sent as it says": Case(
        [
            *chain("go / m1 calls a"),
            said(3, 2, [{"type": "tool_result", "tool_use_id": "a", "content": _LONG}]),
            reply(4, 3, "m2", call("b")),
            said(5, 4, [{"type": "tool_result", "tool_use_id": "b", "content": _LONG, "is_error": True}]),
            *chain("m3 calls c / c answers", start=6),
            attached(8, 7, "tool_results_cut", _CUT),
            reply(9, 8, "m4", text("done")),
        ],
        [["go"], ["a"], ["a"], ["b"], ["b"], ["c"], ["c"], ["done"]],
    ),
    "thinking that the client stripped is not sent": Case(
        [
            *chain("go / m1 thinks first / m1: one / more"),
            attached(5, 4, "thinking_stripped", {"scope": "all", "cause": "return_after_idle"}),
            *chain("m2 thinks second / m2: two", start=6),
        ],
        [["go"], ["one"], ["more"], ["second", "two"]],
    ),
    "thinking that the client stripped from one reply on is not sent": Case(
        [
            *chain("go / m1 thinks first / m1: one / more / m2 thinks second / m2: two / again"),
            attached(8, 7, "thinking_stripped", {"scope": "partial", "from": {"messageId": "m2", "thinkingIndex": 0}}),
            reply(9, 8, "m3", text("three")),
        ],
        [["go"], ["first", "one"], ["more"], ["two"], ["again"], ["three"]],
    ),
    "a recorded prompt behind a boundary is no message": Case(
        [*OLD, boundary(5), summary(6, 5), snapshot(7, 6), *chain("next / m3: three", start=8)],
        [["the summary", "next"], ["three"]],
    ),
}
