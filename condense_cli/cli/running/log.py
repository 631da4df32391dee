"""One line about a run, on standard error: as JSON for --log-json, in plain words for -v. It is kept nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..console import say

if TYPE_CHECKING:
    from ...errors import ExitStatus
    from ...passes.condensation import Condensation
    from ...report.run.facts import Report
    from .work import Work


def log_run(result: Condensation, report: Report, work: Work, status: ExitStatus, *, as_json: bool) -> None:
    from datetime import UTC, datetime

    from ...report.run import log as run_log
    from ...report.run.facts import to_json_line

    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    log = run_log.build(result, report, work.configuration, time, int(status), if_needed=work.if_needed)
    say(to_json_line(log) if as_json else f"condense: {run_log.as_line(log)}")
