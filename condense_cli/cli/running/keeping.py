"""Check that --keep names something: a mistyped name stops a run before it writes, or what it meant would be gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from ...errors import CondenseError, UsageError
from ...rows.recognising import rows_in
from ..reading import read_transcript

if TYPE_CHECKING:
    from ...core.transcript import Message
    from ...many.inputs import Input
    from .work import Treatment


def check_keep(selectors: Sequence[str], conversations: Iterable[Sequence[Message]]) -> None:
    """Raises UsageError for selectors that match nothing in any of the conversations; reads no more than it needs."""
    from ...passes.flags import missed_keeps

    missed = dict.fromkeys(selectors, "")
    for messages in conversations:
        if not messages:
            continue
        missed = missed_keeps([*missed], messages)
        if not missed:
            return
    if any(missed.values()):
        raise nothing_kept(missed.values())


def nothing_kept(said: Iterable[str]) -> UsageError:
    """The error about selectors, each with what is said of it."""
    return UsageError("\n".join(said), "Nothing was written: condense inspect FILE lists messages, tools and files.")


def check_keep_in(inputs: Iterable[Input], treatment: Treatment) -> None:
    """The same for files that a run is given; sets of rows are left to the run on them. Raises UsageError."""
    if not treatment.work.overrides.keep or not (files := [each.path for each in inputs]):
        return
    if not any(rows_in(str(path), treatment.format) is not None for path in files):
        check_keep(treatment.work.overrides.keep, _conversations(map(str, files), treatment))


def _conversations(files: Iterable[str], treatment: Treatment) -> Iterator[Sequence[Message]]:
    for file in files:
        try:
            yield read_transcript(file, treatment.format, treatment.lenient).messages
        except (CondenseError, OSError):  # The run on that file tells it.
            continue
