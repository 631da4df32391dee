"""`condense restore`: what a lossless run wrote comes back, and what cannot come back is said."""

import json
from pathlib import Path
from typing import Any

import pytest
import real
from build import assistant, read_turn, text, thinking, user
from helpers import condense, condense_on_terminal

from condense_cli import api
from condense_cli.config.models import Configuration, Prelude
from condense_cli.errors import ExitStatus
from condense_cli.formats import format_named
from condense_cli.tokens.counting import Counter

pytestmark = pytest.mark.usefixtures("anywhere")

SOURCE = "\n".join(f"{number:>6}\tline {number} of the file, long enough to be worth it" for number in range(1, 20))
TWICE = [user("Look twice."), *read_turn("toolu_1", content=SOURCE), *read_turn("toolu_2", content=SOURCE)]


def lines(records: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.fixture
def session(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(TWICE))
    return path


# Restore undoes a lossless run: byte for byte for a file written as Python writes it.
def test_a_lossless_run_is_undone(session: Path, tmp_path: Path) -> None:
    small = condense("run", session, "--lossless-only").stdout
    assert len(small) < len(session.read_bytes())
    assert b"[see the next Read of src/app.py #" in small
    (tmp_path / "small.jsonl").write_bytes(small)
    done = condense("restore", tmp_path / "small.jsonl", "-o", tmp_path / "whole.jsonl")
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert done.text == f"1 reference restored.\nWritten: {tmp_path / 'whole.jsonl'}\n"
    assert (tmp_path / "whole.jsonl").read_bytes() == session.read_bytes()
    again = condense("restore", tmp_path / "small.jsonl", "-o", tmp_path / "whole.jsonl")
    assert again.text == done.text.replace("whole.jsonl", "whole.jsonl, in place of the file that was there")


# In a pipe the restored transcript goes to standard output and the counts to standard error.
def test_restore_in_a_pipe(session: Path) -> None:
    small = condense("run", session, "--lossless-only").stdout
    done = condense("restore", "-", stdin=small)
    assert (done.status, done.stdout) == (ExitStatus.DONE, session.read_bytes())
    assert done.stderr == "1 reference restored.\n"


# On a terminal nothing is written without -o, which is worth saying only where something was restored.
def test_restore_on_a_terminal_says_how_to_write(session: Path, tmp_path: Path) -> None:
    (tmp_path / "small.jsonl").write_bytes(condense("run", session, "--lossless-only").stdout)
    done = condense_on_terminal("restore", tmp_path / "small.jsonl")
    assert done.plain == "1 reference restored.\nNothing was written; add -o FILE to write the restored transcript.\n"
    assert condense_on_terminal("restore", session).plain == "Nothing to restore.\n"


# A transcript without references comes back as it is.
def test_nothing_to_restore(session: Path) -> None:
    done = condense("restore", session)
    assert (done.status, done.stdout) == (ExitStatus.DONE, session.read_bytes())


# A reference to lines that are not there any more stays, is counted, and gives status 3; the rest is restored.
def test_what_cannot_be_resolved(tmp_path: Path) -> None:
    other = SOURCE.replace("line", "other")
    records = [*TWICE, *read_turn("toolu_3", "b.py", other), *read_turn("toolu_4", "b.py", other)]
    small = json.loads(b"[" + b",".join(small_lines(records)) + b"]")
    del small[7:9]
    path = tmp_path / "small.jsonl"
    path.write_bytes(lines(small))
    done = condense("restore", path, "-o", tmp_path / "whole.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "1 reference restored." in done.text
    assert "1 reference cannot be undone: " in done.text
    assert (tmp_path / "whole.jsonl").read_bytes() == lines([*TWICE, *small[5:]])
    as_json = condense("restore", path, "--json")
    counts = json.loads(as_json.stdout)
    assert (counts["resolved"], counts["unresolved"], counts["left_out"]) == (1, 1, 0)
    for quiet in (as_json, condense("restore", path, "-q")):
        assert (quiet.status, "1 reference cannot be undone: " in quiet.stderr) == (ExitStatus.INPUT, True)


def small_lines(records: list[dict[str, Any]]) -> list[bytes]:
    transcript = api.loads(lines(records))
    return api.dump(api.condense(transcript, Configuration(lossless_prelude=Prelude()))).splitlines()


# Text cut by a pass does not come back, and is counted.
def test_lossy_markers_stay(tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    others = [turn for n in range(4) for turn in read_turn(f"toolu_{n}", f"{n}.py", SOURCE.replace("line", f"line{n}"))]
    path.write_bytes(condense("run", "-", "-p", "speed", stdin=lines([user("Read."), *others])).stdout)
    counts = json.loads(condense("restore", path, "--json").stdout)
    assert counts["left_out"] > 0
    assert counts["unresolved"] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--json", "-o", "-"], "both write to standard output"),
        (["-o", "{input}"], "input"),
    ],
)
def test_impossible_wishes_are_refused(session: Path, arguments: list[str], said: str) -> None:
    before = session.read_bytes()
    done = condense("restore", session, *(argument.format(input=session) for argument in arguments))
    assert done.status == ExitStatus.USAGE
    assert said in done.message
    assert session.read_bytes() == before


# Nothing changes in front of thinking that the model binds to it, unless the thinking may go.
def test_lossless_only_spares_bound_thinking() -> None:
    records = [*TWICE, assistant([thinking(), text("Done.")])]
    kept = condense("run", "-", "--lossless-only", "--model", "claude-opus-5-5", stdin=lines(records))
    assert kept.stdout == lines(records)
    dropped = condense("run", "-", "--lossless-only", "-m", "claude-opus-5-5", "--drop-thinking", stdin=lines(records))
    assert b"[see " in dropped.stdout
    assert b"signature" not in dropped.stdout


# Flags that narrow a run narrow the prelude too.
@pytest.mark.parametrize("flags", [["--keep-recent", "4"], ["--except-tools", "Read"], ["--range", ":2"]])
def test_flags_hold_for_the_prelude(flags: list[str]) -> None:
    assert condense("run", "-", "--lossless-only", *flags, stdin=lines(TWICE)).stdout == lines(TWICE)


# Every real transcript that can be written comes back as it was, with and without the parameters of calls.
@pytest.mark.parametrize(("path", "has_parameters"), real.spread(real.all_files(), [False, True]), ids=str)
def test_real_transcripts_come_back(path: Path, has_parameters: bool, count: Counter) -> None:
    transcript = real.transcript(path)
    if not format_named(transcript.format).is_writable:
        pytest.skip("the format is only read")
    prelude = Prelude(tool_parameters=has_parameters)
    configuration = Configuration(keep_first=0, lossless_prelude=prelude, thinking="keep")
    small = api.dump(api.condense(transcript, configuration, counter=count))
    found = api.restore(api.loads(small, format=transcript.format))
    assert found.unresolved == 0
    assert parsed(api.dump(found)) == parsed(path.read_bytes())


def parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return [json.loads(line) for line in data.split(b"\n") if line.strip()]


# The report says that no pass ran, whatever preset the run began with.
@pytest.mark.parametrize(("flags", "name"), [([], "lossless only"), (["-p", "speed"], "speed, lossless only")])
def test_a_lossless_run_is_named_so(session: Path, flags: list[str], name: str) -> None:
    report = json.loads(condense("run", session, "--lossless-only", "--json", *flags).stdout)
    assert report["configuration"] == name
    assert [entry["id"] for entry in report["passes"]] == ["lossless-prelude"]


# References on another branch, or before a compaction, are not part of the conversation: they are counted, and stay.
def test_references_outside_the_conversation(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    source = real.SESSION.read_bytes()
    path.write_bytes(source)
    small = condense("run", path, "--lossless-only").stdout
    first = next(
        json.loads(line) for line in small.splitlines() if b'"type": "user"' in line or b'"type":"user"' in line
    )
    back = {**first, "uuid": "11111111-1111-4111-8111-111111111111", "parentUuid": first["uuid"], "type": "user"}
    back["message"] = {"role": "user", "content": "Let us go back."}
    back["timestamp"] = "2099-01-01T00:00:00.000Z"
    path.write_bytes(small.rstrip(b"\n") + b"\n" + json.dumps(back).encode() + b"\n")
    done = condense("restore", path, "--json")
    counts = json.loads(done.stdout)
    assert done.status == ExitStatus.INPUT
    assert counts["elsewhere"] > 50


# A transcript written with one direction can be condensed again with the other, and still comes back.
def test_the_direction_may_change(session: Path, tmp_path: Path) -> None:
    (tmp_path / "earliest.yaml").write_text("keep_first: 0\nlossless_prelude: {enabled: true, keep: earliest}\n")
    source = real.SESSION.read_bytes()
    latest = condense("run", "-", "--lossless-only", stdin=source).stdout
    earliest = condense("run", "-", "-c", tmp_path / "earliest.yaml", stdin=latest).stdout
    assert b" of the previous " in earliest
    assert b" of the next " not in earliest
    assert condense("restore", "-", stdin=earliest).stdout == source
