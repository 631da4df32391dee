"""List sessions and choose one: facts of each file, remembered between runs."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from .. import formats
from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..core import markers
from ..core.transcript import Transcript
from ..core.user_folders import cache_folder
from ..core.values import WindowSigns
from ..core.version import __version__
from ..errors import CondenseError, NotJsonError, UnreadableError, UsageError
from ..formats.table import TABLE
from ..lossless import references
from ..report.lists.sessions import NotListed, SearchedPlace, SessionList, SessionRow, SessionWindow
from ..report.run.facts import estimated_tokens
from ..report.sections import SHAPE
from ..report.text import percent
from ..storage.cache_files import CacheFile, OpenCache
from ..storage.files import read_bytes
from ..tokens.counting import Counter, encoding_for
from ..tokens.factor import factor_of
from ..window.decision import signs_of, window_of
from ..window.use import ESTIMATED, in_use
from .claude_code import claude_folder
from .client import HEAD, TAIL, Indexes, Layout, SessionFile, SessionPlace
from .new_session import origin_of
from .settings import alike
from .table import CLIENTS, Finding, find

_MARK: Final = re.compile(markers.MARKER_BYTES.pattern + b"|" + references.REFERENCE_BYTES.pattern)


class Facts(Struct, frozen=True):
    """Facts of one file. They depend on no other file, so they hold as long as this one does not change.

    `messages`, `tokens` and `used` are those of `condense inspect`: the conversation that the client would send.
    They are None if it cannot be read; `problem` says why. `updated` is in seconds since 1970. `is_condensed`: the
    file contains marks of condense. `bytes` is the size of what was read.
    """

    title: str | None = None
    project: str | None = None
    updated: float | None = None
    bytes: int = 0
    is_empty: bool = False
    is_condensed: bool = False
    model: str | None = None
    messages: int | None = None
    tokens: int | None = None
    used: int | None = None
    used_source: str = ESTIMATED
    exact: bool = False
    problem: str | None = None
    signs: WindowSigns = WindowSigns()


def facts_of(file: SessionFile) -> Facts:
    """Read and count a session. Raises UnreadableError if the file cannot be opened."""
    data = read_bytes(file.path)
    reader = CLIENTS[file.client].peek
    title, project, updated = reader.title(data), reader.project(data), reader.last_time(data)
    if not reader.has_messages(data):
        return Facts(title, project, updated, len(data), is_empty=True)
    is_condensed = any(map(_is_mark, _MARK.finditer(data)))  # Takes next to no time.
    try:
        transcript = _parsed(data, file.path)
    except CondenseError as error:
        return Facts(title, project, updated, len(data), is_condensed=is_condensed, problem=error.message)
    encoding = encoding_for(transcript.model)
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    used = in_use(transcript, count, factor)
    return Facts(
        title,
        project,
        updated,
        len(data),
        is_condensed=is_condensed,
        model=transcript.model or reader.model(data),
        messages=len(transcript.messages),
        tokens=factor.shown(count.transcript(transcript)),
        used=used.tokens,
        used_source=used.source,
        exact=encoding.exact and not estimated_tokens(transcript),
        signs=signs_of(transcript),
    )


def _is_mark(found: re.Match[bytes]) -> bool:
    """Check if a match is a whole line of a text, as JSON spells it; elsewhere it is only mentioned."""
    data, (start, end) = found.string, found.span()
    is_line = data.endswith((b'"', b"\\n"), max(0, start - 2), start) and data.startswith((b'"', b"\\"), end)
    line = found[0].decode("utf-8", "replace")
    return is_line and (not line.startswith(markers.REFERENCE_PREFIX) or references.parse_reference(line) is not None)


def _parsed(data: bytes, name: str) -> Transcript:
    try:
        return formats.parse(data, name=name)
    except NotJsonError:
        # A running client may be in the middle of a line. Without any message it is no transcript.
        transcript = formats.parse(data, name=name, lenient=True)
        if not transcript.messages:
            raise
        return transcript


NAME: Final = "sessions.sqlite3"
_SHAPE: Final = 5
"""Raise it with every change of Facts, or of how they are computed, between two releases."""
_ROWS: Final = 50_000
"""Newest rows that are kept."""
_WAIT: Final = 2.0
"""Seconds to wait for another process before giving up."""

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS facts (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, program TEXT, facts BLOB)"
)
_FIND: Final = "SELECT facts FROM facts WHERE path = ? AND size = ? AND mtime_ns = ? AND program = ?"
_KEEP: Final = "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)"
_PRUNE: Final = "DELETE FROM facts WHERE rowid <= (SELECT max(rowid) FROM facts) - ?"


class FactsCache:
    """Facts by path, size and modification time, in an SQLite file that processes share. Entries of another program
    version are ignored; without the file, listing still works."""

    def __init__(self, folder: Path) -> None:
        self._file = OpenCache("The cache of sessions", CacheFile(folder / NAME, _TABLE, _WAIT), goes_on=True)
        self._program = f"{__version__} {_SHAPE} {' '.join(row.name for row in TABLE)}"
        self.close = self._file.close

    def get(self, file: SessionFile) -> Facts | None:
        key = (os.fsencode(file.path), file.size, file.mtime_ns, self._program)
        row = self._file.do(lambda database: database.execute(_FIND, key).fetchone())
        try:
            return msgspec.msgpack.decode(row[0], type=Facts) if row else None
        except (msgspec.DecodeError, TypeError):
            return None

    def put(self, found: Iterable[tuple[SessionFile, Facts]]) -> None:
        rows = []
        for file, facts in found:
            with contextlib.suppress(UnicodeEncodeError):  # The file name contains half a surrogate pair.
                value = msgspec.msgpack.encode(facts)
                rows.append((os.fsencode(file.path), file.size, file.mtime_ns, self._program, value))

        def store(database: sqlite3.Connection) -> None:
            database.executemany(_KEEP, rows)
            database.execute(_PRUNE, (_ROWS,))

        if rows:
            self._file.do(store)


SHORTEST_ID: Final = 8
"""Characters of an id that are always shown."""
_PREFIX: Final = re.compile(r"[a-z]+_")
"""Prefix of all ids of a client."""
LIMIT: Final = 20
"""Default number of sessions to list."""
_SAVED_AT_ONCE: Final = 32
"""Facts written to the cache in one go."""


class ListedSession(Struct, frozen=True):
    """A session with its facts."""

    file: SessionFile
    facts: Facts
    title: str | None
    project: str | None

    @property
    def updated(self) -> float:
        """Seconds since 1970. A copied file can be newer than its last message."""
        return self.file.mtime_ns / 1e9 if self.facts.updated is None else self.facts.updated


def list_sessions(
    files: Iterable[SessionFile],
    *,
    limit: int | None = LIMIT,
    with_empty: bool = False,
    on_read: Callable[[SessionFile], None] = lambda file: None,
) -> list[ListedSession]:
    """Return the first `limit` sessions (None: all) of files given newest first.

    Empty sessions are left out unless `with_empty`. `on_read` is called for each
    file that has to be read because the cache does not know it.
    """
    indexes = Indexes()

    def with_names(file: SessionFile, facts: Facts) -> ListedSession:
        known = CLIENTS[file.client].known(file, indexes)
        return ListedSession(file, facts, known.title or facts.title, known.project or facts.project)

    # The order matters: closing the generator writes to the cache, which is closed after it.
    with closing(FactsCache(Path(cache_folder()))) as cache, closing(_with_facts(files, cache, on_read)) as read:
        found = (with_names(file, facts) for file, facts in read if with_empty or not facts.is_empty)
        return sorted(islice(found, limit), key=lambda session: -session.updated)


def _with_facts(
    files: Iterable[SessionFile], cache: FactsCache, on_read: Callable[[SessionFile], None]
) -> Generator[tuple[SessionFile, Facts]]:
    new: list[tuple[SessionFile, Facts]] = []
    try:
        for file in files:
            facts = cache.get(file)
            if facts is None:
                on_read(file)
                try:
                    facts = facts_of(file)
                except UnreadableError as error:
                    # Not remembered: permissions change without the file changing.
                    facts = Facts(problem=error.message)
                else:
                    new.append((file, facts))
            if len(new) >= _SAVED_AT_ONCE:
                cache.put(new)
                new = []
            yield file, facts
    finally:
        cache.put(new)


def of_project(files: Iterable[SessionFile], folder: Path) -> Iterator[SessionFile]:
    """Yield the files whose project is the folder or lies inside it."""
    root = _real(folder)
    name = claude_folder(os.path.realpath(folder))
    indexes = Indexes()
    for file in files:
        if file.place.layout is Layout.PROJECTS:
            kept_in = Path(file.path).relative_to(file.place.folder).parts[0]
            if kept_in == name:
                yield file
                continue
            if not kept_in.startswith(name):
                continue
        project = CLIENTS[file.client].known(file, indexes).project or _project_at_head(file)
        # A path of another system would count as relative to the current folder.
        if project is not None and os.path.isabs(project) and _is_in(_real(project), root):
            yield file


def _project_at_head(file: SessionFile) -> str | None:
    """Return the project that the beginning of a file names; None also if the file cannot be read."""
    try:
        with open(file.path, "rb") as stream:
            return CLIENTS[file.client].peek.project(stream.read(HEAD))
    except OSError:
        return None


def _real(path: str | Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _is_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def project_root(folder: Path) -> Path:
    """Return the repository around a folder, or the folder itself."""
    return next((parent for parent in (folder, *folder.parents) if os.path.exists(parent / ".git")), folder)


def newest(files: Iterable[SessionFile], limit: int = LIMIT) -> SessionFile | None:
    """Return the session with the newest message among the `limit` files changed last."""
    said = (file for file in files if not file.is_side and has_messages(file))
    return max(islice(said, limit), key=_updated_at, default=None)


def _updated_at(file: SessionFile) -> float:
    """Return when the last message was written, in seconds since 1970; else when the file was changed."""
    try:
        with open(file.path, "rb") as stream:
            stream.seek(max(0, file.size - TAIL))
            said = CLIENTS[file.client].peek.last_time(stream.read(TAIL))
    except OSError:
        said = None
    return file.mtime_ns / 1e9 if said is None else said


def has_messages(file: SessionFile) -> bool:
    if file.place.layout is Layout.DATABASE:
        return True
    try:
        with open(file.path, "rb") as stream:
            holds = CLIENTS[file.client].peek.has_messages
            return holds(stream.read(HEAD)) or holds(stream.read())
    except OSError:
        return False


def short_ids(files: Iterable[SessionFile]) -> dict[str, str]:
    """Shorten each id to a beginning that no other id shares."""
    files = list(files)
    ids = sorted({file.id for file in files if not file.is_snapshot})
    short = {file.id: file.id for file in files if file.is_snapshot}  # Its name is already short.
    for before, session_id, after in zip(["", *ids], ids, [*ids[1:], ""], strict=False):
        shared = max(alike(session_id, before), alike(session_id, after))
        prefix = _PREFIX.match(session_id)
        short[session_id] = session_id[: max(SHORTEST_ID + (prefix.end() if prefix else 0), shared + 1)]
    return short


def report(sessions: Iterable[ListedSession], finding: Finding, user: UserConfiguration | None = None) -> SessionList:
    """Build the JSON report of a list. A profile of the user may set the window of its model."""
    user = user or UserConfiguration()
    short = short_ids(finding.files)
    rows = []
    for session in sessions:
        facts, file = session.facts, session.file
        size = window_of(facts.model, Configuration(), user, signs=facts.signs)
        window = None
        if size.tokens and facts.used is not None:
            share = percent(facts.used, size.tokens)
            window = SessionWindow(size.tokens, share, facts.used, facts.used_source, size.source)
        origin = origin_of(file.path) if facts.is_condensed else None
        rows.append(
            SessionRow(
                client=file.client.value,
                id=file.id,
                short=short.get(file.id, file.id),
                title=session.title,
                project=session.project,
                updated=iso(session.updated),
                messages=facts.messages,
                tokens=facts.tokens,
                exact=facts.exact,
                model=facts.model,
                window=window,
                path=file.path,
                bytes=facts.bytes or file.size,
                aside=file.is_side,
                condensed=facts.is_condensed,
                problem=facts.problem,
                origin=None if origin is None else str(origin),
            )
        )
    return SessionList(
        SHAPE,
        len(finding.files),
        rows,
        [SearchedPlace(place.client.value, str(place.folder), os.path.isdir(place.folder)) for place in finding.places],
        [NotListed(skipped.reason, skipped.count, skipped.path) for skipped in finding.skipped],
    )


def iso(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):  # No calendar knows such a year.
        return datetime.fromtimestamp(0, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


LATEST: Final = "latest"
_NAMED: Final = 5
"""Candidates that an error lists."""


class SessionChoice(Struct, frozen=True):
    """A session file. `is_elsewhere`: the newest of all, because the current project has none."""

    file: SessionFile
    title: str | None = None
    is_elsewhere: bool = False


def choose(wanted: str, places: Sequence[SessionPlace], folder: Path) -> SessionChoice:
    """Return the session with this id, or the only one whose id begins so; "latest" is the newest of the folder's
    project.

    Raises UnreadableError if there is none, UsageError if there are several.
    """
    if wanted == LATEST:
        return _latest(places, folder)
    files = find(places, everything=True).files
    exact = [file for file in files if file.id == wanted]
    begun = [file for file in files if wanted and (file.id.startswith(wanted) or _begins_id(file, wanted))]
    # Sessions listed without --all win over the others.
    matches = exact or [file for file in begun if not file.is_side] or begun
    if not matches:
        raise UnreadableError(
            f"There is no session {wanted!r} on this machine.",
            "condense sessions lists them; --all adds sub-agents and archived ones.",
        )
    share_id = len({file.id for file in matches}) == 1
    if share_id and len(matches) > 1:
        matches = [file for file in matches if has_messages(file)] or matches
    if len(matches) > 1:
        named = ", ".join(file.path if share_id else f"{file.id} ({file.client})" for file in matches[:_NAMED])
        more = f", and {len(matches) - _NAMED:,} more" if len(matches) > _NAMED else ""
        raise UsageError(
            f"{len(matches):,} sessions {'have the id' if share_id else 'begin with'} {wanted!r}: {named}{more}.",
            "Name one of these files instead." if share_id else "Give more of the id.",
        )
    return SessionChoice(matches[0])


def _begins_id(file: SessionFile, wanted: str) -> bool:
    """Check if a file whose name holds the beginning of an id contains the whole of it."""
    if not CLIENTS[file.client].has_id_inside or not wanted.startswith(file.id):
        return False
    with contextlib.suppress(OSError), open(file.path, "rb") as stream:
        return f'"{wanted}"'.encode("utf-8", "replace") in stream.read(HEAD)
    return False


def _latest(places: Sequence[SessionPlace], folder: Path) -> SessionChoice:
    files = find(places).files
    own = newest(of_project(files, project_root(folder)))
    file = own or newest(files)
    if file is None:
        raise UnreadableError("There are no sessions on this machine.", "condense sessions shows where it looks.")
    client = CLIENTS[file.client]
    title = client.known(file, Indexes()).title or client.peek.title(read_bytes(file.path))
    return SessionChoice(file, title, is_elsewhere=own is None)
