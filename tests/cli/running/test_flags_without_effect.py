"""A flag that matches nothing in the transcript is most likely a slip of the finger: a run warns of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import condense


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--only-tools", "Raed"], ["--only-tools Raed matches no tool of this transcript; did you mean 'Read'?"]),
        (
            ["--only-tools", "Read", "--only-tools", "raed"],
            ["--only-tools raed matches no tool of this transcript; did"],
        ),
        (["--except-tools", "Kwrt"], ["--except-tools Kwrt matches no tool of this transcript."]),
        (["--range", "90:100"], ["--range 90:100 matches no message; the last one is 17."]),
        (["--range", ":-20"], ["--range 0:-20 matches no message; the last one is 17."]),
        (["--only-tools", "re*", "--except-tools", "mcp__*", "--range", "17:"], []),
        (["--only-tools", "Raed", "--if-needed", "--context-window", "1000000"], []),
    ],
)
def test_a_flag_that_matches_nothing_is_warned_of(file: Path, flags: list[str], said: list[str]) -> None:
    warnings = condense("run", file, "-p", "speed", "--json", *flags).json["warnings"]
    found = [warning for warning in warnings if "matches no" in warning]
    assert len(found) == len(said)
    assert all(warning.startswith(start) for warning, start in zip(found, said, strict=True))
