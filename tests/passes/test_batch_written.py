"""How a summary of many messages is written: roles that alternate, and the means of each format."""

import json
from itertools import pairwise
from typing import Any

import claude_tree
import pytest
from batches import batch, stayed
from build import LONG, anthropic, assistant, call, conversation, marks, openai, result, session, text, thinking, user
from helpers import Records
from msgspec.structs import replace
from rollouts import message as codex_message
from rollouts import record as codex_record

from condense_cli import api
from condense_cli.core.markers import GO_ON, find_stretch, parse_summary
from condense_cli.core.values import BlockKind, Role
from condense_cli.passes.condensation import Condensation
from condense_cli.rules.validity import validate
from condense_cli.tokens.models import binds_thinking


# Roles alternate where the API wants that; a line leads on from one to the next.
@pytest.mark.parametrize("keep", [0, 1, 2, 3])
@pytest.mark.parametrize("recent", [1, 2, 3, 4])
def test_roles_alternate(keep: int, recent: int) -> None:
    selection = {"type": "preserve_recent", "keep_recent_count": recent}
    found = batch(anthropic(*conversation(6)), selection=selection, keep_first=keep)
    messages = found.transcript.messages
    assert messages[0].role is Role.USER
    assert all(one.role is not other.role for one, other in pairwise(messages))
    lines = [block.text for message in messages for block in message.blocks if block.text == GO_ON]
    assert len(lines) <= 1
    (mark,) = marks(found)
    position = next(n for n, message in enumerate(messages) if message.is_summary)
    assert mark.following == len(messages) - 1 - position


def test_the_mark_names_the_first_and_the_last_message() -> None:
    transcript = anthropic(*conversation(6))
    (mark,) = marks(batch(transcript))
    assert find_stretch([message.hash for message in transcript.messages], mark.hash) == (1, 12)


# Thinking that is bound to what stood before it goes with a summary; other models keep theirs.
@pytest.mark.parametrize(("model", "stays"), [("claude-opus-4-5", True), ("claude-opus-5-5", False)])
def test_thinking_goes_with_a_summary_where_it_was_bound_to_what_went(model: str, stays: bool) -> None:
    assert binds_thinking(model) is not stays
    last = assistant([thinking(), text("Found it.")])
    transcript = replace(anthropic(*conversation(5)[:-1], last), model=model)
    found = batch(transcript)
    kinds = [block.kind for _, block in found.transcript.blocks()]
    assert marks(found)
    assert (BlockKind.THINKING in kinds) is stays


# Formats.


def test_openai_chat_gets_a_message_of_the_assistant() -> None:
    messages: Records = [{"role": "system", "content": "Help."}, user("Please find the bug.")]
    for number in range(5):
        function = {"name": "read", "arguments": json.dumps({"path": f"src/file{number}.py"})}
        calls = [{"id": f"call_{number}", "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": LONG})
    found = batch(openai(*messages, assistant("Found it.")))
    written = json.loads(api.dump(found))
    assert written[:2] == messages[:2]
    assert written[2]["role"] == "assistant"
    assert parse_summary(written[2]["content"])
    assert written[-1]["content"] == "Found it."
    assert not validate(api.loads(written))


def appended(records: Records, condensation: Condensation) -> Records:
    """The records behind those of the file, which keep their bytes."""
    before = "".join(json.dumps(record) + "\n" for record in records).encode()
    data = api.dump(condensation)
    assert data.startswith(before)
    return [json.loads(line) for line in data[len(before) :].splitlines()]


def test_claude_code_gets_a_boundary_a_summary_and_copies() -> None:
    records = claude_tree.LOOKING_AROUND
    found = batch(session(*records), selection={"type": "preserve_recent", "keep_recent_count": 3})
    boundary, *new = appended(records, found)
    assert (boundary["subtype"], boundary["parentUuid"]) == ("compact_boundary", None)
    assert boundary["logicalParentUuid"] == records[-1]["uuid"]
    first, summary, *copies = new
    assert first["message"]["content"] == "Please find the bug."
    assert summary["isCompactSummary"]
    assert parse_summary(summary["message"]["content"])
    chain = [boundary, *new]
    assert all(later["parentUuid"] == earlier["uuid"] for earlier, later in pairwise(chain))
    old = {record["uuid"] for record in records}
    assert not old & {record["uuid"] for record in chain}
    assert len({record["uuid"] for record in chain}) == len(chain)
    replies = {record["message"]["id"] for record in records if record["type"] == "assistant"}
    assert not replies & {record["message"]["id"] for record in copies if record["type"] == "assistant"}
    assert [record["message"]["content"] for record in copies] == [
        record["message"]["content"] for record in records[-3:]
    ]
    reread = api.loads(api.dump(found), format="claude-code")
    assert [[block.text for block in message.blocks] for message in reread.messages] == [
        [block.text for block in message.blocks] for message in found.transcript.messages
    ]
    assert validate(reread) == []


