"""Count a Claude Code session: records that are sent, those that never are, and the recorded prompt."""

import json
from pathlib import Path
from typing import Any

import pytest
from build import LONG, call, configuration, result, session, texts
from build import text as words
from claude_tree import GO, LOOKING_AROUND, OLD, answer, reply, said
from helpers import condense_process
from kind_cases import REPLAY, SENT_OR_NOT, TOOLS, attached, reminded, snapshot
from pictures import PIXEL

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Block
from condense_cli.formats import format_named
from condense_cli.formats.claude_code import records as kinds
from condense_cli.ledger.collect import collect
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED
from condense_cli.window.use import in_use, overhead_of

PROMPT = ["You are brief. " * 2000, "You are kind. " * 2000]
"""Longer by far than what is said in the sessions here."""


def with_snapshots(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add snapshots as version 2.1.330 does: the prompt before the first reply, with its tools behind the last."""
    (first, *rest), last = records, records[-1]
    before = snapshot(900, 1, systemPrompt=PROMPT)
    rest = [{**rest[0], "parentUuid": before["uuid"]}, *rest[1:]]
    behind = snapshot(901, int(last["uuid"][:8]), systemPrompt=PROMPT, tools=TOOLS)
    return [first, before, *REPLAY, *rest, behind]


WHOLE = session(*with_snapshots(LOOKING_AROUND))
BARE = session(*LOOKING_AROUND)


def only_block(*keys: Any, **more: Any) -> Block | None:
    """Return the block that an attachment becomes, if it is sent."""
    transcript = session(GO, attached(2, 1, *keys, **more), reply(3, 2, "m1", words("one")))
    return next((block for block in transcript.messages[0].blocks if block.owner == ("attachment",)), None)


def test_a_kind_has_one_class() -> None:
    classes = [kinds.SENT.keys(), kinds.NEVER, kinds.OVERHEAD, kinds.CUTTING]
    assert sum(map(len, classes)) == len(set().union(*classes))


# Files of older clients hold the values alone: those that are sent count, and about as many tokens as the words have.
@pytest.mark.parametrize(
    ("kind", "keys", "told"),
    [
        ("skill_listing", {"content": "- greet: greets", "skillCount": 1}, "- greet: greets"),
        ("hook_success", {"hookEvent": "SessionStart", "content": "be brief", "stdout": "{}" * 99}, "be brief"),
        ("hook_additional_context", {"content": ["one", "two"], "hookName": "Stop"}, "one\ntwo"),
        ("nested_memory", {"path": "a/CLAUDE.md", "content": {"path": "a", "content": "b", "globs": ["*"]}}, "a\nb"),
        ("task_reminder", {"content": [{"id": "1", "subject": "a", "description": "b" * 99}]}, "1\na"),
        ("queued_command", {"prompt": "it is done", "commandMode": "task-notification"}, "it is done"),
        (
            "file",
            {"filename": "a.py", "content": {"type": "text", "file": {"filePath": "a.py", "content": "x\ny"}}},
            "a.py\na.py\n1\tx\n2\ty",
        ),
    ],
)
def test_values_that_are_sent_count(kind: str, keys: dict[str, Any], told: str) -> None:
    block = only_block(kind, keys)
    assert block
    assert (block.text, block.estimate, block.injected) == (told, kinds.SENT[kind].words, True)


# What waited until the agent was free is the user's own word, unless another agent or a finished task said it.
@pytest.mark.parametrize(
    ("keys", "is_typed"),
    [
        ({"commandMode": "prompt", "origin": {"kind": "human"}}, True),
        ({"commandMode": "prompt"}, True),
        ({"commandMode": "prompt", "origin": {"kind": "agent"}}, False),
        ({"commandMode": "bash"}, True),
        ({}, True),
        ({"commandMode": "task-notification"}, False),
        ({"prompt": "<task-notification>Never push to main.</task-notification>"}, False),
    ],
)
def test_a_queued_prompt_is_what_the_user_typed(keys: dict[str, Any], is_typed: bool) -> None:
    queued = attached(2, 1, "queued_command", {"prompt": "Never push to main.", **keys})
    messages = session(GO, queued, reply(3, 2, "m1", words("one"))).messages
    requests = [request.text for request in collect(messages).requests]
    assert ("Never push to main." in requests) is is_typed


def test_a_reminder_without_tasks_is_all_words() -> None:
    block = only_block("task_reminder", {"content": [], "itemCount": 0})
    assert block
    assert (block.text, block.estimate) == ("", kinds.SENT["task_reminder"].words)


def test_an_image_that_is_attached_is_an_estimate() -> None:
    image = {"type": "image", "file": {"base64": PIXEL, "type": "image/png"}}
    block = only_block("file", {"filename": "a.png", "content": image})
    assert block
    assert (block.text, block.estimate) == ("a.png", kinds.SENT["file"].words + 1)


# What a value of another type says is nothing, and no reason to stop.
@pytest.mark.parametrize("odd", [None, 3, "text", [], [[3]], {}, {"type": "image"}, {"content": {"file": 3}}])
def test_odd_values_are_read(odd: Any) -> None:
    for kind in (*kinds.SENT, *kinds.OVERHEAD, *kinds.CUTTING, "a_kind_of_later"):
        keys = dict.fromkeys(("content", "callIds", "from", "systemPrompt", "tools", "entries", "prompt"), odd)
        only_block(kind, keys, rendered=odd, renderedRole=odd)


# Newer models get reminders as messages of the system, without tags. The recorded prompt says so.
def test_reminders_of_newer_models_have_no_tags() -> None:
    def said_with(**keys: Any) -> str:
        reminder = reminded(2, 1, "date", "Today is Monday.")
        return texts(session(GO, reminder, snapshot(3, 2, tools=TOOLS, **keys), reply(4, 3, "m1", words("one"))))[1]

    assert said_with() == "<system-reminder>\nToday is Monday.\n</system-reminder>"
    assert said_with(systemTurns=True) == "Today is Monday."


@pytest.mark.slow
def test_unknown_kinds_are_named_and_not_counted(tmp_path: Path) -> None:
    odd = attached(5, 4, "a_kind_of_later", {"content": LONG})
    records = [*OLD, odd, {"type": "record-of-later", "sessionId": "s"}, {"type": "mode", "mode": "normal"}]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    report = json.loads(condense_process("inspect", str(path), "--json").stdout)
    assert report["unknown_kinds"] == {"attachment a_kind_of_later": 1, "record record-of-later": 1}
    assert report["tokens"]["bare"] == Counter().transcript(session(*OLD))
    shown = " ".join(condense_process("inspect", str(path)).stdout.decode().split())
    assert "attachment a_kind_of_later (1), record record-of-later (1)" in shown


def test_the_recorded_prompt_is_the_overhead() -> None:
    count = Counter()
    assert count.transcript(WHOLE) == count.transcript(BARE)
    told = "\n".join([*PROMPT, *(json.dumps(tool["schema"], separators=(",", ":")) for tool in TOOLS)])
    assert (WHOLE.envelope, WHOLE.is_envelope_whole) == (told, True)
    assert overhead_of(WHOLE, count, AS_COUNTED) == (count(told), "snapshot")
    assert overhead_of(WHOLE, count, AS_COUNTED, 5) == (5, "option")


# One without the tools is not all of it, and definitions that the model asked for come on top.
def test_tools_that_were_asked_for_belong_to_the_overhead() -> None:
    bare = session(GO, snapshot(2, 1, systemPrompt=PROMPT), reply(3, 2, "m1", words("one")))
    assert (bare.envelope, bare.is_envelope_whole) == ("", False)
    late = attached(3, 2, "deferred_tools_record", {"entries": [{"name": "spin", "input_schema": {}}]})
    asked = session(GO, snapshot(2, 1, tools=TOOLS), late, reply(4, 3, "m1", words("one")))
    assert asked.envelope.endswith('\n{"name":"spin","input_schema":{}}')


# Behind the reply whose usage is known is a prompt that its request held already.
def test_a_recorded_prompt_is_not_added_to_the_recorded_usage() -> None:
    usage = {"input_tokens": 50_000, "output_tokens": 1}
    told = [*LOOKING_AROUND[:-1], LOOKING_AROUND[-1] | {"message": LOOKING_AROUND[-1]["message"] | {"usage": usage}}]
    count = Counter()
    assert in_use(session(*with_snapshots(told)), count, AS_COUNTED) == in_use(session(*told), count, AS_COUNTED)
    assert in_use(session(*told), count, AS_COUNTED).tokens < 50_010


@pytest.mark.parametrize("name", preset_names())
def test_no_preset_touches_or_copies_a_recorded_prompt(name: str) -> None:
    target = Counter().transcript(WHOLE) // 2
    condensation = api.condense(WHOLE, load_preset(name), target_tokens=target)
    data = api.dump(condensation)
    assert data.count(b"You are brief. You") == api.dump(WHOLE).count(b"You are brief. You")
    lines = {line for line in WHOLE.source.data.splitlines() if b"prompt_snapshot" in line}
    bare = {json.dumps({**json.loads(line), "parentUuid": ""}) for line in lines}
    assert bare <= {json.dumps({**json.loads(line), "parentUuid": ""}) for line in data.splitlines()}


def test_a_target_is_held_against_what_is_sent() -> None:
    target = Counter().transcript(BARE) + 1
    assert not api.condense(WHOLE, configuration(), target_tokens=target).transcript.is_changed


def test_a_result_that_the_client_cut_is_its_stand_in() -> None:
    transcript = session(*SENT_OR_NOT["results that the client cut are sent as it says"].records)
    first, second, third = (block for _, block in transcript.blocks() if block.answers)
    assert (first.text, first.tool) == ("[cleared]", "Read")
    assert second.text.startswith("a result that")
    assert third.text == "result of c"


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ([words(LONG)], ["[cleared]"]),
        ([words("a"), words("b" * 20)], ["[cleared]"]),
        ("short", ["short"]),
        ([{"type": "tool_reference", "tool_name": "x"}], ['{"type":"tool_reference","tool_name":"x"}']),
    ],
)
def test_only_what_is_longer_is_cut(content: Any, sent: list[str]) -> None:
    cut = attached(4, 3, "tool_results_cut", {"callIds": ["a"], "standIn": "[cleared]"})
    transcript = session(GO, reply(2, 1, "m1", call("a")), said(3, 2, [result("a", content)]), cut)
    assert [block.text for _, block in transcript.blocks() if block.answers] == sent


# Behind a boundary the client finds the note no more: the copy says what was sent.
def test_a_summary_keeps_a_result_as_it_was_cut() -> None:
    records = [*LOOKING_AROUND, said(20, 12, "And now?")]
    for number in (21, 24, 27):
        read = call(f"late_{number}", "Read", file_path="src/late.py")
        records += [reply(number, number - 1, f"late_{number}", read)]
        records += [said(number + 1, number, [result(f"late_{number}", LONG)]), said(number + 2, number + 1, "Go on.")]
    records.append(attached(40, 29, "tool_results_cut", {"callIds": ["late_24", "late_27"], "standIn": "[cleared]"}))
    before = session(*records)
    after = api.loads(api.dump(api.condense(before, configuration(provider="native"))))
    assert any(message.is_summary for message in after.messages)
    assert "[cleared]" in texts(after)
    assert set(texts(after)) - set(texts(before)) <= {text for text in texts(after) if text.startswith("[condense:")}


def test_copies_of_requests_are_no_messages_and_go_with_slim() -> None:
    slim = api.condense(WHOLE, configuration(), slim=True).transcript
    assert {slimmed.kind for slimmed in slim.slimmed} == {"request_copies"}
    lines = [json.loads(line) for line in api.dump(slim).splitlines()]
    shape, blob, request = (line for line in lines if line["type"].startswith("api-request"))
    assert shape["shape"] == {"system": [], "tools": []}
    assert blob["message"] == {"role": "user", "content": []}
    assert request == REPLAY[2]
    assert [line for line in lines if line["type"] == "attachment"]
    assert not api.condense(api.loads(api.dump(slim)), configuration(), slim=True).transcript.is_changed


# An image that only a copy of a request holds is in no message: the copy for display stays.
def test_a_copy_of_a_request_is_no_message_that_holds_an_image() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL * 3}}
    blob = {"type": "api-request-blob", "hash": "2", "message": {"role": "user", "content": [image]}}
    shown = answer(3, 2, "a") | {"toolUseResult": {"picture": PIXEL * 3}}
    slim = api.condense(session(GO, reply(2, 1, "m1", call("a")), shown, blob), configuration(), slim=True).transcript
    assert [slimmed.kind for slimmed in slim.slimmed] == ["request_copies"]


def test_the_bytes_of_prompts_and_requests_are_told_apart() -> None:
    sizes = format_named("claude-code").beside.sizes(WHOLE)
    lines = WHOLE.source.data.splitlines()
    assert sizes["prompt"] == sum(len(line) for line in lines if b"prompt_snapshot" in line)
    assert sizes["request_copies"] == sum(len(line) for line in lines if b'"api-request' in line)
    assert sum(sizes.values()) == len(WHOLE.source.data)
