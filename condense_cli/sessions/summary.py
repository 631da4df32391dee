"""The facts of one session file that are worth keeping: what it is called, when it ended, how much it holds."""

from __future__ import annotations

from msgspec import Struct

from .. import formats
from ..errors import CondenseError, NotJsonError
from ..files import read_bytes
from ..report.facts import estimated_tokens
from ..report.usage import ESTIMATED, in_use
from ..tokens import Counter, encoding_for
from ..transcript import Transcript
from .finding import SessionFile
from .peek import READERS


class Facts(Struct, frozen=True):
    """What one file tells. Nothing of it depends on any other file, so it holds as long as the file stays.

    `messages`, `tokens` and `used` are those that `condense inspect` shows: the conversation that the client would
    send. They are None where it cannot be read as one; `problem` says why. `updated` is in seconds since 1970.
    """

    title: str | None = None
    project: str | None = None
    updated: float | None = None
    is_empty: bool = False
    model: str | None = None
    messages: int | None = None
    tokens: int | None = None
    used: int | None = None
    used_source: str = ESTIMATED
    exact: bool = False
    problem: str | None = None


def facts_of(file: SessionFile) -> Facts:
    """Read and count a session. Raises UnreadableError when the file cannot be opened."""
    data = read_bytes(file.path)
    reader = READERS[file.client]
    title, project, updated = reader.title(data), reader.project(data), reader.last_time(data)
    if not reader.has_messages(data):
        return Facts(title, project, updated, is_empty=True)
    try:
        transcript = _read(data, file.path)
    except CondenseError as error:
        return Facts(title, project, updated, problem=error.message)
    encoding = encoding_for(transcript.model)
    count = Counter.of(transcript)
    used = in_use(transcript, count)
    return Facts(
        title,
        project,
        updated,
        model=transcript.model or reader.model(data),
        messages=len(transcript.messages),
        tokens=count.transcript(transcript),
        used=used.tokens,
        used_source=used.source,
        exact=encoding.exact and not estimated_tokens(transcript),
    )


def _read(data: bytes, name: str) -> Transcript:
    try:
        return formats.parse(data, name=name)
    except NotJsonError:
        # A running client may be in the middle of a line; but not a line that says nothing may be JSON.
        transcript = formats.parse(data, name=name, lenient=True)
        if not transcript.messages:
            raise
        return transcript
