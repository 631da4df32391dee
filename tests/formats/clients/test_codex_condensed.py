"""Condense rollouts of Codex CLI: cuts inside the client's own text, and what stays."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

import laws
import pytest
from build import LONG, condense, configuration, cut_to, one_pass, texts, written
from helpers import condense as command
from replacing import beside, in_place
from rollout_items import DONE, HEAD, HEADER, PATCH, REQUEST, custom, function, items, only, output, reasoning, rollout
from rollouts import message, record
from summarizers import Short

from condense_cli import api
from condense_cli.core.values import BlockKind
from condense_cli.errors import ExitStatus, OutputError
from condense_cli.formats.codex_writing import in_old_places
from condense_cli.toolcalls.tools import arguments_of, patched_paths

KEPT = 2
"""Lines that the passes of these tests leave of a text."""


# Every form of an output: the result is cut, what the client wrote around it stays.
@pytest.mark.parametrize(
    ("value", "path"),
    [
        (LONG, []),
        (HEADER + LONG, []),
        ("Exit code: 1\nWall time: 2 seconds\nTotal output lines: 40\nOutput:\n" + LONG, []),
        (
            [
                {"type": "input_text", "text": "Script completed\nWall time 0.1 seconds\nOutput:\n"},
                {"type": "input_text", "text": LONG},
            ],
            [1, "text"],
        ),
        ({"content": LONG, "success": False}, ["content"]),
        ({"type": "input_text", "text": HEADER + LONG}, ["text"]),
    ],
    ids=["plain", "header", "exit code", "list", "content", "part"],
)
def test_outputs_are_cut_inside(value: Any, path: list[str | int]) -> None:
    records = items(REQUEST, function("a", cmd="ls"), output("a", value), DONE)
    after = written(
        condense(rollout(*records), one_pass(individual_config=cut_to(KEPT)), lossless_prelude={"enabled": False})
    )
    changed = after[3]["payload"].pop("output")
    before = value
    for key in path:
        before, changed = before[key], changed[key]
    start = before.index(LONG)
    assert changed.startswith(before[: start + 30])
    assert changed.count("\n") == before[:start].count("\n") + KEPT
    assert "\n[… 38 lines #" in changed


# A result inside JSON in a string is exchanged inside that string: its spelling around the result stays.
@pytest.mark.parametrize("style", [{}, {"separators": (",", ":")}, {"indent": 2}], ids=str)
def test_a_result_in_json_in_a_string_keeps_the_json(style: dict[str, Any]) -> None:
    value = json.dumps({"output": LONG + "\né", "metadata": {"exit_code": 1, "duration_seconds": 0.10}}, **style)
    value = value.replace("0.1", "0.100")
    transcript = rollout(*items(REQUEST, function("a", "shell", command=["ls"]), output("a", value), DONE))
    block = only(transcript, BlockKind.TOOL_RESULT)
    assert block.text == LONG + "\né"
    assert block.is_error
    after = written(condense(transcript, lossless_prelude={"enabled": False}))[3]["payload"]["output"]
    marker = json.loads(after)["output"]
    assert marker.startswith("[… 41 lines")
    assert after == value.replace(json.dumps(LONG + "\né", **style), json.dumps(marker))


# A patch stays a patch: its files are named, what is changed in them is cut.
def test_a_patch_keeps_the_paths() -> None:
    transcript = rollout(*items(REQUEST, custom("a", PATCH), output("a", "ok", "custom_tool_call_output"), DONE))
    call = only(transcript, BlockKind.TOOL_CALL)
    assert patched_paths(call) == ["src/app.py", "b.txt"]
    cut = one_pass(individual_config={"defaults": {"tool_parameters": {"operation": "suppress"}}})
    after = written(condense(transcript, cut))[2]["payload"]["input"].split("\n")
    assert after[:2] == ["*** Begin Patch", "*** Update File: src/app.py"]
    assert after[2].startswith("[… 41 lines")
    assert after[3:] == ["*** Add File: b.txt", "+x", "*** End Patch"]


# Any other free text is one value, cut as text.
def test_free_text_stays_text() -> None:
    transcript = rollout(*items(REQUEST, custom("a", LONG, "exec"), output("a", "ok", "custom_tool_call_output"), DONE))
    assert arguments_of(only(transcript, BlockKind.TOOL_CALL)) == {"input": LONG}
    cut = {"defaults": {"tool_parameters": {"operation": "truncate", "params": {"truncate": {"max_lines": 1}}}}}
    after = written(condense(transcript, one_pass(individual_config=cut)))[2]["payload"]["input"]
    assert after.startswith(LONG.split("\n")[0] + "\n[… 39 lines")


# Reasoning that goes takes the ids of what it led to with it, or the API would ask for it. Nothing else changes.
def test_dropped_reasoning_takes_the_ids_of_what_follows() -> None:
    shell = {"type": "local_shell_call", "id": "ls_1", "action": {"type": "exec", "command": ["ls"]}}
    answer = [reasoning(), {"id": "msg_1", **message("assistant", "I look.")}, function("a", cmd="ls"), shell]
    records = items(REQUEST, *answer, output("a"), output("ls_1"), function("b", cmd="ls"), output("b"), DONE)
    after = written(
        condense(
            rollout(*records),
            one_pass(individual_config={}),
            thinking="drop",
            lossless_prelude={"enabled": False},
            min_saving=0,
        )
    )
    ids = [value["payload"].get("id") for value in after[1:]]
    assert ids == [None, None, None, "ls_1", None, None, "fc_b", None, None]
    assert len(after) == len(records)


# The record of a compaction stays even when nothing is left of what it held: without it the old items came back.
def test_a_compaction_is_never_undone() -> None:
    records = [
        *items(REQUEST),
        record("compacted", message="", replacement_history=[reasoning()]),
        *items(REQUEST, DONE),
    ]
    after = written(
        condense(
            rollout(*records), one_pass(individual_config={}), thinking="drop", lossless_prelude={"enabled": False}
        )
    )
    assert after[2]["payload"]["replacement_history"] == []


# A text part takes the place of an image, in the words of this API.
def test_an_image_is_left_out() -> None:
    picture = {"type": "input_image", "image_url": f"data:image/png;base64,{'A' * 90}"}
    records = items(REQUEST, function("a"), output("a", [picture]), DONE)
    leave = {"defaults": {"images": {"operation": "suppress"}}}
    [part] = written(condense(rollout(*records), one_pass(individual_config=leave)))[3]["payload"]["output"]
    assert part["type"] == "input_text"
    assert part["text"].startswith("[… image")


# If only reasoning was between two turns of results, they are one turn after it goes, as when they are read again.
def test_turns_that_meet_are_one() -> None:
    calls = [function("a"), function("b")]
    records = items(REQUEST, *calls, output("a"), reasoning(), output("b"), DONE, message("user", "More."), DONE)
    result = condense(rollout(*records), one_pass(individual_config={}), thinking="drop")
    assert len(result.before.messages) == 8
    again = api.loads(api.dump(result))
    assert len(again.messages) == len(result.transcript.messages) == 6


# Up to a rollback the client knows its own words by how they begin, and so no pass touches them.
def test_words_of_the_client_that_are_counted_stay() -> None:
    told = message("user", "<user_shell_command>\n" + LONG)
    records = [
        *items(REQUEST, told, DONE, message("user", "More.")),
        record("event_msg", type="thread_rolled_back", num_turns=1),
    ]
    cut = {"defaults": {"message_text": {"operation": "suppress"}}}
    result = condense(rollout(*records), one_pass(individual_config=cut, selection={"type": "custom"}))
    assert told["content"][0]["text"] in texts(result.transcript)


# A compaction that a summary writes repeats them behind the rollback: they read back as they were, and stay.
@pytest.mark.parametrize("selection", [{"type": "preserve_recent", "keep_recent_count": 3}, {"type": "custom"}])
def test_words_that_were_counted_stay_behind_a_new_compaction(selection: dict[str, Any]) -> None:
    told = message("user", "<user_shell_command>\n" + LONG)
    taken_back = record("event_msg", type="thread_rolled_back", num_turns=1)
    done = [message("assistant", f"{number} {LONG}") for number in range(4)]
    turns = [item for number, answer in enumerate(done) for item in (answer, message("user", f"More, {number}."))]
    records = [*items(told, REQUEST, *turns, DONE), taken_back, *items(*turns, DONE)]
    batch = one_pass(id="batch", mode="batch", selection=selection, batch_config={"operation": "summarize"})
    shorter = {"operation": "truncate", "params": {"truncate": {"max_chars": 60}}}
    cut = one_pass(individual_config={"defaults": {"message_text": shorter}}, selection=selection)
    for configured in (configuration(batch), configuration(cut, batch)):
        result = laws.check_all(rollout(*records), configured, summarizer=Short())
        assert result.transcript.has_new_summary
        assert told["content"][0]["text"] in texts(result.transcript)


# The client may be in the middle of a line; the next record is numbered after the last whole one.
def test_a_summary_behind_a_line_that_is_cut_off() -> None:
    turns = [message(role, f"{role} {number} {LONG}") for number in range(4) for role in ("assistant", "user")]
    records = [{**each, "ordinal": number} for number, each in enumerate([HEAD, *items(REQUEST, *turns, DONE)])]
    whole = "".join(json.dumps(each) + "\n" for each in records)
    cut_off = whole + '{"timestamp": "2026-01-02", "type": "resp'
    batch = one_pass(mode="batch", selection={"type": "custom"}, batch_config={"operation": "summarize"})
    after = api.condense(api.loads(cut_off, lenient=True), configuration(batch), summarizer=Short())
    *_, last = api.dump(after).decode().removeprefix(f"{cut_off}\n").splitlines()
    assert json.loads(last)["type"] == "compacted"
    assert json.loads(last)["ordinal"] == len(records)


def numbered(*records: dict[str, Any]) -> bytes:
    """Build a rollout whose records have ordinals, of which the client keeps an index."""
    lines = [{**each, "ordinal": number} for number, each in enumerate((HEAD, *records))]
    return "".join(json.dumps(each) + "\n" for each in lines).encode()


def places(data: bytes) -> dict[int, int]:
    """Return the byte at which each record begins, by its ordinal."""
    starts = accumulate(map(len, data.splitlines(keepends=True)), initial=0)
    return {json.loads(line)["ordinal"]: start for line, start in zip(data.splitlines(), starts, strict=False)}


WORK = items(REQUEST, *(item for name in "abcdefghi" for item in (function(name), output(name, LONG))), DONE)


# The client goes on in its index from the byte and the ordinal at which it last was.
def test_in_place_every_record_stays_where_it_was(tmp_path: Path) -> None:
    file = tmp_path / "rollout.jsonl"
    file.write_bytes(data := numbered(*WORK))
    done = in_place(file)
    after = file.read_bytes()
    assert len(after) == len(data)
    assert after != data
    assert places(after) == places(data)
    assert "of them blanks" in done.text
    assert api.dump(api.loads(data)) == beside(file)[0].read_bytes()
    assert in_place(file).status == ExitStatus.DONE
    assert file.read_bytes() == after
    assert command("undo", file).status == ExitStatus.DONE
    assert file.read_bytes() == data


# The same is written anywhere else as it comes, and in place where nothing is numbered.
def test_elsewhere_no_blanks_are_written(tmp_path: Path) -> None:
    file, other = tmp_path / "rollout.jsonl", tmp_path / "other.jsonl"
    file.write_bytes(numbered(*WORK))
    command("run", file, "-p", "speed", "-o", other)
    assert b"  \n" not in other.read_bytes()
    file.write_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in (HEAD, *WORK)))
    in_place(file)
    assert b"  \n" not in file.read_bytes()


OLD = [b'{"ordinal": %d, "text": "%s"}\n' % (number, b"x" * 9) for number in (0, 1, 2, 2, 3)]
"""Two have the same ordinal, as clients have been seen to write it."""


@pytest.mark.parametrize(
    ("sizes", "grows"),
    [
        ([9, 9, 9, 9, 9], False),
        ([9, 1, 9, 1, 1], False),
        ([9, None, 9, None, 9], False),  # Records that go.
        ([9, 1, 9, 12, 9], True),  # One that grew begins earlier, where there is room.
    ],
)
def test_records_keep_their_places_whatever_becomes_of_them(sizes: list[int | None], grows: bool) -> None:
    old, added = b"".join(OLD), b'{"ordinal": 4}\n'
    left = [line.replace(b"x" * 9, b"x" * size) for line, size in zip(OLD, sizes, strict=True) if size is not None]
    written = in_old_places(old, b"".join(left) + added)
    assert [line.rstrip() for line in written.splitlines()] == [line.rstrip() for line in [*left, added]]
    assert written[len(old) :] == added
    starts = [*accumulate(map(len, OLD), initial=0)]
    wanted = [start for start, size in zip(starts, sizes, strict=False) if size is not None]
    found = [*accumulate(map(len, written.splitlines(keepends=True)), initial=0)][: len(left)]
    assert (found == wanted) is not grows


@pytest.mark.parametrize("left", [[*OLD[:4], OLD[4].replace(b"x", b"xx")], OLD[:4], [b'{"n": 1}\n', OLD[4]]])
def test_what_would_be_elsewhere_is_refused(left: list[bytes]) -> None:
    with pytest.raises(OutputError, match="Codex has noted"):
        in_old_places(b"".join(OLD), b"".join(left))


# The client was in the middle of a line: only whole lines are in the index.
def test_a_line_that_is_cut_off_stays_at_the_end() -> None:
    cut_off = b'{"ordinal": 4, "te'
    written = in_old_places(b"".join(OLD) + cut_off, b"".join(OLD).replace(b"xxx", b"") + cut_off)
    assert len(written) == len(b"".join(OLD)) + len(cut_off)
    assert written.endswith(b" \n" + cut_off)


# Events for the screen stay as they are, whatever becomes of what they repeat.
def test_copies_for_display_stay() -> None:
    shown = record("event_msg", type="exec_command_end", aggregated_output=LONG)
    after = written(condense(rollout(*items(REQUEST, function("a"), output("a")), shown, *items(DONE))))
    assert after[4] == shown
