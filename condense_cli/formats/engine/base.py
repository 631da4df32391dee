"""Define a format: a way to recognise, read and write one kind of file, and the usage that it records."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.json_text import Style, decode, splice
from ...core.transcript import Block, JsonPath, Place, Source, Transcript
from ...core.values import BlockKind, Family, Role, Usage, WindowSigns, at_hand
from ...errors import UnknownFormatError
from .container import Document, json_kind


@at_hand
class Evidence(IntEnum):
    """What one record says about the format of its file."""

    NO = 0
    """No file of the format holds such a record."""
    MAYBE = 1
    LIKELY = 2
    """Other formats may hold it too; where no record proves one of them, the file is of this one."""
    YES = 3
    """Only files of the format hold such a record."""


RecordEdits = dict[int, dict[JsonPath, str | None]]
"""Per record: values to exchange for a JSON literal, or to remove (None)."""


INPUT_TOKENS: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""Keys of a recorded usage (Anthropic) that add up to what was sent."""


class Values:
    """Values in a file by their places. The last record is remembered, since one may hold many messages."""

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
    """Number and value of every record that is JSON."""
    numbers = range(len(source.spans))
    for record in reversed(numbers) if backwards else numbers:
        if record not in source.unparsed:
            yield record, json_text.parse(source.raw(record))


Complete = Callable[[Transcript, RecordEdits, frozenset[int], Style], None]


def nothing_follows(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: Style) -> None:
    pass


class Rewrite(Struct, frozen=True):
    """What has to change in a file so that it holds a transcript: values of records, and records that go."""

    transcript: Transcript
    edits: RecordEdits
    gone: frozenset[int]
    style: Style

    def record(self, number: int, extra: Mapping[JsonPath, str | None] | None = None) -> str:
        """Text of a record with its edits, and with others that go before them."""
        return splice(decode(self.transcript.source.raw(number)), self._all(number, extra))

    def data(self, number: int, extra: Mapping[JsonPath, str | None]) -> bytes:
        """Bytes of a record, as `record` gives its text."""
        raw = self.transcript.source.raw(number)
        return json_text.exchange(raw, self._all(number, extra)) or json_text.encode(self.record(number, extra))

    def _all(self, number: int, extra: Mapping[JsonPath, str | None] | None) -> dict[JsonPath, str | None]:
        if extra and () in extra:  # A new record in the place of the old one.
            return dict(extra)
        return {**self.edits.get(number, {}), **(extra or {})}


Compaction = Callable[[Rewrite], bytes]
"""The whole file with a summary in place of earlier messages, as a client writes it, so that it resumes behind it."""


InPlace = Callable[[bytes, bytes], bytes]
"""Gives the bytes that replace a file, from its old bytes and its new ones. Raises OutputError where nothing may."""


def as_written(old: bytes, new: bytes) -> bytes:
    return new


NewMessage = Callable[[Role, str, str], dict[str, str]]


def role_and_content(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"role": f'"{role.value}"', "content": literal}


def none_fixed(transcript: Transcript) -> frozenset[int]:
    return frozenset()


def none_again(source: Source, gone: frozenset[int]) -> frozenset[int]:
    return frozenset()


class FileFault(Struct, frozen=True):
    """Something wrong with the file at one record, which no API sees but a client stumbles over.

    A fault that is a `note` is worth knowing and harms nothing.
    """

    rule: str
    record: int
    said: str
    is_note: bool = False


class DisplayValue(Struct, frozen=True):
    """A value that a client shows and no model sees, and that need not be in the file: a text, or a list without one.

    `kind` is what it is, for reports.
    """

    place: Place
    kind: str
    text: str | None
    is_image: bool = False


DisplayValues = Callable[[Transcript], Iterator[DisplayValue]]
FileRule = Callable[[Transcript], Iterator[FileFault]]
Sizes = Callable[[Transcript], dict[str, int]]


def messages_understood(lacking: Callable[[Any], str]) -> FileRule:
    """The rule that every record that may be a message is read; `lacking` names what one that is not lacks."""

    def unread(transcript: Transcript) -> Iterator[FileFault]:
        for record, value in records_of(transcript.source) if transcript.unknown else ():
            if lacks := lacking(value):
                yield FileFault("messages_understood", record, f"what may be a message is not read without {lacks}")

    return unread


def sizes_unknown(transcript: Transcript) -> dict[str, int]:
    return {}


def claims_nothing(document: Document) -> bool:
    return False


def only_value(document: Document, key: str) -> Any:
    """The value of a file's only record, if the record has that key; None also where it is not JSON."""
    source = document.source
    if len(source.spans) != 1 or source.unparsed or f'"{key}"'.encode() not in source.raw(0):
        return None
    try:
        value = json_text.parse(source.view(0))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and key in value else None


