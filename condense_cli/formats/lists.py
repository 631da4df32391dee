"""Lists of messages in the manner of chat completions, which differ by the names of their keys.

tau2-bench      {"role", "content", "tool_calls"?: [{"id", "name", "arguments"}], "turn_idx", "raw_data"?}
                {"role": "tool", "id", "content", "requestor", "error"}, or several as "tool_messages"
Inspect AI      {"role", "content": str | [part, ...], "tool_calls"?: [{"id", "function": NAME, "arguments"}],
"source"?}
                {"samples": [{"messages", "input", "target", "epoch", ...}], "eval"}, one sample of it, or an archive
LangChain       {"type": "human" | "ai" | "tool" | "system", "data": message}, as `messages_to_dict` writes it
                {"lc": 1, "type": "constructor", "id": [..., "AIMessage"], "kwargs": message}, as `dumpd` does
                message: {"content", "tool_calls"?: [{"name", "args", "id"}], "tool_call_id"?, "additional_kwargs", ...}
ATIF            {"schema_version": "ATIF-v1.6", "agent": {"model_name"}, "steps": [step, ...]}: calls with their results
                {"step_id", "source": "system" | "user" | "agent", "message": str | [part, ...], "reasoning_content"?,
                "tool_calls"?: [{"tool_call_id", "function_name", "arguments"}],
                "observation"?: {"results": [{"source_call_id"?, "content": str | [part, ...] | null}]}}
Session traces  {"type": "session", "harness", "id", ...}, then {"type": "message", "message": {"role", "content": str,
                "reasoningContent"?, "toolCalls"?: [{"id", "function": {"name", "arguments"}}], "toolCallId"?,
                "model"?}}

https://github.com/sierra-research/tau2-bench, https://inspect.aisi.org.uk/eval-logs.html,
https://python.langchain.com/docs/concepts/messages/, https://huggingface.co/docs/hub/session-traces-format,
https://github.com/laude-institute/harbor/blob/main/docs/rfcs/0001-trajectory-format.md
"""

from __future__ import annotations

import io
import shlex
import zlib
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..core.markers import content_hash
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..errors import UnknownFormatError
from .engine import beside, client_text
from .engine.base import Evidence, Format, RecordEdits, message_role, not_a_message, records_of
from .engine.blocks import (
    CallKeys,
    Turn,
    call_block,
    content_blocks,
    inserted_records,
    joined,
    kept_members,
    listed,
    read_list,
    text_block,
    thinking_blocks,
    unknown_block,
    with_roles,
)
from .engine.container import (
    LARGEST_UNPACKED,
    Document,
    as_lazy,
    only_record,
    open_document,
    with_beside,
    with_records_at,
)
from .openai_chat import ROLES

_ROLES: Final = {role.value: role for role in (Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL)}

_TAU2: Final = CallKeys(answers="id", tool="", has_failed=lambda message: message.get("error") is True)


def _tau2_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or str(value.get("role")) not in _ROLES:
        return Evidence.NO
    is_own = "turn_idx" in value and ("cost" in value or "requestor" in value)
    return Evidence.YES if is_own else Evidence.NO


def _read_tau2(document: Document, values: Iterator[Any]) -> Transcript:
    """Read a simulation without the tools of the simulated user, which the agent never sees."""
    tools: dict[str, str] = {}

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        if role is not Role.TOOL:
            text = message.get("content")
            if isinstance(text, str) and text.strip():
                yield text_block(text, record, ("content",))
            if role is Role.ASSISTANT:
                yield from _TAU2.blocks(message, record, path, tools)
            return
        several = message.get("tool_messages")
        results = [((), message)] if not isinstance(several, list) else [
            (("tool_messages", number), one) for number, one in enumerate(several) if isinstance(one, dict)
        ]  # fmt: skip
        for where, one in results:
            if one.get("requestor") == "user" or not isinstance(one.get("id"), str):
                continue
            text, place = one.get("content"), (*where, "content")
            common = _TAU2.of_result(one, tools)
            text = text if isinstance(text, str) else ""
            yield text_block(text, record, place, where or place, kind=BlockKind.TOOL_RESULT, **common)

    return read_list("tau2", document, values, with_roles(_ROLES), blocks, keeps_empty=False)


TAU2: Final = Format(
    "tau2",
    Family.OPENAI_CHAT,
    "Simulations of tau2-bench, one in a file",
    _tau2_evidence,
    _read_tau2,
    beside=beside.copies(beside.values_under("raw_data")),
)


