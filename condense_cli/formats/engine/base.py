"""Define a format: how to recognise, read and write one kind of file. Read the usage that files record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Flag, IntEnum, auto
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.json_text import Style, decode, splice
from ...core.transcript import JsonPath, Place, Source, Transcript
from ...core.values import Family, Role, Usage, WindowSigns, at_hand
from ...errors import UnknownFormatError
from .container import Document, json_kind


@at_hand
class Evidence(IntEnum):
    """Verdict of one record on the format of its file."""

    NO = 0
    """No file of the format holds this record."""
    MAYBE = 1
    LIKELY = 2
    """Other formats may hold it too. It decides if no record proves a format."""
    YES = 3
    """Only files of the format hold this record."""


RecordEdits = dict[int, dict[JsonPath, str | None]]
"""JSON literals that replace values, or None to remove one, keyed by record and by path inside it."""

INPUT_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Keys of Anthropic's `usage` that add up to the tokens sent."""


class Values:
    """Look up values of a file by record and path. Remembers the last record, which may hold many messages."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._record = -1
        self._value: Any = None

    def __call__(self, record: int, path: JsonPath) -> Any:
        if record != self._record:
            self._record, self._value = record, json_text.parse(self._source.raw(record))
        value = self._value
        for key in path:
            value = value[key]
        return value


def records_of(source: Source, *, backwards: bool = False) -> Iterator[tuple[int, Any]]:
    """Yield the number and value of each record that is JSON."""
    numbers = range(len(source.spans))
    for record in reversed(numbers) if backwards else numbers:
        if record not in source.unparsed:
            yield record, json_text.parse(source.raw(record))


def objects_with(source: Source, *words: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the records that are objects and contain one of the words as a string."""
    needles = [f'"{word}"'.encode() for word in words]
    for record in range(len(source.spans)):
        raw = source.raw(record)
        if record in source.unparsed or not any(needle in raw for needle in needles):
            continue
        value = json_text.parse(raw)
        if isinstance(value, dict):
            yield record, value


class Rewrite(Struct, frozen=True):
    """Changes that turn the file into one that holds `transcript`: edits of records, and records to delete."""

    transcript: Transcript
    edits: RecordEdits
    gone: frozenset[int]
    style: Style

    def record(self, number: int, extra: Mapping[JsonPath, str | None] | None = None) -> str:
        """Return the text of a record with its edits. `extra` edits take precedence."""
        return splice(decode(self.transcript.source.raw(number)), self._all(number, extra))

    def data(self, number: int, extra: Mapping[JsonPath, str | None]) -> bytes:
        """Return the bytes of a record with its edits, as `record` does for the text."""
        raw = self.transcript.source.raw(number)
        return json_text.exchange(raw, self._all(number, extra)) or json_text.encode(self.record(number, extra))

    def _all(self, number: int, extra: Mapping[JsonPath, str | None] | None) -> dict[JsonPath, str | None]:
        if extra and () in extra:  # A new record in the place of the old one.
            return dict(extra)
        return {**self.edits.get(number, {}), **(extra or {})}


class FileFault(Struct, frozen=True):
    """A fault of the file at one record that the client stumbles over and no API sees. A `note` is harmless."""

    rule: str
    record: int
    said: str
    is_note: bool = False


class FileRule(Struct, frozen=True):
    """A rule of the client for its file. Every run checks those that are no `note`; `condense validate` checks all."""

    find: Callable[[Transcript], Iterator[FileFault]]
    is_note: bool = False

    def __call__(self, transcript: Transcript) -> Iterator[FileFault]:
        return self.find(transcript)


def messages_understood(lacking: Callable[[Any], str]) -> FileRule:
    """Return the rule that every record that may be a message is read.

    `lacking` names what such a record lacks; empty if it lacks nothing.
    """

    def unread(transcript: Transcript) -> Iterator[FileFault]:
        for record, value in records_of(transcript.source) if transcript.unknown else ():
            if lacks := lacking(value):
                yield FileFault("messages_understood", record, f"what may be a message is not read without {lacks}")

    return FileRule(unread)


