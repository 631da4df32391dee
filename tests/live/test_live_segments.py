"""Which frozen segments belong to a request: those that were decided over its first messages, byte for byte."""

import json
from typing import Any

import pytest
from build import assistant, result, text, thinking, user
from msgspec.structs import replace

from condense_cli.live.requests import (
    Request,
    Segment,
    Segments,
    are_neighbours,
    end_of,
    live_part,
    matching,
    part_for,
    raws_for,
    sent_for,
    size_of,
    without_thinking,
)

Json = dict[str, Any]
TALK: list[Json] = [user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f"), user("g")]
REQUEST = Request(TALK)


def segment(start: int, end: int, known: int = 6, output: list[Json] | None = None, **more: Any) -> Segment:
    """A segment of `TALK`."""
    return Segment(
        start, end, known, REQUEST.chain(end), REQUEST.chain(known), "digest", 10, 1, "anthropic",
        output=None if output is None else json.dumps(output).encode(), **more,
    )  # fmt: skip


FIRST, SECOND = segment(0, 2, output=[user("A")]), segment(2, 4, output=[user("B"), assistant("C")])


def found(*lists: Segments, messages: list[Json] = TALK) -> Segments:
    return matching(Request(messages), lists)


def test_segments_of_the_first_messages_are_found() -> None:
    assert found((FIRST, SECOND)) == (FIRST, SECOND)
    assert found() == ()


@pytest.mark.parametrize(("changed", "left"), [(0, ()), (1, ()), (2, (FIRST,)), (3, (FIRST,)), (4, (FIRST, SECOND))])
def test_segments_end_where_a_message_is_another(changed: int, left: Segments) -> None:
    messages = [*TALK]
    messages[changed] = {**messages[changed], "content": "another"}
    assert found((FIRST, SECOND), messages=messages) == left


@pytest.mark.parametrize(("length", "left"), [(7, 2), (5, 2), (4, 1), (3, 1), (2, 0), (1, 0), (0, 0)])
def test_something_follows_what_is_frozen(length: int, left: int) -> None:
    assert found((FIRST, SECOND), messages=TALK[:length]) == (FIRST, SECOND)[:left]


# A request that is too short for a segment, and a chain that is another, end a list.
def test_no_segment_counts_behind_one_that_does_not_match() -> None:
    assert found((replace(FIRST, before="another"), SECOND)) == ()
    assert found((replace(FIRST, end=7), SECOND)) == ()


def test_the_list_that_reaches_furthest_counts_whatever_the_order() -> None:
    other = replace(FIRST, digest="other")
    for lists in ([(FIRST,), (FIRST, SECOND)], [(FIRST, SECOND), (FIRST,)]):
        assert found(*lists) == (FIRST, SECOND)
    assert found((FIRST,), (other,)) == (FIRST,)
    assert found((other,), (FIRST,)) == (other,)
    assert found((replace(FIRST, before="another"),), (other,)) == (other,)


# One that is only known is computed again, for which the request has to hold all that it was decided over.
def test_what_can_be_sent_counts_before_what_is_only_known() -> None:
    lost = replace(segment(0, 4), then="another")
    assert found((lost,), (FIRST,)) == (FIRST,)
    assert found((FIRST,), (lost,)) == (FIRST,)
    assert found((lost,)) == (lost,)
    given = segment(0, 4)
    assert found((FIRST,), (given,)) == (given,)
    # Of lists that send as much, the one that is known further; what follows one that cannot be sent is not sent.
    assert found((FIRST,), (FIRST, replace(lost, start=2))) == (FIRST, replace(lost, start=2))
    unsent = replace(segment(0, 2), then="another")
    assert found((unsent, SECOND), (FIRST,)) == (FIRST,)


def test_a_list_counts_as_far_as_it_can_be_sent() -> None:
    three = FIRST, SECOND, segment(4, 5, output=[])
    four = segment(0, 4, output=[])
    assert found((four,), three) == three
    unsent = three[0], replace(SECOND, output=None, then="another")
    assert found(unsent, (segment(0, 3, output=[]),)) == (segment(0, 3, output=[]),)
    shortest = replace(segment(0, 1), then="another")
    assert found((shortest,)) == (shortest,)


def test_a_segment_is_given_by_a_request_that_holds_all_it_was_decided_over() -> None:
    for known in (6, 7):
        part = part_for(REQUEST, segment(0, 2, known=known))
        assert part is not None
        assert part.given == TALK[:known]
    assert part_for(Request(TALK[:6]), segment(0, 2, known=7)) is None
    assert part_for(REQUEST, replace(segment(0, 2), then=REQUEST.chain(5))) is None
    # More than the request holds has the same chain as all of it.
    assert part_for(REQUEST, replace(segment(0, 2, known=7), known=8)) is None


INTERRUPTED = text("[Request interrupted by user]")
RESULTS = [result("a", "one"), result("b", "two")]


# A client that is interrupted adds to its newest message: a block, or more of the same text.
@pytest.mark.parametrize(
    ("before", "after", "is_given"),
    [
        ("g", [text("g"), INTERRUPTED, text("Once more.")], True),
        ("g", "g\n[Request interrupted by user]\nOnce more.", True),
        (RESULTS, [*RESULTS, INTERRUPTED], True),
        ([*RESULTS, text("And?")], [*RESULTS, text("And?\nOnce more.")], True),
        ([text("g"), text("h")], [text("g"), text("h"), INTERRUPTED], True),
        ("g", "Once more.", False),
        (RESULTS, [RESULTS[0], INTERRUPTED], False),
        (RESULTS, [*RESULTS[::-1], INTERRUPTED], False),
        ([], [INTERRUPTED], False),
    ],
)
def test_a_segment_is_given_by_a_newest_message_that_grew(before: Any, after: Any, is_given: bool) -> None:
    request = Request([*TALK[:6], user(before)])
    decided = replace(segment(0, 2), known=7, then=request.chain(7), newest=size_of(request.plain(6)))
    part = part_for(Request([*TALK[:6], user(after), assistant("h")]), decided)
    assert (part is not None) is is_given
    if part is not None:
        assert part.chain(7) == request.chain(7)


@pytest.mark.parametrize(
    ("bounds", "are"),
    [
        ([], True),
        ([(0, 2)], True),
        ([(1, 2)], False),
        ([(0, 2), (2, 4)], True),
        ([(0, 2), (2, 3), (3, 6)], True),
        ([(0, 2), (3, 4)], False),
        ([(0, 3), (2, 4)], False),
        ([(0, 2), (2, 2)], False),
        ([(0, 2), (2, 4), (5, 6)], False),
        ([(0, 2), (3, 4), (4, 6)], False),
    ],
)
def test_segments_of_a_list_follow_each_other(bounds: list[tuple[int, int]], are: bool) -> None:
    assert are_neighbours([segment(*each) for each in bounds]) is are


# A request is compared message by message: as many messages are not the same ones.
@pytest.mark.parametrize(
    ("messages", "agrees"),
    [(TALK, True), (TALK[:6], False), ([*TALK[:6], user("h")], False), ([*TALK, assistant("h")], True)],
)
def test_a_request_that_goes_on_begins_with_all_messages(messages: list[Json], agrees: bool) -> None:
    assert Request(messages).agrees(REQUEST.known) is agrees


def test_what_is_sent_for_segments() -> None:
    for of in (sent_for, raws_for):
        assert json.loads(json.dumps([*map(_plain, of((FIRST, SECOND)))])) == [user("A"), user("B"), assistant("C")]
        assert of((segment(0, 2), SECOND)) == of((SECOND,))
    assert (end_of((FIRST, SECOND)), end_of((FIRST,)), end_of(())) == (4, 2, 0)
    assert [replace(FIRST, taken=taken).sent_from for taken in (None, 9)] == [6, 9]


def _plain(message: Any) -> Any:
    return message if isinstance(message, dict) else json.loads(bytes(message))


THOUGHT = [
    user("a"),
    assistant([thinking(), text("b")]),
    user([result("t", "c")]),
    assistant([thinking()]),
    user("d"),
    assistant([text("e"), thinking()]),
    user("f"),
]
LEFT = [assistant([text("b")]), THOUGHT[2], None, THOUGHT[4], assistant([text("e")]), THOUGHT[6]]


def with_thinking(*positions: int) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The messages from 1 on as they are sent when those at the positions keep their thinking."""
    each = {at: THOUGHT[at] if at in positions else LEFT[at - 1] for at in range(1, 7)}
    kept = {at: message for at, message in each.items() if message is not None}
    return (*kept,), (*kept.values(),)


@pytest.mark.parametrize(
    ("drops", "known", "taken", "over", "keeps"),
    [
        (False, 6, None, None, (1, 3, 5)),
        (True, 6, None, None, ()),
        (True, 5, None, None, (5,)),
        (True, 3, None, None, (3, 5)),
        (True, 3, 4, None, (5,)),
        (False, 3, None, 3, (1,)),
        (False, 3, None, 4, (1, 3)),
        (True, 3, None, 5, (3,)),
    ],
)
def test_thinking_that_a_decision_made_invalid_stays_away(
    drops: bool, known: int, taken: int | None, over: int | None, keeps: tuple[int, ...]
) -> None:
    frozen = replace(FIRST, end=1, known=known, taken=taken, drops_thinking=drops)
    rest = live_part(Request(THOUGHT), (frozen,), over)
    assert (rest.positions, rest.messages) == with_thinking(*keeps)


def test_without_segments_everything_is_as_it_came() -> None:
    request = Request(THOUGHT)
    rest = live_part(request, ())
    assert (rest.positions, rest.messages) == (tuple(range(7)), tuple(THOUGHT))
    assert live_part(Request(THOUGHT[1:]), ()).messages == tuple(THOUGHT[1:])
    rest = without_thinking(request, 1)
    assert (rest.positions, rest.messages) == with_thinking()
    assert without_thinking(Request(["a", {"role": "user"}]), 0).messages == ("a", {"role": "user"})
