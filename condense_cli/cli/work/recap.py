"""`condense recap`: print what is needed to continue a conversation."""

from __future__ import annotations

import sys

from ...core.wording import visible
from ...ledger.recap import TOKENS
from ...ledger.recap import recap as recap_of
from ...report.lists.sessions import build
from ...report.sections import to_json
from ..commands.session import RecapOptions
from ..console import write_text
from .reading import input_file, name_of, read_transcript


def recap(options: RecapOptions) -> None:
    """Print the recap. Raises CondenseError."""
    file = input_file(options.file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    found = recap_of(
        transcript,
        TOKENS if options.tokens is None else options.tokens,
        lost=options.lost,
    )
    if options.json:
        write_text(to_json(build(found, transcript, source=name_of(file))))
        return
    text = found.recap.text + "\n"
    write_text(visible(text) if sys.stdout.isatty() else text)
