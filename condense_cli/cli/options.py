"""Options that several commands share, and completion of names by a shell."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from ..config.options import COMMON, Flag, threshold, tokens, tokens_or_none
from ..config.preset_folders import PresetFolders, find_project_presets, user_configuration_path
from ..errors import CondenseError
from .building import Command

FORMAT_NAMES: Final = (
    "ai-sdk-ui",
    "amp",
    "anthropic",
    "atif",
    "bedrock-converse",
    "bedrock-log",
    "chatgpt-export",
    "claude-code",
    "claude-export",
    "claude-stream-json",
    "cline",
    "codex",
    "copilot",
    "droid",
    "gemini",
    "gemini-contents",
    "gemini-log",
    "google-adk",
    "goose",
    "iflow",
    "inspect",
    "inspect-eval",
    "kimi",
    "langchain",
    "langfuse",
    "langsmith",
    "mini-swe-agent",
    "openai-chat",
    "openai-responses",
    "opencode",
    "opencode-events",
    "openhands",
    "openhands-sdk",
    "otel-spans",
    "pi",
    "qwen-code",
    "request-log",
    "roo",
    "session-trace",
    "sharegpt",
    "swe-agent",
    "tau2",
    "vscode-chat",
)
"""The names of `formats.FORMATS`, which is too heavy to import while a shell waits for completions."""
PROVIDER_IDS: Final = ("lossless", "native", "smart", "truncation")
"""The names of `registry.BUILT_IN`, which is too heavy to import while a shell waits for completions."""

TARGETS: Final = ("anthropic", "openai-chat", "openai-responses")
"""`formats.convert.TARGETS`, likewise."""

COUNTING: Final = "Counting tokens"
READING: Final = "Reading"
SUMMARIES: Final = "Model summaries"
SETTINGS: Final = "Settings"


def folders_of_presets() -> list[Path]:
    """List folders of presets beside the package's; the first goes before the others."""
    own = user_configuration_path().parent / "presets"
    try:
        project = find_project_presets(Path.cwd(), Path(os.path.expanduser("~")))
    except OSError:  # The current folder is gone, or one above it may not be looked into.
        project = None
    return [*([project] if project else []), own]


def preset_names() -> list[str]:
    """List the presets of this project, of the user and of the package."""
    return PresetFolders(*folders_of_presets()).names()


def profile_names() -> list[str]:
    from ..config.own import load_user_configuration

    try:
        return [*load_user_configuration().profiles]
    except CondenseError:
        return []


def session_ids() -> Iterator[tuple[str, str]]:
    """List the ids of sessions, the newest first, each with its client."""
    from ..clients.table import find, session_places

    yield "latest", "this project's newest"
    for file in find(session_places()).files:
        yield file.id, file.client


def list_formats(name: str | None) -> str | None:
    """Print all formats if the name of one is `list`."""
    if name != "list":
        return name
    from ..formats import known_formats

    typer.echo(f"{'rows':<18}  Sets of conversations, one on a line")
    for each in known_formats():
        typer.echo(f"{each.name:<18}  {each.description}")
    raise typer.Exit


File = Annotated[str | None, Flag("Transcript; - reads standard input.", metavar="[FILE]", is_argument=True)]
Session = Annotated[
    str | None,
    Flag(
        "A session of this machine instead of FILE: its id, the start of it, or latest (this project's newest).",
        metavar="ID|latest",
        complete=session_ids,
    ),
]
preset: Final = partial(Flag, metavar="NAME|PATH", short="-p", complete=preset_names)
"""`--preset`, which every command has for something of its own: its `help`."""

provider: Final = partial(Flag, metavar="NAME", complete=PROVIDER_IDS)
profile: Final = partial(Flag, metavar="NAME", complete=profile_names)
_format: Final = partial(
    Flag, metavar="NAME", name="--format", short="-f", complete=(*FORMAT_NAMES, "rows"), eager=list_formats
)
Preset = Annotated[str | None, preset("Preset to use.  [default: from your settings, or balanced]")]
Assignments = Annotated[
    tuple[str, ...], Flag("A setting of the provider; may be repeated.", metavar="KEY=VALUE", name="--set")
]
FormatOption = Annotated[str | None, _format("Format of FILE; `list` prints all.  [default: recognized]")]
FormatOfBoth = Annotated[str | None, _format("Format of both.  [default: recognized]")]
Lenient = Annotated[bool, Flag("Pass over lines that are not JSON, and leave them as they are.")]

NoConfig = Annotated[bool, Flag("Ignore the project's condense.yaml and your own settings.")]
Json = Annotated[bool, Flag("Print it as JSON.")]
Quiet = Annotated[bool, Flag("Print no report.", short="-q")]
DryRun = Annotated[bool, Flag("Report only; write nothing.", short="-n")]

