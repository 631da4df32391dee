"""`condense inspect`: show what fills a transcript, or a set of rows."""

from __future__ import annotations

import sys
from typing import Final

from ...config.files import load_user_configuration
from ...config.models import Configuration
from ...money.prices import signs_of
from ...providers.window import window_of
from ...report.as_json import to_json
from ...report.inspection import facts, sections
from ...rows.reading import rows_in
from ..commands.look import InspectOptions
from ..console import print_parts, write_text
from .counting import check_one, count_asked, counted_transcript
from .reading import check_rows, input_file, name_of, read_transcript
from .settings import counter_of, settings_if_any

_TOP: Final = 10
"""Entries of each list."""


def inspect(options: InspectOptions) -> None:
    """Print the figures. Raises CondenseError."""
    settings = settings_if_any()
    how, calls = count_asked(options, settings)
    file = input_file(options.file, options.session)
    model, counter, top = options.model, counter_of(options.counter, settings), options.top or _TOP
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running.rows_reports import inspect_rows  # With processes to read rows.

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
    if options.json:
        write_text(to_json(found))
        return
    is_answer_enough = sys.stdout.isatty() and not options.shows_all and options.top is None
    print_parts((sections.answer if is_answer_enough else sections.sections)(found))
