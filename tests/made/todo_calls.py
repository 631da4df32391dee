"""Calls that hold a whole list of todos, as the tools of several clients take it."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

STATUSES = ["completed", "in_progress", "pending"]
WORDS = [
    "Read the configuration and find out where the limits come from",
    "Write the parser",
    "Run the tests of the whole project, then fix those that fail",
    "Überprüfen 🎉 of what was written",
    "[see todos of the next TodoWrite #123456]",
    "[condense: 7 lines left out #0123abcd]",
    "[… 7 lines #012345]",
    "two lines\nof one todo",
]
ODD = st.sampled_from([[], "1. a\n2. b", ["a", "b"], [{"n": 1}], {"a": "b"}, [None, {"content": None}], 7])


def claude(words: str, status: str) -> dict[str, Any]:
    return {"content": words, "status": status, "activeForm": f"Now: {words}"}


def listed(done: int, amount: int = 8) -> list[dict[str, Any]]:
    """A list of Claude Code's in which the first todos are done."""
    names = (f"Rewrite module number {number} with its tests" for number in range(amount))
    return [claude(name, "completed" if number < done else "pending") for number, name in enumerate(names)]


@st.composite
def todo_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool and its arguments; lists of one conversation share most of their todos."""
    words = draw(st.lists(st.sampled_from(WORDS), max_size=7)) + WORDS[: draw(st.sampled_from([0, 3, 5]))]
    done = draw(st.integers(0, len(words)))
    pairs = [(each, STATUSES[0] if number < done else STATUSES[2]) for number, each in enumerate(words)]
    kind = draw(st.sampled_from(["claude", "claude", "codex", "opencode", "text", "merging", "odd", "server"]))
    if kind == "codex":
        plan = [{"step": step, "status": status} for step, status in pairs]
        why = {"explanation": "The first part took longer than I thought. " * 4} if draw(st.booleans()) else {}
        return "update_plan", {**why, "plan": plan}
    if kind == "opencode":
        return "todowrite", {"todos": [{"content": each, "status": s, "priority": "high"} for each, s in pairs]}
    if kind == "text":
        return "update_todo_list", {"todos": "\n".join(f"[{'x' if s == STATUSES[0] else ' '}] {e}" for e, s in pairs)}
    if kind == "odd":
        return draw(st.sampled_from(["TodoWrite", "update_plan", "write_todos"])), {"todos": draw(ODD)}
    todos = [claude(each, status) for each, status in pairs]
    if kind == "merging":
        return "todo_write", {"merge": draw(st.booleans()), "todos": todos}
    return "mcp__board__todos" if kind == "server" else "TodoWrite", {"todos": todos}
