"""The text of a summary: headings over the lines that were picked."""

from __future__ import annotations

import json
from typing import Any

from build import anthropic, assistant, call, result, user

from condense_cli import api
from condense_cli.core.markers import SummaryMark
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Message, Transcript
from condense_cli.extractive.shorten import stretches_of, summarize
from condense_cli.extractive.summary import Sections, addresses
from condense_cli.extractive.survey import Survey
from condense_cli.formats.engine.client_text import NO_REQUEST
from condense_cli.ledger.collect import collect
from condense_cli.ledger.text import said_by_summary

COUNT = Counter()

_STATE = "\n(Open file: /repo/src/app.py)\n(Current directory: /repo)\nbash-$"


def _whole(messages: tuple[Message, ...] | list[Message], *, without: str = "\0") -> str:
    """Lines of a summary of all messages below its first, without those that contain a word."""
    survey = Survey(messages, COUNT)
    sections = Sections(survey, [addresses(messages, range(len(messages)))])
    kept = [without not in text for key in sections.keys for text in survey.units[key].texts]
    (text,) = sections.written(stretches_of(survey, sections.keys, sections.openings), kept)
    return text.partition("\n\n")[2]


def _calls(*turns: tuple[str, dict[str, Any], str, bool]) -> str:
    messages: list[dict[str, Any]] = [user("Begin.")]
    for number, (tool, arguments, answer, is_error) in enumerate(turns):
        messages.append(assistant([call(f"t{number}", tool, **arguments)]))
        messages.append(user([result(f"t{number}", answer, is_error=is_error)]))
    return _whole(anthropic(*messages).messages)


def test_arguments_are_told_from_the_result() -> None:
    edit = {"file_path": "a.py", "old_string": "x = old()", "new_string": "x = new()"}
    assert _calls(("Edit", edit, "It is updated.", False)) == (
        "## Edit\na.py\nnew_string:\nx = new()\nold_string:\nx = old()\nresult:\nIt is updated."
    )
    assert _calls(("Read", {"file_path": "a.py", "offset": 3}, "x = new()", False)) == "## Read\na.py\nx = new()"


def test_what_an_edit_replaced_stands_only_beside_what_it_put_there() -> None:
    edit = call("t", "Edit", file_path="a.py", old_string="x = old()", new_string="x = brand_new()")
    messages = anthropic(user("Go."), assistant([edit]), user([result("t", "It is updated.")])).messages
    assert _whole(messages, without="brand_new") == "## Edit\na.py\nIt is updated."
    deletion = {"file_path": "a.py", "old_string": "x = old()", "new_string": ""}
    assert "old_string:\nx = old()\n" in _calls(("Edit", deletion, "It is updated.", False))


def test_a_call_that_was_not_done_says_so_over_its_arguments() -> None:
    edit = {"file_path": "a.py", "old_string": "x = old()", "new_string": "x = new()"}
    assert _calls(("Edit", edit, "String not found.", True)).startswith("## Edit (failed)\na.py\n")
    assert _calls(("Edit", edit, "<tool_use_error>No.", False)).startswith("## Edit (failed)\na.py\n")
    assert _calls(("Bash", {"command": "rm a"}, "The user doesn't want to proceed.", True)).startswith(
        "## Bash (denied)\nrm a\n"
    )


def test_a_long_command_is_told_once() -> None:
    command = "find . -name '*.py' " + "-not -path './node_modules/*' " * 8
    told = _calls(("Bash", {"command": command, "description": "List files"}, "a.py", False))
    assert told == f"## Bash\ncommand:\n{command}\ndescription:\nList files\nresult:\na.py"


def test_numbers_alone_are_no_entry() -> None:
    told = _calls(
        ("read_file", {"path": "a.py", "line_range": "200-350"}, "x = 1", False),
        ("str_replace_editor", {"command": "view", "path": "b.py", "range": "1, 5"}, "y = 1", False),
    )
    assert told == "## read_file\na.py\nx = 1\n## str_replace_editor view\nb.py\ny = 1"


def test_what_one_says_goes_on_under_one_heading() -> None:
    messages = anthropic(user("Go."), assistant("One."), assistant("Two."), user("On."), assistant("Three.")).messages
    assert _whole(messages) == "## assistant\nOne.\n\nTwo.\n\nThree."


def test_what_is_said_again_stays_once() -> None:
    steps = [["Let me now check the tests again.", "Now let me check the tests again:"][n % 2] for n in range(12)]
    told = ["The port is written down.", "Nobody uses the old relay.", "A bucket is empty at night."]
    messages = anthropic(user("Go."), *[assistant(text) for text in (*told, *steps)], assistant("Done.")).messages
    summary = summarize(Survey(messages, COUNT), 0, len(messages), 70)
    assert all(line in summary for line in told)
    assert summary.count("check the tests again") == 1


def _chat(*turns: tuple[str, str, dict[str, Any], str]) -> Transcript:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for id, tool, arguments, answer in turns:
        function = {"name": tool, "arguments": json.dumps(arguments)}
        messages.append({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": function}]})
        messages.append({"role": "tool", "tool_call_id": id, "content": answer})
    return api.loads(messages, format="openai-chat")


def test_an_edit_of_the_open_file_names_it() -> None:
    turns = [
        ("c1", "edit", {"search": "x = old()", "replace": "x = new()"}, f"Text replaced.{_STATE}"),
        ("c2", "goto", {"line": "40"}, "[File: src/b.py (90 lines total)]\n40:def load():"),
    ]
    transcript = _chat(*turns)
    told = _whole(transcript.messages)
    assert told.startswith("## edit\n/repo/src/app.py\nreplace:\nx = new()\n")
    assert "## goto\nsrc/b.py 40\n[File" in told
    assert [entry.path for entry in collect(transcript.messages).changed] == ["/repo/src/app.py"]


def test_ids_that_come_again_belong_to_the_newest_call() -> None:
    transcript = _chat(
        ("c", "bash", {"command": "make one"}, "[Command finished with exit code 1]"),
        ("c", "bash", {"command": "make two"}, "second\n[Command finished with exit code 0]"),
    )
    told = _whole(transcript.messages)
    assert "## bash\nmake two\nsecond" in told
    assert [command.outcome for command in collect(transcript.messages).commands] == ["exit 1", "ok"]


def test_an_earlier_summary_is_not_taken_for_words_of_the_assistant() -> None:
    (message,) = anthropic(user(f"{SummaryMark(3, 2, '5f2c91d8', NO_REQUEST)}\n## Read a.py\nx = 1")).messages
    assert _whole([said_by_summary(message)]) == "## earlier summary\n## Read a.py\nx = 1"
