"""References in the arguments of calls, and to them: each value is a text of its own, a list of todos is one."""

import json
from typing import Any

from bombs import LINES
from build import assistant, call, result, user
from reading import NEXT, OTHER, PREVIOUS, THIRD, B, decoded, edit, read, saying, see


def test_values_of_a_call_refer_forward_and_backward() -> None:
    found = decoded(*edit(old_string=see("new_string of this call", LINES), new_string=LINES))
    assert saying(found, 1) == ["e.py", LINES, LINES]
    found = decoded(*edit(old_string=LINES, new_string=f"x\n{see('old_string of this call', LINES)}"))
    assert saying(found, 1) == ["e.py", LINES, f"x\n{LINES}"]
    assert (found.resolved, found.unresolved) == (1, 0)
    assert found.counted == {(1, 0): [("new_string", 1)]}
    assert found.named == {}


def test_a_value_gives_no_lines_that_it_was_given() -> None:
    said = edit(a=see("b of this call", LINES), b=see("c of this call", LINES), c=LINES)
    found = decoded(*said)
    assert (found.resolved, found.unresolved) == (1, 1)
    assert saying(found, 1)[1:] == [see("b of this call", LINES), LINES, LINES]


def test_calls_and_results_refer_to_calls() -> None:
    to_call = see("new_string of the next Edit of e.py", LINES)
    found = decoded(*edit("x", new_string=to_call, other=1), *edit(new_string=LINES), *read("a", to_call), *B)
    assert saying(found, 1) == ["e.py", LINES]
    assert saying(found, 6) == [to_call]
    assert (found.resolved, found.unresolved) == (1, 1)
    back = see("new_string of the previous Edit of e.py", LINES)
    assert saying(decoded(*edit(new_string=LINES), *read("a", back)), 4) == [LINES]


def test_a_result_refers_to_its_call_as_that_is_written() -> None:
    said = [
        assistant([call("e", "Edit", file_path="e.py", new_string=f"{NEXT}\n{OTHER}")]),
        user([result("e", see("lines 2-21 of new_string of this call", OTHER))]),
    ]
    found = decoded(*said, *B)
    assert saying(found, 1) == ["e.py", f"{LINES}\n{OTHER}"]
    assert saying(found, 2) == [OTHER]
    assert found.resolved == 2


def test_a_result_does_not_refer_to_what_its_call_was_given() -> None:
    said = [
        assistant([call("e", "Edit", file_path="e.py", new_string=f"{NEXT}\n{OTHER}")]),
        user([result("e", see("lines 21-40 of new_string of this call", OTHER))]),
    ]
    found = decoded(*said, *B)
    assert (found.resolved, found.unresolved) == (1, 1)


def test_a_value_counts_the_lines_of_another_as_they_are_read() -> None:
    forward = edit(
        a=see("lines 21-40 of b of this call", THIRD),
        b=f"{see('lines 21-40 of c of this call', OTHER)}\n{THIRD}",
        c=f"{NEXT}\n{OTHER}",
    )
    found = decoded(*forward, *B)
    assert saying(found, 1) == ["e.py", THIRD, f"{OTHER}\n{THIRD}", f"{LINES}\n{OTHER}"]
    backward = edit(a=f"{PREVIOUS}\n{OTHER}", b=see("lines 21-40 of a of this call", OTHER))
    assert saying(decoded(*B, *backward), 3) == ["e.py", f"{LINES}\n{OTHER}", OTHER]


def test_only_the_name_that_is_written_counts() -> None:
    said = edit(new_string=LINES)
    said[1]["content"][0]["content"] = see("new_string of the previous Edit of e.py", LINES)
    found = decoded(*said)
    assert (found.resolved, found.unresolved) == (0, 1)
    said[1]["content"][0]["content"] = see("new_string of this call", LINES)
    assert decoded(*said).resolved == 1


def test_a_call_refers_to_its_result() -> None:
    said = [
        assistant([call("e", "Edit", file_path="e.py", new_string=see("the result", LINES))]),
        user([result("e", LINES)]),
    ]
    assert saying(decoded(*said), 1) == ["e.py", LINES]


def todos(*said: str) -> list[dict[str, Any]]:
    listed = [{"content": each, "status": "pending"} for each in said]
    return [assistant([call("t", "TodoWrite", todos=listed)]), user([result("t", "ok")])]


def test_a_value_beside_a_list_of_todos_refers() -> None:
    said = todos(*LINES.split("\n")[:3])
    said[0]["content"][0]["input"]["note"] = NEXT
    found = decoded(*said, *B)
    assert saying(found, 1)[-1] == LINES


def test_todos_refer_to_todos() -> None:
    listed = [{"content": f"Rewrite module number {n} with its tests", "status": "pending"} for n in range(6)]
    told = "\n".join(json.dumps(todo, separators=(",", ":")) for todo in listed[:4])
    later = [assistant([call("u", "TodoWrite", todos=listed)]), user([result("u", "ok")])]
    found = decoded(*todos(see("lines 1-4 of todos of the next TodoWrite", told), "Stop."), *later)
    assert saying(found, 1)[::2] == [*(todo["content"] for todo in listed[:4]), "Stop."]
    assert (found.resolved, found.unresolved) == (1, 0)
    assert found.counted == {(1, 0): [("todos", 0)]}


def test_a_reference_to_lines_that_are_no_todos_is_text() -> None:
    """Somebody wrote it: the hash is right, and the lines are not JSON."""
    line = see("todos of the next TodoWrite", LINES)
    later = [assistant([call("u", "TodoWrite", todos=LINES)]), user([result("u", "ok")])]
    found = decoded(*todos(line), *later)
    assert saying(found, 1) == [line, "pending"]
    assert (found.resolved, found.unresolved) == (0, 1)
