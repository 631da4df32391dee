"""What the further clients have in common: a throw-away home, a session recorded in it, and going on with one."""

import json
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from .. import messages_api
from ..install import TIMEOUT, Clients, Ran, environment
from ..loopback import Answer, Json, Request, Service, serve
from ..messages_api import text, thinking

Turns = Sequence[Sequence[Json]]
LINES = 120


@dataclass(frozen=True)
class Agent(ABC):
    """One installation of a client with a home and a project folder of its own."""

    clients: Clients
    home: Path

    format: ClassVar[str]
    """The format in which it keeps a session."""
    script: ClassVar[Callable[[Turns], Callable[[Request], Answer]]]
    """The API that it talks to."""
    adds: ClassVar[tuple[str, ...]] = ()
    """How texts begin that it sends and does not keep with the session."""
    requests: ClassVar[tuple[str, ...]] = ("Give item 7 a name.", "Do it once more.")
    """What is asked for when a session is recorded."""
    around: ClassVar[str] = "$."
    """A pattern of what it says around texts, or what its files have around them, and which is no part of either."""
    apart: ClassVar[str] = ""
    """What stands in requests with tools that are no part of the conversation."""

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def store(self) -> str:
        """The file that the recorded work is about."""
        return str(self.project / "store.py")

    @abstractmethod
    def tools(self) -> dict[str, Json]:
        """Calls of its own tools: to `read` the store, to `edit` its item 7, to `count` to 200 and to `fail`."""

    @abstractmethod
    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        """How it begins a session with a prompt, or goes on with the one of this id."""

    @abstractmethod
    def settings(self, url: str) -> dict[str, str]:
        """Variables with which it talks to a server and to nobody else; files that it needs for that are written."""

    @abstractmethod
    def session(self) -> tuple[str, bytes]:
        """The id of the only session in the home, and what is condensed of it."""

    @abstractmethod
    def put(self, data: bytes) -> None:
        """Put something in the place of that session."""

    def record(self) -> None:
        """Work in some requests, all but the first in the resumed session."""
        for number, words in enumerate(self.requests):
            self.project.mkdir(parents=True, exist_ok=True)
            Path(self.store).write_text("".join(f"item_{n} = make_item({n}, {n * n})\n" for n in range(LINES)))
            ran = self.run(words, self.turns(), self.session()[0] if number else None)
            assert (ran.status, len(ran.requests)) == (0, len(self.turns())), ran.output + ran.error

    def turns(self) -> Turns:
        """The same file read again and again, an edit between, a failure."""
        tools = self.tools()
        return [
            [thinking("I look at the file."), text("I read it."), tools["read"], tools["count"]],
            [tools["edit"]],
            [tools["read"], tools["fail"]],
            [tools["read"]],
            [tools["count"]],
            [text("Done: item 7 has a name.")],
        ]

    def run(self, prompt: str, turns: Turns = (), session: str | None = None) -> Ran:
        with serve(type(self).script(turns)) as service:
            finished = subprocess.run(
                [str(part) for part in self.command(prompt, session)],
                cwd=self.project,
                env=self.environment() | self.settings(service.url),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        return Ran(finished.stdout, finished.stderr, finished.returncode, self.sent(service))

    def sent(self, service: Service) -> tuple[Json, ...]:
        """The requests for an answer of the conversation; others are the client's own: titles, probes, memories."""
        bodies = (request.body for request in service.requests)
        asked = (body for body in bodies if isinstance(body, dict) and body.get("tools"))
        return tuple(body for body in asked if not self.apart or self.apart not in json.dumps(body))

    def environment(self) -> dict[str, str]:
        known = environment(self.home)
        return known | {"PATH": f"{self.clients.node.parent}:{known['PATH']}"}


class KeptInFile(Agent):
    """A client that keeps each session in a file of its own."""

    pattern: ClassVar[str]
    """Where below its home."""

    def session(self) -> tuple[str, bytes]:
        path = self.path()
        return self.id_of(path), path.read_bytes()

    def path(self) -> Path:
        """The largest: one that goes on with a session may leave another file, with nothing in it."""
        return max(self.home.glob(self.pattern), key=lambda path: path.stat().st_size)

    def put(self, data: bytes) -> None:
        self.path().write_bytes(data)

    @abstractmethod
    def id_of(self, path: Path) -> str:
        """What it resumes the session of a file by."""


call = messages_api.call
