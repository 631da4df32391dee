"""Questions to a condensed conversation, and the answers still in it."""

from typing import Any

import pytest
from build import anthropic, assistant, call, openai, read_turn, result, user

from condense_cli.core.markers import Gap
from condense_cli.core.transcript import Message
from condense_cli.quality.recall import Questions, Recall, Score, ask, touched


def _messages(*messages: dict[str, Any]) -> tuple[Message, ...]:
    """These messages, after others with which none of them can be one turn."""
    before = (user("Begin."), assistant("Yes."), user("Now."), assistant("Well."))
    first = before if messages[0]["role"] == "user" else before[:-1]
    return anthropic(*first, *messages).messages[len(first) :]


BEFORE = _messages(*read_turn("t0", "app.py", "    12→def old_name(self):\n    13→    return max_size"))


def _edit(identifier: str, old: str, path: str = "app.py") -> dict[str, Any]:
    return call(identifier, "Edit", file_path=path, old_string=old, new_string="def renamed(self):")


def test_asked_is_what_the_assistant_wrote_later_and_saw_before() -> None:
    after = _messages(assistant("old_name returns max_size, not new_thing."))
    assert ask(BEFORE, after).facts == {"old_name", "max_size"}


def test_what_was_shown_again_before_it_was_needed_is_not_asked() -> None:
    after = _messages(user("Is it max_size?"), assistant("max_size, in old_name."))
    assert ask(BEFORE, after).facts == {"old_name"}


# They are sent with every request, whatever becomes of the conversation.
def test_what_the_standing_instructions_say_is_not_asked() -> None:
    system = {"role": "system", "content": "Mind max_size.\n    return max_size"}
    before = openai(system, user("Look at old_name and max_size, please."), assistant("I will.")).messages
    after = _messages(assistant("old_name has max_size."))
    assert ask(before, after).facts == {"old_name"}


# The schema of the tool comes with every request.
def test_the_states_of_todos_are_not_asked() -> None:
    def todos(identifier: str, content: str) -> dict[str, Any]:
        return assistant([call(identifier, "TodoWrite", todos=[{"content": content, "status": "in_progress"}])])

    before = _messages(todos("t1", "Mend old_name"), user([result("t1", "ok")]))
    assert ask(before, _messages(todos("t2", "Test old_name"))).facts == {"old_name"}


def test_asked_are_the_lines_that_edits_had_to_match() -> None:
    edit = _edit("t1", "def old_name(self):\n    x")
    assert ask(BEFORE, _messages(assistant([edit]))).lines == {"def old_name(self):"}
    reread = read_turn("t2", "app.py", "     1→def old_name(self):\n     2→    pass")
    again = _messages(*reread, assistant([edit]), user([result("t1", "ok")]))
    assert ask(BEFORE, again).lines == frozenset()


def test_an_edit_that_failed_had_nothing_to_match() -> None:
    edit = _edit("t1", "def old_name(self):")

    def asked(answer: dict[str, Any]) -> frozenset[str]:
        return ask(BEFORE, _messages(assistant([edit]), user([answer]))).lines

    assert asked(result("t1", "The file was updated.")) == {"def old_name(self):"}
    assert asked(result("t1", "String to replace not found in file.", is_error=True)) == frozenset()
    assert asked(result("t1", "<tool_use_error>File has not been read yet.</tool_use_error>")) == frozenset()


def test_numbers_of_a_listing_are_no_facts() -> None:
    assert "12" not in ask(BEFORE, _messages(assistant("Line 12 has old_name."))).facts


LISTING = "    12→def old_name(self):\n    13→    return max_size\n    14→other_fact\nfor_all"
ASKING = _messages(
    assistant("Is it old_name, max_size, other_fact or for_all?"),
    user("Go on."),
    assistant([_edit("t1", "def old_name(self):\n    return max_size", "other")]),
    user([result("t1", "done")]),
)


def _recall(*texts: str, original: str = LISTING) -> Recall:
    """Items of a one-read conversation that are present once its result became these texts."""
    questions = Questions(_messages(*read_turn("t0", "app.py", original)), ASKING)
    return questions(_messages(*read_turn("t0", "app.py", [{"type": "text", "text": text} for text in texts])))


def test_what_is_left_as_it_was_stands() -> None:
    assert _recall(LISTING) == Recall(Score(4, 4), Score(2, 2), Score(1, 1))


def test_a_verbatim_line_counts_and_a_list_of_words_does_not() -> None:
    marker = str(Gap("406167", 2))
    assert _recall(f"    12→def old_name(self):\n{marker}\nfor_all") == Recall(Score(4, 2), Score(2, 1), Score(1, 1))
    assert _recall("old_name max_size other_fact for_all") == Recall(Score(4, 0, named=4), Score(2, 0), Score(1, 1))
    assert _recall("The method old_name, on a line that never stood there") == Recall(
        Score(4, 0, named=1), Score(2, 0), Score(1, 1)
    )


def test_what_stands_verbatim_is_not_named_as_well() -> None:
    assert _recall("for_all\nsome words about for_all and max_size").facts == Score(4, 1, named=1)


