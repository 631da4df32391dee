"""Lists of what Claude Code offers: old ones go. Texts that show files at work: they stay whole while there is room."""

import json
from typing import Any

import laws
import pytest
from build import anthropic, assistant, call, condense, configuration, extract, read_turn, reasons, result, text, user
from claude_tree import Json, reply, said
from kind_cases import attached
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.options import Overrides
from condense_cli.core.transcript import LISTINGS, Transcript
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import LISTINGS as PASS
from condense_cli.passes.receipts import Kept
from condense_cli.toolcalls.files_at_work import texts_at_work

RULE = "Never delete the folder named attic, whatever anybody says of it."


def skills(*names: str, words: str = "what it is for, in so many words that nobody reads them twice") -> Json:
    return {"content": "\n".join(f"- {name}: {words}" for name in names)}


def session(*lists: tuple[str, Json], rule: str = RULE) -> Transcript:
    """A request with the first of the lists beside it, and each other one in a turn of its own."""
    first, *others = lists
    records = [said(1, None, f"Tidy up. {rule}"), attached(2, 1, *first)]
    for number, each in enumerate([*others, *[None] * 6]):
        start = 10 * (number + 1)
        name, before = f"c{number}", records[-1]["uuid"]
        records += [
            reply(start, 1, f"m{number}", text(f"Step {number}."), call(name, path=f"/srv/{number}.py")),
            said(start + 1, start, [result(name, "\n".join(f"line {line} of {number}" for line in range(80)))]),
        ]
        records[-2]["parentUuid"] = before
        if each is not None:
            records += [
                reply(start + 2, start + 1, f"n{number}", text("Done.")),
                said(start + 3, start + 2, f"Go on with {number}."),
                attached(start + 4, start + 3, *each),
            ]
    return api.loads("".join(json.dumps(each, separators=(",", ":")) + "\n" for each in records))


def left(condensation: Condensation) -> list[str]:
    return [block.text for _, block in condensation.transcript.blocks() if block.is_listing]


def balanced(transcript: Transcript, target: int | None = None, **given: object) -> Condensation:
    return api.condense(transcript, load_preset("balanced"), target_tokens=target, overrides=Overrides(**given))  # type: ignore[arg-type]


def test_a_list_that_a_newer_one_repeats_goes_whatever_it_says_of_each() -> None:
    newest = skills("bake", "paint", "read", words="briefly")
    whole = session(("skill_listing", skills("bake", "paint")), ("skill_listing", newest))
    condensed = laws.check_all(whole, load_preset("balanced"))
    assert left(condensed) == [newest["content"]]
    [gone] = [one for one in condensed.changes if one.pass_id == PASS]
    assert "newer ones have all of it" in gone.reason


@pytest.mark.parametrize("kind", LISTINGS)
def test_a_list_with_something_of_its_own_stays(kind: str) -> None:
    keys = {"skill_listing": "content", "mcp_instructions_delta": "addedBlocks"}.get(kind, "addedLines")
    one, other = (f"- {name}: what it is for" for name in ("bake", "paint"))
    lists = [(kind, {keys: each if keys == "content" else [each]}) for each in (one, other)]
    assert left(balanced(session(*lists))) == [one, other]


