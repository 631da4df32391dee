"""Check what an API refuses: one function per rule, in the API's words if they are known.

Each rule looks at a transcript and yields violations. Wordings come from public issue threads and vendor documentation;
`validate` runs the rules of the transcript's family.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from re import Pattern
from typing import Any, Final

from msgspec import Struct

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import SERVER_CALLS, TEXT_CALL, Block, JsonPath, Message, Source, Transcript
from ..core.values import BlockKind, Family, Role, size_of
from ..tokens.models import binds_thinking


class Violation(Struct, frozen=True):
    """A rule that a transcript breaks; `message` is an index, `said` what the API would answer. `about` names the
    call or block, so that the same violation is recognised before and after a run."""

    rule: str
    message: int
    about: str
    said: str


Rule = Callable[[Transcript], Iterator[Violation]]


CACHE_MARKS: Final = 4


def server_calls_answered(transcript: Transcript) -> Iterator[Violation]:
    """Calls of server tools need results, and results a call before them.

    If a client's tools were called beside it, the result is in the next answer; code that calls tools itself goes
    on until the user speaks again. https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
    """
    called: set[str] = set()
    waiting: dict[str, tuple[int, bool]] = {}
    for message in transcript.messages:
        for block in message.blocks:
            call = block.server_call
            if not call:
                continue
            if block.api_type in SERVER_CALLS:
                called.add(call)
                waiting[call] = message.index, '"name":"code_execution"' in block.text
                continue
            waiting.pop(call, None)
            if call not in called:
                said = (
                    f"messages.{message.index}: unexpected `tool_use_id` found in `{block.api_type}` blocks: {call}. "
                    f"Each `{block.api_type}` block must have a corresponding `server_tool_use` block before it."
                )
                yield Violation("server_calls_answered", message.index, call, said)
        is_over = message.role is Role.USER and not message.answers_calls
        for call, (index, is_code) in list(waiting.items()):
            if index != message.index and (is_over or (message.role is Role.ASSISTANT and not is_code)):
                said = f"messages.{index}: tool use with id `{call}` was found without a corresponding result block"
                yield Violation("server_calls_answered", index, call, said)
                del waiting[call]


def thinking_is_signed(transcript: Transcript) -> Iterator[Violation]:
    """The API takes back what it signed, also without its text. Other vendors' models think without a signature."""
    if transcript.model and "claude" not in transcript.model.lower():
        return
    for message, block in transcript.blocks():
        if block.unsigned:
            said = f"messages.{message.index}: Invalid `signature` in `thinking` block"
            yield Violation("thinking_is_signed", message.index, str(block.place), said)


def documents_not_from_assistant(transcript: Transcript) -> Iterator[Violation]:
    """https://platform.claude.com/docs/en/api/migration-2026-10-21"""
    for message, block in transcript.blocks():
        if block.api_type == "document" and message.role is Role.ASSISTANT:
            said = f"messages.{message.index}: `document` blocks are not allowed in assistant messages"
            yield Violation("documents_not_from_assistant", message.index, str(block.place), said)


def compaction_comes_first(transcript: Transcript) -> Iterator[Violation]:
    """A signed compaction comes first. Before one without a signature, an older kind, the API drops everything."""
    source = transcript.source
    for position, (message, block) in enumerate(transcript.blocks()):
        if not position or block.api_type != "compaction":
            continue
        if "signature" in _value_at(json_text.parse(source.view(block.place.record)), block.place.path):
            said = f"messages.{message.index}: compaction_block_misplaced: it must be the first block, and the only one"
            yield Violation("compaction_comes_first", message.index, str(block.place), said)


def at_most_four_cache_marks(transcript: Transcript) -> Iterator[Violation]:
    source = transcript.source
    if b"cache_control" not in source.data:
        return
    owners: dict[int, dict[JsonPath, int]] = {}
    for message, block in transcript.blocks():
        if not block.is_inserted:
            owners.setdefault(block.place.record, {})[block.owner] = message.index
    marked = [
        index
        for record, paths in owners.items()
        if b"cache_control" in source.raw(record)
        for value in (json_text.parse(source.view(record)),)
        for path, index in paths.items()
        for part in _with_parts(_value_at(value, path))
        if part.get("cache_control")
    ]
    if len(marked) > CACHE_MARKS:
        said = f"A maximum of {CACHE_MARKS} blocks with cache_control may be provided. Found {len(marked)}."
        yield Violation("at_most_four_cache_marks", marked[CACHE_MARKS], "", said)