ARCHIVE: Final = "inspect-eval"
_BESIDE: Final = ("input", "output", "events", "attachments", "transcript", "store", "scores")
"""Keys of a sample that repeat its messages."""
_INSPECT: Final = CallKeys(
    ("id", "function", "arguments"), tool="function", has_failed=lambda message: isinstance(message.get("error"), dict)
)


def _inspect_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("eval"), dict) and "version" in value and isinstance(value.get("samples"), list):
        return Evidence.YES
    if str(value.get("role")) not in ROLES:
        return Evidence.NO
    if calls := listed(value, "tool_calls"):
        is_own = isinstance(calls[0], dict) and isinstance(calls[0].get("function"), str) and "arguments" in calls[0]
        return Evidence.YES if is_own else Evidence.NO
    return Evidence.YES if value.get("source") in ("input", "generate") and "id" in value else Evidence.MAYBE


def _is_sample(document: Document) -> bool:
    is_object = document.source.container is Container.OBJECT
    return is_object and {"epoch", "input", "target"} <= document.envelope.keys()


def _read_inspect(document: Document, values: Iterator[Any]) -> Transcript:
    model: str | None = None
    tools: dict[str, str] = {}
    if document.source.container is Container.OBJECT:
        document = with_beside(document, [(key,) for key in _BESIDE if key in document.envelope])
        records = list(values)
    else:
        records = list(values)
        log = records[0] if len(records) == 1 else None
        if isinstance(log, dict) and "samples" in log and _inspect_evidence(log) is Evidence.YES:
            model = text_in(log, "eval", "model")
            document = _of_sample(document, log["samples"])
            records = list(document.values)

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        content = message.get("content")
        common = _INSPECT.of_result(message, tools) if role is Role.TOOL else {}
        kind = BlockKind.TOOL_RESULT if role is Role.TOOL else BlockKind.TEXT
        if isinstance(content, list) and content:
            for number, part in enumerate(content):
                yield _inspect_part(part, record, ("content", number), role, kind, common)
        elif isinstance(content, str) or role is Role.TOOL:
            content = content if isinstance(content, str) else ""
            yield text_block(content, record, ("content",), kind=kind, is_user=role is Role.USER, **common)
        yield from _INSPECT.blocks(message, record, path, tools)

    read = read_list(
        "inspect", document, records, with_roles(ROLES), blocks, model=lambda message: message.get("model")
    )
    return replace(read, model=read.model or model)


def _of_sample(document: Document, samples: list[Any]) -> Document:
    """Return the document of a log's only sample. Raises UnknownFormatError if there are several."""
    if len(samples) != 1:
        raise UnknownFormatError(
            f"It holds {len(samples)} conversations, one per sample.",
            "Extract one: jq '.samples[0]' FILE > sample.json",
        )
    sample = samples[0]
    if not isinstance(sample, dict) or not isinstance(sample.get("messages"), list):
        raise UnknownFormatError("Its sample has no messages.", "Name a log of a finished run.")
    path = ("samples", 0)
    return with_records_at(document, 0, (*path, "messages"), [(*path, key) for key in _BESIDE if key in sample])


def _inspect_part(part: Any, record: int, path: JsonPath, role: Role, kind: BlockKind, common: dict[str, Any]) -> Block:
    owner = ("content",) if role is Role.TOOL else path
    type_of = value_in(part, "type")
    if type_of == "text" and isinstance(part.get("text"), str):
        is_user = role is Role.USER
        return text_block(part["text"], record, (*path, "text"), owner, kind=kind, is_user=is_user, **common)
    if type_of == "reasoning" and isinstance(part.get("reasoning"), str):
        return Block(BlockKind.THINKING, Place(record, (*path, "reasoning")), path, content=part["reasoning"])
    image = part.get("image") if type_of == "image" else None
    if isinstance(image, str):
        inline = image if image.startswith("data:") else None
        digest = content_hash(inline.partition(",")[2] if inline else image)
        estimate = client_text.image(inline)
        return Block(BlockKind.IMAGE, Place(record, path), owner, estimate=estimate, digest=digest, **common)
    return unknown_block(part, record, path, owner, **common)


