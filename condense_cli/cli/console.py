"""The terminal: where data and messages go, how errors are said, which status the process ends with."""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn, TextIO

import typer

from ..core.wording import visible
from ..errors import CondenseError, ExitStatus, OutputError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from ..report.sections import Part

DEBUG_VARIABLE = "CONDENSE_DEBUG"
_IN_WRITING = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF, errno.EINVAL}
"""Errors of writing to standard output. EINVAL: a closed pipe on Windows."""
_SIZES = ("COLUMNS", "LINES")


def console(*, stderr: bool = False) -> Console:
    """Return a Rich console. It honours NO_COLOR, FORCE_COLOR and COLUMNS; terminals of unknown size report 0."""
    from rich.console import Console

    known = {name: value for name, value in os.environ.items() if name not in _SIZES or value.strip("0")}
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, _environ=known)


_TO_COPY: Final = (" | ", " && ", " > ")
"""Inside of shell commands: a line break put into one would be copied with it."""


def print_lines(lines: Iterable[str | Text], style: str = "") -> None:
    """Print lines that a terminal shows broken between words, and a pipe gets whole."""
    screen = console()
    for line in lines:
        whole = line if isinstance(line, str) else line.plain
        is_whole = not screen.is_terminal or any(sign in whole for sign in _TO_COPY)
        screen.print(visible(line) if isinstance(line, str) else line, style=style, soft_wrap=is_whole)


def tell_lines(lines: Iterable[str], *, on_stderr: bool) -> None:
    """Print the lines of a report, on standard error where standard output is for a transcript."""
    if not on_stderr:
        print_lines(lines)
        return
    for line in lines:
        say(line)


def print_parts(parts: Iterable[Part | RenderableType]) -> None:
    """Print the parts of a report. In a pipe, sentences break between words, so that no path is broken."""
    screen = console()
    for part in _rendered(parts, screen):
        plain = getattr(part, "plain", None)
        if plain is not None and not screen.is_terminal:
            screen.print(between_words(plain, screen.width), soft_wrap=True)
        else:
            screen.print(part)


def print_report(found: object, parts: Callable[[], Iterable[Part | RenderableType]], *, as_json: bool) -> None:
    """Print the facts of a report as JSON, or else its parts."""
    if not as_json:
        print_parts(parts())
        return
    from ..report.sections import to_json

    write_text(to_json(found))


def _rendered(parts: Iterable[Part | RenderableType], screen: Console) -> Iterator[RenderableType]:
    from ..report.terminal import render

    return render(parts, screen.width)


def between_words(text: str, width: int) -> str:
    """Wrap a text to lines of at most `width` characters; a longer word keeps its own line."""
    fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(map(fill, text.split("\n")))


def print_paged(parts: Iterable[Part | RenderableType], *, stderr: bool = False) -> None:
    """Print the parts of a report; if that is more than a person's terminal shows at once, in the user's pager."""
    screen = console(stderr=stderr)
    shown = _rendered(parts, screen)
    if stderr or not (sys.stdout.isatty() and sys.stdin.isatty()):
        for part in shown:
            screen.print(part)
        return
    with screen.capture() as captured:
        for part in shown:
            screen.print(part)
    text = captured.get()
    if text.count("\n") > screen.height:
        from .foreground import page

        page(text)
    else:
        sys.stdout.write(text)


@contextmanager
def bar(total: int, pieces: str) -> Iterator[Callable[[float], None]]:
    """Show a progress bar if messages go to a terminal. The yielded function takes the number of finished pieces."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    text = TextColumn(f"{{task.completed:,.0f}} of {total:,} {pieces}")
    with Progress(text, BarColumn(), TimeRemainingColumn(), console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda done: progress.update(task, completed=done)


def tell(line: str) -> None:
    """Print a line about the work on standard output, bold on a terminal. For others Rich, 20 ms, is not loaded."""
    if sys.stdout.isatty():
        console().print(line, style="bold", soft_wrap=True)
    else:
        typer.echo(line)


def say(message: str) -> None:
    """Print a plain message on standard error. If nobody reads it, the work goes on."""
    try:
        typer.echo(_fitting(visible(message)), err=True)
    except OSError:
        _silence(sys.stderr)


def _fitting(message: str) -> str:
    """Break the lines of a message between words where a terminal shows them."""
    if not sys.stderr.isatty():
        return message
    width = shutil.get_terminal_size().columns
    return "\n".join(
        line if any(sign in line for sign in _TO_COPY) else between_words(line, width) for line in message.split("\n")
    )


def write_out(data: bytes) -> None:
    """All of the data on standard output. An unbuffered stream may take less than it is given at a time."""
    if not _has_stdout:
        raise OutputError("Standard output is closed.", "Write to a file with -o FILE.")
    rest = memoryview(data)
    while rest:
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()


def write_text(text: str) -> None:
    """Text for programs on standard output: always UTF-8, whatever the terminal speaks."""
    write_out(text.encode("utf-8", "replace"))


_has_stdout = True


def prepare_process() -> None:
    """Make the streams safe to use: there may be none, and they may not know every character."""
    global _has_stdout
    _has_stdout = _has_stdout and sys.stdout is not None
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for the whole process
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    # Numbers of any length that a file may hold are kept; the limit only guards against hours of conversion.
    sys.set_int_max_str_digits(100_000)


def _silence(stream: TextIO) -> None:
    """Redirect a stream to nowhere, so that Python does not write the rest again when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


@contextmanager
def exits() -> Iterator[None]:
    """Turn whatever goes wrong inside into one clear message and the documented exit status."""
    try:
        try:
            yield
        except SystemExit as end:
            if isinstance(end.__context__, BrokenPipeError):  # Rich and Typer end the process by themselves.
                raise end.__context__ from None
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    except CondenseError as error:
        say(f"condense: {error.message}" + (f"\n{error.hint}" if error.hint else ""))
        more = len(getattr(error, "others", ()))
        if more:
            say(f"There {'is 1 more mistake' if more == 1 else f'are {more} more mistakes'}: condense config validate.")
        _leave(error.status)
    except BrokenPipeError:
        _leave(ExitStatus.READER_LEFT)
    except KeyboardInterrupt:
        say("condense: interrupted.")
        _leave(ExitStatus.INTERRUPTED)
    except MemoryError:
        say("condense: not enough memory.")
        _leave(ExitStatus.FAILED)
    except OSError as error:
        what = "cannot write the output: " if error.errno in _IN_WRITING else ""
        where = f": {error.filename}" if error.filename else ""
        say(f"condense: {what}{error.strerror or error}{where}.")
        _leave(ExitStatus.FAILED)
    except Exception as error:
        if isinstance(error, typer.Exit | typer.Abort) or hasattr(error, "format_message"):
            raise  # Typer's own: a usage error or the end of a command.
        say(
            f"condense: internal error ({type(error).__name__}: {error}).\n"
            "Please run it again with --debug and report it."
        )
        _leave(ExitStatus.FAILED)


def _leave(status: ExitStatus) -> NoReturn:
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        traceback.print_exc()
    _silence(sys.stdout)
    raise SystemExit(int(status))