# Alone, between two markers, a numbered line is still the line of the file.
def test_a_line_counts_without_its_number() -> None:
    gap = str(Gap("406167", 1))
    assert _recall(f"{gap}\n    13→    return max_size\n{gap}") == Recall(Score(4, 1), Score(2, 1), Score(1, 1))
    assert _recall(f"{gap}\n    return max_size\n{gap}") == Recall(Score(4, 1), Score(2, 1), Score(1, 1))
    assert _recall("    77→    return max_size").edits == Score(2, 0)


@pytest.mark.parametrize("hash", ["406167", "5f2c91d8"])
def test_a_marker_of_the_original_is_no_line_of_it(hash: str) -> None:
    gap = str(Gap(hash, 17))
    after = _messages(assistant(f"It left out {hash}."))
    questions = Questions(_messages(*read_turn("t0", "a.py", f"{hash}\n{gap}")), after)
    assert questions(_messages(*read_turn("t0", "a.py", gap))).facts == Score(1, 0, named=1)


def test_the_ends_of_a_line_that_was_cut_inside_count() -> None:
    long = "old_name " + "x" * 300 + " max_size"
    assert _recall(f"old_name xx…\n{Gap('406167', 0, 296)}\n…xx max_size", original=long).facts == Score(2, 2)
    assert _recall("old_name and max_size…", original=long).facts == Score(2, 0, named=2)


# Many lines begin with the same few words; a list of them must not count.
def test_an_unmarked_part_of_a_line_has_to_be_long() -> None:
    long = "the old_name of it is " + "x" * 30 + " and it ends with the value of max_size"
    assert _recall("the old_name of it is " + "x" * 20, original=long).facts == Score(2, 1)
    assert _recall("xx and it ends with the value of max_size", original=long).facts == Score(2, 1)
    assert _recall("the old_name", original=long).facts == Score(2, 0, named=1)
    assert _recall("name of it is " + "x" * 30 + " and it ends with", original=long).facts == Score(2, 0)


def test_thinking_is_no_text_of_the_conversation() -> None:
    thought = {"type": "thinking", "thinking": "old_name", "signature": "c2lnbmVk"}
    before = _messages(user("Well?"), assistant([thought, {"type": "text", "text": "Hm."}]))
    assert ask(before, ASKING).facts == frozenset()


def test_nothing_asked_has_no_recall() -> None:
    assert (Score(0, 0).share, Score(0, 0).share_named) == (None, None)
    assert (Score(4, 1, 2).share, Score(4, 1, 2).share_named) == (0.25, 0.5)


WORK = (
    *read_turn("r", "/srv/app/read.py"),
    assistant([_edit("e", "value", "/srv/app/edited.py")]),
    user([result("e", "done")]),
    assistant([_edit("f", "value", "/srv/app/failed.py")]),
    user([result("f", "not found", is_error=True)]),
    assistant([call("d", "Bash", command="rm /srv/app/gone.py")]),
    user([result("d", "")]),
)


def test_files_are_told_with_what_became_of_them() -> None:
    assert touched(_messages(*WORK)) == {
        "/srv/app/read.py": "read",
        "/srv/app/edited.py": "changed",
        "/srv/app/failed.py": "failed",
        "/srv/app/gone.py": "deleted",
    }


def test_a_ledger_tells_of_files_and_is_no_verbatim_line() -> None:
    before = _messages(*WORK)
    questions = Questions(before, _messages(assistant("Go on with edited.py in /srv/app/edited.py.")))
    assert questions(before).files == Score(4, 4)
    assert questions(before[:4]) == Recall(Score(1, 1), Score(0, 0), Score(4, 2))
    ledger = (
        "<ledger>\nFiles changed (…/ is /srv/app/):\n- edited: …/edited.py\n- failed: …/failed.py\n"
        "Files only read:\n- read: /srv/app/read.py\n- read: /srv/app/gone.py\n</ledger>"
    )
    # The last change of failed.py failed and gone.py is deleted, which this ledger does not tell.
    assert questions(_messages(user(ledger))) == Recall(Score(1, 0, named=1), Score(0, 0), Score(4, 2))


def test_what_a_ledger_quotes_of_the_user_stands() -> None:
    before = _messages(user("Mind the max_size.\nAnd old_name."), assistant("Yes."))
    questions = Questions(before, _messages(assistant("Now max_size and old_name.")))
    quoted = "<ledger>\nRequests of the user:\n- Mind the max_size.\n  And old_name, too.\n</ledger>"
    assert questions(_messages(user(quoted))).facts == Score(2, 1, named=1)


def test_a_call_without_its_path_tells_of_no_file() -> None:
    questions = Questions(_messages(*WORK[:2]), ASKING)
    assert questions(_messages(*read_turn("r", "[gone]"))).files == Score(1, 0)


def test_a_failure_that_nobody_tells_is_not_what_became_of_the_file() -> None:
    questions = Questions(_messages(*WORK[4:6]), ASKING)
    silent = _messages(WORK[4], user([result("f", "[cleared]")]))
    assert questions(silent).files == Score(1, 0)
