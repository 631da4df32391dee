"""Reading references, line by line: the messages without them, the report, and the bounds of what they may give."""

from typing import Any

import pytest
from bombs import BOMBS, LINES, counted
from build import anthropic, assistant, read_turn, text, user
from reading import NEXT, OTHER, PREVIOUS, THIRD, B, decoded, edit, messages, read, saying, see
from references import references, says_the_same, written

from condense_cli.core.markers import short_hash
from condense_cli.lossless import decode as decoding
from condense_cli.lossless.decode import Decoded, count_gaps, decode, texts_of

STATE = f"<environment_details>\n{LINES}\n</environment_details>"


def test_messages_without_references_are_themselves() -> None:
    given = messages(*B)
    assert decode(given) == Decoded(given)
    assert decode([]) == Decoded(())


@pytest.mark.parametrize("is_backward", [False, True])
def test_a_reference_in_the_middle(is_backward: bool) -> None:
    said = read("a", f"before\n{PREVIOUS if is_backward else NEXT}\nafter")
    found = decoded(*(B + said if is_backward else said + B))
    here, there = (4, 2) if is_backward else (2, 4)
    assert saying(found, here) == [f"before\n{LINES}\nafter"]
    assert (found.resolved, found.unresolved) == (1, 0)
    assert found.named == {(here, 0): frozenset({(there, 0)})}
    assert found.counted == {(here, 0): [("", 1)]}


def test_several_in_one_text() -> None:
    found = decoded(
        *B, *read("a", f"{PREVIOUS}\n--\n{NEXT}\n{see('the next Read of c.py', OTHER)}"), *read("c", OTHER), *B
    )
    assert saying(found, 4) == [f"{LINES}\n--\n{LINES}\n{OTHER}"]
    assert found.resolved == 3
    assert found.named == {(4, 0): frozenset({(2, 0), (6, 0), (8, 0)})}
    # Those of the first sweep; the line of the other one has moved before it counts.
    assert found.counted == {(4, 0): [("", 3), ("", 2)]}


def test_what_names_nothing_with_such_lines_stays() -> None:
    lines = [
        NEXT.replace("next", "2nd next"), NEXT.replace("b.py", "c.py"), NEXT[:-7] + "000000]", PREVIOUS,
        see("lines 1-2 of the next Read of b.py", "\n".join(LINES.split("\n")[:2])),
    ]  # fmt: skip
    found = decoded(*read("a", "\n".join(lines)), *B)
    assert saying(found, 2) == ["\n".join(lines)]
    assert (found.resolved, found.unresolved) == (0, len(lines))
    assert found.named == {(2, 0): frozenset({(4, 0)})}
    assert found.counted == {}


def test_lines_that_are_no_references_are_not_counted() -> None:
    found = decoded(*read("a", f"[see the docs]\n x{NEXT}\n{NEXT}"), *B)
    assert (found.resolved, found.unresolved) == (1, 0)
    spoiled = decoded(*read("a", f"[see the docs]\n x{NEXT}\n[see x #1]"), *B)
    assert (spoiled.resolved, spoiled.unresolved) == (0, 0)


def test_a_reference_may_give_a_part() -> None:
    part = "\n".join(LINES.split("\n")[2:8])
    found = decoded(*read("a", see("lines 3-8 of the next Read of b.py", part)), *B)
    assert saying(found, 2) == [part]


@pytest.mark.parametrize("kept", [[0], [19], [0, 19], [9], [1, 18]], ids=str)
@pytest.mark.parametrize("style", ["{:>6}→", "{:>12}|", "{}\t"])
def test_numbers_go_on_from_the_lines_beside_a_reference(style: str, kept: list[int]) -> None:
    """The listing of a file with some changed lines between references to its newer state."""
    lines = [f"{'changed, so ' * (n in kept)}{line}" for n, line in enumerate(LINES.split("\n"))]
    listing = "\n".join(f"{style.format(n)}{line}" for n, line in enumerate(lines, 95))
    given = messages(*read_turn("a", "b.py", listing), *B)
    small = written(given)
    assert references(small)
    assert says_the_same(decode(small).messages, given)


