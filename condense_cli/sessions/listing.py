"""Sessions in order, with what is to be shown of them. Only those are read; which these are, `stat` tells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final, assert_never

from msgspec import Struct

from ..config.files import UserConfiguration
from ..config.models import Configuration
from ..errors import UnreadableError
from ..formats.engine.session_ids import claude_folder
from ..providers.window import window_of
from ..report.as_json import SHAPE
from ..report.lists.sessions import NotListed, SearchedPlace, SessionList, SessionRow, SessionWindow
from ..report.text.labels import percent
from ..storage.new_session import origin_of
from .cache import FactsCache
from .choices import Order
from .finding import Finding, SessionFile
from .names import Names
from .peek import READERS, project_at_head, updated_at
from .places import Layout
from .records import HEAD
from .summary import Facts, facts_of

SHORTEST_ID: Final = 8
"""Characters of an id that are shown even where fewer would do."""
_PREFIX: Final = re.compile(r"[a-z]+_")
"""What all ids of a client begin with."""
LIMIT: Final = 20
"""Sessions that are listed where nobody asks for more."""
_SAVED_AT_ONCE: Final = 32
"""Facts of sessions that are written to the cache together."""


class Listed(Struct, frozen=True):
    """A session with its facts."""

    file: SessionFile
    facts: Facts
    title: str | None
    project: str | None

    @property
    def updated(self) -> float:
        """Seconds since 1970; a file that was copied is younger than its last message."""
        return self.file.mtime_ns / 1e9 if self.facts.updated is None else self.facts.updated


def listed(
    files: Iterable[SessionFile],
    cache_folder: Path,
    *,
    limit: int | None = LIMIT,
    order: Order = Order.NEWEST,
    with_empty: bool = False,
    on_read: Callable[[SessionFile], None] = lambda file: None,
) -> list[Listed]:
    """The first `limit` sessions (None: all) of files that are given newest first.

    Sessions in which nothing was said are left out unless `with_empty`. The largest are found by reading all.
    `on_read` is told of each file that is read because nothing is remembered of it.
    """
    names = Names()

    def with_names(file: SessionFile, facts: Facts) -> Listed:
        known = names.of(file)
        return Listed(file, facts, known.title or facts.title, known.project or facts.project)

    # Both are closed here, in this order: what was found out is written when no more of it is asked for.
    with closing(FactsCache(cache_folder)) as cache, closing(_with_facts(files, cache, on_read)) as read:
        found = (with_names(file, facts) for file, facts in read if with_empty or not facts.is_empty)
        match order:
            case Order.NEWEST:
                return sorted(islice(found, limit), key=lambda session: -session.updated)
            case Order.LARGEST:
                largest = sorted(found, key=lambda session: (-(session.facts.tokens or -1), -session.updated))
                return largest[:limit]
            case other:
                assert_never(other)


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
    """Those whose project is the folder or lies in it."""
    root = _real(folder)
    name = claude_folder(os.path.realpath(folder))
    names = Names()
    for file in files:
        if file.place.layout is Layout.PROJECTS:
            kept_in = Path(file.path).relative_to(file.place.folder).parts[0]
            if kept_in == name:
                yield file
                continue
            if not kept_in.startswith(name):
                continue
        project = names.of(file).project or project_at_head(file)
        # A path of another system would be taken for one in the current folder.
        if project is not None and os.path.isabs(project) and _is_in(_real(project), root):
            yield file


def _real(path: str | Path) -> str:
    return os.path.normcase(os.path.realpath(path))


def _is_in(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def project_root(folder: Path) -> Path:
    """The repository that a folder is in, or the folder itself."""
    return next((parent for parent in (folder, *folder.parents) if os.path.exists(parent / ".git")), folder)


def newest(files: Iterable[SessionFile], limit: int = LIMIT) -> SessionFile | None:
    """The session that a list of them begins with: of the files changed last the one with the newest message."""
    said = (file for file in files if not file.is_side and has_messages(file))
    return max(islice(said, limit), key=updated_at, default=None)


def has_messages(file: SessionFile) -> bool:
    if file.place.layout is Layout.DATABASE:
        return True
    try:
        with open(file.path, "rb") as stream:
            holds = READERS[file.client].has_messages
            return holds(stream.read(HEAD)) or holds(stream.read())
    except OSError:
        return False


def short_ids(files: Iterable[SessionFile]) -> dict[str, str]:
    """As much of each id as no other id begins with."""
    files = list(files)
    ids = sorted({file.id for file in files if not file.is_snapshot})
    short = {file.id: file.id for file in files if file.is_snapshot}  # Its session is called so, up to the time.
    for before, session_id, after in zip(["", *ids], ids, [*ids[1:], ""], strict=False):
        shared = max(_shared(session_id, before), _shared(session_id, after))
        prefix = _PREFIX.match(session_id)
        short[session_id] = session_id[: max(SHORTEST_ID + (prefix.end() if prefix else 0), shared + 1)]
    return short


def _shared(one: str, other: str) -> int:
    """Characters that both begin with."""
    shared = 0
    for own, others in zip(one, other, strict=False):
        if own != others:
            break
        shared += 1
    return shared


def report(sessions: Iterable[Listed], finding: Finding, user: UserConfiguration | None = None) -> SessionList:
    """The list in the shape of the JSON report. A profile of the user may say how large the window of its model is."""
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
