"""Exports of opencode, and logs of its plugins."""

import json
from typing import Any

import laws
import pytest
import real
from build import LONG, condense, configuration, cut_to, one_batch, one_pass
from opencode_exports import Json, export, message, text, tool
from summarizers import Short

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.errors import UnknownFormatError
from condense_cli.formats import parse
from condense_cli.rules.validity import validate
from condense_cli.toolcalls import tools

IMAGE = {"type": "file", "mime": "image/png", "url": "data:image/png;base64,aGVsbG8=" * 20}
BATCH = one_batch(keep_first=1)


def session() -> list[Json]:
    return [
        message(0, "user", text("Please read.")),
        message(1, "assistant", {"type": "step-start"}, text("I read."), tool("a"), parentID="msg_0"),
        message(2, "user", text("Go on."), text("Called the Read tool", synthetic=True), IMAGE),
        message(3, "assistant", tool("b"), tool("c", "short"), parentID="msg_2"),
        message(4, "assistant", text("Done."), parentID="msg_2"),
        message(5, "user", text("Thanks.")),
    ]


def written(transcript: Transcript, *passes: Json) -> list[Json]:
    messages = json.loads(api.dump(condense(transcript, *passes)))["messages"]
    assert isinstance(messages, list)
    return messages


# A tool part is a call in the turn of the assistant, and a result in the turn after it.
def test_a_tool_part_is_a_call_and_a_result() -> None:
    transcript = export(*session())
    roles = "".join(message.role.value[0] for message in transcript.messages)
    assert roles == "uatuatau"
    call, answer = transcript.messages[1].blocks[1], transcript.messages[2].blocks[0]
    assert (call.kind, call.tool, answer.answers, answer.text) == (BlockKind.TOOL_CALL, "read", "a", LONG)
    assert tools.reads_a_file(call)
    assert tools.path_argument(call) == "src/app.py"
    assert [block.injected for block in transcript.messages[3].blocks] == [False, True, False]
    assert validate(transcript) == []
    assert transcript.model == "claude-sonnet-4-5"


# What repeats a shortened output goes with it; the rest of the metadata stays.
def test_metadata_that_repeats_an_output_is_shortened() -> None:
    part = written(export(*session()), one_pass(individual_config=cut_to(3)))[1]["parts"][2]
    assert len(part["state"]["output"]) < 300
    assert part["state"]["metadata"]["output"].startswith("[… 40 lines")
    assert part["state"]["metadata"]["preview"] == "1: the"


# An image that goes leaves a text part of the same name.
def test_an_image_leaves_its_ids() -> None:
    config = {"defaults": {"images": {"operation": "suppress"}}}
    part = written(export(*session()), one_pass(individual_config=config))[2]["parts"][2]
    assert part["text"].startswith("[… image")
    assert part == {"type": "text", "text": part["text"], "id": "prt_22", "sessionID": "ses_1", "messageID": "msg_2"}


