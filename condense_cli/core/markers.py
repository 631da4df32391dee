r"""Write and read lossy markers, which replace omitted content.

    def total(items):
    [… 68 lines #406167]
    the first words…
    [… 300 characters #406167]

A marker has a line of its own. The amount says how much is missing; the hash names the whole text it was cut from, so
that it can be found in the original. Further gaps of the same text share the hash and are written as `[…12 lines]`. A
suppressed block is a marker and nothing else. An image's marker is `[… image #406167]`; the hash names its data. A text
summarized by a model begins with `[condense: summary of 70 lines #406167]`.

A summary of several messages begins with a line of its own:

    [condense: summary of 70 messages, 12 follow, after #073811 #5f2c91d8]

The last hash names its first and last message. The hash before it names the request in front of the summary, which
tells a mark from text that imitates one (`formats.own_summaries`). The second number tells whether the conversation has
gone on since.

A note holds lines of a few calls at their place. Its hashes are the same two:

    [condense: notes on 4 messages #073811 #5f2c91d8]

On writing, foreign text that would be read as a mark or reference of ours gets an escape, one backslash before its
words. So does text that already has escapes. Reading removes one:

    [condense: \summary of 70 messages, 12 follow, after #073811 #5f2c91d8]
    [see \lines 3-75 of the next Read of src/app.py #520917]

Version 0.1.0 wrote `[condense: 68 lines left out #5f2c91d8]`. Those are still read, and written back unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from .values import Text

ELLIPSIS: Final = "…"

_AMOUNTS: Final = r"(?:(?P<lines>\d{1,10}) lines?)?(?:, )?(?:(?P<characters>\d{1,10}) characters?)?"
_MARKER: Final = lazy_pattern(rf"\[… (?:{_AMOUNTS}|(?P<image>image)) #(?P<hash>\d{{6}})\]", re.ASCII)
_FURTHER: Final = lazy_pattern(rf"\[…{_AMOUNTS}(?P<hash>)\]", re.ASCII)
_SUMMARY_OF_TEXT: Final = lazy_pattern(
    rf"\[condense: (?P<summary>summary) of {_AMOUNTS} #(?P<hash>\d{{6}}|[0-9a-f]{{8}})\]", re.ASCII
)
_EARLIER: Final = lazy_pattern(
    rf"\[condense: (?:{_AMOUNTS}|(?P<image>image)) left out #(?P<hash>[0-9a-f]{{8}})\]", re.ASCII
)
_MOST: Final = 9_999_999_999
"""Largest amount: larger numbers are not ours, and sums are capped here."""
PREFIX: Final = "[condense: "
PREFIXES: Final = ("[…", PREFIX)
"""Beginnings of marker lines."""
MARKER_BYTES: Final = lazy_pattern(
    rb"\[(?:condense:|\xe2\x80\xa6|\\{1,2}u2026) [a-z0-9#, ]{1,80} #(?:\d{6}|[0-9a-f]{8})\]"
)
"""Matches possible markers in a record's bytes, also inside JSON in a string."""
REFERENCE_PREFIX: Final = "[see "
"""Beginning of references, the lossless markers; see `lossless.references`."""


_MARK: Final = lazy_pattern(r"\[(?:condense:|…|see) [^\]\n]{1,300}#[0-9a-f]{6,8}\]")


def may_be_marked(content: Text) -> bool:
    """Check quickly for a marker's beginning, to avoid looking at each line."""
    return any(prefix in content for prefix in PREFIXES)


def is_marked(content: Text) -> bool:
    """Return whether a text holds a marker or reference, also inside a call's arguments, where it has no line of its
    own.

    Imitations count too: callers ask whether something may be missing.
    """
    return (may_be_marked(content) or REFERENCE_PREFIX in content) and _MARK.search(str(content)) is not None


def content_hash(text: str) -> str:
    """Return the first eight hex digits of the text's SHA-256."""
    data = text.encode("utf-8", "surrogatepass")
    digest: str = (_sha256_of_little() if len(data) < _LITTLE else _sha256_of_much())(data).hexdigest()
    return digest[:8]


_LITTLE: Final = 5_000
"""Size in bytes from which OpenSSL's SHA-256 wins over Python's own, which is a fifth as fast. Loading OpenSSL takes as
long as a hundred such texts.
"""


@cache
def _sha256_of_little() -> Callable[[bytes], Any]:
    for name in ("_sha2", "_sha256"):  # The second in Python 3.11. A Python may be built without it.
        with suppress(ImportError):
            own: Callable[[bytes], Any] = import_module(name).sha256
            return own
    return _sha256_of_much()


@cache
def _sha256_of_much() -> Callable[[bytes], Any]:
    from hashlib import sha256

    return sha256


_DIGITS: Final = 6


def short(digest: str) -> str:
    """Shorten a hash to six digits, which are two tokens. Readers are told if texts share them. Six digits stay."""
    return digest if len(digest) == _DIGITS else f"{int(digest, 16) % 10**_DIGITS:06}"


def short_hash(text: str) -> str:
    """Hash a text to the six digits by which markers name it."""
    return short(content_hash(text))


def is_same(digest: str, other: str) -> bool:
    """Return whether two hashes may name the same content: equal, or one is the short form of the other."""
    return digest == other or (len(digest) != len(other) and short(digest) == short(other))


_OF_FIRST: Final = 2
"""Leading digits of a stretch's hash that come from its first message, so a search need not try every pair."""


def stretch_hash(first: str, last: str) -> str:
    """Hash a stretch of messages to eight hex digits, from the hashes of its first and last message."""
    return first[:_OF_FIRST] + content_hash(first + last)[_OF_FIRST:]


