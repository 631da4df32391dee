"""A list of sessions, in the shape that the JSON report has. Documented in docs/json-report.md."""

from __future__ import annotations

import msgspec


class SessionWindow(msgspec.Struct, frozen=True):
    """The model's context window, as in `inspection.WindowUse`."""

    tokens: int
    percent: float
    used: int
    source: str
    tokens_source: str


class SessionRow(msgspec.Struct, frozen=True):
    """One session. `short` is enough of `id` to name it; `updated` is an ISO time in UTC.

    `messages` and `tokens` are None where the file cannot be read as a conversation, and `problem` says why.
    `aside` marks sessions of sub-agents and those put away, `condensed` those in which condense left its marks.
    `origin` is the path of the session that it was condensed from, where that is there.
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
