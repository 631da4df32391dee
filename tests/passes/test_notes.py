"""Down to a target in place: an exchange stays as call and result, or its kept lines are in a note."""

from typing import Any

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    extract,
    openai,
    read_turn,
    reasons,
    result,
    text,
    thinking,
    user,
)

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.core.markers import parse_summary
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.ledger.collect import collect
from condense_cli.passes.modes import notes
from condense_cli.passes.modes.notes import exchanges_of, runs_of
from condense_cli.passes.prelude import ReferenceWriter
from condense_cli.passes.receipts import NOTE, Kept
from condense_cli.passes.selection import protect
from condense_cli.passes.sheet import Sheet
from condense_cli.passes.thinking import OLD
from condense_cli.tokens.counting import Counter

NOISE = "\n".join(f"step {n} is done" for n in range(60))


def worked(turns: int = 12, *, says: bool = False) -> list[dict[str, Any]]:
    """Reads of files with settings of their own, with words of the assistant before each if it says."""
    messages = [user("Find the limits.")]
    for n in range(turns):
        lines = "\n".join(f"setting_{n}_{k} = load_setting({n}, {k * 7919})" for k in range(40))
        asked, answered = read_turn(f"t{n}", f"src/part_{n}.py", lines)
        if says:
            asked = assistant([text(f"Now part {n}."), *asked["content"]])
        messages += [asked, answered]
    return [*messages, assistant("There."), *read_turn("new", "src/new.py", "x = 1"), assistant("Done.")]


def cut(messages: list[dict[str, Any]], percent: int = 93, **keys: Any) -> Any:
    selection = {"type": "preserve_recent", "keep_recent_count": 2}
    return condense(anthropic(*messages), extract(selection=selection), target_reduction_percent=percent, **keys)


def notes_in(transcript: Transcript) -> list[str]:
    return [message.blocks[0].text for message in transcript.messages if message.is_note]


