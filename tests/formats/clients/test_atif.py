"""Trajectories in Harbor's interchange format and sessions of Google's ADK: their oddities."""

import json
from typing import Any

import further_agents
from agent_work import WORK, shape
from build import configuration, one_pass, texts

from condense_cli import api
from condense_cli.config.options import Overrides
from condense_cli.formats import parse

Json = dict[str, Any]


def trajectory() -> Json:
    return json.loads(further_agents.WRITABLE["atif"](WORK))  # type: ignore[no-any-return]


# A thought is of the answer behind it; what the environment showed unasked is no result.
def test_steps_without_calls() -> None:
    value = trajectory()
    value["steps"][2:2] = [
        {"step_id": 3, "source": "agent", "message": "", "reasoning_content": "Hm."},
    ]
    value["steps"].append(
        {"step_id": 8, "source": "system", "message": "Summarizing.", "observation": {"results": [{}]}}
    )
    value["steps"].append(
        {"step_id": 9, "source": "system", "message": "", "observation": {"results": [{"content": "A screen."}]}}
    )
    transcript = parse(json.dumps(value).encode())
    assert shape(transcript)[2] == ("assistant", ["thinking", "text", "tool_call"])
    assert shape(transcript)[-2:] == [("system", ["text"]), ("user", ["text"])]
    assert transcript.messages[-1].is_injected


# A result that names no call is that of the call in its place; parts may be images.
def test_results_without_a_name() -> None:
    value = trajectory()
    for step in value["steps"]:
        for result in step.get("observation", {"results": []})["results"]:
            del result["source_call_id"]
            image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
            result["content"] = [{"type": "text", "text": result["content"]}, image]
    transcript = parse(json.dumps(value).encode())
    assert [(block.answers, block.kind.value) for block in transcript.messages[3].blocks] == [
        ("c1", "tool_result"),
        ("c1", "image"),
    ]


# The numbers of the steps go up by one, with a summary too.
def test_steps_are_numbered_anew() -> None:
    batch = one_pass(mode="batch", selection={"type": "preserve_recent", "keep_recent_count": 1})
    batch["batch_config"] = {"operation": "summarize", "summarization_config": {"keep_first": 2, "keep_last": 1}}
    result = api.condense(parse(json.dumps(trajectory()).encode()), configuration(batch, keep_first=0))
    steps = json.loads(api.dump(result))["steps"]
    assert len(steps) < len(trajectory()["steps"])
    assert [step["step_id"] for step in steps] == list(range(1, len(steps) + 1))


# Events of the ADK may have camel case, no content, and a response that is an object.
def test_events_of_the_adk() -> None:
    value = json.loads(further_agents.WRITABLE["google-adk"](WORK))
    value["appName"] = value.pop("app_name")
    responses = [
        part["function_response"]
        for event in value["events"]
        for part in event.get("content", {}).get("parts", ())
        if "function_response" in part
    ]
    responses[0]["response"] = {"status": "success", "items": [1, 2]}
    responses[1]["response"] = {"error": "no such file"}
    transcript = parse(json.dumps(value).encode())
    assert transcript.format == "google-adk"
    blocks = [block for _, block in transcript.blocks() if block.answers]
    assert [(block.kind.value, block.is_error) for block in blocks[:2]] == [("opaque", False), ("tool_result", True)]
    assert texts(transcript)[0] == "Fix the bug."


# The schema asks for numbers; exports without any stay without.
def test_steps_without_numbers_get_none() -> None:
    value = trajectory()
    for step in value["steps"]:
        del step["step_id"]
    result = api.condense(api.loads(json.dumps(value)), preset="max", overrides=Overrides(keep_recent=1))
    assert result.transcript.has_new_summary
    assert not any("step_id" in step for step in json.loads(api.dump(result))["steps"])
