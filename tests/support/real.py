"""Real transcripts, where they are present beside the project."""

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TypeVar

from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError
from condense_cli.formats import parse

T = TypeVar("T")
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
PROJECT = Path(__file__).resolve().parent.parent.parent
FOLDER = PROJECT.parent / "shared" / "transcripts"
MORE = PROJECT.parent / "shared" / "more-transcripts"
SAMPLES = sorted(
    path for path in (PROJECT / "sample_transcripts").iterdir() if path.suffix in (".json", ".jsonl", ".traj")
)
"""Those whose format can be written back."""

SESSION = PROJECT / "sample_transcripts" / "bugfix-session.jsonl"
"""The one that is a session of Claude Code, of some length."""

ONLY_READ = sorted((PROJECT / "sample_transcripts" / "logs").glob("*.jsonl"))
"""Samples whose format cannot be written."""

OF_FORMAT = {
    "claude-code": ["claude-code/*.jsonl"],
    "openai-chat": ["openhands-completions/*.json", "derived/openai-messages-django-11265.jsonl"],
    "anthropic": ["derived/anthropic-messages-coderabbit.json*"],
    "codex": ["codex/*.jsonl"],
    "openai-responses": [],
    "roo": ["roo-code/*api_conversation_history.json"],
    "cline": ["cline/*.messages.json"],
    "sharegpt": [],
    "opencode": [],
    "pi": [],
    "gemini": [],
    "gemini-log": [],
    "kimi": ["kimi/*.jsonl"],
    "copilot": [],
    "langchain": [],
    "google-adk": [],
    "atif": [],
    "bedrock-converse": [],
    "droid": [],
    "gemini-contents": [],
    "goose": [],
    "ai-sdk-ui": [],
    "session-trace": [],
    "qwen-code": [],
    "swe-agent": ["swe-agent/*.traj"],
    "mini-swe-agent": ["mini-swe-agent/*.json"],
    "openhands-sdk": ["openhands-events/*.jsonl"],
    "inspect": ["inspect/*_browser.json", "inspect/inspect-log_images_tc.json"],
}
"""Files that are known to be of a format."""

READ_ONLY = {
    "opencode-events": ["opencode-events/*.jsonl"],
    "amp": [],
    "bedrock-log": [],
    "chatgpt-export": [],
    "claude-export": [],
    "iflow": [],
    "vscode-chat": [],
    "langfuse": [],
    "langsmith": [],
    "otel-spans": [],
    "claude-stream-json": ["claude-stream-json/*.jsonl"],
    "request-log": ["openai-proxy-log/*.jsonl"],
}
"""The same for formats that cannot be written."""

WITHOUT_FILES = {"openhands", "tau2", "inspect-eval", "sharegpt"}
"""Formats of which every real file holds several conversations."""

FAULTS = {
    "ohsdk-events.jsonl": {"tool_messages_follow_calls"},
    "function_calling": {"call_ids_unique"},
}
"""Rules of the API that a real file breaks, by a part of its name: events were cut out, ids taken from another run."""


def faults_of(path: Path) -> set[str]:
    return set().union(*(rules for name, rules in FAULTS.items() if name in path.name))


ROW_SETS = {
    "openai-finetune/tau2-test_sft-v1-small.jsonl": "openai-chat",
    "derived/openai-messages-rows-tau-airline.jsonl": "openai-chat",
    "openhands/*output.jsonl": "openhands",
    "sharegpt/*.jsonl": "sharegpt",
}
"""Sets of rows, and the format of the conversations in them."""

NO_ROW_SETS = ["langsmith/*.jsonl", "openai-proxy-log/*.jsonl", "openhands-events/*", "claude-code/*", "codex/*"]
"""Files of lines that are no rows, or too few of them."""


def is_recorded(value: object) -> bool:
    """Whether the parameter of a test is, or holds, the path of a recorded transcript."""
    if isinstance(value, tuple):
        return any(map(is_recorded, value))
    return isinstance(value, Path) and not {FOLDER, MORE}.isdisjoint(value.parents)


def row_sets() -> list[Path]:
    return sorted(path for pattern in ROW_SETS for path in FOLDER.glob(pattern))


def files_of(format: str) -> list[Path]:
    return sorted(path for pattern in (OF_FORMAT | READ_ONLY)[format] for path in FOLDER.glob(pattern))


def more_of(format: str) -> list[Path]:
    """Others of a format, of newer clients."""
    return sorted((MORE / format).glob("*.jsonl"))


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


@cache
def readable_files() -> list[Path]:
    """The samples and every real file in a format that is known."""
    return [path for path in [*SAMPLES, *ONLY_READ, *every_file()] if is_readable(path)]


@cache
def more_files() -> list[Path]:
    """Those of newer clients and models in a format that is known."""
    return [path for path in sorted(MORE.glob("*/*")) if path.is_file() and is_readable(path)]


def some(files: list[Path], one_of: int = 4) -> list[Path]:
    """The largest file of each format and one of so many others, for what no law is; thoroughly, all of them."""
    whole = set(largest())
    others = [file for file in files if file not in whole]
    return files if IS_THOROUGH else [*(file for file in files if file in whole), *others[::one_of]]


def spread(files: list[Path], ways: Sequence[T], *, every_way: bool = True) -> list[tuple[Path, T]]:
    """Pairs of files and ways: every way for the largest file of each format, and one in turn for every other file.

    Without `every_way` the largest are as the others.

    With HYPOTHESIS_PROFILE=thorough every way for every file, which takes several times as long.
    """
    if IS_THOROUGH:
        return [(file, way) for file in files for way in ways]
    whole = set(largest()) if every_way else set()
    return [
        (file, way)
        for position, file in enumerate(files)
        for number, way in enumerate(ways)
        if file in whole or number == position % len(ways)
    ]
