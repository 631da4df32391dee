"""Read SWE-agent trajectories: actions, observations, demonstrations, and whole files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import laws
import pytest
import real
from build import LONG, assistant, calls, configuration, one_pass, text, user
from generated_configurations import configurations
from hypothesis import given
from hypothesis import strategies as st
from pictures import PIXEL
from strategies import VISIBLE
from trajectories import EDIT, PROMPT, SYSTEM, TASK, act, act_in_tags, session, spelled, tool_turn, traj

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Place, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse
from condense_cli.passes.receipts import Kept
from condense_cli.passes.selection import protect
from condense_cli.report.lists.validation import check
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.tools import path_argument, reads_a_file


def shape(transcript: Transcript) -> list[list[tuple[str, str | None, str | None]]]:
    return [
        [(block.kind.value, block.tool, block.call_id) for block in message.blocks] for message in transcript.messages
    ]


def test_actions_and_observations_are_tool_blocks() -> None:
    transcript = traj(*session())
    plain, fence = ("text", None, None), ("opaque", None, None)
    assert shape(transcript) == [
        [plain],
        [plain],
        [plain, fence, ("tool_call", "open", "text-call-1"), fence],
        [("tool_result", "open", "text-call-1")],
        [plain, fence, ("tool_call", "edit", "text-call-2"), fence, plain],
        [("tool_result", "edit", "text-call-2")],
        [plain, fence, ("tool_call", "submit", "text-call-3"), fence],
    ]
    assert [call.text for call in calls(transcript)] == ["open src/a.py 12", EDIT.strip(), "submit"]
    assert transcript.messages[3].blocks[0].text == LONG + PROMPT
    for message, record in zip(transcript.messages, session(), strict=True):
        assert "".join(block.text for block in message.blocks) == record["content"]


def test_actions_in_tags_are_calls() -> None:
    transcript = traj(SYSTEM, TASK, act_in_tags("submit", "I could submit."), user("done"))
    told = [block.text for block in transcript.messages[2].blocks]
    call = transcript.messages[2].blocks[2]
    assert told == ["I could submit.", "\n<command>\n", "submit", "\n</command>"]
    assert transcript.messages[3].blocks[0].answers == call.call_id


# The observation of an action that is not in the text is a result all the same, of a call that nobody sees.
def test_observations_of_unseen_actions_are_results() -> None:
    transcript = traj(SYSTEM, TASK, assistant("I look.") | {"action": "cat a.py\n"}, user("x"), user("Go on!"))
    assert shape(transcript)[2:] == [[("text", None, None)], [("tool_result", "cat", None)], [("text", None, None)]]


# Talk without an action is answered by a person.
def test_without_an_action_the_user_speaks() -> None:
    assert shape(traj(SYSTEM, TASK, assistant("What now?"), user("Fix it.")))[3] == [("text", None, None)]


def request(transcript: Transcript) -> int:
    """Return the message that is protected as the first request."""
    protected = protect(configuration(one_pass()), transcript.messages, Counter()).messages
    return next(index for index, why in protected.items() if why is Kept.FIRST_REQUEST)


def test_a_demonstration_is_the_clients_and_the_task_the_users() -> None:
    demo = user("--- DEMONSTRATION ---\n```\nsubmit\n```") | {"is_demo": True}
    transcript = traj(SYSTEM, demo, TASK, act("ls\n"), user("a.py"))
    assert [message.is_injected for message in transcript.messages] == [False, True, False, False, False]
    assert request(transcript) == 2
    assert len(calls(transcript)) == 1


# A demonstration in single messages is no work of this session: the task is no answer to its last action.
def test_a_demonstration_in_steps_makes_no_calls() -> None:
    demo = [message | {"is_demo": True} for message in (TASK, act("ls\n"), user("a.py"), act("submit\n"))]
    transcript = traj(SYSTEM, *demo, TASK | {"message_type": "observation"}, act("ls\n"), user("a.py"))
    assert {block.kind for message in transcript.messages[:6] for block in message.blocks} == {BlockKind.TEXT}
    assert all(block.injected for message in transcript.messages[1:5] for block in message.blocks)
    assert request(transcript) == 5
    assert shape(transcript)[7] == [("tool_result", "ls", "text-call-1")]


def test_a_demonstration_is_not_the_start_that_is_protected() -> None:
    demo = [message | {"is_demo": True} for message in (TASK, act("ls\n"), user("a.py"), act("submit\n"))]
    transcript = traj(SYSTEM, *demo, TASK, act("ls\n"), user("a.py"))
    protected = protect(configuration(one_pass()), transcript.messages, Counter()).messages
    assert protected == {0: Kept.STANDING, 5: Kept.FIRST_REQUEST}


def test_native_tools_are_read_as_they_are() -> None:
    thought = {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}]}
    asked, answer = tool_turn("call_1", "open", LONG, path="a.py", line_number=3)
    transcript = traj(SYSTEM, TASK, asked | thought, answer, *tool_turn("call_2", "create", "x", filename="b.py"))
    assert shape(transcript)[2] == [("thinking", None, None), ("text", None, None), ("tool_call", "open", "call_1")]
    assert shape(transcript)[3] == [("tool_result", "open", "call_1")]
    opened, created = calls(transcript)
    assert (path_argument(opened), reads_a_file(opened)) == ("a.py", True)
    assert (path_argument(created), reads_a_file(created)) == ("b.py", False)
    assert validate(transcript) == []


def test_content_in_parts_is_read_like_text() -> None:
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    acting = act("ls\n")
    transcript = traj(
        SYSTEM | {"content": [text("Be good.")]},
        TASK,
        acting | {"content": [text(acting["content"])]},
        user([text("a.py"), image]),
    )
    (call,) = calls(transcript)
    assert (call.text, call.place) == ("ls", Place(2, ("content", 0, "text")))
    assert [block.kind for block in transcript.messages[3].blocks] == [BlockKind.TOOL_RESULT, BlockKind.IMAGE]
    assert {block.answers for block in transcript.messages[3].blocks} == {call.call_id}


CONFIG = {"agent": {"model": {"name": "gpt-4o", "api_key": None}}}


@pytest.mark.parametrize(
    ("config", "model"),
    [
        (CONFIG, "gpt-4o"),
        (json.dumps(CONFIG), "gpt-4o"),
        ("{", None),
        ({"agent": {"agent_configs": []}}, None),
        ({"agent": {"model": {"name": 7}}}, None),
        (None, None),
    ],
)
def test_the_model_is_in_the_configuration(config: Any, model: str | None) -> None:
    assert traj(*session(), replay_config=config).model == model


# Each message of the history is a record, with its own line.
def test_records_are_the_messages() -> None:
    history = [SYSTEM, user("Größe → 🎉"), *tool_turn("call_1", "open", "x"), *tool_turn("call_1", "open", "y")]
    data = json.dumps({"trajectory": [], "history": history, "info": {}}, indent=1, ensure_ascii=False).encode()
    source = parse(data).source
    assert [json.loads(source.raw(record)) for record in range(source.listed)] == history
    (fault,) = check(parse(data), source="x.traj").faults
    lines = data.decode().split("\n")
    assert (fault.rule, fault.record) == ("call_ids_unique", 4)
    assert fault.line == [number for number, line in enumerate(lines, 1) if line == "  {"][4]


@pytest.mark.parametrize(
    "value",
    [
        {"history": session()},
        {"history": session(), "trajectory": {}},
        {"history": [], "trajectory": []},
        {"history": [{"id": 1, "source": "agent", "action": "run"}], "trajectory": []},
        {"history": [{"role": {"a": 1}}], "trajectory": []},
        {"history": {"role": "user"}, "trajectory": []},
    ],
)
def test_other_objects_are_not_taken_for_it(value: Any) -> None:
    for form in (None, "swe-agent"):
        with pytest.raises(UnknownFormatError):
            parse(json.dumps(value).encode(), format=form)


def test_several_trajectories_are_refused() -> None:
    line = json.dumps(json.loads(spelled(*session()))).encode() + b"\n"
    assert parse(line).format == "swe-agent"
    with pytest.raises(UnknownFormatError, match=r"t\.jsonl: It holds several trajectories"):
        parse(line + line, name="t.jsonl")


def test_a_history_of_its_own_is_read_when_it_is_named() -> None:
    data = json.dumps(session()).encode()
    assert shape(parse(data, format="swe-agent")) == shape(traj(*session()))
    with pytest.raises(UnknownFormatError, match="record 2 is not a message"):
        parse(json.dumps([SYSTEM, {"role": "narrator"}]).encode(), format="swe-agent")


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages = [SYSTEM, user(draw(VISIBLE))]
    for number in range(draw(st.integers(1, 6))):
        body = draw(VISIBLE)
        action = draw(st.sampled_from([f"open {number}.py\n", f"edit 1:2\n{body}\nend_of_edit\n", f"echo {body}\n"]))
        turn = draw(st.sampled_from([act(action, body), act_in_tags(action, body)]))
        native = tool_turn(f"call_{number}", "bash", draw(VISIBLE), command=body)
        messages += draw(st.sampled_from([[turn, user(draw(VISIBLE))], native]))
    return messages


# Every law that needs no written file holds for any configuration on any history.
@given(histories(), configurations())
def test_laws_hold(history: list[dict[str, Any]], config: Any) -> None:
    transcript = traj(*history)
    for message, record in zip(transcript.messages, history, strict=True):
        told = [block.text for block in message.blocks if block.kind is not BlockKind.TOOL_CALL or block.span]
        assert "".join(told) == record["content"]
    laws.check_all(transcript, config)


FILES = real.files_of("swe-agent")


@pytest.mark.skipif(not FILES, reason="the real transcripts are not present")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name[-60:])
def test_real_files_are_read(file: Path) -> None:
    transcript = real.transcript(file)
    history = json.loads(file.read_bytes())["history"]
    assert (transcript.format, len(transcript.messages)) == ("swe-agent", len(history))
    asked = {call.call_id: call for call in calls(transcript)}
    for message, record in zip(transcript.messages, history, strict=True):
        told = [block.text for block in message.blocks if block.kind is not BlockKind.TOOL_CALL or block.span]
        assert "".join(told) == record["content"]
        acts = record["role"] == "assistant" and not record.get("is_demo") and record["action"] != "exit_cost"
        assert acts == any(block.kind is BlockKind.TOOL_CALL for block in message.blocks)
        if message.index and transcript.messages[message.index - 1].has_calls:
            assert {block.answers for block in message.blocks} <= asked.keys()
            assert {block.kind for block in message.blocks} == {BlockKind.TOOL_RESULT}
    # The replayed runs took ids from another run, some of them twice.
    allowed = {"call_ids_unique"} if "function_calling" in file.name else set()
    assert {violation.rule for violation in validate(transcript)} <= allowed
    speed = load_preset("speed")
    laws.check_content(api.condense(transcript, speed, counter=Counter()), speed, Counter())
