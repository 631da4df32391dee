"""Counts with their nouns, in what commands say."""

import re
from pathlib import Path

import pytest
from build import assistant, user
from helpers import as_lines, condense

from condense_cli.core.wording import plural


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (plural(0, "file"), "0 files"),
        (plural(1, "file"), "1 file"),
        (plural(1204, "file"), "1,204 files"),
        (plural(1, "pass", "passes"), "1 pass"),
        (plural(2, "pass", "passes"), "2 passes"),
    ],
)
def test_one_is_one(said: str, expected: str) -> None:
    assert said == expected


def test_commands_speak_of_one_message(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(as_lines([user("Please go.")]))
    two.write_bytes(as_lines([user("Please come.")]))
    for arguments in (("inspect", one), ("validate", one), ("diff", one, two), ("estimate", one), ("run", one, "-n")):
        said = condense(*arguments).text
        assert not re.search(r"\b1 (?:\w+ )?(?:messages|tokens|blocks|files|rows) ", said), said


def test_missed_targets_speak_of_what_is_protected(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines([user("Please go."), assistant("Gone."), user("Back."), assistant("Here.")]))
    said = condense("run", file, "--target-tokens", "1", "-p", "speed").stderr
    assert "The target of 1 token was not reached" in said
    assert re.search(r"\d+ tokens are protected", said)
