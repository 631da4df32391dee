"""What tools write about conversations, and no client continues from: only read.

VS Code    {"requests": [{"message": {"text"}, "response": [part, ...], "modelId", "result": {"metadata": {
                "renderedUserMessage"?: [{"text"}], "toolCallRounds"?: [{"response", "toolCalls", "thinking"?}],
                "toolCallResults"?: {id: {"content": [{"value": str | {"node"}}]}}}}}]}   (Chat: Export Chat…)
Langfuse   {"trace", "observations": [{"type": "GENERATION", "startTime", "input": messages, "output": message}]}
LangSmith  {"run_type": "llm", "start_time", "inputs": {"messages"}, "outputs"}, one, many, or as "child_runs"
OTLP       {"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano", "attributes": [{"key", "value"}]}]}]}]},
           or spans whose attributes are an object. In the conventions of OpenTelemetry the messages are under
           `gen_ai.input.messages`, lists of parts as JSON; in those of OpenInference each value has a key of its own,
           as `llm.input_messages.0.message.content`.

In VS Code the model gets the rendered message, the rounds and their results; `message` and `response` are what the
window shows, and what counts if there are no rounds. A value that is no string is a tree whose leaves have the text.
https://github.com/microsoft/vscode-copilot-chat (src/extension/prompt/common/toolCallRound.ts)

In a trace each call of a model holds the whole conversation so far: that of the last one, and its answer, are read. A
trace without such calls has the state of its graph instead. Messages are spelled as OpenAI's, as LangChain dumps them,
or as something in between: both tools write down what an SDK hands them.
https://langfuse.com/docs/observability/data-model, https://docs.smith.langchain.com/reference/data_formats/run_data_format
https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/
https://github.com/Arize-ai/openinference/blob/main/spec/semantic_conventions.md
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..errors import UnknownFormatError
from .engine.base import Evidence, Format, Habit
from .engine.blocks import (
    Turn,
    attachment_block,
    call_block,
    joined,
    listed,
    of_call,
    text_block,
    unknown_block,
)
from .engine.container import Document, as_lazy, with_records_under

_METADATA: Final = ("result", "metadata")


def _vscode_evidence(value: Any) -> Evidence:
    first = next(iter(listed(value, "requests")), None)
    is_chat = isinstance(first, dict) and isinstance(first.get("message"), dict) and "response" in first
    return Evidence.YES if is_chat else Evidence.NO


def _read_vscode(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if document.source.container is Container.LINES and len(records) == 1 and listed(records[0], "requests"):
        document = with_records_under(document, "requests")
        records = list(document.values)
    turns: list[Turn] = []
    model = None
    unknown = Tally[str]()
    for record, request in enumerate(records):
        if not isinstance(request, dict):
            continue
        unknown.update(_not_read(request))
        model = request["modelId"] if isinstance(request.get("modelId"), str) else model
        for role, blocks in _turns_of_request(request, record):
            if blocks:
                turns.append(Turn(role, list(as_lazy(blocks, document.source))))
    return Transcript(
        "vscode-chat",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model.rpartition("/")[2] if model else None,
        unknown=tuple(unknown.items()),
    )


def _not_read(request: dict[str, Any]) -> Iterator[str]:
    """Name work of a request that is shown or answered, and not where its calls are."""
    metadata = _metadata(request)
    rounds = metadata.get("toolCallRounds")
    kinds = (str(part.get("kind")) for part in listed(request, "response") if isinstance(part, dict))
    if not rounds and (metadata.get("toolCallResults") or any(kind.startswith("toolInvoc") for kind in kinds)):
        yield "request without its rounds"
    for each in rounds if isinstance(rounds, list) else ():
        if not isinstance(each, dict) or not isinstance(each.get("toolCalls"), list):
            yield "round without calls"
        elif not isinstance(each.get("response"), str):
            yield "round without a response"


def _metadata(request: dict[str, Any]) -> dict[str, Any]:
    result = request.get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _turns_of_request(request: dict[str, Any], record: int) -> Iterator[tuple[Role, list[Block]]]:
    metadata = _metadata(request)
    yield Role.USER, list(_asked(request, metadata, record))
    rounds, results = listed(metadata, "toolCallRounds"), metadata.get("toolCallResults")
    if not rounds:
        parts = enumerate(listed(request, "response"))
        texts = ((n, part.get("value")) for n, part in parts if isinstance(part, dict) and "kind" not in part)
        shown = ((n, text) for n, text in texts if isinstance(text, str) and text.strip())
        yield Role.ASSISTANT, [text_block(text, record, ("response", n, "value"), ("response", n)) for n, text in shown]
    for number, each in enumerate(rounds):
        if not isinstance(each, dict):
            continue
        path = (*_METADATA, "toolCallRounds", number)
        said: list[Block] = []
        thinking, text = each.get("thinking"), each.get("response")
        thought = thinking.get("text") if isinstance(thinking, dict) else None
        if isinstance(thought, str) and thought:
            owner = (*path, "thinking")
            said.append(text_block(thought, record, (*owner, "text"), owner, kind=BlockKind.THINKING))
        if isinstance(text, str) and text:
            said.append(text_block(text, record, (*path, "response")))
        calls = [
            call_block(call, record, (*path, "toolCalls", position), {}, may_be_text=True)
            for position, call in enumerate(listed(each, "toolCalls"))
        ]
        yield Role.ASSISTANT, [*said, *calls]
        found = results if isinstance(results, dict) else {}
        yield Role.TOOL, [block for call in calls for block in _result(call, found, record)]


def _asked(request: dict[str, Any], metadata: dict[str, Any], record: int) -> Iterator[Block]:
    message = request.get("message")
    asked = message.get("text") if isinstance(message, dict) else None
    parts = listed(metadata, "renderedUserMessage")
    texts = [part.get("text") if isinstance(part, dict) else None for part in parts]
    if not isinstance(asked, str):
        return
    if any(isinstance(text, str) and asked in text for text in texts):
        for number, text in enumerate(texts):
            if isinstance(text, str) and text.strip():
                owner = (*_METADATA, "renderedUserMessage", number)
                yield text_block(text, record, (*owner, "text"), owner, injected=asked not in text)
    elif asked:
        yield text_block(asked, record, ("message", "text"), is_user=True)


def _result(call: Block, results: dict[str, Any], record: int) -> Iterator[Block]:
    """Yield the result of a call, in as many parts as its value has texts."""
    value = results.get(call.call_id or "")
    if not isinstance(value, dict):
        return
    owner = (*_METADATA, "toolCallResults", str(call.call_id))
    common: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool}
    texts = list(_texts(value.get("content"), (*owner, "content")))
    if not texts and _has_text(value):
        yield unknown_block(value, record, owner, **common)
    elif not texts:
        yield Block(BlockKind.TOOL_RESULT, Place(record, owner), owner, **common)
    for path, text in texts:
        yield text_block(text, record, path, owner, kind=BlockKind.TOOL_RESULT, **common)


def _texts(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*path, number))
    elif isinstance(value, dict):
        for key in ("value", "node", "children", "text"):
            inner = value.get(key)
            if isinstance(inner, str) and key in ("value", "text") and inner.strip():
                yield (*path, key), inner
            elif isinstance(inner, dict | list):
                yield from _texts(inner, (*path, key))


def _has_text(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(isinstance(value, str) and value.strip()) or any(map(_has_text, inside))


VSCODE: Final = Format(
    "vscode-chat",
    Family.OPENAI_CHAT,
    "Chats of VS Code (Chat: Export Chat…), read-only",
    _vscode_evidence,
    _read_vscode,
    habits=Habit.ANSWERS_CALLS,
    is_writable=False,
)


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
    extra = run.get("extra")
    about = extra.get("metadata") if isinstance(extra, dict) else None
    model = about.get("ls_model_name") if isinstance(about, dict) else None
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
    elif is_model and not asked and _has_text(value.get(keys[0], value)):
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
    return isinstance(value, dict) and not _is_definition(value.get("content")) and _has_text(value)


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


def _of_calls(name: str, document: Document, calls: list[_Call]) -> Transcript:
    found = [call for call in calls if call.said]
    of_models = [call for call in found if call.is_model] or found
    if not of_models:
        raise UnknownFormatError("It holds no model call with messages.", "Export the trace with its input and output.")
    last = max(of_models, key=lambda call: (call.began, len(call.said)))
    tools: dict[str, str] = {}
    turns = [Turn(said.role, [*_blocks(said, last.record, tools)]) for said in last.said]
    beginnings = [[said.message.get("content") for said in call.said[:2]] for call in (last, *of_models)]
    others = sum(beginning != beginnings[0] for beginning in beginnings)
    return Transcript(
        name,
        Family.OPENAI_CHAT,
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
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
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
    more = message.get("additional_kwargs")
    calls = message.get("tool_calls") or (more.get("tool_calls") if isinstance(more, dict) else None)
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


_GEN_AI: Final = ("gen_ai.input.messages", "gen_ai.output.messages")
_OPEN_INFERENCE: Final = ("llm.input_messages.", "llm.output_messages.")
_MODELS: Final = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name")


def _span_evidence(value: Any) -> Evidence:
    if listed(value, "resourceSpans"):
        return Evidence.YES
    attributes = value.get("attributes") if isinstance(value, dict) else None
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
    attributes = holder.get("attributes") if isinstance(holder, dict) else None
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
        try:
            messages = json_text.parse_text(messages)
        except (ValueError, RecursionError):
            messages = None
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
        kind = part.get("type") if isinstance(part, dict) else None
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
