"""Read the samples in a log of Inspect AI (.eval, a zip archive) as the lines of a set of rows."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, cast

from ..errors import UnreadableError
from ..formats.engine.container import LARGEST_UNPACKED
from ..storage.files import PieceStream

_BROKEN: Final = (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError)
"""What opening and reading a broken archive raises."""


def samples_of(stream: BinaryIO) -> list[str]:
    """List the samples in an archive; empty for another archive, or for a single sample."""
    try:
        with zipfile.ZipFile(stream) as archive:
            names = [name for name in archive.namelist() if name.startswith("samples/") and name.endswith(".json")]
    except _BROKEN:
        return []
    finally:
        stream.seek(0)
    return names if len(names) > 1 else []


@contextmanager
def lines_of(stream: BinaryIO, names: list[str], file: str) -> Iterator[BinaryIO]:
    """Open the samples as a stream of lines. Reading it can raise UnreadableError."""
    with zipfile.ZipFile(stream) as archive:
        yield cast("BinaryIO", io.BufferedReader(PieceStream(_each(archive, names, file))))


def _each(archive: zipfile.ZipFile, names: list[str], file: str) -> Iterator[bytes]:
    for name in names:
        if archive.getinfo(name).file_size > LARGEST_UNPACKED:
            raise UnreadableError(f"{file}: {name} unpacks to more than {LARGEST_UNPACKED:,} bytes.")
        try:
            data = archive.read(name)
        except _BROKEN as error:
            raise UnreadableError(f"Cannot read {name} of {file}: {error}.") from None
        # In JSON a line break is never part of a text, so it can go.
        yield data.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"