# A reply of nothing but thinking is sent only where a later line has its id, which copies of both no longer share.
@pytest.mark.parametrize("pins", [[], [{"regex": "let me think"}]], ids=["recent", "pinned"])
def test_thinking_alone_goes_where_the_client_would_not_send_its_copy(pins: list[dict[str, str]]) -> None:
    words = [claude_tree.said(13, 12, "Go on."), claude_tree.said(15, 14, "And then?")]
    replies = [claude_tree.reply(at, at - 1, "again", said) for at, said in ((14, thinking()), (16, text("It works.")))]
    transcript = session(*claude_tree.LOOKING_AROUND, words[0], replies[0], words[1], replies[1])
    assert transcript.messages[-3].is_only_thinking
    found = batch(transcript, selection={"type": "preserve_recent", "keep_recent_count": 1 if pins else 3}, pins=pins)
    assert marks(found)
    assert [block.text for _, block in found.transcript.blocks() if block.kind is BlockKind.THINKING] == []
    assert found.warnings == transcript.warnings


# The client answers an open call itself, but not behind a summary, which is the user's word to it.
@pytest.mark.parametrize(("opened", "stays"), [(5, [0, 5, 6, 11]), (1, [*range(12)])], ids=["later", "first"])
def test_a_summary_has_its_place_in_front_of_open_calls(opened: int, stays: list[int]) -> None:
    records: Records = json.loads(json.dumps(claude_tree.LOOKING_AROUND))
    records[opened]["message"]["content"].append(call("open", "Bash", command="sleep 9"))
    assert stayed(batch(session(*records), pins=[{"regex": "sleep 9"}])) == stays


# Other models behind the client may name their replies by nothing; then each line is a reply of its own.
def test_copies_of_replies_without_an_id_stay_apart() -> None:
    records: Records = json.loads(json.dumps(claude_tree.LOOKING_AROUND))
    for record in records:
        if record["type"] == "assistant":
            record["message"]["id"] = ""
    found = batch(session(*records), selection={"type": "preserve_recent", "keep_recent_count": 4})
    copies = [record for record in appended(records, found) if record["type"] == "assistant"]
    assert len(copies) > 1
    assert all(record["message"]["id"] == "" for record in copies)


# An id that is no text names nothing: the copy keeps it.
def test_ids_that_are_no_texts_are_kept_in_copies() -> None:
    records: Records = json.loads(json.dumps(claude_tree.LOOKING_AROUND))
    for record in records:
        record["sourceToolAssistantUUID"] = [1]
        if record["type"] == "assistant":
            record["message"]["id"] = [1]
    found = batch(session(*records), selection={"type": "preserve_recent", "keep_recent_count": 4})
    copies = appended(records, found)[-4:]
    assert [record["sourceToolAssistantUUID"] for record in copies] == [[1]] * 4
    assert [record["message"]["id"] for record in copies if record["type"] == "assistant"] == [[1]] * 2


# A history that was written again below its own end: what stood between two replies of one id may have gone.
def test_copies_of_an_id_that_came_again_stay_apart() -> None:
    records = [
        claude_tree.GO,
        claude_tree.reply(2, 1, "m1", call("a", "Read", file_path="a.py")),
        claude_tree.said(3, 2, [result("a", LONG)]),
        claude_tree.reply(4, 3, "m2", call("b", "Read", file_path="b.py")),
        claude_tree.said(5, 4, f"Again. {LONG}"),
        claude_tree.reply(6, 5, "m3", call("c", "Read", file_path="c.py")),
        claude_tree.said(7, 6, [result("c", LONG)]),
        claude_tree.reply(8, 7, "m2", call("b", "Read", file_path="b.py")),
        claude_tree.said(9, 8, [result("b", "short")]),
        claude_tree.reply(10, 9, "m4", text("Found it.")),
    ]
    found = batch(session(*records), selection={"type": "preserve_recent", "keep_recent_count": 5})
    copies = [record["message"]["id"] for record in appended(records, found) if record["type"] == "assistant"]
    assert marks(found)
    assert len(copies) == len(set(copies)) == 4