class DisplayValue(Struct, frozen=True):
    """A value that the client shows and the model never sees: a text, or a list if `text` is None.

    `--slim` writes a marker or an empty list in its place. `kind` names it in reports.
    """

    place: Place
    kind: str
    text: str | None
    is_image: bool = False


ShownValues = Callable[[Transcript], Iterator[DisplayValue]]
Complete = Callable[[Transcript, RecordEdits, frozenset[int], Style], None]
"""Add the edits that follow from those of the blocks and from the records to delete."""


def nothing_follows(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: Style) -> None:
    pass


class Beside(Struct, frozen=True):
    """Values that are in the file and not in the conversation. `beside.copies` makes one for most formats.

    `cut` adds edits for copies of content that was cut. `shown` yields, record by record, the values that `--slim`
    leaves out; it gets the messages without references. `sizes` counts the bytes of the file by their use.
    """

    cut: Complete = nothing_follows
    shown: ShownValues | None = None
    sizes: Callable[[Transcript], dict[str, int]] = lambda transcript: {}


def role_and_content(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"role": f'"{role.value}"', "content": literal}


def only_emptied(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    return gone


def no_record(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    """Delete no record: the file is a log, in which an earlier line would count again."""
    return frozenset()


def as_written(old: bytes, new: bytes) -> bytes:
    return new


def claims_nothing(document: Document) -> bool:
    return False


@at_hand
class Habit(Flag):
    """A habit of the client that its files do not record."""

    NONE = 0
    ANSWERS_CALLS = auto()
    """Tells the model of a call without a result, and leaves the call out once the user goes on."""
    DROPS_LONE_THINKING = auto()
    """Sends no turn that has nothing but thinking left."""
    REPEATS_RESULTS = auto()
    """Writes each result in several places, which may spell it in different ways."""


class Format(Struct, frozen=True):
    """A row of the table of formats.

    Recognise:
    `evidence` judges one record. `claims` judges the whole file, before any evidence is asked. `fits` is only for
    formats that may be chosen without proof, if every record may be theirs: of equally likely ones, the one that fits
    what surrounds the records is taken.

    Read:
    `read` gets the values of the records from the first one on. `rules` are what the client demands of its file
    beyond the rules of the API. `beside` describes what the file holds besides the conversation.

    Write, unless `is_writable` is false:
    `complete` adds the edits that follow from others, such as links between records. `going` gets the records that
    lost every block and returns those to delete. A summary is a record like the others: `new_message` returns its
    members (keys and JSON literals) from its role, its text as a JSON literal, and the text of the record that it
    replaces. `summary_role` is the role in which the client sends a summary; None if roles have to alternate.
    `compaction` writes the whole file instead, as the client does, so that it resumes behind the summary.
    `in_place` returns the bytes that replace the old file; it raises OutputError if nothing may.
    """

    name: str
    family: Family
    description: str
    evidence: Callable[[Any], Evidence]
    read: Callable[[Document, Iterator[Any]], Transcript]
    claims: Callable[[Document], bool] = claims_nothing
    fits: Callable[[Document], bool] | None = None
    rules: tuple[FileRule, ...] = ()
    beside: Beside = Beside()
    is_writable: bool = True
    complete: Complete = nothing_follows
    going: Callable[[Transcript, frozenset[int]], frozenset[int]] = only_emptied
    new_message: Callable[[Role, str, str], dict[str, str]] = role_and_content
    summary_role: Role | None = None
    compaction: Callable[[Rewrite], bytes] | None = None
    in_place: Callable[[bytes, bytes], bytes] = as_written
    habits: Habit = Habit.NONE

    @property
    def is_log(self) -> bool:
        """Whether lines are only added: a compaction writes everything that loses messages."""
        return self.going is no_record

    @property
    def is_default(self) -> bool:
        """Return whether the format may be chosen without proof."""
        return self.fits is not None

    @property
    def shown(self) -> ShownValues | None:
        """Function that yields the values that `--slim` leaves out, if there is one. Lines of a log all stay."""
        return None if self.is_log else self.beside.shown


def only_value(document: Document, key: str) -> Any:
    """Return the value of the file's only record if it is an object with `key`; otherwise None."""
    source = document.source
    if len(source.spans) != 1 or source.unparsed or f'"{key}"'.encode() not in source.raw(0):
        return None
    try:
        value = json_text.parse(source.view(0))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and key in value else None


def part_kinds(content: list[Any]) -> set[str]:
    """Return the types of the parts of a message, as strings."""
    return {str(part.get("type")) for part in content if isinstance(part, dict)}


def message_role(record: int, value: Any, roles: Mapping[str, Role]) -> Role:
    """Return the role that a message names. Raises UnknownFormatError if it is none of `roles`."""
    role = roles.get(str(value.get("role"))) if isinstance(value, dict) else None
    if role is None:
        raise not_a_message(record, value, f"its role is none of {', '.join(roles)}")
    return role


def not_a_message(record: int, value: Any, why: str) -> UnknownFormatError:
    seen = f"keys {', '.join(map(str, list(value)[:6]))}" if isinstance(value, Mapping) else json_kind(value)
    return UnknownFormatError(
        f"record {record + 1} is not a message: {why} (seen: {seen}).",
        "Remove it. Another format is named with --format.",
    )


def derived_uuid(*parts: str) -> str:
    """Derive a UUID (version 5) from texts, which may hold lone surrogates."""
    from hashlib import sha256  # Few formats need it, and loading OpenSSL takes as long as ten modules of ours.

    digest = sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest))