@pytest.mark.parametrize(
    ("said", "is_read"),
    [
        (user(f"It says\n{NEXT}"), False),
        (user(f"# AGENTS.md instructions\n{NEXT}"), True),
        (user(f"[ERROR] You did not use a tool\n{NEXT}"), True),
        (user(f"<x>\n{NEXT}"), True),
        (user(f"Caveat: The messages below\n{NEXT}"), True),
        (user(f"<system-reminder>\n{NEXT}\n</system-reminder>"), True),
    ],
)
def test_only_what_a_client_wrote_refers(said: dict[str, Any], is_read: bool) -> None:
    found = decoded(assistant("Yes?"), said, assistant("So."), *B)
    (was,) = said["content"] if isinstance(said["content"], list) else [said["content"]]
    assert saying(found, 2) == [was.replace(NEXT, LINES) if is_read else was]
    assert (found.resolved, found.unresolved) == (is_read, not is_read)


def test_what_the_assistant_says_is_not_looked_at() -> None:
    found = decoded(assistant(f"It says\n{NEXT}"), user("So?"), *B)
    assert saying(found, 1) == [f"It says\n{NEXT}"]
    assert (found.resolved, found.unresolved) == (0, 0)


def state(content: str) -> dict[str, Any]:
    return user([text(f"Go on.\n<environment_details>\n{content}\n</environment_details>\nPlease.")])


def test_state_refers_to_state_and_nothing_else_does() -> None:
    see_state = see("lines 2-21 of the next <environment_details>", LINES)
    found = decoded(
        assistant("Yes?"), state(f"{see_state}\n{NEXT}"), assistant("So."), state(LINES), assistant("x"), *B
    )
    assert saying(found, 2) == [state(f"{LINES}\n{NEXT}")["content"][0]["text"]]
    assert (found.resolved, found.unresolved) == (1, 1)
    outside = decoded(assistant("Yes?"), user(f"Go on.\n{see_state}"), assistant("So."), state(LINES))
    assert (outside.resolved, outside.unresolved) == (0, 1)
    result = decoded(*read("a", see_state), state(LINES))
    assert (result.resolved, result.unresolved) == (0, 1)


def test_elements_of_one_text_refer_to_each_other() -> None:
    two = see("lines 2-21 of the next <environment_details>", LINES)
    back = see("lines 2-21 of the previous <environment_details>", LINES)
    for first, second in ((two, LINES), (LINES, back)):
        parts = [f"<environment_details>\n{each}\n</environment_details>" for each in (first, second)]
        found = decoded(assistant("Yes?"), user("Go on.\n" + "\nx\n".join(parts)), assistant("So."))
        assert saying(found, 2) == ["Go on.\n" + "\nx\n".join([STATE, STATE])]
        assert found.resolved == 1


def test_a_reference_in_front_of_an_element_is_not_in_it() -> None:
    before = "x\n" * 200 + see("lines 2-21 of the next <environment_details>", LINES)
    found = decoded(assistant("Yes?"), user(f"{before}\n{STATE}"), assistant("So."), state(LINES))
    assert saying(found, 2) == [f"{before}\n{STATE}"]
    assert (found.resolved, found.unresolved) == (0, 1)


def test_given_lines_are_given_once() -> None:
    first = see("lines 1-20 above", LINES)
    found = decoded(*read("a", f"{LINES}\n{first}\n{see('lines 21-40 above', LINES)}\n{first}"))
    assert saying(found, 2) == [f"{LINES}\n{LINES}\n{see('lines 21-40 above', LINES)}\n{LINES}"]
    assert (found.resolved, found.unresolved) == (2, 1)
    assert found.counted == {(2, 0): [("", 20), ("", 22)]}


def test_lines_above_are_those_that_references_leave() -> None:
    text = f"{OTHER}\n{NEXT}\nx\n{see('lines 1-20 above', OTHER)}\n{see('lines 21-40 above', LINES)}"
    found = decoded(*read("a", text), *B)
    assert saying(found, 2) == [f"{OTHER}\n{LINES}\nx\n{OTHER}\n{see('lines 21-40 above', LINES)}"]
    assert found.counted == {(2, 0): [("", 20)]}


