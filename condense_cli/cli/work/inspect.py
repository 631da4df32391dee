"""`condense inspect`: show what fills a transcript, or a set of rows, and what sessions cost."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

from ...config.models import Configuration
from ...config.own import load_user_configuration
from ...errors import CondenseError, UsageError
from ...money.bill import BilledRequest
from ...report import history
from ...report.inspection import facts, sections
from ...rows.many_files import files_in
from ...rows.reading import rows_in
from ...window.decision import signs_of, window_of
from ..commands.look import InspectOptions
from ..console import bar, print_report
from .counting import check_one, count_asked, counted_transcript
from .reading import check_rows, input_file, name_of, read_transcript
from .settings import counter_of, settings_if_any

_TOP: Final = 10
"""Entries of each list."""


def inspect(options: InspectOptions) -> None:
    """Print the figures. Raises CondenseError."""
    if options.history:
        _history(options)
        return
    if options.what_if:
        raise UsageError("--what-if needs --history.")
    if len(options.files) > 1:
        raise UsageError("Several transcripts need --history.", "Without it, inspect shows one.")
    settings = settings_if_any()
    how, calls = count_asked(options, settings)
    file = input_file(options.files[0] if options.files else None, options.session)
    model, counter, top = options.model, counter_of(options.counter, settings), options.top or _TOP
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running.rows import inspect_rows  # With processes to read rows.

        check_rows(file, {"--overhead-tokens": options.overhead_tokens})
        check_one(how, "this is a set of rows")
        inspect_rows(file, kind, model=model, counter=counter, how=how, top=top, json=options.json)
        return
    transcript = read_transcript(file, options.format, options.lenient)
    if model:
        transcript = transcript.continued_by(model)
    _, count, factor, encoding = counted_transcript(transcript, counter, how, calls)
    window = window_of(transcript.model, Configuration(), load_user_configuration(), signs=signs_of(transcript))
    found = facts.inspect(
        transcript,
        count,
        factor,
        encoding,
        source=name_of(file),
        top=top,
        overhead_tokens=options.overhead_tokens,
        window=(window.tokens, window.source),
    )
    is_answer_enough = sys.stdout.isatty() and not options.shows_all and options.top is None
    parts = sections.answer if is_answer_enough else sections.sections
    print_report(found, lambda: parts(found), as_json=options.json)


def _history(options: InspectOptions) -> None:
    """Print what the sessions cost. Raises CondenseError."""
    for flag, value in (("--overhead-tokens", options.overhead_tokens), ("--model", options.model)):
        if value:
            raise UsageError(f"{flag} cannot be used with --history.", "The file tells what each request cost.")
    settings = settings_if_any()
    how, calls = count_asked(options, settings)
    files, guessed = _files(options)
    found, unread = [], []
    seen: set[BilledRequest] = set()
    with bar(len(files), "transcripts") as done:
        for number, file in enumerate(files, start=1):
            try:
                transcript = read_transcript(file, options.format, options.lenient)
                transcript, count, factor, _ = counted_transcript(
                    transcript, counter_of(options.counter, settings), how, calls
                )
            except CondenseError:
                if file not in guessed:
                    raise
                unread.append(file)
                continue
            one = history.history_of(transcript, count, factor, name_of(file), seen)
            if options.what_if and one.requests:
                from ...live.what_if import what_if  # With all that sends requests.

                with suppress(CondenseError):  # Of a format without a form for an API.
                    one.what_if = what_if(transcript, count, factor)
            found.append(one)
            done(number)
    top = options.top or (None if options.shows_all or options.json else _TOP)
    result = history.build(found, unread, top=top)
    print_report(result, lambda: history.sections(result), as_json=options.json)


def _files(options: InspectOptions) -> tuple[list[str], set[str]]:
    """Return the files to read, and those that only lie in a folder. Raises UsageError and UnreadableError."""
    if options.session is not None or not options.files:
        return [input_file(options.files[0] if options.files else None, options.session)], set()
    named = [file for file in options.files if not Path(file).is_dir()]
    guessed = [str(path) for file in options.files if Path(file).is_dir() for path in files_in(Path(file))]
    # Copies come after what they are of.
    guessed.sort(key=lambda file: os.path.lexists(f"{file}.condense-origin"))
    if not named and not guessed:
        raise UsageError(f"There is no transcript in {options.files[0]}.", "Name a file or another folder.")
    return list(dict.fromkeys((*(input_file(file, None) for file in named), *guessed))), {*guessed} - {*named}
