"""Sessions of pi: the path to the last entry, compactions, and summaries as branches that were left."""

import json
from typing import Any

import further_agents
import pytest
from agent_work import SUPPRESS, WORK, cut, shape
from build import condense, one_batch, one_pass, texts
from pi_sessions import HEADER, Json, answer, call, entry, first_version, said

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import format_named, parse, serialize
from condense_cli.ledger.collect import collect
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls import tools

BATCH = one_batch()


def session() -> list[Json]:
    return [
        HEADER,
        entry("model_change", "1", None, modelId="m"),
        said("2", "1", "user", "Go on."),
        said(
            "3", "2", "assistant", [{"type": "thinking", "thinking": "Hm."}, call("a", path="src/app.py")], model="m1"
        ),
        answer("4", "3", "a"),
        entry("thinking_level_change", "5", "4", thinkingLevel="high"),
        said("6", "5", "assistant", [call("b", "edit", path="src/app.py", oldText="x", newText="y")], model="m2"),
        answer("7", "6", "b", "done"),
        said("8", "7", "assistant", [{"type": "text", "text": "Done."}]),
        said("9", "8", "user", "Thanks."),
    ]


def loaded(records: list[Json]) -> Transcript:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    transcript = parse(data)
    assert transcript.format == "pi"
    assert serialize(transcript) == data
    return transcript


def written(transcript: Transcript, *passes: Json, **keys: Any) -> list[Json]:
    data = api.dump(condense(transcript, *passes, **keys))
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.parametrize("version", [1, 3])
def test_a_session_is_read(version: int) -> None:
    transcript = loaded(first_version(session()) if version == 1 else session())
    assert "".join(message.role.value[0] for message in transcript.messages) == "uatatau"
    assert transcript.model == "m2"
    reading, editing = transcript.messages[1].blocks[1], transcript.messages[3].blocks[0]
    assert tools.reads_a_file(reading)
    assert tools.writes_a_file(editing)
    assert tools.matched_texts(editing) == ["x"]
    assert validate(transcript) == []


# A branch that was left is no part of the conversation, and neither is an answer that failed.
def test_only_the_path_is_sent() -> None:
    aside = said("a", "2", "assistant", [{"type": "text", "text": "Elsewhere."}])
    failed = said("b", "9", "assistant", [{"type": "text", "text": "Half"}], stopReason="aborted")
    records = [*session()[:3], aside, *session()[3:], failed, said("c", "b", "user", "Again.")]
    assert texts(loaded(records)) == [*texts(loaded(session())), "Again."]


