"""Convert a transcript of any format to messages of an API: one object as its endpoint takes it.

Calls and results are paired anew by the rules of the API. Calls that an agent writes into its text stay text, and so do
their results: its prompt tells it to write them so. Content that the API has no place for is left out and reported.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import Block, JsonPath, Message, Place, Transcript
from ..core.values import STANDING_ROLES, BlockKind, Family, Role
from ..errors import UsageError
from ..rules.validity import server_calls_answered
from .engine.base import Values
from .engine.client_text import is_injected

Json = dict[str, Any]


class Call(Struct, frozen=True):
    """A call; `arguments` are JSON text."""

    id: str
    name: str
    arguments: str


class Result(Struct, frozen=True):
    id: str
    parts: list[Json]
    is_error: bool


class ConvertedTurn(Struct, frozen=True):
    """A message. Its parts, and those of its results, are content blocks of the Messages API."""

    role: Role
    parts: list[Json]
    calls: list[Call]
    results: list[Result]
    is_summary: bool = False


class Losses:
    """Count what is not carried over, and what is changed."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def notes(self) -> Iterator[str]:
        for opening, found in (("Left out", self.left_out), ("Adapted", self.changed)):
            if found:
                yield f"{opening}: {', '.join(f'{what} ({number})' for what, number in found.items())}."


def text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def shortest(parts: list[Json]) -> Any:
    """Return the text if it is alone, otherwise the list of parts."""
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def chat(turns: list[ConvertedTurn], losses: Losses) -> Json:
    messages: list[Json] = []
    for turn in turns:
        seen: list[Json] = []
        for result in turn.results:
            texts, images = _parts(result.parts, losses)
            seen += images
            if result.is_error:
                losses.left_out["error flags of results"] += 1
            told = "\n".join(part["text"] for part in texts)
            messages.append({"role": "tool", "tool_call_id": result.id, "content": told})
        texts, images = _said(turn, losses)
        if seen:
            losses.changed["images in results, which become user content"] += len(seen)
        content = [*seen, *texts, *images]
        if turn.role is Role.ASSISTANT and (content or turn.calls):
            message: Json = {"role": "assistant", "content": shortest(content) if content else None}
            messages.append(message | ({"tool_calls": [_chat_call(call) for call in turn.calls]} if turn.calls else {}))
        elif content:
            messages.append({"role": turn.role.value, "content": shortest(content)})
    return {"messages": messages}


def items(turns: list[ConvertedTurn], losses: Losses) -> Json:
    """Write messages, calls and results side by side. A result may hold images."""
    written: list[Json] = []
    for turn in turns:
        for result in turn.results:
            texts, images = _parts(result.parts, losses)
            if result.is_error:
                losses.left_out["error flags of results"] += 1
            output = _item_content(texts, images, "input_text") or ""
            written.append({"type": "function_call_output", "call_id": result.id, "output": output})
        texts, images = _said(turn, losses)
        content = _item_content(texts, images, "output_text" if turn.role is Role.ASSISTANT else "input_text")
        if content:
            written.append({"type": "message", "role": turn.role.value, "content": content})
        for call in turn.calls:
            named = {"type": "function_call", "call_id": call.id, "name": call.name}
            written.append({**named, "arguments": call.arguments})
    return {"input": written}


def _item_content(texts: list[Json], images: list[Json], kind: str) -> Any:
    """Return a text that is alone, or parts as items have them."""
    if len(texts) == 1 and not images:
        return texts[0]["text"]
    pictures = ({"type": "input_image", "image_url": part["image_url"]["url"], "detail": "auto"} for part in images)
    return [*({"type": kind, "text": part["text"]} for part in texts), *pictures]


def _said(turn: ConvertedTurn, losses: Losses) -> tuple[list[Json], list[Json]]:
    """Return texts and images of a turn; only the user can show images."""
    texts, images = _parts(turn.parts, losses)
    if turn.role is not Role.USER and images:
        losses.left_out["images"] += len(images)
        return texts, []
    return texts, images