_MOST: Final = 100_000_000
"""Largest number of tokens that an API can have counted."""


def is_count(value: Any) -> bool:
    """Return whether an API can have counted this many tokens; 0 and true do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST


def lives_hour(usage: Mapping[str, Any]) -> bool | None:
    """Return whether most of the cache that a request wrote lives for an hour; None if `usage` does not say.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching (1-hour cache duration)
    """
    written = usage.get("cache_creation")
    if not isinstance(written, Mapping):
        return None
    told = [written.get(f"ephemeral_{life}_input_tokens") for life in ("5m", "1h")]
    minutes, hour = (number if isinstance(number, int) else 0 for number in told)
    return hour > minutes if hour > 0 or minutes > 0 else None


def recorded(
    message: int,
    sent: Iterable[Any],
    answered: Any,
    *,
    is_older: bool = False,
    model: Any = None,
    lives_hour: bool | None = None,
) -> Iterator[Usage]:
    """Yield the usage of the request that `message` answers, if the parts of `sent` add up to a count of tokens."""
    numbers = [number for number in sent if type(number) is int]
    if min(numbers, default=0) < 0 or not 0 < sum(numbers) <= _MOST:
        return
    output = answered if is_count(answered) else 0
    model = model if isinstance(model, str) and model else None
    yield Usage(message, sum(numbers), output, is_older, model, lives_hour)


class SignsReader:
    """Collect what a file shows of context windows, by model, in file order. Ignores impossible counts."""

    def __init__(self) -> None:
        self._found: dict[str | None, WindowSigns] = {}
        self.last = 0
        """Tokens of the newest request, with its answer."""
        self._model: str | None = None

    @property
    def found(self) -> tuple[WindowSigns, ...]:
        return tuple(self._found.values())

    def used(self, model: Any, sent: int, answered: int = 0) -> None:
        """Note a request of `sent` tokens that `model` answered with `answered`."""
        self._model = model if isinstance(model, str) and model else None
        self.last = sent + answered
        signs = self._signs
        if is_count(sent) and sent > signs.used:
            self._found[self._model] = replace(signs, used=sent)

    def compacted(self, tokens: Any) -> None:
        """Note that the client compacted by itself at this many tokens."""
        if is_count(tokens):
            self._found[self._model] = replace(self._signs, compacted_at=tokens)

    def named(self, model: str | None, tokens: Any) -> None:
        """Note the window that the client names for `model`."""
        self._model = model
        if is_count(tokens):
            self._found[model] = replace(self._signs, named=tokens)

    @property
    def _signs(self) -> WindowSigns:
        return self._found.get(self._model) or WindowSigns(self._model)
