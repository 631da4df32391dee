"""Why lines went or stayed: each reason on a small conversation where the right answer is obvious."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest
from build import anthropic, assistant, call, read_turn, result, text, thinking, user

from condense_cli.extractive.parts import parts_of
from condense_cli.extractive.reason import LineReason, Reason
from condense_cli.extractive.reasons import FileWork, Reasons
from condense_cli.extractive.units import render, split
from condense_cli.tokens.counting import Counter

COUNT = Counter()
REQUEST = user("Please look at this.")
FILE = "\n".join(
    ["import tables", "", "def load_rows(path):", "    return tables.open_all(path)", "", "LIMIT_OF_ROWS = 7301"]
)
OTHER = "\n".join(f"plain words on line {'abcdefghij'[n]} of it" for n in range(8))

Kept = Mapping[int, Collection[int]]
"""By the position of a message the numbers of the lines that stay of its first block."""


def reasons(messages: list[dict[str, Any]], kept: Kept) -> dict[str, LineReason]:
    """The reason of every line of the texts that were cut, by the line."""
    transcript = anthropic(*messages)
    left: dict[Any, str | None] = {}
    for position, numbers in kept.items():
        units = split(transcript.messages[position].blocks[0].text)
        left[position, 0, ()] = render(units, [number in numbers for number in range(len(units.texts))])
    asked = [(position, 0) for position in kept]
    found = Reasons(transcript.messages, left, [], asked, COUNT)
    lines = [line for address in asked for line in found.of(address)]
    for line in lines:  # What a reason points to is there.
        if line.why.message is not None and line.why.name:
            named = "\n".join(block.text for block in transcript.messages[line.why.message].blocks)
            assert line.why.name in named
            assert line.why.name in line.text
    return {line.text: line.why for line in lines}


def run(identifier: str, command: str, output: str, **extra: Any) -> list[dict[str, Any]]:
    return [assistant([call(identifier, "Bash", command=command)]), user([result(identifier, output, **extra)])]


def edit(identifier: str, path: str, old: str, new: str) -> list[dict[str, Any]]:
    arguments = {"file_path": path, "old_string": old, "new_string": new}
    return [assistant([call(identifier, "Edit", **arguments)]), user([result(identifier, "The file was updated.")])]


def test_lines_went_that_nothing_later_names() -> None:
    found = reasons([REQUEST, *read_turn("a", content=FILE), assistant("Thanks.")], {2: []})
    assert set(found.values()) == {LineReason(Reason.UNNAMED)}


# What the extraction does not read names things all the same.
@pytest.mark.parametrize(
    "later",
    [
        thinking("Is LIMIT_OF_ROWS right?"),
        text("Is LIMIT_OF_ROWS right?"),
        {"type": "unheard_of", "data": "LIMIT_OF_ROWS"},
    ],
)
def test_lines_that_something_later_names_are_not_said_to_be_named_by_nothing(later: dict[str, Any]) -> None:
    messages = [REQUEST, *read_turn("a", content=FILE), assistant([later, text("Done.")])]
    found = reasons(messages, {2: [0]})
    assert found["LIMIT_OF_ROWS = 7301"].reason is not Reason.UNNAMED
    assert found["def load_rows(path):"] == LineReason(Reason.UNNAMED)


def test_lines_went_that_a_newer_read_shows() -> None:
    messages = [REQUEST, *read_turn("a", content=FILE), user("Again."), *read_turn("b", content=FILE)]
    assert set(reasons(messages, {2: []}).values()) == {LineReason(Reason.SEEN_AGAIN, 4)}


def test_a_newer_read_that_is_cut_itself_shows_nothing() -> None:
    messages = [REQUEST, *read_turn("a", content=FILE), user("Again."), *read_turn("b", content=FILE)]
    found = reasons(messages, {2: [], 4: [0]})
    assert found["import tables"] == LineReason(Reason.NEWEST_STATE)
    first = reasons(messages, {2: [], 4: [0, 1, 2, 3]})
    assert first["LIMIT_OF_ROWS = 7301"].reason is not Reason.SEEN_AGAIN


def test_an_older_read_shows_nothing_again() -> None:
    messages = [REQUEST, *read_turn("a", content=FILE), user("Again."), *read_turn("b", content=FILE), assistant("Ok.")]
    assert reasons(messages, {4: [0]})["LIMIT_OF_ROWS = 7301"] == LineReason(Reason.UNNAMED)


def test_lines_of_another_file_are_no_newer_read() -> None:
    messages = [REQUEST, *read_turn("a", content=FILE), *read_turn("b", "src/other.py", FILE), assistant("Two.")]
    found = reasons(messages, {2: []})
    assert found["def load_rows(path):"] == LineReason(Reason.REPEATED, 4)


@pytest.mark.parametrize(
    ("first", "second", "is_newer"),
    [
        ("cat src/app.py", "cat ./src/app.py", True),
        ("cd /repo && cat src/app.py", "cat /repo/src/app.py", True),
        ("cat src/app.py", "cat src/other.py", False),
        ("cat app.py", "cat src/app.py", False),
    ],
)
def test_commands_that_print_the_same_file_read_it_again(first: str, second: str, is_newer: bool) -> None:
    messages = [REQUEST, *run("a", first, FILE), *run("b", second, FILE), assistant("Two.")]
    reason = reasons(messages, {2: []})["def load_rows(path):"].reason
    assert (reason is Reason.SEEN_AGAIN) is is_newer


def test_a_line_that_is_the_newest_state_of_another_file_says_nothing_of_it() -> None:
    """`grep` shows it too, and is no read."""
    found = run("a", "grep -rn rows", f"{OTHER}\n    return tables.open_all(path)\nyes")
    messages = [REQUEST, *found, *read_turn("b", content=FILE), assistant("Ok.")]
    why = reasons(messages, {2: [8], 4: [3]})["    return tables.open_all(path)"]
    assert why == LineReason(Reason.NEWEST_STATE)  # That of the read, which comes last.
    assert reasons(messages, {2: [8]})["    return tables.open_all(path)"].reason is not Reason.NEWEST_STATE


def test_lines_went_that_are_said_again() -> None:
    message = "The cause is in load_rows, which reads the table twice."
    found = reasons([REQUEST, assistant(f"{message}\nI go on."), user("Go on."), assistant(message)], {1: [1]})
    assert found[message] == LineReason(Reason.REPEATED, 3)
    plain = "nothing to be done about that for now"
    messages = [REQUEST, assistant(f"{plain}\nso be it\nI go on."), user("Go on."), assistant(f"so be it\n{plain}")]
    found = reasons(messages, {1: [2]})
    assert found[plain] == LineReason(Reason.REPEATED, 3)
    assert found["so be it"].message is None  # So short a line may be the same by chance.


def test_the_assistant_says_nearly_the_same_again() -> None:
    messages = [REQUEST, assistant("Let me run all of the tests again.\nYes."), user("Go on.")]
    found = reasons([*messages, assistant("Let me run all the tests again.")], {1: [1]})
    assert found["Let me run all of the tests again."] == LineReason(Reason.REPEATED)


def test_lines_went_that_an_edit_replaced() -> None:
    read = read_turn("a", content=FILE)
    messages = [
        REQUEST,
        *read,
        *edit("b", "src/app.py", "LIMIT_OF_ROWS = 7301", "LIMIT_OF_ROWS = 12"),
        assistant("Ok."),
    ]
    found = reasons(messages, {2: [2]})
    assert found["LIMIT_OF_ROWS = 7301"] == LineReason(Reason.REPLACED, 3)
    failed = user([result("b", "No such string.", is_error=True)])
    again = reasons([*messages[:4], failed, assistant("Ok.")], {2: [2]})
    assert again["LIMIT_OF_ROWS = 7301"].reason is not Reason.REPLACED
    earlier = [REQUEST, *messages[3:5], *read_turn("c", content=FILE), assistant("Ok.")]
    assert reasons(earlier, {4: [2]})["LIMIT_OF_ROWS = 7301"].reason is not Reason.REPLACED
    other = edit("b", "src/other.py", "LIMIT_OF_ROWS = 7301", "LIMIT_OF_ROWS = 12")
    found = reasons([REQUEST, *read, *other, assistant("Ok.")], {2: [2]})
    assert found["LIMIT_OF_ROWS = 7301"].reason is not Reason.REPLACED


def test_lines_went_of_a_file_that_was_written_anew() -> None:
    new = "def load_rows(path):\n    return []\n"
    write = assistant([call("b", "Write", file_path="src/app.py", content=new)])
    messages = [REQUEST, *read_turn("a", content=FILE), write, user([result("b", "Written.")]), assistant("Ok.")]
    found = reasons(messages, {2: [0]})
    assert found["LIMIT_OF_ROWS = 7301"] == LineReason(Reason.OVERWRITTEN, 3)
    assert found["def load_rows(path):"] == LineReason(Reason.REPEATED, 3)
    replaced = edit("c", "src/app.py", "def load_rows(path):", "def load_all(path):")
    found = reasons([*messages, user("Go on."), *replaced, assistant("Ok.")], {2: [0]})
    assert found["def load_rows(path):"] == LineReason(Reason.REPLACED, 7)


def test_what_an_edit_puts_back_is_not_replaced() -> None:
    """Nor what a patch shows around it."""
    messages = anthropic(REQUEST, *edit("a", "src/app.py", "one\ntwo", "one\nthree"), assistant("Ok.")).messages
    patch = "*** Begin Patch\n*** Update File: src/app.py\n@@\n one\n-two\n+three\n*** End Patch"
    patched = anthropic(REQUEST, assistant([call("a", "apply_patch", input=patch)]), assistant("Ok.")).messages
    for found in (messages, patched):
        parts = [*parts_of(found)]
        (done,) = FileWork(parts).edits_after((0, 0, ()), found[1].blocks[0])
        assert done.key[0] == 1
        assert done.replaced & {"one", "two", "three"} == {"two"}


def test_lines_went_that_another_message_names_as_well() -> None:
    messages = [REQUEST, *run("a", "make", f"{OTHER}\nbuilt target_seven"), assistant("Only target_seven was built.")]
    found = reasons(messages, {2: [0]})
    assert found["built target_seven"] == LineReason(Reason.NAMED_ELSEWHERE, 3, "target_seven")


def test_lines_went_that_were_worth_less_than_their_tokens() -> None:
    messages = [
        REQUEST,
        *run("a", "make", "built target_seven\nyes"),
        *run("b", "ls", "target_seven\nno"),
        assistant("!"),
    ]
    found = reasons(messages, {2: [1], 4: [1]})
    assert found["built target_seven"] == LineReason(Reason.LESS_WORTH)


def test_the_users_own_words_stay() -> None:
    found = reasons([user(f"Never touch the tables.\n```\n{OTHER}\n```"), assistant("No.")], {0: [0, 1, 10]})
    assert found["Never touch the tables."] == LineReason(Reason.OWN_WORDS)
    assert found["plain words on line b of it"] == LineReason(Reason.UNNAMED)


def test_an_error_stays_until_it_is_solved() -> None:
    output = f"{OTHER}\nE   AssertionError: 7301 is not 12"
    messages = [REQUEST, *run("a", "pytest -q", f"Exit code 1\n{output}", is_error=True), assistant("It fails.")]
    line = "E   AssertionError: 7301 is not 12"
    assert reasons(messages, {2: [9]})[line] == LineReason(Reason.UNSOLVED_ERROR)
    still = [*messages, *run("b", "pytest -q", "Exit code 1\nnothing", is_error=True)]
    assert reasons(still, {2: [9]})[line] == LineReason(Reason.UNSOLVED_ERROR)
    solved = [*messages, *run("b", "python -m pytest tests", "all passed")]
    assert reasons(solved, {2: [9]})[line].reason is not Reason.UNSOLVED_ERROR
    denied = user([result("b", "The user doesn't want to proceed: an error.\nno", is_error=True)])
    found = reasons([*messages, assistant([call("b", "Bash", command="rm x")]), denied, assistant("Ok.")], {4: [0]})
    assert found["The user doesn't want to proceed: an error."].reason is not Reason.UNSOLVED_ERROR
    other = [*messages, *run("b", "git status", "clean")]
    assert reasons(other, {2: [9]})[line] == LineReason(Reason.UNSOLVED_ERROR)


def test_an_edit_that_failed_is_solved_by_any_later_change_of_the_file() -> None:
    refused = f"<tool_use_error>String to replace not found in file.\n{OTHER}</tool_use_error>"
    arguments = {"file_path": "src/app.py", "old_string": "a", "new_string": "b"}
    failed = [assistant([call("a", "Edit", **arguments)]), user([result("a", refused, is_error=True)])]
    line = "<tool_use_error>String to replace not found in file."
    assert reasons([REQUEST, *failed, assistant("It fails.")], {2: [0]})[line] == LineReason(Reason.UNSOLVED_ERROR)
    for path, is_solved in (("src/app.py", True), ("src/other.py", False)):
        write = [assistant([call("b", "Write", file_path=path, content="b")]), user([result("b", "Written.")])]
        found = reasons([REQUEST, *failed, *write, assistant("Done.")], {2: [0]})[line]
        assert (found.reason is not Reason.UNSOLVED_ERROR) is is_solved


def test_what_only_speaks_of_errors_is_none() -> None:
    messages = [REQUEST, *run("a", "cat notes", f"{OTHER}\nAn error is raised here."), assistant("I see.")]
    assert reasons(messages, {2: [8]})["An error is raised here."].reason is not Reason.UNSOLVED_ERROR


def test_lines_stay_of_a_file_that_is_edited_later() -> None:
    messages = [
        REQUEST,
        *read_turn("a", content=FILE),
        *edit("b", "/home/me/src/app.py", "import tables", "import rows"),
    ]
    found = reasons([*messages, assistant("Ok.")], {2: [2, 3]})
    assert found["    return tables.open_all(path)"] == LineReason(Reason.EDITED_LATER, 3)
    failed = user([result("b", "String to replace not found.", is_error=True)])
    found = reasons([*messages[:-1], failed, assistant("Ok.")], {2: [2, 3]})
    assert found["    return tables.open_all(path)"].reason in (Reason.NEWEST_STATE, Reason.SAID_HERE_ONLY)


def test_a_file_that_was_edited_before_is_not_edited_later() -> None:
    earlier = edit("b", "src/app.py", "import tables", "import rows")
    found = reasons([REQUEST, *earlier, *read_turn("a", content=FILE), assistant("Ok.")], {4: [2, 3]})
    assert found["    return tables.open_all(path)"].reason in (Reason.NEWEST_STATE, Reason.SAID_HERE_ONLY)


def test_a_call_that_writes_a_file_does_not_edit_it_later() -> None:
    write = [assistant([call("a", "Write", file_path="src/app.py", content=FILE)]), user([result("a", "Written.")])]
    messages = [REQUEST, *write, *edit("b", "src/other.py", "import tables", "x"), assistant("Ok.")]
    transcript = anthropic(*messages)
    parts = [*parts_of(transcript.messages)]
    (written,) = (part for part in parts if part.text == FILE)
    assert not [*FileWork(parts).edits_after(written.key, written.call)]


def test_lines_stay_of_the_newest_state_of_a_file() -> None:
    """Also where another file of that name is edited."""
    read = read_turn("a", "src/one/app.py", FILE)
    later = edit("b", "src/two/app.py", "import tables", "import rows")
    found = reasons([REQUEST, *read, *later, assistant("Ok.")], {2: [2, 3]})
    assert found["    return tables.open_all(path)"].reason in (Reason.NEWEST_STATE, Reason.SAID_HERE_ONLY)


def test_lines_stay_that_a_later_message_names() -> None:
    listing = f"{OTHER}\nserver listens on port_main"
    messages = [REQUEST, *run("a", "start", listing), *run("b", "curl", "port_main is open\nyes"), assistant("Wait.")]
    found = reasons(messages, {2: [8], 4: [1]})
    assert found["server listens on port_main"] == LineReason(Reason.NAMED_AGAIN, 4, "port_main")
    written = [*messages, *run("c", "curl port_main", "port_main answers"), assistant("It does.")]
    found = reasons(written, {2: [8], 4: [1]})
    assert found["server listens on port_main"] == LineReason(Reason.NAMED_AGAIN, 5, "port_main")


def test_what_a_line_alone_names_goes_before_what_others_still_name() -> None:
    messages = [REQUEST, *run("a", "start", f"{OTHER}\nport_main is 7301 of spare_gate"), assistant("Is port_main it?")]
    found = reasons([*messages, user("Yes, port_main."), assistant("Ah, port_main.")], {2: [8]})
    assert found["port_main is 7301 of spare_gate"].reason is Reason.SAID_HERE_ONLY


def test_lines_stay_that_were_asked_for_or_named_before() -> None:
    listing = f"{OTHER}\nserver listens on port_main"
    asked = [user("Where does port_main come from?"), *run("a", "start", listing), assistant("Wait.")]
    assert reasons(asked, {2: [8]})["server listens on port_main"] == LineReason(Reason.ASKED_FOR, 0, "port_main")
    looked = [REQUEST, *run("a", "start port_main", listing), assistant("Wait.")]
    assert reasons(looked, {2: [8]})["server listens on port_main"] == LineReason(Reason.NAMED_BEFORE, 1, "port_main")


def test_lines_stay_that_alone_say_something() -> None:
    messages = [REQUEST, *run("a", "start", f"{OTHER}\nserver listens on port_main"), assistant("Wait.")]
    found = reasons(messages, {2: [7, 8]})
    assert found["server listens on port_main"] == LineReason(Reason.SAID_HERE_ONLY, None, "port_main")
    assert found["plain words on line h of it"] == LineReason(Reason.BESIDE)
    assert found["plain words on line a of it"] == LineReason(Reason.UNNAMED)
    thought = assistant([thinking("Is port_main right?"), text("Wait.")])
    found = reasons([*messages[:-1], thought], {2: [7, 8]})
    assert found["server listens on port_main"] == LineReason(Reason.LIKELY)


def test_decisions_stay_and_what_tells_nothing_is_only_likely() -> None:
    messages = [REQUEST, assistant(f"{OTHER}\nThe rows must be sorted first."), user("Yes."), assistant("Done.")]
    assert reasons(messages, {1: [8]})["The rows must be sorted first."] == LineReason(Reason.DECISION)
    assert reasons(messages, {1: [3]})["plain words on line d of it"] == LineReason(Reason.LIKELY)
