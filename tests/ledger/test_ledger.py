"""The ledger as a value: how stretches merge, its text and back, and its bounds."""

from __future__ import annotations

import pytest
from batches import Noting, again, batch
from build import anthropic, assistant, call, conversation, read_turn, result, user
from helpers import Records
from hypothesis import given
from hypothesis import strategies as st
from ledgers import ledgers

from condense_cli.core.markers import parse_summary
from condense_cli.core.transcript import Message
from condense_cli.ledger.entries import FileEntry, Ledger, Todo, UserRequest, merge
from condense_cli.ledger.text import FRAME, SummarizedStretch, SummaryLimits, fit, parse, render
from condense_cli.ledger.text import parse as parse_ledger
from condense_cli.tokens.counting import Counter

COUNT = Counter()


@given(ledgers(), ledgers(), ledgers())
def test_merging_is_associative(first: Ledger, second: Ledger, third: Ledger) -> None:
    assert merge(merge(first, second), third) == merge(first, merge(second, third))
    assert merge(first, Ledger()) == first == merge(Ledger(), first)


def test_a_request_that_is_made_again_comes_last() -> None:
    tabs, spaces = (Ledger(requests=(UserRequest(f"Use {what}."),)) for what in ("tabs", "spaces"))
    found = merge(merge(tabs, spaces), tabs)
    assert found.requests == (UserRequest("Use spaces."), UserRequest("Use tabs.", 2))


@given(ledgers())
def test_what_is_written_is_read_back(ledger: Ledger) -> None:
    written = render(ledger)
    assert (parse(written) or Ledger()) == ledger
    assert (parse(f"Words before.\n<ledger>\n- no ledger\n{written}\nWords after.") or Ledger()) == ledger


@given(ledgers(), st.integers(0, 200))
def test_a_limit_is_kept_and_nothing_goes_unsaid(ledger: Ledger, limit: int) -> None:
    fitted = fit(ledger, limit, COUNT)
    assert COUNT(render(fitted)) <= limit
    assert fit(fitted, limit, COUNT) == fitted
    if fitted:
        for section in ("requests", "changed", "read", "commands", "todos"):
            gone = len(getattr(ledger, section)) - len(getattr(fitted, section))
            assert getattr(fitted.left_out, section) - getattr(ledger.left_out, section) == gone
    if len(fitted.requests) < len(ledger.requests):
        assert (fitted.changed, fitted.read, fitted.commands, fitted.todos) == ((), (), (), ())


def test_todos_that_went_leave_no_empty_list() -> None:
    todos = tuple(Todo(f"Change the part number {number}", "pending") for number in range(5))
    fitted = fit(Ledger(requests=(UserRequest("Go."),), todos=todos, is_whole_list=True), 30, COUNT)
    assert render(fitted) == "<ledger>\nRequests of the user:\n- Go.\nLeft out: 5 todos.\n</ledger>"


def test_a_common_folder_is_named_once() -> None:
    files = tuple(FileEntry(f"/home/me/project/src/{name}.py", read=1) for name in "abcd")
    written = render(Ledger(read=(*files, FileEntry("/etc/hosts", read=1))))
    assert written.split("\n")[1:4] == [
        "Files only read (…/ is /home/me/project/src/):",
        "- read: …/a.py",
        "- read: …/b.py",
    ]
    assert "- read: /etc/hosts" in written


def test_reading_a_file_says_nothing_about_its_last_change() -> None:
    failed = Ledger(changed=(FileEntry("a.py", failed=1, state="failed"),))
    read = Ledger(read=(FileEntry("a.py", read=1),))
    assert merge(failed, read) == Ledger(changed=(FileEntry("a.py", read=1, failed=1, state="failed"),))
    edited = Ledger(changed=(FileEntry("a.py", edited=1),))
    assert merge(failed, edited) == Ledger(changed=(FileEntry("a.py", edited=1, failed=1),))


ENTRY = 20
"""Tokens of an entry of these ledgers, and of the line that says how many are left out, are fewer."""

NO_END = 10**9
count = Counter()