# A summary is a request with the id and time of the first message that went; answers are led to it.
def test_a_summary_takes_the_place_of_messages() -> None:
    selection = {"type": "preserve_recent", "keep_recent_count": 2}
    messages = written(export(*session()), {**BATCH, "selection": selection})
    assert [entry["info"]["id"] for entry in messages] == ["msg_0", "msg_1", "msg_4", "msg_5"]
    info, parts = messages[1]["info"], messages[1]["parts"]
    assert (info["role"], info["time"], info["agent"]) == ("user", {"created": 1}, "build")
    assert info["model"] == {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
    assert [part["id"] for part in parts] == ["prt_10"]
    assert messages[2]["info"]["parentID"] == "msg_1"


# Only what comes after a finished compaction is sent, together with the tail that it kept.
@pytest.mark.parametrize(("tail", "first"), [(None, "What did we do so far?"), ("msg_2", "Go on."), ("gone", None)])
def test_the_conversation_begins_at_a_compaction(tail: str | None, first: str | None) -> None:
    marker = {"type": "compaction", "auto": True} | ({"tail_start_id": tail} if tail else {})
    summary = message(7, "assistant", text("Summary."), parentID="msg_6", summary=True, finish="stop")
    transcript = export(*session(), message(6, "user", marker), summary, message(8, "user", text("Next.")))
    assert transcript.messages[0].blocks[0].text == (first or "What did we do so far?")
    assert transcript.messages[-2].is_summary
    assert transcript.messages[-2].role is Role.ASSISTANT


# A summary of all that is sent leaves the compaction: without it everything before it would be sent again.
@pytest.mark.parametrize("tail", [None, "msg_2"])
def test_a_summary_leaves_the_compaction(tail: str | None) -> None:
    marker = {"type": "compaction", "auto": True} | ({"tail_start_id": tail} if tail else {})
    summary = message(7, "assistant", text("Summary."), parentID="msg_6", summary=True, finish="stop")
    more = [message(8, "user", text("Next.")), message(9, "assistant", text(LONG)), message(10, "user", text("More."))]
    transcript = export(*session(), message(6, "user", marker), summary, *more)
    done = laws.check_all(transcript, configuration(BATCH | {"selection": {"type": "custom"}}), summarizer=Short())
    assert done.transcript.has_new_summary
    ids = [entry["info"]["id"] for entry in json.loads(api.dump(done))["messages"]]
    assert {"msg_6", "msg_7"} < set(ids)


# What opencode says for a call without an output, or with one that it cleared, is nothing that a pass could cut.
@pytest.mark.parametrize("state", [{"status": "running"}, {"time": {"compacted": 1}}, {"output": None}])
def test_calls_without_output_are_answered(state: Json) -> None:
    transcript = export(message(0, "user", text("Go.")), message(1, "assistant", tool("a", **state)))
    assert transcript.messages[2].blocks[0].kind is BlockKind.OPAQUE
    assert validate(transcript) == []


def test_failed_answers_are_not_sent() -> None:
    failed = message(1, "assistant", text("Half"), error={"name": "APIError"})
    stopped = message(2, "assistant", text("Half"), error={"name": "MessageAbortedError"})
    transcript = export(message(0, "user", text("Go.")), failed, stopped)
    assert [block.place.record for _, block in transcript.blocks()] == [0, 2]


def event(kind: str, **properties: Any) -> list[Any]:
    return ["event", {"event": {"type": kind, "properties": properties}}]


def log(*hooks: list[Any]) -> Transcript:
    return parse("".join(json.dumps(hook) + "\n" for hook in hooks).encode())


def events_of(*messages: Json) -> list[list[Any]]:
    hooks = []
    for each in messages:
        hooks.append(event("message.updated", info=each["info"]))
        hooks += [event("message.part.updated", part=part) for part in each["parts"]]
    return hooks


# The newest state of each part counts, and the conversation is that of an export.
def test_the_newest_state_counts() -> None:
    first = event("message.part.updated", part={**session()[1]["parts"][1], "text": "I"})
    started, *rest = events_of(*session())
    transcript = log(["tool.definition", {"toolID": "read"}, {"description": "Reads."}], started, first, *rest, *rest)
    assert transcript.format == "opencode-events"
    assert transcript.envelope == "Reads."
    said = [[block.text for block in message.blocks] for message in transcript.messages]
    assert said == [[block.text for block in message.blocks] for message in export(*session()).messages]


def test_what_was_removed_and_other_sessions_are_left_out() -> None:
    other = message(9, "user", text("Elsewhere."))
    other["info"]["sessionID"] = "ses_2"
    gone = [
        event("message.removed", messageID="msg_5"),
        event("message.part.removed", messageID="msg_2", partID="prt_22"),
    ]
    transcript = log(*events_of(*session(), other), *gone)
    assert [len(message.blocks) for message in transcript.messages] == [1, 2, 1, 2, 2, 2, 1]


# Types that newer versions may have: with most of them the log is refused, with some they are named.
@pytest.mark.parametrize("kind", ["message.updated", "message.part.updated"])
def test_events_about_messages_of_unknown_types_are_noticed(kind: str) -> None:
    known, renamed = events_of(*session()), events_of(*session())
    for each in renamed:
        if each[1]["event"]["type"] == kind:
            each[1]["event"]["type"] = f"{kind}.2"
    with pytest.raises(UnknownFormatError):
        log(*renamed)
    transcript = log(*known, next(each for each in renamed if each not in known))
    assert transcript.unknown == ((f"event {kind}.2", 1),)
    assert "1 record cannot be understood" in transcript.warnings[0]
    nameless = event("message.part.updated", part={"messageID": "msg_2", "type": "text", "text": "x"})
    assert log(*known, nameless).unknown == (("part without an id", 1),)


def test_a_log_without_messages_is_refused() -> None:
    with pytest.raises(UnknownFormatError, match="holds no message"):
        log(event("session.idle", sessionID="ses_1"), event("session.idle", sessionID="ses_1"))


# The parts of the real logs as an export: the laws that a sample has to keep hold for them too.
def test_real_parts_as_an_export() -> None:
    files = real.files_of("opencode-events")
    if not files:
        pytest.skip("the real transcripts are not present")
    for path in files:
        infos: dict[str, Json] = {}
        parts: dict[str, dict[str, Json]] = {}
        for line in path.read_text().splitlines():
            hook = json.loads(line)
            happened = hook[1].get("event", {})
            properties = happened.get("properties", {})
            if happened.get("type") == "message.updated":
                infos[properties["info"]["id"]] = properties["info"]
            elif happened.get("type") == "message.part.updated":
                part = properties["part"]
                parts.setdefault(part["messageID"], {})[part["id"]] = part
        messages = [{"info": info, "parts": list(parts.get(id, {}).values())} for id, info in infos.items()]
        transcript = export(*messages)
        assert validate(transcript) == []
        condense(transcript, one_pass(individual_config=cut_to(2)), BATCH)
        condensation = api.condense(transcript, configuration(lossless_prelude={}))
        assert api.restore(parse(api.dump(condensation))).unresolved == 0
