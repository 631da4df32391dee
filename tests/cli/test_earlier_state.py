"""`condense run --before-compaction` and `--until`: a session as it was earlier."""

from pathlib import Path

import compacted_work as work
import pytest
from helpers import as_lines, condense

import condense_cli
from condense_cli.core.transcript import Transcript

SMALL = ("--lossless-only", "--quiet")


def texts(transcript: Transcript) -> str:
    return "\n".join(block.text for message in transcript.messages for block in message.blocks)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("data", "name"),
    [
        (work.claude_summary(), "claude.jsonl"),
        (work.codex(), "codex.jsonl"),
        (work.claude_keeping(), "claude.jsonl"),
        (work.claude_twice(), "claude.jsonl"),
        (work.codex(is_encrypted=True), "codex.jsonl"),
        (work.opencode(), "opencode.json"),
        (work.pi(), "pi.jsonl"),
        (work.kimi(), "wire.jsonl"),
    ],
)
def test_what_a_compaction_took_comes_back(tmp_path: Path, data: bytes, name: str) -> None:
    session, output = tmp_path / name, tmp_path / f"out-{name}"
    session.write_bytes(data)
    ran = condense("run", str(session), "--before-compaction", *SMALL, "-o", str(output))
    assert ran.status == 0, ran.stderr
    found = texts(condense_cli.load(output))
    assert work.REQUEST in found
    assert "app_3" in found
    assert work.SUMMARY not in found
    assert work.DONE not in found
    assert session.read_bytes() == data


# A new session is written even if condensing changes nothing: it is another state.
def test_a_new_session_of_it(tmp_path: Path) -> None:
    session = tmp_path / "claude.jsonl"
    session.write_bytes(work.claude_summary())
    ran = condense("run", str(session), "--before-compaction", "--lossless-only", "--new-session")
    assert b"claude --resume" in ran.stdout, ran.stderr
    (written,) = set(tmp_path.glob("*.jsonl")) - {session}
    assert work.SUMMARY not in written.read_text()
    assert "app_3" in texts(condense_cli.load(written))


def test_until_a_prompt(tmp_path: Path) -> None:
    session, output = tmp_path / "claude.jsonl", tmp_path / "out.jsonl"
    session.write_bytes(work.claude_twice())
    ran = condense("run", str(session), "--until", "yes", *SMALL, "-o", str(output))
    assert ran.status == 0, ran.stderr
    found = texts(condense_cli.load(output))
    assert "and go on." in found
    assert "Yes." not in found
    assert work.SUMMARY not in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--until", "nobody said this"], "No prompt holds 'nobody said this'"),
        (["--until", work.REQUEST], "Nothing comes before the prompt"),
        (["--before-compaction", "--in-place"], "--in-place would remove"),
        (["--until", ""], "--until needs words"),
        (["--until", " ", "--in-place"], "--until needs words"),
    ],
)
def test_what_cannot_be(tmp_path: Path, options: list[str], words: str) -> None:
    session = tmp_path / "claude.jsonl"
    session.write_bytes(work.claude_summary())
    ran = condense("run", str(session), *options)
    assert ran.status != 0
    assert words in ran.stderr
    assert session.read_bytes() == work.claude_summary()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (as_lines(work.before_in_claude()), "records no compaction"),
        (b'{"role": "user", "content": "Hello there."}\n{"role": "assistant", "content": "Hi."}\n', "is not known"),
    ],
)
def test_files_without_a_compaction(tmp_path: Path, data: bytes, words: str) -> None:
    session = tmp_path / "session.jsonl"
    session.write_bytes(data)
    ran = condense("run", str(session), "--before-compaction", "-o", str(tmp_path / "out.jsonl"))
    assert (ran.status, words in ran.stderr) == (1, True), ran.stderr


def test_several_files_have_no_earlier_state(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(work.claude_summary())
    ran = condense("run", str(tmp_path), "--before-compaction", "--out-dir", str(tmp_path / "out"))
    assert (ran.status, "--before-compaction" in ran.stderr) == (2, True), ran.stderr
