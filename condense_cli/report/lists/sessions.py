"""The facts and reports of `condense sessions` and `recap`. Documented in docs/json-report.md."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.transcript import Transcript
from ...core.wording import shortened, visible
from ...ledger.entries import CommandEntry, FileEntry, Todo
from ...ledger.recap import SizedRecap
from ..run.facts import Counting
from ..sections import BLANK, Part, Sentence, Table


class SessionWindow(msgspec.Struct, frozen=True):
    """The model's context window, as in `inspection.WindowUse`."""

    tokens: int
    percent: float
    used: int
    source: str
    tokens_source: str


class SessionRow(msgspec.Struct, frozen=True):
    """One session. `short` is enough of `id` to name it; `updated` is an ISO time in UTC.

    `messages` and `tokens` are None if the file cannot be read as a conversation, and `problem` says why. `aside` marks
    archived sessions and those of sub-agents, `condensed` those with marks of condense. `origin` is the path of the
    session it was condensed from, if that is there.
    """

    client: str
    id: str
    short: str
    title: str | None
    project: str | None
    updated: str
    messages: int | None
    tokens: int | None
    exact: bool
    model: str | None
    window: SessionWindow | None
    path: str
    bytes: int
    aside: bool
    condensed: bool
    problem: str | None
    origin: str | None = None


class SearchedPlace(msgspec.Struct, frozen=True):
    """A folder that was looked in, and whether it is there."""

    client: str
    path: str
    exists: bool


class NotListed(msgspec.Struct, frozen=True):
    """`count` files or folders were passed over for a reason; `path` is one of them."""

    reason: str
    count: int
    path: str


class SessionList(msgspec.Struct, frozen=True):
    """`files` is the number of session files that were found, before any filter and limit."""

    version: int
    files: int
    sessions: list[SessionRow]
    places: list[SearchedPlace]
    skipped: list[NotListed]


_UNKNOWN: Final = "?"
_WIDE: Final = 100
"""Columns of a terminal from which on the client is shown, and more of the project."""
_ID, _PROJECT, _PROJECT_WIDE = 24, 14, 24
_CONDENSED: Final = "↓"
"""Marks the title of a session that condense wrote: otherwise it looks like the original beside it."""
_NEARLY_FULL: Final = 80
"""Percent of the window from which on a session is marked."""
_AGES: Final = ((60, "s"), (60, "m"), (24, "h"), (7, "d"), (52, "w"))
"""Each unit of time with how many of it make the next; what is longer is years."""


def sections(found: SessionList, now: datetime, width: int) -> Iterator[Part]:
    """Yield the table, for a terminal of that width, and the notes on its figures."""
    yield replace(table_of(found.sessions, now, width), styles=[_style(session) for session in found.sessions])
    notes = list(_notes(found))
    if notes:
        yield BLANK
        yield Sentence(" ".join(notes), "dim")


def table_of(sessions: Sequence[SessionRow], now: datetime, width: int) -> Table:
    is_wide = width >= _WIDE
    rows = [_row(session, now, is_wide) for session in sessions]
    columns = ("session", "age", "msgs", "tokens", "window", *(("client",) if is_wide else ()), "project", "title")
    return Table(columns, rows, (1, 2, 3, 4), flexible=len(columns) - 1)


def _row(session: SessionRow, now: datetime, is_wide: bool) -> Sequence[str]:
    title = session.title or "(no request)"
    return (
        shortened(visible(session.short), _ID),
        age(session.updated, now),
        _number(session.messages),
        _number(session.tokens),
        f"{session.window.percent:.0f}%" if session.window else _UNKNOWN,
        *((session.client,) if is_wide else ()),
        shortened(visible(_last_part(session.project)), _PROJECT_WIDE if is_wide else _PROJECT),
        f"{_CONDENSED} {title}" if session.condensed else title,
    )


def _style(session: SessionRow) -> str:
    if session.tokens is None or session.aside:
        return "dim"
    return "yellow" if session.window and session.window.percent >= _NEARLY_FULL else ""


def _notes(found: SessionList) -> Iterator[str]:
    counted = [session for session in found.sessions if session.tokens is not None]
    if not all(session.exact for session in counted):
        yield "Tokens are those the client would send now, most of them estimates;"
        yield "the window's use is taken from recorded usage, or else from them plus system prompt and tools if known."
    if any(session.condensed for session in found.sessions):
        yield f"{_CONDENSED}: condensed."
    ids = {session.path: session.short for session in found.sessions}
    for session in found.sessions:
        if session.origin is not None:
            yield f"{session.short} was condensed from {ids.get(session.origin) or _last_part(session.origin)}."
    unread = len(found.sessions) - len(counted)
    if unread:
        yield f"{_UNKNOWN}: {unread:,} could not be counted (--json says why)."


def _number(value: int | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}"


def _last_part(project: str | None) -> str:
    """Return the name of a project's folder, whichever system it is from."""
    if not project:
        return _UNKNOWN
    return re.split(r"[\\/]", project.rstrip("\\/"))[-1] or project


def age(updated: str, now: datetime) -> str:
    """Return the time since then in its largest unit: 12m, 3h, 5d."""
    passed = max(0.0, (now - datetime.fromisoformat(updated)).total_seconds())
    for size, unit in _AGES:
        if passed < size:
            return f"{passed:.0f}{unit}" if unit != "s" else "now"
        passed = int(passed / size)
    return f"{passed:.0f}y"


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