def _parts(parts: list[Json], losses: Losses) -> tuple[list[Json], list[Json]]:
    """Return texts and images as chat completions take them."""
    texts: list[Json] = []
    images: list[Json] = []
    for part in parts:
        source = part.get("source")
        if part["type"] == "text":
            texts.append(text_part(part["text"]))
        elif isinstance(source, dict) and source.get("type") in ("base64", "url"):
            url = source.get("url") or f"data:{source.get('media_type')};base64,{source.get('data')}"
            images.append({"type": "image_url", "image_url": {"url": url}})
        else:
            losses.left_out["images"] += 1
    return texts, images


def _chat_call(call: Call) -> Json:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}


TARGETS: Final = ("anthropic", "openai-chat", "openai-responses")

_NO_RESULT: Final = "No result was recorded."
_GO_ON: Final = "Go on."
_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
"""Characters that the APIs refuse in the id and the name of a call."""
_OF_CLIENT: Final = "<system-reminder>\n{}\n</system-reminder>"
"""Claude Code sends its own words in this form; without it a reader would take them for the user's."""
_OF_USER: Final = frozenset({"container_upload", "document", "search_result", "tool_reference"})
_OF_ASSISTANT: Final = frozenset({"redacted_thinking", "server_tool_use", "thinking"})
"""Content blocks of the Messages API that have no other form. Types of servers' results end in `_tool_result`."""
_DATA_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)", re.DOTALL)
_SPELLING: Final = json_text.Style(escapes_non_ascii=False, is_utf8=True)


class Conversion(Struct, frozen=True):
    """The bytes of the new file, and sentences on what was not carried over or had to be changed."""

    data: bytes
    notes: tuple[str, ...]


def convert(transcript: Transcript, to: str) -> Conversion:
    """Convert a transcript to one of `TARGETS`. Everything that is said keeps its order.

    Raises UsageError for any other name.
    """
    if to not in TARGETS:
        raise UsageError(f"There is no conversion to {to!r}.", f"Formats to convert to: {', '.join(TARGETS)}.")
    losses = Losses()
    reader = _Reader(transcript, to, losses)
    turns = _paired([turn for message in transcript.messages for turn in reader.turns(message)], losses)
    if transcript.envelope:
        losses.left_out["system prompt or tool definitions outside the messages"] += 1
    document = {"model": transcript.model} if transcript.model else {}
    document |= _WRITERS[to](turns, losses)
    key, messages = document.popitem()
    listed = ",\n".join(map(_SPELLING.dump, messages))
    head = "".join(f"{_SPELLING.dump(key)}:{_SPELLING.dump(value)},\n" for key, value in document.items())
    return Conversion(json_text.encode(f'{{{head}"{key}":[\n{listed}\n]}}\n'), tuple(losses.notes()))


