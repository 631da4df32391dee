"""The commands and the options before them. Nothing heavy is imported here: `--help` must be instant."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ..core.version import __version__
from .console import DEBUG_VARIABLE, prepare_process
from .table import Commands

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
