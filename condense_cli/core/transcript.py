"""The values that everything else works on: a transcript, its messages and their blocks; and calls with their results.

All of them are frozen. A pass does not edit a transcript; it makes a new one that shares every block it left alone. The
bytes of the file stay in `Source`, so that what nobody changed is written back as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from .markers import GO_ON, begins_as_summary, content_hash, parse_summary
from .values import (
    CONTENT_TYPE_OF_KIND,
    BlockKind,
    Container,
    ContentType,
    Family,
    LazyText,
    Role,
    Text,
    Usage,
    WindowSigns,
    compact,
)
from .wording import plural

TEXT_CALL = "text-call-"
"""How ids begin that are made up here, for calls that a format writes as text and links by order alone."""

TYPED_KINDS: Final = ("queued_command", "bashExecution")
"""Words of a person that the client sends with some of its own: a prompt that waited until the agent was free, as
Claude Code calls it, and a command in a shell, as pi does."""

SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
"""What Anthropic's API calls the calls that a server answers. Names of their results end in `_tool_result`."""

JsonPath = tuple[str | int, ...]
"""Keys and indices that lead from a record's root to a value inside it."""

IN_STRING: Final = "\0json"
"""A step of a path: the string reached so far holds a JSON text, and the rest of the path leads on inside that."""


# Without a header for the garbage collector, of which there would be one a block: neither can be part of a circle.
class Place(Struct, frozen=True, cache_hash=True, gc=False):
    """Where a value stands in the file: the record's number and the path inside that record."""

    record: int
    path: JsonPath


BlockKey = tuple[Place, tuple[int, int] | None, JsonPath]
"""What names a block through a run, whatever becomes of its text: where it stands in the file."""


class Block(Struct, frozen=True, gc=False):
    """One piece of content.

    `content` is what the model reads, and `text` is that as a string: for a tool call the JSON text of its
    arguments, for an image or encrypted thinking empty (`estimate` then holds the tokens it is taken to cost).
    `place` is where the content stands and is replaced; where it is only a part of a string, `span` is that part,
    as character offsets. `owner` is the path of the whole API block, which goes when the block is removed. A tool
    result whose content is a list gives one block per part; all of them carry the same `call_id` and `owner`.
    `is_object` tells that the file holds the arguments as an object, not as JSON in a string; `is_free_text` that
    they are no JSON at all, but one text as the tool takes it. `edits` are the values of a tool call's arguments
    that were replaced, by their path inside the arguments: strings, or None for any other value, which `content`
    has; the rest keeps its bytes. A block that `summarizes` was written in place of earlier messages, or leads
    on from that. One that `anchors` stays: without it the client would send what stands before the conversation, or
    nobody could tell what it stands for. One that `demonstrates` is from an example of the client's. `api_type` is what
    the API calls an opaque block; one that `is_readable` has its text for content, others have their JSON.
    `server_call` is the id of a call that a server answers, in the call and in its result. `digest` is the hash of an
    image's data, `pixels` are its width and height where its header tells them, `encoded` the characters of base64 that
    it or a document has. Thinking that is `unsigned` is not the API's own. Of `content`, the first `lead` characters
    are not at its `place`. A block that `stands_in` was an image: its `place` is that of the whole part. One that is
    `forgotten` costs nothing: the client sends it, and the API leaves it out. A result `is_answer` where a field of the
    format says that a person gave it. One that `is_unknown` was not understood: it may be a call, a result or anything.
    """

    kind: BlockKind
    place: Place
    owner: JsonPath
    content: Text = ""
    span: tuple[int, int] | None = None
    tool: str | None = None
    call_id: str | None = None
    is_error: bool = False
    injected: bool = False
    estimate: int = 0
    is_object: bool = False
    is_free_text: bool = False
    changed: bool = False
    edits: tuple[tuple[JsonPath, Text | None], ...] = ()
    api_type: str = ""
    is_readable: bool = False
    server_call: str = ""
    digest: str = ""
    pixels: tuple[int, int] | None = None
    encoded: int = 0
    unsigned: bool = False
    lead: int = 0
    stands_in: bool = False
    summarizes: bool = False
    anchors: bool = False
    demonstrates: bool = False
    forgotten: bool = False
    is_answer: bool = False
    is_unknown: bool = False

    @property
    def key(self) -> BlockKey:
        return self.place, self.span, self.owner

    @property
    def is_document(self) -> bool:
        """Whether it is a file that somebody attached, no image. What has its JSON or text for content is none."""
        return self.kind is BlockKind.OPAQUE and bool(self.estimate) and not (self.content or self.injected)

    @property
    def is_inserted(self) -> bool:
        """Whether it is new: not in its record, which it takes the place of."""
        return self.changed and not self.place.path

    @property
    def is_attached(self) -> bool:
        """Whether it is a text that the client attached, whose words at its `place` are what is sent."""
        is_readable = self.kind is BlockKind.OPAQUE and self.is_readable and not self.call_id
        return is_readable and self.injected and self.place.path != self.owner

    @property
    def looks_like_summary(self) -> bool:
        """Whether it is one, or begins as ours do, whoever wrote it: no message is made of it and its neighbours."""
        return self.summarizes or (self.kind is BlockKind.TEXT and begins_as_summary(self.content))

    @property
    def leads_on(self) -> bool:
        """Whether it is the line between a summary and the next message."""
        return self.summarizes and self.content == GO_ON

    @property
    def text(self) -> str:
        return str(self.content)

    def reads_as(self, other: Block) -> bool:
        """Whether both have the same text."""
        one, two = self.content, other.content
        return one is two or (isinstance(one, LazyText) and one == two) or self.text == other.text

    @property
    def content_type(self) -> ContentType | None:
        return CONTENT_TYPE_OF_KIND.get(self.kind)

    @property
    def answers(self) -> str | None:
        """The id of the call that this block is (a part of) the result of."""
        return None if self.kind is BlockKind.TOOL_CALL else self.call_id

    def part(self, start: int, end: int) -> Block:
        """The piece of a text block between two offsets."""
        return replace(self, content=compact(self.text[start:end]), span=(start, end))

    def with_text(self, text: Text) -> Block:
        return replace(self, content=compact(text), changed=True)

    def replaced_by(self, text: str, kind: BlockKind) -> Block:
        """A text block in place of an image; `kind` is what such a text is where the image stands."""
        return replace(self, kind=kind, content=text, estimate=0, changed=True, stands_in=True)

    def with_edits(self, text: str, edits: Mapping[JsonPath, Any]) -> Block:
        new = {path: compact(value) if isinstance(value, str) else None for path, value in edits.items()}
        return replace(self, content=compact(text), edits=tuple({**dict(self.edits), **new}.items()), changed=True)


