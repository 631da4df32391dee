"""Lists of todos that a later call replaced: they go in the passes, and the newest stays."""

import json
from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    calls,
    condense,
    configuration,
    extract,
    one_pass,
    openai,
    reasons,
    result,
    user,
    written,
)
from rollout_items import function, items, output
from rollout_items import rollout as codex
from rollouts import message
from todo_calls import listed
from trajectories import PROMPT, SYSTEM, TASK, act, traj

from condense_cli import api
from condense_cli.core.markers import gaps_in, parse_gap
from condense_cli.core.transcript import JsonPath, Transcript
from condense_cli.ledger.collect import collect
from condense_cli.passes.blocks.state import REPLACED
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept
from condense_cli.passes.selection import superseded_results
from condense_cli.report.inspection.lookup import find
from condense_cli.toolcalls import text_calls, tools
from condense_cli.toolcalls.tools import arguments_of, main_argument, path_argument, readable_arguments, reads_a_file

SUPPRESS = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
TRUNCATE = one_pass(
    individual_config={
        "defaults": {"tool_parameters": {"operation": "truncate", "params": {"truncate": {"max_lines": 900}}}}
    }
)
SUMMARIZE = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "summarize"}}})
WORTH = one_pass(mode="extract", extract_config={"min_worth": 0.1}, individual_config=None)
DONE = "Todos have been modified successfully."


def listing(number: int, *, tool: str = "TodoWrite", answer: str = DONE, **extra: Any) -> list[dict[str, Any]]:
    """A call with a list whose first todos are done, and its result."""
    identifier = f"todo_{number}"
    arguments = {"todos": listed(number), **extra.pop("arguments", {})}
    return [assistant([call(identifier, tool, **arguments)]), user([result(identifier, answer, **extra)])]


def work(*turns: list[dict[str, Any]]) -> Transcript:
    return anthropic(user("Rewrite it."), *(message for turn in turns for message in turn), assistant("Done."))


def lists(condensation: Condensation) -> list[Any]:
    """The lists of the calls, None for those that went."""
    found = []
    for block in calls(condensation.transcript):
        path = tools.path_of(block)
        value = tools.value_of(block, path) if path else []
        found.append(None if tools.gap_of(value) else value)
    return found


@pytest.mark.parametrize(
    "step", [SUPPRESS, TRUNCATE, SUMMARIZE, WORTH], ids=["suppress", "truncate", "summarize", "extract"]
)
def test_lists_that_a_later_call_replaced_go(step: dict[str, Any]) -> None:
    condensed = condense(work(listing(0), listing(1), listing(2)), step)
    *older, newest = lists(condensed)  # Calls that are in a note have none.
    assert newest == listed(2)
    assert not any(older)
    assert step is WORTH or {receipt.reason for receipt in condensed.changes} == {REPLACED}
    assert Kept.NEWEST_STATE in reasons(condensed)
    again = api.condense(api.loads(api.dump(condensed), format="anthropic"), configuration(step))
    assert again.changes == []


def test_the_call_keeps_the_shape_that_its_tool_takes() -> None:
    [block, _] = calls(condense(work(listing(1), listing(2)), SUPPRESS).transcript)
    [todo] = (arguments_of(block) or {})["todos"]
    assert list(todo) == ["content", "status", "activeForm"]
    assert parse_gap(todo["content"])
    assert (todo["status"], todo["activeForm"]) == ("completed", "…")


def test_every_list_is_found_in_the_original_by_its_marker() -> None:
    transcript = work(listing(0), listing(1))
    condensed = condense(transcript, SUPPRESS)
    [gap] = gaps_in((arguments_of(calls(condensed.transcript)[0]) or {})["todos"][0]["content"])
    [hit] = find(transcript, gap.hash)
    assert [json.loads(line) for line in hit.text.splitlines()] == listed(0)


@pytest.mark.parametrize(
    "last",
    [
        listing(1, is_error=True),
        listing(1, answer="Error: todos is required"),
        listing(1)[:1],
        listing(1, arguments={"merge": True}),
        listing(1, tool="mcp__board__todowrite"),
        listing(1, tool="update_plan"),
    ],
    ids=["failed", "refused", "unanswered", "merging", "of a server", "another list"],
)
def test_what_replaces_nothing(last: list[dict[str, Any]]) -> None:
    """A failed call, one without an answer, one that adds to the list, and one for another list."""
    assert lists(condense(work(listing(0), last), SUPPRESS))[0] == listed(0)