def read_archive(data: bytes, name: str) -> Transcript:
    """Read the only sample of a log file that is an archive. Raises UnknownFormatError."""
    import zipfile

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            samples = [one for one in archive.namelist() if one.startswith("samples/") and one.endswith(".json")]
            if not samples:
                raise UnknownFormatError(
                    f"{name} is a ZIP archive without Inspect samples.", "Unpack it, and name a file that it holds."
                )
            if len(samples) > 1:
                raise UnknownFormatError(
                    f"{name} holds {len(samples)} conversations, one per sample.",
                    f"Extract one: unzip -p FILE {shlex.quote(samples[0])} > sample.json",
                )
            if archive.getinfo(samples[0]).file_size > LARGEST_UNPACKED:  # Of what says less, no more is read.
                raise UnknownFormatError(
                    f"{name} unpacks to more than {LARGEST_UNPACKED:,} bytes.", "Unpack it, and name a part of it."
                )
            sample = archive.read(samples[0])
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, OSError, ValueError) as error:
        raise UnknownFormatError(
            f"{name} is an archive that cannot be read ({error}).", "Unpack it, and name a file that it holds."
        ) from None
    inside = f"{name} ({samples[0]})"
    document = open_document(sample, inside)
    if not _is_sample(document):
        raise UnknownFormatError(f"{inside} is not an Inspect sample.", "Unpack it, and name a file that it holds.")
    return replace(_read_inspect(document, document.values), format=ARCHIVE)


def _no_archive(document: Document, values: Iterator[Any]) -> Transcript:
    raise UnknownFormatError("this is not a ZIP archive, as .eval files are.", "JSON logs have the format inspect.")


INSPECT: Final = Format(
    "inspect",
    Family.OPENAI_CHAT,
    "Inspect AI: a log (.json) of one sample, or a sample alone",
    _inspect_evidence,
    _read_inspect,
    claims=_is_sample,
    beside=beside.copies(beside.values_beside),
)
ARCHIVES: Final = Format(
    ARCHIVE,
    Family.OPENAI_CHAT,
    "Inspect AI: a log (.eval) of one sample, read-only",
    lambda _: Evidence.NO,
    _no_archive,
    is_writable=False,
)


_SPEAKERS: Final = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
    "function": Role.TOOL,
}
_LANGCHAIN: Final = CallKeys(("id", "name", "args"), has_failed=lambda message: message.get("status") == "error")


