"""`condense repair`: mend what the API or the client refuses in a file."""

from __future__ import annotations

from typing import Annotated

import typer

from ..console import exits
from ..options import File, FormatOption, Session
from ..reading import input_file

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense repair session.jsonl                 what would be mended, and why\n"
    "condense repair session.jsonl -o mended.jsonl\n"
    "condense repair session.jsonl --in-place      condense undo reverts it\n"
    "condense repair --session latest --in-place\n"
    "condense repair session.jsonl --json | jq '.changes[].said'"
)


def repair(
    file: File = None,
    session: Session = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE|-", help="Write the mended transcript there.")
    ] = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE, keeping a backup next to it.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Write nothing.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --in-place: even if a program has FILE open for writing.")
    ] = False,
    join: Annotated[
        list[str] | None,
        typer.Option(
            "--join",
            metavar="ID",
            help="Where several records may be the missing parent of one, this one is; may be repeated.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the changes as JSON.")] = False,
    format_name: FormatOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
) -> None:
    """Mend a broken session with the least change.

    Torn lines, missing parents, calls without results, empty texts, unsigned thinking, images that are too large, and
    whatever else condense validate finds. Each change is reported; a session that is right stays as it is, byte for
    byte. Exit status 3 if it cannot be mended without a guess: then nothing is written.
    """
    with exits():
        from ..mending import Mending, mend

        mend(
            input_file(file, session),
            Mending(output, in_place, dry_run, force, tuple(join or ()), json, format_name, quiet),
        )
