"""Making a file smaller where no model sees it: what only a client shows becomes a marker."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from msgspec.structs import replace

from ...core import json_text
from ...core.markers import Gap, short_hash
from ...core.transcript import Message, Slimmed, Transcript
from .base import DisplayValue, Format
from .writing import gone_records


def slimmed(transcript: Transcript, plain: tuple[Message, ...], form: Format) -> Iterator[Slimmed]:
    """What of the source only a client shows, in records that stay. `plain` are its messages without references."""
    if form.display is None:
        return
    source = transcript.source
    style = json_text.Style.of(source.data)
    keeps_all = form.compaction is not None and transcript.has_new_summary
    gone = frozenset() if keeps_all else gone_records(transcript)
    found = form.display(replace(transcript, messages=plain))
    for record, values in groupby(found, lambda value: value.place.record):
        if record in gone:
            continue
        literals = {value.place.path: (value, _literal(value, style)) for value in values}
        text = json_text.decode(source.raw(record))
        for path, (start, end) in json_text.locate(text, literals).items():
            value, literal = literals[path]
            saved = len(json_text.encode(text[start:end])) - len(json_text.encode(literal))
            yield Slimmed(value.place, value.kind, literal, saved)


def _literal(value: DisplayValue, style: json_text.Style) -> str:
    if value.text is None:
        return "[]"
    digest = short_hash(value.text)
    gap = Gap(digest, is_image=True) if value.is_image else Gap(digest, value.text.count("\n") + 1)
    return style.literal(str(gap))
