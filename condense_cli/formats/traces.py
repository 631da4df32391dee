"""What tools record of the calls of models, and no client continues from: only read.

Langfuse   {"trace", "observations": [{"type": "GENERATION", "startTime", "input": messages, "output": message}]}
LangSmith  {"run_type": "llm", "start_time", "inputs": {"messages"}, "outputs"}, one, many, or as "child_runs"
Bedrock    {"schemaType": "ModelInvocationLog", "modelId", "timestamp", "input": {"inputBodyJson"}, "output":
           {"outputBodyJson"}}: bodies of Converse, of Anthropic's API or the events of its stream, of chat completions
OTLP       {"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano", "attributes": [{"key", "value"}]}]}]}]},
           or spans whose attributes are an object. In the conventions of OpenTelemetry the messages are under
           `gen_ai.input.messages`, lists of parts as JSON; in those of OpenInference each value has a key of its own,
           as `llm.input_messages.0.message.content`.

In a trace each call of a model holds the whole conversation so far: that of the last one, and its answer, are read. A
trace without such calls has the state of its graph instead. Messages are spelled as OpenAI's, as LangChain dumps them,
or as something in between: both tools write down what an SDK hands them.
https://langfuse.com/docs/observability/data-model, https://docs.smith.langchain.com/reference/data_formats/run_data_format
https://docs.aws.amazon.com/bedrock/latest/userguide/model-invocation-logging.html
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import BlockReader
from .engine.base import Evidence, Format
from .engine.blocks import (
    Turn,
    attachment_block,
    has_text,
    joined,
    listed,
    of_call,
    text_block,
    unknown_block,
)
from .engine.container import Document
from .parts import converse_blocks

_ROLES: Final = {
    **dict.fromkeys(("system", "developer"), Role.SYSTEM),
    **dict.fromkeys(("user", "human"), Role.USER),
    **dict.fromkeys(("assistant", "ai", "model"), Role.ASSISTANT),
    **dict.fromkeys(("tool", "function"), Role.TOOL),
}
_MODEL_RUNS: Final = ("llm", "chat_model")
_RUNS: Final = (*_MODEL_RUNS, "chain", "embedding", "parser", "prompt", "retriever", "tool")
_OBSERVATIONS: Final = frozenset({
    "AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GENERATION", "GUARDRAIL", "RETRIEVER", "SPAN", "TOOL",
})  # fmt: skip


class _Said(NamedTuple):
    """A message as it was recorded, with its role and its path."""

    role: Role
    path: JsonPath
    message: dict[str, Any]


_ReadBlocks = Callable[[_Said, int, dict[str, str]], Iterator[Block]]
"""Yield the blocks of a message, from its record and the tools of calls so far."""


class _Call(NamedTuple):
    """A call of a model, or a state of a graph, with the messages that it held in the end.

    `unknown` is its type if that is not known, or says that its answer cannot be read; empty if all is well.
    """

    is_model: bool
    began: str
    record: int
    said: list[_Said]
    model: str | None
    unknown: str


def _langfuse_evidence(value: Any) -> Evidence:
    first = next(iter(listed(value, "observations")), None)
    return Evidence.YES if isinstance(first, dict) and {"type", "startTime"} <= first.keys() else Evidence.NO


def _langsmith_evidence(value: Any) -> Evidence:
    is_run = isinstance(value, dict) and isinstance(value.get("run_type"), str) and "inputs" in value
    return Evidence.YES if is_run else Evidence.NO


def _read_langfuse(document: Document, values: Iterator[Any]) -> Transcript:
    calls: list[_Call] = []
    for record, value in enumerate(values):
        for number, each in enumerate(listed(value, "observations")):
            if isinstance(each, dict):
                path, kind = ("observations", number), str(each.get("type"))
                is_model, began = kind == "GENERATION", each.get("startTime")
                call = _call(record, is_model, began, each, path, ("input", "output"), each.get("model"))
                is_known = kind in _OBSERVATIONS or not call.said
                calls.append(call if is_known else call._replace(unknown=f"observation {kind}"))
    return _of_calls("langfuse", document, calls)


def _read_langsmith(document: Document, values: Iterator[Any]) -> Transcript:
    calls = [call for record, value in enumerate(values) for call in _runs(record, value, ())]
    return _of_calls("langsmith", document, calls)


def _runs(record: int, run: Any, path: JsonPath) -> Iterator[_Call]:
    """Yield a run and the runs in it."""
    if not isinstance(run, dict):
        return
    model = value_in(run, "extra", "metadata", "ls_model_name")
    is_model = run.get("run_type") in _MODEL_RUNS
    call = _call(record, is_model, run.get("start_time"), run, path, ("inputs", "outputs"), model)
    is_known = run.get("run_type") in _RUNS or not call.said
    yield call if is_known else call._replace(unknown=f"run {run.get('run_type')}")
    for number, child in enumerate(listed(run, "child_runs")):
        yield from _runs(record, child, (*path, "child_runs", number))


def _call(
    record: int, is_model: bool, began: Any, value: dict[str, Any], path: JsonPath, keys: tuple[str, str], model: Any
) -> _Call:
    asked, answered = ([*_messages(value.get(key), (*path, key))] for key in keys)
    # The output of a graph is its state, in which the input is.
    said = asked + answered[-1:] * bool(asked) if is_model else max(asked, answered, key=len)
    is_answered = not asked or bool(answered) or (keys[1] in value and not value[keys[1]])
    unknown = "" if is_answered or not is_model else "call whose answer cannot be read"
    if is_model and len(asked) < sum(map(_may_be_message, _flat(value.get(keys[0])))):
        unknown = "call of which not all messages can be read"
    elif is_model and not asked and has_text(value.get(keys[0], value)):
        unknown = "call whose messages cannot be read"
    elif asked and not isinstance(began, str):
        unknown = "call without a start"
    return _Call(is_model, str(began or ""), record, said, model if isinstance(model, str) else None, unknown)


def _flat(value: Any) -> Iterator[Any]:
    """Yield the elements of lists in an input, and of lists in these."""
    found = value.get("messages") if isinstance(value, dict) else value
    for each in found if isinstance(found, list) else ():
        yield from _flat(each) if isinstance(each, list) else (each,)


def _may_be_message(value: Any) -> bool:
    return isinstance(value, dict) and not _is_definition(value.get("content")) and has_text(value)


def _is_definition(content: Any) -> bool:
    """Return whether this defines a tool: Langfuse's handler lists such definitions among the messages."""
    return isinstance(content, dict) and content.get("type") == "function" and "function" in content


