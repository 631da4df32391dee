"""The text of a summary: headings, replies with their question, effects of command lines on files."""

from __future__ import annotations

import json
from typing import Any

import pytest
from build import anthropic, assistant, call, result, text, user
from hypothesis import given
from hypothesis import strategies as st
from ledgers import HOSTILE

from condense_cli import api
from condense_cli.core.markers import SummaryMark
from condense_cli.core.transcript import Message, Transcript
from condense_cli.extractive.shorten import stretches_of, summarize
from condense_cli.extractive.summary import Sections, addresses
from condense_cli.extractive.survey import Survey
from condense_cli.formats.engine.client_text import NO_REQUEST
from condense_cli.ledger.collect import Effect, collect, file_effects
from condense_cli.ledger.entries import Ledger, UserRequest
from condense_cli.ledger.text import SummarizedStretch, SummaryLimits, parse, render, said_by_summary
from condense_cli.tokens.counting import Counter

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


ASKED = "I found two ways. Shall I delete the old form, or keep it beside the new one?"


def requests(*messages: dict[str, object]) -> tuple[UserRequest, ...]:
    return collect(anthropic(*messages).messages).requests


@pytest.mark.parametrize("reply", ["A", "yes do that", "delete"])
def test_a_short_reply_has_its_question(reply: str) -> None:
    _, found = requests(user("Mend the login form, please."), assistant(ASKED), user(reply))
    assert found == UserRequest(reply, answers=ASKED)


def test_a_reply_is_told_for_each_question() -> None:
    other = "May I push?"
    found = requests(user("Mend it."), assistant(ASKED), user("yes"), assistant(other), user("yes"))
    assert [(each.text, each.answers) for each in found[1:]] == [("yes", ASKED), ("yes", other)]


@pytest.mark.parametrize(
    ("said", "reply"),
    [("Done. The form is mended.", "thanks"), (ASKED, "Never delete anything without a word first. " * 2)],
)
def test_what_says_all_by_itself_has_none(said: str, reply: str) -> None:
    _, found = requests(user("Mend the login form, please."), assistant(said), user(reply))
    assert not found.answers


def test_a_ledger_with_questions_is_read_back() -> None:
    ledger = Ledger(
        requests=(UserRequest("yes", 2, ASKED), UserRequest("two\nlines", answers="a?\nb?"), UserRequest("c"))
    )
    assert parse(render(ledger)) == ledger
    assert f"- [2x] yes\n? {ASKED}\n" in render(ledger)


def test_questions_go_before_words_do() -> None:
    count = Counter()
    talk = [each for n in range(20) for each in (assistant(f"{ASKED} That is number {n}?"), user(f"yes {n}"))]
    stretch = SummarizedStretch.of(anthropic(user("Mend it."), *talk).messages, count)
    assert "?" in stretch.listed(SummaryLimits(), count)
    small = stretch.listed(SummaryLimits(room=400), count)
    assert "?" not in small
    assert all(f"- yes {n}" in small for n in range(20))


DONE = "Deleted the old form. The tests pass, and nothing else used it."


@pytest.mark.parametrize(
    ("messages", "outcome"),
    [
        ([assistant(DONE)], "Deleted the old form."),
        ([assistant([text("I look."), call("t0", "Bash", command="rm a")]), user([result("t0", "")]), assistant(DONE)],
         "Deleted the old form."),
        ([assistant(DONE), user("thanks, now push"), assistant("Pushed.")], "Deleted the old form."),
        ([assistant("## Result\n\n**Deleted.** All is well.")], "Deleted."),
        ([], ""),
        ([assistant([text("I delete it."), call("t0", "Bash", command="rm a")]), user([result("t0", "")])], ""),
        ([assistant(ASKED)], ""),
    ],
)  # fmt: skip
def test_an_order_has_what_came_of_it(messages: list[dict[str, Any]], outcome: str) -> None:
    found = requests(user("Mend the login form."), assistant(ASKED), user("delete it"), *messages)
    assert found[1] == UserRequest("delete it", answers=ASKED, outcome=outcome)


@pytest.mark.parametrize("order", ["Is it deleted?", "Delete the old form, and all that nobody uses besides it. " * 2])
def test_a_question_or_a_long_request_has_none(order: str) -> None:
    assert not requests(user("Mend it."), assistant("Well."), user(order), assistant(DONE))[1].outcome


def test_a_ledger_with_outcomes_is_read_back() -> None:
    ledger = Ledger(
        requests=(UserRequest("delete", 2, ASKED, "Deleted."), UserRequest("go", outcome="a\nb"), UserRequest("c"))
    )
    assert parse(render(ledger)) == ledger
    assert f"- [2x] delete\n? {ASKED}\n= Deleted.\n" in render(ledger)


@pytest.mark.parametrize(
    ("command", "effects"),
    [
        ("cd /w && cat a.py b.py | head -5", [Effect("read", "/w/a.py"), Effect("read", "/w/b.py")]),
        ("sed -n '1,5p' a.py", [Effect("read", "a.py")]),
        ("sed -i 's/a/b/' a.py", [Effect("edited", "a.py")]),
        ("sed -ie s/a/b/ a.py", [Effect("edited", "a.py")]),
        ("sed -n -e 5p -f more.sed a.py", [Effect("read", "a.py")]),
        ("sed -i '' s/a/b/ a.py", [Effect("edited", "a.py")]),
        ("head -n 20 a.py", [Effect("read", "a.py")]),
        ("cat -n a.py", [Effect("read", "a.py")]),
        ("Get-Content a.py -TotalCount 20", [Effect("read", "a.py")]),
        ("cat > a.py <<'EOF'\nrm b.py\nEOF\nrm c.py", [Effect("written", "a.py"), Effect("deleted", "c.py")]),
        ("make 2>/dev/null >> log.txt 2>&1", [Effect("written", "log.txt")]),
        ("git mv a.py src/", [Effect("moved", "a.py", "src/a.py")]),
        ("git rm -r --cached build", []),
        ("mv a.py b.py; git rm -f c.py", [Effect("moved", "a.py", "b.py"), Effect("deleted", "c.py")]),
        ("FOO=1 sudo rm -rf build", [Effect("deleted", "build")]),
        ("rm $FILE *.pyc", []),
        ("echo 'it''s", []),
        ("python -c 'x > 1'", []),
        ("cat <<EOF\nunfinished", []),
        ("grep x <<<word\nrm a.py", [Effect("deleted", "a.py")]),
        ("grep -n x a.py", []),
    ],
)
def test_what_a_command_line_does_to_files(command: str, effects: list[Effect]) -> None:
    assert list(file_effects(command)) == effects


@given(st.one_of(HOSTILE, st.text(alphabet="cat rm>|;&<'\"\\\n -$a.", max_size=60)))
def test_any_command_line_has_effects_on_named_files_or_none(command: str) -> None:
    for effect in file_effects(command):
        assert effect.path
        assert bool(effect.target) is (effect.kind == "moved")