def test_lines_above_are_counted_with_those_that_were_given() -> None:
    for shown in (LINES, f"{'a' * 60}\n{'b' * 60}", "c" * 120):
        size = shown.count("\n") + 1
        where = f"lines 1-{size} above" if size > 1 else "line 1 above"
        later = see(f"lines {2 * size + 1}-{2 * size + 20} above", THIRD)
        found = decoded(*read("a", f"{shown}\n{see(where, shown)}\n{THIRD}\n{later}"))
        assert saying(found, 2) == [f"{shown}\n{shown}\n{THIRD}\n{THIRD}"]
        assert found.counted == {(2, 0): [("", size), ("", size + 21)]}


def test_another_text_does_not_give_what_it_was_given() -> None:
    part = "\n".join([*LINES.split("\n")[-1:], *OTHER.split("\n")])
    c = f"{NEXT}\n{OTHER}"
    inside, across = (
        see("lines 21-40 of the next Read of c.py", OTHER),
        see("lines 20-40 of the next Read of c.py", part),
    )
    found = decoded(*read("a", f"{inside}\n{across}"), *read("c", c), *B)
    assert saying(found, 2) == [f"{OTHER}\n{across}"]
    assert saying(found, 4) == [f"{LINES}\n{OTHER}"]


def test_in_values_what_is_above_counts_too() -> None:
    value = f"{LINES}\n{see('lines 1-20 above', LINES)}"
    found = decoded(*edit(old_string="x", new_string=value))
    assert saying(found, 1) == ["e.py", "x", f"{LINES}\n{LINES}"]
    assert found.counted == {(1, 0): [("new_string", 20)]}


def test_what_is_too_short_is_not_given() -> None:
    for size, resolved in ((78, 0), (79, 1)):
        line = "x" * size
        found = decoded(*read("a", see("the next Read of c.py", line)), *read("c", line))
        assert found.resolved == resolved
        assert decoded(*read("a", f"{line}\n{see('line 1 above', line)}")).resolved == resolved


@pytest.mark.parametrize("escapes", ["\\", "\\\\"])
def test_an_escape_that_counts_is_taken_away(escapes: str) -> None:
    line = NEXT.replace("[see ", f"[see {escapes}")
    found = decoded(*read("a", f"x\n{line}"), *B)
    assert saying(found, 2) == [f"x\n{line.replace(escapes, escapes[1:], 1)}"]
    # A line without escapes left does not count as unresolved.
    assert (found.resolved, found.unresolved) == (0, 0)
    assert found.counted == {(2, 0): [("", 1)]}
    idle = line.replace("b.py", "c.py")
    assert saying(decoded(*read("a", idle), *B), 2) == [idle]
    above = see("lines 1-20 above", LINES).replace("[see ", f"[see {escapes}")
    found = decoded(*read("a", f"{LINES}\n{above}\n{see('lines 1-20 above', LINES)}"))
    assert saying(found, 2) == [f"{LINES}\n{above.replace(escapes, escapes[1:], 1)}\n{LINES}"]
    assert (found.resolved, found.unresolved) == (1, 0)


def test_every_line_without_an_escape_now_is_text() -> None:
    escaped = NEXT.replace("[see ", "[see \\")
    found = decoded(*read("a", f"{escaped}\n{escaped}\n{NEXT.replace('b.py', 'c.py')}"), *B)
    assert (found.resolved, found.unresolved) == (0, 1)


def test_a_line_that_had_an_escape_may_be_given() -> None:
    """It is text of others, as any other line is."""
    escaped = NEXT.replace("[see ", "[see \\")
    whole = f"{OTHER}\n{NEXT}"
    found = decoded(*read("a", see("the next Read of c.py", whole)), *read("c", f"{OTHER}\n{escaped}"), *B)
    assert saying(found, 2) == saying(found, 4) == [whole]
    assert found.resolved == 1