def _messages(value: Any, path: JsonPath) -> Iterator[_Said]:
    """Yield the messages in an input or output, whatever surrounds them."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            value = json_text.parse_text(value)
        except (ValueError, RecursionError):
            return
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _messages(each, (*path, number))
    elif isinstance(value, dict):
        said = _message(value, path)
        if said is not None:
            yield said
            return
        for key in ("messages", "generations", "choices", "message", "output"):
            if isinstance(value.get(key), list | dict):
                yield from _messages(value[key], (*path, key))
                return


def _message(value: dict[str, Any], path: JsonPath) -> _Said | None:
    inner: Any = value
    kind = value.get("role") or value.get("type")
    if isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list) and value["id"]:
        inner, path = value["kwargs"], (*path, "kwargs")
        kind = str(value["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
    elif isinstance(value.get("data"), dict):
        inner, path = value["data"], (*path, "data")
    role, content = _ROLES.get(str(kind)), inner.get("content")
    if role is None or not ({"content", "tool_calls"} & inner.keys()) or _is_definition(content):
        return None
    return _Said(role, path, inner)


def _of_calls(
    name: str,
    document: Document,
    calls: list[_Call],
    blocks: _ReadBlocks | None = None,
    family: Family = Family.OPENAI_CHAT,
) -> Transcript:
    found = [call for call in calls if call.said]
    of_models = [call for call in found if call.is_model] or found
    if not of_models:
        raise UnknownFormatError("It holds no model call with messages.", "Export the trace with its input and output.")
    last = max(of_models, key=lambda call: (call.began, len(call.said)))
    tools: dict[str, str] = {}
    turns = [Turn(said.role, [*(blocks or _blocks)(said, last.record, tools)]) for said in last.said]
    beginnings = [[said.message.get("content") for said in call.said[:2]] for call in (last, *of_models)]
    others = sum(beginning != beginnings[0] for beginning in beginnings)
    return Transcript(
        name,
        family,
        joined(turn for turn in turns if turn.blocks),
        document.source,
        model=last.model,
        warnings=(f"Calls of other conversations are ignored ({others}).",) if others else (),
        unknown=tuple(Tally(call.unknown for call in calls if call.unknown).items()),
    )


def _blocks(said: _Said, record: int, tools: dict[str, str]) -> Iterator[Block]:
    message, where = said.message, (*said.path, "content")
    content = message.get("content")
    common: dict[str, Any] = {}
    kind = BlockKind.TEXT
    if said.role is Role.TOOL:
        kind, common = BlockKind.TOOL_RESULT, of_call(message.get("tool_call_id"), tools, message.get("name"))
        content = content if isinstance(content, str) else json_text.dump_compact(content)
    if isinstance(content, str):
        content = [content] if content or said.role is Role.TOOL else []
    for number, part in enumerate(content if isinstance(content, list) else ()):
        text = part if isinstance(part, str) else value_in(part, "text")
        owner = where if isinstance(message.get("content"), str) else (*where, number)
        if isinstance(text, str):
            yield text_block(text, record, owner, kind=kind, is_user=said.role is Role.USER, **common)
        elif not isinstance(part, dict) or part.get("type") != "tool_use":
            yield attachment_block(part, record, owner, place=owner, **common)
    for number, call in enumerate(_calls(message)):
        inner = call.get("function")
        function = inner if isinstance(inner, dict) else call
        owner = (*said.path, "tool_calls", number)
        if not {"arguments", "args"} & function.keys():
            yield unknown_block(call, record, owner)
            continue
        arguments = function.get("arguments", function.get("args"))
        call_id = str(call.get("id"))
        tools[call_id] = str(function.get("name") or "")
        arguments = arguments if isinstance(arguments, str) else json_text.dump_compact(arguments)
        place = Place(record, owner)
        yield Block(BlockKind.TOOL_CALL, place, owner, content=arguments, tool=tools[call_id], call_id=call_id)


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls") or value_in(message, "additional_kwargs", "tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


LANGFUSE: Final = Format(
    "langfuse",
    Family.OPENAI_CHAT,
    "Langfuse traces with their observations, read-only",
    _langfuse_evidence,
    _read_langfuse,
    is_writable=False,
)
LANGSMITH: Final = Format(
    "langsmith",
    Family.OPENAI_CHAT,
    "LangSmith runs, read-only",
    _langsmith_evidence,
    _read_langsmith,
    is_writable=False,
)


def _invocation_evidence(value: Any) -> Evidence:
    is_log = isinstance(value, dict) and value.get("schemaType") == "ModelInvocationLog"
    return Evidence.YES if is_log and isinstance(value.get("input"), dict) else Evidence.NO


def _read_invocations(document: Document, values: Iterator[Any]) -> Transcript:
    calls: list[_Call] = []
    for record, value in enumerate(values):
        if _invocation_evidence(value) is Evidence.NO:
            if isinstance(value, dict) and has_text(value):
                calls.append(_Call(True, "", record, [], None, "record that is not a known invocation"))
            continue
        said: list[_Said] = []
        unknown = "" if isinstance(value.get("timestamp"), str) else "invocation without a timestamp"
        for key in ("input", "output"):
            path = (key, f"{key}BodyJson")
            body = value_in(value, *path)
            if isinstance(body, list) and any(isinstance(one, dict) and "delta" in one for one in body):
                body = _streamed(body)
            found = [*_messages(body, path)]
            said += found
            is_partly = len(found) < sum(map(_may_be_message, _flat(body)))
            has_failed = key not in value and "errorCode" in value
            if is_partly or (not (found or has_failed) and has_text(value.get(key, value))):
                unknown = f"invocation whose {key} cannot be read"
            if body is None and f"{key}BodyS3Path" in object_in(value, key):
                unknown = f"call with its {key} in another file"
        model = str(value.get("modelId")).rpartition("/")[2]
        calls.append(_Call(True, str(value.get("timestamp") or ""), record, said, model, unknown))
    is_chat = any("tool_calls" in one.message or one.role is Role.TOOL for call in calls for one in call.said)
    if is_chat:
        return _of_calls("bedrock-log", document, calls)
    return _of_calls("bedrock-log", document, calls, _blocks_of_body, Family.ANTHROPIC)


def _streamed(events: list[Any]) -> dict[str, Any]:
    """Return the message that the events of a stream of Anthropic's API add up to."""
    parts: dict[Any, dict[str, Any]] = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        begun, delta, at = event.get("content_block"), event.get("delta"), event.get("index")
        if isinstance(begun, dict):
            parts[at] = {**begun, "input": ""} if "input" in begun else {**begun}
        texts: dict[str, Any] = delta if isinstance(delta, dict) and at in parts else {}
        for key, text in texts.items():
            name = "input" if key == "partial_json" else key
            if isinstance(text, str) and name != "type":
                parts[at][name] = str(parts[at].get(name) or "") + text
    for part in parts.values():
        if "input" in part:
            with suppress(ValueError, RecursionError):
                part["input"] = json_text.parse_text(part["input"] or "{}")
    return {"role": "assistant", "content": [*parts.values()]}