def _of_langchain(value: Any) -> tuple[Role, JsonPath, dict[str, Any]] | None:
    """Return who speaks in a record, and the path and value of its message; None if it is no message."""
    if not isinstance(value, dict):
        return None
    kind = str(value.get("type"))
    path: JsonPath = ()
    inner: Any = value
    if isinstance(value.get("data"), dict):
        inner, path = value["data"], ("data",)
    elif isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list) and value["id"]:
        inner, path = value["kwargs"], ("kwargs",)
        kind = str(value["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
    kind = kind.removesuffix("MessageChunk").lower()
    return (_SPEAKERS[kind], path, inner) if kind in _SPEAKERS and "content" in inner else None


def _langchain_evidence(value: Any) -> Evidence:
    found = _of_langchain(value)
    if found is None:
        return Evidence.NO
    _, path, message = found
    is_own = bool(path) or "additional_kwargs" in message or "response_metadata" in message
    return Evidence.YES if is_own else Evidence.MAYBE


def _read_langchain(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}

    def find(record: int, value: Any) -> tuple[Role, JsonPath, dict[str, Any]]:
        found = _of_langchain(value)
        if found is None:
            raise not_a_message(record, value, "it has no type and content as LangChain's have")
        return found

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        content, where = message["content"], (*path, "content")
        ids = {str(call.get("id")) for call in listed(message, "tool_calls") if isinstance(call, dict)}
        copies = {
            place for place, call in _copies(message, path) if isinstance(call, dict) and str(call.get("id")) in ids
        }
        if role is Role.TOOL:
            common = _LANGCHAIN.of_result(message, tools)
            yield from content_blocks(content, record, where, where, kind=BlockKind.TOOL_RESULT, **common)
        elif content or role is not Role.ASSISTANT:
            said = content_blocks(content, record, where, is_user=role is Role.USER)
            yield from (block for block in said if block.place.path not in copies)
        yield from _LANGCHAIN.blocks(message, record, path, tools)

    def model(message: dict[str, Any]) -> Any:
        about = message.get("response_metadata")
        return value_in(about, "model_name") or value_in(about, "model")

    return read_list("langchain", document, values, find, blocks, model=model)


def _copies(message: dict[str, Any], path: JsonPath) -> Iterator[tuple[JsonPath, Any]]:
    """Yield path and value of each call that a message repeats: in the form of Anthropic's API, or of OpenAI's."""
    if message.get("tool_calls"):
        for number, part in enumerate(listed(message, "content")):
            if isinstance(part, dict) and part.get("type") == "tool_use":
                yield (*path, "content", number), part
        for number, part in enumerate(listed(message.get("additional_kwargs"), "tool_calls")):
            yield (*path, "additional_kwargs", "tool_calls", number), part


def _langchain_copies(transcript: Transcript) -> Iterator[beside.Shown]:
    yield from beside.values_beside(transcript)
    for record, value in records_of(transcript.source):
        found = _of_langchain(value) if record < transcript.source.listed else None
        for path, part in _copies(found[2], found[1]) if found else ():
            yield record, path, part


def _complete_langchain(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Remove the copies of calls that go. A message keeps its content, even if it is empty."""
    records = {block.place.record for block in meant.removed} - gone - inserted_records(meant)
    removed = {block.call_id for block in meant.removed if block.kind is BlockKind.TOOL_CALL}
    for record, value in records_of(meant.source) if records else ():
        found = _of_langchain(value) if record in records else None
        if found is None:
            continue
        for path, call in _copies(found[2], found[1]):
            if isinstance(call, dict) and isinstance(call.get("id"), str) and call["id"] in removed:
                kept = {each: new for each, new in edits[record].items() if each[: len(path)] != path}
                edits[record] = kept | {path: json_text.REMOVE}
        content: JsonPath = (*found[1], "content")
        if content in edits[record]:
            edits[record][content] = '""'


def _new_langchain_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    found = _of_langchain(json_text.parse_text(replaced))
    path = found[1] if found else ()
    empty = '"additional_kwargs": {}, "response_metadata": {}'
    message = f'{{"type": "human", "content": {literal}, {empty}}}'
    if path == ("data",):
        return {"type": '"human"', "data": message}
    if path == ("kwargs",):
        class_path = '["langchain", "schema", "messages", "HumanMessage"]'
        return {"lc": "1", "type": '"constructor"', "id": class_path, "kwargs": message}
    return {"type": '"human"', "content": literal, "additional_kwargs": "{}", "response_metadata": "{}"}


LANGCHAIN: Final = Format(
    "langchain",
    Family.OPENAI_CHAT,
    "LangChain messages (messages_to_dict, dumpd, model_dump)",
    _langchain_evidence,
    _read_langchain,
    beside=beside.copies(_langchain_copies),
    complete=_complete_langchain,
    new_message=_new_langchain_message,
    summary_role=Role.USER,
)


_TRACE: Final = CallKeys(inside="function", calls="toolCalls", answers="toolCallId", tool="")
_CONTENT: Final[JsonPath] = ("message", "content")


def _trace_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "session":
        is_header = isinstance(value.get("harness"), str) and isinstance(value.get("id"), str)
        # A session in pi's own format may name a harness as well.
        is_of_pi = "cwd" in value and isinstance(value.get("version"), int)
        return Evidence.YES if is_header and not is_of_pi else Evidence.NO
    message = value.get("message") if value.get("type") == "message" else None
    if not isinstance(message, dict) or str(message.get("role")) not in _ROLES:
        return Evidence.NO
    return Evidence.MAYBE if isinstance(message.get("content", ""), str) else Evidence.NO


def _read_trace(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}

    def find(record: int, value: Any) -> tuple[Role, JsonPath, dict[str, Any]] | None:
        evidence = _trace_evidence(value)
        if evidence is Evidence.NO:
            raise not_a_message(record, value, "it is neither a session with a harness nor a message with a text")
        if evidence is Evidence.YES:
            return None
        return message_role(record, value["message"], _ROLES), ("message",), value["message"]

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        yield from thinking_blocks(message, "reasoningContent", record, path)
        text = message.get("content", "")
        if role is Role.TOOL:
            yield text_block(text, record, _CONTENT, kind=BlockKind.TOOL_RESULT, **_TRACE.of_result(message, tools))
        elif text or role is not Role.ASSISTANT:
            yield text_block(text, record, _CONTENT, is_user=role is Role.USER)
        yield from _TRACE.blocks(message, record, path, tools)

    return read_list("session-trace", document, values, find, blocks, model=lambda message: message.get("model"))


def _complete_trace(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Leave an empty text in a message of calls alone."""
    for record, changes in edits.items():
        if _CONTENT in changes and record not in gone:
            changes[_CONTENT] = '""'


def _new_trace_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"type": '"message"', "message": f'{{"role": "{role.value}", "content": {literal}}}'}


TRACE: Final = Format(
    "session-trace",
    Family.OPENAI_CHAT,
    "Session traces of the Hugging Face Hub (STS-Format)",
    _trace_evidence,
    _read_trace,
    complete=_complete_trace,
    new_message=_new_trace_message,
)


_SOURCES: Final = {"system": Role.SYSTEM, "user": Role.USER, "agent": Role.ASSISTANT}
_MESSAGE: Final[JsonPath] = ("message",)
_NUMBER: Final = "step_id"


def _atif_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        return Evidence.NO
    return Evidence.YES if str(value.get("schema_version")).startswith("ATIF") else Evidence.NO


def _read_atif(document: Document, values: Iterator[Any]) -> Transcript:
    record = only_record(document, values, "trajectories", "trajectory.json")
    if _atif_evidence(record) is Evidence.NO:
        raise UnknownFormatError("It has no steps and no ATIF version.", "Name a trajectory in that format.")
    document = with_records_at(document, 0, ("steps",))
    turns: list[Turn] = []
    unknown = Tally[str]()
    for number, step in enumerate(document.values):
        role = _SOURCES.get(str(step.get("source"))) if isinstance(step, dict) else None
        unknown["step without a source or a message"] += role is None or _MESSAGE[0] not in step
        unknown["step whose tool_calls are not a list"] += role is not None and not isinstance(
            step.get("tool_calls", []), list | None
        )
        for speaker, blocks in _of_step(step, number, role) if role else ():
            if blocks:
                answer = None
                if speaker is Role.ASSISTANT:
                    # A thought alone is of the same answer as the step behind it.
                    is_thought = turns and all(block.kind is BlockKind.THINKING for block in turns[-1].blocks)
                    answer = (turns[-1].answer if is_thought else None) or str(number)
                turns.append(Turn(speaker, as_lazy(blocks, document.source), answer))
    return Transcript(
        "atif",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=text_in(record, "agent", "model_name"),
        unknown=tuple((+unknown).items()),
    )


def _of_step(step: dict[str, Any], record: int, role: Role) -> Iterator[tuple[Role, list[Block]]]:
    """Yield what a step says and calls, then what came of the calls, or what the environment showed unasked."""
    is_user = role is Role.USER
    message = step.get("message")
    said = [*thinking_blocks(step, "reasoning_content", record)]
    said += content_blocks(message, record, _MESSAGE, is_user=is_user) if message else ()
    tools: dict[str, str] = {}
    calls = [
        call_block(call, record, ("tool_calls", number), tools, "tool_call_id", "function_name", "arguments")
        for number, call in enumerate(listed(step, "tool_calls"))
    ]
    yield role, [*said, *calls]
    named = {call.call_id: call for call in calls if call.call_id}
    found: list[Block] = []
    for number, result in enumerate(listed(step.get("observation"), "results")):
        if not isinstance(result, dict):
            continue
        source, owner = result.get("source_call_id"), ("observation", "results", number)
        call = named.get(source) if isinstance(source, str) else None
        if source and call is None:
            found.append(unknown_block(result, record, owner))
            continue
        if call is None and calls and not source:  # One that names no call is that of the call in its place.
            call = calls[min(number, len(calls) - 1)]
        content, where = result.get("content"), (*owner, "content")
        if call is None:
            is_text = isinstance(content, str)
            found += content_blocks(content, record, where, owner, injected=is_text) if content else ()
            continue
        common: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool}
        kind = BlockKind.TOOL_RESULT
        blocks = list(content_blocks(content, record, where, owner, kind=kind, **common)) if content else []
        if not blocks and result.keys() <= {"content", "source_call_id"}:
            blocks = [text_block("", record, where, owner, kind=kind, **common)]
        found += blocks or [unknown_block(result, record, owner, **common)]
    yield (Role.TOOL if calls else Role.USER), found


def _complete_atif(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Leave an empty message in a step, and number the steps that stay anew if they have numbers."""
    new = inserted_records(meant)
    for block in meant.removed:
        if block.owner == _MESSAGE and block.place.record not in gone | new:
            edits[block.place.record][_MESSAGE] = '""'
    number = 0
    for record, step in records_of(meant.source) if gone else ():
        if record not in gone and isinstance(step, dict):
            number += 1
            if _NUMBER in step and step[_NUMBER] != number:
                edits[record][(_NUMBER,)] = str(number)


def _new_step(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {**kept_members(replaced, _NUMBER, "timestamp"), "source": '"user"', "message": literal}


ATIF: Final = Format(
    "atif",
    Family.OPENAI_CHAT,
    "Agent Trajectory Interchange Format (Harbor): an object with steps",
    _atif_evidence,
    _read_atif,
    complete=_complete_atif,
    new_message=_new_step,
    summary_role=Role.USER,
)
