"""One file of a run over many: condensed and written in whichever process takes it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ... import formats
from ...calling import OnDemand
from ...config.files import load_user_configuration
from ...core.tokens import Counter
from ...core.version import __version__
from ...core.wording import plural
from ...errors import CondenseError, ExitStatus, UnknownFormatError, UsageError
from ...passes.flags import missed_keeps
from ...rows.condensing import add_conversation
from ...rows.facts import FileResult, FileStatus, FileTokens, Tally
from ...rows.many_files import RECORD, FileRecord, file_hash, is_up_to_date
from ...rows.reading import FORMAT as ROWS
from ...rows.reading import rows_in
from ...storage.files import check_no_links, make_folder, packed, write_bytes
from ..reading import read_transcript
from ..rows.condensing import RowsTask, condense_rows
from ..rows.running import status_of_rows
from .several import no_rows_to_split
from .work import Treatment, Worker, output_of, status_of_result, was_interrupted
from .workers import may_call

if TYPE_CHECKING:
    from ...passes.condensation import Condensation
    from ...rows.reading import RowKind


class Job(Struct, frozen=True):
    """A file; `below` is how it is called in the `folder` where it goes; `entry` what an earlier run noted."""

    path: Path
    named: bool
    folder: Path | None
    below: str
    entry: FileRecord | None
    rules: str = ""
    """A hash of all but the file's content that decides what becomes of it."""

    @property
    def output(self) -> Path | None:
        return self.folder / self.below if self.folder is not None else None

    def ready_output(self) -> Path | None:
        """The output, in a folder that is there, and with no link on the way. Raises OutputError."""
        if self.folder is None:
            return None
        check_no_links(self.folder, self.below)
        output = self.folder / self.below
        make_folder(output.parent)
        return output


class Finished(Struct, frozen=True):
    """What came of a file, its figures, and what to note of it where it is done."""

    result: FileResult
    tally: Tally = field(default_factory=Tally)
    entry: FileRecord | None = None


def work_on(treatment: Treatment, summaries: OnDemand, job: Job) -> Finished:
    """Condense one file and write it. Never raises for what is wrong with the file: the result says so."""
    if summaries.made is not None:
        summaries.made.failures.clear()  # Those of the file before are no matter of this one.
    try:
        return _worked(treatment, summaries, job)
    except CondenseError as error:
        if isinstance(error, UnknownFormatError | _OnlyReadError) and not job.named:
            return Finished(FileResult(str(job.path), None, FileStatus.PASSED_OVER, why=error.message))
        return Finished(_failed(job, int(error.status), error.message))
    except MemoryError:
        return Finished(_failed(job, int(ExitStatus.FAILED), "Not enough memory."))
    except Exception as error:  # One file of many must not stop the others.
        why = f"Internal error ({type(error).__name__}: {error}); please report it."
        return Finished(_failed(job, int(ExitStatus.FAILED), why))


def rules_of(treatment: Treatment) -> str:
    """A hash of what is the same for every file and decides what is written; how much may be spent does not."""
    profiles = {name: known.profile for name, known in load_user_configuration().profiles.items()}
    models = (treatment.calls.profile, may_call(treatment.calls), treatment.calls.settled().redact, profiles)
    how = (treatment.format, treatment.to, treatment.lenient, *["split"] * treatment.splits)
    rules = (RECORD, __version__, treatment.work, models, *how)
    return hashlib.sha256(msgspec.json.encode(rules)).hexdigest()


def died(job: Job, why: str) -> Finished:
    """What is told of a file whose worker died."""
    return Finished(_failed(job, int(ExitStatus.FAILED), why))


class _OnlyReadError(UsageError):
    """The file is of a format that cannot be written."""


def _failed(job: Job, status: int, why: str) -> FileResult:
    return FileResult(str(job.path), None, FileStatus.FAILED, status, why=why)


