"""Read input and write output: whole or not at all, compressed if the name or the bytes say so."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO, Final, cast

from msgspec import Struct

from ..errors import OutputError, UnreadableError, UsageError
from ..formats.engine.container import LARGEST_UNPACKED
from . import session_databases

if TYPE_CHECKING:
    from types import ModuleType

STDIO: Final = "-"
LARGEST_STREAM: Final = 1 << 30
"""Bytes read from a pipe or device, which may have no end. Files may have any size."""
_PIECE: Final = 1 << 20


def read_bytes(path: str | Path) -> bytes:
    """Read a file, or standard input for "-". Raises UnreadableError, also for a pipe that gives too much."""
    if not str(path):
        raise UnreadableError("The name of the file is empty.", "Name a transcript, or use - for standard input.")
    if str(path) == STDIO:
        return _read_stream(sys.stdin.buffer, "Standard input")
    with input_errors(path):
        try:
            file = Path(path).open("rb")  # noqa: SIM115 - closed below
        except (FileNotFoundError, NotADirectoryError):
            if not session_databases.is_in_database(Path(path)):
                raise
            return session_databases.exported(Path(path))
        with file:
            has_an_end = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return file.read() if has_an_end else _read_stream(file, str(path))


class PieceStream(io.RawIOBase):
    """A stream of the pieces that an iterator gives."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = filter(None, pieces)
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        rest = self._rest or memoryview(next(self._pieces, b""))
        size = min(len(rest), len(buffer))
        buffer[:size], self._rest = rest[:size], rest[size:]
        return size


def _read_stream(stream: BinaryIO, name: str) -> bytes:
    whole = io.BytesIO()
    while piece := stream.read(_PIECE):
        whole.write(piece)
        if whole.tell() > LARGEST_STREAM:
            raise UnreadableError(
                f"{name} gives more than {LARGEST_STREAM:,} bytes, and may have no end.", "Save it and name the file."
            )
    return whole.getvalue()


@contextlib.contextmanager
def input_errors(path: str | Path) -> Iterator[None]:
    """Turn errors of the system into an UnreadableError."""
    try:
        yield
    except FileNotFoundError:
        raise UnreadableError(f"There is no file {path}.", "Check the path, or use - for standard input.") from None
    except IsADirectoryError:
        raise UnreadableError(f"{path} is a folder.", "Name a transcript file in it.") from None
    except OSError as error:
        raise UnreadableError(f"Cannot read {path}: {error.strerror or error}.") from None


def write_bytes(path: Path, data: bytes, *, last_check: Callable[[], None] | None = None) -> None:
    """Write a file whole or not at all: to a neighbour first, then renamed over it. Raises OutputError.

    An existing file keeps its permissions and, if the system allows it, its owner. A device or pipe is written to
    directly. `last_check` is called right before the renaming, and may raise to leave everything as it is.
    """
    with written_whole(path, last_check=last_check) as file:
        file.write(data)


def create_bytes(path: Path, data: bytes, *, like: Path) -> bool:
    """Write a new file whole or not at all, with the permissions of another one. Raises OutputError.

    Returns False if the file exists with these very bytes. A different file is an error and never overwritten.
    """
    with output_errors(path):
        if not path.exists():
            with _neighbour(path, like) as (file, finish):
                file.write(data)
                name_new(finish(), path)
            sync_folder(path.parent)
            return True
        if holds(path, data):
            return False
    raise OutputError(f"{path} already exists and holds something else.", "It was left as it is.")


def name_new(existing: Path, new: Path) -> None:
    """Give a file a second name, or move it if the file system has none. Raises FileExistsError."""
    try:
        os.link(existing, new)
    except FileExistsError:
        raise
    except OSError:
        if new.exists():
            raise FileExistsError(0, "it exists") from None
        existing.rename(new)


@contextlib.contextmanager
def written_whole(path: Path, *, last_check: Callable[[], None] | None = None) -> Iterator[BinaryIO]:
    """Yield a file to write to, which replaces `path` if the block ends without an error.

    Otherwise nothing changes. For the rest as `write_bytes`. Raises OutputError.
    """
    with output_errors(path):
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise IsADirectoryError(0, "it is a folder")
            with path.open("wb") as device:
                yield device
            return
        target = Path(os.path.realpath(path))
        check_replaceable(target)
        with _neighbour(target, target if target.exists() else None) as (file, finish):
            yield file
            temporary = finish()
            if last_check is not None:
                last_check()
            temporary.replace(target)
        sync_folder(target.parent)


@contextlib.contextmanager
def _neighbour(target: Path, like: Path | None) -> Iterator[tuple[BinaryIO, Callable[[], Path]]]:
    """Yield a hidden file beside another one, open to write, and a function that flushes it and returns its path.

    It has the permissions of a third file, if that exists. At the end it is removed unless it was renamed.
    """
    temporary = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    # Without a third file it gets the usual permissions; with one, nobody may read it until it has those.
    mode = 0o666 if like is None else 0o600
    file: BinaryIO | None = None

    def finish() -> Path:
        assert file is not None
        with file:
            file.flush()
            os.fsync(file.fileno())
        if like is not None:
            status = like.stat()
            with contextlib.suppress(OSError, AttributeError):  # Only root may give files away; Windows has no owners.
                os.chown(temporary, status.st_uid, status.st_gid)
            temporary.chmod(status.st_mode & 0o7777)  # After the owner, whose change clears bits.
        return temporary

    try:
        # A process may be told to stop while the file is created.
        file = open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode))  # noqa: SIM115 - closed below
        yield file, finish
    finally:
        with contextlib.suppress(OSError):
            if file is not None:
                file.close()
        with contextlib.suppress(OSError):
            temporary.unlink()


