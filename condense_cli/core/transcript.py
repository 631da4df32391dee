"""Transcripts, messages and blocks: the values that everything else works on.

All are frozen. A pass returns a new transcript that shares every unchanged block. `Source` keeps the file's bytes, so
unchanged content is written back as it was.
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
"""Prefix of ids made up for calls that a format writes as text and links by order alone."""

TYPED_KINDS: Final = ("queued_command", "bashExecution")
"""User input that clients send along with their own text: a prompt queued while the agent was busy (Claude Code), and a
shell command (pi).
"""

LISTINGS: Final = ("skill_listing", "deferred_tools_delta", "agent_listing_delta", "mcp_instructions_delta")
"""Lists of what a client offers: skills, tools, agents, and what servers say of theirs (Claude Code)."""

SERVER_CALLS: Final = ("server_tool_use", "mcp_tool_use")
"""Types of calls that Anthropic's servers execute. The types of their results end in `_tool_result`."""

JsonPath = tuple[str | int, ...]
"""Keys and indices from a record's root to a value inside it."""

BlockPlace = tuple[int, int]
"""The position of a message in a list, or where said its index in the input, and the number of a block in it."""

IN_STRING: Final = "\0json"
"""Path step into JSON text: the string reached so far holds JSON, and the rest of the path continues inside it."""


# gc=False saves a header per object; neither type can be part of a reference cycle.
class Place(Struct, frozen=True, cache_hash=True, gc=False):
    """Location of a value in the file: record number and path inside the record."""

    record: int
    path: JsonPath


BlockKey = tuple[Place, tuple[int, int] | None, JsonPath]
"""Identifies a block through a run by its location, whatever happens to its text."""


class Block(Struct, frozen=True, gc=False):
    """One piece of content.

    `content` is what the model reads, `text` the same as a string: JSON arguments for a tool call, empty for an image
    or encrypted thinking (`estimate` then holds the assumed tokens). `place` is the location of the content; if the
    content is part of a string, `span` gives character offsets in that string. `owner` is the path of the whole API
    block, which is deleted when the block is removed. A tool result with a list gives one block per part, all with the
    same `call_id` and `owner`. `is_object`: the file holds the arguments as an object, not as JSON in a string.
    `is_free_text`: the arguments are plain text, not JSON. `edits` lists replaced values of the arguments by path:
    strings, or None for other values, which are in `content`; all else keeps its bytes. `summarizes`: the block
    replaces earlier messages, or is the line after such a block. `anchors`: the block must stay, because without it the
    client would send content from before the conversation or nobody could tell what it replaces. `demonstrates`: it
    belongs to an example of the client's. `api_type` is the API's name for an opaque block; `content` is its text if
    `is_readable`, else its JSON. `server_call` is the id of a call that a server executes, on the call and its result.
    `digest` is the hash of an image's data, `pixels` its width and height if its header says, `encoded` the base64
    characters of an image or document. `unsigned` thinking is not the API's own. The first `lead` characters of
    `content` are not at `place`. `replaces_image`: a text that replaced an image; its `place` is the whole part.
    `forgotten`: the client sends it and the API ignores it, so it costs nothing. `is_answer`: a field of the format
    says that a person gave this result. `is_unknown`: not understood; it may be a call, a result or anything.
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
    replaces_image: bool = False
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
        """Return whether it is an attached file other than an image."""
        return self.kind is BlockKind.OPAQUE and bool(self.estimate) and not (self.content or self.injected)

    @property
    def is_inserted(self) -> bool:
        """Return whether the block is new and replaces the whole record."""
        return self.changed and not self.place.path

    @property
    def is_attached(self) -> bool:
        """Return whether it is a text attached by the client whose words at `place` are what is sent."""
        is_readable = self.kind is BlockKind.OPAQUE and self.is_readable and not self.call_id
        return is_readable and self.injected and self.place.path != self.owner

    @property
    def is_listing(self) -> bool:
        """Return whether it is a list that the client attached of what it offers."""
        return self.kind is BlockKind.OPAQUE and self.injected and self.api_type in LISTINGS

    @property
    def looks_like_summary(self) -> bool:
        """Return whether it is a summary or begins like ours. Such a message is never merged with its neighbours."""
        return self.summarizes or (self.kind is BlockKind.TEXT and begins_as_summary(self.content))

    @property
    def leads_on(self) -> bool:
        """Return whether it is the line between a summary and the next message."""
        return self.summarizes and self.content == GO_ON

    @property
    def text(self) -> str:
        return str(self.content)

    def reads_as(self, other: Block) -> bool:
        """Return whether both blocks have the same text."""
        one, two = self.content, other.content
        return one is two or (isinstance(one, LazyText) and one == two) or self.text == other.text

    @property
    def content_type(self) -> ContentType | None:
        return CONTENT_TYPE_OF_KIND.get(self.kind)

    @property
    def answers(self) -> str | None:
        """Id of the call that this block is (part of) the result of."""
        return None if self.kind is BlockKind.TOOL_CALL else self.call_id

    def part(self, start: int, end: int) -> Block:
        """Return the part of a text block between two offsets."""
        return replace(self, content=compact(self.text[start:end]), span=(start, end))

    def with_text(self, text: Text) -> Block:
        return replace(self, content=compact(text), changed=True)

    def replaced_by(self, text: str, kind: BlockKind) -> Block:
        """Return a text block that replaces an image. `kind` is the kind of a text at that place."""
        return replace(self, kind=kind, content=text, estimate=0, changed=True, replaces_image=True)

    def with_edits(self, text: str, edits: Mapping[JsonPath, Any]) -> Block:
        new = {path: compact(value) if isinstance(value, str) else None for path, value in edits.items()}
        return replace(self, content=compact(text), edits=tuple({**dict(self.edits), **new}.items()), changed=True)


class Message(Struct, frozen=True):
    """One turn: a message as the API sees it, possibly spread over several records.

    `index` is its number in the transcript as read; it does not change when other messages go. A summary takes the
    place and index of the first message that it replaces.
    """

    index: int
    role: Role
    blocks: tuple[Block, ...]

    @property
    def is_injected(self) -> bool:
        """Return whether the client wrote all of a user message."""
        return self.role is Role.USER and all(block.injected for block in self.blocks)

    @property
    def is_summary(self) -> bool:
        """Return whether it replaces earlier messages, or is the line after such a message."""
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
    def stays_separate(self) -> bool:
        """Return whether it must stay separate because it is a summary or begins like one."""
        return any(block.looks_like_summary for block in self.blocks)

    @property
    def is_inserted(self) -> bool:
        return any(block.is_inserted for block in self.blocks)

    @property
    def is_only_thinking(self) -> bool:
        """Return whether nothing remains once thinking goes. Not counting such turns keeps every window in place."""
        return bool(self.blocks) and all(block.kind is BlockKind.THINKING for block in self.blocks)

    @property
    def turns(self) -> int:
        """Number of turns of the conversation that it represents."""
        if self.is_only_thinking or any(block.leads_on for block in self.blocks):
            return 0
        marks = [parse_summary(block.text) for block in self.blocks if block.summarizes]
        return max((mark.messages for mark in marks if mark), default=1)

    @property
    def hash(self) -> str:
        """Hash of its texts and call ids."""
        return content_hash("\n".join(f"{block.call_id or ''} {block.digest or block.text}" for block in self.blocks))

    @property
    def answers_calls(self) -> bool:
        return any(block.answers for block in self.blocks)

    @property
    def has_calls(self) -> bool:
        return any(block.kind is BlockKind.TOOL_CALL for block in self.blocks)


class Source(Struct, frozen=True):
    """The file's bytes and the (start, end) offsets of each record."""

    data: bytes
    spans: tuple[tuple[int, int], ...]
    container: Container
    unparsed: frozenset[int] = frozenset()
    """Records that are not JSON, kept verbatim at the user's request."""
    beside: int = 0
    """Number of trailing records that only repeat the conversation elsewhere in the file."""

    @property
    def listed(self) -> int:
        """Number of records in the conversation's own list."""
        return len(self.spans) - self.beside

    def line_of(self, record: int) -> int:
        """Return the 1-based number of the line where a record begins."""
        return self.data.count(b"\n", 0, self.spans[record][0]) + 1

    def view(self, record: int) -> memoryview:
        """Return a record's bytes without copying."""
        return memoryview(self.data)[slice(*self.spans[record])]

    def raw(self, record: int) -> bytes:
        start, end = self.spans[record]
        return self.data[start:end]


