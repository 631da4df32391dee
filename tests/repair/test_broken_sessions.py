"""Broken sessions are mended with the least change, each change is told, and what is right stays as it is."""

import json
from typing import Any

import pytest
from broken import Broken, answer_to, broken, file_of, lines_of, turns, worked
from build import assistant, call, openai, result, text, thinking, user
from claude_tree import boundary, prompt_note, reply, said, summary, uuid
from helpers import as_lines
from pictures import picture
from rollout_items import function, head, items, output, reasoning
from rollouts import Record, message

from condense_cli.errors import CondenseError
from condense_cli.formats import parse
from condense_cli.repair.draft import UnmendableError
from condense_cli.repair.mending import Repair, repair
from condense_cli.report.lists.validation import check

BROKEN = broken()


def mended(data: bytes, **keys: Any) -> Repair:
    """The repair, of which the result is valid and stays as it is when it is repaired again."""
    found = repair(data, **keys)
    transcript = parse(found.data, format=found.transcript.format)
    assert check(transcript, source="test").faults == []
    assert repair(found.data, format_name=found.transcript.format).data == found.data
    return found


def told(found: Repair) -> list[tuple[str, int | None]]:
    return [(change.rule, change.line) for change in found.changes]


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_session_is_mended_and_each_change_told(name: str) -> None:
    case = BROKEN[name]
    found = mended(case.data)
    assert told(found) == case.changes
    assert all(change.said and change.why for change in found.changes)
    assert len(found.transcript.messages) == case.messages


# Lines that no change names keep their bytes.
@pytest.mark.parametrize("name", [name for name, case in BROKEN.items() if case.data.startswith(b"{")])
def test_what_no_change_names_stays_byte_for_byte(name: str) -> None:
    case: Broken = BROKEN[name]
    found = mended(case.data)
    named = {change.line for change in found.changes}
    lines = set(found.data.split(b"\n"))
    lost = {n for n, line in enumerate(case.data.split(b"\n"), 1) if line.strip() and line not in lines}
    # A note that a call has no result, or a result that moves, names the line of the call.
    assert lost <= named


def test_a_right_session_stays_byte_for_byte() -> None:
    for data in (as_lines(worked()), as_lines([user("a"), *[assistant("b"), user("c")] * 3])):
        found = repair(data)
        assert found.data is data
        assert found.changes == ()


def test_a_record_broken_by_a_line_break_is_joined() -> None:
    whole = lines_of(*worked())
    found = mended(file_of(*whole[:2], whole[2][:50], whole[2][50:], *whole[3:]))
    assert found.data == file_of(*whole)


def test_what_follows_a_document_goes() -> None:
    data = json.dumps([user("a"), assistant("b")]).encode()
    assert mended(data + b']}"rest of a longer file').data.strip() == data


def test_the_messages_inside_a_document_that_was_cut_off_stay() -> None:
    request = {"model": "claude-opus-4-5", "messages": [user("a"), assistant("b"), user("a longer text")]}
    found = mended(json.dumps(request).encode()[:-12])
    assert json.loads(found.data) == request | {"messages": request["messages"][:2]}


# Its last message has no comma behind it, and is a line of JSON by itself.
@pytest.mark.parametrize("end", [b"\n]", b'\n],\n"model":"cl', b""])
def test_the_messages_of_a_cut_off_document_stay_where_each_is_a_line(end: bytes) -> None:
    messages = [user("a"), assistant("b"), user("c")]
    lines = b'{"messages":[\n' + b",\n".join(json.dumps(message).encode() for message in messages)
    assert json.loads(mended(lines + end).data) == {"messages": messages}
    pretty = json.dumps({"messages": messages, "more": [{}]}, indent=2).encode()
    assert json.loads(mended(pretty[:-4]).data)["messages"] == messages


def test_a_document_that_is_broken_in_the_middle_is_no_guess() -> None:
    data = json.dumps([user("a"), assistant("b"), user("c")]).encode()
    with pytest.raises(CondenseError, match="not JSON"):
        repair(data.replace(b'"content": "b"', b'"content" "b"'))