def _blocks_of_body(said: _Said, record: int, tools: dict[str, str]) -> Iterator[Block]:
    content, path, is_user = said.message.get("content"), (*said.path, "content"), said.role is Role.USER
    if isinstance(content, list) and not any(isinstance(part, dict) and "type" in part for part in content):
        for number, part in enumerate(content):
            yield from converse_blocks(part, record, (*path, number), tools, is_user=is_user)
    else:
        yield from BlockReader(tools).content(content, record, path, is_user=is_user)


BEDROCK: Final = Format(
    "bedrock-log",
    Family.ANTHROPIC,
    "Model invocation logs of Amazon Bedrock, read-only",
    _invocation_evidence,
    _read_invocations,
    is_writable=False,
)


_GEN_AI: Final = ("gen_ai.input.messages", "gen_ai.output.messages")
_OPEN_INFERENCE: Final = ("llm.input_messages.", "llm.output_messages.")
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")


def _span_evidence(value: Any) -> Evidence:
    if listed(value, "resourceSpans"):
        return Evidence.YES
    attributes = value_in(value, "attributes")
    is_span = isinstance(attributes, dict) and any(str(key).startswith(("gen_ai.", "llm.")) for key in attributes)
    return Evidence.YES if is_span else Evidence.NO


def _read_spans(document: Document, values: Iterator[Any]) -> Transcript:
    calls: list[_Call] = []
    for record, value in enumerate(values):
        for path, span in _spans(value):
            attributes: dict[str, Any] = {}
            for holder in (span, *listed(span, "events")):
                attributes |= _attributes(holder)
            asked, answered = (_said_in(attributes, number, path) for number in (0, 1))
            model = next((attributes[key] for key in _MODELS if isinstance(attributes.get(key), str)), None)
            began = str(span.get("startTimeUnixNano") or span.get("start_time") or "")
            said = [*asked, *answered]
            unknown = "" if began or not said else "span without a start"
            if not said and any(name in json_text.dump_compact(span) for name in (_GEN_AI[0], _OPEN_INFERENCE[0])):
                unknown = "span whose messages cannot be read"
            calls.append(_Call(True, began, record, said, model, unknown))
    return _of_calls("otel-spans", document, calls)


