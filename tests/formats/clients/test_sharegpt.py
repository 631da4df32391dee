"""Conversations of training sets: both forms of ShareGPT."""

import json
from typing import Any

import pytest
import real
from build import LONG, condense, configuration, cut_to, one_batch, one_pass

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse, serialize
from condense_cli.rows.reading import RowKind, kind_of, read_row
from condense_cli.rules.validity import validate

CALL = '{"name": "read_file",  "arguments": {"path": "a.py", "reason": "' + "because " * 30 + '"}}'
FIRST = {
    "system": "Be brief.",
    "tools": '[{"name": "read_file"}]',
    "conversations": [
        {"from": "human", "value": "Go on."},
        {"from": "function_call", "value": CALL},
        {"from": "observation", "value": LONG},
        {"from": "gpt", "value": "Done."},
        {"from": "human", "value": "Thanks."},
    ],
}
SECOND = {
    "messages": [
        {"role": "user", "content": [{"type": "text", "value": "Go on."}]},
        {
            "role": "assistant",
            "content": [{"type": "reasoning", "value": "Hm."}, {"type": "tool_call", "value": CALL}],
            "loss_weight": 1.0,
        },
        {"role": "tool", "content": [{"type": "text", "value": LONG}]},
        {"role": "assistant", "content": [{"type": "text", "value": "Done."}]},
        {"role": "user", "content": [{"type": "text", "value": "Thanks."}]},
    ],
    "tools": "[]",
}


def loaded(value: Any) -> Transcript:
    data = json.dumps(value, indent=1).encode()
    transcript = parse(data)
    assert transcript.format == "sharegpt"
    assert serialize(transcript) == data
    return transcript


@pytest.mark.parametrize("value", [FIRST, [FIRST], SECOND], ids=["object", "array", "parts"])
def test_calls_and_results_are_linked_by_order(value: Any) -> None:
    transcript = loaded(value)
    roles = [message.role for message in transcript.messages]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER]
    call, answer = transcript.messages[1].blocks[-1], transcript.messages[2].blocks[0]
    assert (call.kind, call.tool) == (BlockKind.TOOL_CALL, "read_file")
    assert (answer.answers, answer.tool) == (call.call_id, "read_file")
    assert validate(transcript) == []


# Arguments change inside their string, and every other byte of it stays.
@pytest.mark.parametrize("value", [FIRST, [FIRST], SECOND], ids=["object", "array", "parts"])
def test_arguments_are_changed_inside_their_string(value: Any) -> None:
    cut = {"tool_parameters": {"operation": "truncate", "params": {"truncate": {"max_chars": 20}}}}
    result = condense(loaded(value), one_pass(individual_config={"defaults": cut}))
    written = json.loads(api.dump(result))
    row = written[0] if isinstance(written, list) else written
    turn = row["conversations"][1] if "conversations" in row else row["messages"][1]["content"][1]
    assert turn["value"].startswith('{"name": "read_file",  "arguments": {"path": "a.py", "reason": "because')
    assert len(turn["value"]) < len(CALL)
    assert {key: row[key] for key in row if key in ("system", "tools")} == {
        key: value for key, value in (FIRST if "system" in row else SECOND).items() if key in ("system", "tools")
    }


def test_several_calls_in_one_turn() -> None:
    calls = json.dumps([{"name": name, "arguments": {"x": 1}} for name in "ab"])
    turns = [("human", "Go."), ("function_call", calls), ("observation", "1"), ("observation", "2"), ("gpt", "Ok.")]
    transcript = loaded({"conversations": [{"from": who, "value": text} for who, text in turns]})
    first, second = transcript.messages[1].blocks
    assert [block.answers for block in transcript.messages[2].blocks] == [first.call_id, second.call_id]


# What should be a call and is not one stays as it is.
@pytest.mark.parametrize("text", ["not json", "[]", '{"arguments": {}}', "[1]", '"name"'])
def test_what_is_no_call_is_kept(text: str) -> None:
    turns = [("human", "Go."), ("function_call", text), ("observation", LONG), ("gpt", "Ok.")]
    transcript = loaded({"conversations": [{"from": who, "value": value} for who, value in turns]})
    assert transcript.messages[1].blocks[0].kind is BlockKind.OPAQUE
    condense(transcript, one_pass(individual_config=cut_to(3)))


# A summary is a turn of the file's own kind.
@pytest.mark.parametrize("value", [FIRST, SECOND], ids=["first", "second"])
def test_a_summary_is_a_turn_like_the_others(value: dict[str, Any]) -> None:
    result = condense(loaded(value), one_batch())
    assert result.transcript.has_new_summary
    turns = next(iter(json.loads(api.dump(result)).values())) if value is SECOND else None
    turns = turns or json.loads(api.dump(result))["conversations"]
    keys = {"from", "value"} if value is FIRST else {"role", "content"}
    assert set(turns[1]) == keys


def test_several_conversations_are_refused() -> None:
    with pytest.raises(UnknownFormatError, match="several conversations"):
        parse(json.dumps([FIRST, FIRST]).encode())


# Every row of the real training sets is read, valid, and written back byte for byte.
def test_real_rows() -> None:
    files = sorted((real.FOLDER / "sharegpt").glob("*"))
    if not files:
        pytest.skip("the real transcripts are not present")
    for path in files:
        text = path.read_text()
        rows = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
        for row in rows:
            assert validate(loaded(row)) == []


# A row of a training set is such a conversation: it is condensed with everything around it left as it was.
@pytest.mark.parametrize("value", [FIRST, SECOND], ids=["first", "second"])
def test_rows_of_a_training_set(value: dict[str, Any]) -> None:
    line = json.dumps(value).encode()
    assert kind_of([line, line]) == RowKind((next(key for key in value if key not in ("system", "tools")),), "sharegpt")
    row = read_row(line, RowKind(), "line 1")
    assert row.transcript is not None
    assert row.transcript.format == "sharegpt"
    condensed = api.dump(condense(row.transcript, one_pass(individual_config=cut_to(3))))
    after = json.loads(row.holding(condensed))
    assert len(json.dumps(after)) < len(line)
    assert parse(json.dumps(after).encode()).messages[0].blocks[0].text == "Go on."


# A call is JSON in a string of the file. Once a reference took the place of the bad bytes, only the file has some left.
@pytest.mark.usefixtures("anywhere")
def test_bad_bytes_in_a_call_come_back() -> None:
    listing = json.dumps(f"\udcff{LONG}", ensure_ascii=False)
    turns = [{"from": "human", "value": "Go on."}]
    for _ in range(2):
        said = f'{{"name": "write", "arguments": {{"path": "a.py", "content": {listing}}}}}'
        turns += [{"from": "function_call", "value": said}, {"from": "observation", "value": "ok"}]
    turns += [{"from": "gpt", "value": "Done."}]
    data = json.dumps({"conversations": turns}, ensure_ascii=False).encode("utf-8", "surrogateescape")
    prelude = configuration(lossless_prelude={"tool_parameters": True})
    small = api.dump(api.condense(parse(data), prelude))
    assert small.count(b"\xff") == 1
    assert api.dump(api.restore(parse(small))) == data
