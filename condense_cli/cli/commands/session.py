"""Commands for use during a session: proxy, recap, install, mcp, ui."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal

from ...config.options import COMMON, Flag, tokens
from ..building import Command
from ..options import ContextWindow, File, FormatOption, Lenient, Preset, Session, preset

PORT: Final = 8788
DECIDING: Final = "When and how"
CONNECTIONS: Final = "Connections"


class ProxyOptions(Command, group=COMMON, work="proxy.proxy"):
    """Condense conversations on their way to an API.

    Only the messages of a request are changed; everything else, and every answer, passes through untouched. What was
    sent once is sent again byte for byte, so the provider's cache keeps working. Keys and content are neither stored
    nor logged. The header x-condense: off lets a request through as it is. With a client, the exit status is the
    client's.

    Examples:

    \b
    condense proxy -- claude             starts Claude Code behind a proxy
    condense proxy -- codex resume --last
    condense proxy --watch -- claude     changes nothing, reports savings
    condense proxy --compact own -- claude   answers /compact itself
    condense proxy -- python agent.py    anything that uses an SDK
    condense proxy --port 8788           for clients you start yourself
    condense proxy --upstream https://openrouter.ai/api/v1
    """

    client: Annotated[
        tuple[str, ...],
        Flag("A client to start through the proxy, with its arguments.", metavar="[-- CLIENT...]", is_argument=True),
    ] = ()
    upstream: Annotated[str | None, Flag("Address of the API.  [default: the one the client uses]", metavar="URL")] = (
        None
    )
    watch: Annotated[bool, Flag("Change nothing; report what would be saved.")] = False
    compact: Annotated[
        Literal["client", "own"] | None,
        Flag(
            "Who answers /compact and automatic compactions of Claude Code and Codex: the client's model (client), or "
            "condense (own), at once and without a model.  [default: client, or CONDENSE_COMPACT]"
        ),
    ] = None
    compact_tokens: Annotated[
        int | None,
        Flag(
            "Size of these answers (10000, 10k).  [default: 10% of the window, at most 20,000, or "
            "CONDENSE_COMPACT_TOKENS]",
            metavar="N",
            parse=tokens,
        ),
    ] = None
    preset: Annotated[
        str | None, preset("Preset to condense with.  [default: balanced, which cuts more per step here]"), DECIDING
    ] = None
    policy: Annotated[
        str, Flag("When to condense: economic, economic:20, tokens:60000 or share:0.6.", metavar="NAME"), DECIDING
    ] = "economic"
    keep_recent: Annotated[int | None, Flag("Leave the last N turns untouched.", metavar="N", least=1), DECIDING] = None
    context_window: Annotated[ContextWindow, DECIDING] = None
    no_first_party: Annotated[
        bool, Flag("Do not tell Claude Code that it talks to Anthropic's own API, where it does."), CONNECTIONS
    ] = False
    port: Annotated[
        int | None,
        Flag(f"Listen there.  [default: {PORT}, or a free one for a client]", metavar="N", least=0, most=65535),
        CONNECTIONS,
    ] = None
    host: Annotated[
        str,
        Flag("Address to listen on; others than the default can be reached from outside.", metavar="ADDRESS"),
        CONNECTIONS,
    ] = "127.0.0.1"
    state: Annotated[
        Path | None,
        Flag("File that remembers cut points and times.  [default: in your cache folder]", metavar="FILE"),
        CONNECTIONS,
    ] = None


class RecapOptions(Command, work="recap.recap", gone={"--counter": "The limit is in the model's tokens."}):
    """Print what is needed to continue a conversation.

    Contains, within a token budget: the user's requests and rules word for word, the files and what became of them, the
    last commands and their results, open tasks, unsolved errors, and the lines that later work needs. Draws on the
    whole file, including what came before compactions. The user's words are given as instructions; everything else is
    fenced off as data. No model is called.

    Examples:

    \b
    condense recap session.jsonl
    condense recap --session latest --tokens 8k
    condense recap --session latest --lost           what the last compaction lost
    condense recap session.jsonl > recap.md          to start a new session with
    condense recap session.jsonl --json | jq -r '.words[].text'
    """

    file: File = None
    session: Session = None
    tokens: Annotated[int | None, Flag("Limit in tokens.  [default: 4000]", metavar="N", short="-t", parse=tokens)] = (
        None
    )
    lost: Annotated[bool, Flag("Only what the client's last compaction lost and nobody has repeated since.")] = False
    json: Annotated[bool, Flag("Print it as JSON, in parts.")] = False
    format: FormatOption = None
    lenient: Lenient = False


class HookedClient(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    OPENCODE = "opencode"
    PI = "pi"


class InstallOptions(Command, work="install.install"):
    """Let Claude Code, Codex, opencode or pi use condense as you work.

    Claude Code, Codex: adds hooks that back up the session before a compaction, give the model a recap of what was lost
    after it, and tell you when it is time to condense; a status line (Claude Code); and, with the extra mcp, tools to
    look up what markers replaced. opencode, pi: adds a plugin that answers compactions at once, without a model. Claude
    Code and opencode get the command /condense, which writes a smaller copy of the session. You see what will be
    written first. Other settings are left alone.

    Examples:

    \b
    condense install claude-code               shows what it writes, and asks
    condense install codex --dry-run
    condense install claude-code --project     for this project only
    condense install claude-code --status      whether it works
    condense install --status                  all clients on this machine
    condense install claude-code --remove
    """

    client: Annotated[HookedClient | None, Flag("The client to work in.", metavar="[CLIENT]", is_argument=True)] = None
    project: Annotated[bool, Flag("For the current project only; you must trust it in the client.")] = False
    dry_run: Annotated[bool, Flag("Show what would be written and stop.", short="-n")] = False
    status: Annotated[bool, Flag("Check whether it is installed and works; exit status 1 if not.")] = False
    remove: Annotated[bool, Flag("Remove all of it, and nothing else.")] = False
    yes: Annotated[bool, Flag("Write without asking.", short="-y")] = False


class McpOptions(Command, work="mcp.mcp"):
    """Let a model look up what markers replaced (MCP server).

    Speaks MCP over standard input and output; needs the extra mcp. Its tools only read: show (what a marker replaced),
    search (the whole session, with line numbers), inspect, check and recap. Without FILE it reads all sessions of your
    clients and no other file; with FILE or --session, only that one.

    Examples:

    \b
    condense install claude-code       sets it up in Claude Code
    condense mcp                       all sessions of your clients
    condense mcp session.jsonl         only this session
    """

    file: Annotated[str | None, Flag("The only session it may read.", metavar="[FILE]", is_argument=True)] = None
    session: Session = None


class UiOptions(Command, work="ui.ui"):
    """Explore a session in the terminal and choose what is cut.

    See what fills it, and every message with its cuts and their reasons. Keep or cut a message, block, file or tool
    with one key; change preset, target or configuration and see the effect at once. Save the result as a new session,
    in place, as a file, or as a configuration. Every step can be undone; ? lists the keys. No model is called.

    Examples:

    \b
    condense ui                           pick a session of this machine
    condense ui session.jsonl
    condense ui --session latest --preset cost
    """

    file: File = None
    session: Session = None
    preset: Preset = None


COMMANDS: Final = {
    "proxy": ProxyOptions,
    "recap": RecapOptions,
    "install": InstallOptions,
    "mcp": McpOptions,
    "ui": UiOptions,
}