def _spans(value: Any) -> Iterator[tuple[JsonPath, dict[str, Any]]]:
    """Yield path and value of each span in a record."""
    if isinstance(value, dict) and "resourceSpans" not in value:
        yield (), value
    for number, resource in enumerate(listed(value, "resourceSpans")):
        for scope_number, scope in enumerate(listed(resource, "scopeSpans")):
            for span_number, span in enumerate(listed(scope, "spans")):
                if isinstance(span, dict):
                    yield ("resourceSpans", number, "scopeSpans", scope_number, "spans", span_number), span


def _attributes(holder: Any) -> dict[str, Any]:
    """Return the attributes of a span or an event, which OTLP lists with the types of their values."""
    attributes = value_in(holder, "attributes")
    if isinstance(attributes, dict):
        return attributes
    pairs = [one for one in attributes if isinstance(one, dict)] if isinstance(attributes, list) else []
    return {str(one.get("key")): _plain(one.get("value")) for one in pairs}


def _plain(value: Any) -> Any:
    kind, inner = next(iter(value.items()), ("", None)) if isinstance(value, dict) else ("", None)
    if kind == "arrayValue":
        return [_plain(one) for one in listed(inner, "values")]
    if kind == "kvlistValue":
        return _attributes({"attributes": listed(inner, "values")})
    return inner


