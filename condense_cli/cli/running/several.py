"""Which options of `condense run` go with several transcripts or with a set of rows, and which with one alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UsageError
from ..reading import name_of

if TYPE_CHECKING:
    from .options import Reading, RunOptions, Showing, Writing


def of_one(showing: Showing) -> dict[str, object]:
    """Options that tell of one transcript, with their values."""
    return {"--explain": showing.explain, "--log-json": showing.log_json, "--html": showing.html}


def check(options: RunOptions) -> None:
    """Raises UsageError for options that are for rows or several files, where these lack something, or are one."""
    if options.doing.split and options.choosing.target_tokens is None:
        raise UsageError("--split needs a size.", "Set the largest row with --target-tokens 32k.")
    if options.are_several:
        _check_several(options.reading, options.writing, options.showing)
    elif options.writing.engine != "local":
        raise UsageError(
            f"--engine {options.writing.engine} works on several files.", "Name a folder and --out-dir DIR."
        )


def no_rows_to_split() -> UsageError:
    """What is wrong with --split where there is one transcript."""
    return UsageError("--split works on sets of rows, and this is one transcript.", "Leave --split out.")


def _check_several(reading: Reading, writing: Writing, showing: Showing) -> None:
    """Raises UsageError for options that make no sense here: those that name one transcript, and others for one."""
    files, out_dir, dry_run = reading.files or [], writing.out_dir, writing.dry_run
    places: dict[str, object] = {
        "-o": writing.output,
        "--session": reading.session,
        "--new-session": writing.new_session,
        "--in-place": writing.in_place,
    }
    refused = next((option for option, value in (places | of_one(showing)).items() if value), None)
    if out_dir is not None and refused is not None:
        raise UsageError(
            f"{refused} and --out-dir cannot be used together.",
            f"--out-dir takes many transcripts; {refused} works on one.",
        )
    if not files:
        raise UsageError("No transcript given.", "For example: condense run FILE… --out-dir DIR")
    several = f"{files[0]} is a folder"
    if len(files) > 1:
        several = f"{', '.join(files[:2])}{'' if len(files) == 2 else ', …'} are {len(files)} transcripts"
    if refused is not None:
        hint = "--out-dir DIR takes them all." if refused in places else f"Leave {refused} out, or name one transcript."
        raise UsageError(f"{several}, and {refused} works on one transcript.", hint)
    if out_dir is None and not dry_run:
        raise UsageError(f"{several}. Say where to write.", "--out-dir DIR writes them there; --dry-run only reports.")


def check_rows(file: str, refused: dict[str, object]) -> None:
    """Raises UsageError for options that make no sense on a set of rows."""
    for option, value in refused.items():
        if value:
            raise UsageError(
                f"{name_of(file)} is a set of rows, and {option} works on one transcript.",
                "For a single row: sed -n 12p FILE | condense run -",
            )
