"""`--slim`: a smaller file with the same conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import real
from build import LONG, OLD, call, claude_line, configuration, one_pass, result, session, text
from hypothesis import given
from hypothesis import strategies as st
from strategies import REPEATING, claude_records, spelled

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.json_text import parse as parse_json
from condense_cli.core.markers import short_hash
from condense_cli.core.transcript import Transcript
from condense_cli.formats import format_named, parse
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.report.inspection.lookup import HitKind, find
from condense_cli.report.run.facts import slim_of

NOTHING = configuration()
LOSSLESS = configuration(lossless_prelude={"enabled": True})
MARKER_OF_OLD = f"[… 30 lines #{short_hash(OLD)}]"


def slim(transcript: Transcript) -> Condensation:
    return api.condense(transcript, NOTHING, slim=True)


def records_of(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def shown(display: Any, *, content: Any = "done", arguments: dict[str, Any] | None = None) -> Any:
    """Return the display copy beside a result after slimming."""
    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x", **(arguments or {}))], reply="m"),
        claude_line("user", "3", "2", [result("x", content)], toolUseResult=display),
        claude_line("assistant", "4", "3", [text("ok")], reply="n"),
    ]
    return records_of(api.dump(slim(session(*records))))[2]["toolUseResult"]


def said(transcript: Transcript) -> list[Any]:
    """Return the conversation without the rest of the file."""
    return [(message.index, message.role, message.blocks) for message in transcript.messages]


def differences(
    before: Any, after: Any, path: tuple[str | int, ...] = ()
) -> dict[tuple[str | int, ...], tuple[Any, Any]]:
    """Yield the paths at which two JSON values differ, leaf by leaf; a list that was emptied is a leaf."""
    if isinstance(before, dict) and isinstance(after, dict):
        assert list(before) == list(after)
        pairs: Any = [(key, before[key], after[key]) for key in before]
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = [(index, *pair) for index, pair in enumerate(zip(before, after, strict=True))]
    else:
        same = repr(before) == repr(after)
        return {} if same else {path: (before, after)}
    found: dict[tuple[str | int, ...], tuple[Any, Any]] = {}
    for key, old, new in pairs:
        found |= differences(old, new, (*path, key))
    return found


def check_slim(transcript: Transcript, config: Any = NOTHING) -> Condensation:
    """Check what holds for every slimmed file."""
    plain = api.condense(transcript, config)
    result = api.condense(transcript, config, slim=True)
    data = api.dump(result)
    again = parse(data, format=transcript.format, lenient=bool(transcript.source.unparsed))
    # The same conversation, in no more bytes; the figures add up.
    assert said(again) == said(parse(api.dump(plain), format=transcript.format, lenient=True))
    assert decode(again.messages).messages == decode(parse(api.dump(plain), lenient=True).messages).messages
    assert result.changes == plain.changes
    assert len(data) <= len(api.dump(plain))
    figures = slim_of(result.transcript)
    assert figures.bytes == sum(kind.bytes for kind in figures.kinds) == sum(s.saved for s in result.transcript.slimmed)
    # Deterministic and idempotent.
    assert api.dump(api.condense(transcript, config, slim=True)) == data
    second = api.condense(again, config, slim=True)
    assert second.transcript.slimmed == ()
    assert api.dump(second) == data
    if config is NOTHING:
        assert len(transcript.source.data) - len(data) == figures.bytes
        _only_what_is_receipted(result, again)
    return result


def _only_what_is_receipted(result: Condensation, again: Transcript) -> None:
    """Check that records without a receipt keep their bytes; others differ only at its places and keep their shape."""
    places = {(slimmed.place.record, slimmed.place.path) for slimmed in result.transcript.slimmed}
    touched = {record for record, _ in places}
    for record in range(len(result.before.source.spans)):
        old, new = result.before.source.raw(record), again.source.raw(record)
        if record not in touched:
            assert old == new
            continue
        for path, (before, after) in differences(parse_json(old), parse_json(new)).items():
            places.remove((record, path))
            assert type(before) is type(after)
            assert after == [] or f"#{short_hash(before)}]" in after
    assert not places


@st.composite
def sessions(draw: st.DrawFn) -> bytes:
    """Draw sessions with more for display: old versions of files, todo lists, progress."""
    records = draw(claude_records(REPEATING))
    todos: list[dict[str, str]] = []
    for record in list(records):
        display = record.get("toolUseResult")
        if not isinstance(display, dict):
            continue
        if draw(st.booleans()):
            display["originalFile"] = draw(st.sampled_from([OLD, LONG, "short", None]))
        if draw(st.booleans()):
            new = draw(st.lists(st.fixed_dictionaries({"content": st.sampled_from(["a", "b", OLD])}), max_size=3))
            display |= {"oldTodos": draw(st.sampled_from([todos, []])), "newTodos": new}
            todos = new
        if draw(st.booleans()):
            call_id = record["message"]["content"][0]["tool_use_id"]
            data = {"type": "bash_progress", "fullOutput": draw(st.sampled_from([OLD, LONG, ""])), "totalLines": 3}
            records.append(
                {
                    "type": "progress",
                    "uuid": f"p{len(records)}",
                    "parentUuid": None,
                    "parentToolUseID": call_id,
                    "data": data,
                }
            )
    return draw(spelled(records, lines_only=True))


@given(sessions())
def test_generated_sessions_hold_the_same_conversation_when_slim(data: bytes) -> None:
    transcript = parse(data, format="claude-code")
    for config in (NOTHING, LOSSLESS, configuration(one_pass())):
        check_slim(transcript, config)


@pytest.mark.parametrize("path", real.some(real.all_files()), ids=lambda path: path.name)
def test_real_files_hold_the_same_conversation_when_slim(path: Path) -> None:
    transcript = real.transcript(path)
    result = check_slim(transcript)
    if format_named(transcript.format).shown is None:
        assert result.transcript.slimmed == ()
    check_slim(transcript, load_preset("cost"))


@pytest.mark.slow
@pytest.mark.skipif(not real.files_of("claude-code"), reason="no real transcripts")
def test_real_sessions_become_a_quarter_smaller() -> None:
    transcripts = [real.transcript(path) for path in real.files_of("claude-code")]
    saved = sum(slimmed.saved for transcript in transcripts for slimmed in slim(transcript).transcript.slimmed)
    assert saved > sum(len(transcript.source.data) for transcript in transcripts) / 4


def test_files_before_an_edit_go_and_the_patch_stays() -> None:
    display = {
        "filePath": "/a.py",
        "originalFile": OLD,
        "structuredPatch": [{"oldStart": 1, "lines": ["-" + "x" * 300, OLD]}],
        "replaceAll": False,
    }
    assert shown(display, content=OLD) == {**display, "originalFile": MARKER_OF_OLD}


@pytest.mark.parametrize("display", [None, "short", {"originalFile": None}, {"originalFile": "short"}, ["short"], 3])
def test_what_is_short_or_missing_stays(display: Any) -> None:
    assert shown(display) == display


def test_what_stands_nowhere_else_stays() -> None:
    display = {"stdout": OLD, "stderr": "", "interrupted": False}
    assert shown(display) == display
    assert shown(display, content=OLD) == {**display, "stdout": MARKER_OF_OLD}
    assert shown(f"Error: {OLD}", content=OLD).startswith("[… 30 lines #")


def test_a_read_repeats_its_result_without_line_numbers() -> None:
    indented = "\n".join(f"    line {n} of the file" for n in range(40))
    numbered = "\n".join(f"{n + 1:6}→{line}" for n, line in enumerate(indented.split("\n")))
    display = {"type": "text", "file": {"filePath": "/a", "content": indented, "numLines": 40}}
    assert shown(display, content=numbered)["file"]["content"].startswith("[… 40 lines")


# The client counts the lines of a created file by its content; everything else of a call is in the call.
def test_copies_of_arguments_go_but_the_content_of_a_created_file_stays() -> None:
    arguments = {"content": OLD, "old_string": LONG}
    created = {"type": "create", "content": OLD, "oldString": LONG}
    after = shown(created, arguments=arguments)
    assert after["content"] == OLD
    assert after["oldString"].startswith("[… 40 lines")
    assert shown({"type": "update", "content": OLD}, arguments=arguments)["content"] == MARKER_OF_OLD


def test_a_todo_list_that_an_earlier_result_set_is_emptied() -> None:
    first, second = [{"content": "a"}], [{"content": "b"}]
    records = [claude_line("user", "0", None, "go")]
    for number, (old, new) in enumerate([([], first), (first, second), ([{"content": "c"}], second)]):
        uuid = f"{number}r"
        records.append(claude_line("assistant", f"{number}c", records[-1]["uuid"], [call(f"x{number}")], reply=uuid))
        display = {"oldTodos": old, "newTodos": new}
        records.append(claude_line("user", uuid, f"{number}c", [result(f"x{number}", "ok")], toolUseResult=display))
    after = records_of(api.dump(slim(session(*records))))
    assert [record["toolUseResult"]["oldTodos"] for record in after if "toolUseResult" in record] == [
        [], [], [{"content": "c"}],
    ]  # fmt: skip


# An image may be in the next line of the session, and in another size beside its own display copy.
def test_copies_of_images_go() -> None:
    from pictures import PIXEL

    data = PIXEL * 4
    source = {"type": "base64", "media_type": "image/png", "data": data}
    image = {"type": "image", "source": source}
    display = {"type": "image", "file": {"base64": "A" * 400, "originalSize": 5}}
    after = shown(display, content=[image])
    assert after["file"] == {"base64": f"[… image #{short_hash('A' * 400)}]", "originalSize": 5}
    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x")], reply="m"),
        claude_line("user", "3", "2", [result("x", "ok")], toolUseResult={"file": {"base64": data}}),
        claude_line("user", "4", "3", [image]),
    ]
    after = records_of(api.dump(slim(session(*records))))[2]["toolUseResult"]
    assert after["file"]["base64"] == f"[… image #{short_hash(data)}]"


def test_progress_goes_once_its_call_is_answered() -> None:
    def progress(uuid: str, tool_use: str) -> dict[str, Any]:
        data = {"type": "agent_progress", "agentId": "a1", "message": {"content": [{"type": "text", "text": OLD}]}}
        return {"type": "progress", "uuid": uuid, "parentUuid": "2", "parentToolUseID": tool_use, "data": data}

    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x"), call("y")], reply="m"),
        progress("5", "x"),
        progress("6", "y"),
        claude_line("user", "3", "2", [result("x", "ok")]),
    ]
    after = records_of(api.dump(slim(session(*records))))
    assert [record["uuid"] for record in after] == ["1", "2", "5", "6", "3"]
    assert after[2]["data"]["message"]["content"] == [{"type": "text", "text": MARKER_OF_OLD}]
    assert after[2]["data"]["agentId"] == "a1"
    assert after[3] == records[3]


# Sub-agents and older branches are no part of the conversation, but their display copies fill the file as well.
def test_records_outside_the_conversation_are_slimmed_and_their_hash_is_found() -> None:
    display = {"originalFile": OLD}
    records = [
        claude_line("user", "1", None, "go"),
        {**claude_line("user", "9", None, [result("x", LONG)], toolUseResult=display), "isSidechain": True},
        claude_line("assistant", "2", "1", [text("ok")], reply="m"),
    ]
    transcript = session(*records)
    after = records_of(api.dump(slim(transcript)))
    assert after[1] == {**records[1], "toolUseResult": {"originalFile": MARKER_OF_OLD}}
    (hit,) = find(transcript, short_hash(OLD))
    assert (hit.found, hit.text, hit.position, hit.message) == (HitKind.DISPLAY, OLD, "record 1", None)


# A lossless run says lines by reference and leaves the display copy; a pass that cuts the result later finds it.
def test_a_display_copy_of_a_referenced_result_is_shortened_with_it() -> None:
    records = [claude_line("user", "0", None, "go")]
    for number in range(6):
        records += [
            claude_line("assistant", f"c{number}", records[-1]["uuid"], [call(f"x{number}")], reply=f"m{number}"),
            claude_line("user", f"r{number}", f"c{number}", [result(f"x{number}")], toolUseResult={"stdout": LONG}),
        ]
    records.append(claude_line("assistant", "9", "r5", [text("ok")], reply="n"))
    lossless = api.dump(api.condense(session(*records), LOSSLESS))
    assert LONG in records_of(lossless)[2]["toolUseResult"]["stdout"]
    assert LONG not in records_of(lossless)[2]["message"]["content"][0]["content"]
    everything = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 0})
    after = records_of(api.dump(api.condense(api.loads(lossless), configuration(everything))))
    assert after[2]["toolUseResult"]["stdout"].startswith("[… 40 lines")


# Slimming later finds it too, by the texts that the references name.
@pytest.mark.slow
def test_slimming_after_a_lossless_run_gives_what_slimming_at_once_gives() -> None:
    for path in real.SAMPLES:
        transcript = real.transcript(path)
        at_once = api.dump(api.condense(transcript, LOSSLESS, slim=True))
        later = api.dump(slim(api.loads(api.dump(api.condense(transcript, LOSSLESS)))))
        assert later == at_once
