"""The facts of `condense recap`, in the shape that the JSON report has. Documented in docs/json-report.md."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ...core.transcript import Transcript
from ...ledger.entries import CommandEntry, FileEntry, Todo
from ...ledger.recap import SizedRecap
from ..run.facts import Counting

SHAPE: Final = 1


class RecapTokens(Struct, frozen=True):
    recap: int
    budget: int
    bare: int
    counting: Counting


class Words(Struct, frozen=True):
    text: str
    times: int


class RecapReport(Struct, frozen=True):
    """`words` are the user's, and instructions; everything else is data. `text` is all of it, as a model reads it."""

    version: int
    input: str
    format: str
    model: str | None
    lost: bool
    messages: int
    tokens: RecapTokens
    words: list[Words]
    files_changed: list[FileEntry]
    files_read: list[FileEntry]
    commands: list[CommandEntry]
    unsolved: list[CommandEntry]
    todos: list[Todo]
    lines: str
    text: str


def build(told: SizedRecap, transcript: Transcript, *, source: str) -> RecapReport:
    found = told.recap
    return RecapReport(
        SHAPE,
        source,
        transcript.format,
        transcript.model,
        found.is_lost,
        found.messages,
        RecapTokens(told.tokens, told.budget, found.tokens, Counting.of(told.factor)),
        [Words(request.text, request.times) for request in found.words],
        [*found.ledger.changed],
        [*found.ledger.read],
        [*found.ledger.commands],
        [*found.unsolved],
        [*found.ledger.todos],
        found.lines,
        found.text,
    )
