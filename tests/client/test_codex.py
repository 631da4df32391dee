"""Codex itself sends what our reader takes for the conversation, before and after condensing."""

import json
from pathlib import Path

import pytest
import real

from condense_cli.core.values import BlockKind
from condense_cli.formats import parse
from condense_cli.rules.validity import validate

from . import codex_plan
from .codex import Codex
from .codex_items import differences, message, of_request
from .condensing import WAYS, condensed, condensed_beside
from .install import Clients
from .loopback import Json
from .resuming import NEXT, Rollout, resume_rollout

pytestmark = pytest.mark.client


@pytest.fixture(scope="module")
def recorded(clients: Clients, tmp_path_factory: pytest.TempPathFactory) -> Rollout:
    """Two requests, the second in the resumed session."""
    client = Codex(clients.program("codex"), tmp_path_factory.mktemp("recorded"))
    codex_plan.prepare(client.project)
    started = client.start("Give item 7 a name.", codex_plan.turns())
    assert (started.status, len(started.requests)) == (0, len(codex_plan.turns())), started.error
    (path,) = client.rollouts()
    resumed = client.resume(path.stem[-36:], "Do it once more.", codex_plan.turns())
    assert (resumed.status, len(resumed.requests)) == (0, len(codex_plan.turns())), resumed.error
    return Rollout(path.read_bytes(), path.name)


def changed(case: str, records: list[Json]) -> list[Json]:
    """The recorded session, as something happened to it."""
    middle = next(n for n, record in enumerate(records) if record["payload"].get("type") == "custom_tool_call")
    last = records[-1]["ordinal"]

    def put(kind: str, at: int, **payload: object) -> list[Json]:
        record = {"timestamp": records[at]["timestamp"], "ordinal": last + 1, "type": kind, "payload": payload}
        return [*records[:at], record, *records[at:]]

    def without(kind: str) -> list[Json]:
        return [record for record in records if record["payload"].get("type") != kind]

    if case == "a compaction with a list":
        return put("compacted", middle, message="", replacement_history=[message("What is left.")])
    if case == "a compaction without a list":
        return put("compacted", middle, message="What was done so far.")
    if case == "a compaction at the end":
        return put("compacted", len(records) - 1, message="", replacement_history=[message("What is left.")])[:-1]
    if case == "a turn taken back":
        return put("event_msg", len(records) - 1, type="thread_rolled_back", num_turns=1)
    if case == "a second head":
        return put("session_meta", middle, **records[0]["payload"])
    return without(case.removeprefix("without "))


CASES = [
    "a compaction with a list",
    "a compaction without a list",
    "a compaction at the end",
    "a turn taken back",
    "a second head",
    "without function_call",
    "without function_call_output",
    "without custom_tool_call",
    "without custom_tool_call_output",
    "without reasoning",
    "without item_completed",
]


# A session that the client recorded itself.
def test_the_recorded_session_is_read_as_it_is_sent(codex: Codex, recorded: Rollout) -> None:
    transcript, request = resume_rollout(codex, recorded)
    assert differences(transcript, request, NEXT) == []
    kinds = {block.kind for _, block in transcript.blocks()}
    assert {BlockKind.TEXT, BlockKind.THINKING, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT} <= kinds


# Compactions, rollbacks, forks, calls and outputs without a counterpart.
@pytest.mark.parametrize("case", CASES)
def test_the_rules_of_the_reader_are_those_of_the_client(codex: Codex, recorded: Rollout, case: str) -> None:
    transcript, request = resume_rollout(codex, recorded.with_records(changed(case, recorded.records)))
    assert differences(transcript, request, NEXT) == []


# In the older files, which have no pages, a later head is another session's and drops nothing.
def test_a_second_head_in_an_older_file(codex: Codex, recorded: Rollout) -> None:
    records = [{key: value for key, value in record.items() if key != "ordinal"} for record in recorded.records]
    del records[0]["payload"]["history_mode"]
    transcript, request = resume_rollout(codex, recorded.with_records([*records[:20], records[0], *records[20:]]))
    assert differences(transcript, request, NEXT) == []
    assert len(of_request(request)) > 20


# A condensed session resumes in its place, sends what it says, and is smaller.
@pytest.mark.parametrize("way", WAYS)
def test_a_condensed_session_resumes(codex: Codex, recorded: Rollout, way: str, tmp_path: Path) -> None:
    before = parse(recorded.data)
    after, request = resume_rollout(codex, recorded._replace(data=condensed(recorded.data, way, tmp_path)))
    assert differences(after, request, NEXT) == []
    assert sum(len(block.text) for _, block in after.blocks()) < sum(len(block.text) for _, block in before.blocks())
    assert validate(after) == validate(before) == []
    if way == "no thinking":
        assert [item for item in of_request(request) if item["type"] == "reasoning"] == []


# So does the sample, once it names the provider of these tests: the client goes on with no other.
@pytest.mark.parametrize("way", WAYS)
def test_the_condensed_sample_resumes(codex: Codex, way: str, tmp_path: Path) -> None:
    data = (real.PROJECT / "sample_transcripts" / "bugfix-rollout.jsonl").read_bytes()
    data = data.replace(b'"model_provider":"openai"', b'"model_provider":"loopback"')
    session = json.loads(data.splitlines()[0])["payload"]["id"]
    rollout = Rollout(condensed(data, way, tmp_path), f"rollout-2026-03-02T09-00-00-{session}.jsonl")
    after, request = resume_rollout(codex, rollout)
    assert differences(after, request, NEXT) == []


# The client lists turns from an index of the bytes of the file: it reads on where the condensed one goes on.
@pytest.mark.parametrize("destination", ["--new-session", "--in-place"])
@pytest.mark.parametrize("way", ["speed", "max", "no thinking"])
def test_the_client_goes_on_in_its_index(codex: Codex, destination: str, way: str) -> None:
    codex_plan.prepare(codex.project)
    codex.start("Give item 7 a name.", codex_plan.turns())
    (old,) = codex.rollouts()
    assert codex.indexed(old.stem[-36:])[0] == old.stat().st_size
    path = condensed_beside(old, destination, way)
    for turns in (2, 3):
        assert codex.resume(path.stem[-36:], NEXT).status == 0
        last = json.loads(path.read_bytes().splitlines()[-1])["ordinal"]
        assert codex.indexed(path.stem[-36:]) == (path.stat().st_size, last + 1, turns)


# What is written as a session beside the old one, or in its place, is what the client finds and resumes.
@pytest.mark.parametrize("destination", ["--new-session", "--in-place"])
def test_a_written_session_is_found(codex: Codex, recorded: Rollout, destination: str) -> None:
    old = codex.put(recorded.data, recorded.name)
    path = condensed_beside(old, destination)
    transcript = parse(path.read_bytes())
    ran = codex.resume(path.stem[-36:], NEXT)
    assert len(ran.requests) == 1, ran.output + ran.error
    assert differences(transcript, ran.requests[0], NEXT) == []
    if destination == "--new-session":
        assert path.name != recorded.name
        assert old.read_bytes() == recorded.data
