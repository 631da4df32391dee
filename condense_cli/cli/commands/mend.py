"""Commands for broken transcripts: validate, repair."""

from __future__ import annotations

from typing import Annotated, Final

from ...config.options import Flag
from ..building import Command
from ..options import DryRun, File, FormatOption, Lenient, Quiet, Session


class ValidateOptions(Command, work="mend.validate"):
    """Check a transcript against the rules of its API.

    Faults are reported in the API's own words, with their line. For Claude Code sessions, the links between records are
    checked too. Exit status 0 if valid, 3 if not.

    Examples:

    \b
    condense validate session.jsonl
    condense run session.jsonl -o - | condense validate -
    condense validate --session latest
    condense validate session.jsonl --json | jq '.faults[].line'
    """

    file: File = None
    session: Session = None
    json: Annotated[bool, Flag("Print the faults as JSON.")] = False
    format: FormatOption = None
    lenient: Lenient = False


class RepairOptions(Command, work="mend.repair"):
    """Mend a broken session with the least change.

    Torn lines, missing parents, calls without results, empty texts, unsigned thinking, images that are too large, and
    whatever else condense validate finds. Each change is reported; a session that is right stays as it is, byte for
    byte. Exit status 3 if it cannot be mended without a guess: then nothing is written.

    Examples:

    \b
    condense repair session.jsonl                 what would be mended, and why
    condense repair session.jsonl -o mended.jsonl
    condense repair session.jsonl --in-place      condense undo reverts it
    condense repair --session latest --in-place
    condense repair session.jsonl --json | jq '.changes[].said'
    """

    file: File = None
    session: Session = None
    output: Annotated[str | None, Flag("Write the mended transcript there.", metavar="FILE|-", short="-o")] = None
    in_place: Annotated[bool, Flag("Replace FILE, keeping a backup next to it.")] = False
    dry_run: DryRun = False
    force: Annotated[bool, Flag("With --in-place: even if a program has FILE open.")] = False
    join: Annotated[
        tuple[str, ...],
        Flag(
            "Where several records may be the missing parent of one, this one is; may be repeated.",
            metavar="ID",
        ),
    ] = ()
    json: Annotated[bool, Flag("Print the changes as JSON.")] = False
    format: FormatOption = None
    quiet: Quiet = False


COMMANDS: Final = {"validate": ValidateOptions, "repair": RepairOptions}
