"""The table of sessions tells those that condense wrote, by the marks in them."""

import pytest
import real
from helpers import condense
from machine import Machine, dialogue, written

from condense_cli.errors import ExitStatus

ROLLOUT = "019fc8be-3658-7ca3-9e29-00000000000a"
SAMPLE = real.PROJECT / "sample_transcripts" / "bugfix-session.jsonl"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("preset", ["speed", "lossless"])
@pytest.mark.parametrize("place", ["--new-session", "--in-place"])
def test_a_condensed_session_is_told_from_its_original(machine: Machine, place: str, preset: str) -> None:
    file = written(machine.claude / "-home-dev-inventory" / "original.jsonl", SAMPLE.read_bytes(), age=60)
    machine.claude_code(
        "other",
        *dialogue(
            "↓ [condense: 3 lines left out #5f2c91d8] and [… 3 lines #406167] are what stands there. [see below]"
        ),
    )
    assert [row["condensed"] for row in machine.rows()] == [False, False]
    assert "condensed." not in machine.sessions().text
    assert condense("run", file, place, "-p", preset, env=machine.env).status == ExitStatus.DONE
    condensed = {row["id"]: row["condensed"] for row in machine.rows()}
    assert condensed.pop("other") is False
    assert condensed.pop("original") is (place == "--in-place")
    assert list(condensed.values()) == ([True] if place == "--new-session" else [])
    shown = machine.sessions(columns=120).text
    assert shown.count("  ↓ Several tests") == 1
    assert "↓: condensed." in shown


# However a file spells the ellipsis, also in JSON within a string; those of version 0.1.0 have none.
@pytest.mark.parametrize(
    "spelled",
    [
        "a\\n[… 3 lines #406167]",
        "[\\u2026 3 lines #406167]\\nb",
        '{\\"a\\":\\"[\\\\u2026 3 lines #406167]\\"}',
        "[condense: 3 lines left out #5f2c91d8]",
        "[condense: summary of 3 lines #406167]\\nIt works.",
        "[… image #406167]",
    ],
)
def test_each_spelling_of_a_marker_is_seen(machine: Machine, spelled: str) -> None:
    machine.claude_code("it", *dialogue("MARKER"))
    (file,) = (machine.claude).rglob("it.jsonl")
    file.write_bytes(file.read_bytes().replace(b"MARKER", spelled.encode(), 1))
    assert [row["condensed"] for row in machine.rows()] == [True]


def test_a_condensed_rollout_is_told_too(machine: Machine) -> None:
    rollout = (SAMPLE.parent / "bugfix-rollout.jsonl").read_bytes()
    file = written(
        machine.home / ".codex/sessions/2026/05/28" / f"rollout-2026-05-28T10-00-00-{ROLLOUT}.jsonl", rollout
    )
    assert condense("run", file, "--new-session", "-p", "speed", env=machine.env).status == ExitStatus.DONE
    assert {row["id"] == ROLLOUT: row["condensed"] for row in machine.rows()} == {True: False, False: True}