# Whatever is lost within a turn: what comes next can only continue what was written last.
@pytest.mark.parametrize("lost", range(1, 6))
def test_a_record_lost_within_a_turn_leaves_the_rest_joined(lost: int) -> None:
    records = worked()
    del records[lost]
    found = mended(as_lines(records))
    nodes = [json.loads(line) for line in found.data.splitlines()]
    assert [node["parentUuid"] for node in nodes] == [None, *(node["uuid"] for node in nodes[:-1])]


# A note takes the place of a lost result, and its id, so that nothing else changes.
@pytest.mark.parametrize("lost", [2, 4])
def test_a_lost_result_is_replaced_by_a_note(lost: int) -> None:
    records = worked()
    found = mended(as_lines([record for n, record in enumerate(records) if n != lost]))
    lines = found.data.splitlines()
    assert file_of(*lines[:lost], *lines[lost + 1 :]) == as_lines(records[:lost] + records[lost + 1 :])
    note = json.loads(lines[lost])
    assert (note["uuid"], note["parentUuid"]) == (records[lost]["uuid"], records[lost]["parentUuid"])
    assert "result of this call is missing" in note["message"]["content"][0]["content"]
    assert len(found.transcript.messages) == 7


def test_a_call_beside_others_is_answered_by_a_note() -> None:
    records = [
        said(1, None, "please look"),
        reply(2, 1, "m1", call("a")),
        reply(3, 2, "m1", call("b")),
        answer_to(4, 3, "b"),
        reply(5, 4, "m2", text("I looked")),
    ]
    found = mended(as_lines(records))
    assert [change.said for change in found.changes] == ["Answered the call by a note that its result is missing"]
    assert [block.call_id for _, block in found.transcript.blocks() if block.answers] == ["a", "b"]


def test_the_cache_shows_that_a_turn_goes_on() -> None:
    """The request after the lost one read all that the turn before it had sent."""
    found = mended(as_lines(turns(cached=1_990)))
    assert told(found) == [("parents_exist", 5)]
    assert found.changes[0].said == "Joined to line 4"
    assert [str(block.text) for _, block in found.transcript.blocks()][-2:] == ["answer 6", "four"]
    assert len(found.transcript.messages) == 5


# No branch that the user left comes back: the lost request may have followed either answer.
@pytest.mark.parametrize(("cached", "back"), [(900, True), (0, True), (0, False)])
def test_a_lost_request_that_may_have_gone_back_is_no_guess(cached: int, back: bool) -> None:
    data = as_lines(turns(cached=cached, back=back))
    with pytest.raises(UnmendableError) as stopped:
        repair(data)
    assert "line 5 names a parent that is not in the file" in stopped.value.message
    for number, line in ((4, 4), (2, 2)):
        assert (
            f"{uuid(number)}  line {line}, 2026-03-02T09:00:0{number}.000Z, assistant: answer" in stopped.value.message
        )
    assert "--join ID" in stopped.value.hint
    chosen = mended(data, joined=[uuid(2)])
    assert [str(block.text) for _, block in chosen.transcript.blocks()] == ["one", "answer 2", "answer 6", "four"]


def test_a_branch_that_is_not_sent_is_in_nobodys_way() -> None:
    """Where it hung does not matter to the conversation."""
    records = turns(cached=0)
    found = mended(as_lines([*records, said(11, 2, "instead"), reply(12, 11, "m11", text("other"))]))
    assert [change.said for change in found.changes] == ["Made it the beginning of a branch"]
    assert [str(block.text) for _, block in found.transcript.blocks()] == ["one", "answer 2", "instead", "other"]


def test_time_excludes_a_parent() -> None:
    """A record that is much younger cannot be the one before."""
    records = worked()
    del records[4]
    records[3]["timestamp"] = "2026-03-02T10:00:00.000Z"
    with pytest.raises(UnmendableError):
        repair(as_lines(records))


def test_a_branch_that_the_user_left_stays_left() -> None:
    """The newest record before the gap is on the branch that goes on."""
    records = [
        *worked(),
        said(11, 1, "instead"),
        reply(12, 11, "m11", call("c")),
        reply(14, 13, "m12", text("other")),
    ]
    found = mended(as_lines(records))
    assert found.changes[0].said == "Put a note in place of the lost result"
    assert json.loads(found.data.splitlines()[9])["parentUuid"] == uuid(12)
    assert "I looked" not in str([block.text for _, block in found.transcript.blocks()])