def _said_in(attributes: dict[str, Any], number: int, path: JsonPath) -> Iterator[_Said]:
    """Yield the messages that a span got (`number` 0) or gave (1), as chat completions have them."""
    messages = attributes.get(_GEN_AI[number])
    if isinstance(messages, str):
        with suppress(ValueError, RecursionError):
            messages = json_text.parse_text(messages)
    if isinstance(messages, list):
        found = [one for message in messages if isinstance(message, dict) for one in _of_parts(message)]
    else:
        found = _of_flat(attributes, _OPEN_INFERENCE[number])
    for position, message in enumerate(found):
        role = _ROLES.get(str(message.get("role")))
        if role is not None:
            yield _Said(role, (*path, number, position), message)


def _of_parts(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a message of OpenTelemetry's conventions; each result in it is a message of its own."""
    texts: list[Any] = []
    calls: list[Any] = []
    for part in listed(message, "parts"):
        kind = value_in(part, "type")
        if kind == "tool_call":
            calls.append({"id": part.get("id"), "function": part})
        elif kind == "tool_call_response":
            said = part.get("response", part.get("result"))
            yield {"role": "tool", "tool_call_id": part.get("id"), "content": said}
        elif kind == "text":
            texts.append({"type": "text", "text": part.get("content")})
        elif kind != "reasoning":
            texts.append(part)
    if texts or calls:
        yield {"role": message.get("role"), "content": texts, "tool_calls": calls}


def _of_flat(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Return the messages of OpenInference's conventions, whose values have a key each: build objects of them."""
    root: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(prefix):
            at = root
            *above, last = key.removeprefix(prefix).split(".")
            for step in above:
                if not isinstance(at.get(step), dict):
                    at[step] = {}
                at = at[step]
            if not isinstance(at.get(last), dict):
                at[last] = value
    found = []
    for message in _in_order(root, "message"):
        contents = [one.get("text") for one in _in_order(message.get("contents"), "message_content")]
        calls = _in_order(message.get("tool_calls"), "tool_call")
        found.append(
            {
                **message,
                "content": message.get("content") or [text for text in contents if isinstance(text, str)],
                "tool_calls": [{"id": call.get("id"), "function": call.get("function")} for call in calls],
            }
        )
    return found


def _in_order(numbered: Any, key: str) -> list[dict[str, Any]]:
    """Return the objects under `key` of objects with numbers for keys."""
    found = numbered.items() if isinstance(numbered, dict) else ()
    ordered = sorted(
        ((int(number), one) for number, one in found if str(number).isdecimal() and isinstance(one, dict)),
        key=lambda pair: pair[0],
    )
    return [one[key] for _, one in ordered if isinstance(one.get(key), dict)]


OTEL: Final = Format(
    "otel-spans",
    Family.OPENAI_CHAT,
    "Spans of OpenTelemetry (GenAI conventions) and OpenInference, as JSON or OTLP, read-only",
    _span_evidence,
    _read_spans,
    is_writable=False,
)
