"""Commands that look inside: sessions, inspect, show, diff."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Final

from ...clients.choices import Client
from ...config.options import COMMON, OUTPUT, Flag
from ..building import Command
from ..options import (
    COUNTING,
    READING,
    Assignments,
    CountOptions,
    File,
    FormatOfBoth,
    FormatOption,
    Json,
    Lenient,
    MustKeepMeasured,
    OverheadTokens,
    ReadOptions,
    Session,
    preset,
    provider,
)

_FROM_END: Final = re.compile(r"-\d[\d:.]*", re.ASCII)


class SessionsOptions(
    Command,
    work="sessions.sessions",
    gone={"--sort": "Sort the list: condense sessions --limit 0 --json | jq '.sessions | sort_by(-.tokens)'"},
):
    """List the agent sessions on this machine.

    Covers Claude Code, Codex, Roo Code, Cline, opencode, pi, Gemini CLI, Kimi Code, Qwen Code, Copilot CLI and Goose.
    Tokens are those that the client would send now, as in condense inspect. Nothing is changed; counts are cached in
    your cache folder. Other commands take --session ID or --session latest in place of a file.

    Examples:

    \b
    condense sessions                              the newest 20
    condense sessions --here                       this project's
    condense sessions --client codex --all         with archived ones
    condense sessions --json | jq -r '.sessions[0].path'
    condense run --session latest --preset cost
    condense inspect --session 5f2c91d8            part of an id is enough
    """

    project: Annotated[Path | None, Flag("Only sessions of this folder and its subfolders.", metavar="PATH")] = None
    here: Annotated[bool, Flag("Only sessions of the current project.")] = False
    client: Annotated[Client | None, Flag(f"Only sessions of one client: {', '.join(Client)}.", metavar="NAME")] = None
    limit: Annotated[int, Flag("How many to list; 0 lists all.", metavar="N", least=0)] = 20
    shows_all: Annotated[bool, Flag("Include sub-agents, archived and empty sessions.", name="--all")] = False
    json: Annotated[bool, Flag("Print the list as JSON.")] = False


class InspectOptions(CountOptions, ReadOptions, group=COMMON, work="inspect.inspect"):
    """Show what fills a transcript, in tokens.

    By content type, tool, file and message, with the largest blocks and what repeats. Blocks are named by message and
    position, as in 12.0; condense show prints them. --history looks back over sessions, or folders of them: what each
    file, tool and prompt cost by the requests that it stayed in, and each rebuilding of the cache, with its cause.

    Examples:

    \b
    condense inspect session.jsonl
    condense inspect session.jsonl --top 3
    condense inspect --session latest
    condense inspect session.jsonl --model claude-opus-4-5 --overhead-tokens 20000
    condense inspect session.jsonl --count o200k          plain counts
    condense inspect session.jsonl --count exact --profile claude-opus-5
    condense inspect session.jsonl --json | jq .repeats.tokens
    condense inspect --history --session latest           what it cost, and why
    condense inspect --history ~/.claude/projects --what-if
    """

    files: Annotated[
        tuple[str, ...],
        Flag(
            "Transcript; - reads standard input. With --history, any number, and folders.",
            metavar="[FILE]...",
            is_argument=True,
        ),
    ] = ()
    session: Session = None
    history: Annotated[bool, Flag("Show what the sessions cost, request by request, and why.")] = False
    what_if: Annotated[bool, Flag("With --history: also what the same requests would have cost with the proxy.")] = (
        False
    )
    top: Annotated[int | None, Flag("Entries in each list.  [default: 10]", metavar="N", least=1)] = None
    shows_all: Annotated[bool, Flag("Show everything, as in a pipe.", name="--all")] = False
    json: Annotated[bool, Flag("Print the figures as JSON.")] = False
    model: Annotated[
        str | None,
        Flag("Model to count for.  [default: the recorded one]", metavar="NAME", short="-m", group=COUNTING),
    ] = None
    overhead_tokens: Annotated[OverheadTokens, COUNTING] = None


class ShowOptions(Command, work="show.show"):
    """Print a message, a block, or what a marker replaced.

    For the hash in a marker, FILE is the original: this prints what was cut, along with what was kept of it, or all
    messages that a summary replaced. Six digits are taken as a hash first, and as a position only if no hash matches.

    Examples:

    \b
    condense show session.jsonl 12              all of message 12
    condense show session.jsonl 12.0            its first block
    condense show session.jsonl -1              the last message
    condense show session.jsonl 406167          what the marker replaced
    condense show session.jsonl 13.0 --raw | jq .message.usage
    condense show --session latest 12
    """

    file: File = None
    what: Annotated[
        str | None,
        Flag(
            "Hash from a marker, or a position: 12, 12.0, or -1 for the last message.",
            metavar="HASH|MESSAGE[.BLOCK]",
            is_argument=True,
        ),
    ] = None
    session: Session = None
    json: Annotated[bool, Flag("Print what was found as JSON.")] = False
    raw: Annotated[bool, Flag("Print the records exactly as in the file.")] = False
    format: FormatOption = None
    lenient: Lenient = False

    @classmethod
    def prepared(cls, arguments: list[str]) -> list[str]:
        """Put positions that count from the end behind `--`: they begin like options."""
        end = arguments.index("--") if "--" in arguments else len(arguments)
        positions = [each for each in arguments[:end] if _FROM_END.fullmatch(each)]
        if not positions:
            return arguments
        others = [each for each in arguments[:end] if each not in positions]
        return [*others, "--", *positions, *arguments[end + 1 :]]


class DiffOptions(
    CountOptions, group=COMMON, work="diff.diff", gone={"--lines": "Use --all-lines for every line, or --json."}
):
    """Show what differs between two transcripts, message by message.

    Unchanged lines are grey, removed lines start with -, new lines with +.

    Examples:

    \b
    condense diff before.jsonl after.jsonl
    condense diff session.jsonl --preset speed       what the preset would change
    condense diff session.jsonl --provider lossless --set keep_recent=4
    condense diff --session latest small.jsonl      the session as A
    condense diff before.jsonl after.jsonl --stat    only the summary
    condense diff before.jsonl after.jsonl --count o200k     in plain counts
    condense diff before.jsonl after.jsonl --json | jq '.blocks[].what'
    """

    before: Annotated[
        str | None, Flag("The older transcript; - reads standard input.", metavar="[A]", is_argument=True)
    ] = None
    after: Annotated[str | None, Flag("The newer transcript.", metavar="[B]", is_argument=True)] = None
    session: Session = None
    preset: Annotated[str | None, preset("Compare A with the result of this preset.")] = None
    provider: Annotated[str | None, provider("Compare A with the result of this provider.")] = None
    assignments: Assignments = ()
    must_keep: MustKeepMeasured = ()
    stat: Annotated[bool, Flag("Only the summary.", group=OUTPUT)] = False
    all_lines: Annotated[
        bool, Flag("Show every line, and everything that is no longer said.", short="-v", group=OUTPUT)
    ] = False
    json: Annotated[Json, OUTPUT] = False
    format: Annotated[FormatOfBoth, READING] = None
    lenient: Annotated[Lenient, READING] = False


COMMANDS: Final = {
    "sessions": SessionsOptions,
    "inspect": InspectOptions,
    "show": ShowOptions,
    "diff": DiffOptions,
}