def test_a_failed_call_is_replaced_as_well() -> None:
    condensed = condense(work(listing(0), listing(1, is_error=True), listing(2)), SUPPRESS)
    assert lists(condensed) == [None, None, listed(2)]


def test_an_emptied_list_replaces_what_was_on_it() -> None:
    last = [assistant([call("e", "TodoWrite", todos=[])]), user([result("e", DONE)])]
    assert lists(condense(work(listing(0), last), SUPPRESS)) == [None, []]


def test_newest_turns_and_pins_keep_their_lists() -> None:
    transcript = work(listing(0), listing(1), listing(2))
    recent = SUPPRESS | {"selection": {"type": "preserve_recent", "keep_recent_count": 5}}
    assert lists(condense(transcript, recent)) == [None, listed(1), listed(2)]
    assert lists(condense(transcript, SUPPRESS, pins=[{"range": {"start": 1, "end": 2}}])) == [
        listed(0), None, listed(2)
    ]  # fmt: skip
    keep = one_pass()
    assert lists(condense(work(listing(0, answer=LONG), listing(1)), keep)) == [listed(0), listed(1)]


def test_a_pass_that_cut_results_hides_no_failure() -> None:
    """The second pass knows what the first one cut."""
    results = one_pass(id="results")
    condensed = condense(work(listing(0), listing(1, answer="Error: no such tool\n" + LONG)), results, SUPPRESS)
    assert lists(condensed)[0] == listed(0)


def test_the_newest_list_stays_where_it_is_a_text() -> None:
    def plan(number: int) -> list[dict[str, Any]]:
        text = "\n".join(f"[{'x' if n < number else ' '}] Rewrite module number {n}" for n in range(30))
        call_ = call(f"c{number}", "update_todo_list", todos=text)
        return [assistant([call_]), user([result(f"c{number}", "Todo list updated.")])]

    first, last = lists(condense(work(plan(1), plan(2)), SUPPRESS))
    assert first is None
    assert last.count("\n") == 29


def test_progress_beside_other_arguments_goes_alone() -> None:
    def step(number: int) -> list[dict[str, Any]]:
        progress = "\n".join(f"- [{'x' if n < number else ' '}] Part number {n}" for n in range(30))
        call_ = call(f"c{number}", "read_file", path=f"src/{number}.py", task_progress=progress)
        return [assistant([call_]), user([result(f"c{number}", "read")])]

    condensed = condense(work(step(1), step(2)), SUPPRESS)
    assert lists(condensed)[0] is None
    assert (arguments_of(calls(condensed.transcript)[0]) or {})["path"] == "src/1.py"
    assert "Part number 29" in lists(condensed)[1]


def plan_of(number: int) -> list[dict[str, str]]:
    return [{"step": todo["content"], "status": todo["status"]} for todo in listed(number)]


def test_plans_of_codex() -> None:
    """Arguments are JSON in a string: nothing of it changes around the list."""
    why = "It took longer than planned. " * 9
    turns = [
        item
        for number in range(3)
        for item in (
            function(str(number), "update_plan", explanation=why, plan=plan_of(number)),
            output(str(number), "Plan updated"),
        )
    ]
    condensed = condense(codex(*items(message("user", "go"), *turns)), SUPPRESS)
    payloads = [record["payload"] for record in written(condensed) if record["payload"].get("name")]
    first, *_, last = (json.loads(payload["arguments"]) for payload in payloads)
    assert [list(step) for step in first["plan"]] == [["step", "status"]]
    assert parse_gap(first["plan"][0]["step"])
    assert parse_gap(first["explanation"])
    assert last["plan"] == plan_of(2)
    assert payloads[0]["arguments"].startswith('{"explanation": "[… ')


def test_a_refused_plan_of_codex_replaces_nothing() -> None:
    refused = "failed to parse function arguments: missing field `status`"
    records = items(
        message("user", "go"),
        function("1", "update_plan", plan=plan_of(0)), output("1", "Plan updated"),
        function("2", "update_plan", plan=plan_of(1)), output("2", refused),
    )  # fmt: skip
    everything = SUPPRESS | {"selection": {"type": "preserve_recent", "keep_recent_count": 0}}
    assert lists(condense(codex(*records), everything)) == [plan_of(0), plan_of(1)]


