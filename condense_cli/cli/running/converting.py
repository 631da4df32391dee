"""`--to` of `condense run`: writing the result as messages of an API instead of in the format of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...core.brief import quoted
from ...errors import UsageError

if TYPE_CHECKING:
    from .options import Writing

NAMES = ("anthropic", "openai-chat", "openai-responses")
"""`formats.converting.TARGETS`, which is too heavy to import while a shell waits for completions."""

To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="NAME",
        autocompletion=lambda: list(NAMES),
        help="Write messages of this API instead: anthropic, openai-chat or openai-responses.",
    ),
]


def check(to: str, writing: Writing) -> None:
    """Raises UsageError when --to cannot be meant."""
    if to not in NAMES:
        raise UsageError(f"--to has no format {quoted(to)}.", f"Name one of {', '.join(NAMES)}.")
    for option, is_given in (("--in-place", writing.in_place), ("--new-session", writing.new_session)):
        if is_given:
            raise UsageError(
                f"{option} and --to cannot be used together: what is written is no session of the client.",
                "Write it to a file with -o FILE.",
            )