# On a line of its own, or in front of the next one.
@pytest.mark.parametrize("between", [b"\n", b""])
def test_a_torn_record_tells_what_it_continued(between: bytes) -> None:
    """The parent that it names is in the part that is left."""
    records = turns(cached=0)
    lost = lines_of(said(5, 2, "again " * 20))[0]
    found = mended(as_lines(records[:4]) + lost[:120] + between + as_lines(records[4:]))
    assert found.changes[1].said == "Joined to line 2"


def test_a_session_whose_beginning_is_lost_begins_where_it_does() -> None:
    found = mended(as_lines(worked()[2:]))
    assert ("parents_exist", 1) in told(found)
    assert json.loads(found.data.splitlines()[0])["parentUuid"] is None
    # What a compaction cut off does not come back where its boundary is lost.
    after = [*worked(), summary(9, 8), said(10, 9, "after")]
    assert len(mended(as_lines(after)).transcript.messages) == 2


def test_names_of_lost_records_are_mended() -> None:
    records = worked()
    lost = [*records[:3], records[4], *records[5:], prompt_note(99)]
    found = mended(as_lines(lost))
    assert {rule for rule, _ in told(found)} == {"parents_exist", "callers_exist", "leaves_exist"}
    assert json.loads(found.data.splitlines()[-1])["leafUuid"] == uuid(7)
    with pytest.raises(UnmendableError, match="went back to a record that is not in the file"):
        repair(as_lines([*records, prompt_note(99, explicit=True)]))


def test_what_a_record_lacks_is_given_to_it() -> None:
    records = worked()
    del records[2]["parentUuid"]
    assert mended(as_lines(records)).data.count(b'"parentUuid"') == 7
    records = worked()
    del records[6]["uuid"]
    assert len(mended(as_lines(records)).transcript.messages) == 7
    records = [*worked(), said(8, 7, "and on")]
    del records[6]["message"], records[7]["message"]
    found = mended(as_lines([*records, said(9, 8, "and on")]))
    assert told(found) == [("messages_understood", 7), ("messages_understood", 8)]
    assert json.loads(found.data.splitlines()[-1])["parentUuid"] == uuid(6)


# The line that was cut off held what came before the thinking.
@pytest.mark.parametrize("between", [b"\n", b""])
def test_thinking_behind_a_torn_line_goes_where_the_model_binds_it(between: bytes) -> None:
    records = [said(1, None, "one"), reply(2, 1, "m1", text("b")), said(3, 2, "two")]
    thought = reply(4, 3, "m2", thinking("t"), text("c"), model="claude-sonnet-5-5")
    whole = lines_of(*records, thought, said(5, 4, "three"))
    found = mended(file_of(*whole[:2]) + whole[2][:150] + between + file_of(*whole[3:]))
    assert "thinking_bound_to_prefix" in {rule for rule, _ in told(found)}
    assert not any(block.text == "t" for _, block in found.transcript.blocks())


# Also if the record between them goes.
def test_thinking_behind_a_torn_line_and_a_copy_goes_where_the_model_binds_it() -> None:
    asked = said(1, None, "one")
    thought = reply(2, 1, "m2", thinking("t"), text("c"), model="claude-sonnet-5-5")
    found = mended(as_lines([asked]) + b'{"torn": "' + b"\n" + as_lines([asked, thought, said(3, 2, "three")]))
    assert [rule for rule, _ in told(found)] == ["unreadable_lines", "live_uuids_unique", "thinking_bound_to_prefix"]


# The client takes what was written last, where it was written first.
def test_of_records_that_share_an_id_the_last_stays() -> None:
    records = worked()
    again = records[2] | {"cwd": "/elsewhere"}
    found = mended(as_lines([*records, again]))
    assert told(found) == [("live_uuids_unique", 8)]
    assert found.data == as_lines([*records[:2], again, *records[3:]])


