"""What the model is told to do when a rollout of Codex is recorded: reads, a patch, parallel calls, reasoning."""

from pathlib import Path

from .loopback import Json
from .responses_api import call, custom_call, reasoning, text

LINES = 120
PATCH = """*** Begin Patch
*** Update File: store.py
@@
-item_7 = make_item(7, 49)
+item_seven = make_item(7, 49)
*** End Patch
"""


def prepare(project: Path) -> None:
    project.mkdir(parents=True)
    (project / "store.py").write_text("".join(f"item_{n} = make_item({n}, {n * n})\n" for n in range(LINES)))


def turns() -> list[list[Json]]:
    """One request's worth of work: the same file read again and again, a patch between, a failure."""
    read = call("exec_command", cmd="cat store.py")
    return [
        [reasoning("I look at the file."), text("I read it."), read, call("exec_command", cmd="seq 200")],
        [reasoning("Item 7 is wrong."), custom_call("apply_patch", PATCH)],
        [read, call("exec_command", cmd="exit 3")],
        [reasoning("Half of it is enough."), call("exec_command", cmd="head -n 60 store.py")],
        [call("exec_command", cmd="seq 200")],
        [text("Done: item 7 has a name.")],
    ]