def edits(files: int, said: str = "Go on.", filler: int = 0) -> tuple[Message, ...]:
    """So many files are changed, and as many results tell of it at some length."""
    return anthropic(user(said), *edits_written(files, filler)).messages


def edits_written(files: int, filler: int = 0) -> Records:
    messages = []
    for number in range(files):
        path = f"package{number}/module{number}/file{number}.py"
        messages.append(assistant([call(f"c{number}", "Edit", file_path=path, old_string="a", new_string="b")]))
        messages.append(user([result(f"c{number}", "word " * filler)]))
    return messages


def ledger_tokens(messages: tuple[Message, ...], room: int = NO_END, *, gives_up_words: bool = False) -> int:
    limits = SummaryLimits(room=room, gives_up_words=gives_up_words)
    return count(SummarizedStretch.of(messages, count).listed(limits, count))


def costs(messages: tuple[Message, ...]) -> int:
    return sum(map(count.message, messages))


def test_a_tenth_of_what_is_summarized() -> None:
    messages = edits(150)
    most = costs(messages) // 10
    assert most < 3_000
    assert most - ENTRY < ledger_tokens(messages) <= most


# The tenth of what is new would have no room for it.
def test_what_an_earlier_ledger_listed_stays_listed() -> None:
    first = batch(anthropic(user("Go on."), *edits_written(60, filler=40), assistant("Done.")), Noting([]))
    second = batch(again(first, user("And now?"), *read_turn("new", "new.py"), assistant("So.")), Noting([]))
    before, after = (
        {entry.path for block in blocks if (ledger := parse_ledger(block.text)) for entry in ledger.changed}
        for blocks in ([block for _, block in found.transcript.blocks()] for found in (first, second))
    )
    assert len(before) > 20
    assert before <= after


def test_at_most_three_thousand() -> None:
    messages = edits(300, filler=200)
    assert costs(messages) > 60_000
    assert 3_000 - ENTRY < ledger_tokens(messages) <= 3_000


# What the user said is all in it, and leaves half of the tenth to the rest.
def test_words_of_the_user_stay_and_leave_half_to_the_rest() -> None:
    said = " ".join(f"Rule number {number} holds for all files." for number in range(60))
    messages = edits(60, said)
    half, words = costs(messages) // 10 // 2, count(said)
    assert words > 2 * half
    assert words + half - ENTRY < ledger_tokens(messages) <= words + half + ENTRY


def test_the_rest_takes_a_third_of_the_room() -> None:
    messages = edits(60)
    said, room = 40, 300
    assert (room - FRAME - said) // 3 - ENTRY < ledger_tokens(messages, room) <= (room - FRAME) // 3 + said


def test_words_go_where_they_are_given_up() -> None:
    said = " ".join(f"Rule number {number} holds for all files." for number in range(60))
    messages = edits(10, said)
    assert ledger_tokens(messages, 200) > count(said)
    assert ledger_tokens(messages, 200, gives_up_words=True) <= 200 - FRAME


@pytest.mark.parametrize("most", [160, 400])
def test_half_of_what_the_summary_may_have(most: int) -> None:
    found = batch(anthropic(*conversation(60)), Noting([]), max_tokens=most)
    (summary,) = [block.text for _, block in found.transcript.blocks() if parse_summary(block.text)]
    ledger = summary[summary.index("What happened.") + len("What happened.") :]
    assert parse_ledger(summary) is not None
    assert most // 2 - ENTRY < count(ledger) <= most // 2 + ENTRY // 2


# What the words lack is in the ledger, in place of what they do not.
def test_the_ledger_keeps_what_the_words_lack() -> None:
    failed = [
        assistant([call("m", "Bash", command="make check")]),
        user([result("m", "Error: broken_symbol", is_error=True)]),
    ]
    transcript = anthropic(user("Go on."), *failed, *edits_written(60), assistant("Done."))
    plain, kept = (
        "\n".join(
            block.text for _, block in batch(transcript, Noting([], lacks=lacks), max_tokens=400).transcript.blocks()
        )
        for lacks in (frozenset[str](), frozenset({"make check"}))
    )
    assert "broken_symbol" not in plain
    assert "broken_symbol" in kept
    assert "Left out:" in kept
