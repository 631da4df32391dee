"""`condense show`, `diff`, `inspect` and `recap`: look into transcripts."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from ... import api
from ...clients.new_session import origins_of
from ...config.models import Configuration
from ...config.own import load_user_configuration
from ...core import json_text
from ...core.tokens import BUILT_IN, Counter
from ...core.transcript import Block, Transcript, calls_by_id
from ...core.wording import visible
from ...errors import CondenseError, UsageError
from ...ledger.recap import TOKENS
from ...ledger.recap import recap as recap_of
from ...money.bill import BilledRequest
from ...money.prices import signs_of
from ...passes import must_keep
from ...passes.explained import explained
from ...providers.window import window_of
from ...quality.losses import MOST, losses
from ...report import history
from ...report.difference import between, of_run
from ...report.difference import build as diff_facts
from ...report.inspection import facts, lookup, sections
from ...report.inspection.lookup import Hit, HitKind, find, is_query
from ...report.lists.sessions import build as recap_facts
from ...report.run import terminal
from ...report.run.facts import LostReport
from ...report.run.sections import lost_things
from ...report.sections import to_json
from ...report.text import call_label, kind_label
from ...rows.many_files import files_in
from ...rows.reading import rows_in
from ..commands.look import DiffOptions, InspectOptions, ShowOptions
from ..commands.session import RecapOptions
from ..console import bar, console, print_parts, say, write_out, write_text
from .counting import check_one, count_asked, counted_transcript, factor_for
from .providing import checked, provider_with, registry_of_user, say_error
from .reading import check_rows, input_file, name_of, read_transcript
from .settings import counter_of, presets_here, settings_if_any

_NO_TEXT: Final = "(no text; --raw prints the record)"


def show(options: ShowOptions) -> None:
    """Print the content that is named. Raises CondenseError."""
    file, what = options.file, options.what
    if options.json and options.raw:
        raise UsageError("--json and --raw cannot be used together.", "Use one of them.")
    if options.session is not None and what is None:
        file, what = None, file
    if what is None:
        if file is not None and is_query(file) and not os.path.lexists(file):
            raise UsageError(f"show needs the transcript that has {file}.", f"Name it: condense show FILE {file}")
        raise UsageError("show needs a hash or a position.", "For example: condense show session.jsonl 12.0")
    file = input_file(file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    file, transcript, hits = _found(file, transcript, what, options.format, lenient=options.lenient)
    if options.json:
        write_text(to_json(lookup.build(transcript, hits, source=name_of(file), query=what)))
    elif options.raw:
        records = dict.fromkeys(hit.block.place.record for hit in hits)
        _print_lines(json_text.decode(transcript.source.raw(record)) for record in records)
    else:
        _print(transcript, hits)


def _found(
    file: str, transcript: Transcript, what: str, format_name: str | None, *, lenient: bool
) -> tuple[str, Transcript, Sequence[Hit]]:
    """Find the content in the file or in the one it was condensed from; return that file too. Raises CondenseError."""
    hits: Sequence[Hit] = ()
    error: CondenseError | None = None
    try:
        hits = find(transcript, what)
        if hits and hits[0].found is not HitKind.MARKER:
            return file, transcript, hits
    except UsageError:
        raise
    except CondenseError as nothing:
        error = nothing
    for original in origins_of(file):
        older = read_transcript(str(original), format_name, lenient)
        with suppress(CondenseError):
            found = find(older, what)
            if found and found[0].found is not HitKind.MARKER:
                say(f"condense: from the original, {original.name}")
                return str(original), older, found
    if error is not None:
        raise error
    return file, transcript, hits


def _print(transcript: Transcript, hits: Sequence[Hit]) -> None:
    calls = calls_by_id([*transcript.messages, *(hit.message for hit in hits if hit.message and hit.is_before)])
    if not hits:
        say("condense: the message has no content.")
    elif hits[0].found is HitKind.SUMMARIZED or (hits[0].found is HitKind.POSITION and len(hits) > 1):
        _print_lines(f"--- {_heading(hit, calls)}\n{hit.text or _NO_TEXT}" for hit in hits)
    elif len({hit.text for hit in hits}) > 1:
        say("condense: several blocks match; choose one by its position:")
        _print_lines(_heading(hit, calls) for hit in hits)
    else:
        if hits[0].found is HitKind.MARKER:
            say("condense: the original text is not in this file; this block holds its marker.")
        if len(hits) > 1:
            say(f"condense: the same text occurs {len(hits)} times: {', '.join(hit.position for hit in hits)}")
        if not hits[0].text:
            say(f"condense: {_NO_TEXT[1:-1]}.")
        _print_text(hits[0].text)


def _heading(hit: Hit, calls: Mapping[str, Block]) -> str:
    label = " ".join(call_label(hit.block, calls).split())
    kind = kind_label(hit.block, hit.message.role if hit.message else None)
    return f"{hit.position}  {kind}  {label}".rstrip()


def _print_lines(pieces: Iterable[str]) -> None:
    _print_text("".join(piece if piece.endswith("\n") else f"{piece}\n" for piece in pieces))


def _print_text(text: str) -> None:
    """Print a text: as it is in a pipe, made safe on a terminal."""
    if sys.stdout.isatty():
        write_text(visible(text) + ("\n" if text and not text.endswith("\n") else ""))
        return
    try:
        write_out(text.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        write_text(text)


_ALL: Final = 10_000
"""Lost things that are listed where everything is asked for."""


def diff(options: DiffOptions) -> None:
    """Print the difference. Raises CondenseError."""
    options = _checked(options)
    before = input_file(options.before, options.session)
    settings = settings_if_any()
    how, calls = count_asked(options, settings)
    old = read_transcript(before, options.format, options.lenient)
    count = Counter.of(old, counter_of(options.counter, settings))
    factor = factor_for(how, old, count, calls)
    if options.after is not None:
        new = read_transcript(options.after, options.format, options.lenient)
        must_keep.check(options.must_keep, old.messages, new.messages)
        difference = api.diff(old, new, count, factor)
        difference = difference if options.stat else between(difference, old, new, count)
    else:
        registry = registry_of_user()
        if options.provider is not None:
            configuration = provider_with(options.provider, options.assignments, registry)
        else:
            configuration = checked(presets_here().named(str(options.preset)), registry)
        configuration = replace(configuration, must_keep=(*configuration.must_keep, *options.must_keep))
        result = api.condense(old, configuration, counter=count, registry=registry, factor=factor, proves=False)
        say_error(result)
        new = result.transcript
        difference = of_run(result if options.stat else explained(result, count), count)
    for warning in must_keep.absent(options.must_keep, must_keep.holders(options.must_keep, old.messages)):
        say(f"condense: warning: {warning}")
    most = _ALL if options.all_lines else MOST
    lost = LostReport.of(losses(old.messages, new.messages, count, most))
    if options.json:
        write_text(to_json(diff_facts(difference, lost, with_lines=not options.stat)))
        return
    screen = console()
    screen.print(terminal.render_diff_line(difference), soft_wrap=not screen.is_terminal)
    if not options.stat and difference.blocks:
        print_parts(lost_things(lost))
        screen.print()
        lines = None if options.all_lines else options.lines
        for part in terminal.render_blocks(list(difference.blocks), lines, screen.width):
            screen.print(part)


def _checked(options: DiffOptions) -> DiffOptions:
    """Return the options with the only transcript beside a session as B. Raises UsageError without one counterpart."""
    if options.session is not None and options.after is None:
        options = options.replace(before=None, after=options.before)
    given = [each for each in (options.after, options.preset, options.provider) if each is not None]
    if len(given) > 1:
        raise UsageError("diff compares with one of: a second transcript, --preset, --provider.")
    if not given:
        raise UsageError(
            "diff needs a second transcript, a preset or a provider.", "For example: condense diff A --preset speed"
        )
    if options.assignments and options.provider is None:
        raise UsageError("--set needs --provider.", "For example --provider truncation --set max_tool_result_lines=20.")
    if options.before == options.after == "-":
        raise UsageError("Only one of the two transcripts can come from standard input.")
    return options


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
    if options.json:
        write_text(to_json(found))
        return
    is_answer_enough = sys.stdout.isatty() and not options.shows_all and options.top is None
    print_parts((sections.answer if is_answer_enough else sections.sections)(found))


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
    if options.json:
        write_text(to_json(result))
    else:
        print_parts(history.sections(result))


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


def recap(options: RecapOptions) -> None:
    """Print the recap. Raises CondenseError."""
    file = input_file(options.file, options.session)
    transcript = read_transcript(file, options.format, options.lenient)
    found = recap_of(
        transcript,
        TOKENS if options.tokens is None else options.tokens,
        lost=options.lost,
        counter=options.counter or BUILT_IN,
    )
    if options.json:
        write_text(to_json(recap_facts(found, transcript, source=name_of(file))))
        return
    text = found.recap.text + "\n"
    write_text(visible(text) if sys.stdout.isatty() else text)
