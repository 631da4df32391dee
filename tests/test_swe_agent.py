"""SWE-agent trajectories: actions inside text, native tools, demonstrations; a format that is only read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import laws
import pytest
import real
from build import LONG, assistant, configuration, one_pass, text, user
from helpers import condense, listing
from hypothesis import given
from hypothesis import strategies as st
from strategies import PIXEL, VISIBLE, configurations

from condense_cli import api, textactions
from condense_cli.config.presets import load_preset
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse
from condense_cli.passes.predicates import superseded_results
from condense_cli.passes.receipts import Kept
from condense_cli.passes.selection import protect
from condense_cli.report.validation import check
from condense_cli.tokens import Counter
from condense_cli.tools import arguments_of, main_argument, path_argument, readable_arguments, reads_a_file
from condense_cli.transcript import Block, BlockKind, JsonPath, Place, Transcript
from condense_cli.validity import validate

PROMPT = "\n(Open file: /repo/a.py)\n(Current directory: /repo)\nbash-$"
SYSTEM = {"role": "system", "content": "You are a programmer.", "agent": "primary"}
TASK = user("Please fix the bug." + PROMPT)
EDIT = f"edit 10:12\n{LONG}\nend_of_edit\n"


def act(action: str, thought: str = "I go on.", tail: str = "") -> dict[str, Any]:
    content = f"{thought}\n```\n{action}```{tail}"
    return assistant(content) | {"thought": f"{thought}\n", "action": action, "agent": "primary"}


def act_in_tags(action: str, thought: str = "I go on.") -> dict[str, Any]:
    return assistant(f"{thought}\n<command>\n{action}\n</command>") | {"thought": thought, "action": action}


def tool_turn(call_id: str, tool: str, answer: str, **arguments: Any) -> list[dict[str, Any]]:
    call = {"id": call_id, "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    asked = assistant("I open a.py now.") | {"action": "open a.py", "tool_calls": [call]}
    return [asked, {"role": "tool", "content": answer, "message_type": "observation", "tool_call_ids": [call_id]}]


def spelled(*history: dict[str, Any], **keys: Any) -> bytes:
    steps = [{"action": message.get("action"), "observation": ""} for message in history if "action" in message]
    whole = {"environment": "main", "trajectory": steps, "history": [*history], "info": {}, **keys}
    return json.dumps(whole, indent=2).encode()


def traj(*history: dict[str, Any], **keys: Any) -> Transcript:
    transcript = parse(spelled(*history, **keys))
    assert transcript.format == "swe-agent"
    return transcript


def session() -> list[dict[str, Any]]:
    return [
        SYSTEM,
        TASK,
        act("open src/a.py 12\n"),
        user(LONG + PROMPT),
        act(EDIT, tail="\nThat is all."),
        user("[File: src/a.py (90 lines total)]\n" + LONG + PROMPT),
        act("submit\n", "Now I submit."),
    ]


def shape(transcript: Transcript) -> list[list[tuple[str, str | None, str | None]]]:
    return [
        [(block.kind.value, block.tool, block.call_id) for block in message.blocks] for message in transcript.messages
    ]


def calls(transcript: Transcript) -> list[Block]:
    return [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_CALL]


# --- Messages --------------------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("content", "action", "rest"),
    [
        ("ls first.\n```\nls\n```\nThen no more ls.", "ls\n", "\n```\nThen no more ls."),
        ("```python\nls\n```\nor\n```bash\nls\n```", "ls\n", "\n```"),
        ("```\nother\n```\nBut <command>ls</command> it is. ```ls", "ls", "</command> it is. ```ls"),
        ("ls", "ls", ""),
        ("Tools: ls", "ls", ""),
        ("```\nedit 1:1\n```\nx\n```\nend_of_edit\n```\n", "edit 1:1\n```\nx\n```\nend_of_edit\n", "\n```\n"),
        ("first\n```\npwd\n```\nsecond\n```\nls -l\n```", None, "\n```"),
        ("first\n```\npwd\n```\n<command>\nls -l\n</command>", None, "\n</command>"),
    ],
)
def test_the_action_is_found_where_it_stands(content: str, action: str | None, rest: str) -> None:
    span = textactions.find(content, action)
    assert span is not None
    assert content[span[0] : span[1]] == (action or "ls -l").strip()
    assert content[span[1] :] == rest


@pytest.mark.parametrize(
    ("content", "action"),
    [("Exit due to cost limit", "exit_cost"), ("tools", "ls"), ("nothing", None), ("```\n\n```", None), ("x", "\n")],
)
def test_an_action_that_is_not_there_is_not_found(content: str, action: str | None) -> None:
    assert textactions.find(content, action) is None


# What came of an action that stands nowhere in the text is a result all the same, of a call that nobody sees.
def test_observations_of_unseen_actions() -> None:
    transcript = traj(SYSTEM, TASK, assistant("I look.") | {"action": "cat a.py\n"}, user("x"), user("Go on!"))
    assert shape(transcript)[2:] == [[("text", None, None)], [("tool_result", "cat", None)], [("text", None, None)]]


# Talk without an action is answered by a person.
def test_without_an_action_the_user_speaks() -> None:
    assert shape(traj(SYSTEM, TASK, assistant("What now?"), user("Fix it.")))[3] == [("text", None, None)]


def request(transcript: Transcript) -> int:
    """The message that is protected as the first request."""
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


def test_content_in_parts() -> None:
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


# --- Arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "arguments", "reads"),
    [
        ("open src/a.py", {"path": "src/a.py"}, True),
        ('open "my file.py" 12', {"path": "my file.py", "line": "12"}, True),
        ("open a.py && ls", {"arguments": "a.py && ls"}, False),
        ("create 'new.py'", {"path": "new.py"}, False),
        ("goto 120", {"line": "120"}, False),
        ("scroll_down", {}, False),
        ("edit 3:4\nx\ny\nend_of_edit", {"lines": "3:4", "text": "x\ny"}, False),
        ("edit 3:4\nend_of_edit", {"lines": "3:4"}, False),
        ("edit\nx\nend_of_edit", {"text": "x"}, False),
        ("insert 3\nx\nend_of_insert", {"lines": "3", "text": "x"}, False),
        ('search_dir "def f(x):" src', {"pattern": "def f(x):", "path": "src"}, False),
        ("find_file *.py", {"pattern": "*.py"}, False),
        ("cat a.py", {"path": "a.py"}, True),
        ("cat --help", {"arguments": "--help"}, False),
        ("cat > a.py <<'E'\nx\nE", {"arguments": "> a.py <<'E'\nx\nE"}, False),
        ("python a.py --fast", {"arguments": "a.py --fast"}, False),
        ("ls", {}, False),
        ("submit flag{x}", {"arguments": "flag{x}"}, False),
    ],
)
def test_arguments_of_actions(action: str, arguments: dict[str, str], reads: bool) -> None:
    (call,) = calls(traj(SYSTEM, TASK, act(action + "\n")))
    assert call.text == action
    assert arguments_of(call) == arguments
    assert path_argument(call) == arguments.get("path")
    assert main_argument(call) == arguments.get("path", next(iter(arguments.values()), ""))
    assert reads_a_file(call) is reads
    assert readable_arguments(call) == action


# Replacing the arguments of an action changes exactly these.
@pytest.mark.parametrize(
    "action", ['open "a b" 12', "edit 3:4\nx\ny\nend_of_edit", "search_dir 'x' src", "python a.py --fast", "ls"]
)
def test_replacing_arguments(action: str) -> None:
    before = textactions.arguments(action)
    new: dict[JsonPath, str] = {(name,): f"{number}:{number}" for number, name in enumerate(before)}
    replaced = textactions.replace(action, new)
    assert list(textactions.arguments(replaced).values()) == list(new.values())
    assert textactions.replace(replaced, {(name,): value for name, value in before.items()}) == action


# A file opened again at the same line makes the older window obsolete; another line does not.
def test_windows_of_a_file_supersede() -> None:
    actions = ["open a.py 1\n", "open a.py 90\n", "python a.py\n", "open a.py 1\n", "python a.py\n"]
    turns = [turn for number, action in enumerate(actions) for turn in (act(action), user(f"{number}{PROMPT}"))]
    assert superseded_results(traj(SYSTEM, TASK, *turns).messages) == {"text-call-1"}


# --- The file --------------------------------------------------------------------------------------------------------


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


# --- Writing ---------------------------------------------------------------------------------------------------------


def logged(*history: dict[str, Any]) -> bytes:
    """A file whose steps repeat the history as the agent logs it."""
    steps: list[dict[str, Any]] = []
    for message in history:
        if "action" in message:
            step = {key: message[key] for key in ("action", "thought")} | {"response": message["content"]}
            query = [{"role": old["role"], "content": old["content"]} for old in history[: history.index(message)]]
            steps.append(step | {"observation": "", "state": "{}", "execution_time": 0.25, "query": query})
        elif steps:
            steps[-1]["observation"] = message["content"].removesuffix(PROMPT)
    whole = {"environment": "main", "trajectory": steps, "history": [*history], "info": {"submission": "diff"}}
    return json.dumps(whole, indent=4).encode()


def condensed(data: bytes, **types: Any) -> dict[str, Any]:
    """The file without what the operations leave out, by content type, of all messages but the last."""
    pass_ = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 1})
    pass_["individual_config"] = {"defaults": types}
    result = api.condense(parse(data), configuration(pass_, keep_first=0))
    assert result.changes
    return json.loads(api.dump(result))  # type: ignore[no-any-return]


SUPPRESS = {"operation": "suppress"}
WORK = [
    SYSTEM,
    TASK,
    act("open src/a.py 12\n", "First " + LONG),
    user(listing(1) + PROMPT),
    act(f"edit 10:12\n{listing(2)}end_of_edit\n", tail="\nThat is all."),
    user("[File: src/a.py (90 lines total)]\n" + listing(3) + PROMPT),
    act("submit\n", "Now I submit."),
]


def holds(value: Any, text: str) -> bool:
    return json.dumps(text)[1:-1] in json.dumps(value)


# What was left out of the history is left out of the log of steps, which keeps its steps and everything else.
def test_steps_lose_what_the_history_loses() -> None:
    data = logged(*WORK)
    old, new = json.loads(data), condensed(data, tool_results=SUPPRESS)
    assert len(new["trajectory"]) == len(old["trajectory"])
    assert new["trajectory"][0]["observation"] == new["history"][3]["content"]
    assert new["trajectory"][-1]["query"][3]["content"] == new["history"][3]["content"]
    assert not holds(new, listing(1)[:200])
    for before, after in zip(old["trajectory"], new["trajectory"], strict=True):
        kept = ("action", "thought", "response", "state", "execution_time")
        assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
    assert new["info"] == old["info"]


# A replay runs what the assistant's messages say: it runs the same as long as no call was cut.
def test_a_replay_runs_the_same_actions() -> None:
    new = condensed(logged(*WORK), tool_results=SUPPRESS)
    said = [message["content"] for message in WORK if message["role"] == "assistant"]
    assert [message["content"] for message in new["history"] if message["role"] == "assistant"] == said


# A cut action says the same in the text, under its key and in the log.
def test_a_cut_action_is_the_same_everywhere() -> None:
    new = condensed(logged(*WORK), tool_parameters=SUPPRESS)
    entry = new["history"][4]
    assert entry["action"].startswith("edit 10:12\n[condense: ")
    assert entry["action"].strip() in entry["content"]
    assert not holds(new, listing(2)[:200])
    assert holds(new["trajectory"][0]["observation"], listing(1))


# A cut thought is cut under its key too.
def test_a_cut_thought_is_cut_everywhere() -> None:
    new = condensed(logged(*WORK), message_text=SUPPRESS)
    assert not holds(new, LONG)
    assert new["history"][2]["thought"].startswith("[condense: ")


# A copy stays as long as one of the messages that say it does.
def test_copies_of_what_stays_stay() -> None:
    turns = [act("open a.py\n"), user(LONG + PROMPT), act("open b.py\n"), user(LONG + PROMPT)]
    new = condensed(logged(SYSTEM, TASK, *turns), tool_results=SUPPRESS)
    assert [LONG in message["content"] for message in new["history"]] == [False, False, False, False, False, True]
    assert [LONG in step["observation"] for step in new["trajectory"]] == [True, True]


# What a reference names is not left out: the log keeps its copy.
def test_references_leave_the_log_alone() -> None:
    turns = [act("open a.py\n"), user(LONG + PROMPT), act("open a.py\n"), user(LONG + PROMPT)]
    data = logged(SYSTEM, TASK, *turns)
    result = api.condense(parse(data), configuration(lossless_prelude={}))
    assert result.changes
    assert json.loads(api.dump(result))["trajectory"] == json.loads(data)["trajectory"]


# --slim leaves out the copies of what stands in the history.
def test_slim_leaves_out_the_log() -> None:
    data = logged(*WORK)
    slim = api.dump(api.condense(parse(data), configuration(), slim=True))
    said = [[message["content"] for message in json.loads(one)["history"]] for one in (data, slim)]
    assert said[0] == said[1]
    assert not holds(json.loads(slim)["trajectory"], listing(1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.traj"
    turns = [turn for _ in range(6) for turn in session()[2:6]]
    path.write_bytes(spelled(SYSTEM, TASK, *turns))
    return path


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["inspect", "FILE"], "src/a.py"),
        (["estimate", "FILE"], "speed"),
        (["diff", "FILE", "--preset", "speed"], "saved"),
        (["diff", "FILE", "FILE"], "No difference in 26 messages"),
        (["validate", "FILE"], "valid: 26 messages, format swe-agent"),
        (["show", "FILE", "2:2"], "open src/a.py 12"),
        (["show", "FILE", "2", "--raw"], '"action": "open src/a.py 12\\n"'),
        (["run", "FILE", "--preset", "speed", "-o", "OUT"], "bytes"),
    ],
)
def test_every_command_works(path: Path, arguments: list[str], expected: str) -> None:
    named = {"FILE": path, "OUT": path.parent / "out.traj"}
    done = condense(*[named.get(argument, argument) for argument in arguments])
    assert done.status == 0
    assert expected in done.plain


# --- Laws and real files ---------------------------------------------------------------------------------------------


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
