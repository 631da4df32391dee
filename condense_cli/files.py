"""Reading input and writing output: the only place that touches files."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from .errors import OutputError, UnreadableError, UsageError

STDIO = "-"


def read_bytes(path: str | Path) -> bytes:
    """Bytes of a file, or of standard input for "-". Raises UnreadableError."""
    if not str(path):
        raise UnreadableError("The name of the file is empty.", "Name a transcript, or use - for standard input.")
    if str(path) == STDIO:
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise UnreadableError(f"There is no file {path}.", "Check the path, or use - for standard input.") from None
    except IsADirectoryError:
        raise UnreadableError(f"{path} is a folder.", "Name one transcript file in it.") from None
    except OSError as error:
        raise UnreadableError(f"Cannot read {path}: {error.strerror or error}.") from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file whole or not at all: to a neighbour first, then renamed over it. Raises OutputError.

    An existing file keeps its permissions; a device or pipe is written to as it is.
    """
    try:
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            path.write_bytes(data)
            return
        target = Path(os.path.realpath(path))
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(0, "the file is read-only")
        mode = target.stat().st_mode & 0o7777 if target.exists() else 0o666 & ~_umask()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.chmod(mode)
            temporary.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}.", "Nothing was written there.") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def check_output(source: str, output: Path) -> None:
    """Refuse an output that is the input. Raises UsageError."""
    if source == STDIO:
        return
    with contextlib.suppress(OSError):
        if os.path.samefile(source, output):
            raise UsageError(
                f"The output {output} is the input file.", "Write to another file; the input is never changed."
            )
