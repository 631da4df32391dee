"""Laws of repair: what is right stays, any damage leads to a valid file or a clear error, and once is enough."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

import pytest
import real
from damage import damaged, interleaved
from helpers import as_lines
from hypothesis import given
from hypothesis import strategies as st
from strategies import FILES

from condense_cli.core.values import Container
from condense_cli.errors import CondenseError
from condense_cli.formats import format_named, parse
from condense_cli.repair.mending import Repair, repair
from condense_cli.report.lists.validation import check

LINKS: Final = (
    "parentUuid",
    "parentId",
    "leafUuid",
    "sourceToolAssistantUUID",
    "fromId",
    "firstKeptEntryId",
    "firstKeptEntryIndex",
)
"""Keys that change where a record before them went."""

MORE: Final = sorted(path for path in real.MORE.glob("*/*") if path.is_file() and path.suffix in (".json", ".jsonl"))


def is_right(data: bytes) -> bool:
    return check(parse(data), source="test").valid


def texts_in(data: bytes) -> list[int]:
    """Where the texts of a file begin."""
    return [found.end() for found in re.finditer(rb'"text": ?"', data)]


def emptied(data: bytes, random: Random) -> bytes:
    """Some text of the file is empty."""
    places = texts_in(data)
    if not places:
        return data
    at = end = random.choice(places)
    while data[end : end + 1] != b'"':
        end += 2 if data[end : end + 1] == b"\\" else 1
    return data[:at] + data[end:]


def half_an_emoji(data: bytes, random: Random) -> bytes:
    places = texts_in(data)
    at = random.choice(places) if places else 0
    return data[:at] + b"\\ud83d" * bool(places) + data[at:]


DAMAGES: Final[dict[str, Callable[[bytes, Random], bytes]]] = {
    "lines": damaged,
    "empty texts": emptied,
    "half an emoji": half_an_emoji,
    "all of them": lambda data, random: half_an_emoji(emptied(damaged(data, random), random), random),
}


def repaired(data: bytes) -> Repair | None:
    """The repair of a damaged file, which is valid and stays as it is; None where it stopped."""
    try:
        found = repair(data)
    except CondenseError as error:
        assert error.message  # noqa: PT017 - what it says is for people
        return None
    name = found.transcript.format
    again = parse(found.data, format=name, is_own=True)
    assert check(again, source="test").faults == []
    assert repair(found.data, format_name=name).data == found.data
    if not found.changes:
        assert found.data == data
    check_untouched(data, found)
    return found


def check_untouched(data: bytes, found: Repair) -> None:
    """Each line of which more than its links changed is named by a change."""
    if found.transcript.source.container is not Container.LINES or format_named(found.transcript.format).is_log:
        return
    if data.lstrip()[:1] != b"{" or data.lstrip()[:2] == b"{\n":
        return  # One document, whose lines are no records.
    left = {_unlinked(line) for line in found.data.split(b"\n")}
    lost = {n for n, line in enumerate(data.split(b"\n"), 1) if line.strip() and _unlinked(line) not in left}
    assert lost <= {change.line for change in found.changes}, found.changes


def _unlinked(line: bytes) -> str:
    try:
        value: Any = json.loads(line.decode("utf-8", "surrogateescape"))
    except ValueError:
        return repr(line.strip())
    if isinstance(value, dict):
        value = {key: inside for key, inside in value.items() if key not in LINKS}
        if isinstance(value.get("payload"), dict):  # It may lose the id that asked for reasoning that went.
            value["payload"] = {key: inside for key, inside in value["payload"].items() if key != "id"}
    return json.dumps(value)


@given(FILES)
def test_what_is_right_stays_byte_for_byte(data: bytes) -> None:
    if is_right(data):
        assert repair(data).data == data


@pytest.mark.parametrize("damage", DAMAGES)
@given(data=FILES, random=st.randoms(use_true_random=False))
def test_any_damage_is_mended_or_told(damage: str, data: bytes, random: Random) -> None:
    repaired(DAMAGES[damage](data, random))


@given(st.randoms(use_true_random=False))
def test_damaged_sessions_of_interleaved_replies_are_mended_or_told(random: Random) -> None:
    repaired(damaged(as_lines(interleaved(random)), random))


@pytest.mark.real
@pytest.mark.parametrize("path", [*real.SAMPLES, *real.every_file(), *MORE], ids=lambda path: path.name)
def test_real_sessions_that_are_right_stay_byte_for_byte(path: Path) -> None:
    if real.is_readable(path) and check(real.transcript(path), source="test").valid:
        data = path.read_bytes()
        assert repair(data, name=path.name).data == data


@pytest.mark.real
@pytest.mark.parametrize("path", real.all_files(), ids=lambda path: path.name)
def test_damaged_real_sessions_are_mended_or_told(path: Path) -> None:
    data = path.read_bytes()
    if len(data) < 1_500_000:
        for seed in range(3):
            repaired(damaged(data, Random(f"{path.name} {seed}")))
