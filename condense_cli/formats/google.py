"""Contents of Google's API, as they are sent, and in sessions of its Agent Development Kit and of Qwen Code.

{"role": "user" | "model", "parts": [part, ...]}
    {"text", "thought"?} · {"functionCall": {"id"?, "name", "args"}} · {"functionResponse": {"id"?, "name", "response"}}

A call without an id is answered by the next response of its name. https://ai.google.dev/api/caching#Part

Request    {"contents": [content, ...], "systemInstruction"?, "tools"?, "model"?}, or the contents alone
ADK        {"id", "app_name", "user_id", "state", "events": [{"author", "content": content, "actions", ...}, ...]}
           The web interface and the API server write the keys in camel case. https://google.github.io/adk-docs/events/
Qwen Code  {"uuid", "parentUuid", "sessionId", "timestamp", "type": "user" | "assistant" | "tool_result",
            "message": content, "toolCallResult"?: {"resultDisplay"}, ...}
           {…, "type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": [content, ...]}}
           The records form a tree, as Claude Code's do. The client sends the messages on the path to the last record;
           of a compression its history, then what follows.
           https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

from collections import Counter as Tally
from collections import defaultdict, deque
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..core.transcript import TEXT_CALL, Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .engine import beside, client_text, writing
from .engine.base import Evidence, Format, RecordEdits, message_role, only_value, recorded, records_of
from .engine.blocks import Turn, image_block, joined, kept_members, listed, opaque_block, text_block, unknown_block
from .engine.container import Document, as_lazy, only_record, with_records_at, with_records_under

_SAID: Final = ("output", "error", "result", "content", "text")
"""Keys of the text in a response."""
_OF_CALLS: Final = frozenset({"args", "id", "name", "partialArgs", "partial_args", "willContinue", "will_continue"})
_OF_RESULTS: Final = frozenset({
    "id", "name", "parts", "response", "scheduling", "willContinue", "will_continue",
})  # fmt: skip
"""All keys that calls and results may have: a text under another one would not be read."""
WHOLE: Final = frozenset({
    "codeExecutionResult", "code_execution_result", "executableCode", "executable_code", "fileData", "file_data",
    "thoughtSignature", "thought_signature", "toolCall", "toolResponse", "tool_call", "tool_response",
})  # fmt: skip
"""Keys of further parts that are known. No operation rewrites them."""


class PartsReader:
    """Read contents in order. Remembers calls until they are answered."""

    def __init__(self) -> None:
        self._calls = 0
        self._unnamed: dict[str, deque[str]] = defaultdict(deque)
        """Ids that were made up for calls, by the name of the tool."""
        self._tools: dict[str, str] = {}

    def turns(self, content: Any, record: int, path: JsonPath, *, is_model: bool) -> list[tuple[Role, list[Block]]]:
        """Return the turns of a content: its results are a turn of their own, before what else it says."""
        said: list[Block] = []
        results: list[Block] = []
        for number, part in enumerate(listed(content, "parts")):
            owner = (*path, "parts", number)
            for key in ("functionResponse", "function_response"):
                if isinstance(part, dict) and isinstance(part.get(key), dict) and part[key].keys() <= _OF_RESULTS:
                    results.append(self._result(part[key], record, owner, key))
                    break
            else:
                said.append(self._part(part, record, owner, is_user=not is_model))
        role = Role.ASSISTANT if is_model else Role.USER
        return [(role, blocks) for role, blocks in ((Role.TOOL, results), (role, said)) if blocks]

    def _part(self, part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Block:
        if not isinstance(part, dict):
            return unknown_block(part, record, owner)
        text = part.get("text")
        for key in ("functionCall", "function_call"):
            if isinstance(part.get(key), dict) and part[key].keys() <= _OF_CALLS:
                return self._call(part[key], record, owner, key)
        if isinstance(text, str):
            kind = BlockKind.THINKING if part.get("thought") else BlockKind.TEXT
            return text_block(text, record, (*owner, "text"), owner, kind=kind, is_user=is_user)
        for key, kind_key in (("inlineData", "mimeType"), ("inline_data", "mime_type")):
            inline = part.get(key)
            if isinstance(inline, dict):
                if str(inline.get(kind_key)).startswith("image/"):
                    return image_block(inline.get("data"), record, owner)
                estimate = client_text.document(inline.get("data"))
                return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=estimate)
        return unknown_block(part, record, owner) if WHOLE.isdisjoint(part) else opaque_block(part, record, owner)

    def _call(self, call: dict[str, Any], record: int, owner: JsonPath, key: str) -> Block:
        tool = str(call.get("name") or "")
        call_id = call.get("id")
        if not isinstance(call_id, str) or not call_id:
            self._calls += 1
            call_id = f"{TEXT_CALL}{self._calls}"
            self._unnamed[tool].append(call_id)
        self._tools[call_id] = tool
        place = Place(record, (*owner, key, "args"))
        text = json_text.dump_compact(call.get("args") or {})
        return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call_id, is_object=True)

    def _result(self, answer: dict[str, Any], record: int, owner: JsonPath, key: str) -> Block:
        tool, call_id = str(answer.get("name") or ""), answer.get("id")
        if not isinstance(call_id, str) or not call_id:
            waiting = self._unnamed[tool]
            call_id = waiting.popleft() if waiting else f"{TEXT_CALL}of-nothing-{record}"
        common: dict[str, Any] = {"call_id": call_id, "tool": self._tools.get(call_id) or tool}
        path, response = (*owner, key, "response"), answer.get("response")
        for name in _SAID:
            text = value_in(response, name)
            if isinstance(text, str):
                common["is_error"] = name == "error"
                return text_block(text, record, (*path, name), owner, kind=BlockKind.TOOL_RESULT, **common)
        content = "" if response in (None, {}) else json_text.dump_compact(response)
        return Block(BlockKind.OPAQUE, Place(record, path), owner, content=content, **common)


def contents_evidence(value: Any) -> Evidence:
    parts = listed(value, "parts")
    is_content = isinstance(value, dict) and value.get("role") in ("user", "model", "function")
    are_known = all(isinstance(part, dict) and "type" not in part for part in parts)
    return Evidence.YES if is_content and parts and are_known else Evidence.NO


def _read_contents(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if len(records) == 1 and listed(records[0], "contents"):
        document = with_records_under(document, "contents")
        records = list(document.values)
    reader = PartsReader()
    turns: list[Turn] = []
    for record, value in enumerate(records):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, {"user": Role.USER, "model": Role.ASSISTANT, "function": Role.TOOL})
        for speaker, blocks in reader.turns(value, record, (), is_model=role is Role.ASSISTANT):
            turns.append(Turn(speaker, as_lazy(blocks, document.source)))
    envelope, model = document.envelope, text_in(document.envelope, "model")
    sent = (envelope.get(key) for key in ("systemInstruction", "system_instruction", "tools"))
    return Transcript(
        "gemini-contents",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model and model.removeprefix("models/"),
        envelope="\n".join(json_text.dump_compact(part) for part in sent if part),
    )


def _claims_contents(document: Document) -> bool:
    contents = listed(only_value(document, "contents"), "contents")
    return bool(contents) and contents_evidence(contents[0]) is Evidence.YES


def _new_content(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"role": '"user"', "parts": f'[{{"text": {literal}}}]'}


CONTENTS: Final = Format(
    "gemini-contents",
    Family.OPENAI_CHAT,
    "Contents of the Gemini and Vertex APIs: JSON lines, an array, or an object with contents",
    contents_evidence,
    _read_contents,
    claims=_claims_contents,
    new_message=_new_content,
    summary_role=Role.USER,
)


def _adk_evidence(value: Any) -> Evidence:
    is_session = isinstance(value, dict) and isinstance(value.get("events"), list)
    return Evidence.YES if is_session and ("app_name" in value or "appName" in value) else Evidence.NO


def _read_adk(document: Document, values: Iterator[Any]) -> Transcript:
    if _adk_evidence(only_record(document, values, "sessions", "session.json")) is Evidence.NO:
        raise UnknownFormatError("It has no events and no app_name.", "Name an ADK session.")
    document = with_records_at(document, 0, ("events",))
    reader = PartsReader()
    turns: list[Turn] = []
    for record, event in enumerate(document.values):
        content = value_in(event, "content")
        is_model = value_in(content, "role") == "model"
        for role, blocks in reader.turns(content, record, ("content",), is_model=is_model):
            turns.append(Turn(role, as_lazy(blocks, document.source)))
    return Transcript("google-adk", Family.OPENAI_CHAT, joined(turns), document.source)


def _said_by_user(literal: str) -> str:
    return f'{{"role": "user", "parts": [{{"text": {literal}}}]}}'


def _new_event(role: Role, literal: str, replaced: str) -> dict[str, str]:
    kept = kept_members(replaced, "id", "timestamp", "invocation_id", "invocationId")
    return {**kept, "author": '"user"', "content": _said_by_user(literal)}


ADK: Final = Format(
    "google-adk",
    Family.OPENAI_CHAT,
    "Google ADK session (an object with app_name and events)",
    _adk_evidence,
    _read_adk,
    new_message=_new_event,
    summary_role=Role.USER,
)


_TYPES: Final = ("user", "assistant", "tool_result", "system")
_SHOWN: Final = "toolCallResult"
_BESIDE: Final = ("session_artifact_", "session_sources_", "managed_session_")
"""Beginnings of the subtypes of system records that are no part of the conversation."""
_Node = tuple[int, dict[str, Any]]
"""Record and value of a node of the tree."""


def _qwen_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or value.get("type") not in _TYPES or not isinstance(value.get("uuid"), str):
        return Evidence.NO
    if "parentUuid" not in value or not isinstance(value.get("sessionId"), str):
        return Evidence.NO
    message = value.get("message")
    if isinstance(message, dict):
        return Evidence.YES if isinstance(message.get("parts"), list) else Evidence.NO
    return Evidence.YES if "systemPayload" in value else Evidence.MAYBE


def _read_qwen(document: Document, values: Iterator[Any]) -> Transcript:
    nodes: dict[str, list[_Node]] = {}
    unknown = Tally[str]()
    for record, value in enumerate(values):
        if _is_record(value):
            nodes.setdefault(value["uuid"], []).append((record, value))
        elif record not in document.source.unparsed:
            unknown["record that is none of a session"] += 1
    path = _sent(nodes)
    begins_in_middle = bool(path) and _compressed(path[0][1]) is None and path[0][1]["parentUuid"] is not None
    reader = PartsReader()
    turns: list[Turn] = []
    usages: list[Usage] = []
    model = None
    messages = 0
    for record, value in path:
        message = value.get("message")
        if value["type"] != "system" and not (isinstance(message, dict) and isinstance(message.get("parts"), list)):
            unknown[f"record {value['type']} without parts"] += 1
        if value.get("type") == "assistant":
            model = value["model"] if isinstance(value.get("model"), str) else model
        for role, blocks in _turns(reader, record, value):
            goes_on = role is Role.TOOL and bool(turns) and turns[-1].role is Role.TOOL
            messages += not goes_on
            tokens = value.get("usageMetadata")
            if role is Role.ASSISTANT and isinstance(tokens, dict):
                # The count of what was sent includes what came from the cache.
                sent, answered = tokens.get("promptTokenCount"), tokens.get("candidatesTokenCount")
                usages += recorded(messages - 1, [sent], answered, model=model)
            answer = None if _compressed(value) is not None else value["uuid"]
            turns.append(Turn(role, as_lazy(blocks, document.source), answer))
    warnings: tuple[str, ...] = ()
    if begins_in_middle:
        first = path[0][0]
        starts = [parts[0] for parts in nodes.values()]
        earlier = sum(record < first and value["type"] != "system" for record, value in starts)
        warnings = writing.not_reached(first, "parentUuid", earlier)
    return Transcript(
        "qwen-code",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model,
        begins_in_middle=begins_in_middle,
        usages=tuple(usages),
        unknown=tuple(unknown.items()),
        warnings=warnings,
    )


def _is_record(value: Any) -> bool:
    """Return whether the client reads a record; it passes over those that do not say who they are.

    https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/utils/transcript-records.ts
    """
    if not isinstance(value, dict) or value.get("type") not in _TYPES:
        return False
    has_parent = isinstance(value.get("parentUuid", ...), str | None)
    return has_parent and all(isinstance(value.get(key), str) and bool(value[key]) for key in ("uuid", "sessionId"))


def _sent(nodes: dict[str, list[_Node]]) -> list[_Node]:
    """Return the records on the path to the last one, from the newest compression on.

    Records of one uuid are pieces of one message; the first of them names the parent.
    """
    path: list[list[_Node]] = []
    at: list[_Node] | None = None
    for parts in nodes.values():
        value = parts[0][1]
        # Some records hang on the last one, and the conversation goes on without them.
        is_beside = value["type"] == "system" and str(value.get("subtype")).startswith(_BESIDE)
        at = at if is_beside else parts
    seen: set[str] = set()
    while at is not None and at[0][1]["uuid"] not in seen:
        seen.add(at[0][1]["uuid"])
        path.append(at)
        if _compressed(at[0][1]) is not None:
            break
        at = nodes.get(at[0][1]["parentUuid"] or "")
    return [part for parts in reversed(path) for part in parts]


def _compressed(value: dict[str, Any]) -> list[Any] | None:
    history = value_in(value, "systemPayload", "compressedHistory")
    return history if isinstance(history, list) and value.get("subtype") == "chat_compression" else None


def _turns(reader: PartsReader, record: int, value: dict[str, Any]) -> Iterator[tuple[Role, list[Block]]]:
    for number, content in enumerate(_compressed(value) or ()):
        path = ("systemPayload", "compressedHistory", number)
        is_model = value_in(content, "role") == "model"
        for role, blocks in reader.turns(content, record, path, is_model=is_model):
            # Without them the client would send what is before the compression.
            yield role, [replace(block, anchors=True, summarizes=role is Role.USER) for block in blocks]
    if value.get("type") != "system":
        by_client = value.get("provenance") in ("system", "goal_runtime", "goal_control")
        is_model = value.get("type") == "assistant"
        for role, blocks in reader.turns(value.get("message"), record, ("message",), is_model=is_model):
            is_injected = by_client and role is Role.USER
            yield role, [replace(block, injected=True) for block in blocks] if is_injected else blocks


def _complete_qwen(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    writing.relink(meant.source, edits, gone, key="uuid", parent="parentUuid")


def _new_record(role: Role, literal: str, replaced: str) -> dict[str, str]:
    kept = kept_members(replaced, "uuid", "parentUuid", "sessionId", "timestamp", "cwd", "version", "gitBranch")
    return {**kept, "type": '"user"', "message": _said_by_user(literal)}


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    for record, value in records_of(transcript.source):
        shown = value_in(value, _SHOWN)
        if isinstance(shown, dict):
            yield record, (_SHOWN,), shown


QWEN: Final = Format(
    "qwen-code",
    Family.OPENAI_CHAT,
    "Qwen Code session (~/.qwen/projects/*/chats/*.jsonl)",
    _qwen_evidence,
    _read_qwen,
    rules=(writing.parents_exist("parentUuid"),),
    beside=beside.copies(_copies),
    complete=_complete_qwen,
    new_message=_new_record,
    summary_role=Role.USER,
)
