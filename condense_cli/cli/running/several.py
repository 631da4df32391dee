"""Whether `condense run` is for one transcript or for several, and which of its options go with several."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import UsageError
from ..reading import name_of

if TYPE_CHECKING:
    from .options import Choosing, Doing, Reading, Showing, Writing


def is_several(files: list[str], out_dir: Path | None) -> bool:
    """Whether the arguments of `condense run` name more than one transcript."""
    return out_dir is not None or len(files) > 1 or (len(files) == 1 and Path(files[0]).is_dir())


def of_one(showing: Showing) -> dict[str, object]:
    """Options that tell of one transcript, with their values."""
    return {"--explain": showing.explain, "--log-json": showing.log_json, "--html": showing.html}


def of_one_file(showing: Showing) -> dict[str, object]:
    """Options that tell of one transcript or of one set of rows, with their values."""
    return of_one(showing) | {"--cost": showing.cost, "-v": showing.verbose}


def check_split(doing: Doing, choosing: Choosing) -> None:
    """Raises UsageError for rows to be split where nothing says how large one may be."""
    if doing.split and choosing.target_tokens is None:
        raise UsageError("--split needs a size.", "Set the largest row with --target-tokens 32k.")


def check_no_split(is_wanted: bool) -> None:
    """Raises UsageError for what is one transcript, and no row."""
    if is_wanted:
        raise UsageError("--split works on sets of rows, and this is one transcript.", "Leave --split out.")


def check_engine(engine: str, *, are_several: bool) -> None:
    """Raises UsageError where there are no files to hand out to workers."""
    if engine != "local" and not are_several:
        raise UsageError(f"--engine {engine} works on several files.", "Name a folder and --out-dir DIR.")


def check_several(files: list[str], reading: Reading, writing: Writing, showing: Showing) -> None:
    """Raises UsageError for options that make no sense here: those that name one transcript, and others for one."""
    out_dir, dry_run = writing.out_dir, writing.dry_run
    places: dict[str, object] = {
        "-o": writing.output,
        "--session": reading.session,
        "--new-session": writing.new_session,
        "--in-place": writing.in_place,
    }
    refused = next((option for option, value in (places | of_one_file(showing)).items() if value), None)
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
        raise UsageError(f"{several}, and {refused} works on one.", hint)
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
