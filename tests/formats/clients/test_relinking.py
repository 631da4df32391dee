"""Links of a Claude Code session when records go: each leads to the nearest record before it that stays."""

import json
from collections import defaultdict
from typing import Any

import pytest
from build import session

from condense_cli.core import json_text
from condense_cli.core.transcript import JsonPath
from condense_cli.formats.claude_code.writing import LINKS, going, relink

Record = dict[str, Any]


def line(uuid: str, parent: str | None, **more: Any) -> Record:
    message = {"role": "user", "content": f"This is {uuid}."}
    return {"parentUuid": parent, "isSidechain": False, "type": "user", "uuid": uuid, "message": message, **more}


CHAIN = (line("a", None), line("b", "a"), line("c", "b"), line("d", "c"), line("e", "d"))


def edits(records: tuple[Record, ...], *gone: str) -> dict[str, dict[JsonPath, str | None]]:
    """Return the changes of each record that stays, by its uuid or else its number."""
    transcript = session(*records)
    names = [record.get("uuid", number) for number, record in enumerate(records)]
    found: dict[int, dict[JsonPath, str | None]] = defaultdict(dict)
    relink(transcript, found, frozenset(number for number, name in enumerate(names) if name in gone))
    return {names[number]: edited for number, edited in found.items() if edited}


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        ("c", {"d": '"b"'}),
        ("bc", {"d": '"a"'}),
        ("ab", {"c": "null"}),
        ("e", {}),
        ("bd", {"c": '"a"', "e": '"c"'}),
    ],
)
def test_the_parent_is_the_nearest_that_stays(gone: str, expected: dict[str, str]) -> None:
    assert edits(CHAIN, *gone) == {uuid: {("parentUuid",): value} for uuid, value in expected.items()}


@pytest.mark.parametrize("key", LINKS[1:])
def test_every_kind_of_link_is_moved(key: str) -> None:
    last = line("f", "e", **{key: "c"})
    assert edits((*CHAIN, last), "c", "b")["f"] == {(key,): '"a"'}


def test_the_kinds_of_links() -> None:
    assert LINKS == ("parentUuid", "leafUuid", "sourceToolAssistantUUID", "logicalParentUuid")


def test_a_record_that_names_what_stays_is_left_alone() -> None:
    assert set(edits(CHAIN, "c")) == {"d"}


def test_a_circle_of_records_that_go_ends() -> None:
    assert edits((line("a", "b"), line("b", "a"), line("c", "b")), "a", "b") == {"c": {("parentUuid",): "null"}}


# JSON that msgspec refuses is read in another way, and a link that is no text names nothing.
def test_odd_records_have_links_too() -> None:
    odd = {**line("d", "c"), "leafUuid": 7}
    assert edits((*CHAIN[:3], odd), "c") == {"d": {("parentUuid",): '"b"'}}


# The conversation began in the middle of another before, and still does.
def test_what_follows_a_record_without_a_known_parent_has_none_either() -> None:
    odd = line("c", None) | {"parentUuid": [7]}
    assert edits((*CHAIN[:2], odd, CHAIN[3]), "c") == {"d": {("parentUuid",): '"[7] (not a string)"'}}
    gone = {**line("c", "b"), "leafUuid": 7}
    assert edits((*CHAIN[:2], gone, CHAIN[3]), "c") == {"d": {("parentUuid",): '"b"'}}
    kept = {**boundary(preservedMessages={"anchorUuid": "c", "uuids": []}), "leafUuid": 7}
    assert edits((*CHAIN, kept), "c")["z"] == {("compactMetadata", "preservedMessages", "anchorUuid"): '"b"'}


def boundary(**kept: Any) -> Record:
    return {
        "parentUuid": None,
        "logicalParentUuid": "e",
        "isSidechain": False,
        "type": "system",
        "subtype": "compact_boundary",
        "content": "Conversation compacted",
        "uuid": "z",
        "compactMetadata": kept,
    }