# What the user ran, and what extensions said, are messages of the user; a command may be kept out.
def test_commands_and_custom_messages() -> None:
    ran = {"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}
    records = [
        HEADER,
        entry("message", "1", None, message=ran),
        entry("message", "2", "1", message={**ran, "excludeFromContext": True}),
        entry("custom_message", "3", "2", customType="x", content="Mind the gap.", display=True),
        said("4", "3", "custom", [{"type": "text", "text": "And the step."}]),
        entry("branch_summary", "5", "4", fromId="4", summary="What was tried."),
        said("6", "5", "user", "Go."),
    ]
    transcript = loaded(records)
    assert texts(transcript) == ["Ran `ls`", "a.py", "Mind the gap.", "And the step.", "What was tried.", "Go."]
    assert [message.is_injected for message in transcript.messages] == [False, *[True] * 3, False]
    assert [request.text for request in collect(transcript.messages).requests] == ["Ran `ls`", "Go."]
    assert transcript.messages[0].blocks[1].kind is BlockKind.TOOL_RESULT
    assert transcript.messages[3].is_summary


def compacted(kept: str = "6") -> list[Json]:
    compaction = entry("compaction", "a", "9", summary="What was done.", firstKeptEntryId=kept, tokensBefore=9)
    return [*session(), compaction, said("b", "a", "user", "And now?")]


# Of a compaction its summary is sent, then what it kept, then what came later.
@pytest.mark.parametrize("version", [1, 3])
def test_a_compaction_comes_first(version: int) -> None:
    transcript = loaded(first_version(compacted()) if version == 1 else compacted())
    assert transcript.messages[0].is_summary
    roles = [message.role for message in transcript.messages]
    assert roles == [Role.USER, Role.ASSISTANT, Role.TOOL, Role.ASSISTANT, Role.USER, Role.USER]
    nothing_kept = compacted("nowhere")
    assert texts(loaded(nothing_kept)) == ["What was done.", "And now?"]


# When an entry goes, links lead past it, and a compaction keeps from the next one on.
def test_links_follow_when_entries_go() -> None:
    thought = said("x", "7", "assistant", [{"type": "thinking", "thinking": "Only a thought."}])
    compaction = entry("compaction", "a", "8", summary="What was done.", firstKeptEntryId="x", tokensBefore=9)
    records = [*session()[:8], thought, said("8", "x", "user", "Go."), compaction, said("b", "a", "user", "And now?")]
    after = {line["id"]: line for line in written(loaded(records), one_pass(), thinking="drop")}
    assert "x" not in after
    assert after["8"]["parentId"] == "7"
    assert after["a"]["firstKeptEntryId"] == "8"


# Version 1 names the first kept entry by its number, which falls when entries before it go.
def test_the_number_of_the_first_kept_entry_is_counted_anew() -> None:
    content = [{"type": "thinking", "thinking": "Only a thought."}]
    thought: Json = {"type": "message", "timestamp": "", "message": {"role": "assistant", "content": content}}
    lines = first_version(compacted("2"))
    lines = [*lines[:8], thought, *lines[8:]]
    lines[-2]["firstKeptEntryIndex"] = 9
    kept = texts(loaded(lines))
    lines[-2]["firstKeptEntryIndex"] = 8
    after = written(loaded(lines), one_pass(), thinking="drop")
    assert len(after) == len(lines) - 1
    assert after[-2]["firstKeptEntryIndex"] == 8
    assert texts(loaded(after)) == kept


# Of OpenAI's reasoning the client sends what is encrypted; the summary beside it is for people, and billed nowhere.
def test_a_summary_of_encrypted_reasoning_is_not_counted() -> None:
    shown = "**Looking around** I read the file, and then some others, before I change anything in it."
    sizes = []
    nested = '{"":' * 2_000 + "0" + "}" * 2_000
    for signature in (None, "reasoning", nested, reasoning("REDACTED"), reasoning("x" * 4_000)):
        records = session()
        thought = {"type": "thinking", "thinking": shown, "thinkingSignature": signature}
        records[3]["message"]["content"][0] = thought
        transcript = loaded(records)
        (block,) = [block for _, block in transcript.blocks() if block.kind is BlockKind.THINKING]
        sizes.append(Counter.of(transcript).block(block))
        after = written(transcript, one_pass(), thinking="keep")
        assert after[3]["message"]["content"][0] == thought
    assert sizes[0] == sizes[1] == sizes[2] > 15
    assert sizes[3] == 1
    assert sizes[4] > 500


def reasoning(encrypted: str) -> str:
    return json.dumps({"id": "rs_1", "type": "reasoning", "encrypted_content": encrypted, "summary": []})


# What a summary replaces is left as a branch; what stays is linked to the summary.
def test_a_summary_is_a_branch_that_was_left() -> None:
    after = written(loaded(session()), BATCH)
    lines = {line["id"]: line for line in after}
    new = next(line for line in after if line["type"] == "branch_summary")
    assert (new["parentId"], new["fromId"], new["timestamp"]) == ("2", "2", "2026-01-02T03:04:06.003Z")
    assert lines["5"] == {**session()[5], "parentId": new["id"]}
    assert lines["9"] == {**session()[9], "parentId": "5"}
    assert all(lines[record["id"]] == record for record in session() if record["id"] not in ("5", "9"))
    assert texts(loaded(after))[0::2] == ["Go on.", "Thanks."]


# Where the summary is the last thing said, it is the last thing in the file.
def test_a_summary_at_the_end() -> None:
    everything = {**BATCH, "selection": {"type": "preserve_recent", "keep_recent_count": 0}}
    after = written(loaded(session()[:5]), everything)
    assert after[-1]["type"] == "branch_summary"
    assert len(loaded(after).messages) == 2


# A compaction that is summarized again makes room for a new one behind all that stays.
def test_a_compaction_is_summarized_again() -> None:
    after = written(loaded(compacted("3")), BATCH)
    assert [line["type"] for line in after].count("compaction") == 2
    assert after[-1]["type"] == "compaction"
    assert after[-1]["summary"].startswith("[condense: summary of 7 messages")
    again = loaded(after)
    assert again.messages[0].is_summary
    assert texts(again)[1:] == ["And now?"]


# A request that the compaction kept comes behind it, and before what followed.
def test_a_summary_behind_a_request_that_a_compaction_kept_leaves_that_in_its_place() -> None:
    again = loaded(written(loaded(compacted("2")), BATCH))
    assert texts(again)[:2] == ["What was done.", "Go on."]
    assert [message.is_summary for message in again.messages] == [True, False, True, False]


def test_a_summary_in_the_first_version_is_a_message() -> None:
    after = written(loaded(first_version(session())), BATCH)
    assert [line["type"] for line in after] == [
        "session",
        "model_change",
        "message",
        "message",
        "thinking_level_change",
        "message",
    ]
    assert after[3]["message"]["role"] == "user"
    again = written(loaded(first_version(compacted("3"))), BATCH)
    assert [line["type"] for line in again].count("compaction") == 1
    assert texts(loaded(again))[1:] == ["And now?"]


# Oh My Pi writes a title before the header, and kinds of entries that pi does not know.
def test_sessions_of_oh_my_pi() -> None:
    title: Json = {"type": "title", "v": 1, "title": "", "updatedAt": "2026-01-02T03:04:05.000Z", "pad": "  "}
    header, *entries = session()
    init = {"type": "session_init", "id": "i", "parentId": None, "timestamp": "", "systemPrompt": "Be brief."}
    entries = [{**entries[0], "parentId": "i"}, *entries[1:]]
    lines = [title, header, init, *entries]
    assert texts(loaded(lines)) == texts(loaded(session()))
    assert written(loaded(lines), BATCH)[:3] == lines[:3]


# pi reads from the last entry up to the first one whose parent is not there; it says nothing of those before.
@pytest.mark.parametrize("parent", ["lost", ...])
def test_a_missing_parent_is_said(parent: Any) -> None:
    records = session()
    records[6] = {key: value for key, value in records[6].items() if key != "parentId"}
    records[6] |= {} if parent is ... else {"parentId": parent}
    transcript = loaded(records)
    assert transcript.begins_in_middle
    assert transcript.warnings == (
        "The parentId of record 7 names no record in the file. The client begins there and never sends 3 records "
        "before it; they stay in the file.",
    )
    assert [fault.rule for rule in format_named("pi").rules for fault in rule(transcript)] == ["parents_exist"]
    assert loaded(session()).warnings == ()


TRACE_HEADER = {"type": "session", "harness": "my-agent", "id": "s"}


def trace(*messages: dict[str, Any], header: dict[str, Any] = TRACE_HEADER) -> bytes:
    lines = [header, *({"type": "message", "message": message} for message in messages)]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def test_thinking_and_the_model_are_read() -> None:
    said = {"role": "assistant", "content": "Hello.", "reasoningContent": "They greet.", "model": "claude-opus-4-5"}
    transcript = parse(trace({"role": "user", "content": "Hi"}, said))
    assert shape(transcript) == [("user", ["text"]), ("assistant", ["thinking", "text"])]
    assert (transcript.format, transcript.model) == ("session-trace", "claude-opus-4-5")


# A session in pi's format may name a harness; any agent's header may say where it worked.
def test_sessions_in_the_format_of_pi_are_told_apart() -> None:
    place = {"timestamp": "2026-07-01T09:00:00.000Z", "cwd": "/src"}
    linked = {"type": "message", "id": "e1", "parentId": None, "timestamp": "2026-07-01T09:00:00.000Z"}
    entry = linked | {"message": {"role": "user", "content": "Hi"}}
    assert (
        parse(json.dumps(TRACE_HEADER | place | {"version": 3}).encode() + b"\n" + json.dumps(entry).encode()).format
        == "pi"
    )
    assert parse(trace({"role": "user", "content": "Hi"}, header=TRACE_HEADER | place)).format == "session-trace"


def test_what_goes_leaves_messages_as_they_have_to_be() -> None:
    data = further_agents.WRITABLE["session-trace"](WORK)
    header, *lines = cut(data, tool_results=SUPPRESS, message_text=SUPPRESS)
    assert header["harness"] == "my-agent"
    assert all(isinstance(line["message"]["content"], str) for line in lines)
    assert sum(len(line["message"].get("toolCalls", ())) for line in lines) == 3


@pytest.mark.parametrize("message", [{"role": "wizard", "content": "x"}, {"role": "user", "content": ["x"]}])
def test_other_lines_are_named(message: dict[str, Any]) -> None:
    with pytest.raises(UnknownFormatError, match="record 2 is not a message"):
        parse(trace(message), format="session-trace")
