"""Strings that must be kept: they outlast every preset and target, and a result without one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import condense, snapshot
from hypothesis import given
from hypothesis import strategies as st
from real import SESSION

from condense_cli import api
from condense_cli.config.preset_folders import preset_names
from condense_cli.errors import ExitStatus, GoneError
from condense_cli.passes import must_keep

STRINGS = ("E        +  where 3 = OrderLine", "Product(sku='MUG-01'", "def round_money", "README.md")
"""They are in old results and arguments, which go first."""


@pytest.fixture
def strings(tmp_path: Path) -> Path:
    path = tmp_path / "must.txt"
    path.write_text("\n".join(("", *STRINGS, "never said anywhere")) + "\n")
    return path


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", [None, 6_000])
@pytest.mark.parametrize("preset", ["speed", "balanced", *sorted({*preset_names()} - {"speed", "balanced"})])
def test_they_outlast_every_preset_and_a_target(preset: str, target: int | None) -> None:
    transcript = api.load(SESSION)
    overrides = api.overrides_from(must_keep=STRINGS)
    configuration = {"preset": preset} | ({"target_tokens": target} if target else {})
    result = api.condense(transcript, configuration, overrides=overrides)
    assert must_keep.gone(STRINGS, transcript.messages, result.transcript.messages) == []
    again = api.condense(result.transcript, configuration, overrides=overrides)
    assert not again.changes


def test_without_them_they_go_and_lines_beside_them_go_all_the_same() -> None:
    transcript = api.load(SESSION)
    usual = api.condense(transcript, preset="balanced", target_tokens=5_000)
    assert must_keep.gone(STRINGS, transcript.messages, usual.transcript.messages)
    held = api.condense(
        transcript, preset="balanced", target_tokens=5_000, overrides=api.overrides_from(must_keep=STRINGS)
    )
    assert not held.is_target_missed


def test_a_string_that_the_input_does_not_hold_is_told() -> None:
    transcript = api.load(SESSION)
    result = api.condense(transcript, {"preset": "speed", "must_keep": [STRINGS[0], "never said anywhere"]})
    assert "The input does not hold what must be kept: 'never said anywhere'." in result.warnings
    assert not [text for text in result.warnings if STRINGS[0] in text]


def test_a_configuration_names_them_too() -> None:
    transcript = api.load(SESSION)
    result = api.condense(transcript, {"preset": "speed", "must_keep": [STRINGS[0]]})
    assert must_keep.gone(STRINGS[:1], transcript.messages, result.transcript.messages) == []


@given(st.lists(st.sampled_from(STRINGS), unique=True, min_size=1), st.sampled_from((4_000, 8_000, 16_000)))
def test_any_of_them_are_kept_at_any_size(strings: list[str], target: int) -> None:
    transcript = api.load(SESSION)
    overrides = api.overrides_from(must_keep=strings)
    result = api.condense(transcript, preset="balanced", target_tokens=target, overrides=overrides)
    assert must_keep.gone(strings, transcript.messages, result.transcript.messages) == []


def test_the_command_keeps_what_a_file_names(strings: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.jsonl"
    assert condense("run", SESSION, "-p", "speed", "--must-keep", strings, "-o", out).status == ExitStatus.DONE
    assert all(text.replace('"', '\\"') in out.read_text() for text in STRINGS)
    assert condense("diff", SESSION, out, "--must-keep", strings, "--stat").status == ExitStatus.DONE


def test_diff_names_what_is_gone(strings: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.jsonl"
    condense("run", SESSION, "--target-percent", "10", "-o", out)
    done = condense("diff", SESSION, out, "--must-keep", strings)
    assert (done.status, done.text) == (ExitStatus.GONE, "")
    assert f"{STRINGS[1]!r} (message " in done.message
    assert "never said" not in done.message


def test_diff_says_what_the_older_one_does_not_hold(strings: Path) -> None:
    for other in (("-p", "lossless"), (SESSION,)):
        done = condense("diff", SESSION, *other, "--must-keep", strings, "--stat")
        assert done.status == ExitStatus.DONE
        assert "does not hold what must be kept: 'never said anywhere'." in done.stderr


def test_a_run_that_loses_one_writes_nothing(strings: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.passes.selection.holders", lambda *_: {})  # As a provider of others may do.
    before = snapshot(tmp_path)
    for where in (("-o", tmp_path / "small.jsonl"), ("-o", "-"), ("--html", tmp_path / "page.html", "--dry-run")):
        done = condense("run", SESSION, "--target-percent", "10", "--must-keep", strings, *where)
        assert (done.status, done.text) == (ExitStatus.GONE, "")
        assert "gone from the result" in done.message
        assert STRINGS[1] in done.message
    # Standard input is read in this process, where the blocks are not found.
    measured = ("evaluate", "-", "-p", "speed", "--against", "none", "--must-keep", strings)
    done = condense(*measured, stdin=SESSION.read_bytes())
    assert (done.status, done.text) == (ExitStatus.GONE, "")
    assert snapshot(tmp_path) == before
    with pytest.raises(GoneError, match="MUG-01"):
        api.condense(api.load(SESSION), preset="speed", overrides=api.overrides_from(must_keep=STRINGS))


def test_thinking_alone_does_not_keep_a_string() -> None:
    messages = [
        {"role": "user", "content": "Begin."},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "ALPHA_7", "signature": "s"}]},
    ]
    assert must_keep.holders(["ALPHA_7"], api.loads(messages).messages) == {}


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00", b"\n \n"])
def test_a_file_that_cannot_be_read_is_a_usage_error(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "must.txt"
    if content is not None:
        path.write_bytes(content)
    done = condense("run", SESSION, "--must-keep", path)
    assert (done.status, "--must-keep" in done.message) == (ExitStatus.USAGE, True)
