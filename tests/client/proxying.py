"""A real client that talks through a proxy, and what has to hold for the requests that arrive."""

import json
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from proxy.upstream import Running

from condense_cli.formats import parse
from condense_cli.rules.validity import validate

from .install import TIMEOUT
from .loopback import Answer, Json, Request, Responder

SETTINGS: Final[dict[str, Any]] = {
    "policy": "tokens:20000",
    "keep_recent": 2,
    "preset": "speed",
    "patience": 60.0,
    "ahead": None,
}
"""A proxy that cuts now and then in conversations as small as these."""

MARKERS: Final = ("lines #", "[condense: summary of ", "[condense: notes on ")
"""Part of what is where lines, or whole messages, were left out: the limit is below what the client sends besides."""


def tokens_of(request: Request) -> int:
    """What the service reports: about a quarter of the characters."""
    return len(json.dumps(request.body)) // 4


@dataclass
class Moody:
    """Answers as another does, but for requests of some numbers: breaks off, or is silent until it is told to go on.

    Requests without tools are not counted.
    """

    answers: Responder
    cut: frozenset[int] = frozenset()
    silent: int | None = None
    reached: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    number: int = 0

    def __call__(self, request: Request) -> Answer:
        answer = self.answers(request)
        if isinstance(request.body, dict) and request.body.get("tools"):
            self.number += 1
            if self.number == self.silent:
                self.reached.set()
                self.go_on.wait(TIMEOUT)
            if self.number in self.cut:
                return Answer(events=answer.events, is_cut=True)
        return answer


def run(command: Sequence[str | Path], folder: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT
    )


def interrupt(command: Sequence[str | Path], folder: Path, env: Mapping[str, str], moody: Moody) -> int:
    """Run a client and interrupt it while the service is silent."""
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    assert moody.reached.wait(TIMEOUT)
    process.send_signal(signal.SIGINT)
    status = process.wait(TIMEOUT)
    moody.go_on.set()
    return status


def plain(value: Any) -> Any:
    """A message without what a client changes and does not mean: cache marks, a text as the only block."""
    if isinstance(value, dict):
        found = {key: plain(inner) for key, inner in value.items() if key != "cache_control"}
        content = found.get("content")
        if isinstance(content, list) and len(content) == 1 and content[0].keys() == {"type", "text"}:
            found["content"] = content[0]["text"]
        return found
    return [plain(inner) for inner in value] if isinstance(value, list) else value


def is_condensed(messages: Sequence[Json]) -> bool:
    return frozen_end(messages) > 0


def frozen_end(messages: Sequence[Json]) -> int:
    """How many messages are frozen: up to the last that something was left out of."""
    texts = (json.dumps(message) for message in messages)
    return max((n for n, text in enumerate(texts, start=1) if any(mark in text for mark in MARKERS)), default=0)


def breaks(requests: Sequence[Sequence[Json]]) -> int:
    """How often a request does not begin with all of the one before; what was frozen in that is in it all the same."""
    found = 0
    for before, after in pairwise(requests):
        old, new = map(plain, (before, after))
        frozen = frozen_end(before)
        different = next((n for n in range(frozen) if n >= len(new) or new[n] != old[n]), None)
        assert different is None, (different, frozen, old[different], new[different : different + 1])
        # The last message may be followed by a note that is gone with the next request.
        found += new[: len(old) - 1] != old[:-1]
    return found


def changes(running: Running) -> int:
    """How many decisions changed something that was sent before."""
    return sum(each.decision.is_change for each in running.proxy.record.decisions)


def violations(bodies: Sequence[Json], key: str, format: str) -> list[str]:
    """Rules of the API that requests break."""
    found = []
    for body in bodies:
        transcript = parse(json.dumps(body[key]).encode(), format=format)
        found += [str(violation) for violation in validate(transcript)]
        if json.dumps(body).count('"cache_control"') > 4:
            found.append("more than four cache marks")
    return found
