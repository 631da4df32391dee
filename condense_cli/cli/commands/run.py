"""`condense run`: condense one transcript, a set of rows, or many files."""

from __future__ import annotations

from ..console import exits
from ..grouped import grouped
from ..help_pages import InGroups
from ..reading import LATEST, input_file, say_origin
from ..running.options import (
    HELP_GROUPS,
    Choosing,
    Configuring,
    Doing,
    Reading,
    RunOptions,
    Showing,
    Spending,
    Writing,
    check,
    check_thresholds,
)

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense run session.jsonl                  what would be cut, and why\n"
    "condense run session.jsonl --preset speed -o small.jsonl\n"
    "condense run session.jsonl --target-tokens 60000 -o small.jsonl\n"
    "condense run session.jsonl --new-session    a copy, and how to resume it\n"
    "condense run session.jsonl --in-place       condense undo reverts it\n"
    "condense run session.jsonl --lossless-only -o small.jsonl\n"
    "condense run session.jsonl --keep last:20 --keep 'tool:mcp__*' --keep /TODO/\n"
    "condense run session.jsonl --cut 40:80 --keep 'file:src/*.py'\n"
    "cat session.jsonl | condense run - | next-program\n"
    "condense run --session latest               the newest session of this project\n"
    "condense run session.jsonl --html page.html every message, every cut, and why\n"
    "condense run session.jsonl --profile gpt-4o-mini -o small.jsonl\n"
    "condense run session.jsonl --if-needed --in-place   only when nearly full\n"
    "condense run session.jsonl --json | jq .tokens.saved_percent\n"
    "condense run rows.jsonl.gz -o small.jsonl.gz     a set of conversations\n"
    "condense run sessions/ extra.jsonl --out-dir small -j 4"
)


class Command(InGroups):
    groups = HELP_GROUPS


@grouped
def run(
    reading: Reading,
    configuring: Configuring,
    choosing: Choosing,
    doing: Doing,
    spending: Spending,
    writing: Writing,
    showing: Showing,
) -> None:
    """Condense a transcript.

    On a terminal this shows what would be cut, why, and what that saves in tokens and money. In a pipe, the condensed
    transcript goes to standard output, and one line about it to standard error. FILE is changed only by --in-place;
    condense undo reverts it. Several files or folders go to --out-dir; the same command again goes on where it stopped.
    """
    with exits():
        if not (doing.threshold is None and doing.above is None):
            check_thresholds(doing.threshold, doing.above, if_needed=doing.if_needed)
        if writing.to_format is not None:
            check(writing.to_format, writing)
        overrides = choosing.overrides(with_target=False)

        # Imported step by step: a wrong flag is told at once, and a run needs the modules of its own kind alone.
        options = RunOptions(reading, configuring, choosing, doing, spending, writing, showing)
        files, are_several = reading.files or [], options.are_several
        if are_several or doing.split or writing.engine != "local":
            from ..running import several

            several.check(options)
        given = files[0] if files else None
        file = "-" if are_several else input_file(given, reading.session, is_latest_said=not showing.log_json)
        if reading.session != LATEST and not (are_several or showing.log_json or showing.quiet):
            say_origin(file)

        from ..running.report import check_configurations, destination

        to = destination(file, writing, showing)

        from ...rows.reading import rows_in
        from ..running.counting import check_one
        from ..running.providing import registry_of_user, settings_with
        from ..running.work import treatment_of

        registry = registry_of_user()
        settings = settings_with(configuring, registry)
        named = (str(configuring.config),) if configuring.config else ()
        check_configurations({*settings.files, *named}, (writing.output, showing.report, showing.html))
        treatment = treatment_of(options, overrides, settings, registry)

        if are_several:
            check_one(treatment.work.count, "these are several")
            from ..running.many import run_many

            raise SystemExit(run_many(files, treatment, options))
        kind = rows_in(file, reading.format)
        if kind is not None:
            from ..rows.running import run_rows
            from ..running.several import check_rows, of_one

            check_rows(file, of_one(showing) | {"--to": writing.to_format})
            check_one(treatment.work.count, "this is a set of rows")
            raise SystemExit(int(run_rows(file, kind, treatment, options, to)))
        if doing.split:
            raise several.no_rows_to_split()
        from ..running.one import run_one

        raise SystemExit(int(run_one(file, treatment, showing, to, registry)))