class _Reader:
    """Take messages apart, whatever format they are from."""

    def __init__(self, transcript: Transcript, to: str, losses: Losses) -> None:
        self._values = Values(transcript.source)
        self._losses = losses
        self._keeps_blocks = to == "anthropic" and transcript.family is Family.ANTHROPIC
        """Whether content blocks can go over as they are."""
        self._tags_own_words = transcript.format == "claude-code"
        calls = (block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_CALL)
        self._in_text = {None, *(call.call_id for call in calls if call.span)}
        """Ids of calls that are in a text, and None."""
        self._on_server_alone = {violation.about for violation in server_calls_answered(transcript)}

    def turns(self, message: Message) -> Iterator[ConvertedTurn]:
        role = Role.USER if message.role is Role.TOOL else message.role
        if any(block.kind is BlockKind.TOOL_CALL and not block.span for block in message.blocks):
            role = Role.ASSISTANT  # In a broken file anybody may call.
        turn = ConvertedTurn(role, [], [], [], message.is_summary)
        blocks = deque(message.blocks)
        while blocks:
            block = blocks.popleft()
            if block.server_call and block.kind is BlockKind.TOOL_RESULT:
                # A server's result goes over as one part, or not at all, however many texts are in it.
                whole = replace(block, kind=BlockKind.OPAQUE, place=Place(block.place.record, block.owner))
                texts = {block.place.path: block.text}
                while blocks and blocks[0].server_call == block.server_call and blocks[0].owner == block.owner:
                    further = blocks.popleft()
                    texts[further.place.path] = further.text
                turn.parts.extend(_with_texts(part, len(block.owner), texts) for part in self._part(whole, role))
            elif block.answers not in self._in_text:
                self._add_result(block, _whole_text(block, blocks), turn.results)
            elif block.span or self._is_text(block):
                text = _whole_text(block, blocks)
                if text.strip():
                    turn.parts.append(text_part(text))
            elif block.kind is BlockKind.TOOL_CALL:
                turn.calls.append(self._call(block))
            else:
                turn.parts.extend(self._part(block, role))
        if turn.parts or turn.calls or turn.results:
            yield turn

    def _is_text(self, block: Block) -> bool:
        if block.kind is BlockKind.OPAQUE:
            return bool(block.text) and not block.is_attached and isinstance(self._value(block), str)
        is_said = block.kind is BlockKind.TOOL_RESULT and block.answers in self._in_text
        return is_said or block.kind is BlockKind.TEXT

    def _value(self, block: Block) -> Any:
        try:
            return self._values(block.place.record, block.place.path)
        except (LookupError, TypeError):  # A value inside a string
            return None

    def _call(self, block: Block) -> Call:
        text = block.text
        arguments = _SPELLING.dump({"input": text}) if block.is_free_text else text
        name = _UNSAFE.sub("_", block.tool or "")[:64] or "tool"
        if name != block.tool:
            self._losses.changed["tool names"] += 1
        return Call(block.call_id or "", name, arguments)

    def _add_result(self, block: Block, text: str, results: list[Result]) -> None:
        call_id = block.answers or ""
        if not results or results[-1].id != call_id:
            results.append(Result(call_id, [], block.is_error))
        if block.span or block.kind is BlockKind.TOOL_RESULT:
            results[-1].parts.extend([text_part(text)] if text.strip() else [])
        else:
            results[-1].parts.extend(self._part(block, Role.USER))

    def _part(self, block: Block, role: Role) -> Iterator[Json]:
        """Yield the block as a content block of the Messages API, if it can be one."""
        value = self._value(block)
        source = _image_source(value) if block.kind is BlockKind.IMAGE and role is Role.USER else None
        if source:
            yield {"type": "image", "source": source}
            return
        if block.kind is BlockKind.THINKING:
            value = self._values(block.place.record, block.owner)
        kind = value_in(value, "type")
        is_half = bool(block.server_call) and block.server_call in self._on_server_alone
        if self._keeps_blocks and isinstance(kind, str) and _goes_over(kind, role) and not is_half:
            yield {key: inner for key, inner in value.items() if key != "cache_control"}
        elif block.kind is BlockKind.OPAQUE and block.text and (block.is_readable or block.answers or kind == "file"):
            is_untold = self._tags_own_words and block.injected and not is_injected(block.text)
            yield text_part(_OF_CLIENT.format(block.text) if is_untold else block.text)
        else:
            what = {BlockKind.THINKING: "thinking", BlockKind.IMAGE: "images"}
            self._losses.left_out[what.get(block.kind, f"content of type {kind}")] += 1


def _with_texts(part: Json, depth: int, texts: Mapping[JsonPath, str]) -> Json:
    """Return a part with its new texts, keyed by their paths in the record; the part is `depth` steps down."""
    edits = {path[depth:]: _SPELLING.literal(text) for path, text in texts.items()}
    changed: Json = json_text.parse_text(json_text.splice(_SPELLING.dump(part), dict(edits)))
    return changed


def _whole_text(block: Block, following: deque[Block]) -> str:
    """Return the text of a block. If a string was split into several blocks, return all of it and take the others."""
    text = block.text
    while block.span and following and following[0].span and following[0].place == block.place:
        text += following.popleft().text
    return text


def _goes_over(kind: str, role: Role) -> bool:
    """Return whether a content block of the Messages API can be in a message of that role."""
    if role is Role.USER:
        return kind in _OF_USER
    return kind in _OF_ASSISTANT or (kind.endswith("_tool_result") and kind != "mcp_tool_result")


