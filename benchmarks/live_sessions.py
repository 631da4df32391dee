"""Read recorded sessions as the requests their clients sent: messages, times, and results of compactions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import left_out
from recorded import MORE, TRANSCRIPTS

from condense_cli import api
from condense_cli.core.transcript import Message
from condense_cli.errors import CondenseError
from condense_cli.formats.compacted import compactions, stretches
from condense_cli.live.replaying import ApiMessage, BlockSizes, ClientRequest, answers_in, api_messages, as_marked
from condense_cli.quality.recall import Questions, TextReader
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import factor_of

SECONDS = 20.0
"""Seconds between requests if the file has no times."""
LEAST, MOST = 40_000, 200_000
"""Tokens of a session in the sample."""


class Session(NamedTuple):
    """Messages, model, its tokens per token of ours, and the second of each answer by position.

    If the client compacted the conversation, it sent `left` in place of the first `compacted` messages.
    """

    messages: list[Any]
    model: str
    factor: float
    times: dict[int, float]
    compacted: int | None = None
    left: list[Any] | None = None


def session(path: Path) -> Session:
    """Read a file; with several compactions, the conversation around the first."""
    transcript = api.load(path)
    factor = factor_of(transcript, Counter.of(transcript)).value
    model = transcript.model or "claude-opus-4-6"
    first = next(iter(stretches(transcript, compactions(transcript.source, transcript.format) or ())), None)
    if first is None or first.before is None or first.is_undone:
        messages = api_messages(transcript)
        return Session(messages, model, factor, _times(path, messages))
    before = api_messages(first.before)
    whole = [*before, *api_messages(transcript, first.later)]
    left = api_messages(transcript, first.after)
    return Session(whole, model, factor, _times(path, whole), len(before), left)


class Needs:
    """Say for each answer what it needed of the messages before it, and which file holds it."""

    def __init__(self, messages: Sequence[ApiMessage]) -> None:
        self._messages = messages
        self._read = TextReader()
        self._known: dict[int, tuple[Questions, Sequence[Message]]] = {}

    def of(self, position: int) -> tuple[Questions, Sequence[Message]]:
        if position not in self._known:
            whole = api.loads(self._messages[: position + 1], format="anthropic").messages
            self._known[position] = Questions(whole[:-1], whole[-1:], self._read), whole[:-1]
        return self._known[position]


def sample(number: int = 16, *, least: int = LEAST, most: int = MOST) -> list[Path]:
    """Return a session of Claude Code of each project beside the checkout, of so many tokens.

    Which one, and which projects, their hashes decide.
    """
    paths = [path for folder in (TRANSCRIPTS, MORE) for path in (folder / "claude-code").glob("*.jsonl")]
    chosen: dict[str, Path] = {}
    for path in sorted(paths, key=lambda path: sha256(path.read_bytes()).digest()):
        project = left_out.project_of(path)
        if project not in chosen and least <= _tokens(path) <= most:
            chosen[project] = path
            if len(chosen) == number:
                break
    return [*chosen.values()]


def _tokens(path: Path) -> int:
    try:
        recorded = session(path)
    except CondenseError:
        return 0
    return sum(piece.tokens for piece in BlockSizes(recorded.factor).pieces(recorded.messages))


def requests_of(recorded: Session, *, as_recorded: bool = False) -> Iterator[ClientRequest]:
    """Yield the requests of a session, at the times in the file or SECONDS apart."""
    now: float | None = None
    for position in answers_in(recorded.messages):
        told = recorded.times.get(position) if as_recorded else None
        if now is None:
            now = told or 0.0
        else:
            now = now + SECONDS if told is None else max(now, told)
        yield ClientRequest(position, as_marked(recorded.messages[:position]), now)


def _times(path: Path, messages: Sequence[Any]) -> dict[int, float]:
    """Map positions of answers to seconds, by the ids of calls in records with a time."""
    known: dict[str, float] = {}
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
            second = datetime.fromisoformat(record["timestamp"]).timestamp()
        except (ValueError, KeyError, TypeError):
            continue
        for name in _ids(record):
            known.setdefault(name, second)
    found = {}
    for position, message in enumerate(messages):
        if message["role"] == "assistant":
            seconds = [known[name] for name in _ids(message) if name in known]
            if seconds:
                found[position] = seconds[0]
    return found


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("id", "call_id") and isinstance(each, str):
                yield each
            else:
                yield from _ids(each)
    elif isinstance(value, list):
        for each in value:
            yield from _ids(each)