@pytest.mark.parametrize("explicit", [False, True])
@pytest.mark.parametrize("leaf", [12, 4])
def test_a_named_end_does_not_lead_away_from_the_summary(leaf: int, explicit: bool) -> None:
    note = claude_tree.prompt_note(leaf, **({"explicit": True} if explicit else {}))
    records = [*claude_tree.LOOKING_AROUND, note]
    transcript = session(*records)
    found = batch(transcript)
    assert marks(found)
    reread = api.loads(api.dump(found), format="claude-code")
    assert [message.is_summary for message in reread.messages] == [
        message.is_summary for message in found.transcript.messages
    ]
    assert any(message.is_summary for message in reread.messages)


def test_a_second_summary_of_a_claude_session_goes_behind_the_first() -> None:
    first = api.dump(batch(session(*claude_tree.LOOKING_AROUND)))
    lines = [json.loads(line) for line in first.splitlines()]
    last = lines[-1]["uuid"]
    for number in range(20, 26, 2):
        read = call(f"toolu_{number}", "Read", file_path=f"src/late{number}.py")
        asked = claude_tree.reply(number, None, f"msg_{number}", read) | {"parentUuid": last}
        answered = claude_tree.said(number + 1, number, [result(f"toolu_{number}", LONG)])
        lines += [asked, answered]
        last = answered["uuid"]
    transcript = session(*lines)
    second = batch(transcript)
    (boundary, *_) = appended(lines, second)
    assert boundary["subtype"] == "compact_boundary"
    assert len(marks(second)) == 1
    (summary,) = [block.text for _, block in second.transcript.blocks() if parse_summary(block.text)]
    assert "src/file2.py" in summary
    assert "src/late20.py" in summary


def test_roo_hides_what_is_summarized() -> None:
    messages = [message | {"ts": 1_700_000_000_000 + n} for n, message in enumerate(conversation(6))]
    found = batch(api.loads(json.dumps(messages, indent=1), format="roo"))
    written = json.loads(api.dump(found))
    (summary,) = [message for message in written if message.get("isSummary")]
    hidden = [message for message in written if message.get("condenseParent")]
    assert {message["condenseParent"] for message in hidden} == {summary["condenseId"]}
    bare = [{key: value for key, value in message.items() if key != "condenseParent"} for message in written]
    assert [message for message in bare if message in messages] == messages, "all that was there is still there"
    (mark,) = marks(found)
    assert len(hidden) == mark.messages
    shown = api.loads(json.dumps(written), format="roo")
    assert [message.is_summary for message in shown.messages] == [
        message.is_summary for message in found.transcript.messages
    ]


@pytest.mark.parametrize("is_paginated", [False, True])
def test_codex_gets_one_compacted_record(is_paginated: bool) -> None:
    meta: dict[str, Any] = {"id": "s", "cwd": "/repo", "model_provider": "openai"}
    records: Records = [codex_record("session_meta", **meta, **({"history_mode": "paginated"} if is_paginated else {}))]
    records.append(codex_record("response_item", **codex_message("user", "Please find the bug.")))
    for number in range(5):
        arguments = json.dumps({"cmd": f"cat src/file{number}.py"})
        asked = {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": f"c{number}"}
        answered = {"type": "function_call_output", "call_id": f"c{number}", "output": LONG}
        records += [codex_record("response_item", **asked), codex_record("response_item", **answered)]
    records.append(codex_record("response_item", **codex_message("assistant", "Found it.")))
    if is_paginated:
        records = [{**record, "ordinal": number} for number, record in enumerate(records)]
    data = "".join(json.dumps(record) + "\n" for record in records)
    found = batch(api.loads(data, format="codex"))
    (compacted,) = appended(records, found)
    assert compacted["type"] == "compacted"
    assert compacted.get("ordinal") == (len(records) if is_paginated else None)
    history = compacted["payload"]["replacement_history"]
    assert parse_summary(compacted["payload"]["message"])
    assert [item["role"] for item in history] == ["user", "user", "assistant"]
    assert history[0] == records[1]["payload"]
    reread = api.loads(api.dump(found), format="codex")
    assert [message.is_summary for message in reread.messages] == [False, True, False]


def test_codex_keeps_what_is_no_item_it_knows() -> None:
    """An item without a type is not taken for the summary of an old client, which is a text alone."""
    unknown = {"text": "of a later version"}
    records = [codex_record("session_meta", id="s", model_provider="openai")]
    said = [codex_message(role, f"{role} {number}\n{LONG}") for number in range(4) for role in ("user", "assistant")]
    records += [codex_record("response_item", **item) for item in (*said, unknown)]
    found = batch(api.loads("".join(json.dumps(record) + "\n" for record in records), format="codex"))
    (compacted,) = appended(records, found)
    assert unknown in compacted["payload"]["replacement_history"]
