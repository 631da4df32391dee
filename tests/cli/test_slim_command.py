"""What the commands say of `--slim`: bytes apart from tokens, and where what was left out is found."""

import json
from pathlib import Path

import pytest
import real
from build import LONG, OLD, call, claude_line, result, text
from helpers import condense

from condense_cli.core.markers import short_hash

SESSION = "".join(
    json.dumps(record) + "\n"
    for record in (
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("x")], reply="m"),
        claude_line("user", "3", "2", [result("x")], toolUseResult={"stdout": LONG, "originalFile": OLD}),
        claude_line("assistant", "4", "3", [text("ok")], reply="n"),
    )
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(SESSION)
    return path


def test_the_command_reports_bytes_apart_from_tokens(file: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.jsonl"
    done = condense("run", file, "--lossless-only", "--slim", "-o", small, "--json")
    report = done.json
    assert report["tokens"]["saved"] == 0
    assert report["bytes"] == {"before": len(SESSION), "after": small.stat().st_size}
    kinds = {kind.pop("name"): kind for kind in report["slim"]["kinds"]}
    assert list(kinds) == ["result_copies", "original_files"]
    assert kinds["original_files"]["records"] == kinds["original_files"]["values"] == 1
    assert report["slim"]["bytes"] == len(SESSION) - small.stat().st_size
    assert not any("Nothing was changed" in warning for warning in report["warnings"])
    piped = condense("run", file, "--lossless-only", "--slim")
    assert piped.stdout == small.read_bytes()
    line = piped.stderr.splitlines()[1]
    assert f"from {len(SESSION):,} to {small.stat().st_size:,} bytes" in line
    assert "The context is unchanged; what the client displays cannot be restored." in line
    assert "files before an edit" in line


def test_without_the_flag_nothing_is_slimmed(file: Path) -> None:
    assert condense("run", file, "--lossless-only").stdout == SESSION.encode()
    assert condense("run", file, "--json").json["slim"] is None


def test_a_lossy_run_does_not_call_its_context_lossless(file: Path) -> None:
    line = condense("run", file, "-p", "cost", "--slim", "--keep-recent", "0").stderr.splitlines()[1]
    assert line.endswith(". What the client displays cannot be restored.")


def test_a_format_without_display_data_says_so(tmp_path: Path) -> None:
    path = tmp_path / "messages.jsonl"
    path.write_text(json.dumps({"role": "user", "content": [{"type": "text", "text": "hello"}]}) + "\n")
    done = condense("run", path, "--slim")
    assert done.stdout == path.read_bytes()
    assert "--slim: nothing in this anthropic file is for display only." in done.stderr
    assert condense("run", path, "--slim", "--json").json["slim"] == {"bytes": 0, "kinds": []}


def test_inspect_says_what_slimming_would_win(file: Path) -> None:
    found = condense("inspect", file, "--json").json["slim"]
    assert found == condense("run", file, "--slim", "--json").json["slim"]
    text = " ".join(condense("inspect", file).text.split())
    assert f"--slim would leave out {found['bytes']:,} of the rest" in text


def test_inspect_says_of_how_many_bytes_where_it_does_not_name_the_rest() -> None:
    path = real.PROJECT / "sample_transcripts" / "bugfix.traj"
    found = condense("inspect", path, "--json").json
    text = " ".join(condense("inspect", path).text.split())
    assert f"--slim would leave out {found['slim']['bytes']:,} of {path.stat().st_size:,} bytes: " in text


def test_show_prints_what_the_marker_in_a_slimmed_file_stands_for(file: Path) -> None:
    done = condense("show", file, short_hash(OLD))
    assert done.stdout == OLD.encode()
    (block,) = condense("show", file, short_hash(OLD), "--json").json["blocks"]
    assert (block["found"], block["message"], block["path"]) == ("display", 2, ["toolUseResult", "originalFile"])
    aside = file.with_name("aside.jsonl")
    lines = SESSION.splitlines()
    alone = json.loads(lines[2]) | {"uuid": "9", "parentUuid": None, "isSidechain": True}
    aside.write_text("\n".join([*lines[:2], json.dumps(alone)]))
    (block,) = condense("show", aside, short_hash(OLD), "--json").json["blocks"]
    assert (block["found"], block["message"], block["role"], block["record"]) == ("display", None, None, 2)
