"""What a version freezes: the runs whose results later versions have to read."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from msgspec import Struct

from condense_cli.config.preset_folders import preset_names

SERVER: Final = "http://models.invalid"
"""Where the model of the frozen summaries is: no name of a machine, so whoever calls it fails."""

_RECENT: Final = {"type": "preserve_recent", "keep_recent_count": 1}
_EACH: Final = {"operation": "summarize", "params": {"summarize": {"max_tokens": 60}}}
_WHOLE: Final = {"operation": "summarize", "summarization_config": {"keep_first": 1, "keep_last": 0}}
BY_MODEL: Final[dict[str, dict[str, Any]]] = {
    "blocks-by-model.json": {
        "passes": [{"id": "each", "selection": _RECENT, "individual_config": {"defaults": {"tool_results": _EACH}}}]
    },
    "batch-by-model.json": {
        "passes": [{"id": "all", "selection": _RECENT, "mode": "batch", "batch_config": _WHOLE}],
    },
    "native-by-model.json": {"provider": "native"},
}
"""Configurations whose summaries a model writes."""

OWN: Final = json.dumps(
    {
        "allow_calls": False,
        "profile": "offline",
        "profiles": {
            name: {
                "api": name,
                "base_url": f"{SERVER}/v1" if name == "openai" else SERVER,
                "model": "small",
                "context_window": 100_000,
                "max_retries": 0,
                "price": {"input": 1, "output": 10},
            }
            for name in ("openai", "anthropic")
        },
        "providers": {"truncation": {"enabled": True, "config": {"max_tool_result_lines": 12}}},
    },
    indent=1,
)
"""The user's own configuration, which YAML reads as well."""

PROJECT: Final = """\
# What this project wants; laid over the preset.
preset: team
keep_first: 2
pins:
  - {regex: "Decimal"}
  - {tools: {include: ["mcp__*"]}}
"""
TEAM: Final = """\
description: Cuts what is old.
passes:
  - id: old
    selection: {type: preserve_recent, keep_recent_count: 4}
    individual_config:
      defaults:
        message_text: {operation: keep}
        tool_parameters: {operation: truncate, params: {truncate: {max_chars: 80}}}
        tool_results: {operation: truncate, params: {truncate: {max_lines: 4, keep: both}}}
"""
"""A preset of the project's own."""


class Case(Struct, frozen=True):
    """A run on an input, and the name of what it writes, without its suffix."""

    input: str
    name: str
    arguments: tuple[str, ...]

    @property
    def output(self) -> str:
        """Below the folder of the version, with the suffix of the input; what is converted is one JSON value."""
        suffix = ".json" if "--to" in self.arguments else PurePosixPath(self.input).suffix
        return f"condensed/{PurePosixPath(self.input).name.partition('.')[0]}/{self.name}{suffix}"

    @property
    def needs_model(self) -> bool:
        return "--profile" in self.arguments


def on_inputs(inputs: Iterable[str], configurations: Sequence[str]) -> Iterator[Case]:
    """Every preset, and a target, on every input; options, providers and configurations on a few.

    Both are paths below the folder of the version.
    """
    named = {PurePosixPath(path).name.partition(".")[0]: path for path in inputs}
    for name, path in named.items():
        if name in ONLY_READ:
            yield Case(path, "to-anthropic", ("--preset", "speed", "--to", "anthropic"))
            continue
        for preset in preset_names():
            yield Case(path, preset, ("--preset", preset))
        yield Case(path, "target", TARGET)
    for option, arguments in OPTIONS.items():
        for name in ("claude-code", "codex", "mixed"):
            yield Case(named[name], option, arguments)
    for file in configurations:
        yield Case(named["anthropic"], PurePosixPath(file).name.replace(".", "-"), ("--config", file))
    for file, names in MODEL_RUNS.items():
        way = file.removesuffix(".json")
        for name in names:
            api = "anthropic" if name == "anthropic" else "openai"
            yield Case(named[name], way, ("--config", f"configurations/{file}", "--profile", api))


TARGET: Final = ("--preset", "balanced", "--target-tokens", "1500")
ONLY_READ: Final = ("opencode-events", "claude-stream-json")
OPTIONS: Final[dict[str, tuple[str, ...]]] = {
    "slim": ("--preset", "speed", "--slim"),
    "lossless-only": ("--preset", "cost", "--lossless-only"),
    "drop-thinking": ("--preset", "speed", "--drop-thinking"),
    "pinned": ("--preset", "max", "--pin", "Decimal|schema"),
    "provider-truncation": ("--provider", "truncation"),
    "provider-native": ("--provider", "native"),
    "provider-lossless": ("--provider", "lossless", "--set", "keep_recent=4"),
    "provider-smart": ("--provider", "smart", "--target-tokens", "1500"),
}
MODEL_RUNS: Final = {
    "blocks-by-model.json": ("anthropic", "openai-chat", "claude-code"),
    "batch-by-model.json": ("anthropic", "openai-chat", "claude-code", "codex", "roo", "pi", "opencode"),
    "native-by-model.json": ("openai-chat", "claude-code"),
}
GROWN: Final = ("openai-chat.jsonl", "claude-code.jsonl", "roo.json", "anthropic.json")
"""Inputs that are condensed, go on, and are condensed again."""
