"""What a marker stands for, and where a text is: in all of a session, as far as it is on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ..core.markers import short_hash
from ..core.selectors import PatternError, searcher
from ..core.transcript import Block, Message, calls_by_id
from ..core.values import BlockKind
from ..core.wording import plural
from ..errors import CondenseError, UsageError
from ..report.inspection.lookup import Hit, HitKind, find
from ..report.text.labels import block_label, kind_label
from .library import AskedSession, Library
from .pages import cut, page

_HITS: Final = 60
_LONGEST_LINE: Final = 300
_MOST_CONTEXT: Final = 10


def show(library: Library, what: str, session: str | None = None, first_line: int = 1) -> str:
    """What a marker stands for, or a message or block by its position; from a line on, as far as an answer goes."""
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
        # A position means one of the conversation as it is now.
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
    """Lines of the whole session with a text in them, or that match a pattern, with their numbers."""
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
    """Every text once, but for thinking, with the calls of its session."""
    known: set[str] = set()
    for session in sessions:
        calls = calls_by_id(session.transcript.messages)
        for message, block in session.transcript.blocks():
            if block.kind is not BlockKind.THINKING and block.text and block.text not in known:
                known.add(block.text)
                yield message, block, calls


def _around(lines: Sequence[str], hits: Sequence[int], context: int) -> Iterator[str]:
    """The lines that were found, and so many on both sides, each once and with its number from 1."""
    wanted = set(hits)
    near = {number for hit in hits for number in range(hit - context, hit + context + 1) if 0 <= number < len(lines)}
    for number in sorted(near):
        yield f"{number + 1:>6}{':' if number in wanted else '-'} {cut(lines[number], _LONGEST_LINE)}"


def _name(message: Message | None, block: Block, calls: Mapping[str, Block]) -> str:
    return f"{kind_label(block, message.role if message else None)}  {cut(block_label(block, calls), 100)}".rstrip()
