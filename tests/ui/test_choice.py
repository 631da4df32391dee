"""Choices, and undoing them."""

from collections.abc import Iterator
from threading import Event

import pytest

from condense_cli.errors import CondenseError, UsageError
from condense_cli.ui.choice import ChoiceHistory, UserChoice
from condense_cli.ui.opened import Background, Clock

START = UserChoice("balanced")


@pytest.mark.parametrize(
    ("typed", "tokens", "percent"),
    [("60000", 60_000, None), ("60k", 60_000, None), (" 40% ", None, 40.0), ("", None, None), ("1,500", 1_500, None)],
)
def test_targets_as_people_type_them(typed: str, tokens: int | None, percent: float | None) -> None:
    choice = START.with_target("7").with_target(typed)
    assert (choice.target_tokens, choice.target_percent) == (tokens, percent)
    assert choice.with_target(choice.target) == choice


@pytest.mark.parametrize("typed", ["many", "0", "-3", "0%", "100%", "1.5", "k"])
def test_what_is_no_target_is_refused(typed: str) -> None:
    with pytest.raises(UsageError):
        START.with_target(typed)


def test_a_selector_is_kept_or_cut_never_both() -> None:
    choice = START.keeping("3").cutting("3")
    assert (choice.keep, choice.cut) == ((), ("3",))
    assert choice.cutting("3") == START
    assert [(each.keep, each.cut) for each in (START.cycled("3"), START.cycled("3").cycled("3"))] == [
        (("3",), ()),
        ((), ("3",)),
    ]
    assert START.cycled("3").cycled("3").cycled("3") == START


def test_every_step_is_undone_and_done_again() -> None:
    history = ChoiceHistory(START)
    assert history.undo() == ""
    assert history.do(START.keeping("3"), "Keep 3")
    assert not history.do(START.keeping("3"), "Keep 3")
    assert history.do(START.keeping("3").cutting("4"), "Cut 4")
    assert "Cut 4" in history.undo()
    assert history.choice == START.keeping("3")
    assert "Cut 4" in history.redo()
    history.undo()
    history.undo()
    assert history.choice == START
    history.do(START.cutting("9"), "Cut 9")
    assert history.redo() == ""


def test_what_was_written_is_taken_back_once() -> None:
    history = ChoiceHistory(START)
    taken: list[str] = []

    def take_back() -> str:
        taken.append("x")
        return "Removed x."

    history.wrote("Written: x", take_back)
    assert history.undo() == "Removed x."
    assert history.undo() == history.redo() == ""
    assert taken == ["x"]


# A file that went on since stays, and so does the step: one may try again.
def test_what_cannot_be_taken_back_stays_a_step() -> None:
    history = ChoiceHistory(START)

    def fails() -> str:
        raise UsageError("It changed.")

    history.wrote("Written: x", fails)
    for _ in range(2):
        with pytest.raises(UsageError):
            history.undo()


def test_work_that_is_overtaken_is_given_up() -> None:
    found: list[tuple[int, int | CondenseError]] = []
    started, go_on, done = Event(), Event(), Event()

    def work(asked: int, clock: Clock) -> Iterator[int]:
        if asked == 1:
            started.set()
            go_on.wait()
            clock()
        yield asked * 10
        yield asked * 100

    def tell(asked: int, result: int | CondenseError) -> None:
        found.append((asked, result))
        if result == 300:
            done.set()

    background: Background[int, int] = Background(work, tell)
    background.ask(1)
    started.wait()
    background.ask(2)
    background.ask(3)
    go_on.set()
    done.wait()
    background.close()
    assert found == [(3, 30), (3, 300)]


def test_an_error_is_told_and_the_work_goes_on() -> None:
    found: list[int | CondenseError] = []
    done = Event()

    def work(asked: int, clock: Clock) -> Iterator[int]:
        if asked == 1:
            raise UsageError("No.")
        yield asked // (asked - 2)

    def tell(asked: int, result: int | CondenseError) -> None:
        found.append(result)
        done.set()

    background: Background[int, int] = Background(work, tell)
    for asked in (1, 2, 3):
        done.clear()
        background.ask(asked)
        done.wait()
    background.close()
    assert isinstance(found[0], UsageError)
    assert "ZeroDivisionError" in str(found[1])
    assert found[2] == 3