class Message(Struct, frozen=True):
    """One turn: a message as the API sees it, which may be spread over several records.

    A summary takes the place, and the index, of the first message that it stands for.
    `index` is its number in the transcript as it was read and stays the same when others go.
    """

    index: int
    role: Role
    blocks: tuple[Block, ...]

    @property
    def is_injected(self) -> bool:
        """Whether the client wrote all of it, and the user none."""
        return self.role is Role.USER and all(block.injected for block in self.blocks)

    @property
    def is_summary(self) -> bool:
        """Whether it stands for earlier messages, or leads from such a text to the next one."""
        return any(block.summarizes for block in self.blocks)

    @property
    def is_note(self) -> bool:
        """Whether it holds lines of a few calls, at their place."""
        return any(
            (mark := parse_summary(block.text)) is not None and mark.is_note
            for block in self.blocks
            if block.summarizes
        )

    @property
    def stands_apart(self) -> bool:
        """Whether it stays a message of its own because it is a summary, or begins like one."""
        return any(block.looks_like_summary for block in self.blocks)

    @property
    def is_inserted(self) -> bool:
        return any(block.is_inserted for block in self.blocks)

    @property
    def is_only_thinking(self) -> bool:
        """Such a turn goes when its thinking goes; not counting it keeps every window where it was."""
        return bool(self.blocks) and all(block.kind is BlockKind.THINKING for block in self.blocks)

    @property
    def turns(self) -> int:
        """How many turns of the conversation it stands for."""
        if self.is_only_thinking or any(block.leads_on for block in self.blocks):
            return 0
        marks = [parse_summary(block.text) for block in self.blocks if block.summarizes]
        return max((mark.messages for mark in marks if mark), default=1)

    @property
    def hash(self) -> str:
        """Names the message by what it says and by the ids of its calls."""
        return content_hash("\n".join(f"{block.call_id or ''} {block.digest or block.text}" for block in self.blocks))

    @property
    def answers_calls(self) -> bool:
        return any(block.answers for block in self.blocks)

    @property
    def has_calls(self) -> bool:
        return any(block.kind is BlockKind.TOOL_CALL for block in self.blocks)


class Source(Struct, frozen=True):
    """The file's bytes and where each record stands in them, as (start, end) offsets."""

    data: bytes
    spans: tuple[tuple[int, int], ...]
    container: Container
    unparsed: frozenset[int] = frozenset()
    """Records that are not JSON and were kept as they are because the user asked for it."""
    beside: int = 0
    """How many of the records, the last ones, are no part of the conversation but repeat it elsewhere in the file."""

    @property
    def listed(self) -> int:
        """How many records stand in the list that is the conversation."""
        return len(self.spans) - self.beside

    def line_of(self, record: int) -> int:
        """Number, from 1, of the line where a record begins."""
        return self.data.count(b"\n", 0, self.spans[record][0]) + 1

    def view(self, record: int) -> memoryview:
        """The bytes of a record, not copied."""
        return memoryview(self.data)[slice(*self.spans[record])]

    def raw(self, record: int) -> bytes:
        start, end = self.spans[record]
        return self.data[start:end]


class FirstRequest(Struct, frozen=True):
    """The first request of a file that a compaction cut off: its messages, and the tokens that the API reported.

    They are those of a `model`, None where the file does not say so.
    """

    messages: tuple[Message, ...]
    input_tokens: int
    model: str | None = None