def find_stretch(messages: Sequence[str], wanted: str) -> tuple[int, int] | None:
    """Positions of the first and the last message of a stretch, among messages given by their hashes."""
    for start, first in enumerate(messages):
        if first[:_OF_FIRST] != wanted[:_OF_FIRST]:
            continue
        for end in range(start, len(messages)):
            if stretch_hash(first, messages[end]) == wanted:
                return start, end
    return None


class Gap(Struct, frozen=True):
    """A marker: whole lines, characters of a line, or both, and the hash of the text they were cut from.

    A missing image has neither lines nor characters. `is_summary`: a model's summary follows. Hashes of eight digits
    are from version 0.1.0; an empty one means that of the previous marker in the text.
    """

    hash: str
    lines: int = 0
    characters: int = 0
    is_image: bool = False
    is_summary: bool = False

    def __str__(self) -> str:
        amounts = [
            f"{min(number, _MOST)} {noun}{'' if number == 1 else 's'}"
            for number, noun in ((self.lines, "line"), (self.characters, "character"))
            if number
        ]
        what = "image" if self.is_image else ", ".join(amounts)
        if self.is_summary:
            return f"{PREFIX}summary of {what} #{self.hash}]"
        if not self.hash:
            return f"[…{what}]"
        return f"[… {what} #{self.hash}]" if len(self.hash) == _DIGITS else f"{PREFIX}{what} left out #{self.hash}]"

    def plus(self, other: Gap) -> Gap:
        return Gap(self.hash, self.lines + other.lines, self.characters + other.characters)


def parse_gap(line: str) -> Gap | None:
    """Parse a line that is exactly one marker; else None."""
    if not line.startswith(PREFIXES):
        return None
    match = (
        _MARKER.fullmatch(line)
        or _FURTHER.fullmatch(line)
        or _SUMMARY_OF_TEXT.fullmatch(line)
        or _EARLIER.fullmatch(line)
    )
    if not match:
        return None
    found = match.groupdict()
    gap = Gap(
        match["hash"], int(match["lines"] or 0), int(match["characters"] or 0), is_image=bool(found.get("image")),
        is_summary=bool(found.get("summary")),
    )  # fmt: skip
    return gap if (gap.lines or gap.characters or gap.is_image) and str(gap) == line else None


def gaps_at(lines: Sequence[str]) -> dict[int, Gap]:
    """Map line numbers to markers. One without a hash counts only after one with a hash."""
    gaps: dict[int, Gap] = {}
    has_hash = False
    for number, line in enumerate(lines):
        if line.startswith(PREFIXES) and (gap := parse_gap(line)) and (gap.hash or has_hash):
            gaps[number] = gap
            has_hash = True
    return gaps


def gaps_in(text: str) -> list[Gap]:
    """List every gap of a text in order, each with its hash."""
    if not may_be_marked(text):
        return []
    gaps: list[Gap] = []
    for gap in gaps_at(text.split("\n")).values():
        gaps.append(gap if gap.hash else replace(gap, hash=gaps[-1].hash))
    return gaps


_SUMMARY: Final = lazy_pattern(
    r"\[condense: (?:summary of (?P<messages>\d{1,9}) messages?, (?P<following>\d{1,9}) follow"
    r"(?:, after #(?P<after>\d{6}))?|notes on (?P<noted>\d{1,9}) messages? #(?P<request>\d{6}))"
    r" #(?P<hash>[0-9a-f]{8})\]",
    re.ASCII,
)
GO_ON: Final = "[condense: the conversation goes on after this summary]"
"""Line between a summary and the next message, where roles have to alternate."""


class SummaryMark(Struct, frozen=True):
    """First line of a summary: number of messages it replaces, and of those that followed when it was written.

    `after` is the short hash of the request in front of it; version 0.1.0 wrote none. `following` is None for a note.
    """

    messages: int
    following: int | None
    hash: str
    after: str = ""

    @property
    def is_note(self) -> bool:
        return self.following is None

    def __str__(self) -> str:
        messages = f"{self.messages} message{'' if self.messages == 1 else 's'}"
        if self.is_note:
            return f"{PREFIX}notes on {messages} #{self.after} #{self.hash}]"
        after = f", after #{self.after}" if self.after else ""
        return f"{PREFIX}summary of {messages}, {self.following} follow{after} #{self.hash}]"


def parse_summary(text: str) -> SummaryMark | None:
    """Parse the summary mark at the beginning of a text, ours or not; else None."""
    if not text.startswith(PREFIX):
        return None
    match = _SUMMARY.fullmatch(text.partition("\n")[0])
    if not match:
        return None
    if match["noted"]:
        mark = SummaryMark(int(match["noted"]), None, match["hash"], match["request"])
    else:
        mark = SummaryMark(int(match["messages"]), int(match["following"]), match["hash"], match["after"] or "")
    return mark if text.startswith(str(mark)) else None


ESCAPE: Final = "\\"


def with_escape(line: str) -> str:
    """Add one escape to a line that begins with a mark. Escapes follow the first blank."""
    start = line.index(" ") + 1
    return f"{line[:start]}{ESCAPE}{line[start:]}"


def without_escape(line: str) -> str:
    """Remove one escape, if there is any, from a line that begins with a mark."""
    start = line.index(" ") + 1
    return line[:start] + line[start:].removeprefix(ESCAPE)


def without_escapes(line: str) -> str:
    """Remove all escapes from a line that begins with a mark."""
    start = line.index(" ") + 1
    return line[:start] + line[start:].lstrip(ESCAPE)


def begins_as_summary(content: Text) -> bool:
    """Return whether a text begins with a summary mark, escaped or not."""
    if PREFIX not in content:
        return False
    text = str(content)
    return text.startswith(PREFIX) and parse_summary(without_escapes(text)) is not None