def check_replaceable(path: Path) -> None:
    """Raise PermissionError for a read-only file: renaming over it would ignore that."""
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "the file is read-only")


def sync_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, if the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turn errors of the system into an OutputError."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"Cannot write {path}: {error.strerror or error}.", "Nothing was written there.") from None


def make_folder(path: Path) -> None:
    """Create a folder and its parents. Raises OutputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"Cannot make the folder {path}: {error.strerror or error}.") from None


def check_no_links(folder: Path, below: str | Path) -> None:
    """Raise OutputError if a name between a folder and a file below it is a link.

    The user named the folder; what is in it may be somebody else's, and a link would lead out of it.
    """
    path = folder
    for name in Path(below).parts:
        path /= name
        if path.is_symlink():
            raise OutputError(
                f"{path} is a link; nothing is written through links.", "Remove it, or name another folder."
            )


def holds(path: Path, data: bytes) -> bool:
    """Check if a file has exactly these bytes."""
    view = memoryview(data)
    try:
        with path.open("rb") as file:
            position = 0
            while piece := file.read(_PIECE):
                if piece != view[position : position + len(piece)]:
                    return False
                position += len(piece)
    except FileNotFoundError:
        return False
    return position == len(data)


class Stamp(Struct, frozen=True):
    """Status that changes when a file is written to or replaced; all None for a missing or hidden file."""

    device: int | None = None
    inode: int | None = None
    size: int | None = None
    mtime_ns: int | None = None


def stamp(path: Path) -> Stamp:
    try:
        status = path.stat()
    except OSError:
        return Stamp()
    return Stamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def check_output(source: str, output: Path, hint: str = "Write to another file.") -> None:
    """Raise UsageError, with the hint, if the output is the input, and OutputError if it has no folder to be in."""
    if source != STDIO and is_same_file(source, output):
        raise UsageError(f"The output {output} is the input file.", hint)
    check_folder(output)


def check_folder(output: Path) -> None:
    """Raise OutputError, before any work, if there is no folder to write a file in."""
    if not output.absolute().parent.is_dir():
        raise OutputError(f"There is no folder {output.parent} to write {output} in.", "Nothing was written.")


def is_same_file(one: str, other: Path) -> bool:
    """Check if two names are those of one existing file."""
    with contextlib.suppress(OSError):
        return os.path.samefile(one, other)
    return False


GZIP: Final = b"\x1f\x8b"
ZSTD: Final = b"\x28\xb5\x2f\xfd"
SUFFIXES: Final = (".gz", ".zst")
_COMPRESSED_PIECE: Final = 1 << 20
_LEVEL: Final = 6
"""gzip's own default; Python's is 9, which takes three times as long for one percent."""


def suffix_of(name: str | Path) -> str:
    """Return the compression that a file's name asks for: one of SUFFIXES, or ""."""
    suffix = Path(name).suffix.lower()
    return suffix if suffix in SUFFIXES else ""


def is_compressed(file: str | bytes) -> bool:
    """Check if a file, or its first bytes, are compressed in a known way."""
    if isinstance(file, str):
        with input_errors(file), Path(file).open("rb") as stream:
            return is_compressed(stream.read(len(ZSTD)))
    return file.startswith((GZIP, ZSTD))


def unpacked(data: bytes, name: str) -> bytes:
    """Return the bytes of a file, decompressed. Raises UnreadableError, also for too many bytes."""
    if not is_compressed(data[: len(ZSTD)]):
        return data
    whole = io.BytesIO()
    with reading(io.BytesIO(data), data[: len(ZSTD)], name) as stream:
        while piece := stream.read(_COMPRESSED_PIECE):
            whole.write(piece)
            if whole.tell() > LARGEST_UNPACKED:
                raise UnreadableError(
                    f"{name} unpacks to more than {LARGEST_UNPACKED:,} bytes.", "Unpack it and name a part of it."
                )
    return whole.getvalue()


def packed(data: bytes, name: str | Path) -> bytes:
    """Compress bytes as the file's name demands."""
    if not suffix_of(name):
        return data
    target = io.BytesIO()
    with writing(target, name) as stream:
        stream.write(data)
    return target.getvalue()


@contextmanager
def reading(stream: BinaryIO, start: bytes, name: str) -> Iterator[BinaryIO]:
    """Yield a stream, decompressed as its `start` demands. Raises UnreadableError if it is broken or cut off.

    Errors of reading inside the block are turned into that.
    """
    if start.startswith(GZIP):
        kind, opened = "gzip", cast("IO[bytes]", _gzip().GzipFile(fileobj=stream, mode="rb"))
        errors: tuple[type[Exception], ...] = (zlib.error, _gzip().BadGzipFile)
    elif start.startswith(ZSTD):
        kind, opened, errors = "zstd", zstd().ZstdFile(stream, "rb"), (zstd().ZstdError,)
    else:
        yield stream
        return
    try:
        with io.BufferedReader(cast("Any", opened), _COMPRESSED_PIECE) as buffered:
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
    """Yield a stream, compressed as the file's name demands. The same bytes give the same file."""
    suffix = suffix_of(name)
    if suffix == ".gz":
        # Without name and time in the header, so that equal runs write equal files.
        with _gzip().GzipFile("", "wb", _LEVEL, stream, mtime=0) as packer:
            yield cast("IO[bytes]", packer)
    elif suffix == ".zst":
        with zstd().ZstdFile(stream, "wb") as packer:
            yield packer
    else:
        yield stream


def _gzip() -> ModuleType:
    import gzip  # Few files are packed.

    return gzip


def zstd() -> ModuleType:
    """Return Python's own module (since 3.14), or the same one from the package backports.zstd."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
