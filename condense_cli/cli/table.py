"""The commands and the options before them. A command is imported when it is called: nothing else needs any of it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.version import __version__
from ..errors import ExitStatus
from .building import CommandGroup, add_command, group_of, instead_of
from .console import DEBUG_VARIABLE, prepare_process
from .postponed import OF_MSGSPEC, absent

BEGIN: Final = (
    "condense run FILE                              what would be cut, and why\n"
    "condense run --session latest --new-session    a smaller copy to resume\n"
    "condense --help                                all commands"
)
"""The answer to the bare command."""

COMMANDS: Final = {
    "run": "Condense a transcript.",
    "restore": "Put back the text that references replaced.",
    "undo": "Undo condense run --in-place.",
    "sessions": "List the agent sessions on this machine.",
    "inspect": "Show what fills a transcript, in tokens.",
    "show": "Print a message, a block, or what a marker replaced.",
    "recap": "Print what is needed to continue a conversation.",
    "diff": "Show what differs between two transcripts, message by message.",
    "validate": "Check a transcript against the rules of its API.",
    "repair": "Mend a broken session with the least change.",
    "estimate": "Compare what presets would save and cost.",
    "check": "Say whether a conversation should be condensed.",
    "proxy": "Condense conversations on their way to an API.",
    "evaluate": "Measure how much of what later work needed is still there.",
    "presets": "List presets, show one, or write a configuration of your own.",
    "providers": "Compare the providers, or show one with its settings.",
    "profiles": "List model profiles, show one, or test one.",
    "ui": "Explore a session in the terminal and choose what is cut.",
    "config": "Check configurations, show the one in use, print the schema.",
    "install": "Let Claude Code or Codex use condense as you work.",
    "mcp": "Let a model look up what markers replaced (MCP server).",
    "cache": "Show or clear the cache of summaries.",
}
"""The short help of each command."""

FILES: Final = {
    name: file
    for file, names in {
        "shrink": ("run", "restore", "undo"),
        "look": ("sessions", "inspect", "show", "diff"),
        "decide": ("estimate", "check", "evaluate", "validate", "repair"),
        "session": ("proxy", "recap", "install", "mcp", "ui"),
        "settings": ("presets", "config", "providers", "profiles", "cache"),
    }.items()
    for name in names
}
"""The file of `cli/commands/` that has the options of a command."""

GROUPS: Final = {
    "Make a conversation smaller": ("run", "restore", "undo"),
    "Mend what is broken": ("validate", "repair"),
    "Look inside": ("sessions", "inspect", "show", "diff"),
    "Decide": ("estimate", "check", "evaluate"),
    "During a session": ("proxy", "recap", "install", "mcp", "ui"),
    "Settings": ("presets", "config"),
    "For builders: strategies, and models for summaries": ("providers", "profiles", "cache"),
}
"""The groups in the list of commands; a command in none comes last."""


class Commands(TyperGroup):
    """The commands of the table with their short helps; the whole of one is there as soon as it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, short_help in COMMANDS.items():
            self.add_command(TyperCommand(name, help=short_help), name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(BEGIN)
            ctx.exit(ExitStatus.USAGE)
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        elif args and args[0] == "version":
            args = ["--version"]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(instead_of(args[0], COMMANDS))
        name, known, rest = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            with absent(OF_MSGSPEC):
                import msgspec  # noqa: F401
        return name, load(name) if name else known, rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        grouped = {name for names in GROUPS.values() for name in names}
        others = {"Other commands": tuple(name for name in COMMANDS if name not in grouped)}
        width = max(map(len, COMMANDS))
        for title, names in (GROUPS | others).items():
            shown = [(name.ljust(width), COMMANDS[name]) for name in names if name in COMMANDS]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def load(name: str) -> Any:
    """Return a command with its options, or a group with its commands."""
    found = import_module(f".commands.{FILES[name]}", __package__).COMMANDS[name]
    holder = typer.Typer(context_settings={"help_option_names": ["-h", "--help"]}, rich_markup_mode=None)
    if isinstance(found, CommandGroup):
        holder.add_typer(group_of(found), name=name)
    else:
        add_command(holder, name, found, COMMANDS[name])
    return typer.main.get_group(holder).commands[name]


app = typer.Typer(
    name="condense",
    cls=Commands,
    help="Make agent transcripts much smaller and keep what the work needs.",
    epilog="Examples:\n\n\b\ncondense run session.jsonl                    what would be cut, and why\n"
    "condense run session.jsonl -o small.jsonl\n"
    "condense run --session latest --new-session   a smaller copy to resume\n"
    "condense run session.jsonl --in-place         condense undo reverts it\n"
    "condense run session.jsonl --keep last:20 --cut tool:WebFetch\n"
    "condense run sessions/ --out-dir small        many files, or sets of rows\n"
    "cat session.jsonl | condense run - | next-program\n\n"
    "condense COMMAND --help shows the options of a command, with examples.\n\n"
    "Exit status: 0 done, 1 failed, 2 usage or configuration, 3 input unreadable or invalid, "
    "or a reference that cannot be restored, "
    "4 target missed with --strict or check says yes, 5 model calls failed, 130 interrupted, "
    "141 the pipe was closed.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        typer.echo(f"condense {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="No colors (same as NO_COLOR=1).")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    prepare_process()
    if no_color:
        os.environ["NO_COLOR"] = "1"
        os.environ.pop("FORCE_COLOR", None)
    if debug:
        os.environ[DEBUG_VARIABLE] = "1"
