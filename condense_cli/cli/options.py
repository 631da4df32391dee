"""Options that several commands share: the flags that change a configuration for one run, and completion of names."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from ..core.wording import count_in, percent_in, quoted
from ..errors import CondenseError
from .reading import list_formats

FORMAT_NAMES: Final = (
    "anthropic",
    "atif",
    "claude-code",
    "claude-stream-json",
    "cline",
    "codex",
    "copilot",
    "gemini",
    "gemini-log",
    "google-adk",
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


PROVIDER_IDS = ("lossless", "native", "smart", "truncation")
"""The names of `registry.BUILT_IN`, which is too heavy to import while a shell waits for completions."""


def complete_preset(incomplete: str) -> list[str]:
    """Names of presets that begin so."""
    from .running.settings import preset_names_here

    return [name for name in preset_names_here() if name.startswith(incomplete)]


def complete_profile(incomplete: str) -> list[str]:
    """Names of profiles that begin so."""
    from ..config.files import load_user_configuration

    try:
        names = load_user_configuration().profiles
    except CondenseError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def complete_format(incomplete: str) -> list[str]:
    """Names of formats that begin so."""
    return [name for name in (*FORMAT_NAMES, "rows") if name.startswith(incomplete)]


def complete_session(incomplete: str) -> list[tuple[str, str]]:
    """Ids of sessions that begin so, the newest first, each with its client."""
    from ..clients.finding import find
    from ..clients.listing import LATEST
    from ..clients.table import session_places

    known = [(LATEST, "this project's newest"), *((file.id, file.client) for file in find(session_places()).files)]
    return [(name, told) for name, told in known if name.startswith(incomplete)]


def complete_provider(incomplete: str) -> list[str]:
    """Names of built-in providers that begin so."""
    return [name for name in PROVIDER_IDS if name.startswith(incomplete)]


def parse_tokens(text: str, least: int = 1, hint: str = "") -> int:
    """A number of tokens as people write it: 60000, 60,000, 60k, 1.5M."""
    number = count_in(text) if text == text.strip() else None
    if number is None or number < least:
        raise typer.BadParameter(f"{quoted(text)} is not a number of tokens. Write 60000, 60k or 1.5M{hint}.")
    return number


def parse_percent(text: str) -> float:
    """A percentage as people write it: 40, 40% or 12.5."""
    percent = percent_in(text)
    try:
        return float(text) if percent is None else percent
    except ValueError:
        raise typer.BadParameter(f"{quoted(text)} is not a percentage. Write 40 or 40%.") from None


def parse_target(text: str) -> int:
    """As `parse_tokens`; who writes a share is told where that goes."""
    return parse_tokens(text, hint="; --target-percent takes a share")


def parse_tokens_or_none(text: str) -> int:
    """As `parse_tokens`, where there may be none: 0."""
    return parse_tokens(text, least=0)


File = Annotated[str | None, typer.Argument(metavar="[FILE]", help="Transcript; - reads standard input.")]
Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]...", help="Transcripts or folders; - reads standard input."),
]
OutDir = Annotated[
    Path | None,
    typer.Option("--out-dir", metavar="DIR", help="Write all files there, keeping their folders."),
]
Session = Annotated[
    str | None,
    typer.Option(
        "--session",
        metavar="ID|latest",
        autocompletion=complete_session,
        help="A session of this machine instead of FILE: its id, the start of it, or latest (this project's newest).",
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="SELECTOR",
        help="Never cut these: 34 (a message), 12.0 (a block), 40:80, last:20, tool:Bash, file:'src/*.py', /regex/; "
        "may be repeated.",
    ),
]
Cut = Annotated[
    list[str] | None,
    typer.Option(
        "--cut",
        metavar="SELECTOR",
        help="Always cut these; written as for --keep; may be repeated.",
    ),
]
KeepRecent = Annotated[
    int | None,
    typer.Option("--keep-recent", metavar="N", min=0, help="The same as --keep last:N.", hidden=True),
]
OnlyTools = Annotated[
    list[str] | None,
    typer.Option("--only-tools", metavar="GLOB", help="Cut nothing but calls and results of these tools.", hidden=True),
]
ExceptTools = Annotated[
    list[str] | None,
    typer.Option("--except-tools", metavar="GLOB", help="The same as --keep tool:GLOB.", hidden=True),
]
Range = Annotated[
    str | None,
    typer.Option("--range", metavar="A:B", help="The same as --keep not:A:B.", hidden=True),
]
Pins = Annotated[
    list[str] | None,
    typer.Option("--pin", metavar="REGEX", help="The same as --keep /REGEX/.", hidden=True),
]


preset_option: Final = partial(typer.Option, "--preset", "-p", metavar="NAME|PATH", autocompletion=complete_preset)
"""`--preset`, which every command has for something of its own: its `help`."""

Preset = Annotated[str | None, preset_option(help="Preset to use.  [default: from your settings, or balanced]")]
NoConfig = Annotated[
    bool, typer.Option("--no-config", help="Ignore the project's condense.yaml and your own settings.")
]
TargetTokens = Annotated[
    int | None,
    typer.Option(
        "--target-tokens", metavar="N", parser=parse_target, help="Cut down to N tokens (60000, 60k) and no further."
    ),
]
TargetPercent = Annotated[
    float | None,
    typer.Option(
        "--target-percent", metavar="P", parser=parse_percent, help="Cut down to P percent of the tokens (40, 40%)."
    ),
]
LosslessOnly = Annotated[
    bool, typer.Option("--lossless-only", help="Cut nothing; only write references, which condense restore undoes.")
]
DropThinking = Annotated[
    bool, typer.Option("--drop-thinking", help="Remove all thinking that the API does not require.")
]
OverheadTokens = Annotated[
    int | None,
    typer.Option(
        "--overhead-tokens",
        metavar="N",
        parser=parse_tokens_or_none,
        help="Tokens of system prompt and tools.  [default: as recorded]",
    ),
]
CounterOption = Annotated[
    Literal["built-in", "tiktoken"] | None,  # `tokens.CounterName`, which is too heavy to import for a help page.
    typer.Option(
        "--counter", help="Tokenizer: condense's own or OpenAI's.  [default: from your settings, or built-in]"
    ),
]
CountAs = Annotated[
    Literal["model", "o200k", "exact"] | None,  # `factor.CountName`, which is too heavy to import for a help page.
    typer.Option(
        "--count",
        help="Show the model's tokens, plain counts, or the provider's own count (one call).  [default: model]",
    ),
]
CountProfile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=complete_profile,
        help="Profile whose API counts for --count exact; permits the call.",
    ),
]
AllowCount = Annotated[bool, typer.Option("--allow-calls", help="Permit --count exact to call the model's vendor.")]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="NAME",
        autocompletion=complete_format,
        callback=list_formats,
        is_eager=True,
        help="Format of FILE; `list` prints all.  [default: recognized]",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model", "-m", metavar="NAME", help="Model that goes on with the conversation.  [default: as recorded]"
    ),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Keep lines that are not JSON as they are.")]
LenientReading = Annotated[bool, typer.Option("--lenient", help="Skip lines that are not JSON.")]
"""The same where there is nothing to keep them in."""

Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="Parallel processes for rows or many files.  [default: all]"),
]
Engine = Annotated[
    Literal["local", "ray"],
    typer.Option("--engine", help="What runs --out-dir: local processes or Ray."),
]

Profile = Annotated[
    str | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=complete_profile,
        help="Profile whose model writes summaries; permits its calls.",
    ),
]
Profiles = Annotated[
    list[str] | None,
    typer.Option(
        "--profile",
        metavar="NAME",
        autocompletion=complete_profile,
        help="Profile whose model writes summaries; permits its calls; repeat it to compare models.",
    ),
]
Prompts = Annotated[
    list[str] | None,
    typer.Option(
        "--prompt",
        metavar="FILE",
        help="Prompt file for summaries, or `default`; repeat it to compare prompts.",
    ),
]
AllowCalls = Annotated[
    bool, typer.Option("--allow-calls", help="Permit calls to the profiles named in the configuration.")
]
MaxCost = Annotated[
    str | None, typer.Option("--max-cost", metavar="DOLLARS", help="Make no call that could exceed this sum.")
]
MaxCostPerConversation = Annotated[
    str | None,
    typer.Option(
        "--max-cost-per-conversation", metavar="DOLLARS", help="The same, over all runs on this conversation."
    ),
]
MaxCostPerDay = Annotated[
    str | None, typer.Option("--max-cost-per-day", metavar="DOLLARS", help="The same, over all runs of a day.")
]
MaxSummaryTokens = Annotated[
    int | None,
    typer.Option(
        "--max-summary-tokens",
        metavar="N",
        parser=parse_tokens_or_none,
        help="Read and write at most N tokens in calls.",
    ),
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not use or store cached model answers.")]
Redact = Annotated[bool, typer.Option("--redact", help="Mask secrets in everything sent to a model.")]
AllowPartial = Annotated[
    bool, typer.Option("--allow-partial", help="Exit with status 0 even if some summaries failed.")
]
Provider = Annotated[
    str | None,
    typer.Option(
        "--provider",
        metavar="NAME",
        autocompletion=complete_provider,
        help="Strategy to run; without a preset, with its own defaults. See condense providers.",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the provider; may be repeated."),
]
TARGETS = ("anthropic", "openai-chat", "openai-responses")
"""`formats.converting.TARGETS`, which is too heavy to import while a shell waits for completions."""

ToFormat = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="NAME",
        autocompletion=lambda: list(TARGETS),
        help="Write messages of this API instead: anthropic, openai-chat or openai-responses.",
    ),
]
LogJson = Annotated[
    bool, typer.Option("--log-json", help="One line of JSON about the run on standard error, in place of messages.")
]