def test_a_list_of_what_a_boundary_keeps_names_no_missing_record() -> None:
    kept = boundary(preservedMessages={"anchorUuid": "c", "uuids": ["d", "c", "e"], "allUuids": ["b", "d"]})
    path = ("compactMetadata", "preservedMessages")
    assert edits((*CHAIN, kept), "c", "b")["z"] == {
        (*path, "anchorUuid"): '"a"',
        (*path, "uuids", 1): json_text.REMOVE,
        (*path, "allUuids", 0): json_text.REMOVE,
    }


@pytest.mark.parametrize(
    ("gone", "ends"),
    [("b", ("c", None)), ("d", (None, "c")), ("bd", ("c", "c"))],
)
def test_a_piece_that_a_boundary_keeps_begins_and_ends_with_records_that_stay(
    gone: str, ends: tuple[str | None, str | None]
) -> None:
    kept = boundary(preservedSegment={"anchorUuid": "a", "headUuid": "b", "tailUuid": "d"})
    path = ("compactMetadata", "preservedSegment")
    head, tail = ends[0] or "b", ends[1] or "d"
    assert edits((*CHAIN, kept), *gone)["z"] == {
        (*path, "headUuid"): json.dumps(head),
        (*path, "tailUuid"): json.dumps(tail),
    }


def test_the_anchor_moves_with_the_piece() -> None:
    kept = boundary(preservedSegment={"anchorUuid": "c", "headUuid": "b", "tailUuid": "c"})
    path = ("compactMetadata", "preservedSegment")
    assert edits((*CHAIN, kept), "c")["z"] == {
        (*path, "anchorUuid"): '"b"',
        (*path, "headUuid"): '"b"',
        (*path, "tailUuid"): '"b"',
    }


def test_a_piece_of_which_nothing_is_left_goes() -> None:
    kept = boundary(preservedSegment={"anchorUuid": "a", "headUuid": "b", "tailUuid": "d"})
    assert edits((*CHAIN, kept), "b", "c", "d")["z"] == {("compactMetadata", "preservedSegment"): json_text.REMOVE}


def test_a_piece_that_stays_is_left_alone() -> None:
    kept = boundary(preservedSegment={"anchorUuid": "a", "headUuid": "b", "tailUuid": "c"})
    assert "z" not in edits((*CHAIN[:-1], line("f", "d"), kept), "d")


# A tail that does not lead to the head: the client walks from it as far as there are records.
def test_a_piece_that_is_in_a_circle_ends() -> None:
    kept = boundary(preservedSegment={"anchorUuid": "x", "headUuid": "gone", "tailUuid": "c"})
    circle = (line("a", "b"), line("b", "a"), line("c", "b"))
    path = ("compactMetadata", "preservedSegment")
    assert edits((*circle, kept), "c")["z"] == {(*path, "headUuid"): '"a"', (*path, "tailUuid"): '"b"'}


@pytest.mark.parametrize("metadata", [None, [], {"preservedMessages": None, "preservedSegment": "d"}])
def test_a_boundary_that_keeps_nothing_that_can_be_read_is_left_alone(metadata: Any) -> None:
    odd = {**boundary(), "compactMetadata": metadata, "x": {"preserved": 1}}
    assert "z" not in edits((*CHAIN, odd), "c")


def test_only_records_of_the_system_keep_anything() -> None:
    kept = {**boundary(preservedMessages={"anchorUuid": "c", "uuids": ["c"]}), "type": "user"}
    kept["message"] = {"role": "user", "content": "I say it."}
    assert "z" not in edits((*CHAIN, kept), "c")


def test_records_that_were_written_again_share_a_uuid_with_one_that_goes() -> None:
    nameless = {"type": "summary", "summary": "a title", "leafUuid": "e"}
    transcript = session(*CHAIN, line("b", "a"), nameless, {**nameless, "leafUuid": "a"})
    assert going(transcript, frozenset({1})) == {1, 5}
    assert going(transcript, frozenset({6})) == {6}
    assert going(transcript, frozenset()) == frozenset()