def test_arguments_in_a_string_keep_their_spacing() -> None:
    messages: list[dict[str, Any]] = [user("go")]
    for number, style in enumerate([None, (",", ":"), None]):
        arguments = json.dumps({"todos": listed(number), "n": 1.50}, separators=style)
        function_ = {"name": "TodoWrite", "arguments": arguments}
        messages.append(
            assistant(None) | {"tool_calls": [{"id": str(number), "type": "function", "function": function_}]}
        )
        messages.append({"role": "tool", "tool_call_id": str(number), "content": DONE})
    first, second, _ = calls(condense(openai(*messages), SUPPRESS).transcript)
    assert first.text.startswith('{"todos": [{"content": "[… ')
    assert first.text.endswith('"status": "pending", "activeForm": "…"}], "n": 1.5}')
    assert second.text.startswith('{"todos":[{"content":"[… ')


@pytest.mark.parametrize("reduction", [20, 60, 85])
def test_lists_that_are_over_go_first_to_a_target(reduction: int) -> None:
    turns = [listing(number, answer=LONG + str(number)) for number in range(6)]
    condensed = condense(work(*turns), extract(), target_reduction_percent=reduction)
    *older, newest = lists(condensed)  # Calls that are in a note have none.
    assert newest == listed(5)
    assert not any(older)
    assert condensed.tokens_after <= (condensed.target or 0) or reduction == 85
    if reduction == 20:  # That was enough: nothing else is touched.
        assert {receipt.reason for receipt in condensed.changes} == {REPLACED}


def test_a_target_out_of_reach_leaves_lists_too() -> None:
    leave = extract(extract_config={"out_of_reach": "leave"})
    condensed = condense(work(*map(listing, range(6))), leave, target_tokens=1)
    assert condensed.changes == []


def test_a_ledger_tells_no_list_that_went() -> None:
    condensed = condense(work(listing(0), listing(1), listing(2)), SUPPRESS)
    assert collect(condensed.transcript.messages[:-3]).todos == ()
    assert [todo.text for todo in collect(condensed.transcript.messages).todos] == [t["content"] for t in listed(2)]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("TodoWrite", {"todos": 7}),
        ("TodoWrite", {}),
        ("TodoWrite", {"todos": {"a": "b"}}),
        ("task_tracker", {"command": "view", "task_list": []}),
        ("manage_todo_list", {"operation": "read", "todoList": []}),
        ("Write", {"todos": []}),
    ],
)
def test_calls_without_a_whole_list(tool: str, arguments: dict[str, Any]) -> None:
    [block] = calls(work([assistant([call("1", tool, **arguments)])]))
    assert tools.path_of(block) == ()


@pytest.mark.parametrize("todo", [{"n": 1}, None, {"content": None}, 3])
def test_todos_without_words_stay(todo: Any) -> None:
    turn = [assistant([call("0", "TodoWrite", todos=[todo] * 60)]), user([result("0", DONE)])]
    assert lists(condense(work(turn, listing(1)), SUPPRESS))[0] == [todo] * 60


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
    span = text_calls.find(content, action)
    assert span is not None
    assert content[span[0] : span[1]] == (action or "ls -l").strip()
    assert content[span[1] :] == rest


@pytest.mark.parametrize(
    ("content", "action"),
    [("Exit due to cost limit", "exit_cost"), ("tools", "ls"), ("nothing", None), ("```\n\n```", None), ("x", "\n")],
)
def test_an_action_that_is_not_there_is_not_found(content: str, action: str | None) -> None:
    assert text_calls.find(content, action) is None


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
def test_an_action_has_the_arguments_of_a_call(action: str, arguments: dict[str, str], reads: bool) -> None:
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
def test_replacing_arguments_changes_exactly_these(action: str) -> None:
    before = text_calls.action_arguments(action)
    new: dict[JsonPath, str] = {(name,): f"{number}:{number}" for number, name in enumerate(before)}
    replaced = text_calls.replace_action(action, new)
    assert list(text_calls.action_arguments(replaced).values()) == list(new.values())
    assert text_calls.replace_action(replaced, {(name,): value for name, value in before.items()}) == action


# A file opened again at the same line makes the older window obsolete; another line does not.
def test_a_window_that_is_opened_again_supersedes_the_older_one() -> None:
    actions = ["open a.py 1\n", "open a.py 90\n", "python a.py\n", "open a.py 1\n", "python a.py\n"]
    turns = [turn for number, action in enumerate(actions) for turn in (act(action), user(f"{number}{PROMPT}"))]
    assert superseded_results(traj(SYSTEM, TASK, *turns).messages) == {"text-call-1"}
