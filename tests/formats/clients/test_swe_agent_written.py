"""Write SWE-agent trajectories: the log of steps loses what the history loses."""

import json
from pathlib import Path
from typing import Any

import pytest
from build import LONG, configuration, one_pass, user
from helpers import condense, listing
from trajectories import PROMPT, SYSTEM, TASK, act, session, spelled

from condense_cli import api
from condense_cli.formats import parse


def logged(*history: dict[str, Any]) -> bytes:
    """Build a file whose steps repeat the history as the agent logs it."""
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
    """Apply operations, by content type, to all messages but the last, and return the file."""
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
    assert entry["action"].startswith("edit 10:12\n[… ")
    assert entry["action"].strip() in entry["content"]
    assert not holds(new, listing(2)[:200])
    assert holds(new["trajectory"][0]["observation"], listing(1))


# A cut thought is cut under its key too.
def test_a_cut_thought_is_cut_everywhere() -> None:
    new = condensed(logged(*WORK), message_text=SUPPRESS)
    assert not holds(new, LONG)
    assert new["history"][2]["thought"].startswith("[… ")


# A copy stays as long as one of the messages that say it does.
def test_copies_of_what_stays_stay() -> None:
    turns = [act("open a.py\n"), user(LONG + PROMPT), act("open b.py\n"), user(LONG + PROMPT)]
    new = condensed(logged(SYSTEM, TASK, *turns), tool_results=SUPPRESS)
    assert [LONG in message["content"] for message in new["history"]] == [False, False, False, False, False, True]
    assert [LONG in step["observation"] for step in new["trajectory"]] == [True, True]


# What a reference names is not left out: the log keeps its copy.
@pytest.mark.usefixtures("anywhere")
def test_references_leave_the_log_alone() -> None:
    turns = [act("open a.py\n"), user(LONG + PROMPT), act("open a.py\n"), user(LONG + PROMPT)]
    data = logged(SYSTEM, TASK, *turns)
    result = api.condense(parse(data), configuration(lossless_prelude={}))
    assert result.changes
    assert json.loads(api.dump(result))["trajectory"] == json.loads(data)["trajectory"]


# --slim leaves out the copies of what is in the history.
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


@pytest.mark.sampled(1)
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
