"""What the model is told to do when a session of Claude Code is recorded: reads, edits, parallel calls, thinking."""

from pathlib import Path

from .loopback import Json
from .messages_api import call, text, thinking

LINES = 120


def prepare(project: Path) -> None:
    project.mkdir(parents=True)
    (project / "store.py").write_text("".join(f"item_{n} = make_item({n}, {n * n})\n" for n in range(LINES)))
    (project / "notes.md").write_text("".join(f"- note {n} about the store of items\n" for n in range(LINES)))


def turns(project: Path) -> list[list[Json]]:
    """One request's worth of work: the same file read three times, an edit between, a failure, a task list."""
    store, notes = str(project / "store.py"), str(project / "notes.md")
    read = call("Read", file_path=store)
    return [
        [thinking("I look at both files."), text("I read them."), read, call("Read", file_path=notes)],
        [call("Bash", command="seq 200"), call("Bash", command="cat store.py"), call("Bash", command="exit 3")],
        [thinking("Item 7 is wrong."), call("Edit", file_path=store, old_string="item_7 =", new_string="item_seven =")],
        [text("Again, to be sure."), read, call("TodoWrite", todos=[])],
        [thinking("Half of it is enough."), call("Read", file_path=store, offset=20, limit=60)],
        [call("Bash", command="seq 200")],
        [thinking("That was all."), text("Done: item 7 has a name.")],
    ]
