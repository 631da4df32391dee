"""Real transcripts, where they are present beside the project."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from condense_cli.errors import CondenseError
from condense_cli.formats import parse
from condense_cli.transcript import Transcript

PROJECT = Path(__file__).resolve().parent.parent
FOLDER = PROJECT.parent / "shared" / "transcripts"
SAMPLES = sorted(
    path for path in (PROJECT / "sample_transcripts").glob("*.json*") if path.suffix in (".json", ".jsonl")
)

OF_FORMAT = {
    "claude-code": ["claude-code/*.jsonl"],
    "openai-chat": ["openhands-completions/*.json", "derived/openai-messages-django-11265.jsonl"],
    "anthropic": ["derived/anthropic-messages-coderabbit.json*"],
    "codex": ["codex/*.jsonl"],
    "roo": ["roo-code/*api_conversation_history.json", "cline/*.json"],
}
"""Files that are known to be of a format."""

READ_ONLY = {"swe-agent": ["swe-agent/*.traj"]}
"""The same for formats that cannot be written."""


def files_of(format: str) -> list[Path]:
    return sorted(path for pattern in (OF_FORMAT | READ_ONLY)[format] for path in FOLDER.glob(pattern))


def all_files() -> list[Path]:
    """Those whose format can be written back."""
    return [*SAMPLES, *(path for format in OF_FORMAT for path in files_of(format))]


def largest() -> list[Path]:
    """The largest file of each format that can be written back."""
    return [max(files, key=lambda path: path.stat().st_size) for format in OF_FORMAT if (files := files_of(format))]


def every_file() -> list[Path]:
    """Whatever is there, of any format."""
    return sorted(path for path in FOLDER.glob("*/*") if path.is_file())


@cache
def transcript(path: Path) -> Transcript:
    return parse(path.read_bytes(), name=path.name)


@cache
def is_readable(path: Path) -> bool:
    try:
        parse(path.read_bytes(), name=path.name)
    except CondenseError:
        return False
    return True
