"""Actions inside text: their place, arguments and the files they read."""

from __future__ import annotations

import pytest
from build import calls, user
from trajectories import PROMPT, SYSTEM, TASK, act, traj

from condense_cli.core.transcript import JsonPath
from condense_cli.passes.selection import superseded_results
from condense_cli.toolcalls import text_calls
from condense_cli.toolcalls.tools import arguments_of, main_argument, path_argument, readable_arguments, reads_a_file


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
