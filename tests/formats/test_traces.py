"""Traces of Langfuse and LangSmith, and spans of OpenTelemetry: the newest call of a model counts."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import traces
from agent_work import EXPECTED, WORK, shape
from build import texts

from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse

Json = dict[str, Any]


def langfuse(*observations: Json) -> bytes:
    return json.dumps({"trace": {}, "observations": observations}).encode()


def generation(start: str, *asked: Any, answer: Any = None) -> Json:
    return {"type": "GENERATION", "startTime": start, "input": [*asked], "output": answer}


USER = {"role": "user", "content": "Hello."}


def test_the_newest_generation_counts_wherever_it_is_listed() -> None:
    newest = generation("2026-01-02", USER, {"role": "assistant", "content": "Hi."}, {"role": "user", "content": "So?"})
    transcript = parse(langfuse(newest, generation("2026-01-01", USER, answer={"role": "assistant", "content": "Hi."})))
    assert texts(transcript) == ["Hello.", "Hi.", "So?"]
    assert transcript.warnings == ()


def test_other_conversations_are_said() -> None:
    other = generation("2026-01-01", {"role": "user", "content": "Something else."})
    transcript = parse(langfuse(other, generation("2026-01-02", USER)))
    assert texts(transcript) == ["Hello."]
    assert transcript.warnings == ("Calls of other conversations are ignored (1).",)


@pytest.mark.parametrize("spelled", ["text", "one list more", "wrapped"])
def test_how_messages_are_wrapped(spelled: str) -> None:
    asked: Any = {"text": json.dumps([USER]), "one list more": [[USER]], "wrapped": {"messages": [USER]}}[spelled]
    answer = {"choices": [{"message": {"role": "assistant", "content": "Hi."}}]}
    observation = {"type": "GENERATION", "startTime": "2026", "input": asked, "output": answer}
    assert texts(parse(langfuse(observation))) == ["Hello.", "Hi."]


def test_a_graph_without_runs_of_models_has_a_state() -> None:
    said = [traces.constructed(message) for message in WORK]
    run = {"run_type": "chain", "start_time": "1", "inputs": {"messages": said[:2]}, "outputs": {"messages": said}}
    transcript = parse(json.dumps(run).encode())
    assert (transcript.format, shape(transcript)) == ("langsmith", EXPECTED)


def test_runs_as_lines() -> None:
    runs = traces.langsmith(WORK)["child_runs"]
    transcript = parse(b"".join(json.dumps(run).encode() + b"\n" for run in reversed(runs)))
    assert (transcript.format, shape(transcript)) == ("langsmith", EXPECTED)
    assert transcript.model == "gpt-5.6"


@pytest.mark.parametrize("made", [traces.langfuse, traces.langsmith])
def test_the_made_ones_are_read_whole_however_long_they_are(made: Callable[[traces.Messages], Json]) -> None:
    said = WORK + [{"role": role, "content": f"{n}"} for n in range(60) for role in ("user", "assistant")]
    assert len(parse(json.dumps(made(said)).encode()).messages) == len(said)


@pytest.mark.parametrize("input", ["developer: x\nuser: y", None, ["role='user' content='x'"], "[" * 9_000])
def test_what_holds_no_messages_is_refused(input: Any) -> None:
    observation = {"type": "GENERATION", "startTime": "2026", "input": input, "output": "text"}
    with pytest.raises(UnknownFormatError, match="no model call with messages"):
        parse(langfuse(observation))


def test_messages_of_a_span_may_be_values_of_an_event_with_their_types() -> None:
    part = {"kvlistValue": {"values": [string("type", "text"), string("content", "Hello.")]}}
    parts = {"key": "parts", "value": {"arrayValue": {"values": [part]}}}
    message = {"kvlistValue": {"values": [string("role", "user"), parts]}}
    asked = {"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": [message]}}}
    span = {"startTimeUnixNano": "5", "attributes": [], "events": [{"name": "details", "attributes": [asked]}]}
    transcript = parse(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode())
    assert (transcript.format, texts(transcript)) == ("otel-spans", ["Hello."])


def string(key: str, value: str) -> Json:
    return {"key": key, "value": {"stringValue": value}}


def test_spans_may_have_attributes_as_an_object_and_texts_in_several_parts() -> None:
    said = {"llm.input_messages.0.message.role": "user", "llm.model_name": "m"}
    said |= {f"llm.input_messages.0.message.contents.{n}.message_content.text": f"Text {n}." for n in (10, 9)}
    transcript = parse(json.dumps({"name": "chat", "start_time": "1", "attributes": said}).encode())
    assert (transcript.model, texts(transcript)) == ("m", ["Text 9.", "Text 10."])


# Whichever comes first.
@pytest.mark.parametrize("backwards", [False, True])
def test_an_attribute_may_be_a_value_and_hold_others(backwards: bool) -> None:
    said = {"llm.input_messages.0": "x", "llm.input_messages.0.message.role": "user"}
    said |= {"llm.input_messages.0.message.content": "Hello."}
    span = {"start_time": "1", "attributes": dict(sorted(said.items(), reverse=backwards))}
    assert texts(parse(json.dumps(span).encode())) == ["Hello."]


def test_spans_without_messages_are_refused() -> None:
    with pytest.raises(UnknownFormatError, match="no model call with messages"):
        parse(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"name": "tool"}]}]}]}).encode())
