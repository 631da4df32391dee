"""Answers to a model: known sessions alone, nothing changed, of bounded length."""

import json
import os
import sys
from pathlib import Path

import killing
import pytest
from compacted_work import claude_summary
from helpers import CUT, as_lines, condense, session, snapshot

from condense_cli import Live, api
from condense_cli.clients import mcp_tools
from condense_cli.clients.claude_code import claude_folder
from condense_cli.clients.mcp_tools import MOST, Library, page
from condense_cli.clients.table import places
from condense_cli.config.own import UserConfiguration
from condense_cli.core.markers import gaps_in, parse_summary, short_hash
from condense_cli.errors import CondenseError, UsageError

ID = "0b7e63aa-0000-4000-8000-000000000001"


def put(home: Path, data: bytes, id: str = ID, project: str = "") -> Path:
    """A session of the project in this folder, or of another one."""
    path = home / ".claude" / "projects" / (project or claude_folder(os.path.realpath(home))) / f"{id}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture
def library(tmp_path: Path) -> Library:
    put(tmp_path, claude_summary())
    return Library(places(tmp_path, {}, sys.platform), tmp_path)


@pytest.fixture
def condensed_in_place(tmp_path: Path) -> Path:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    assert condense("run", str(file), "--preset", "speed", "--in-place", "-q").status == 0
    return file


def test_a_session_is_found_by_its_id_and_by_nothing_else(library: Library, tmp_path: Path) -> None:
    assert library.session("0b7e").path == library.session().path
    (tmp_path / "other.jsonl").write_bytes(as_lines(session()))
    for wanted in ("other", "../other", str(tmp_path / "other.jsonl"), "/etc/passwd"):
        with pytest.raises(CondenseError, match="There is no session"):
            library.session(wanted)


# Whoever can put a link among the sessions shall not have any other file read by it.
def test_a_link_that_leads_out_of_the_session_folders_is_no_session(library: Library, tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_bytes(as_lines(session()))
    link = put(tmp_path, b"", "0b7e63aa-0000-4000-8000-000000000002")
    link.unlink()
    link.symlink_to(outside)
    with pytest.raises(CondenseError, match="leads out"):
        library.session(link.stem)
    assert {each.path for each in library.originals(library.session(ID))} == {str(link.with_stem(ID))}


def test_a_server_for_one_session_has_no_other(library: Library, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()))
    one = Library(places(tmp_path, {}, sys.platform), tmp_path, str(file))
    assert one.session().path == one.session("session").path == str(file)
    with pytest.raises(UsageError, match="one session only"):
        one.session(ID)


def test_the_latest_session_is_none_of_another_project(tmp_path: Path) -> None:
    put(tmp_path, claude_summary(), project="-work-other")
    library = Library(places(tmp_path, {}, sys.platform), tmp_path)
    with pytest.raises(CondenseError, match="This project has no session"):
        library.session()
    assert library.session(ID[:8]).path.endswith(f"{ID}.jsonl")


# What was cut is in the backup beside the file.
def test_a_marker_is_found_in_the_backup(condensed_in_place: Path) -> None:
    library = Library((), condensed_in_place.parent, str(condensed_in_place))
    assert mcp_tools.show(library, short_hash(CUT[0])) == CUT[0]
    assert mcp_tools.show(library, "#" + short_hash(CUT[0])) == CUT[0]
    with pytest.raises(CondenseError):
        mcp_tools.show(library, "999999")


# A condensed session beside the original, as --new-session writes it.
def test_a_marker_is_found_in_a_session_of_the_same_project(tmp_path: Path) -> None:
    original = claude_summary()
    put(tmp_path, original)
    text = "What only the other session says."
    put(tmp_path, original.replace(b"Please make the limits larger.", text.encode()), "1c" + ID[2:])
    put(tmp_path, original.replace(b"Please make the limits larger.", b"Elsewhere."), "2d" + ID[2:], "-work-other")
    library = Library(places(tmp_path, {}, sys.platform), tmp_path)
    assert mcp_tools.show(library, short_hash(text), ID) == text
    with pytest.raises(CondenseError):
        mcp_tools.show(library, short_hash("Elsewhere."), ID)


