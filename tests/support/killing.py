"""Kill `condense` at every step and at any moment, as a power cut or `kill -9` does.

    python tests/support/killing.py FOLDER

makes one folder per kill in FOLDER and leaves there what was found afterwards. It runs the command in forks of one
process, because starting Python a hundred times would take most of the time.
"""

import contextlib
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any, Final

from helpers import as_lines

from condense_cli.cli.table import app

FILE: Final = "5f0c9a1e-0000-4000-8000-000000000001.jsonl"
GREW: Final = b'{"type": "mode", "mode": "normal"}\n'
STEPS: Final = {"open", "os.rename", "os.link", "os.remove", "os.chmod", "os.chown", "os.utime", "os.truncate"}
"""Audit events of what changes a folder; each is raised right before it happens."""

COMMANDS: Final = {
    "in-place": ("run", FILE, "--preset", "speed", "--in-place", "-q"),
    "undo": ("undo", FILE, "-q"),
    "undo-force": ("undo", FILE, "--force", "-q"),
    "output": ("run", FILE, "--preset", "speed", "-o", "small.jsonl", "-q"),
    "new-session": ("run", FILE, "--preset", "speed", "--new-session", "-q"),
}
AT_RANDOM: Final = 20
"""Kills at any moment, for each command."""


def session() -> bytes:
    """A Claude Code session of some exchanges with long results."""
    records: list[dict[str, Any]] = []

    def add(kind: str, content: Any) -> None:
        parent = records[-1]["uuid"] if records else None
        message = {"role": kind, "content": content, **({"id": f"msg_{len(records)}"} if kind == "assistant" else {})}
        ids = {"uuid": f"line-{len(records)}", "parentUuid": parent, "sessionId": FILE.removesuffix(".jsonl")}
        records.append({**ids, "type": kind, "isSidechain": False, "cwd": "/home/dev", "message": message})

    add("user", "Please look around.")
    for number in range(8):
        add("assistant", [{"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "ls"}}])
        text = "".join(f"{number}: line {line} of the listing\n" for line in range(500))
        add("user", [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": text}])
    add("assistant", [{"type": "text", "text": "Done."}])
    return as_lines(records)


def run(folder: Path, *arguments: str) -> None:
    """The command, in this process, which ends with it."""
    os.chdir(folder)
    silent = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silent, stream)
    try:
        app(args=list(arguments))
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    os._exit(99)


def fork(folder: Path, arguments: tuple[str, ...], die_at: int | None = None) -> int:
    """Start the command in a fork, which kills itself right before the step of that number."""
    child = os.fork()
    if child:
        return child
    if die_at is not None:
        steps = 0

        def hook(event: str, details: tuple[object, ...]) -> None:
            nonlocal steps
            if event in STEPS and any(str(folder) in str(detail) for detail in details):
                steps += 1
                if steps == die_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
    run(folder, *arguments)
    raise AssertionError("a fork does not come back")


def was_killed(child: int) -> bool:
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, f"the command ended with {os.WEXITSTATUS(status)}"
    return os.WIFSIGNALED(status)


def prepared(folder: Path, name: str) -> Path:
    """A folder with what the command needs to find."""
    folder.mkdir()
    file = folder / FILE
    file.write_bytes(session())
    if name.startswith("undo"):
        was_killed(fork(folder, COMMANDS["in-place"]))
        if name == "undo-force":
            with file.open("ab") as opened:
                opened.write(GREW)
    elif name == "output":
        (folder / "small.jsonl").write_bytes(GREW)
    return folder


def kill_everywhere(top: Path, name: str) -> None:
    """Kill the command at each step until it has no such step, then at random moments."""
    step = 1
    while was_killed(fork(prepared(top / f"{name}-step-{step}", name), COMMANDS[name], step)):
        step += 1
        assert step < 200, "the command does not end"
    folder = prepared(top / f"{name}-whole", name)
    start = time.perf_counter()
    assert not was_killed(fork(folder, COMMANDS[name]))
    length = time.perf_counter() - start
    moments = random.Random(name)
    for number in range(AT_RANDOM):
        child = fork(prepared(top / f"{name}-moment-{number}", name), COMMANDS[name])
        time.sleep(moments.uniform(0, length))
        os.kill(child, signal.SIGKILL)
        was_killed(child)


def warm_up(file: Path) -> None:
    """Import and load what every command needs, once for all forks."""
    file.write_bytes(session())
    with contextlib.suppress(SystemExit):
        app(args=["run", str(file), "--preset", "speed", "--dry-run", "-q"])
    file.unlink()


if __name__ == "__main__":
    top = Path(sys.argv[1])
    warm_up(top / FILE)
    for command in COMMANDS:
        kill_everywhere(top, command)
