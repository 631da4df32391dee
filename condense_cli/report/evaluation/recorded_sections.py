"""Declare the report of `condense evaluate --recorded`: the work after each compaction, and what each way kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...core.wording import plural
from ..costs.money import dollars, pays_after
from ..sections import BLANK, Part, Sentence, Table
from ..text.tokens import OF_SEVERAL
from .recorded import Recorded, RecordedCompaction, RecordedFile
from .sections import NONE, closing, percent

_MOST = 20
"""Compactions that are shown one by one."""
_MEASURES = ("facts", "named", "edits", "files")
FOLLOWED = ["what followed", "how", "requests", "read again", "tokens", "to edit"]
KEPT = ["what was kept", "way", "tokens", *_MEASURES, "one-time", "pays"]
_PAYS = {"never": "never", "unknown": NONE, "next turn": "1"}


def sections(found: Recorded) -> Iterator[Part]:
    yield Sentence(headline(found), "bold")
    for part in body(found, _MOST):
        if isinstance(part, Table):
            yield BLANK
        yield part
    judged = judged_in(found)
    if judged:
        yield BLANK
    yield from closing([*notes(found)], found.unread)


def body(found: Recorded, most: int | None = None) -> Iterator[Part]:
    """Yield the tables, of the first `most` compactions."""
    judged = judged_in(found)
    shown = judged[:most]
    if not judged:
        return
    yield _table("What followed", FOLLOWED, _followed(shown))
    yield _table("What was kept", KEPT, _kept(found, shown))
    if len(judged) > len(shown):
        yield Sentence(f"and {len(judged) - len(shown):,} more, listed by --json", "dim")


def headline(found: Recorded) -> str:
    total = found.total
    with_any = sum(bool(file.compactions) for file in found.files)
    if not total.compactions:
        return "No recorded compaction was found."
    said = f"{plural(total.compactions, 'compaction')} in {plural(with_any, 'file')}"
    if not total.judged:
        return f"{said}, none of which can be measured."
    some = "" if total.judged == total.compactions else f", {total.judged} of them measured"
    return (
        f"{said}{some}. Looked for: {plural(total.facts, 'fact')}, {plural(total.lines, 'line')} to edit and "
        f"{plural(total.files, 'file')}."
    )


def _name(file: RecordedFile, one: RecordedCompaction) -> str:
    return f"{file.name} {one.number}" if len(file.compactions or ()) > 1 else file.name


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    return Table(columns, rows, range(2, len(columns)), title=title, is_path=True)


def judged_in(found: Recorded) -> list[tuple[RecordedFile, RecordedCompaction]]:
    """Return every compaction that was judged, with its file."""
    return [(file, one) for file in found.files for one in file.judged]


def _followed(judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> list[list[str]]:
    """Return the work after each compaction; the columns are `FOLLOWED`."""
    return [
        [
            _name(file, one),
            {True: "auto ", False: "asked ", None: ""}[one.is_auto] + one.kind,
            f"{one.requests:,}",
            f"{one.read_again.files} of {one.read_again.touched}" if one.read_again else NONE,
            f"{one.read_again.tokens:,}" if one.read_again else NONE,
            NONE if one.actions_to_edit is None else f"{one.actions_to_edit:,}",
        ]
        for file, one in judged
    ]


def _kept(found: Recorded, judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> list[list[str]]:
    """Return what each way kept of each conversation, and of all; the columns are `KEPT`."""
    rows = []
    for file, one in judged:
        rows.append([_name(file, one), "before", f"{one.tokens:,}", *[""] * (len(_MEASURES) + 2)])
        rows += [
            [
                "",
                left.way,
                f"{left.tokens:,}" if left.recall else "failed",
                *(percent(left.share(name)) for name in _MEASURES),
                dollars(left.cost.one_off) if left.cost.one_off else NONE,
                _PAYS.get(after := pays_after(left.cost), after.removesuffix(" turns")),
            ]
            for left in one.left
        ]
    if found.total.judged > 1:
        label = f"all {found.total.judged}"
        rows.append([label, "before", f"{found.total.tokens:,}", *[""] * (len(_MEASURES) + 2)])
        for way in found.total.ways:
            shares = (way.facts, way.named, way.edits, way.files)
            rows.append(["", way.way, f"{way.tokens:,}", *map(percent, shares), "", ""])
    return rows


def notes(found: Recorded) -> Iterator[str]:
    judged = judged_in(found)
    if judged:
        yield (
            "client: what the client's compaction left; below it, what condense leaves at the same size, "
            "without a model. Percent of what later work needed: facts and edits are found on an original line; "
            "named: facts found only in a summary or a ledger; files: what became of a file can be "
            "seen from calls or a ledger."
        )
        yield (
            "read again: files that had to be read once more, and their tokens. to edit: calls before "
            "the first edit of a file. one-time: the cost of the summary call and of re-caching; pays: "
            f"after this many requests. {OF_SEVERAL}"
        )
        if any(left.recall and left.cost.one_off is None for _, one in judged for left in one.left):
            yield f"{NONE} under money: no price of the model, or of its cache writes, is known."
        yield from _failures(judged)
    if any(not one.is_readable for _, one in judged):
        encrypted = sum(not one.is_readable for _, one in judged)
        yield f"Encrypted ({encrypted}): the provider's summary cannot be read and counts as empty."
    for reason, number in found.not_judged():
        yield f"Not measured ({number}): {reason}."
    empty = sum(file.compactions == [] for file in found.files)
    if empty and len(found.files) > 1:
        yield f"{plural(empty, 'file')} {'records' if empty == 1 else 'record'} none."
    unknown = sorted({file.format for file in found.files if file.compactions is None})
    if unknown:
        yield f"How {', '.join(unknown)} files record a compaction is not known."


def _failures(judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> Iterator[str]:
    """Say which ways failed, how often and why first."""
    errors: dict[str, list[str]] = {}
    for _, one in judged:
        for left in one.left:
            if left.error:
                errors.setdefault(left.way, []).append(left.error)
    for way, why in errors.items():
        yield f"{way} failed at {len(why)} of {len(judged)}: {why[0]}"
