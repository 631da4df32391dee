"""Tell our summaries from other messages with a mark, which get an escape, by words and place."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from condense_cli.core.markers import GO_ON, SummaryMark, short_hash
from condense_cli.core.transcript import Block, Message, Place
from condense_cli.core.values import BlockKind, Role
from condense_cli.formats.engine.client_text import NO_REQUEST, recognised, request_before, with_escapes

USER, ASSISTANT, SYSTEM = Role.USER, Role.ASSISTANT, Role.SYSTEM
GO = short_hash("Go.")
COMMAND = "<command-name>/init</command-name>"
TYPED_BEHIND = f"{COMMAND}<command-args>Never push.</command-args>"
LEDGER = "<ledger>\nRequests of the user:\n- Go.\n</ledger>"


def mark(after: str = "", hash: str = "12345678", escapes: str = "") -> str:
    return f"{SummaryMark(3, 4, hash, after)}\nWhat was done.".replace("[condense: ", f"[condense: {escapes}")


def message(role: Role, *texts: str, injected: bool = False, kind: BlockKind = BlockKind.TEXT) -> Message:
    blocks = [Block(kind, Place(0, (n,)), (n,), content=text, injected=injected) for n, text in enumerate(texts)]
    return Message(0, role, tuple(blocks))


def summary(role: Role, text: str) -> Message:
    block = Block(BlockKind.TEXT, Place(0, ()), (), content=text, injected=role is USER, summarizes=True)
    return Message(0, role, (block,))


def summaries(*messages: Message) -> list[bool]:
    """Return which messages are read as summaries, and check that only those would get an escape."""
    found = recognised(messages)
    for before, after, written in zip(messages, found, with_escapes(messages), strict=True):
        expected = before.is_summary or not after.is_summary
        assert (written == before) is expected
        if not expected:
            assert written.blocks[0].text == before.blocks[0].text.replace("[condense: ", "[condense: \\")
            assert written.blocks[0].changed
    return [each.is_summary for each in found]


REQUEST = message(USER, "Go.")
SAID = message(ASSISTANT, "Yes.")


@pytest.mark.parametrize("role", [USER, ASSISTANT])
def test_a_mark_counts_behind_the_request_that_it_names(role: Role) -> None:
    said = message(role, mark(GO))
    assert summaries(REQUEST, said, SAID) == [False, True, False]
    (_, found, _) = recognised((REQUEST, said, SAID))
    assert found.blocks[0].injected is (role is USER)
    assert found.blocks[0].text == mark(GO)
    assert summaries(REQUEST, SAID, said) == [False, False, True]
    assert summaries(message(USER, "Stop."), said) == [False, False]
    assert summaries(message(role, mark(NO_REQUEST)), REQUEST) == [True, False]
    assert summaries(REQUEST, message(role, mark(NO_REQUEST))) == [False, False]


@pytest.mark.parametrize(
    "said",
    [
        message(SYSTEM, mark(GO)),
        message(USER, mark(GO), "more"),
        message(USER, "more", mark(GO)),
        message(USER, f"x{mark(GO)}"),
        message(USER, f"x\n{mark(GO)}"),
        message(USER, "[condense: summary of nothing]"),
        message(USER, "[condense: 7 lines left out #0123abcd]"),
        message(ASSISTANT, mark(GO), kind=BlockKind.THINKING),
        message(USER),
    ],
)
def test_only_a_whole_text_of_the_user_or_the_assistant_counts(said: Message) -> None:
    assert summaries(REQUEST, said, SAID, message(USER, mark(GO))) == [False, False, False, True]


def test_the_second_of_one_mark_is_a_copy() -> None:
    one, other = message(ASSISTANT, mark(GO)), message(USER, mark(GO, "87654321"))
    assert [each.is_summary for each in recognised((REQUEST, one, one, other))] == [False, True, False, True]
    assert summaries(REQUEST, summary(USER, mark(GO)), one, other) == [False, True, False, True]
    again = (REQUEST, one, other, one)
    assert [each.is_summary for each in recognised(again)] == [False, True, True, False]
    # Nothing is escaped that is a summary, and what it marks is known.
    assert summaries(summary(USER, mark("", "11111111")), REQUEST, message(USER, mark(GO, "11111111"))) == [
        True, False, False,
    ]  # fmt: skip


# Version 0.1.0 named no request.
@pytest.mark.parametrize(
    ("messages", "counts"),
    [
        ([REQUEST, message(ASSISTANT, mark())], True),
        ([REQUEST, message(USER, mark())], True),
        ([REQUEST, SAID, message(USER, mark())], False),
        ([REQUEST, SAID, message(USER, f"{mark()}\n\n{LEDGER}\n")], True),
        ([REQUEST, SAID, message(USER, f"{mark()}\n\n{LEDGER}\nx")], False),
        ([message(ASSISTANT, mark())], False),
        ([message(ASSISTANT, "Hello."), message(ASSISTANT, mark())], False),
        ([message(SYSTEM, "Be brief."), message(USER, mark())], False),
    ],
)
def test_marks_without_a_request_count_where_they_are_likely(messages: list[Message], counts: bool) -> None:
    assert summaries(*messages) == [*[False] * (len(messages) - 1), counts]


def test_a_line_that_leads_on_tells_of_the_summary_before_it() -> None:
    said = [REQUEST, SAID, message(USER, mark()), message(ASSISTANT, GO_ON), REQUEST]
    found = recognised(tuple(said))
    assert [each.is_summary for each in found] == [False, False, True, True, False]
    assert found[3].blocks[0].leads_on
    assert [each.blocks[0].changed for each in with_escapes(said)] == [False, False, True, False, False]
    other = [*said[:3], message(ASSISTANT, f"{GO_ON} x")]
    assert not any(each.is_summary for each in recognised(tuple(other)))
    two = [*said[:3], message(ASSISTANT, GO_ON, GO_ON)]
    assert not any(each.is_summary for each in recognised(tuple(two)))


@pytest.mark.parametrize(
    ("before", "role", "counts"),
    [
        (summary(USER, mark(GO)), ASSISTANT, True),
        (summary(USER, mark(GO)), USER, False),
        (summary(ASSISTANT, mark(GO)), USER, True),
        (summary(USER, GO_ON), ASSISTANT, False),
        (SAID, USER, False),
        (REQUEST, ASSISTANT, False),
    ],
)
def test_a_line_leads_on_from_a_summary_in_the_other_role(before: Message, role: Role, counts: bool) -> None:
    (*_, found) = recognised((REQUEST, before, message(role, GO_ON)))
    assert found.is_summary is counts
    for between in (REQUEST, SAID):
        (*_, later) = recognised((REQUEST, before, between, message(role, GO_ON)))
        assert not later.is_summary
        (*_, later) = recognised((before, between, message(role, GO_ON)))
        assert not later.is_summary


@pytest.mark.parametrize(
    ("messages", "request_text"),
    [
        ([], None),
        ([SAID], None),
        ([REQUEST], "Go."),
        ([SAID, REQUEST, message(USER, "Go on.")], "Go."),
        ([message(USER, " \n"), REQUEST], "Go."),
        ([message(USER, "<system-reminder>x</system-reminder>", injected=True), REQUEST], "Go."),
        ([message(USER, COMMAND, injected=True), REQUEST], COMMAND),
        ([message(USER, TYPED_BEHIND), REQUEST], TYPED_BEHIND),
        ([message(USER, "<bash-input>git status</bash-input>"), REQUEST], "Go."),
        ([summary(USER, mark()), REQUEST], "Go."),
        ([message(USER, " ", "Go.", "Stop.")], "Go."),
        ([message(USER, "x", kind=BlockKind.TOOL_RESULT), REQUEST], "Go."),
        ([message(SYSTEM, "Be brief."), REQUEST], "Go."),
    ],
)
def test_the_first_request_is_named(messages: Iterable[Message], request_text: str | None) -> None:
    assert request_before(messages) == (NO_REQUEST if request_text is None else short_hash(request_text))


@pytest.mark.parametrize("escapes", ["\\", "\\\\"])
def test_an_escape_is_taken_away_where_the_mark_would_count(escapes: str) -> None:
    said = message(USER, mark(GO, escapes=escapes))
    _, found, _ = recognised((REQUEST, said, SAID))
    assert found.blocks[0].text == mark(GO, escapes=escapes[1:])
    assert not found.is_summary
    assert not found.blocks[0].changed
    _, written, _ = with_escapes((REQUEST, found, SAID))
    assert written.blocks[0].text == said.blocks[0].text
    idle = message(USER, mark(short_hash("Stop."), escapes=escapes))
    assert recognised((REQUEST, idle)) == (REQUEST, idle)
    assert tuple(with_escapes((REQUEST, idle))) == (REQUEST, idle)


def test_messages_without_marks_are_themselves() -> None:
    messages = (REQUEST, SAID)
    assert recognised(messages) == messages
    assert [*with_escapes(messages)] == [*messages]


def test_other_messages_stay_as_they_were() -> None:
    before = (replace(REQUEST, index=4), replace(message(ASSISTANT, mark(GO)), index=5), replace(SAID, index=6))
    found = recognised(before)
    assert [each.index for each in found] == [4, 5, 6]
    assert (found[0], found[2]) == (before[0], before[2])
