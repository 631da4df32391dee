"""Lists of todos in the lossless prelude: todos that a newer list holds too become references, and come back."""

import json
from typing import Any

import pytest
from build import anthropic, assistant, call, calls, condense, configuration, one_pass, openai, result, user
from todo_calls import listed

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Transcript
from condense_cli.passes.condensation import Condensation
from condense_cli.toolcalls.tools import arguments_of

pytestmark = pytest.mark.usefixtures("anywhere")

PRELUDE: dict[str, Any] = {"enabled": True, "tool_parameters": True}


def prelude(**keys: Any) -> Configuration:
    return configuration(keep_first=0, lossless_prelude=PRELUDE | keys)


def work(*lists: list[Any]) -> list[dict[str, Any]]:
    turns = [user("Rewrite it.")]
    for number, todos in enumerate(lists):
        turns += [
            assistant([call(f"c{number}", "TodoWrite", todos=todos)]),
            user([result(f"c{number}", f"ok {number}")]),
        ]
    return [*turns, assistant("Done.")]


def referred(transcript: Transcript, **keys: Any) -> Condensation:
    """Condensed by the prelude, after checking that restoring what is written gives the input."""
    condensed = api.condense(transcript, prelude(**keys))
    written = api.loads(api.dump(condensed), format=transcript.format)
    restored = api.restore(written)
    assert restored.unresolved == 0
    assert [block.text for _, block in restored.transcript.blocks()] == [b.text for _, b in transcript.blocks()]
    assert api.condense(written, prelude(**keys)).changes == []
    return condensed


def words(condensed: Condensation) -> list[list[str]]:
    """The words of all todos, by call."""
    return [[todo["content"] for todo in (arguments_of(block) or {})["todos"]] for block in calls(condensed.transcript)]


def test_older_lists_refer_to_the_newest() -> None:
    condensed = referred(anthropic(*work(listed(1), listed(3))))
    older, newest = words(condensed)
    assert newest == [todo["content"] for todo in listed(3)]
    assert older[0] == newest[0]
    assert older[-1].startswith("[see lines 4-8 of todos of the next TodoWrite #")
    [first, _] = calls(condensed.transcript)
    assert [list(todo) for todo in (arguments_of(first) or {})["todos"]] == [list(listed(0)[0])] * len(older)


def test_a_list_that_says_the_same_is_one_reference() -> None:
    older, _ = words(referred(anthropic(*work(listed(2), listed(2)))))
    assert [word.rpartition(" #")[0] for word in older] == ["[see todos of the next TodoWrite"]


def test_the_newest_refers_back_where_the_earliest_stays() -> None:
    first, last = words(referred(anthropic(*work(listed(2), listed(2))), keep="earliest"))
    assert first == [todo["content"] for todo in listed(2)]
    assert last[0].startswith("[see todos of the previous TodoWrite #")


@pytest.mark.parametrize("keys", [{"tool_parameters": False}, {"operations": {"remove_obsolete_state": False}}])
def test_lists_stay_where_the_finder_or_parameters_are_off(keys: dict[str, Any]) -> None:
    assert referred(anthropic(*work(listed(2), listed(2))), **keys).changes == []


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": "), (" ,", ":")])
def test_arguments_in_a_string_come_back_as_they_were_spelled(separators: tuple[str, str]) -> None:
    messages: list[dict[str, Any]] = [user("go")]
    for number in range(2):
        function = {"name": "TodoWrite", "arguments": json.dumps({"todos": listed(2)}, separators=separators)}
        messages.append(
            assistant(None) | {"tool_calls": [{"id": str(number), "type": "function", "function": function}]}
        )
        messages.append({"role": "tool", "tool_call_id": str(number), "content": "ok"})
    assert bool(referred(openai(*messages)).changes) == (separators != (" ,", ":"))


ODD: list[list[Any]] = [
    [{"content": "[see todos of the next TodoWrite #123456]", "status": "pending"}, *listed(3)],
    [{"content": "[see lines 1-3 above #401752]", "status": "pending"}, *listed(3)],
    [*listed(3), {"content": "two\nlines", "status": "pending"}],
    [*listed(3), "a text", None, 7, {"content": 3}, ["[see x]"]],
    ["[see todos of the next TodoWrite #123456]", *(todo["content"] for todo in listed(3))],
    [],
]


@pytest.mark.parametrize("todos", ODD)
def test_odd_lists_come_back(todos: list[Any]) -> None:
    transcript = anthropic(*work(todos, todos, listed(3)))
    condensed = api.condense(transcript, prelude())
    restored = api.restore(api.loads(api.dump(condensed), format="anthropic"))
    assert [block.text for _, block in restored.transcript.blocks()] == [b.text for _, b in transcript.blocks()]


def test_a_reference_to_lines_that_are_no_todos_is_text() -> None:
    """Somebody wrote it: the hash is right, and the lines are not JSON."""
    text = "\n".join(f"line {n} of it, which is no todo" for n in range(4))
    imitation = [{"content": "[see todos of the next TodoWrite #000000]", "status": "pending"}]
    from condense_cli.core.markers import short_hash

    imitation[0]["content"] = f"[see todos of the next TodoWrite #{short_hash(text)}]"
    transcript = anthropic(
        user("go"), assistant([call("1", "TodoWrite", todos=imitation)]), user([result("1", "ok")]),
        assistant([call("2", "TodoWrite", todos=text)]), user([result("2", "ok")]),
    )  # fmt: skip
    restored = api.restore(transcript)
    assert (restored.resolved, restored.unresolved) == (0, 1)
    assert restored.transcript.messages == transcript.messages


def test_passes_see_whole_lists() -> None:
    """A list of references is restored, then goes as one that is over, named by the hash of the whole."""
    condensed = referred(anthropic(*work(listed(1), listed(3))))
    written = api.loads(api.dump(condensed), format="anthropic")
    suppress = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
    [[marker], newest] = words(condense(written, suppress, min_saving=0))
    [[direct], _] = words(condense(anthropic(*work(listed(1), listed(3))), suppress))
    assert marker == direct
    assert newest == [todo["content"] for todo in listed(3)]