def test_references_give_so_many_times_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.lossless.decode._LEAST", 0)
    said = [*read("a", "\n".join([NEXT] * 10)), *B]
    assert decoded(*said).resolved == 10
    some = decoded(*said, times=3)
    assert 0 < some.resolved < 10
    assert some.resolved + some.unresolved == 10
    assert decoded(*said, times=0).resolved == 0


def test_a_text_that_is_known_is_not_held_twice() -> None:
    given = messages(*read("a", NEXT), *B)
    known = given[4].blocks[0].content
    found = decode(given, expected={(2, 0): known})
    assert found.messages[2].blocks[0].content is known
    other = decode(given, expected={(2, 0): OTHER})
    assert other.messages[2].blocks[0].text == LINES


def test_markers_are_counted_in_what_a_model_reads() -> None:
    marker = "[… 12 lines #123456]"
    said = [*read("a", f"x\n{marker}\n{marker}"), *edit(old_string=f"x\n{marker}", new_string="y")]
    assert count_gaps(messages(*said)) == 3
    assert count_gaps(messages(*B)) == 0
    assert texts_of(messages(*said)[3].blocks[0]) == ["e.py", f"x\n{marker}", "y"]
    assert texts_of(messages(*B)[2].blocks[0]) == [LINES]


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_reference_gives_no_lines_that_a_reference_gave(bomb: str) -> None:
    messages = anthropic(*BOMBS[bomb]).messages
    decoded = decode(messages)
    # Those of the innermost level only: the first line in `above`, the two lines that say LINES in the others.
    assert decoded.resolved == (1 if bomb == "above" else 2)
    assert decoded.unresolved == len(references(messages)) - decoded.resolved == len(references(decoded.messages))


# A forward reference gives a line that is a backward reference itself, which the second sweep would resolve.
def test_what_a_reference_gave_is_no_reference() -> None:
    first = f"[see the previous Read of a.py #{short_hash(LINES)}]"
    other = f"x\n{first}\n{'y' * 80}"
    messages = anthropic(
        user("Look."),
        *read_turn("1", "a.py", LINES),
        *read_turn("2", "b.py", f"[see the next Read of c.py #{short_hash(other)}]"),
        *read_turn("3", "c.py", other),
    ).messages
    texts = [block.text for message in decode(messages).messages for block in message.blocks][-3::2]
    assert texts == [other, other.replace(first, LINES)]


def wide(hash: str) -> list[dict[str, Any]]:
    """Very many references to one long result."""
    line = f"[see the next Read of a.py #{hash}]"
    return [user("Look."), *read_turn("1", "b.py", "\n".join([line] * 500)), *read_turn("2", "a.py", LINES * 50)]


@pytest.mark.parametrize("hash", [short_hash(LINES * 50), "000000"], ids=["that resolve", "that do not"])
def test_all_references_together_are_bounded_by_the_file(hash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = counted(monkeypatch)
    monkeypatch.setattr(decoding, "_LEAST", 0)
    messages = anthropic(*wide(hash)).messages
    size = sum(len(block.text) for message in messages for block in message.blocks)
    decoded = decode(messages)
    assert sum(looked_at) <= (decoding.READ_TIMES + 1) * size
    assert sum(len(block.text) for message in decoded.messages for block in message.blocks) <= 33 * size
    assert decoded.resolved + decoded.unresolved == 500


# Writing has a lower limit than reading: with too many repeats, some stay.
@pytest.mark.parametrize("keep", ["latest", "earliest"])
def test_what_is_written_can_be_read(keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [message for n in range(40) for message in read_turn(str(n), content=LINES * 5)]
    messages = anthropic(user("Look."), *turns).messages
    everything = written(messages, keep=keep)
    monkeypatch.setattr(decoding, "_LEAST", 0)
    monkeypatch.setattr("condense_cli.lossless.encode.WRITTEN_TIMES", 2)
    assert decode(everything, times=4).unresolved
    some = written(messages, keep=keep)
    decoded = decode(some, times=4)
    assert 0 < decoded.resolved < 39
    assert not decoded.unresolved
    assert says_the_same(decoded.messages, messages)
    assert written(decoded.messages, keep=keep) == some