def _value_at(value: Any, path: JsonPath) -> dict[str, Any]:
    """Return the object at a path of a record; empty if there is none, or it is inside a string."""
    try:
        for key in path:
            value = value[key]
    except (LookupError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _with_parts(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield an API block and those inside it."""
    content = value.get("content")
    yield value
    yield from (part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))


_SIDE: Final = 8_000
_MANY: Final = 20
_SIDE_OF_MANY: Final = 2_000
"""Largest width and height of an image in pixels, and the same if a request has more than _MANY images.
https://platform.claude.com/docs/en/build-with-claude/vision"""

LARGEST_IMAGE: Final = 10 * 2**20
"""Largest image in characters of base64: 5 MB until 2026."""

IMAGES: Final = 600
"""Largest number of images in a request; 100 for models with a window of 200,000 tokens.
https://platform.claude.com/docs/en/build-with-claude/vision"""

REQUEST: Final = 32 * 2**20
MESSAGES: Final = 100_000
"""Largest request in bytes and messages. https://platform.claude.com/docs/en/api/overview#request-size-limits"""


def images_not_too_large(transcript: Transcript) -> Iterator[Violation]:
    """Images of results count as well. An image with an unknown header may have any size."""
    images = [(message.index, block) for message, block in transcript.blocks() if block.kind is BlockKind.IMAGE]
    is_many = len(images) > _MANY
    most = _SIDE_OF_MANY if is_many else _SIDE
    for index, block in images:
        about = str(block.place)
        if block.pixels and max(block.pixels) > most:
            said = (
                f"messages.{index}: At least one of the image dimensions exceed max allowed size"
                f"{' for many-image requests' if is_many else ''}: {most} pixels"
            )
            yield Violation("images_not_too_large", index, about, said)
        if block.encoded > LARGEST_IMAGE:
            said = f"messages.{index}: image exceeds 10 MB maximum: {block.encoded} bytes > {LARGEST_IMAGE} bytes"
            yield Violation("images_not_too_large", index, about, said)


def images_not_too_many(transcript: Transcript) -> Iterator[Violation]:
    images = [message.index for message, block in transcript.blocks() if block.kind is BlockKind.IMAGE]
    if len(images) > IMAGES:
        said = f"messages: too much media: {len(images)} images > {IMAGES}"
        yield Violation("images_not_too_many", images[0], "images", said)


def request_not_too_large(transcript: Transcript) -> Iterator[Violation]:
    """Counts the characters sent, each at least a byte. Tokens are another limit, that of the model."""
    messages = transcript.messages
    if len(messages) > MESSAGES:
        said = f"messages: a request has at most {MESSAGES} messages, not {len(messages)}"
        yield Violation("request_not_too_large", messages[MESSAGES].index, "messages", said)
    size = 0
    for message, block in transcript.blocks():
        size += size_of(block.content) + (0 if block.replaces_image else block.encoded)
        if size > REQUEST:
            said = "request_too_large: Request exceeds the maximum size"
            yield Violation("request_not_too_large", message.index, "", said)
            return


_ESCAPED: Final = lazy_pattern(
    rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|[c-fC-F][0-9a-fA-F]{2}(?<!\\u[dD][89abAB]..\\u....))"
)
"""The escape of a lone surrogate; also of one behind an escaped backslash, which is text."""


def texts_are_unicode(transcript: Transcript) -> Iterator[Violation]:
    """Half of a surrogate pair is left where a client cuts a text in the middle of an emoji.

    Claude Code 2.1.143 sends it, and 2.1.332 puts U+FFFD in its place.
    """
    data = transcript.source.data
    if not (b"\\ud" in data or b"\\uD" in data) or not _ESCAPED.search(data):
        return
    lone = lone_surrogates(transcript)
    for message in transcript.messages:
        # Not named by its place: a summary may quote such a text elsewhere, which is no new violation.
        if any(lone.search(block.text) for block in message.blocks):
            said = f"messages.{message.index}: The request body is not valid JSON: no low surrogate in string"
            yield Violation("texts_are_unicode", message.index, "", said)


def lone_surrogates(transcript: Transcript) -> Pattern[str]:
    """Return the pattern of those that encode no byte of the file."""
    return json_text.SURROGATE if json_text.is_utf8(transcript.source.data) else json_text.NO_BYTE


BOUND_THINKING: Final = "thinking_bound_to_prefix"


def _calls(message: Message) -> list[str]:
    """Yield ids of the calls in a message. Calls linked by order alone have no id that an API would check."""
    ids = [block.call_id for block in message.blocks if block.kind is BlockKind.TOOL_CALL]
    return [call_id for call_id in ids if call_id and not call_id.startswith(TEXT_CALL)]


def _answers(message: Message) -> list[str]:
    """Yield ids of the results in a message, each API block once."""
    results = [
        (block.call_id, block)
        for block in message.blocks
        if block.call_id and block.kind is not BlockKind.TOOL_CALL and not block.call_id.startswith(TEXT_CALL)
    ]
    if len(results) > 1:
        return list({(block.place.record, block.owner): answer for answer, block in results}.values())
    return [answer for answer, _ in results]


def first_message_from_user(transcript: Transcript) -> Iterator[Violation]:
    """Standing instructions go beside the messages, or between them. Only a compaction may come first too."""
    messages = transcript.messages
    is_compacted = bool(messages and messages[0].blocks) and messages[0].blocks[0].api_type == "compaction"
    if messages and messages[0].role is not Role.USER and not is_compacted:
        said = "messages: first message must use the user role"
        yield Violation("first_message_from_user", messages[0].index, "", said)


def calls_answered_next(transcript: Transcript) -> Iterator[Violation]:
    """Every call is answered in the next message. The last message may hold an open call."""
    messages = transcript.messages
    for position, message in enumerate(messages[:-1]):
        calls = _calls(message)
        answers = set(_answers(messages[position + 1])) if calls else set()
        for call in calls:
            if call in answers:
                continue
            said = (
                f"messages.{message.index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{call}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
            yield Violation("calls_answered_next", message.index, call, said)


def results_follow_calls(transcript: Transcript) -> Iterator[Violation]:
    previous: set[str] = set()
    for message in transcript.messages:
        for answer in _answers(message):
            if answer not in previous:
                said = (
                    f"messages.{message.index}: unexpected `tool_use_id` found in `tool_result` blocks: {answer}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
                yield Violation("results_follow_calls", message.index, answer, said)
        previous = set(_calls(message))


def one_result_per_call(transcript: Transcript) -> Iterator[Violation]:
    for message in transcript.messages:
        answers = _answers(message)
        for answer, times in Counter(answers).items() if len(answers) > 1 else ():
            if times == 1:
                continue
            said = (
                f"messages.{message.index}: each tool_use must have a single result. Found multiple `tool_result` "
                f"blocks with id: {answer}"
            )
            yield Violation("one_result_per_call", message.index, answer, said)


def call_ids_unique(transcript: Transcript) -> Iterator[Violation]:
    seen: set[str] = set()
    for message in transcript.messages:
        for call in _calls(message):
            if call in seen:
                said = f"messages.{message.index}: `tool_use` ids must be unique ({call})"
                yield Violation("call_ids_unique", message.index, call, said)
            seen.add(call)


def results_come_first(transcript: Transcript) -> Iterator[Violation]:
    for message in transcript.messages:
        texts_begun = False
        for block in message.blocks:
            if block.answers and texts_begun and not block.answers.startswith(TEXT_CALL):
                said = (
                    f"messages.{message.index}: `tool_result` blocks must come first in the content, before any text "
                    f"({block.answers})"
                )
                yield Violation("results_come_first", message.index, block.answers, said)
                break
            texts_begun = texts_begun or not block.answers


def texts_not_blank(transcript: Transcript) -> Iterator[Violation]:
    """A message whose content is an empty string is empty, which is another rule."""
    for message, block in transcript.blocks():
        if block.kind is not BlockKind.TEXT or block.span:
            continue
        text = block.text
        if not text.strip() and (text or len(block.owner) > 1):
            what = "contain non-whitespace text" if text else "be non-empty"
            said = f"messages.{message.index}: text content blocks must {what}"
            yield Violation("texts_not_blank", message.index, str(block.place), said)


def messages_not_empty(transcript: Transcript) -> Iterator[Violation]:
    """Only a final assistant message may be empty."""
    for message in transcript.messages:
        if message is transcript.messages[-1] and message.role is Role.ASSISTANT:
            continue
        if all(block.kind is BlockKind.TEXT and not block.text for block in message.blocks):
            said = (
                f"messages.{message.index}: all messages must have non-empty content except for the optional final "
                "assistant message"
            )
            yield Violation("messages_not_empty", message.index, "", said)


def thinking_bound_to_prefix(transcript: Transcript) -> Iterator[Violation]:
    """Newer models sign thinking together with everything before it; an edit there breaks it.

    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking/prefix-checks
    """
    if not binds_thinking(transcript.model):
        return
    for position, number in thinking_behind_changes(transcript.messages, transcript.removed):
        message = transcript.messages[position]
        said = (
            f"messages.{message.index}: Invalid `signature` in `thinking` block. The block is bound to a different "
            "conversation."
        )
        yield Violation(BOUND_THINKING, message.index, str(message.blocks[number].place), said)


def thinking_behind_changes(messages: Sequence[Message], removed: Sequence[Block]) -> Iterator[tuple[int, int]]:
    """Yield (message, block) of thinking after a change; `removed` are the blocks that went."""
    first_removed = min((block.place.record for block in removed), default=None)
    is_edited = False
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            is_edited = is_edited or (first_removed is not None and block.place.record > first_removed)
            if is_edited and block.kind is BlockKind.THINKING:
                yield position, number
            is_edited = is_edited or block.changed


def tool_calls_answered(transcript: Transcript) -> Iterator[Violation]:
    """Tool messages for every call follow the assistant message directly. The last one may hold open calls."""
    messages = transcript.messages
    for position, message in enumerate(messages[:-1]):
        follower = messages[position + 1]
        answers = set(_answers(follower)) if follower.role is Role.TOOL else set()
        for call in _calls(message):
            if call not in answers:
                said = (
                    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                    f"'tool_call_id'. The following tool_call_ids did not have response messages: {call}"
                )
                yield Violation("tool_calls_answered", message.index, call, said)


def tool_messages_follow_calls(transcript: Transcript) -> Iterator[Violation]:
    previous: set[str] = set()
    for message in transcript.messages:
        for answer in _answers(message):
            if answer not in previous:
                said = (
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    f"'tool_calls'. ({answer})"
                )
                yield Violation("tool_messages_follow_calls", message.index, answer, said)
        previous = set(_calls(message))


def content_beside_no_calls(transcript: Transcript) -> Iterator[Violation]:
    for message in transcript.messages:
        if not any(block.kind is not BlockKind.THINKING for block in message.blocks):
            said = f"Invalid value for 'content': expected a string, got null. (messages.[{message.index}].content)"
            yield Violation("content_beside_no_calls", message.index, "", said)


def outputs_have_calls(transcript: Transcript) -> Iterator[Violation]:
    """The Responses API takes a list of items: an output may be anywhere after its call."""
    called: set[str] = set()
    for message in transcript.messages:
        for answer in _answers(message):
            if answer not in called:
                said = f"No tool call found for function call output with call_id {answer}."
                yield Violation("outputs_have_calls", message.index, answer, said)
        called.update(_calls(message))


def calls_have_outputs(transcript: Transcript) -> Iterator[Violation]:
    """The last message may hold open calls."""
    answered = {answer for message in transcript.messages for answer in _answers(message)}
    for message in transcript.messages[:-1]:
        for call in _calls(message):
            if call not in answered:
                said = f"No tool output found for function call {call}."
                yield Violation("calls_have_outputs", message.index, call, said)


def _is_interrupted(source: Source, message: Message, after: Message | None) -> bool:
    """Check if a record of a rollout between a message and the next one, or the end, says that the turn ended
    there."""
    end = after.blocks[0].place.record if after and after.blocks else len(source.spans)
    between = map(source.raw, range(message.blocks[-1].place.record + 1, end))
    # In a text these would have backslashes.
    return any(b'"event_msg"' in raw and b'"turn_aborted"' in raw for raw in between)


def reasoning_is_followed(transcript: Transcript) -> Iterator[Violation]:
    """Reasoning is followed by its outcome: the next item of the assistant.

    Codex goes on without it after an interrupted turn, or if another agent has spoken: words of the client follow,
    or only the file notes it.
    """
    is_codex = transcript.format == "codex"
    for message, after in zip_longest(transcript.messages, transcript.messages[1:]):
        if is_codex and after and after.blocks and after.blocks[0].injected:
            continue
        if message.blocks and message.blocks[-1].kind is BlockKind.THINKING:
            if is_codex and _is_interrupted(transcript.source, message, after):
                continue
            said = "Item of type 'reasoning' was provided without its required following item."
            yield Violation("reasoning_is_followed", message.index, str(message.blocks[-1].place), said)


RULES: Final[dict[Family, tuple[Rule, ...]]] = {
    Family.ANTHROPIC: (
        first_message_from_user,
        calls_answered_next,
        results_follow_calls,
        one_result_per_call,
        call_ids_unique,
        results_come_first,
        texts_not_blank,
        messages_not_empty,
        server_calls_answered,
        documents_not_from_assistant,
        compaction_comes_first,
        at_most_four_cache_marks,
        thinking_is_signed,
        thinking_bound_to_prefix,
        images_not_too_large,
        images_not_too_many,
        request_not_too_large,
    ),
    Family.OPENAI_CHAT: (
        tool_calls_answered,
        tool_messages_follow_calls,
        one_result_per_call,
        call_ids_unique,
        content_beside_no_calls,
    ),
    Family.OPENAI_RESPONSES: (
        outputs_have_calls,
        calls_have_outputs,
        one_result_per_call,
        call_ids_unique,
        reasoning_is_followed,
    ),
}

_ONLY_ABOUT: Final[Mapping[Callable[[Block], bool], tuple[Rule, ...]]] = {
    lambda block: bool(block.api_type): (server_calls_answered, documents_not_from_assistant, compaction_comes_first),
    lambda block: block.unsigned: (thinking_is_signed,),
    lambda block: block.kind is BlockKind.IMAGE: (images_not_too_large, images_not_too_many),
}
"""Rules about blocks that most conversations do not have."""

_MENDED_BY_CLAUDE_CODE: Final = (
    texts_not_blank,
    messages_not_empty,
    first_message_from_user,
    at_most_four_cache_marks,
)
TIDIED_BY_CLIENT: Final = {
    "claude-code": frozenset(rule.__name__ for rule in _MENDED_BY_CLAUDE_CODE),
    "codex": frozenset({"outputs_have_calls", "calls_have_outputs"}),
    "claude-stream-json": frozenset({"first_message_from_user"}),
    "roo": frozenset({"thinking_is_signed"}),
    "cline": frozenset({"thinking_is_signed"}),
}
"""Rules whose violations a client mends before it sends.

Claude Code leaves out blank texts and sets cache marks itself. Codex leaves out results without a call, and sends
"aborted" for a call without a result. What Claude Code prints begins behind the prompt. Roo Code and Cline store the
thinking of any model in these blocks, and send an API its own.
"""


def validate_input(transcript: Transcript) -> list[Violation]:
    """Return what `validate` finds, and texts that no run mends."""
    return [*validate(transcript), *texts_are_unicode(transcript)]


def validate(transcript: Transcript) -> list[Violation]:
    """List every violation of the rules of the transcript's family, in the order of the rules."""
    tidied = TIDIED_BY_CLIENT.get(transcript.format, frozenset())
    rules = [rule for rule in RULES[transcript.family] if rule.__name__ not in tidied]
    for is_one, about in _ONLY_ABOUT.items():
        if not any(is_one(block) for _, block in transcript.blocks()):
            rules = [rule for rule in rules if rule not in about]
    if len(transcript.source.data) <= REQUEST and len(transcript.messages) <= MESSAGES:
        rules = [rule for rule in rules if rule is not request_not_too_large]
    return [violation for rule in rules for violation in rule(transcript)]
