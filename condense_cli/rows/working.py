"""From a file of rows to another, or to none: the rows flow through whatever is done to them, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import IO, Final, TypeVar

from ..storage.files import STDIO, writing, written_whole
from ..storage.processes import in_order
from .arrays import ArrayRows, is_array
from .parquet import ParquetRows, check_no_parquet, check_output
from .reading import RowLines, batches, opened
from .recognising import is_parquet
from .row import RowKind

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")
Write = Callable[[list[bytes]], None]

_FEW: Final = 4
"""Batches that are done sooner than other processes are started."""


@contextmanager
def flow(
    file: str, kind: RowKind, output: Path | IO[bytes] | None
) -> Iterator[tuple[RowKind, Iterator[RowLines], Write]]:
    """The rows of a file in batches, and what takes their lines back in the same order.

    With an `output` they are written to that file, whole or not at all, or to that stream as they come. The kind that
    comes along is the more exact one. Raises UnreadableError, OutputError, UsageError.
    """
    name = "standard input" if file == STDIO else file
    if is_parquet(file):
        check_output(file, output)
        rows = ParquetRows(file, kind)
        with _target(output) as stream, rows.writer(stream) as write:
            yield rows.kind, rows.batches(), write
        return
    if isinstance(output, Path):
        check_no_parquet(output)
    is_one_array = is_array(file)
    with (
        opened(file) as source,
        _target(output) as target,
        writing(target, output if isinstance(output, Path) else "") if target else nullcontext() as stream,
    ):
        write = stream.writelines if stream else _nowhere
        if is_one_array:
            array = ArrayRows(source, name)
            with array.writer(write) as write_elements:
                yield kind, array.batches(), write_elements
        else:
            yield kind, batches(source, name), write


@contextmanager
def _target(output: Path | IO[bytes] | None) -> Iterator[IO[bytes] | None]:
    if isinstance(output, Path):
        with written_whole(output) as stream:
            yield stream
    else:
        yield output


def _nowhere(lines: list[bytes]) -> None:
    pass


def results(work: Callable[[_Task], _Result], tasks: Iterator[_Task], jobs: int) -> Iterator[_Result]:
    """What `work` makes of each batch, in order; other processes are started for more than a few."""
    few = list(islice(tasks, _FEW))
    return in_order(work, chain(few, tasks), jobs if len(few) == _FEW else 1)
