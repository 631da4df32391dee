"""Runs of OpenHands and event logs of its SDK: events that are messages, their links and their copies."""

import json
from pathlib import Path
from typing import Any

import agent_logs
import laws
import pytest
import real
from agent_work import EXPECTED, SUPPRESS, WORK, answer, asked, call, cut, holds, shape
from build import calls, configuration, one_pass
from helpers import listing

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.errors import UnknownFormatError
from condense_cli.extractive.answers import words_in
from condense_cli.formats import parse
from condense_cli.rules.validity import validate
from condense_cli.toolcalls.tools import arguments_of, command_lines, path_argument, reads_a_file, writes_a_file

CONTENT = ("tool_results", "tool_parameters", "message_text")


def run() -> dict[str, Any]:
    return json.loads(agent_logs.WRITABLE["openhands"](WORK))  # type: ignore[no-any-return]


def events() -> list[dict[str, Any]]:
    data = agent_logs.WRITABLE["openhands-sdk"](WORK)
    return [json.loads(line) for line in data.splitlines()]


def loaded(value: Any) -> Transcript:
    lines = value if isinstance(value, list) else [value]
    return parse("".join(f"{json.dumps(line)}\n" for line in lines).encode())


@pytest.mark.parametrize("value", [run(), run()["history"], events()], ids=["run", "events", "sdk"])
def test_events_become_messages(value: Any) -> None:
    transcript = loaded(value)
    assert shape(transcript) == EXPECTED
    assert validate(transcript) == []


def test_what_the_calls_do_is_known() -> None:
    read, edit, command = calls(loaded(run()))
    assert (reads_a_file(read), path_argument(read)) == (True, "/src/a.py")
    assert (writes_a_file(edit), path_argument(edit)) == (True, "/src/a.py")
    assert command_lines(command) == ["pytest -q"]
    assert "thought" not in (arguments_of(read) or {})


def test_a_run_tells_its_model() -> None:
    assert loaded(run()).model == "gpt-5.1"


def test_several_runs_are_refused() -> None:
    with pytest.raises(UnknownFormatError, match="several runs"):
        loaded([run(), run()])


# Ids and causes stay, whatever goes; what the provider sent and what is shown go with the text itself.
def test_links_stay_and_copies_go() -> None:
    data = agent_logs.WRITABLE["openhands"](WORK)
    (old,), (new,) = [json.loads(data)], cut(data, tool_results=SUPPRESS, tool_parameters=SUPPRESS)
    links = [[(event["id"], event.get("cause")) for event in value["history"]] for value in (old, new)]
    assert links[0] == links[1]
    assert [event.keys() for event in old["history"]] == [event.keys() for event in new["history"]]
    for number in (1, 2):
        assert holds(old, listing(number)[:300])
        assert not holds(new, listing(number)[:300])
    assert {key: value for key, value in new.items() if key != "history"} == {
        key: value for key, value in old.items() if key != "history"
    }


# A summary is an event with the id of the first that it replaces, and every cause leads to an event.
@pytest.mark.parametrize("format", ["openhands", "openhands-sdk"])
def test_a_summary_is_an_event(format: str) -> None:
    data = agent_logs.WRITABLE[format](WORK)
    batch = {"operation": "summarize", "summarization_config": {"keep_first": 1, "keep_last": 1, "max_tokens": 300}}
    pass_ = {"id": "a", "mode": "batch", "selection": {"type": "custom"}, "batch_config": batch}
    result = api.condense(parse(data), configuration(pass_, keep_first=0))
    assert result.transcript.has_new_summary
    records = [json.loads(line) for line in api.dump(result).splitlines()]
    written = records[0]["history"] if format == "openhands" else records
    ids = [event["id"] for event in written]
    assert len(ids) == len(set(ids))
    assert {event["cause"] for event in written if "cause" in event} <= set(ids)
    assert {event["action_id"] for event in written if "action_id" in event} <= set(ids)
    (summary,) = [event for event in written if "summary of" in json.dumps(event)]
    assert summary.get("action", summary.get("kind")) in ("message", "MessageEvent")


def test_states_and_recalls_are_no_messages() -> None:
    value = run()
    extras = {"microagent_knowledge": [{"name": "git", "content": "Use git."}], "repo_instructions": ""}
    others = [
        {"id": 90, "source": "user", "message": "", "action": "recall", "args": {"query": "x"}},
        {"id": 91, "source": "environment", "message": "", "cause": 90, "observation": "recall", "content": "Added"}
        | {"extras": extras},
        {"id": 92, "source": "environment", "message": "", "observation": "agent_state_changed", "content": ""},
        {"id": 93, "source": "agent", "message": "", "observation": "error", "content": "No such tool"},
    ]
    value["history"][2:2] = others
    transcript = loaded(value)
    assert shape(transcript) == [*EXPECTED[:2], ("user", ["text"]), ("user", ["text"]), *EXPECTED[2:]]
    recalled, error = transcript.messages[2].blocks[0], transcript.messages[3].blocks[0]
    assert (recalled.text, recalled.injected) == ("Use git.", True)
    assert (error.text, error.injected) == ("No such tool", True)


def test_calls_of_one_answer_are_one_message() -> None:
    work = [*WORK[:2], asked(call("a", "run_command", command="ls"), call("b", "read_file", path="x"))]
    transcript = loaded(json.loads(agent_logs.WRITABLE["openhands"]([*work, answer("a", "1"), answer("b", "2")])))
    assert shape(transcript)[2:] == [
        ("assistant", ["text", "tool_call", "text", "tool_call"]),
        ("tool", ["tool_result", "tool_result"]),
    ]
    assert validate(transcript) == []


