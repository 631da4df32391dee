"""The terminal: where data and messages go, how errors are said, which status the process ends with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from ..errors import CondenseError, ExitStatus

if TYPE_CHECKING:
    from rich.console import Console

DEBUG_VARIABLE = "CONDENSE_DEBUG"


def console(*, stderr: bool = False) -> Console:
    """A Rich console; it honours NO_COLOR, FORCE_COLOR and COLUMNS by itself."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, markup=False, emoji=False)


def say(message: str) -> None:
    """A plain message on standard error."""
    typer.echo(message, err=True)


@contextmanager
def exits() -> Iterator[None]:
    """Turn whatever goes wrong inside into one clear message and the documented exit status."""
    try:
        yield
        sys.stdout.flush()
    except CondenseError as error:
        say(f"condense: {error.message}" + (f"\n{error.hint}" if error.hint else ""))
        _debug()
        raise typer.Exit(error.status) from None
    except BrokenPipeError:
        # The reader has enough. Standard output must not be flushed again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(ExitStatus.FAILED) from None
    except KeyboardInterrupt:
        say("condense: interrupted; nothing was written.")
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    except (typer.Exit, typer.Abort):
        raise
    except MemoryError:
        say("condense: not enough memory for a transcript of this size.")
        raise typer.Exit(ExitStatus.FAILED) from None
    except OSError as error:
        say(f"condense: {error.strerror or error}.")
        _debug()
        raise typer.Exit(ExitStatus.FAILED) from None
    except Exception as error:
        if type(error).__module__.split(".")[0] == "typer" or hasattr(error, "format_message"):
            raise  # a usage error, which Typer reports itself
        say(f"condense: internal error ({type(error).__name__}: {error}).\nRun it again with --debug and report it.")
        _debug()
        raise typer.Exit(ExitStatus.FAILED) from None


def _debug() -> None:
    if os.environ.get(DEBUG_VARIABLE):
        import traceback

        traceback.print_exc()