class Slimmed(Struct, frozen=True):
    """A value that a client shows and no model sees, and the JSON literal that is written in its place.

    `kind` says what the value was, `saved` how many bytes the file loses by it.
    """

    place: Place
    kind: str
    literal: str
    saved: int


class Transcript(Struct, frozen=True):
    """One conversation in order, with the file it came from.

    `removed` are blocks of the source that are no longer in `messages`. `envelope` is text of the file that is sent
    with every request besides the messages (system prompt, tool definitions), all of it where `is_envelope_whole`. One
    that `begins_in_middle` continues messages that the file does not hold. `window_signs` are at most one for each
    model. `unknown` counts, by their kinds, records of which nobody knows whether they are sent. `slimmed` is no part
    of the conversation: it only makes the file smaller.
    """

    format: str
    family: Family
    messages: tuple[Message, ...]
    source: Source
    model: str | None = None
    envelope: str = ""
    is_envelope_whole: bool = False
    begins_in_middle: bool = False
    usages: tuple[Usage, ...] = ()
    first_request: FirstRequest | None = None
    window_signs: tuple[WindowSigns, ...] = ()
    removed: tuple[Block, ...] = ()
    slimmed: tuple[Slimmed, ...] = ()
    unknown: tuple[tuple[str, int], ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<Transcript: {self.format}, {plural(len(self.messages), 'message')}>"

    def blocks(self) -> Iterator[tuple[Message, Block]]:
        for message in self.messages:
            for block in message.blocks:
                yield message, block

    def continued_by(self, model: str | None) -> Transcript:
        """The transcript with another model that goes on. What was recorded is of the one that was there before."""
        if model == self.model or model is None:
            return self
        was = self.model
        first = self.first_request
        return replace(
            self,
            model=model,
            usages=tuple(replace(usage, model=usage.model or was) for usage in self.usages),
            first_request=first and replace(first, model=first.model or was),
            window_signs=tuple(replace(signs, model=signs.model or was) for signs in self.window_signs),
        )

    @property
    def first_usage(self) -> Usage | None:
        """The first that was recorded for this conversation."""
        return next((usage for usage in self.usages if not usage.is_older), None)

    @property
    def lives_hour(self) -> bool:
        """Whether the client writes caches that live for an hour, by the newest usage that tells it."""
        return next((usage.lives_hour for usage in reversed(self.usages) if usage.lives_hour is not None), False)

    @property
    def has_new_summary(self) -> bool:
        """Whether a message stands in it that is not in the source."""
        return any(message.is_inserted for message in self.messages)

    @property
    def is_changed(self) -> bool:
        """Whether the file is written otherwise than it was read."""
        return bool(self.removed or self.slimmed) or any(block.changed for _, block in self.blocks())


def calls_by_id(messages: Sequence[Message]) -> dict[str, Block]:
    """Every tool call by its id; of calls that share an id the first counts."""
    calls: dict[str, Block] = {}
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL and block.call_id:
                calls.setdefault(block.call_id, block)
    return calls


def cut_before(messages: Sequence[Message], position: int) -> int:
    """The nearest position at or before `position` where a cut separates no call from its result.

    Positions are indices into `messages`; a cut at p puts messages[:p] on one side.
    """
    position = max(0, min(position, len(messages)))
    calls = _positions_of_calls(messages)
    earliest = min(calls[position:], default=position)
    while 0 < position < len(messages) and (earliest < position or messages[position].answers_calls):
        position -= 1
        earliest = min(earliest, calls[position])
    return position


def _positions_of_calls(messages: Sequence[Message]) -> list[int]:
    """For each message the position of the first whose calls it answers: its own where it answers none.

    Where results need not follow at once, words of the assistant may stand between two results of one message.
    """
    callers: dict[str | None, int] = {}
    on_server: dict[str, int] = {}
    found: list[int] = []
    for position, message in enumerate(messages):
        first = position
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                callers[block.call_id] = position
            elif block.answers:
                first = min(first, callers.get(block.answers, position))
            elif block.server_call:
                first = min(first, on_server.setdefault(block.server_call, position))
        found.append(first)
    return found


def stretches(messages: Sequence[Message]) -> list[range]:
    """The smallest stretches of messages that can go without separating a call from its result, as positions."""
    last_answer = {
        block.answers: position for position, m in enumerate(messages) for block in m.blocks if block.answers
    }
    last_answer |= {b.server_call: position for position, m in enumerate(messages) for b in m.blocks if b.server_call}
    found: list[range] = []
    start = reach = 0
    for position, message in enumerate(messages):
        reach = max([reach, *(last_answer.get(block.call_id or block.server_call, 0) for block in message.blocks)])
        is_followed = position + 1 < len(messages) and messages[position + 1].answers_calls
        if reach <= position and not is_followed:
            found.append(range(start, position + 1))
            start = position + 1
    return [*found, range(start, len(messages))] if start < len(messages) else found