class FirstRequest(Struct, frozen=True):
    """The first request of a file before a compaction: its messages and the tokens the API reported.

    `model` is None if the file does not name it.
    """

    messages: tuple[Message, ...]
    input_tokens: int
    model: str | None = None


class Slimmed(Struct, frozen=True):
    """A display-only value and the JSON literal that replaces it in the file.

    `kind` names the sort of value; `saved` is the number of bytes saved.
    """

    place: Place
    kind: str
    literal: str
    saved: int


class Transcript(Struct, frozen=True):
    """One conversation in order, with the file it came from.

    `removed` holds source blocks that are no longer in `messages`. `envelope` is text sent with every request besides
    the messages (system prompt, tool definitions); `is_envelope_whole` says that nothing of it is missing.
    `begins_in_middle`: earlier messages are not in the file. `window_signs` has at most one entry per model. `unknown`
    counts, by kind, records that may or may not be sent. `slimmed` only makes the file smaller and is no part of the
    conversation.
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
        """Return the transcript with a new model; recorded usage keeps the previous one."""
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
        """First usage recorded for this conversation since its last compaction."""
        return next((usage for usage in self.usages if not usage.is_older), None)

    @property
    def lives_hour(self) -> bool:
        """Return whether the client writes one-hour caches, by the newest usage that says so."""
        return next((usage.lives_hour for usage in reversed(self.usages) if usage.lives_hour is not None), False)

    @property
    def has_new_summary(self) -> bool:
        """Return whether it has a message that is not in the source."""
        return any(message.is_inserted for message in self.messages)

    @property
    def is_changed(self) -> bool:
        """Return whether writing it gives another file than was read."""
        return bool(self.removed or self.slimmed) or any(block.changed for _, block in self.blocks())


def calls_by_id(messages: Sequence[Message]) -> dict[str, Block]:
    """Map ids to tool calls. The first of several calls with one id wins."""
    calls: dict[str, Block] = {}
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL and block.call_id:
                calls.setdefault(block.call_id, block)
    return calls


def cut_before(messages: Sequence[Message], position: int) -> int:
    """Return the last position up to `position` where a cut separates no call from its result.

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
    """For each message return the position of the first message whose calls it answers, else its own.

    Where results need not follow at once, assistant text may come between two results for one message.
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
    """Split messages into the smallest ranges that can go without separating a call from its result."""
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