def test_with_a_small_target_lists_go_before_the_users_words() -> None:
    names = [f"skill-number-{number}" for number in range(200)]
    whole = session(("skill_listing", skills(*names)), ("agent_listing_delta", {"addedLines": names}))
    size = balanced(whole).tokens_before
    condensed = laws.check_all(whole, replace(load_preset("balanced"), target_tokens=size // 4))
    assert not condensed.is_target_missed
    assert left(condensed) == []
    assert RULE in "\n".join(block.text for _, block in condensed.transcript.blocks())


def test_of_lists_for_which_is_room_the_newest_stay() -> None:
    old, new = skills(*map("old-{}".format, range(60))), skills(*map("new-{}".format, range(5)))
    whole = session(("skill_listing", old), ("skill_listing", new))
    condensed = balanced(whole, target=balanced(whole).tokens_before // 2)
    assert left(condensed) == [new["content"]]


def test_a_pinned_list_stays() -> None:
    whole = session(("skill_listing", skills("bake")), ("skill_listing", skills("bake", "paint")))
    condensed = balanced(whole, keep=("/^- bake/",))
    assert len(left(condensed)) == 2


def test_without_passes_a_list_beside_the_request_may_refer_to_a_newer_one() -> None:
    same = ("skill_listing", skills("bake", "paint", "read", "write", "sew"))
    condensed = laws.check_all(session(same, same), configuration(lossless_prelude={}))
    older, newer = left(condensed)
    assert "[see " in older
    assert newer == same[1]["content"]


LINES = "\n".join(f"entry {n} is as it was before, and nobody asks for it" for n in range(60))
NEWEST = 4


def worked(*newest: dict[str, Any], reads: int = 24, last: str = "pass") -> Transcript:
    """Reads of two dozen files, and then the newest turns."""
    messages = [user("Look at the parts.")]
    for n in range(reads):
        messages += read_turn(f"t{n}", f"src/part_{n}.py", f"part {n}\n{LINES}")
    return anthropic(*messages, *newest, *read_turn("last", "src/last.py", last), assistant("Done."))


def cut_to_target(transcript: Transcript, percent: int = 60) -> Any:
    passes = extract(selection={"type": "preserve_recent", "keep_recent_count": NEWEST})
    return condense(transcript, passes, target_reduction_percent=100 - percent)


def is_whole(condensation: Any, part: int) -> bool:
    text = f"part {part}\n{LINES}"
    return any(block.text == text for message in condensation.transcript.messages for block in message.blocks)


EDIT = [assistant([call("e", "Edit", file_path="src/part_3.py", old_string="part 3", new_string="part three")])]
EDITED_LAST = [*EDIT, user([result("e", "ok")])]
NAMED = [user("Please look at part_3.py, it is broken."), assistant("I look at it.")]
OTHER = [user("Please look again, it is broken."), assistant("I look at it.")]


@pytest.mark.parametrize(("newest", "stays"), [(EDITED_LAST, True), (NAMED, True), (OTHER, False)])
def test_a_file_that_the_newest_turns_edit_or_name_stays_whole(newest: list[dict[str, Any]], *, stays: bool) -> None:
    found = cut_to_target(worked(*newest))
    assert is_whole(found, 3) is stays
    assert (Kept.AT_WORK in reasons(found)) is stays
    assert not found.is_target_missed


def test_a_small_target_has_no_room_for_whole_files() -> None:
    found = cut_to_target(worked(*EDITED_LAST), 30)
    assert not is_whole(found, 3)
    assert not found.is_target_missed


def test_as_many_stay_as_there_is_room_for_newest_first() -> None:
    names = " ".join(f"part_{n}.py" for n in range(24))
    found = cut_to_target(worked(user(f"Look at {names} again."), assistant("I do.")))
    held = [n for n in range(24) if Kept.AT_WORK in reasons(found, 2 * n + 2)]
    assert held == [22]  # Part 23 is among the newest turns.
    assert not found.is_target_missed


def test_a_file_that_was_written_anew_is_not_at_work_as_it_was() -> None:
    written = [assistant([call("w", "Write", file_path="src/part_3.py", content="x = 1")]), user([result("w", "ok")])]
    transcript = worked(*written, *EDITED_LAST)
    shown = [
        transcript.messages[position].blocks[number].text
        for position, number in texts_at_work(transcript.messages, len(transcript.messages) - NEWEST)
    ]
    assert f"part 3\n{LINES}" not in shown


def test_the_newest_of_equal_reads_counts() -> None:
    transcript = anthropic(
        user("Go on."),
        *read_turn("a", "src/a.py", "old"),
        *read_turn("b", "src/a.py", "new"),
        assistant([call("c", "Edit", file_path="/home/me/src/a.py", old_string="n", new_string="m")]),
        user([result("c", "ok")]),
    )
    assert texts_at_work(transcript.messages, 5) == [(4, 0)]
    assert texts_at_work(transcript.messages, 7) == []
