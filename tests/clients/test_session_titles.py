"""Titles of sessions: from the user, from the client, or from the first request."""

from __future__ import annotations

import json
from typing import Any

from build import claude_line, text
from helpers import as_lines
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine, dialogue, rollout, said_to_codex, task, written

from condense_cli.clients import claude_code, codex, editors
from condense_cli.clients.client import command_in, request_in, title_of

ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"


def claude_title(*records: dict[str, Any]) -> str | None:
    return claude_code.title(as_lines(list(records)))


def test_a_session_is_called_what_the_user_called_it() -> None:
    """Before what the client thought of, and that before a summary; the newest of each kind counts."""
    summary = {"type": "summary", "summary": "A summary", "leafUuid": "a1"}
    thought = [{"type": "ai-title", "aiTitle": title} for title in ("First thought", "Second thought")]
    named = [{"type": "custom-title", "customTitle": title} for title in ("Old name", "My name")]
    assert claude_title(*dialogue()) == "Fix the login."
    assert claude_title(summary, *dialogue()) == "A summary"
    assert claude_title(summary, *dialogue(), *thought) == "Second thought"
    assert claude_title(summary, *dialogue(), *named, *thought) == "My name"


def test_a_summary_of_another_session_is_not_its_title() -> None:
    """Claude Code writes summaries of older sessions at the head of a new one: their leaf is elsewhere."""
    other = {"type": "summary", "summary": "Of another", "leafUuid": "elsewhere"}
    older = {"type": "summary", "summary": "An older one", "leafUuid": "u1"}
    assert claude_title(other, *dialogue()) == "Fix the login."
    assert claude_title(older, other, *dialogue()) == "An older one"


def test_titles_spelled_inside_a_conversation_are_not_taken() -> None:
    """Neither in a text nor in a value that has the shape of a record."""
    spelled = '{"type":"custom-title","customTitle":"spelled"}'
    nested = {"type": "custom-title", "customTitle": "nested"}
    records = [*dialogue(spelled), claude_line("user", "u2", "a1", "more", toolUseResult=nested)]
    assert claude_title(*records) == spelled


def test_what_a_client_writes_is_not_the_first_request() -> None:
    """Reminders, caveats, commands, summaries of a compaction, and lines of sub-agents."""
    reminder = "<system-reminder>be brief</system-reminder>"
    assert (
        claude_title(
            claude_line("user", "u0", None, "Caveat", isMeta=True),
            claude_line("user", "u1", None, "This session is continued", isCompactSummary=True),
            claude_line("user", "u2", None, "Search for it", isSidechain=True),
            claude_line("user", "u3", None, "<command-name>/clear</command-name>"),
            claude_line("user", "u4", None, [text(reminder), text("The request")]),
            claude_line("user", "u5", None, "A later one"),
        )
        == "The request"
    )
    assert claude_title(claude_line("user", "u2", None, "Search for it", isSidechain=True)) == "Search for it"


def test_a_command_is_a_title_where_nothing_else_was_asked() -> None:
    """With what was typed after it."""
    typed = (
        "<command-name>/review</command-name>\n<command-message>x</command-message>\n<command-args>42</command-args>"
    )
    assert claude_title(claude_line("user", "u1", None, typed)) == "/review 42"
    assert claude_title(claude_line("user", "u1", None, typed), *dialogue()) == "Fix the login."
    assert command_in("no command") is None


def test_codex_is_asked_what_its_user_saw() -> None:
    """The event rather than the message, which may carry instructions; without what an editor puts before it."""
    rules = "<INSTRUCTIONS>\n" + "be brief\n" * 3_000 + "</INSTRUCTIONS>"
    shown = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nSort the list"
    event = {"type": "event_msg", "payload": {"type": "user_message", "message": shown}}
    sent = [said_to_codex(f"# AGENTS.md instructions for /srv\n\n{rules}"), said_to_codex("Sort it please")]
    assert codex.title(as_lines(rollout("x", *sent))) == "Sort it please"
    assert codex.title(as_lines(rollout("x", *sent, event))) == "Sort the list"
    assert codex.project(as_lines(rollout("x"))) == "/srv/app"


def test_a_task_is_called_after_its_request() -> None:
    """Between the tags that Roo Code and Cline put around it; the project is in the environment details."""
    data = json.dumps(task()).encode()
    assert (editors.title(data), editors.project(data)) == ("Rename it.", "/srv/roo")
    assert editors.last_time(data) == 1_779_999_001
    windows = b'"# Current Workspace Directory (c:\\\\Users\\\\me) Files"'
    assert editors.project(windows) == "c:\\Users\\me"


def test_what_clients_note_beside_a_session_goes_before_its_text(machine: Machine) -> None:
    """Names of Codex threads, the newest; indexes of Roo Code and Cline, and the note beside a session of Cline."""
    machine.codex(ROLLOUT)
    names = [{"id": ROLLOUT, "thread_name": name} for name in ("old", "Listing")] + [
        {"id": "other", "thread_name": "x"}
    ]
    written(machine.home / ".codex/session_index.jsonl", as_lines(names) + b"broken\n")
    one = machine.task("1", task())
    written(one.with_name("history_item.json"), json.dumps({"id": "1", "task": "Own", "workspace": "/w/1"}).encode())
    machine.task("2", task())
    entries = [{"id": "1", "task": "no"}, {"id": "2", "task": "Indexed", "workspace": "/w/2"}, 7]
    written(one.parents[1] / "_index.json", json.dumps({"version": 1, "entries": entries}).encode())
    three = machine.task("3", task(), extension="saoudrizwan.claude-dev")
    history = [{"id": "3", "task": "Remembered", "cwdOnTaskInitialization": "/w/3"}]
    written(three.parents[2] / "state/taskHistory.json", json.dumps(history).encode())
    folder = machine.home / ".cline/data/sessions/4"
    written(folder / "4.messages.json", json.dumps({"version": 1, "messages": task()}).encode())
    written(folder / "4.json", json.dumps({"metadata": {"title": "Noted"}, "cwd": "/w/4"}).encode())
    rows = {row["id"]: (row["title"], row["project"]) for row in machine.rows()}
    assert rows == {
        ROLLOUT: ("Listing", "/srv/app"),
        "1": ("Own", "/w/1"),
        "2": ("Indexed", "/w/2"),
        "3": ("Remembered", "/w/3"),
        "4": ("Noted", "/w/4"),
    }


def test_a_broken_index_says_nothing(machine: Machine) -> None:
    path = machine.task("1", task())
    for broken in (b"{", b"[1, null]", b'{"entries": 3}', b"\xff\xfe", b"[" * 100_000):
        written(path.parents[1] / "_index.json", broken)
        assert [row["title"] for row in machine.rows()] == ["Rename it."]


@given(st.text())
def test_a_title_is_one_short_line(said: str) -> None:
    for title in (title_of(said), request_in(said), claude_title(*dialogue(said))):
        if title is not None:
            assert title.encode()
            assert 0 < len(title) <= 200
            assert title.splitlines() == [title]


def test_a_request_between_the_tags_of_cline() -> None:
    assert request_in('<user_input mode="act">Give item 7 a name.</user_input>') == "Give item 7 a name."
    assert request_in('<user_input mode="plan">\nWhat is\nleft?') == "What is left?"
    assert request_in('<user_inputs mode="act">Hi') != "Hi"
