"""`--to` of `condense run`: writing the result as messages of an API instead of in the format of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from ...errors import UsageError

if TYPE_CHECKING:
    from ...passes.condensation import Condensation
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


class Output(NamedTuple):
    """The bytes to write, None where the format is only read; and what the report warns of.

    No Struct: a shell that completes a flag of `run` imports this module, and waits.
    """

    data: bytes | None
    warnings: tuple[str, ...] = ()


def check(writing: Writing) -> None:
    """Raises UsageError when --to cannot be meant."""
    to = writing.to_format
    if to is None:
        return
    if to not in NAMES:
        raise UsageError(f"--to has no format {to!r}.", f"Name one of {', '.join(NAMES)}.")
    for option, is_given in (("--in-place", writing.in_place), ("--new-session", writing.new_session)):
        if is_given:
            raise UsageError(
                f"{option} and --to cannot be used together: what is written is no session of the client.",
                "Write it to a file with -o FILE.",
            )


def output(result: Condensation, to: str | None) -> Output:
    """The result in its own format, or in that of --to. Raises BrokenOutputError."""
    from ... import api, formats

    if to is not None:
        conversion = api.convert(result, to)
        return Output(conversion.data, conversion.notes)
    is_writable = formats.format_named(result.transcript.format).is_writable
    return Output(api.dump(result) if is_writable else None)
