"""Answer a model's questions about its own session: read only, known sessions alone, answers of bounded length."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..core.markers import short_hash
from ..core.selectors import PatternError, searcher
from ..core.transcript import Block, Message, Transcript, calls_by_id
from ..core.values import BlockKind
from ..core.wording import plural
from ..errors import CondenseError, UnreadableError, UsageError
from ..ledger.recap import ENOUGH, TOKENS, whole
from ..ledger.recap import recap as told_of
from ..plugins import Installed
from ..report.inspection.facts import inspect as facts_of
from ..report.inspection.lookup import Hit, HitKind, find
from ..report.lists import check as check_facts
from ..report.sections import to_json
from ..report.text import block_label, kind_label
from ..storage.backups import backups_of
from ..storage.files import Stamp, read_bytes, stamp, unpacked
from ..tokens.counting import Counter, encoding_for
from ..tokens.factor import factor_of
from ..window.decision import signs_of, window_of
from .client import SessionPlace
from .listing import LATEST, choose
from .table import find as find_sessions

MOST: Final = 12_000
"""Characters of an answer: some 3,000 tokens, which no client shortens."""
LONGEST_LINE: Final = 2_000


def page(text: str, first_line: int = 1) -> str:
    """Return the lines that fit, from `first_line` (counted from 1), and say how to get the rest."""
    lines = text.split("\n")
    start = min(max(first_line, 1), len(lines)) - 1
    kept: list[str] = []
    size = 0
    for line in lines[start:]:
        shown = cut(line, LONGEST_LINE)
        size += len(shown) + 1
        if kept and size > MOST:
            break
        kept.append(shown)
    end = start + len(kept)
    missing = f"[lines {start + 1:,} to {end:,} of {len(lines):,}"
    if end < len(lines):
        return "\n".join([*kept, f"{missing}; continue with first_line={end + 1}]"])
    return "\n".join([*kept, f"{missing}]"]) if start else "\n".join(kept)


def cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]}… ({len(line):,} characters)"


_BACKUPS: Final = 5
_SIBLINGS: Final = 8
"""Backups of a session, and other sessions of its project, that are searched for content it lacks."""


class AskedSession(Struct, frozen=True):
    path: str
    transcript: Transcript


class Library:
    """Sessions by id: only `file` if it is given, else those in `places`.

    The latest session is that of the project in `folder`. The last one read is remembered until its file changes.
    """

    def __init__(self, places: Sequence[SessionPlace], folder: Path, file: str | None = None) -> None:
        self._places, self._folder, self._file = places, folder, file
        self._read: tuple[tuple[str, Stamp], AskedSession] | None = None

    def session(self, wanted: str | None = None) -> AskedSession:
        """Return the session with this id or beginning of one; by default the project's latest. Raises
        CondenseError."""
        if self._file is None:
            choice = choose(wanted or LATEST, self._places, self._folder)
            if choice.is_elsewhere:  # The model asks for its own session, never for another project's.
                raise UnreadableError("This project has no session yet.", "Another one is named by its id.")
            if not self._is_inside(choice.file.path):
                raise UnreadableError("The file of that session is a link that leads out of the session folders.")
            return self._open(choice.file.path)
        if wanted and wanted != LATEST and not Path(self._file).stem.endswith(wanted):
            raise UsageError("This server serves one session only.", "Leave the session out.")
        return self._open(self._file)

    def originals(self, session: AskedSession) -> Iterator[AskedSession]:
        """Yield sessions that may hold cut content: this one before compactions, its backups, others of its
        project."""
        yield from self.whole(session)
        yield from _each(self._siblings(session.path))

    def whole(self, session: AskedSession) -> Iterator[AskedSession]:
        """Yield the session with its compacted part, then its backups."""
        yield replace(session, transcript=_with_compacted(session.transcript))
        yield from _each([str(backup.path) for backup in backups_of(Path(session.path))[:_BACKUPS]])

    def _siblings(self, path: str) -> list[str]:
        """List other sessions in the same folder; one of them may be the original."""
        if self._file is not None:
            return []
        folder = os.path.dirname(path)
        files = [file.path for file in find_sessions(self._places).files]
        beside = [each for each in files if each != path and os.path.dirname(each) == folder]
        return [*filter(self._is_inside, beside)][:_SIBLINGS]

    def _is_inside(self, path: str) -> bool:
        """Check that a file is in a client's folder. The folder itself may be a link of the user's."""
        if not os.path.islink(path):
            return True
        target = Path(os.path.realpath(path))
        return any(target.is_relative_to(os.path.realpath(place.folder)) for place in self._places)

    def _open(self, path: str) -> AskedSession:
        now = path, stamp(Path(path))
        if self._read is None or self._read[0] != now or now[1] == Stamp():  # One in a database has no stamp.
            self._read = now, AskedSession(path, _read(path))
        return self._read[1]


def _with_compacted(transcript: Transcript) -> Transcript:
    return replace(transcript, messages=tuple(whole(transcript)))


def _each(paths: Sequence[str]) -> Iterator[AskedSession]:
    """Yield the sessions in files, each with its compacted part. Unreadable ones are skipped."""
    for path in paths:
        with suppress(CondenseError):
            yield AskedSession(path, _with_compacted(_read(path)))


def _read(path: str) -> Transcript:
    try:
        # A client may be in the middle of writing a line.
        return formats.parse(unpacked(read_bytes(path), path), name=path, lenient=True, others=Installed().formats)
    except CondenseError as error:
        error.forget_options("--format", "--lenient")
        raise


_HITS: Final = 60
_LONGEST_LINE: Final = 300
_MOST_CONTEXT: Final = 10


def show(library: Library, what: str, session: str | None = None, first_line: int = 1) -> str:
    """Return the text that a marker replaced, or a message or block by its position, from `first_line` on."""
    current = library.session(session)
    try:
        hits = find(current.transcript, what)
    except UsageError:
        raise
    except CondenseError as error:
        missing: CondenseError = error
    else:
        if not hits or hits[0].found is not HitKind.MARKER:
            return page(_shown(current, hits), first_line)
        missing = CondenseError(f"What {what} replaced is not in this session or its neighbors.")
    for original in library.originals(current):
        try:
            hits = find(original.transcript, what)
        except CondenseError:
            continue
        # Positions count in the current conversation only.
        if hits and hits[0].found not in (HitKind.MARKER, HitKind.POSITION):
            return page(_shown(original, hits), first_line)
    raise missing


def _shown(source: AskedSession, hits: Sequence[Hit]) -> str:
    if len({hit.text for hit in hits}) == 1:
        return hits[0].text or "(no text)"
    calls = calls_by_id([*source.transcript.messages, *(hit.message for hit in hits if hit.message)])
    return "\n".join(f"--- {_name(hit.message, hit.block, calls)}\n{hit.text}" for hit in hits)


def search(
    library: Library, text: str, session: str | None = None, *, is_pattern: bool = False, context: int = 0
) -> str:
    """Return lines of the whole session that contain a text or match a pattern, with their numbers."""
    matches = _matcher(text, is_pattern)
    lines: list[str] = []
    found = 0
    for message, block, calls in _texts(library.whole(library.session(session))):
        hits = [number for number, line in enumerate(block.text.split("\n")) if matches(line)]
        shown = hits[: max(0, _HITS - found)]
        found += len(hits)
        if shown:
            lines.append(f"#{short_hash(block.text)} {_name(message, block, calls)}")
            lines += _around(block.text.split("\n"), shown, min(max(context, 0), _MOST_CONTEXT))
    if not found:
        return f"No line of the session has {cut(text, _LONGEST_LINE)!r} in it."
    more = f", of which {_HITS} are shown" if found > _HITS else ""
    return page("\n".join([f"{plural(found, 'line')}{more}; show prints a whole text by its #number.", *lines]))


def _matcher(text: str, is_pattern: bool) -> Callable[[str], bool]:
    if not text.strip():
        raise UsageError("There is nothing to search for.")
    if not is_pattern:
        wanted = text.casefold()
        return lambda line: wanted in line.casefold()
    try:
        return searcher(text)
    except PatternError as error:
        raise UsageError(f"{text!r} is not a pattern: {error}.") from None


def _texts(sessions: Iterable[AskedSession]) -> Iterator[tuple[Message, Block, Mapping[str, Block]]]:
    """Yield every text but thinking once, with the calls of its session."""
    known: set[str] = set()
    for session in sessions:
        calls = calls_by_id(session.transcript.messages)
        for message, block in session.transcript.blocks():
            if block.kind is not BlockKind.THINKING and block.text and block.text not in known:
                known.add(block.text)
                yield message, block, calls


def _around(lines: Sequence[str], hits: Sequence[int], context: int) -> Iterator[str]:
    """Yield the matching lines and `context` lines around each, once, numbered from 1."""
    wanted = set(hits)
    near = {number for hit in hits for number in range(hit - context, hit + context + 1) if 0 <= number < len(lines)}
    for number in sorted(near):
        yield f"{number + 1:>6}{':' if number in wanted else '-'} {cut(lines[number], _LONGEST_LINE)}"


def _name(message: Message | None, block: Block, calls: Mapping[str, Block]) -> str:
    return f"{kind_label(block, message.role if message else None)}  {cut(block_label(block, calls), 100)}".rstrip()


_TOP: Final = 5
_MOST_RECAP: Final = 8_000
_MOST_CHARACTERS: Final = 40_000
"""Longest recap. It may exceed a page, because the model asks for its length."""


def inspect(library: Library, session: str | None = None) -> str:
    """Return what fills the conversation as it is sent, as JSON."""
    found = library.session(session)
    transcript = found.transcript
    count = Counter.of(transcript)
    facts = facts_of(
        transcript, count, factor_of(transcript, count), encoding_for(transcript.model), source=found.path, top=_TOP
    )
    return page(to_json(facts))


def check(library: Library, user: UserConfiguration, session: str | None = None) -> str:
    """Say if it is time to condense, with the numbers."""
    found = library.session(session)
    return "\n".join(check_facts.as_lines(checked(found.transcript, user, found.path)))


def checked(transcript: Transcript, user: UserConfiguration, source: str) -> check_facts.Check:
    """Decide if a conversation should be condensed, by the user's settings and no project's.

    Raises UsageError if the model's window is unknown.
    """
    count, usual = Counter.of(transcript), Configuration()
    window = window_of(transcript.model, usual, user, signs=signs_of(transcript))
    factor = factor_of(transcript, count)
    return check_facts.build(transcript, usual, count, factor, window, when=datetime.now(UTC), source=source)


def recap(library: Library, session: str | None = None, tokens: int = TOKENS, *, lost: bool = False) -> str:
    """Recap a session, or what its last compaction lost, within `tokens`."""
    transcript = library.session(session).transcript
    return told_of(transcript, min(max(tokens, ENOUGH), _MOST_RECAP), lost=lost).recap.text[:_MOST_CHARACTERS]
