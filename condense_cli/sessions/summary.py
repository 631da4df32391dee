"""The facts of one session file that are worth keeping: what it is called, when it ended, how much it holds."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from .. import formats
from ..core import markers
from ..core.factor import factor_of
from ..core.tokens import Counter, encoding_for
from ..core.transcript import Transcript
from ..core.values import WindowSigns
from ..errors import CondenseError, NotJsonError
from ..lossless import references
from ..money.prices import signs_of
from ..report.costs.usage import ESTIMATED, in_use
from ..report.run.facts import estimated_tokens
from ..storage.files import read_bytes
from .finding import SessionFile
from .peek import READERS

_MARK: Final = re.compile(markers.SPELLED.pattern + b"|" + references.SPELLED.pattern)


class Facts(Struct, frozen=True):
    """What one file tells. Nothing of it depends on any other file, so it holds as long as the file stays.

    `messages`, `tokens` and `used` are those that `condense inspect` shows: the conversation that the client would
    send. They are None where it cannot be read as one; `problem` says why. `updated` is in seconds since 1970.
    `is_condensed`: condense left its marks in it. `bytes` is the size of what was read.
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
    """Read and count a session. Raises UnreadableError when the file cannot be opened."""
    data = read_bytes(file.path)
    reader = READERS[file.client]
    title, project, updated = reader.title(data), reader.project(data), reader.last_time(data)
    if not reader.has_messages(data):
        return Facts(title, project, updated, len(data), is_empty=True)
    is_condensed = _is_condensed(data)
    try:
        transcript = _read(data, file.path)
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


def _is_condensed(data: bytes) -> bool:
    """Whether markers or references stand in the file. Its bytes are searched once, which takes next to no time."""
    return any(map(_is_mark, _MARK.finditer(data)))


def _is_mark(found: re.Match[bytes]) -> bool:
    """Whether it is a whole line of a text, as JSON spells that: else somebody only speaks of it."""
    data, (start, end) = found.string, found.span()
    is_line = data.endswith((b'"', b"\\n"), max(0, start - 2), start) and data.startswith((b'"', b"\\"), end)
    line = found[0].decode("utf-8", "replace")
    return is_line and (not line.startswith(markers.REFERENCE_PREFIX) or references.parse_reference(line) is not None)


def _read(data: bytes, name: str) -> Transcript:
    try:
        return formats.parse(data, name=name)
    except NotJsonError:
        # A running client may be in the middle of a line; but not a line that says nothing may be JSON.
        transcript = formats.parse(data, name=name, lenient=True)
        if not transcript.messages:
            raise
        return transcript
