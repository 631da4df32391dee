"""The commands and the options before them. A command is imported when it is called: nothing else needs any of it."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from ..core.postponed import OF_MSGSPEC, absent
from ..core.version import __version__
from ..errors import ExitStatus
from ..kernels import IS_COMPILED
from .building import Command, CommandGroup, add_command, group_of, help_all, instead_of, shows_all
from .console import DEBUG_VARIABLE, prepare_process

BEGIN: Final = (
    "condense run FILE                              what would be cut, and why\n"
    "condense run --session latest --new-session    a smaller copy to resume\n"
    "condense --help                                the commands to know first"
)
"""The answer to the bare command."""

_TABLE: Final = {
    "Make a conversation smaller": (
        "shrink",
        {
            "run": "Condense a transcript.",
            "restore": "Put back the text that references replaced.",
            "undo": "Undo what --in-place changed.",
        },
    ),
    "Mend what is broken": (
        "mend",
        {
            "validate": "Check a transcript against the rules of its API.",
            "repair": "Mend a broken session with the least change.",
        },
    ),
    "Look inside": (
        "look",
        {
            "sessions": "List the agent sessions on this machine.",
            "inspect": "Show what fills a transcript, in tokens.",
            "show": "Print a message, a block, or what a marker replaced.",
            "diff": "Show what differs between two transcripts, message by message.",
        },
    ),
    "Decide": (
        "decide",
        {
            "estimate": "Compare what presets would save and cost.",
            "check": "Say whether a conversation should be condensed.",
            "evaluate": "Measure how much of what later work needed is still there.",
        },
    ),
    "During a session": (
        "session",
        {
            "proxy": "Condense conversations on their way to an API.",
            "recap": "Print what is needed to continue a conversation.",
            "install": "Let Claude Code, Codex, opencode or pi use condense as you work.",
            "mcp": "Let a model look up what markers replaced (MCP server).",
            "ui": "Explore a session in the terminal and choose what is cut.",
        },
    ),
    "Settings": (
        "settings",
        {
            "presets": "List presets, show one, or write a configuration of your own.",
            "config": "Check configurations, show the one in use, print the schema.",
        },
    ),
    "For builders: strategies, and models for summaries": (
        "settings",
        {
            "providers": "Compare the providers, or show one with its settings.",
            "profiles": "List model profiles, show one, or test one.",
            "cache": "Show or clear the cache of summaries.",
        },
    ),
}
"""The list of commands by groups: their title, the file in `cli/commands/` with their options, and short helps."""

COMMANDS: Final = {name: said for _, names in _TABLE.values() for name, said in names.items()}
GROUPS: Final = {title: tuple(names) for title, (_, names) in _TABLE.items()}
FIRST: Final = ("run", "estimate", "diff", "inspect", "undo", "proxy")
"""The commands that people need first: `condense --help` has a line for each, and names the others."""

_FILES: Final = {name: file for file, names in _TABLE.values() for name in names}


def options_of_command(name: str) -> type[Command] | CommandGroup:
    """Return the options of a command, or its group."""
    found: type[Command] | CommandGroup = import_module(f".commands.{_FILES[name]}", __package__).COMMANDS[name]
    return found


class Commands(TyperGroup):
    """The commands of the table with their short helps; the whole of one is there as soon as it is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.params.append(help_all("Show all commands, each with what it does."))
        for name, short_help in COMMANDS.items():
            self.add_command(TyperCommand(name, help=short_help), name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            typer.echo(BEGIN)
            ctx.exit(ExitStatus.USAGE)
        if args and args[0] == "help":
            args = [*args[1:], "--help"]
        elif args and args[0] == "version":
            args = ["--version", *args[1:]]
        if args and args[0] in ("--version", "-V", _VERBOSE):
            ctx.meta[_VERBOSE] = _VERBOSE in args
            args = [arg for arg in args if arg != _VERBOSE]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            ctx.fail(instead_of(args[0], COMMANDS))
        name, known, rest = super().resolve_command(ctx, args)
        if not ctx.resilient_parsing:
            with absent(OF_MSGSPEC):
                import msgspec  # noqa: F401
        return name, load(name) if name else known, rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands before the options: they are looked for more often."""
        self.format_commands(ctx, formatter)
        records = [record for param in self.get_params(ctx) if (record := param.get_help_record(ctx))]
        with formatter.section("Options"):
            formatter.write_dl(records)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS))
        for title, names in (GROUPS if shows_all(ctx) else {"First commands": FIRST}).items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])
        if not shows_all(ctx):
            others = ", ".join(name for name in COMMANDS if name not in FIRST)
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(f"More: {others}. See condense --help-all.")


def load(name: str) -> Any:
    """Return a command with its options, or a group with its commands."""
    found = options_of_command(name)
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
    "4 target missed with --strict or check says yes, 5 model calls failed, "
    "6 a string of --must-keep would be gone, 130 interrupted, 141 the pipe was closed.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


_VERBOSE: Final = "--verbose"
_VERSION_HELP: Final = "Show the version and exit; with --verbose also whether it is compiled."


def _version(ctx: typer.Context, value: bool) -> None:
    if value:
        typer.echo(f"condense {__version__}")
        if ctx.meta.get(_VERBOSE):
            typer.echo("Kernels are compiled." if IS_COMPILED else "Kernels are interpreted Python.")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help=_VERSION_HELP)
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
