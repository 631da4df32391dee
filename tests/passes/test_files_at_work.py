"""Files at work: what shows a file that the newest turns use or name stays whole, while there is room."""

from typing import Any

import pytest
from build import anthropic, assistant, call, condense, extract, read_turn, reasons, result, user

from condense_cli.core.transcript import Transcript
from condense_cli.passes.receipts import Kept
from condense_cli.toolcalls.files_at_work import texts_at_work

LINES = "\n".join(f"entry {n} is as it was before, and nobody asks for it" for n in range(60))
NEWEST = 4


def worked(*newest: dict[str, Any], reads: int = 24, last: str = "pass") -> Transcript:
    """Reads of two dozen files, and then the newest turns."""
    messages = [user("Look at the parts.")]
    for n in range(reads):
        messages += read_turn(f"t{n}", f"src/part_{n}.py", f"part {n}\n{LINES}")
    return anthropic(*messages, *newest, *read_turn("last", "src/last.py", last), assistant("Done."))


def cut(transcript: Transcript, percent: int = 60) -> Any:
    passes = extract(selection={"type": "preserve_recent", "keep_recent_count": NEWEST})
    return condense(transcript, passes, target_reduction_percent=100 - percent)


def is_whole(condensation: Any, part: int) -> bool:
    text = f"part {part}\n{LINES}"
    return any(block.text == text for message in condensation.transcript.messages for block in message.blocks)


EDIT = [assistant([call("e", "Edit", file_path="src/part_3.py", old_string="part 3", new_string="part three")])]
EDITED = [*EDIT, user([result("e", "ok")])]
NAMED = [user("Please look at part_3.py, it is broken."), assistant("I look at it.")]
OTHER = [user("Please look again, it is broken."), assistant("I look at it.")]


@pytest.mark.parametrize(("newest", "stays"), [(EDITED, True), (NAMED, True), (OTHER, False)])
def test_a_file_that_the_newest_turns_edit_or_name_stays_whole(newest: list[dict[str, Any]], *, stays: bool) -> None:
    found = cut(worked(*newest))
    assert is_whole(found, 3) is stays
    assert (Kept.AT_WORK in reasons(found)) is stays
    assert not found.is_target_missed


def test_a_small_target_has_no_room_for_whole_files() -> None:
    found = cut(worked(*EDITED), 30)
    assert not is_whole(found, 3)
    assert not found.is_target_missed


def test_as_many_stay_as_there_is_room_for_newest_first() -> None:
    names = " ".join(f"part_{n}.py" for n in range(24))
    found = cut(worked(user(f"Look at {names} again."), assistant("I do.")))
    held = [n for n in range(24) if Kept.AT_WORK in reasons(found, 2 * n + 2)]
    assert held == [22]  # Part 23 is among the newest turns.
    assert not found.is_target_missed


def test_a_file_that_was_written_anew_is_not_at_work_as_it_was() -> None:
    written = [assistant([call("w", "Write", file_path="src/part_3.py", content="x = 1")]), user([result("w", "ok")])]
    transcript = worked(*written, *EDITED)
    shown = [
        transcript.messages[position].blocks[number].text
        for position, number in texts_at_work(transcript.messages, len(transcript.messages) - NEWEST)
    ]
    assert f"part 3\n{LINES}" not in shown


def test_the_newest_of_equal_reads_counts() -> None:
    transcript = anthropic(
        user("Go on."),
        *read_turn("a", "src/a.py", "old"),
        *read_turn("b", "src/a.py", "new"),
        assistant([call("c", "Edit", file_path="/home/me/src/a.py", old_string="n", new_string="m")]),
        user([result("c", "ok")]),
    )
    assert texts_at_work(transcript.messages, 5) == [(4, 0)]
    assert texts_at_work(transcript.messages, 7) == []
