"""The keys, for the help window and the page of the documentation."""

from __future__ import annotations

from typing import Final

SESSION_KEYS: Final = (
    ("up down pgup pgdn", "move through the messages; the text beside them follows"),
    ("tab", "go to the text, and back"),
    ("enter left right", "show the blocks of a message, or hide them"),
    ("n N", "next and previous message that is cut"),
    ("k", "keep: this block or message, its tool, its file, everything before"),
    ("x", "cut, likewise"),
    ("space", "keep what is under the cursor, cut it, or leave it to the passes"),
    ("p", "another preset"),
    ("t", "a target: 60000, 60k or 40%"),
    ("e", "edit the configuration"),
    ("w", "write: a new session, in place, a file, or a configuration"),
    ("u r", "undo any step, including what was written; redo"),
    ("i", "what fills the session"),
    ("q escape", "back; twice where what you chose is not written"),
)
EDITOR_KEYS: Final = (
    ("tab", "from the passes to a pass's settings, and back"),
    ("enter", "change a setting"),
    ("delete backspace", "reset a setting to its default"),
    ("a", "add a pass"),
    ("d", "remove a pass"),
    ("K J", "move a pass up or down"),
    ("space", "switch a pass off or on"),
    ("u r", "undo, do again"),
    ("s", "save as YAML"),
    ("q escape", "back; valid changes apply to the open session"),
)
MARKS: Final = (
    ("K X", "kept and cut by you (lower case: in part)"),
    ("~ - +", "cut in part or summarized, gone, new"),
)


def help_lines(keys: tuple[tuple[str, str], ...]) -> list[str]:
    """The keys in two columns."""
    return [f"{key:<18} {what}" for key, what in keys]
