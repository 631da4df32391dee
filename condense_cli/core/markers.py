"""Lossy markers: what stands where content was left out, and how to read them back.

    def total(items):
    [… 68 lines #406167]
    the first words…
    [… 300 characters #406167]

A marker has a line of its own. The number tells how much is missing; the hash names the whole text it
was cut from, so that it can be found in the original. Behind it further gaps of the same text say how much
is missing, as `[…12 lines]`: they share its hash. A suppressed block is a marker and nothing else;
in place of an image it is `[… image #406167]`, and the hash names the image's data. A text that
a model summarized begins with `[condense: summary of 70 lines #406167]`.

A summary of several messages begins with a line of its own:

    [condense: summary of 70 messages, 12 follow, after #073811 #5f2c91d8]

The last hash names the first and the last of them, the one before it the request in front of the summary, by which a
mark is told from text that imitates one (`formats.own_summaries`). The second number tells whether the conversation
went on since. A note, which holds lines of a few calls at their place, has the same hashes:

    [condense: notes on 4 messages #073811 #5f2c91d8]

Text of others that would be read as a summary's mark or a reference of ours gets an escape where a file is written, one
backslash before its words, and so does text that has escapes already; reading takes one away:

    [condense: \\summary of 70 messages, 12 follow, after #073811 #5f2c91d8]
    [see \\lines 3-75 of the next Read of src/app.py #520917]

Version 0.1.0 wrote `[condense: 68 lines left out #5f2c91d8]`, which is read, and written again, as it is.
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
"""No text has more lines or characters; a larger number is none of ours, nor is a sum of such numbers written."""
PREFIX: Final = "[condense: "
PREFIXES: Final = ("[…", PREFIX)
"""How the lines begin that are markers."""
SPELLED: Final = lazy_pattern(rb"\[(?:condense:|\xe2\x80\xa6|\\{1,2}u2026) [a-z0-9#, ]{1,80} #(?:\d{6}|[0-9a-f]{8})\]")
"""What looks like a marker in the bytes of a record, also where JSON is in a string of it."""
REFERENCE_PREFIX: Final = "[see "
"""How references begin, the lossless markers; `lossless.references` writes and reads them."""


_MARK: Final = lazy_pattern(r"\[(?:condense:|…|see) [^\]\n]{1,300}#[0-9a-f]{6,8}\]")


def may_be_marked(content: Text) -> bool:
    """Whether a text has what markers begin with; without it there is none, and no need to look at each line."""
    return any(prefix in content for prefix in PREFIXES)


def is_marked(content: Text) -> bool:
    """Whether a marker or a reference is in it, also inside the parameters of a call, where it has no line of its own.

    Text that imitates one counts too: whoever asks wants to know whether something may be missing.
    """
    return (may_be_marked(content) or REFERENCE_PREFIX in content) and _MARK.search(str(content)) is not None


def content_hash(text: str) -> str:
    """First eight hex digits of the SHA-256 of the text."""
    data = text.encode("utf-8", "surrogatepass")
    digest: str = (_sha256_of_little() if len(data) < _LITTLE else _sha256_of_much())(data).hexdigest()
    return digest[:8]


_LITTLE: Final = 5_000
"""From so many bytes on OpenSSL's SHA-256 saves what Python's own, a fifth as fast, does without: to load OpenSSL takes
as long as a hundred such texts."""


@cache
def _sha256_of_little() -> Callable[[bytes], Any]:
    for name in ("_sha2", "_sha256"):  # The second is that of Python 3.11; one may be built without.
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
    """Six digits for a hash: two tokens, and where two texts share them a reader is told. Six stay as they are."""
    return digest if len(digest) == _DIGITS else f"{int(digest, 16) % 10**_DIGITS:06}"


def short_hash(text: str) -> str:
    """Six digits for a text: a marker names by them what it was cut from."""
    return short(content_hash(text))


def is_same(digest: str, other: str) -> bool:
    """Whether two hashes may name the same content: whole ones are equal, or one is the six digits of the other."""
    return digest == other or (len(digest) != len(other) and short(digest) == short(other))


_OF_FIRST: Final = 2
"""Digits of the hash of a stretch that are those of its first message: looking for it need not try every pair."""


def stretch_hash(first: str, last: str) -> str:
    """Eight hex digits for the messages between two, from the hashes of these."""
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
    """Content that is missing: whole lines, characters of a line, or both; `hash` names where it was cut from.

    An image that is missing has neither. After a gap that `is_summary` stands what a model wrote in its place. A hash
    of eight digits is one of version 0.1.0; an empty one is that of the marker before it in its text.
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
    """The gap that a line stands for, if it is a marker and nothing else."""
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
    """The lines of a text that are markers, by their numbers. One without a hash counts behind one that has it."""
    gaps: dict[int, Gap] = {}
    has_hash = False
    for number, line in enumerate(lines):
        if line.startswith(PREFIXES) and (gap := parse_gap(line)) and (gap.hash or has_hash):
            gaps[number] = gap
            has_hash = True
    return gaps


def gaps_in(text: str) -> list[Gap]:
    """Every gap of a text, in order, each with its hash."""
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
"""What stands between a summary and the next message where roles have to alternate."""


class SummaryMark(Struct, frozen=True):
    """First line of a summary: how many messages it replaces, and how many followed it when it was written.

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
    """The mark of a summary that a text begins with; whether it is ours is another question."""
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
    """A line that begins with a mark, or an escaped one, with one escape more. Each stands behind the first blank."""
    start = line.index(" ") + 1
    return f"{line[:start]}{ESCAPE}{line[start:]}"


def without_escape(line: str) -> str:
    """A line that begins with a mark without one of its escapes, if it has any."""
    start = line.index(" ") + 1
    return line[:start] + line[start:].removeprefix(ESCAPE)


def without_escapes(line: str) -> str:
    """A line that begins with a mark without its escapes."""
    start = line.index(" ") + 1
    return line[:start] + line[start:].lstrip(ESCAPE)


def begins_as_summary(content: Text) -> bool:
    """Whether a text begins with the mark of a summary, escaped or not."""
    if PREFIX not in content:
        return False
    text = str(content)
    return text.startswith(PREFIX) and parse_summary(without_escapes(text)) is not None
