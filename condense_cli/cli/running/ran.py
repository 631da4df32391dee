"""The report of `condense run` on one transcript, and the place that its options name to write to."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ...clients.choices import RESUMABLE
from ...core.wording import visible
from ...delivering import TO_A_PIPE, Delivery, Destination, Where, check_place
from ...errors import UsageError
from ...passes.condensation import Condensation
from ...passes.receipts import EMPTY, EXTRACT, NO_TARGET
from ...report import costs
from ...report.costs import Cost, cost_figures
from ...report.run import facts
from ...report.run.sections import growth, sentences, slim_line
from ...report.run.shortcomings import warnings_of
from ...report.sections import to_json
from ...report.text import percent
from ...storage.files import check_output, is_same_file, stamp, suffix_of, write_bytes
from ...tokens.counting import Counter, Encoding, encoding_for
from ...window.use import overhead_of
from ..commands.shrink import RunOptions, Showing
from ..console import console, print_paged, say, tell, write_text
from ..work.reading import name_of
from .job import Output, SummaryUse, Treatment, without_effect

if TYPE_CHECKING:
    from rich.status import Status

    from ...quality.evaluation import KeptShare


def destination(file: str, options: RunOptions) -> Destination:
    """Return the one place that the options name. Raises UsageError if they name several, or an impossible one."""
    check_place(file, options.output, in_place=options.in_place, force=options.force, new_session=options.new_session)
    if options.new_session and file == "-":
        raise UsageError(
            "--new-session writes next to FILE, and - is not a file.",
            "Name the session, or write to a file with -o FILE.",
        )
    if options.json and options.output == "-":
        raise UsageError("--json and -o - both write to standard output.", "Use --report FILE for the report.")
    if options.report is not None and str(options.report) == "-":
        raise UsageError("--report writes a file.", "Use --json for the report on standard output.")
    if options.html is not None and str(options.html) == "-":
        raise UsageError("--html writes a file.", "Name one, such as page.html.")
    _check_output(file, options.output, options.report, options.html)
    seen = stamp(Path(file)) if options.in_place else None
    return Destination(_where(options), file, options.output, options.dry_run, options.force, seen)


def _where(options: RunOptions) -> Where:
    if options.new_session:
        return Where.NEW_SESSION
    if options.in_place:
        return Where.IN_PLACE
    if options.output is not None:
        return Where.STDOUT if options.output == "-" else Where.FILE
    wants_report = options.json or options.explain or options.diff
    is_for_a_pipe = not (wants_report or options.dry_run or sys.stdout.isatty())
    return Where.STDOUT if is_for_a_pipe else Where.NOWHERE


def _check_output(file: str, output: str | None, report: Path | None, html: Path | None) -> None:
    targets = (
        (
            "--output",
            Path(output) if output and output != "-" else None,
            "Write to another file, or use --in-place (with a backup).",
        ),
        ("--report", report, "Write the report to another file."),
        ("--html", html, "Write the page to another file."),
    )
    for _, target, hint in targets:
        if target is not None:
            check_output(file, target, hint)
    for (one, path, _), (other, same, _) in combinations(targets, 2):
        if path is not None and same is not None and path.resolve() == same.resolve():
            raise UsageError(f"{one} and {other} name the same file.", "Name two files.")


def check_configurations(files: Iterable[str], targets: Iterable[str | Path | None]) -> None:
    """Refuse to overwrite a file that the settings come from. Raises UsageError."""
    known = list(files)
    for target in targets:
        for file in known:
            if target is not None and is_same_file(file, Path(target)):
                raise UsageError(f"The output {target} is a configuration file of this run.", "Write to another file.")


def proposal(source: str, format_name: str, *, is_writable: bool, is_more: bool) -> str:
    """Say how to get the condensed transcript if nothing was written, and with `is_more` how to see every change."""
    more = "; --diff shows every change." if is_more else "."
    if not is_writable:
        return f"Nothing was written: this format can only be read. Add --to anthropic -o FILE{more}"
    if format_name in RESUMABLE and source != "-":
        return f"Nothing was written: add --new-session or -o FILE{more}"
    return f"Nothing was written: add -o FILE{more}"


_LEAST: Final = 10
_MOST: Final = 90
"""Percent of the tokens: below, a target keeps little more than rules do, and above there is little to choose."""


class Ran(Struct, frozen=True, dict=True):
    """A finished run on one transcript: its result, output and summaries.

    Parts of its report are computed when they are asked for: a script sees one line.
    """

    file: str
    treatment: Treatment
    showing: Showing
    to: Destination
    result: Condensation
    count: Counter
    output: Output
    written: Delivery
    told: SummaryUse

    @property
    def encoding(self) -> Encoding:
        return encoding_for(self.result.before.model, self.count.counter)

    @property
    def is_cost_asked(self) -> bool:
        return self.showing.cost or self.showing.verbose or bool(self.told.cost)

    @property
    def is_brief(self) -> bool:
        """Whether one line is the whole report: no terminal, and no flag for more."""
        return self.to.is_in_a_script and not (self.showing.verbose or self.showing.explain or self.showing.diff)

    @cached_property
    def warnings(self) -> list[str]:
        return [*warnings_of(self.result, self.encoding), *self._warnings_besides()]

    def _warnings_besides(self) -> Iterator[str]:
        """Yield the warnings that do not come from passes."""
        yield from self.output.warnings
        is_converted = self.treatment.to is not None
        if self.output.data is not None and not is_converted and self.result.transcript.has_new_summary:
            yield from growth(self.result.transcript, len(self.output.data))
        yield from self.written.warnings
        yield from self.told.warnings
        yield from without_effect(self.treatment.calls, self.told)
        if self.result.error is not None:
            yield str(self.result.error)

    @cached_property
    def cost(self) -> Cost | None:
        """The cost of the run, or None if nobody asked and a script would wait for it.

        Loading the prices takes longer than a small run.
        """
        showing, result = self.showing, self.result
        is_smaller = result.tokens_after < result.tokens_before
        is_seen = self.to.reports_to_terminal and is_smaller and result.before.model is not None
        if not (self._is_read or self.is_cost_asked or (is_seen and not showing.quiet)):
            return None
        overhead, _ = overhead_of(result.before, self.count, result.factor, self.treatment.work.overhead_tokens)
        before = result.before
        prices = costs.PriceSource.of(before.model, datetime.now(UTC), lives_hour=before.lives_hour)
        return costs.cost_of(result, self.count, overhead, prices, self.told.cost)

    @property
    def _is_read(self) -> bool:
        """Whether a program reads the report, or a page is written."""
        showing = self.showing
        return showing.json or showing.report is not None or showing.html is not None

    @property
    def _is_told(self) -> bool:
        """Whether anybody gets more of the report than a line."""
        return self._is_read or not (self.is_brief or self.showing.quiet)

    @cached_property
    def expected(self) -> KeptShare | None:
        """The expected share of kept content, or None if nothing was cut or nobody sees it."""
        if not self._is_told:
            return None
        from ...report.run.expected import expected_by_name

        return expected_by_name([("", self.result, self.told.used)], self.count).get("")

    @cached_property
    def lost(self) -> facts.LostReport | None:
        """List what nothing says any more; None if nothing was cut or nobody sees it."""
        if not (self._is_told and self.result.changes):
            return None
        from ...quality.losses import losses

        before, after = self.result.before.messages, self.result.transcript.messages
        return facts.LostReport.of(losses(before, after, self.count))

    @cached_property
    def report(self) -> facts.Report:
        written = self.written
        size = None if self.output.data is None else len(self.output.data)
        return facts.build(
            self.result,
            facts.RunFiles(name_of(self.file), size, written.output, written.backup, written.new_session),
            count=self.count,
            encoding=self.encoding,
            configuration=self.treatment.name,
            explain=self.showing.explain,
            cost=self.cost,
            expected=self.expected,
            lost=self.lost,
            slim=self.treatment.work.slim,
            overhead_tokens=self.treatment.work.overhead_tokens,
            summaries=self.told.used,
            warnings=[*self._warnings_besides()],
        )


def write_page(path: Path, ran: Ran) -> None:
    """Write the page of the run. Raises OutputError."""
    from ...report.page.run import run_page  # Few runs write a page.

    write_bytes(path, run_page(ran.result, ran.report, ran.count).encode())


def show(ran: Ran) -> None:
    """Print the report for people, and a hint if nothing was written."""
    result, showing, to = ran.result, ran.showing, ran.to
    if not result.is_needed and not showing.log_json:
        for warning in ran.warnings:
            say(f"condense: {warning}")
        return
    if not (showing.log_json and (ran.is_brief or to.writes_stdout)):  # Its line is all on standard error then.
        if ran.is_brief:
            for line in _brief(ran):
                say(f"condense: {line}")
        else:
            _show_all(ran)
        if to.goes_to_a_pipe:
            say(TO_A_PIPE)
    for line in ran.written.said:
        tell(line)
    if showing.html is not None:
        (say if to.writes_stdout else tell)(f"Page: {visible(str(showing.html))}")
    if to.where is Where.NOWHERE and not to.dry_run and result.transcript.is_changed:
        is_more = not (showing.diff or showing.explain or showing.verbose)
        is_writable = ran.output.data is not None
        how = proposal(ran.file, result.before.format, is_writable=is_writable, is_more=is_more)
        for line in (how, *_better(result)):
            console().print(line, style="dim", soft_wrap=True)


def _brief(ran: Ran) -> Iterator[str]:
    """Yield the lines for the messages of a script."""
    result = ran.result
    yield str(facts.headline(result, ran.encoding, ran.treatment.name))
    if ran.treatment.work.slim:
        yield slim_line(ran.report, unit_of(ran.report))
    if ran.told.used or ran.cost is not None:
        yield from _about_money(ran)
    for warning in ran.warnings:
        yield f"warning: {warning}"


def _about_money(ran: Ran) -> Iterator[str]:
    result = ran.result
    yield from sentences(ran.told.used)
    if ran.cost is not None and ran.cost.prices is not None:
        is_changed = result.shown_before != result.shown_after
        yield cost_figures(ran.cost, result.before.model, is_changed=is_changed)


def _show_all(ran: Ran) -> None:
    from ...report.run import terminal

    showing, to = ran.showing, ran.to
    shown = terminal.render_run(
        ran.result,
        ran.report,
        ran.count,
        console(stderr=to.writes_stdout).width,
        verbose=showing.verbose,
        diff=showing.diff,
        explain=showing.explain,
        is_cost_asked=ran.is_cost_asked,
        unit=unit_of(ran.report),
    )
    print_paged(shown, stderr=to.writes_stdout)


def unit_of(report: facts.Report) -> str:
    """Return the unit of the sizes in the report. Those of a compressed file are not its size on disk."""
    is_packed = suffix_of(report.input) or suffix_of(report.output or "")
    return "unpacked bytes" if is_packed else "bytes"


def _better(result: Condensation) -> Iterator[str]:
    """Suggest a target, if passes that pick lines for one had none."""
    share = round(percent(result.tokens_after, result.tokens_before))
    is_picked = any(receipt.operation in (EXTRACT, EMPTY) for receipt in result.changes)
    if not is_picked and any(receipt.reason == NO_TARGET for receipt in result.passes) and _LEAST <= share <= _MOST:
        yield f"Tip: --target-percent {share} usually keeps more useful content at this size."


def write_report(showing: Showing, report: Struct) -> None:
    """Write the JSON report to its file or standard output. Raises OutputError."""
    if showing.report is not None:
        write_bytes(showing.report, to_json(report).encode())
    if showing.json:
        write_text(to_json(report))


_PATIENCE: Final = 1.0
"""Seconds before the progress is shown."""

Tell = Callable[[str], None]


@contextmanager
def progress_of(file: str, *, is_wanted: bool) -> Iterator[Tell]:
    """Show that a file is read, and then the pass at work, to a person who waits at a terminal."""
    if not (is_wanted and sys.stderr.isatty()):
        yield lambda text: None
        return
    line = _Line(f"Reading {_size(file)}")
    timer = threading.Timer(_PATIENCE, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.say
    finally:
        timer.cancel()
        line.end()


def _size(file: str) -> str:
    try:
        return f"{os.stat(file).st_size:,} bytes"
    except OSError:  # Standard input, or a file that reading will say something about.
        return "the transcript"


class _Line:
    """One line on standard error, which goes when the work is done. The clock that shows it is another thread."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._status: Status | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def show(self) -> None:
        with self._lock:
            if not self._is_over:
                self._status = console(stderr=True).status(self._text)
                self._status.start()

    def say(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(text)

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()
