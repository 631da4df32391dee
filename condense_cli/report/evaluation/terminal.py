"""What came of an evaluation, for people: recalls at the same size, every setting, and every transcript."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from ...core.wording import plural
from ...quality.curves import Mean
from ..text.fitted_table import GAP, column_widths, fitted_table
from ..text.tokens import OF_SEVERAL
from ..text.visible import visible
from .comparison_terminal import comparison_notes, render_comparison
from .facts import Evaluation, NotRead

_NONE = "–"
_SHORTEST_NAME = 12
_LONGEST_NAME = 24
_MOST_TRANSCRIPTS = 40
_MOST_UNREAD = 5


def render_evaluation(found: Evaluation, width: int) -> Iterator[RenderableType]:
    """The tables, section by section; no line of them is wider than `width`."""
    yield Text(headline(found), style="bold")
    if found.total.cuts:
        if found.budgets:
            yield ""
            yield from _at_size(found, width)
        yield ""
        yield from _settings(found, width)
        for said in failures(found):
            yield Text(visible(said), style="yellow")
        if found.models:
            yield from render_comparison(found, width)
        if found.budgets and sum(bool(one.cuts) for one in found.transcripts) > 1:
            yield ""
            yield from _transcripts(found, width)
    yield ""
    yield from closing(notes(found), found.unread)


def closing(sentences: Iterable[str], unread: Sequence[NotRead]) -> Iterator[Text]:
    """What there is to say of figures, and the files that are not in them."""
    for sentence in sentences:
        yield Text(visible(sentence), style="dim")
    for one in unread[:_MOST_UNREAD]:
        yield Text(visible(f"Not read: {one.reason}"), style="yellow")
    if unread[_MOST_UNREAD:]:
        yield Text(f"Not read: {len(unread) - _MOST_UNREAD} more, listed by --json.", style="yellow")


def headline(found: Evaluation) -> str:
    total = found.total
    if not total.cuts:
        return "There is nothing to measure."
    transcripts = sum(bool(one.cuts) for one in found.transcripts)
    return (
        f"{plural(transcripts, 'transcript')}, {plural(total.cuts, 'cut')}. Looked for: "
        f"{plural(total.facts, 'fact')}, {plural(total.lines, 'line')} to edit and {plural(total.files, 'file')}."
    )


def failures(found: Evaluation) -> Iterator[str]:
    """Which ways failed, how often and why first; but for those of which it is told why they were tried no further."""
    stopped = {model.way for model in found.models if model.stopped is not None}
    for way in found.ways:
        points = [point for one in found.transcripts for cut in one.cuts for point in cut.points if point.way == way]
        why = [point.error for point in points if point.error]
        if why and way not in stopped:
            yield f"{way} failed in {len(why)} of {plural(len(points), 'run')}: {why[0]}"


def percent(share: float | None) -> str:
    return _NONE if share is None else f"{100 * share:.1f}"


def share_of_size(share: float) -> str:
    return f"{100 * share:.4g}%"


def _at_size(found: Evaluation, width: int) -> Iterator[RenderableType]:
    """The measures side by side; where that is too wide, one below the other."""
    sizes = [share_of_size(size) for size in found.budgets]
    rows = [
        [way, *(percent(at.share(name)) for name in found.measures for at in found.total.at_size if at.way == way)]
        for way in found.ways
    ]
    columns = ["at the same size", *sizes * len(found.measures)]
    name, *widths = column_widths(columns, rows)
    rest = sum(widths) + GAP * len(widths)
    if rest + min(name, _SHORTEST_NAME) <= width:
        titles = ""
        for number, measure in enumerate(found.measures):
            first, *others = widths[number * len(sizes) : (number + 1) * len(sizes)]
            titles += f"{'':{GAP}}{measure:>{first}}{'':{sum(others) + GAP * len(others)}}"
        yield Text(" " * min(name, width - rest) + titles.rstrip(), style="dim")
        yield fitted_table(columns, rows, range(1, len(columns)), width, flexible=0)
        return
    for number, measure in enumerate(found.measures):
        start = 1 + number * len(sizes)
        part = [[row[0], *row[start : start + len(sizes)]] for row in rows]
        if number:
            yield ""
        yield fitted_table([f"{measure} at the same size", *sizes], part, range(1, 1 + len(sizes)), width, flexible=0)


def _settings(found: Evaluation, width: int) -> Iterator[RenderableType]:
    settings = found.total.settings
    cells: dict[str, list[str]] = {
        "setting": [f"{setting.way}, {setting.setting}" for setting in settings],
        "size": [percent(setting.size) for setting in settings],
        **{measure: [_recall(setting.mean(measure)) for setting in settings] for measure in found.measures},
    }
    if "facts" in found.measures:
        cells["named"] = [percent(setting.named) for setting in settings]
    if any(setting.failed for setting in settings):
        cells["failed"] = [str(setting.failed) for setting in settings]
    cells["seconds"] = [f"{setting.seconds:.1f}" for setting in settings]
    for number, part in enumerate(_parts(cells, width)):
        if number:
            yield ""
        rows = list(zip(*part.values(), strict=True))
        yield fitted_table(list(part), rows, range(1, len(part)), width, flexible=0)


def _parts(cells: dict[str, list[str]], width: int) -> list[dict[str, list[str]]]:
    """The columns of a table, by their names, as tables one below the other where they are too wide for one."""
    (title, names), *columns = cells.items()
    first = min(_LONGEST_NAME, *column_widths([title], [[name] for name in names]))
    parts = [{title: names}]
    room = width - first
    for column, values in columns:
        (needed,) = column_widths([column], [[value] for value in values])
        if room < needed + GAP and len(parts[-1]) > 1:
            parts.append({title: names})
            room = width - first
        parts[-1][column] = values
        room -= needed + GAP
    return parts


def _recall(mean: Mean | None) -> str:
    return percent(mean.recall if mean else None)


def _transcripts(found: Evaluation, width: int) -> Iterator[RenderableType]:
    """The first measure of every transcript at the size in the middle, of as many ways as there is room for."""
    size = sorted(found.budgets)[len(found.budgets) // 2]
    measure = found.measures[0]
    shown = [one for one in found.transcripts if one.cuts][:_MOST_TRANSCRIPTS]
    columns = [f"{measure} at {share_of_size(size)}", "tokens", "asked"]
    rows = [[one.name, f"{one.tokens:,}", f"{one.summary.facts:,}"] for one in shown]
    room = width - 2 * _SHORTEST_NAME - sum(column_widths(columns, rows)[1:]) - 2 * GAP
    for way in found.ways:
        room -= max(len(way), 5) + GAP
        if room < 0:
            break
        columns.append(way)
        for row, one in zip(rows, shown, strict=True):
            at = next((at for at in one.summary.at_size if (at.way, at.size) == (way, size)), None)
            row.append(percent(at.share(measure) if at else None))
    yield fitted_table(columns, rows, range(1, len(columns)), width, flexible=0, is_path=True)
    missing = sum(bool(one.cuts) for one in found.transcripts) - len(shown)
    if missing:
        yield Text(f"and {missing} more, listed by --json", style="dim")


_MEANINGS = {
    "facts": "names and numbers that the assistant wrote after the cut",
    "edits": "lines that later edits had to match",
    "files": "files whose final state is still known",
    "substrings": "facts, including those inside longer ones",
    "old_strings": "complete texts that later edits replaced",
    "bits": "how much of the information about the next words and calls is left, by a compressor",
    "bits_calls": "bits of calls only",
    "bits_words": "bits of words only",
    "grounding": "of the next 20 calls, those that find all they need",
    "rereads": "tokens of used files that need not be read again",
    "rules": "the user's sentences after five rounds of condensing",
}


def notes(found: Evaluation) -> Iterator[str]:
    if found.total.cuts:
        meanings = [f"{measure}: {_MEANINGS[measure]}" for measure in found.measures]
        if "facts" in found.measures:
            meanings.append("named: facts found only in a ledger or in a summary")
        seconds = "elapsed, calls included" if found.models else "of processor time"
        yield "Percent still present in the condensed part, averaged over all cuts."
        yield f"{'; '.join(meanings)}; size: percent of the tokens; seconds: {seconds}. {OF_SEVERAL}"
        if any(at.share(measure) is None for at in found.total.at_size for measure in found.measures):
            yield f"{_NONE} means that this method does not get so small, or nothing was looked for."
        yield from comparison_notes(found)
    for reason, number in found.left_out():
        yield f"Left out ({number}): {reason}."
