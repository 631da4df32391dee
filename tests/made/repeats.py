"""Content that comes again, as agents see it: reads of files that change, listings, states, printed transcripts."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st
from todo_calls import WORDS, todo_calls

PATHS = st.sampled_from(["src/app.py", "/home/me/project/src/app.py", "lib/core.rs", "C:\\work\\main.c", "a b/c.txt"])
COMMANDS = st.sampled_from(["pytest -q", "cat src/app.py", "cd /repo && sed -n 1,9p a.py", "git status\ngit diff"])
ENDINGS = st.sampled_from(["", "", "", "", "", "\r", "  ", "\u2028", "\ud800", "\x0c", "…"])
SHARED_LINES = st.sampled_from(["", "", "    }", "    return None", "\t", "12", "7: seven", "  3→three", "9"])
IMITATIONS = st.sampled_from(
    [
        "[see the next Read of src/app.py #123456]",
        "[see lines 3-75 of the next Read of src/app.py #520917]",
        "[see lines 1-3 above #401752]",
        "[see new_string of this call #298817]",
        "[see the result #000000]",
        "[see the 3rd previous <environment_details> #111111]",
        "[see something else]",
        "  [see the next Read of src/app.py #123456]",
    ]
)
NUMBERINGS = st.sampled_from(
    ["{n:>6}\t{line}", "{n:>6}→{line}", "{n} | {line}", "{n}:{line}", "{n}\t{line}", "{n}→{line}", "{n:>3}|{line}"]
)


@st.composite
def libraries(draw: st.DrawFn) -> list[list[str]]:
    """A few files, of which views are shown; some of their lines are in all of them."""
    files = []
    for name in draw(st.lists(st.sampled_from(["alpha", "beta", "gamma"]), min_size=1, max_size=2, unique=True)):
        size = draw(st.integers(4, 24))
        ending = draw(ENDINGS)
        lines = [f"    value_{n} = compute_{name}({n}, {n * n}){ending}" for n in range(size)]
        for _ in range(draw(st.integers(0, 4))):
            lines.insert(draw(st.integers(0, size)), draw(st.one_of(SHARED_LINES, IMITATIONS)))
        files.append(lines)
    return files


@st.composite
def views(draw: st.DrawFn, library: list[list[str]]) -> str:
    """A text that shows a part of a file or of two, as it was or a little changed, numbered or not."""
    parts = []
    for _ in range(draw(st.sampled_from([1, 1, 1, 2]))):
        lines = list(draw(st.sampled_from(library)))
        start = draw(st.sampled_from([0, 0, 0, 1, 5]))
        end = draw(st.sampled_from([len(lines), len(lines), len(lines), 12]))
        lines = lines[start:end] or lines
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            at = draw(st.integers(0, len(lines) - 1))
            lines[at : at + draw(st.integers(0, 2))] = [draw(st.one_of(SHARED_LINES, IMITATIONS, st.text(max_size=9)))]
        numbering = draw(st.one_of(st.none(), NUMBERINGS))
        if numbering:
            first = draw(st.sampled_from([start + 1, start + 1, 1, 97, 998]))
            lines = [numbering.format(n=first + n, line=line) for n, line in enumerate(lines)]
        if draw(st.integers(0, 5)) == 0:
            lines.insert(0, "Here's the result of running `cat -n` on the file:")
        parts += lines
    if draw(st.integers(0, 7)) == 0:
        parts = [line + "\r" for line in parts]
    return "\n".join(parts) + draw(st.sampled_from(["", "\n", "\n\n", "\n<system-reminder>be brief</system-reminder>"]))


@st.composite
def states(draw: st.DrawFn, library: list[list[str]]) -> str:
    """What a client puts into user text: elements with state, around what the user says."""
    parts = []
    for _ in range(draw(st.integers(1, 2))):
        tag = draw(st.sampled_from(["environment_details", "system-reminder"]))
        parts.append(f"<{tag}>\n{draw(views(library))}\n</{tag}>")
    parts.insert(draw(st.integers(0, len(parts))), draw(st.sampled_from(["", "Please go on.", "\n\nAnd then?\n"])))
    return "\n".join(parts)


@st.composite
def calls(draw: st.DrawFn, library: list[list[str]]) -> tuple[str, dict[str, Any]]:
    """A tool and its arguments; some of them hold what results show."""
    text = views(library)
    kind = draw(st.sampled_from(["read", "bash", "edit", "write", "editor", "nothing", "nested", "todos", "todos"]))
    if kind == "read":
        return "Read", {"file_path": draw(PATHS)}
    if kind == "bash":
        return "Bash", {"command": draw(st.one_of(COMMANDS, text))}
    if kind == "edit":
        return "Edit", {"file_path": draw(PATHS), "old_string": draw(text), "new_string": draw(text)}
    if kind == "write":
        return "Write", {"content": draw(text), "file_path": draw(PATHS)}
    if kind == "editor":
        return "str_replace_editor", {"command": draw(st.sampled_from(["view", "create"])), "path": draw(PATHS)}
    if kind == "nested":
        return "MultiEdit", {"path": draw(PATHS), "edits": [{"old": draw(text), "a b": draw(text)}, {"": draw(text)}]}
    if kind == "todos":
        return draw(todo_calls())
    return "list_everything", {}


@st.composite
def repeating_turns(draw: st.DrawFn, parts: st.SearchStrategy[Any] | None = None) -> list[dict[str, Any]]:
    """A conversation in no format, as `strategies.exchanges` has it, in which content comes again."""
    library = draw(libraries())
    turns: list[dict[str, Any]] = [{"user": draw(st.one_of(st.just("Go on."), states(library)))}]
    number = 0
    for _ in range(draw(st.integers(1, 5))):
        made = []
        for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
            number += 1
            tool, arguments = draw(calls(library))
            content: Any = draw(views(library))
            if parts is not None and draw(st.integers(0, 4)) == 0:
                content = draw(st.lists(st.one_of(views(library), parts), min_size=1, max_size=3))
            error = draw(st.sampled_from([None, None, True, False]))
            call = {"id": f"call_{number}", "tool": tool, "arguments": arguments, "result": content, "error": error}
            made.append(call)
        turns.append({"thinking": None, "text": draw(st.sampled_from([None, "I look."])), "calls": made})
        if draw(st.integers(0, 2)) == 0:
            turns.append({"thinking": None, "text": "Done.", "calls": []})
            turns.append({"user": draw(st.one_of(st.just("Go on."), states(library)))})
    turns.append({"thinking": None, "text": "Done.", "calls": []})
    return turns


@st.composite
def xml_messages(draw: st.DrawFn) -> list[dict[str, Any]]:
    """The same as Roo Code writes it: calls as XML inside text, results inside user text."""
    library = draw(libraries())
    messages: list[dict[str, Any]] = []

    def add(role: str, *texts: str) -> None:
        content = [{"type": "text", "text": text} for text in texts]
        messages.append({"role": role, "content": content, "ts": 1_700_000_000_000 + len(messages)})

    add("user", "<task>\nfix it\n</task>", draw(states(library)))
    for _ in range(draw(st.integers(1, 6))):
        path = draw(PATHS)
        tool = draw(st.sampled_from(["read_file", "write_to_file", "execute_command", "update_todo_list"]))
        inner = f"<path>{path}</path>" if tool != "execute_command" else f"<command>{draw(COMMANDS)}</command>"
        if tool == "update_todo_list":
            inner = "<todos>\n" + "\n".join(f"[ ] {words}" for words in WORDS[draw(st.integers(0, 4)) :]) + "\n</todos>"
        elif draw(st.booleans()):
            inner += f"\n<task_progress>\n- [x] {WORDS[0]}\n- [ ] {WORDS[draw(st.integers(1, 4))]}\n</task_progress>"
        if tool == "write_to_file":
            inner += f"\n<content>\n{_without_tags(draw(views(library)))}\n</content>"
        add("assistant", f"I look.\n\n<{tool}>\n{inner}\n</{tool}>")
        header, body = f"[{tool} for '{path}'] Result:", draw(views(library))
        answer = [f"{header}\n\n{body}"] if draw(st.booleans()) else [header, body]
        add("user", *answer, *([draw(states(library))] if draw(st.booleans()) else []))
    return messages


def _without_tags(text: str) -> str:
    return re.sub(r"</?[a-z-]+>", "", text)
