"""Traces of Langfuse and LangSmith: what was recorded of each call of a model, and only read.

    Langfuse   {"trace", "observations": [{"type": "GENERATION", "startTime", "input": messages, "output": message}]}
    LangSmith  {"run_type": "llm", "start_time", "inputs": {"messages"}, "outputs"}, one, many, or as "child_runs"

Each call holds the whole conversation so far: that of the last one, and its answer, are the conversation. A trace
without calls of a model has the state of its graph, which is read in their place. Messages are spelled as those of
OpenAI, as LangChain dumps them, or as something in between: both tools write down what an SDK hands them.
https://langfuse.com/docs/observability/data-model, https://docs.smith.langchain.com/reference/data_formats/run_data_format
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import attachment_block
from .engine.base import Evidence, Format, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document
from .engine.turns import Turn, joined

_ROLES: Final = {
    **dict.fromkeys(("system", "developer"), Role.SYSTEM),
    **dict.fromkeys(("user", "human"), Role.USER),
    **dict.fromkeys(("assistant", "ai", "model"), Role.ASSISTANT),
    **dict.fromkeys(("tool", "function"), Role.TOOL),
}
_MODEL_RUNS: Final = ("llm", "chat_model")
_OBSERVATIONS: Final = frozenset({
    "AGENT", "CHAIN", "EMBEDDING", "EVALUATOR", "EVENT", "GENERATION", "GUARDRAIL", "RETRIEVER", "SPAN", "TOOL",
})  # fmt: skip


class _Said(NamedTuple):
    """A message as it was recorded, where it is, and by whom it is."""

    role: Role
    path: JsonPath
    message: dict[str, Any]


class _Call(NamedTuple):
    """A call of a model, or a state of a graph, with the messages that it held in the end."""

    is_model: bool
    began: str
    record: int
    said: list[_Said]
    model: str | None
    unknown: str
    """Its type, if nobody knows it, or that its answer cannot be read; empty where all is well."""


def _langfuse_evidence(value: Any) -> Evidence:
    observations = value.get("observations") if isinstance(value, dict) else None
    first = observations[0] if isinstance(observations, list) and observations else None
    return Evidence.YES if isinstance(first, dict) and {"type", "startTime"} <= first.keys() else Evidence.NO


def _langsmith_evidence(value: Any) -> Evidence:
    is_run = isinstance(value, dict) and isinstance(value.get("run_type"), str) and "inputs" in value
    return Evidence.YES if is_run else Evidence.NO


def _read_langfuse(document: Document, values: Iterator[Any]) -> Transcript:
    return _read("langfuse", document, [*_observed(values)])


def _observed(values: Iterator[Any]) -> Iterator[_Call]:
    for record, value in enumerate(values):
        observations = value.get("observations") if isinstance(value, dict) else None
        for number, each in enumerate(observations if isinstance(observations, list) else ()):
            if isinstance(each, dict):
                path = ("observations", number)
                is_model = each.get("type") == "GENERATION"
                call = _call(
                    record, is_model, each.get("startTime"), each, path, ("input", "output"), each.get("model")
                )
                kind = str(each.get("type"))
                yield call if kind in _OBSERVATIONS or not call.said else call._replace(unknown=f"observation {kind}")


def _read_langsmith(document: Document, values: Iterator[Any]) -> Transcript:
    calls = (call for record, value in enumerate(values) for call in _runs(record, value, ()))
    return _read("langsmith", document, [*calls])


def _runs(record: int, run: Any, path: JsonPath) -> Iterator[_Call]:
    """A run and the runs in it."""
    if not isinstance(run, dict):
        return
    extra = run.get("extra")
    about = extra.get("metadata") if isinstance(extra, dict) else None
    model = about.get("ls_model_name") if isinstance(about, dict) else None
    is_model = run.get("run_type") in _MODEL_RUNS
    yield _call(record, is_model, run.get("start_time"), run, path, ("inputs", "outputs"), model)
    children = run.get("child_runs")
    for number, child in enumerate(children if isinstance(children, list) else ()):
        yield from _runs(record, child, (*path, "child_runs", number))


def _call(
    record: int, is_model: bool, began: Any, value: dict[str, Any], path: JsonPath, keys: tuple[str, str], model: Any
) -> _Call:
    asked, answered = ([*_messages(value.get(key), (*path, key))] for key in keys)
    # The output of a graph is its state, in which the input is.
    said = asked + answered[-1:] * bool(asked) if is_model else max(asked, answered, key=len)
    is_answered = not asked or bool(answered) or (keys[1] in value and not value[keys[1]])
    unknown = "" if is_answered or not is_model else "call whose answer cannot be read"
    return _Call(is_model, str(began or ""), record, said, model if isinstance(model, str) else None, unknown)


def _messages(value: Any, path: JsonPath) -> Iterator[_Said]:
    """The messages in an input or output, whatever is around them."""
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
    role = _ROLES.get(str(kind))
    if role is None or not ({"content", "tool_calls"} & inner.keys()) or _is_definition(inner.get("content")):
        return None
    return _Said(role, path, inner)


def _is_definition(content: Any) -> bool:
    """Whether it is the definition of a tool, which Langfuse's handler lists among the messages."""
    return isinstance(content, dict) and content.get("type") == "function" and "function" in content


def _read(name: str, document: Document, calls: list[_Call]) -> Transcript:
    found = [call for call in calls if call.said]
    of_models = [call for call in found if call.is_model] or found
    if not of_models:
        raise UnknownFormatError("It holds no model call with messages.", "Export the trace with its input and output.")
    last = max(of_models, key=lambda call: (call.began, len(call.said)))
    tools: dict[str, str] = {}
    turns = [Turn(said.role, [*_blocks(said, last.record, tools)]) for said in last.said]
    begins = [_beginning(call) for call in of_models]
    others = sum(begin != _beginning(last) for begin in begins)
    warnings = (f"Calls of other conversations are ignored ({others}).",) if others else ()
    turns = [turn for turn in turns if turn.blocks]
    return Transcript(
        name,
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=last.model,
        warnings=warnings,
        unknown=tuple(Tally(call.unknown for call in calls if call.unknown).items()),
    )


def _beginning(call: _Call) -> list[Any]:
    return [said.message.get("content") for said in call.said[:2]]


def _blocks(said: _Said, record: int, tools: dict[str, str]) -> Iterator[Block]:
    message, where = said.message, (*said.path, "content")
    content = message.get("content")
    common: dict[str, Any] = {}
    kind = BlockKind.TEXT
    if said.role is Role.TOOL:
        kind, call_id, name = BlockKind.TOOL_RESULT, message.get("tool_call_id"), message.get("name")
        call_id = call_id if isinstance(call_id, str) else None
        common = {"call_id": call_id, "tool": tools.get(call_id or "") or (name if isinstance(name, str) else None)}
        if not isinstance(content, str):
            content = json_text.dump_compact(content)
    if isinstance(content, str):
        content = [content] if content or said.role is Role.TOOL else []
    for number, part in enumerate(content if isinstance(content, list) else ()):
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        owner = where if isinstance(message.get("content"), str) else (*where, number)
        if isinstance(text, str):
            injected = said.role is Role.USER and is_injected(text)
            yield Block(kind, Place(record, owner), owner, content=text, injected=injected, **common)
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
        tools[str(call.get("id"))] = str(function.get("name") or "")
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, owner),
            owner,
            content=arguments if isinstance(arguments, str) else json_text.dump_compact(arguments),
            tool=tools[str(call.get("id"))],
            call_id=str(call.get("id")),
        )


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