class Format(Struct, frozen=True):
    """One row of the table of formats.

    `evidence` looks at one record; `claims` at what surrounds the records, and is asked before all evidence. A format
    that `is_default` may be chosen without any proof, when every record may be its own; of several that are equally
    likely, one that `fits` what surrounds the records. `read` gets the values from the start. `complete` adds to the
    edits what follows in this format from them and from the records that go altogether. `fixed` names records
    that stay even when all their blocks went; `again` names those that say once more what records say that go, and that
    go with them. `rules` are what a client demands of the file besides the rules of the
    API; every run checks them. `notes` are rules whose breach harms nothing. `sizes` tells what the bytes of the file
    are for, in a format where many of them never reach the model. `display` yields, record by record,
    what can be left out of the file; it gets the messages without references. A format that is not `is_writable`
    can be read and reported on; a changed transcript of it cannot be written. Of one that `is_log` no line ever goes:
    its `compaction` writes all that loses messages. One that `repeats_results` has each in several places, which may
    spell it in different ways. Without a `compaction` of
    its own a summary is a message like the others: `new_message` gives the members (keys and JSON literals) of the
    record that holds it, from its role, its text as a JSON literal, and the text of the record that it takes the
    place of. `summary_role` is the role in which the client sends a summary; None where roles have to alternate and the
    neighbours decide. A client that `answers_calls` tells the model itself of a call that has no result; once a word of
    the user follows, it leaves that call out. One that `sends_lone_thinking` sends turns of nothing but thinking
    whatever the other turns are. A client that has an index of the bytes of its files wants them otherwise `in_place`
    than elsewhere.
    """

    name: str
    family: Family
    description: str
    evidence: Callable[[Any], Evidence]
    read: Callable[[Document, Iterator[Any]], Transcript]
    is_default: bool = False
    claims: Callable[[Document], bool] = claims_nothing
    complete: Complete = nothing_follows
    fixed: Callable[[Transcript], frozenset[int]] = none_fixed
    again: Callable[[Source, frozenset[int]], frozenset[int]] = none_again
    rules: tuple[FileRule, ...] = ()
    notes: tuple[FileRule, ...] = ()
    sizes: Sizes = sizes_unknown
    display: DisplayValues | None = None
    is_writable: bool = True
    compaction: Compaction | None = None
    is_log: bool = False
    repeats_results: bool = False
    new_message: NewMessage = role_and_content
    summary_role: Role | None = None
    answers_calls: bool = False
    sends_lone_thinking: bool = True
    fits: Callable[[Document], bool] = claims_nothing
    in_place: InPlace = as_written


def part_kinds(content: list[Any]) -> set[str]:
    """Types of the parts of a message's content; a type that is no string is the type of nothing known."""
    return {str(part.get("type")) for part in content if isinstance(part, dict)}


def unknown_block(part: Any, record: int, path: JsonPath, owner: JsonPath | None = None, **common: Any) -> Block:
    """A part that is not understood: carried along as it is, and told by `formats.understood`."""
    place, kind = Place(record, path), part.get("type") if isinstance(part, dict) else None
    common = {"api_type": kind} | common if isinstance(kind, str) else common
    content = json_text.dump_compact(part)
    return Block(BlockKind.OPAQUE, place, path if owner is None else owner, content=content, is_unknown=True, **common)


def message_role(record: int, value: Any, roles: Mapping[str, Role]) -> Role:
    """The role that a message names. Raises UnknownFormatError where it names none of these."""
    role = roles.get(str(value.get("role"))) if isinstance(value, dict) else None
    if role is None:
        raise not_a_message(record, value, f"its role is none of {', '.join(roles)}")
    return role


def not_a_message(record: int, value: Any, why: str) -> UnknownFormatError:
    seen = f"keys {', '.join(map(str, list(value)[:6]))}" if isinstance(value, Mapping) else json_kind(value)
    return UnknownFormatError(
        f"record {record + 1} is not a message: {why} (seen: {seen}).",
        "Remove it, or name the right format with --format.",
    )


def derived_uuid(*parts: str) -> str:
    """A UUID (version 5) that names these texts; they may hold lone surrogates."""
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_OID, digest))


_MOST: Final = 100_000_000
"""Tokens beyond which a number is none that an API counted."""


def is_count(value: Any) -> bool:
    """Whether it can be a number of tokens that somebody counted; 0 and true are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST


def lives_hour(usage: Mapping[str, Any]) -> bool | None:
    """Whether most of what a request wrote to Anthropic's cache lives for an hour; None where it does not say.

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
    """The usage of the request that a message answers, from the parts of what was sent; nothing where none is told."""
    numbers = [number for number in sent if isinstance(number, int) and not isinstance(number, bool)]
    if any(number < 0 for number in numbers) or not 0 < sum(numbers) <= _MOST:
        return
    output = answered if is_count(answered) else 0
    model = model if isinstance(model, str) and model else None
    yield Usage(message, sum(numbers), output, is_older, model, lives_hour)


class SignsReader:
    """What a file shows of context windows, by model, in the order of the file. What no API counted says nothing."""

    def __init__(self) -> None:
        self._found: dict[str | None, WindowSigns] = {}
        self.last = 0
        """Tokens of the newest request, with its answer."""
        self._model: str | None = None

    @property
    def found(self) -> tuple[WindowSigns, ...]:
        return tuple(self._found.values())

    def used(self, model: Any, sent: int, answered: int = 0) -> None:
        """A request of so many tokens was answered by that model."""
        self._model = model if isinstance(model, str) and model else None
        self.last = sent + answered
        signs = self._signs
        if is_count(sent) and sent > signs.used:
            self._found[self._model] = replace(signs, used=sent)

    def compacted(self, tokens: Any) -> None:
        """The client compacted by itself when so many were in use."""
        if is_count(tokens):
            self._found[self._model] = replace(self._signs, compacted_at=tokens)

    def named(self, model: str | None, tokens: Any) -> None:
        """The client says how large the window is."""
        self._model = model
        if is_count(tokens):
            self._found[model] = replace(self._signs, named=tokens)

    @property
    def _signs(self) -> WindowSigns:
        return self._found.get(self._model) or WindowSigns(self._model)
