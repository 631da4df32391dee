"""`--to` of `condense run`: writing the result as messages of an API instead of in the format of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core.wording import quoted
from ...errors import UsageError
from ..options import TARGETS

if TYPE_CHECKING:
    from .options import Writing


def check(to: str, writing: Writing) -> None:
    """Raises UsageError when --to cannot be meant."""
    if to not in TARGETS:
        raise UsageError(f"--to has no format {quoted(to)}.", f"Name one of {', '.join(TARGETS)}.")
    for option, is_given in (("--in-place", writing.in_place), ("--new-session", writing.new_session)):
        if is_given:
            raise UsageError(
                f"{option} and --to cannot be used together: what is written is no session of the client.",
                "Write it to a file with -o FILE.",
            )
