"""A client on a terminal of its own, as a person has it: typed to, and read from."""

import json
import os
import pty
import re
import select
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from .claude import ClaudeCode
from .loopback import Service
from .messages_api import MODEL

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-9;?<>=]*[A-Za-z]|\][^\x07]*\x07|[()][A-Z0-9]|[78=>])")
_SECONDS: Final = 60


class Screen:
    """A running client; `shown` is everything that it has drawn."""

    def __init__(self, terminal: int) -> None:
        self._terminal = terminal
        self.shown = ""

    def type(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, pattern: str) -> str:
        """What is drawn from now on, up to what matches. Fails after a minute."""
        start = len(self.shown)
        self.wait_until(lambda: bool(re.search(pattern, self.shown[start:])))
        return self.shown[start:]

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait for something else, and draw meanwhile. Fails after a minute."""
        end = time.monotonic() + _SECONDS
        while not is_so():
            assert time.monotonic() < end, self.shown[-3_000:]
            if select.select([self._terminal], [], [], 0.2)[0]:
                drawn = os.read(self._terminal, 65_536).decode("utf-8", "replace")
                self.shown += _ESCAPES.sub(" ", drawn)


@contextmanager
def started(client: ClaudeCode, service: Service) -> Iterator[Screen]:
    """The client in its project, past the questions of a first start."""
    client.project.mkdir(parents=True, exist_ok=True)
    state = client.home / ".claude" / ".claude.json"
    known = json.loads(state.read_text()) if state.exists() else {}
    answered = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(client.project): {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
    }
    state.write_text(json.dumps(known | answered))
    environment = client.environment(service) | {"COLUMNS": "150", "LINES": "40"}
    with on_terminal([client.executable, "--model", MODEL], client.project, environment) as screen:
        yield screen


@contextmanager
def on_terminal(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str]) -> Iterator[Screen]:
    """What a command draws, which is ended in the end."""
    process, terminal = pty.fork()
    if not process:
        os.chdir(folder)
        os.execve(command[0], [str(part) for part in command], {**environment, "TERM": "xterm-256color"})
    try:
        yield Screen(terminal)
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