def test_calls_of_every_api_are_answered_by_a_note() -> None:
    called = {"role": "assistant", "tool_calls": [{"id": "x", "function": {"name": "f", "arguments": "{}"}}]}
    chat = as_lines([user("a"), called, user("b"), {"role": "assistant", "content": "c"}])
    found = mended(chat)
    assert json.loads(found.data.splitlines()[2])["tool_call_id"] == "x"
    assert file_of(*[line for n, line in enumerate(found.data.splitlines()) if n != 2]) == chat
    asked: Record = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "a"}]}
    request = json.dumps({"input": [asked, function("x"), asked]}).encode()
    assert json.loads(mended(request).data)["input"][2]["type"] == "function_call_output"
    roo = [user("a") | {"ts": 1}, assistant([call("x")]) | {"ts": 2}, user("b") | {"ts": 3}]
    assert json.loads(mended(json.dumps(roo).encode()).data)[2]["ts"] == 2


def test_results_go_in_front_of_texts_and_behind_their_calls() -> None:
    mixed = [user("a"), assistant([call("x")]), user([text("b"), result("x")]), assistant("c")]
    found = mended(as_lines(mixed))
    assert json.loads(found.data.splitlines()[2])["content"] == [result("x"), text("b")]
    apart = [user("a"), assistant([call("x")]), user("b"), user([result("x")]), assistant("c")]
    assert mended(as_lines(apart)).data == as_lines([*apart[:2], apart[3], apart[2], apart[4]])
    swapped = [user("a"), user([result("x")]), assistant([call("x")]), user("b"), assistant("c")]
    assert mended(as_lines(swapped)).data == as_lines([swapped[0], swapped[2], swapped[1], *swapped[3:]])


# Nothing is lost where two calls have one id by mistake.
def test_calls_that_share_an_id_by_mistake_are_renamed() -> None:
    turn = [assistant([call("x", path="a")]), user([result("x", "one")])]
    other = [assistant([call("x", path="b")]), user([result("x", "two")])]
    found = mended(as_lines([user("a"), *turn, *other, assistant("c")]))
    assert [block.call_id for _, block in found.transcript.blocks() if block.call_id] == ["x", "x", "x_2", "x_2"]


# Nor where they are in one message, even if both results say the same.
@pytest.mark.parametrize("said_", [("X", "Y"), ("ok", "ok")])
def test_parallel_calls_that_share_an_id_keep_their_results(said_: tuple[str, str]) -> None:
    turn = [assistant([call("a", p="x"), call("a", p="y")]), user([result("a", each) for each in said_])]
    tools = [{"id": "a", "function": {"name": "f", "arguments": f'{{"p":"{each}"}}'}} for each in "xy"]
    answers = [{"role": "tool", "tool_call_id": "a", "content": each} for each in said_]
    for data in (
        as_lines([user("look"), *turn, assistant("c")]),
        as_lines([user("look"), {"role": "assistant", "tool_calls": tools}, *answers, assistant("c")]),
    ):
        found = mended(data)
        assert [change.said for change in found.changes] == ["Renamed the call to a_2", "Gave the result the id a_2"]
        results = [(block.call_id, str(block.text)) for _, block in found.transcript.blocks() if block.answers]
        assert results == [("a", said_[0]), ("a_2", said_[1])]


def test_a_second_result_of_a_call_goes() -> None:
    turn = [user("look"), assistant([call("a")]), user([result("a", "X"), result("a", "Y")]), assistant("c")]
    found = mended(as_lines(turn))
    assert [change.said for change in found.changes] == ["Removed a second result of the call"]
    assert [str(block.text) for _, block in found.transcript.blocks() if block.answers] == ["X"]


def test_a_conversation_begins_with_the_user() -> None:
    found = mended(as_lines([assistant("b"), user("c")]))
    assert json.loads(found.data.splitlines()[0]) == user("[The beginning of this conversation is missing.]")
    assert found.data.endswith(as_lines([assistant("b"), user("c")]))


def test_a_rollout_begins_with_its_head() -> None:
    first, *rest = lines_of(head(), *items(message("user", "look"), message("assistant", "ok")))
    assert mended(file_of(rest[0], first, rest[1])).data == file_of(first, *rest)
    with pytest.raises(UnmendableError, match="session_meta, is lost"):
        repair(file_of(*rest))