def test_search_finds_what_was_compacted_with_line_numbers(library: Library) -> None:
    found = mcp_tools.search(library, "RETRY_LIMIT")
    text = library.session().transcript
    assert "retry_limit_total = 7" not in "\n".join(block.text for _, block in text.blocks() if block.answers)
    assert "     1: retry_limit_total = 7" in found
    number = found.split("#")[2].split(" ")[0]
    assert mcp_tools.show(library, number).startswith("retry_limit_total = 7\nconnect")


def test_search_shows_lines_around(library: Library) -> None:
    found = mcp_tools.search(library, "^app_1[45] =", is_pattern=True, context=1)
    lines = [line.split(" = ")[0] for line in found.splitlines() if "app_" in line]
    assert lines == ["    14- app_13", "    15: app_14", "    16: app_15", "    17- app_16"]


def test_a_search_says_when_there_is_nothing_or_no_pattern(library: Library) -> None:
    assert "No line" in mcp_tools.search(library, "nowhere to be found")
    with pytest.raises(UsageError, match="not a pattern"):
        mcp_tools.search(library, "(", is_pattern=True)
    with pytest.raises(UsageError, match="nothing to search"):
        mcp_tools.search(library, "  ")


def test_answers_are_bounded_and_go_on(tmp_path: Path) -> None:
    text = "\n".join(f"line {number} of a long text" for number in range(2_000)) + "\n" + "x" * 50_000
    first = page(text)
    assert len(first) < MOST + 100
    again = int(first.rpartition("first_line=")[2].split("]")[0])
    assert page(text, again).startswith(f"line {again - 1} of")
    assert len(page("y" * 100_000)) < MOST
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session(["match here\n" * 5_000])))
    library = Library((), tmp_path, str(file))
    assert "5,000 lines, of which 60 are shown" in mcp_tools.search(library, "match")
    assert len(mcp_tools.search(library, "match", context=10)) < MOST + 100


def test_figures_are_those_of_the_session(library: Library) -> None:
    assert json.loads(mcp_tools.inspect(library))["messages"] == len(library.session().transcript.messages)
    assert mcp_tools.check(library, UserConfiguration()).startswith("no: ")
    assert "Please make the limits larger." in mcp_tools.recap(library)
    assert mcp_tools.recap(library, lost=True).startswith("What the last compaction lost")


def test_nothing_is_written(library: Library, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    mcp_tools.search(library, "app")
    mcp_tools.show(library, "0")
    mcp_tools.recap(library)
    assert snapshot(tmp_path) == before


# A file that went on is read again.
def test_what_is_remembered_goes_when_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session()[:3]))
    library = Library((), tmp_path, str(file))
    first = library.session()
    assert library.session() is first
    file.write_bytes(as_lines(session()[:5]))
    assert len(library.session().transcript.messages) == 5


# The client keeps what the proxy leaves out of its requests.
@pytest.mark.parametrize("preset", ["balanced", "speed"])
def test_what_was_left_out_on_the_way_to_the_api_is_found(tmp_path: Path, preset: str) -> None:
    file = tmp_path / f"{ID}.jsonl"
    file.write_bytes(killing.session())
    messages = json.loads(api.convert(api.load(file), "anthropic").data)["messages"]
    live = Live(preset=preset, policy="tokens:100", keep_recent=1, format="anthropic")
    sent = api.loads(live.fit(messages).messages, format="anthropic")
    library = Library((), tmp_path, str(file))
    texts = [block.text for _, block in sent.blocks()]
    gaps = {gap.hash for text in texts for gap in gaps_in(text)}
    originals = {short_hash(block.text): block.text for _, block in api.load(file).blocks()}
    summaries = {mark.hash for mark in map(parse_summary, texts) if mark}
    assert gaps | summaries
    for wanted in gaps:
        assert mcp_tools.show(library, wanted).startswith(originals.get(wanted, "")[:1_000])
    for wanted in summaries:
        assert mcp_tools.show(library, wanted).startswith("--- ")