def _image_source(value: Any) -> Json | None:
    """Return the source of an image in the form of the Messages API, from any known form; None if it has none."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("source"), dict):
        return dict(value["source"])
    image = value.get("image")
    if isinstance(image, dict) and isinstance(image.get("source"), dict) and "bytes" in image["source"]:  # Bedrock's.
        return {"type": "base64", "media_type": f"image/{image.get('format')}", "data": image["source"]["bytes"]}
    url = value.get("image_url", image)
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str):
        return None
    data = _DATA_URL.fullmatch(url)
    if data:
        return {"type": "base64", "media_type": data[1], "data": data[2]}
    return {"type": "url", "url": url} if url.startswith(("https://", "http://")) else None


def _paired(turns: list[ConvertedTurn], losses: Losses) -> list[ConvertedTurn]:
    """Put every result directly behind its call, and make the ids of calls unique."""
    waiting: dict[str, deque[tuple[int, Result]]] = defaultdict(deque)
    for position, turn in enumerate(turns):
        for result in turn.results:
            waiting[result.id].append((position, result))
    used: set[str] = set()
    paired: list[ConvertedTurn] = []
    taken: set[int] = set()
    for position, turn in enumerate(turns):
        stray = [result for result in turn.results if id(result) not in taken]
        if stray:
            losses.changed["results without a call, which become text"] += len(stray)
        parts = [*(part for result in stray for part in result.parts), *turn.parts]
        calls, results = [], []
        for call in turn.calls:
            new_id = _unique(call.id, used)
            calls.append(Call(new_id, call.name, call.arguments))
            found = waiting[call.id]
            while found and found[0][0] <= position:
                found.popleft()
            if found:
                result = found.popleft()[1]
                taken.add(id(result))
                results.append(Result(new_id, result.parts, result.is_error))
            elif position < len(turns) - 1:
                losses.changed["calls without a result, which get one"] += 1
                results.append(Result(new_id, [text_part(_NO_RESULT)], is_error=True))
        if parts or calls:
            paired.append(ConvertedTurn(turn.role, parts, calls, [], turn.is_summary))
        if results:
            paired.append(ConvertedTurn(Role.USER, [], [], results))
    return paired


def _unique(call_id: str, used: set[str]) -> str:
    safe = _UNSAFE.sub("_", call_id) or "call"
    number, new = 1, safe
    while new in used:
        number += 1
        new = f"{safe}_{number}"
    used.add(new)
    return new


def _anthropic(turns: list[ConvertedTurn], losses: Losses) -> Json:
    system: list[str] = []
    messages: list[Json] = []
    last: ConvertedTurn | None = None
    for turn in turns:
        if turn.role in STANDING_ROLES and not messages:
            system += [part["text"] for part in turn.parts if part["type"] == "text"]
            continue
        role = "assistant" if turn.role is Role.ASSISTANT else "user"
        if turn.role in STANDING_ROLES:
            losses.changed["system messages in the middle, which become user messages"] += 1
        if not messages and role == "assistant":
            losses.changed["a first user message, which was missing"] += 1
            messages.append({"role": "user", "content": [text_part(_GO_ON)]})
        content = [*map(_tool_result, turn.results), *turn.parts, *map(_tool_use, turn.calls)]
        joins = last is not None and not (last.is_summary or turn.is_summary)
        if joins and messages[-1]["role"] == role:
            messages[-1]["content"] += content
        else:
            messages.append({"role": role, "content": content})
        last = turn
    for message in messages:
        message["content"] = shortest(message["content"])
    return ({"system": "\n\n".join(system)} if system else {}) | {"messages": messages}


def _tool_result(result: Result) -> Json:
    block = {"type": "tool_result", "tool_use_id": result.id, "content": shortest(result.parts)}
    return block | {"is_error": True} if result.is_error else block


def _tool_use(call: Call) -> Json:
    try:
        arguments = json_text.parse_text(call.arguments)
    except (ValueError, RecursionError):
        arguments = call.arguments
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


_WRITERS: Final[dict[str, Callable[[list[ConvertedTurn], Losses], Json]]] = dict(
    zip(TARGETS, (_anthropic, chat, items), strict=True)
)
"""Writers of what each API takes beside the model; the list of messages comes last."""
