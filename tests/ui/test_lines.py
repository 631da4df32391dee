"""A session as text: the strip, the list of messages, the text of one with its cuts. None of it needs a terminal."""

import time
from pathlib import Path

import pytest
from app_runs import opened
from build import assistant, call, result, user
from helpers import as_lines
from real import SAMPLES

from condense_cli.ui.choice import Places, UserChoice
from condense_cli.ui.lines import Column, ShownPlace, columns, message_lines, place_lines, short_number, strip_lines
from condense_cli.ui.opened import CONDENSING, View, choice_text, totals_text


def view_of(path: Path, choice: UserChoice) -> View:
    return opened(path).view(choice, time.perf_counter)


@pytest.mark.parametrize(
    ("number", "shown"),
    [(0, "0"), (999, "999"), (1_000, "1.0k"), (99_949, "99.9k"), (120_400, "120k"), (2_500_000, "2.5M")],
)
def test_numbers_are_short(number: int, shown: str) -> None:
    assert short_number(number) == shown


def test_the_strip_shows_what_stays_and_what_goes() -> None:
    found = columns([(80, 80), (80, 40), (80, 0), (1, 1), (40, 60)], 10, 1)
    assert strip_lines(found, 2) == ["█░░ ▄", "██░▁█", " ▲   "]
    assert columns([], 10, 0) == []
    assert strip_lines([], 2) == ["", "", ""]


# Every message is in one column, and every column has one.
@pytest.mark.parametrize("width", [1, 7, 60, 200])
def test_many_messages_share_the_columns(width: int) -> None:
    sizes = [(number, number // 2) for number in range(100)]
    found = columns(sizes, width, 99)
    assert len(found) == min(width, 100)
    assert sum(column.before for column in found) == sum(before for before, _ in sizes)
    assert [column.is_current for column in found] == [False] * (len(found) - 1) + [True]
    assert max(found, key=lambda column: column.before) != Column(0, 0, False)


# The paths of a project begin alike, and the list is narrow.
def test_a_file_is_listed_by_its_name(tmp_path: Path) -> None:
    calls = [
        call("t0", "Read", file_path="/home/dev/a project/stock.py"),
        call("t1", "LS", path="/"),
        call("t2", "Bash", command="ls /x"),
    ]
    path = tmp_path / "s.jsonl"
    path.write_bytes(as_lines([user("Look."), assistant(calls), user([result(f"t{n}", "no") for n in range(3)])]))
    shown = [line.text for _, line in place_lines(view_of(path, UserChoice("speed")), {1})]
    assert [line.split()[-2:] for line in shown[2:5]] == [["Read", "stock.py"], ["LS", "/"], ["ls", "/x"]]


def test_the_text_of_a_message_tells_every_line_s_fate_without_colours(file: Path) -> None:
    view = view_of(file, UserChoice("speed"))
    lines = [line.text for line in message_lines(view, ShownPlace(2), 60)]
    assert lines[0].startswith("2.0 tool result Read src/1.py")
    assert lines[1].endswith("tokens, truncated")
    text = view.conversation.messages[2].blocks[0].text.split("\n")
    assert [line[2:] for line in lines if line[:2] in ("  ", "- ")] == text
    assert any(line.startswith("+ […") for line in lines)
    assert [line.text for line in message_lines(view, ShownPlace(2, 0), 60)] == lines


def test_lines_fit_their_width(file: Path) -> None:
    view = view_of(file, UserChoice("speed", keep=("3",)))
    for width in (20, 60):
        for position in range(len(view.conversation.messages)):
            assert all(len(line.text) <= width for line in message_lines(view, ShownPlace(position), width))


def test_the_list_marks_what_is_kept_and_cut(file: Path) -> None:
    view = view_of(file, UserChoice("speed", keep=("2",), cut=("3", "tool:Nothing")))
    marks = {place.position: line.text[0] for place, line in place_lines(view, ())}
    assert (marks[0], marks[2], marks[3], marks[6]) == (" ", "K", "X", "~")
    assert any("matches nothing" in warning for warning in view.warnings)
    opened_up = place_lines(view, {0})
    assert [place for place, _ in opened_up[:3]] == [ShownPlace(0), ShownPlace(0, 0), ShownPlace(1)]


def test_totals_and_choice_are_told(file: Path) -> None:
    choice = UserChoice("speed", target_percent=40.0, keep=("2", "tool:Read"))
    assert choice_text(choice, None) == "speed · target 40% · keep 2, tool:Read · condensing…"
    assert choice_text(choice, None, has_failed=True) == "speed · target 40% · keep 2, tool:Read"
    view = view_of(file, UserChoice("speed", target_tokens=10))
    assert choice_text(view.choice, view) == "speed · target 10"
    assert "target 10 missed" in totals_text(view.totals)


def test_names_with_signs_of_globs_mean_themselves(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    records = [
        user("Read."),
        assistant([call("1", file_path="app/[id]/page.tsx")]),
        user([result("1")]),
        assistant("Ok."),
    ]
    path.write_bytes(as_lines(records))
    places = Places(opened(path).transcript.messages)
    selector = next(meant.selector for meant in places.meanings(2, None) if meant.key == "f")
    assert places.marks([selector]) == {(1, 0), (2, 0)}
    assert [meant.key for meant in places.meanings(0, None)] == ["m"]
    assert places.meanings(99, None) == []
    assert places.own(1, 5) == ""


def test_lines_that_were_picked_say_why() -> None:
    session = opened(SAMPLES[0])
    uncut, first, *_, then = session.views(UserChoice("balanced"), time.perf_counter)
    assert (uncut.computing, then.computing) == (CONDENSING, "")
    assert all(before == after for before, after in (message.tokens for message in uncut.conversation.messages))
    assert len(list(session.views(UserChoice("speed"), time.perf_counter))) == 2
    position = next(number for number, one in enumerate(then.conversation.messages) if any(b.whys for b in one.blocks))
    lines = [line.text for line in message_lines(then, ShownPlace(position), 80)]
    assert any(line.startswith("└ gone: ") for line in lines)
    assert not any(
        line.startswith("└ gone: ") for line in [line.text for line in message_lines(first, ShownPlace(position), 80)]
    )
    assert first.totals == then.totals
