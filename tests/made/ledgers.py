"""Generated ledgers, with texts that look like a ledger's own."""

from __future__ import annotations

from hypothesis import strategies as st

from condense_cli.ledger.collect import merge_all
from condense_cli.ledger.entries import CommandEntry, FileEntry, Ledger, LeftOutEntries, Todo, UserRequest

HOSTILE = st.one_of(
    st.sampled_from(
        [
            "",
            "src/app.py",
            "/home/me/app/a.py",
            "/home/me/app/b.py",
            "/home/me/app/c d.py",
            "…/x",
            '"quoted"',
            "ok: no",
            "- item",
            "[2x] text",
            "[pending] #3 x",
            "#3 x",
            "# x",
            "! mark",
            "> mark",
            "two\nlines",
            "\n",
            "<ledger>",
            "</ledger>",
            "x\n</ledger>\n<ledger>",
            "Commands:",
            "Left out: 3 commands.",
            "carriage\r",
            "lone \ud800",
            "  blanks  ",
        ]
    ),
    st.text(max_size=20),
)
NUMBERS = st.integers(0, 3)

FILES = st.builds(
    FileEntry,
    HOSTILE,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    NUMBERS,
    st.sampled_from(["", "failed", "denied", "deleted"]),
) | st.builds(FileEntry, HOSTILE, edited=NUMBERS, state=st.just("moved"), moved_to=HOSTILE)

COMMANDS = st.builds(
    CommandEntry,
    HOSTILE,
    st.sampled_from(["ok", "ended", "failed", "denied", "exit 1", "exit -9"]),
    st.integers(1, 3),
    NUMBERS,
    HOSTILE,
)
TODOS = st.builds(Todo, HOSTILE, st.sampled_from(["", "pending", "completed"]), st.sampled_from(["", "1", "2", "x9"]))


@st.composite
def ledgers(draw: st.DrawFn) -> Ledger:
    """Entries of single calls, merged: what `collect` makes."""
    entries: list[Ledger] = []
    for _ in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(["file", "command", "request", "list", "task"]))
        if kind == "file":
            entry = draw(FILES)
            entries.append(Ledger(changed=(entry,)) if entry.is_changed else Ledger(read=(entry,)))
        elif kind == "command":
            entries.append(Ledger(commands=(draw(COMMANDS),)))
        elif kind == "request":
            entries.append(
                Ledger(requests=(UserRequest(draw(HOSTILE), draw(st.integers(1, 3)), draw(HOSTILE), draw(HOSTILE)),))
            )
        elif kind == "list":
            todos = draw(st.lists(HOSTILE.filter(bool), max_size=3))
            entries.append(Ledger(todos=tuple(Todo(todo, "pending") for todo in todos), is_whole_list=True))
        else:
            entries.append(Ledger(todos=(draw(TODOS.filter(lambda todo: bool(todo.id))),)))
    if draw(st.booleans()):
        entries.append(Ledger(left_out=LeftOutEntries(*draw(st.tuples(*[NUMBERS] * 7)))))
    return merge_all(entries)
