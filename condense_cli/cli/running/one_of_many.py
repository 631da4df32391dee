"""One file of a run over many: condensed and written in whichever process takes it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ... import formats
from ...calling import OnDemand
from ...config.user import load_user_configuration
from ...core.plurals import plural
from ...core.tokens import Counter
from ...core.version import __version__
from ...errors import CondenseError, ExitStatus, UnknownFormatError, UsageError
from ...many.facts import FileResult, FileStatus, FileTokens
from ...many.record import RECORD, FileRecord, file_hash, is_up_to_date
from ...rows.recognising import rows_in
from ...storage.compressed import packed
from ...storage.files import check_no_links, make_folder, write_bytes
from ..reading import read_transcript
from ..rows.condensing import RowsTask, condense_rows
from ..rows.running import status_of_rows
from .several import no_rows_to_split
from .summarizing import was_interrupted
from .work import Treatment, Worker, output_of, status_of_result
from .workers import may_call

if TYPE_CHECKING:
    from ...passes.condensation import Condensation
    from ...rows.row import RowKind


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
    """What came of a file, and what to note of it where it is done."""

    result: FileResult
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
        return Finished(_result(job, FileStatus.UP_TO_DATE, job.entry))
    kind = rows_in(str(job.path), treatment.format)
    if kind is not None:
        if treatment.to is not None:
            raise UsageError("--to works on single transcripts, and this is a set of rows.")
        return _rows(treatment, summaries, job, kind, made_from)
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
    entry = _entry(job, made_from, transcript.format, result.shown_before, result.shown_after)
    end = FileStatus.UNCHANGED if data == transcript.source.data else FileStatus.DONE
    status = status_of_result(result, summaries, treatment)
    finished = _finished(job, end, entry, status, _shortcoming(result, status))
    warnings = (*(result.warnings if result.is_needed else ()), *written.warnings)
    return replace(finished, result=replace(finished.result, warnings=warnings))


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


def _rows(treatment: Treatment, summaries: OnDemand, job: Job, kind: RowKind, made_from: str) -> Finished:
    task = RowsTask(str(job.path), kind, treatment, is_written=job.output is not None)
    outcome = condense_rows(task, job.ready_output(), jobs=1, summaries=summaries)
    tally = outcome.tally
    entry = _entry(job, made_from, "rows", tally.tokens_before, tally.tokens_after, tally.rows)
    status = status_of_rows(outcome, treatment)
    why = ""
    if tally.bad:
        first = tally.problems[0]
        why = f"{plural(tally.bad, 'bad row')}; line {first.line}: {first.why}"
    return _finished(job, FileStatus.DONE if tally.changed else FileStatus.UNCHANGED, entry, status, why)


def _entry(job: Job, made_from: str, format_name: str, before: int, after: int, rows: int = 0) -> FileRecord:
    digest = file_hash(job.output) if job.output is not None else ""
    return FileRecord(job.below, made_from, digest, format_name, before, after, rows)


def _finished(job: Job, status: FileStatus, entry: FileRecord, exit_status: ExitStatus, why: str) -> Finished:
    """A file with shortcomings is written, but not noted as up to date: another run may do better."""
    result = replace(_result(job, status, entry), exit_status=int(exit_status), why=why)
    return Finished(result, entry if exit_status is ExitStatus.DONE and job.output is not None else None)


def _result(job: Job, status: FileStatus, entry: FileRecord) -> FileResult:
    return FileResult(
        str(job.path),
        str(job.output) if job.output is not None else None,
        status,
        0,
        entry.format,
        entry.rows,
        FileTokens.of(entry.tokens_before, entry.tokens_after),
    )