@pytest.mark.parametrize(
    "forgotten",
    [{"forgotten_event_ids": [2, 3, 4, 5]}, {"forgotten_events_start_id": 2, "forgotten_events_end_id": 5}],
    ids=["listed", "from and to"],
)
def test_what_a_condenser_forgot_is_not_sent(forgotten: dict[str, Any]) -> None:
    """The summary is in the place of the first message that it replaces."""
    value = run()
    condensed = {"action": "condensation", "args": {**forgotten, "summary": "I read a.py."}}
    value["history"].insert(7, {"id": 99, "source": "agent", "message": ""} | condensed)
    transcript = loaded(value)
    assert shape(transcript) == [*EXPECTED[:2], ("user", ["text"]), *EXPECTED[6:]]
    assert transcript.messages[2].is_summary


def test_events_of_older_runs() -> None:
    history: list[dict[str, Any]] = [
        {"content": "Fix it.", "action": "message", "images_urls": None},
        {"command": "cat a.py", "thought": "I look.", "action": "run"},
        {"content": listing(1), "command": "cat a.py", "observation": "run", "exit_code": 0},
        {"code": f"edit('{listing(2)}')", "thought": "", "action": "run_ipython"},
        {"content": "ok", "code": f"edit('{listing(2)}')", "observation": "run_ipython"},
        {"content": "Is it good?", "action": "message"},
        {"content": "Yes.", "action": "message"},
        {"thought": "I am done.", "action": "finish", "outputs": {}},
    ]
    data = json.dumps({"history": history}).encode()
    transcript = parse(data)
    assert shape(transcript) == [
        ("user", ["text"]),
        ("assistant", ["text", "tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["tool_call"]),
        ("tool", ["tool_result"]),
        ("assistant", ["text"]),
        ("user", ["text"]),
        ("assistant", ["text"]),
    ]
    (new,) = cut(data, tool_results=SUPPRESS, tool_parameters=SUPPRESS)
    assert not holds(new, listing(2)[:300])
    assert [list(event) for event in new["history"]] == [list(event) for event in history]


def test_an_action_is_cut_in_both_its_forms() -> None:
    data = agent_logs.WRITABLE["openhands-sdk"](WORK)
    new = cut(data, tool_parameters=SUPPRESS)
    (edit,) = [event for event in new if event.get("tool_name") == "edit_file" and "action" in event]
    assert edit["action"]["old_str"] == json.loads(edit["tool_call"]["arguments"])["old_str"]
    assert edit["action"]["old_str"].startswith("[… ")
    assert [event.keys() for event in new] == [event.keys() for event in events()]


def test_thinking_errors_and_rejections() -> None:
    value = events()
    value[2]["reasoning_content"] = "Hm."
    link = {key: value[3][key] for key in ("id", "timestamp", "source", "tool_name", "tool_call_id", "action_id")}
    for kind, key in (("AgentErrorEvent", "error"), ("UserRejectObservation", "rejection_reason")):
        value[3] = {**link, key: "no", "kind": kind}
        transcript = loaded(value)
        assert shape(transcript)[2:4] == [("assistant", ["thinking", "text", "tool_call"]), ("tool", ["tool_result"])]
        assert transcript.messages[3].blocks[0].is_error
        assert words_in(transcript.messages[3].blocks[0]) == ("no" if kind == "UserRejectObservation" else "")
    for unsaid in ({"rejection_reason": "User rejected the action"}, {"rejection_source": "hook"}):
        value[3] |= unsaid
        assert not words_in(loaded(value).messages[3].blocks[0])
        value[3]["rejection_reason"] = "no"


def test_what_the_sdk_condensed_is_not_sent() -> None:
    value = events()
    lost = [event["id"] for event in value[2:6]]
    summary = {"id": "s", "timestamp": "", "source": "environment", "llm_response_id": "r", "summary": "I read."}
    value.insert(6, summary | {"forgotten_event_ids": lost, "kind": "Condensation"})
    value.append({"id": "t", "timestamp": "", "source": "environment", "kind": "ConversationStateUpdateEvent"})
    transcript = loaded(value)
    assert shape(transcript) == [*EXPECTED[:2], ("user", ["text"]), *EXPECTED[6:]]
    assert transcript.messages[2].is_summary


ROWS = [
    (path, number)
    for path in sorted(real.FOLDER.glob("openhands/*.jsonl"))
    for number in range(path.read_bytes().count(b"\n"))
]


# Each run of a real file keeps every law for a preset and for the strictest configuration.
@pytest.mark.parametrize(("path", "number"), ROWS, ids=lambda value: getattr(value, "name", value))
def test_laws_hold_for_real_runs(path: Path, number: int) -> None:
    line = path.read_bytes().splitlines(keepends=True)[number]
    transcript = parse(line)
    assert transcript.format == "openhands"
    assert validate(transcript) == []
    strict = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 0})
    strict["individual_config"] = {
        "defaults": dict.fromkeys(("tool_results", "tool_parameters", "message_text"), SUPPRESS)
    }
    for config in (load_preset("speed"), load_preset("cost"), configuration(strict, lossless_prelude={})):
        laws.check_all(transcript, config)