Model = Annotated[
    str | None,
    Flag("Model that goes on with the conversation.  [default: as recorded]", metavar="NAME", short="-m"),
]
ContextWindow = Annotated[
    int | None,
    Flag(
        "Size of the model's context window in tokens (200000, 200k).  [default: looked up]", metavar="N", parse=tokens
    ),
]
OverheadTokens = Annotated[
    int | None, Flag("Tokens of system prompt and tools.  [default: as recorded]", metavar="N", parse=tokens_or_none)
]
Threshold = Annotated[
    float | None, Flag("Condense from this percentage of the window on (80, 80%).", metavar="P", parse=threshold)
]
Above = Annotated[
    int | None,
    Flag("Condense from this many tokens on, whatever the window (150000, 150k).", metavar="N", parse=tokens),
]
CounterOption = Annotated[
    Literal["built-in", "tiktoken"] | None,  # `tokens.CounterName`, which is too heavy to import for a help page.
    Flag("Tokenizer: condense's own or OpenAI's.  [default: from your settings, or built-in]"),
]
CountAs = Annotated[
    Literal["model", "o200k", "exact"] | None,  # `factor.CountName`, which is too heavy to import for a help page.
    Flag(
        "Show the model's tokens, plain counts, or the provider's own count (one call).  [default: model]",
        name="--count",
    ),
]
CountProfile = Annotated[
    str | None, profile("Profile whose API counts for --count exact; permits the call.", group=COUNTING)
]
Profile = Annotated[str | None, profile("Profile whose model writes summaries; permits its calls.", group=SUMMARIES)]
Redact = Annotated[bool, Flag("Mask secrets in everything sent to a model.")]


def strings_in(file: str) -> tuple[str, ...]:
    """Return the strings in a file, one on a line. Raises ValueError."""
    try:
        lines = Path(file).read_text(encoding="utf-8-sig").splitlines()
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ValueError(f"{file} is not UTF-8 text.") from None
    found = tuple(dict.fromkeys(filter(None, map(str.strip, lines))))
    if not found:
        raise ValueError(f"{file} holds no string.")
    return found


def must_keep(about: str) -> Flag:
    """Return the option --must-keep: `about` is what the command does where one of the strings is gone."""
    return Flag(
        f"Keep the strings in FILE, one a line; if one {about}.", metavar="FILE", parse=strings_in, group=COMMON
    )


MustKeep = Annotated[tuple[str, ...], must_keep("would be gone, write nothing and exit with status 6")]
MustKeepMeasured = Annotated[tuple[str, ...], must_keep("is gone from a result, exit with status 6")]
"""Of commands that write nothing anyway."""


class CountOptions(Command, group=COUNTING):
    """Choose in whose tokens a command counts; `allow_calls` and `profile` permit the call of `exact`."""

    counter: CounterOption = None
    count_as: CountAs = None
    profile: CountProfile = None
    allow_calls: Annotated[bool, Flag("Permit --count exact to call the model's vendor.")] = False
    redact: Redact = False


class ReadOptions(Command, group=READING):
    format: FormatOption = None
    lenient: Lenient = False


class Configuring(Command, group=SETTINGS):
    """Choose the configuration that runs."""

    config: Annotated[Path | None, Flag("Configuration to use instead, YAML or JSON.", metavar="FILE", short="-c")] = (
        None
    )
    no_config: NoConfig = False
    provider: Annotated[
        str | None,
        provider("Strategy to run; without a preset, with its own defaults. See condense providers."),
    ] = None
    assignments: Assignments = ()
    preset: Annotated[Preset, preset("Preset to use.  [default: from your settings, or balanced]", group=COMMON)] = None


class Spending(Command, group=SUMMARIES):
    """Permit calls to models, and limit what they may use."""

    allow_calls: Annotated[bool, Flag("Permit calls to the profiles named in the configuration.")] = False
    max_cost: Annotated[str | None, Flag("Make no call that could exceed this sum.", metavar="DOLLARS")] = None
    max_cost_per_conversation: Annotated[
        str | None, Flag("The same, over all runs on this conversation.", metavar="DOLLARS")
    ] = None
    max_cost_per_day: Annotated[str | None, Flag("The same, over all runs of a day.", metavar="DOLLARS")] = None
    max_summary_tokens: Annotated[
        int | None, Flag("Read and write at most N tokens in calls.", metavar="N", parse=tokens_or_none)
    ] = None
    no_cache: Annotated[bool, Flag("Do not use or store cached model answers.")] = False
    redact: Redact = False
