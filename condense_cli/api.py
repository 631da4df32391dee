"""The Python API: the functions that the command line itself uses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from . import formats
from .config.models import Configuration
from .config.overrides import NO_OVERRIDES, Overrides, without_passes
from .config.presets import DEFAULT_PRESET, load_preset
from .errors import BrokenOutputError
from .files import read_bytes
from .lossless.decode import count_gaps, decode
from .lossless.references import SPELLED
from .passes.condensation import Condensation
from .passes.offline import Offline
from .passes.summaries import Summarizer
from .plugins import Installed
from .providers.registry import Registry
from .providers.run import Context
from .report.diff import Diff, compare
from .tokens import Counter
from .transcript import TEXT_CALL, Transcript

__all__ = ["Condensation", "Restoration", "Transcript", "condense", "diff", "dump", "load", "loads", "restore"]


def load(path: str | Path, *, format: str | None = None, lenient: bool = False) -> Transcript:
    """Transcript in a file; the format is recognised from its content.

    Raises UnreadableError, NotJsonError, UnknownFormatError. With `lenient`, lines that are not JSON
    are kept as they are.
    """
    return formats.parse(read_bytes(path), name=str(path), format=format, lenient=lenient)


def loads(
    data: bytes | str | Sequence[dict[str, Any]], *, format: str | None = None, lenient: bool = False
) -> Transcript:
    """Transcript in the bytes or text of a file, or in a list of messages as an API takes them."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    elif not isinstance(data, bytes | bytearray):
        try:
            data = msgspec.json.encode(data)
        except UnicodeEncodeError:  # A lone surrogate: JSON can spell it.
            data = json.dumps(data).encode()
    return formats.parse(bytes(data), format=format, lenient=lenient)


def condense(
    transcript: Transcript,
    configuration: Configuration | None = None,
    *,
    preset: str | None = None,
    target_tokens: int | None = None,
    model: str | None = None,
    counter: Counter | None = None,
    summarizer: Summarizer | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    slim: bool = False,
    overrides: Overrides = NO_OVERRIDES,
    registry: Registry | None = None,
) -> Condensation:
    """Condense a transcript with a configuration, or with a preset (its name, or the path of a file).

    With `target_tokens` the passes work only until the target is reached. `model` is the model that
    will continue the conversation, where that is not the recorded one. `slim` leaves out of the file,
    on top, what only a client shows; the conversation is the same with and without. `overrides` are the flags of a
    run, `registry` the providers there are. Raises ConfigurationError; an error inside a provider is the result's
    `error`.
    """
    if configuration is None:
        configuration = load_preset(preset or DEFAULT_PRESET)
    if target_tokens is not None:
        configuration = replace(configuration, target_tokens=target_tokens, target_reduction_percent=None)
    if model is not None:
        transcript = replace(transcript, model=model)
    counter = counter or Counter.of(transcript)
    installed = Installed()
    registry = registry or Registry(installed=installed)
    if overrides.lossless_only:
        configuration = without_passes(configuration)
    context = Context(
        count=counter,
        summarizer=summarizer or Offline(counter),
        clock=clock,
        overrides=overrides,
        stop_at_target=target_tokens is not None,
        selectors=installed.selector,
    )
    provider = registry.get(configuration.provider)
    result = provider.condense(transcript, registry.configured(configuration), context)
    if slim:
        result = replace(result, transcript=formats.slim(result.transcript, decode(transcript.messages).messages))
    return result


class Restoration(Struct, frozen=True):
    """A transcript without the references that could be resolved.

    `unresolved` references stay as they are; `gaps` are lossy markers, whose content is gone from the file.
    `elsewhere` are references in parts of the file that are not in this conversation, such as other branches.
    """

    before: Transcript
    transcript: Transcript
    resolved: int
    unresolved: int
    gaps: int
    elsewhere: int


def restore(transcript: Transcript) -> Restoration:
    """Undo every reference of a condensed transcript, from the transcript alone."""
    found = decode(transcript.messages)
    restored = replace(transcript, messages=found.messages)
    elsewhere = 0
    if SPELLED.search(transcript.source.data):
        used = {block.place.record for _, block in transcript.blocks()}
        others = (record for record in range(len(transcript.source.spans)) if record not in used)
        elsewhere = sum(len(SPELLED.findall(transcript.source.raw(record))) for record in others)
    return Restoration(transcript, restored, found.resolved, found.unresolved, count_gaps(found.messages), elsewhere)


def dump(condensation: Condensation | Restoration) -> bytes:
    """Bytes of the new transcript in the format of the input, read back and checked before they are returned.

    Raises UsageError if that format is only read. Raises BrokenOutputError if they break a rule that the input kept,
    or say anything but the condensation; that is a defect of this program, and nothing is lost by it.
    """
    data = formats.serialize(condensation.transcript)
    if not condensation.transcript.is_changed:
        return data
    for violation in condensation.new_violations if isinstance(condensation, Condensation) else ():
        raise BrokenOutputError(f"The result would be refused: {violation.said}", _REPORT)
    again = formats.parse(
        data, format=condensation.transcript.format, lenient=bool(condensation.transcript.source.unparsed)
    )
    if not _is_same(again, condensation.transcript):
        raise BrokenOutputError("The written transcript does not read back as what was meant.", _REPORT)
    return data


_REPORT = "Nothing was written. This is a defect of condense; please report it."


def _is_same(written: Transcript, meant: Transcript) -> bool:
    """Whether both say the same. Block by block, as the texts of two transcripts take more memory than both files."""
    return all(one == other for one, other in zip_longest(_contents(written), _contents(meant)))


def _contents(transcript: Transcript) -> Iterator[tuple[Any, ...]]:
    made_up: dict[str, int] = {}
    for message, block in transcript.blocks():
        id = block.call_id
        # Ids that a reader makes up are numbers, which move when calls before them went.
        call = made_up.setdefault(id, len(made_up)) if id and id.startswith(TEXT_CALL) else id
        yield message.role, block.kind, block.text, block.tool, call, block.is_error, block.estimate


def diff(before: Transcript, after: Transcript, counter: Counter | None = None) -> Diff:
    """What differs between two transcripts, message by message and block by block."""
    return compare(before, after, counter or Counter.of(before))
