"""The ledger as a value: how stretches merge, its text and back, and its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from ledgers import ledgers

from condense_cli.core.tokens import Counter
from condense_cli.ledger.entries import FileEntry, Ledger, Todo, UserRequest, merge
from condense_cli.ledger.text import fit, parse, render

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