def test_the_last_record_of_a_rollout_is_numbered() -> None:
    paged = head(history_mode="paginated") | {"ordinal": 0}
    said_ = items(message("user", "look"), message("assistant", "ok"))
    found = mended(as_lines([paged, said_[0] | {"ordinal": 1}, said_[1]]))
    assert json.loads(found.data.splitlines()[-1])["ordinal"] == 2
    unknown = head(history_mode="default")
    assert b'"history_mode": "legacy"' in mended(as_lines([unknown, *said_])).data


def test_reasoning_that_leads_to_nothing_goes() -> None:
    asked = message("user", "look")
    found = mended(as_lines([head(), *items(asked, function("a"), output("a"), reasoning(1), reasoning(2), asked)]))
    assert told(found) == [("reasoning_is_followed", 6), ("reasoning_is_followed", 5)]


# The model binds thinking to all before it: behind a change it would be refused.
def test_thinking_behind_a_change_goes_where_the_model_binds_it() -> None:
    messages = [user("a"), assistant([thinking("t1"), text("b")]), user([text(" "), text("c")])]
    messages += [assistant([thinking("t2"), text("d")]), user("e")]
    for model, left in (("claude-opus-4-5", ["t1", "t2"]), ("claude-sonnet-5-5", ["t1"])):
        found = mended(json.dumps({"model": model, "messages": messages}).encode())
        thoughts = [block.text for _, block in found.transcript.blocks() if block.text in ("t1", "t2")]
        assert thoughts == left


def test_four_marks_for_the_cache_stay() -> None:
    marked = [text(str(n)) | {"cache_control": {"type": "ephemeral"}} for n in range(6)]
    found = mended(as_lines([user(marked), assistant("b")]))
    assert json.loads(found.data.splitlines()[0])["content"] == [text("0"), text("1"), *marked[2:]]


def test_the_oldest_of_too_many_images_is_a_note() -> None:
    source = {"type": "base64", "media_type": "image/png", "data": picture(9, 9)}
    found = mended(as_lines([user([{"type": "image", "source": source}] * 601), assistant("b")]))
    first, second, *_ = json.loads(found.data.splitlines()[0])["content"]
    assert first == text("[An image of 9x9 pixels was here: a request holds no more of them.]")
    assert second["type"] == "image"


def test_a_message_that_says_nothing_goes() -> None:
    said_ = [user("a"), assistant([]), user("b"), assistant("c"), user("d")]
    assert mended(as_lines(said_)).data == as_lines([said_[0], *said_[2:]])
    assert openai(user("a")).messages
    none = [user("a"), {"role": "assistant", "content": None}, user("b"), assistant("c")]
    assert mended(as_lines(none), format_name="openai-chat").data == as_lines([none[0], *none[2:]])


def test_what_cannot_be_mended_is_named() -> None:
    compaction = {"type": "compaction", "content": "before", "signature": "s"}
    with pytest.raises(UnmendableError, match=r"Not everything can be mended: .*compaction_block_misplaced"):
        repair(as_lines([user("a"), assistant([compaction]), user("b")]))


def test_a_compaction_is_no_gap() -> None:
    records = [*worked(), boundary(8), summary(9, 8), said(10, 9, "after")]
    assert repair(as_lines(records)).changes == ()


def test_a_result_names_its_call_again() -> None:
    records = worked()
    records[2]["sourceToolAssistantUUID"] = uuid(77)
    found = mended(as_lines(records))
    assert told(found) == [("callers_exist", 3)]
    assert json.loads(found.data.splitlines()[2])["sourceToolAssistantUUID"] == uuid(2)
    assert answer_to(3, 2, "a") == json.loads(found.data.splitlines()[2])


def test_a_conversation_that_says_nothing_stays_as_it_is() -> None:
    with pytest.raises(UnmendableError, match="no message would be left"):
        repair(json.dumps({"messages": [user("")]}).encode())


def test_a_file_of_which_nothing_is_whole_is_told_so() -> None:
    with pytest.raises(UnmendableError, match="not JSON") as error:
        repair(b'{"broken\n')
    assert "No record of the file is whole" in error.value.hint