def _worked(treatment: Treatment, summaries: OnDemand, job: Job) -> Finished:
    made_from = f"{job.rules}:{file_hash(job.path)}" if job.output is not None else ""
    if job.output is not None and job.entry is not None and is_up_to_date(job.entry, made_from, job.output):
        return Finished(_result(job, FileStatus.UP_TO_DATE, job.entry.tally), job.entry.tally)
    kind = rows_in(str(job.path), treatment.format)
    if kind is None:
        result, tally = _conversation(treatment, summaries, job)
    else:
        result, tally = _rows(treatment, summaries, job, kind)
    if job.output is None or result.exit_status:  # What has shortcomings is not up to date: another run may do better.
        return Finished(result, tally)
    return Finished(result, tally, FileRecord(job.below, made_from, file_hash(job.output), tally))


def _conversation(treatment: Treatment, summaries: OnDemand, job: Job) -> tuple[FileResult, Tally]:
    if treatment.splits:
        raise no_rows_to_split()
    transcript = treatment.work.continuing(read_transcript(str(job.path), treatment.format, treatment.lenient))
    if treatment.to is None and not formats.format_named(transcript.format).is_writable:
        raise _OnlyReadError(f"condense reads {transcript.format} files but cannot write them.")
    count = Counter.of(transcript, treatment.work.configuration.counter)
    result = Worker(treatment.work, treatment.calls, summaries)(transcript, count)
    if was_interrupted(summaries):
        raise KeyboardInterrupt
    written = output_of(result, treatment.to)
    data = written.data
    assert data is not None, "the format can be written"
    output = job.ready_output()
    if output is not None:
        write_bytes(output, packed(data, output))
    before = transcript.source.data
    tally = Tally(bytes_before=len(before), bytes_after=len(data))
    add_conversation(result, tally)
    status = status_of_result(result, summaries, treatment)
    missed = missed_keeps(treatment.work.overrides.keep, transcript.messages)
    warnings = (*(result.warnings if result.is_needed else ()), *missed.values(), *written.warnings)
    end = FileStatus.UNCHANGED if data == before else FileStatus.DONE
    return _result(job, end, tally, status, _shortcoming(result, status), warnings), tally


def _shortcoming(result: Condensation, status: ExitStatus) -> str:
    """Why the status is not that of a run that did all it should; empty where it is."""
    if result.error is not None:
        return str(result.error)
    if status is ExitStatus.CALLS_FAILED:
        has_lost = result.metrics is not None and result.metrics.fallback is not None
        return f"Not every summary could be written{'' if has_lost else '; the originals stay'}."
    if status is ExitStatus.TARGET_MISSED:
        return f"The target of {result.shown_target:,} tokens was not reached."
    return ""


def _rows(treatment: Treatment, summaries: OnDemand, job: Job, kind: RowKind) -> tuple[FileResult, Tally]:
    if treatment.to is not None:
        raise UsageError("--to works on single transcripts, and this is a set of rows.")
    task = RowsTask(str(job.path), kind, treatment, is_written=job.output is not None)
    outcome = condense_rows(task, job.ready_output(), jobs=1, summaries=summaries)
    tally = outcome.tally
    why = ""
    if tally.bad:
        first = tally.problems[0]
        why = f"{plural(tally.bad, 'bad row')}; line {first.line}: {first.why}"
    tally.problems = [replace(problem, file=str(job.path)) for problem in tally.problems]
    tally.shrunk = []  # Lines say nothing beside those of other files.
    end = FileStatus.DONE if tally.changed else FileStatus.UNCHANGED
    return _result(job, end, tally, status_of_rows(outcome, treatment), why, outcome.missed), tally


def _result(
    job: Job,
    status: FileStatus,
    tally: Tally,
    exit_status: ExitStatus = ExitStatus.DONE,
    why: str = "",
    warnings: tuple[str, ...] = (),
) -> FileResult:
    output = str(job.output) if job.output is not None else None
    form = ROWS if tally.rows else next(iter(tally.formats), ROWS)
    tokens = FileTokens.of(tally)
    return FileResult(str(job.path), output, status, int(exit_status), form, tally.rows, tokens, why, warnings)
