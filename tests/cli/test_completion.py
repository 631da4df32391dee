"""Completion in a shell: the right names, from as little code as possible."""

from __future__ import annotations

import subprocess
import sys

import pytest
from helpers import environment

from condense_cli.cli import options
from condense_cli.cli.options import FORMAT_NAMES
from condense_cli.config.preset_folders import preset_names
from condense_cli.formats import FORMATS
from condense_cli.formats.convert import TARGETS

COMPLETE = """
import sys
sys.argv[0] = "condense"
from condense_cli.cli import main
try:
    main()
finally:
    sys.stdout.flush()
    sys.stderr.write("MODULES " + " ".join(sys.modules))
"""


def completions(typed: str) -> tuple[list[str], set[str]]:
    """What a shell is offered for a command line, and the modules that were imported for it."""
    variables = {
        "_CONDENSE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(len(typed.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", COMPLETE], env=environment(variables), capture_output=True, text=True, check=False
    )
    return done.stdout.split(), set(done.stderr.rpartition("MODULES ")[2].split())


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("condense run --preset ", preset_names()),
        ("condense run x.jsonl -p q", ["quality"]),
        ("condense diff --preset s", ["speed"]),
        ("condense run --format ", [*FORMAT_NAMES, "rows"]),
        ("condense estimate x.jsonl -p sp", ["speed"]),
        ("condense evaluate x.jsonl --provider s", ["smart"]),
        ("condense evaluate x.jsonl --against n", ["none"]),
        ("condense run x.jsonl --to an", ["anthropic"]),
        ("condense show x.jsonl -f ge", ["gemini", "gemini-contents", "gemini-log"]),
        (
            "condense diff -f open",
            ["openai-chat", "openai-responses", "opencode", "opencode-events", "openhands", "openhands-sdk"],
        ),
    ],
)
def test_names_are_completed(typed: str, found: list[str]) -> None:
    printed, modules = completions(typed)
    assert printed == found
    assert not modules & {"rich", "splintr", "yaml", "msgspec", "asyncio", "rapidfuzz"}


def test_completed_formats_are_the_formats() -> None:
    assert sorted(form.name for form in FORMATS) == list(FORMAT_NAMES)
    assert options.TARGETS == TARGETS
