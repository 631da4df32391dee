"""Files compressed with gzip or Zstandard: recognised by their first bytes, written by the end of their name."""

from __future__ import annotations

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, cast

from ..errors import UnreadableError
from ..formats.engine.container import LARGEST_UNPACKED
from .files import input_errors

if TYPE_CHECKING:
    from types import ModuleType

GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
SUFFIXES: Final = (".gz", ".zst")
_PIECE: Final = 1 << 20
_LEVEL: Final = 6
"""gzip's own default; Python's is 9, which takes three times as long for one percent."""


def suffix_of(name: str | Path) -> str:
    """Which compression the name of a file asks for: one of SUFFIXES, or nothing."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix in SUFFIXES else ""


def is_compressed(file: str | bytes) -> bool:
    """Whether a file, or one that begins with these bytes, is compressed in a way that is known here."""
    if isinstance(file, str):
        with input_errors(file), Path(file).open("rb") as stream:
            return is_compressed(stream.read(len(ZSTD)))
    return file.startswith((GZIP, ZSTD))


def unpacked(data: bytes, name: str) -> bytes:
    """The bytes of a file, decompressed where they are compressed. Raises UnreadableError, for too many as well."""
    if not is_compressed(data[: len(ZSTD)]):
        return data
    whole = io.BytesIO()
    with reading(io.BytesIO(data), data[: len(ZSTD)], name) as stream:
        while piece := stream.read(_PIECE):
            whole.write(piece)
            if whole.tell() > LARGEST_UNPACKED:
                raise UnreadableError(
                    f"{name} unpacks to more than {LARGEST_UNPACKED:,} bytes.", "Unpack it and name a part of it."
                )
    return whole.getvalue()


def packed(data: bytes, name: str | Path) -> bytes:
    """The bytes as a file of that name holds them."""
    if not suffix_of(name):
        return data
    target = io.BytesIO()
    with writing(target, name) as stream:
        stream.write(data)
    return target.getvalue()


@contextmanager
def reading(stream: BinaryIO, start: bytes, name: str) -> Iterator[BinaryIO]:
    """A stream decompressed on the way, as its `start` demands. Raises UnreadableError where it is broken or cut off.

    The errors of reading inside the block are turned into that.
    """
    if start.startswith(GZIP):
        import gzip  # Few files are packed.

        kind, opened = "gzip", cast("IO[bytes]", gzip.GzipFile(fileobj=stream, mode="rb"))
        errors: tuple[type[Exception], ...] = (zlib.error, gzip.BadGzipFile)
    elif start.startswith(ZSTD):
        kind, opened, errors = "zstd", zstd().ZstdFile(stream, "rb"), (zstd().ZstdError,)
    else:
        yield stream
        return
    try:
        with io.BufferedReader(cast("Any", opened), _PIECE) as buffered:
            yield cast("BinaryIO", buffered)
    except EOFError:
        raise UnreadableError(
            f"{name} is cut off: its {kind} data has no end.", "Get it again from its source."
        ) from None
    except errors as error:
        raise UnreadableError(
            f"{name} is broken: its {kind} data cannot be unpacked ({error}).",
            "Get it again from its source.",
        ) from None


@contextmanager
def writing(stream: IO[bytes], name: str | Path) -> Iterator[IO[bytes]]:
    """A stream compressed on the way, as the name of the file demands. The same bytes give the same file."""
    suffix = suffix_of(name)
    if suffix == ".gz":
        import gzip

        # No name and no time in the header, or the same run would write another file every second.
        with gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packer:
            yield cast("IO[bytes]", packer)
    elif suffix == ".zst":
        with zstd().ZstdFile(stream, "wb") as packer:
            yield packer
    else:
        yield stream


def zstd() -> ModuleType:
    """Python's own module since 3.14, and the same one for older Pythons from the package backports.zstd."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