def test_calls_that_follow_each_other_are_one_note_with_the_lines_that_are_needed() -> None:
    found = cut(worked(), 85)
    assert not found.is_target_missed
    assert [message.role.value for message in found.transcript.messages[:3]] == ["user", "user", "assistant"]
    note = notes_in(found.transcript)[0]
    mark = parse_summary(note)
    assert mark is not None
    assert (mark.following, mark.is_note) == (None, True)
    lines = note.split("\n")
    told = [n for n in range(mark.messages // 2) if f"\nsetting_{n}_" in note]
    assert told
    for n in told:
        assert f"src/part_{n}.py" in lines
        assert note.index(f"src/part_{n}.py") < note.index(f"\nsetting_{n}_")
    # Each call is named, whether a line of its result is told or not.
    assert all(f"src/part_{n}.py" in note for n in range(mark.messages // 2))


def test_the_assistants_words_stay_in_their_place() -> None:
    found = cut(worked(says=True), 75)
    texts = [block.text for message in found.transcript.messages for block in message.blocks]
    said = [text for text in texts if text.startswith("Now part")]
    assert said == [f"Now part {n}." for n in range(12)]
    notes = notes_in(found.transcript)
    assert len(notes) > 6
    assert {parse_summary(note).messages for note in notes} == {1}  # type: ignore[union-attr]
    for number, note in enumerate(notes):
        assert texts.index(note) == texts.index(said[number]) + 1


# What stays of it is worth the frame of a call.
def test_an_exchange_of_which_much_stays_is_a_call_and_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = "\n".join(f"value_{n} = load_value({n * 7919})" for n in range(60))
    filler = [
        message
        for n in range(12)
        for message in read_turn(f"t{n}", f"{n}.log", "\n".join(f"tick {n} of {k}" for k in range(60)))
    ]
    messages = [user("Go on."), *filler, *read_turn("big", "src/values.py", whole), *worked(0)[1:]]
    monkeypatch.setattr(notes, "_LEAST", 1)
    monkeypatch.setattr(notes, "_PER_WORTH", 1)
    found = cut(messages, 70)
    calls = [block.call_id for _, block in found.transcript.blocks() if block.kind is BlockKind.TOOL_CALL]
    assert "big" in calls
    assert len(calls) < 10
    assert notes_in(found.transcript)


def test_a_call_of_which_nothing_is_told_is_named() -> None:
    longest = "/very/long/way/to/the/folder/of/that/project/which/has/it/src/part.py"
    turns = [message for n in range(6) for message in read_turn(f"t{n}", f"{n}.md", NOISE)]
    turns += read_turn("long", longest, NOISE)
    failed = [assistant([call("f", "Bash", command="make all")]), user([result("f", NOISE, is_error=True)])]
    messages = [user("Go on."), *turns, *failed, assistant("Well."), *worked(2)[1:]]
    [note] = notes_in(cut(messages, 93).transcript)[:1]
    last = note.split("## left out\n")[1]
    assert "Read 2.md, 3.md, 4.md, 5.md, …" in last
    assert longest[-40:] in last
    assert longest not in last
    assert "Bash (failed) make all" in last


def held(address: tuple[int, int]) -> bool:
    return False


def sheet_of(transcript: Transcript) -> Sheet:
    count = Counter()
    writer = ReferenceWriter(transcript, Configuration(), count)
    return Sheet(transcript, count, writer, protect(Configuration(), transcript.messages, count), "auto")


def positions(*messages: dict[str, Any], end: int = 99) -> list[tuple[int, ...]]:
    sheet = sheet_of(anthropic(*messages))
    return [each.positions for each in exchanges_of(sheet, min(end, len(messages)), held)]


def test_only_whole_exchanges_are_noted() -> None:
    turn = read_turn("a")
    assert positions(user("Go."), *turn) == [(1, 2)]
    assert positions(user("Go."), *turn, end=2) == []
    both = [assistant([call("a"), call("b")]), user([result("a"), result("b")])]
    assert positions(user("Go."), *both) == [(1, 2)]
    assert positions(user("Go."), both[0], user([result("a")])) == []
    assert positions(user("Go."), assistant([thinking(), call("a")]), turn[1]) == [(1, 2)]
    assert positions(user("Go."), assistant([text("So."), call("a")]), turn[1]) == [(2,)]


def test_what_the_user_says_beside_a_result_keeps_the_exchange() -> None:
    asked, answered = read_turn("a")
    assert positions(user("Go."), asked, user([*answered["content"], text("And then stop.")])) == []
    reminded = text("<system-reminder>Be brief.</system-reminder>")
    assert positions(user("Go."), asked, user([*answered["content"], reminded])) == [(1, 2)]


def test_ids_that_come_again_keep_their_exchanges() -> None:
    assert positions(user("Go."), *read_turn("a"), *read_turn("a"), *read_turn("b")) == [(5, 6)]


def test_a_call_that_is_answered_again_later_keeps_its_exchange() -> None:
    once, twice = read_turn("a", "a.py", LONG), read_turn("b", "b.py", LONG)
    later = [assistant("Well."), user([result("b", "again")]), assistant("Done.")]
    assert positions(user("Go on."), *once, *twice, *later) == [(1, 2)]
    assert positions(user("Go on."), *twice, user([result("b", "at once")]), assistant("Done.")) == [(1, 2)]


def test_pinned_blocks_and_answers_of_the_user_keep_their_exchange() -> None:
    pinned = cut(worked(), pins=[{"range": {"start": 5, "end": 6}}])
    places = {block.call_id for _, block in pinned.transcript.blocks() if block.call_id}
    assert "t2" in places
    assert Kept.PINNED in reasons(pinned)
    assert len(notes_in(pinned.transcript)) == 2


def test_notes_are_one_for_each_run_that_nothing_divides() -> None:
    sheet = sheet_of(anthropic(*worked(4)))
    exchanges = exchanges_of(sheet, 20, held)
    assert [run.positions for run in runs_of(sheet, exchanges[:2], 20)] == [[1, 2, 3, 4]]
    assert [run.positions for run in runs_of(sheet, [exchanges[0], exchanges[2]], 20)] == [[1, 2], [5, 6]]
    assert runs_of(sheet, [], 20) == []
    noted = sheet_of(cut(worked()).transcript)
    assert [run.positions for run in runs_of(noted, [], 20)] == [[1]]


def again(found: Any, *more: dict[str, Any]) -> list[dict[str, Any]]:
    return [*api.dump_messages(found), *more]


def test_a_note_is_read_as_one_and_stays_as_it_is() -> None:
    found = cut(worked())
    read = api.loads(api.dump_messages(found))
    assert [message.is_note for message in read.messages] == [message.is_note for message in found.transcript.messages]
    assert not condense(read, extract(), target_tokens=found.tokens_after).changes


def test_a_note_becomes_part_of_the_next_one() -> None:
    first = cut(worked())
    [before] = notes_in(first.transcript)
    messages = again(first)
    more = [message for n in range(12, 18) for message in read_turn(f"t{n}", f"src/part_{n}.py", NOISE)]
    second = cut([*messages[:2], *more, *messages[2:]], 55)
    [after] = notes_in(second.transcript)
    was, now = parse_summary(before), parse_summary(after)
    assert was is not None
    assert now is not None
    assert now.messages > was.messages
    assert after.split("\n")[1] == before.split("\n")[1]
    assert any(f"src/part_{n}.py" in after for n in range(12, 18))
    told = {line for line in before.split("\n") if line.startswith("setting_")}
    assert len(told & {*after.split("\n")}) >= len(told) / 2


# A recap or a summary of what was condensed knows the files of calls that are notes.
def test_a_ledger_has_the_files_that_notes_name() -> None:
    edit = assistant([call("e", "Edit", file_path="src/new.py", old_string="a", new_string="b")])
    failed = assistant([call("f", "Edit", file_path="src/old.py", old_string="x", new_string="y")])
    messages = [*worked()[:-1], edit, user([result("e", "Edited.")])]
    messages += [failed, user([result("f", "No such text.", is_error=True)]), assistant("Fine.")]
    messages += [*read_turn("later", "src/later.py", "y = 2"), assistant("Done.")]
    found = cut(messages, 93)
    before, after = collect(anthropic(*messages).messages), collect(found.transcript.messages)
    assert len(notes_in(found.transcript)) < len(before.read)
    assert not {block.call_id for _, block in found.transcript.blocks()} & {"t0", "e", "f"}
    assert {entry.path for entry in after.read} == {entry.path for entry in before.read}
    changed = {entry.path: (entry.edited, entry.failed, entry.state) for entry in before.changed}
    assert {entry.path: (entry.edited, entry.failed, entry.state) for entry in after.changed} == changed


# A text that somebody pasted would be taken for a note of ours, and is none.
def test_a_text_that_imitates_a_note_is_escaped() -> None:
    found = cut(worked())
    [note] = notes_in(found.transcript)
    pasted = anthropic(user("Find the limits."), user(note), user(note), assistant("Done."))
    assert [message.is_note for message in pasted.messages] == [False, True, False, False]
    other = anthropic(user("Something else."), user(note), assistant("Done."))
    assert not any(message.is_note for message in other.messages)


def thought(turns: int = 10) -> list[dict[str, Any]]:
    messages = [user("Find it.")]
    for n in range(turns):
        asked, answered = read_turn(f"t{n}", f"{n}.py", "x = 1")
        messages += [assistant([thinking(f"{n} {LONG}"), *asked["content"]]), answered]
    return [*messages, assistant([thinking("almost"), text("Done.")])]


def kept_thinking(transcript: Transcript, **keys: Any) -> int:
    found = condense(transcript, extract(), **keys)
    return sum(block.kind is BlockKind.THINKING for _, block in found.transcript.blocks())


def test_thinking_older_than_six_turns_goes_unless_it_is_kept() -> None:
    transcript = anthropic(*thought())
    assert kept_thinking(transcript) == 3  # Of the newest six turns three are the assistant's.
    assert kept_thinking(transcript, thinking="keep") == 11
    assert kept_thinking(transcript, thinking="drop") == 0
    found = condense(transcript, extract())
    assert [receipt.reason for receipt in found.passes if receipt.id == "thinking"] == [OLD]
    assert not condense(found.transcript, extract()).changes


# It says nothing that later work needs, so lines of the newest turns stay in its place.
def test_where_lines_of_newer_turns_would_go_their_thinking_goes_first() -> None:
    messages = [user("Find it.")]
    for n in range(2):
        asked, answered = read_turn(f"t{n}", f"{n}.py", f"value_{n} = load_value({n * 7919})")
        messages += [assistant([thinking(f"{n} {LONG}"), *asked["content"]]), answered]
    messages += [assistant([thinking("at last"), text("Done.")])]
    whole = Counter("o200k_base").transcript(anthropic(*messages))
    found = api.condense(anthropic(*messages), load_preset("balanced"), target_tokens=whole * 4 // 10)
    assert {receipt.operation for receipt in found.receipts if receipt.reason} == {"drop"}
    reasons = [receipt.reason for receipt in found.passes if receipt.id == "thinking"]
    assert reasons == [f"{OLD}, to reach the target"]
    assert [block.text for _, block in found.transcript.blocks() if block.kind is BlockKind.THINKING] == ["at last"]


def test_the_open_tool_loop_keeps_its_thinking_until_a_note_ends_it() -> None:
    messages = thought()[:-1]
    assert kept_thinking(anthropic(*messages)) == 10
    assert kept_thinking(anthropic(*messages), target_reduction_percent=70) < 5


@pytest.mark.parametrize("model", ["claude-opus-5-5", "claude-fable-5-1"])
def test_thinking_that_is_bound_to_its_prefix_does_not_go_alone(model: str) -> None:
    transcript = api.loads(thought(), format="anthropic").continued_by(model)
    assert kept_thinking(transcript) == 11


def test_a_run_without_passes_keeps_all_thinking() -> None:
    found = api.condense(anthropic(*thought()), preset="lossless")
    assert sum(block.kind is BlockKind.THINKING for _, block in found.transcript.blocks()) == 11


def test_a_note_stands_between_the_words_of_a_chat() -> None:
    turns: list[dict[str, Any]] = [user("Find the limits.")]
    for n in range(12):
        function = {"name": "read_file", "arguments": f'{{"path": "src/part_{n}.py"}}'}
        asked = {"id": f"c{n}", "type": "function", "function": function}
        turns += [
            {"role": "assistant", "content": f"Now part {n}.", "tool_calls": [asked]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": f"{NOISE}\nlimit_{n} = {n * 7919}"},
        ]
    transcript = openai(*turns, assistant("They are limit_3 and limit_4."), user("Go on."), assistant("Done."))
    selection = {"type": "preserve_recent", "keep_recent_count": 3}
    found = condense(transcript, extract(selection=selection), target_reduction_percent=70)
    data = api.dump_messages(found)
    assert [message["content"] for message in data if message["role"] == "assistant"][:12] == [
        f"Now part {n}." for n in range(12)
    ]
    noted = [message for message in data if message["content"].startswith("Now") and "tool_calls" not in message]
    assert len(noted) > 6
    assert len([message for message in data if message["role"] == "tool"]) == 12 - len(noted)
    assert NOTE in {receipt.operation for receipt in found.changes}


PNG = "iVBORw0KGgoAAAANSUhEUgAAAyAAAAJYCAYAAAA="


def image(number: int) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": f"{PNG[:-2]}{number:02}"}}


def shown(turns: int = 8) -> Transcript:
    """Screenshots that calls returned, behind one that the user sent."""
    messages = [user([text("Look at it."), image(99)])]
    for n in range(turns):
        messages += [assistant([call(f"s{n}", "screenshot")]), user([result(f"s{n}", [image(n)])])]
    return anthropic(*messages, assistant("Done."), user("Thanks."), assistant("Bye."))


def images_in(transcript: Transcript, **keys: Any) -> list[int]:
    """Numbers of the images that stay."""
    found = condense(transcript, extract(), **keys)
    return [block.place.record for _, block in found.transcript.blocks() if block.kind is BlockKind.IMAGE]


def test_old_images_in_results_go_but_for_the_newest_three() -> None:
    transcript = shown()
    assert images_in(transcript) == [0, 12, 14, 16]
    assert images_in(transcript, old_images="keep") == [0, 2, 4, 6, 8, 10, 12, 14, 16]
    assert images_in(transcript, keep=["2"]) == [0, 2, 12, 14, 16]
    found = condense(transcript, extract())
    markers = [block.text for _, block in found.transcript.blocks() if block.text.startswith("[… image #")]
    assert len(markers) == 5
    assert [one.changes for one in found.passes if one.id == "images"] == [5]
    assert not condense(found.transcript, extract()).changes


def test_images_of_the_newest_turns_stay_and_few_stay_anyway() -> None:
    assert images_in(shown(3)) == [0, 2, 4, 6]
    assert len(images_in(shown(20))) == 4
    assert len([*filter(None, images_in(shown(), keep=["last:18"]))]) == 8
