"""Python API, which the command line uses too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..calling import Dollars, calls_of, summaries_for, with_calls
from ..config import overrides as flags
from ..config.loading import load_preset, parse_configuration
from ..config.models import Configuration
from ..config.options import NO_OVERRIDES, Options, Overrides, options_of
from ..config.preset_folders import DEFAULT_PRESET
from ..core import arguments as kinds
from ..core import json_text
from ..core.arguments import a_transcript, made_by, with_arguments
from ..core.transcript import Transcript
from ..core.values import Container
from ..errors import BrokenOutputError, UsageError
from ..formats.convert import convert as converted
from ..lossless.decode import broken_in, count_gaps, decode, outside_of
from ..lossless.encode import with_escapes
from ..passes.condensation import Condensation
from ..passes.context import Context
from ..passes.flags import name_flags
from ..passes.offline import Offline
from ..passes.selection import Predicate
from ..passes.summaries import Summarizer
from ..plugins import Installed
from ..providers.proven import REPORT, checked, condensed
from ..providers.registry import DEFAULT, Registry
from ..rules.validity import validate
from ..storage.files import read_bytes, unpacked
from ..tokens.counting import BUILT_IN, Counter, CounterName
from ..tokens.factor import Factor, factor_of
from ..window.decision import WindowFlags
from ..window.use import Sizing

if TYPE_CHECKING:
    from ..formats.convert import Conversion
    from ..report.difference import Diff

_FACTOR = made_by("Factor", "Give a condense_cli.tokens.factor.Factor.")
_KIND_OF = {int: kinds.COUNT, float: kinds.PERCENT, str: kinds.TEXT}


def _kinds_of(options: type[Options]) -> dict[str, kinds.ArgumentKind]:
    """Return the kinds of arguments that are options: lists are of texts, and true or false is not checked."""
    types = {each.name: get_args(each.kind) for each in options_of(options) if each.kind is not bool}
    return {name: kinds.TEXTS if Ellipsis in parts else _KIND_OF[parts[0]] for name, parts in types.items()}


overrides_from = with_arguments(**_kinds_of(Overrides))(flags.overrides_from)
"""`config.overrides.overrides_from`, which takes counts and shares as texts here: `60k`, `50%`."""

_FLAGS = {name: f"Give overrides=overrides_from({name}={{}})." for name in flags.overrides_from.__kwdefaults__ or ()}

_MESSAGE_LISTS = (
    "anthropic", "openai-chat", "openai-responses", "bedrock-converse", "gemini-contents", "langchain",
    "mini-swe-agent",
)  # fmt: skip

__all__ = [
    "Condensation", "Configuration", "Restoration", "Transcript",
    "condense", "convert", "diff", "dump", "dump_messages", "load", "loads", "overrides_from", "restore",
]  # fmt: skip


@with_arguments(path=kinds.PATH, format=kinds.TEXT)
def load(path: str | Path, *, format: str | None = None, lenient: bool = False) -> Transcript:
    """Read a transcript from a file, possibly compressed (gzip, Zstandard). The format is recognised from its content.

    With `lenient`, lines that are not JSON are kept verbatim. Raises UnreadableError, NotJsonError, UnknownFormatError.
    """
    return _parsed(read_bytes(path), str(path), format, lenient=lenient)


@with_arguments(format=kinds.TEXT)
def loads(data: bytes | str | Sequence[Any], *, format: str | None = None, lenient: bool = False) -> Transcript:
    """Read a transcript from a file's bytes (compressed or not) or text, or from a list of messages of an API.

    Messages and blocks in a list may be SDK objects. Raises as `load` does, and UsageError if a list holds something
    other than JSON.
    """
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    elif not isinstance(data, bytes | bytearray):
        try:
            data = msgspec.json.encode(data, enc_hook=kinds.as_json)
        except UnicodeEncodeError:  # A lone surrogate, which JSON can escape.
            data = json.dumps(data, default=kinds.as_json).encode()
    return _parsed(bytes(data), "input", format, lenient=lenient)


def _parsed(data: bytes, name: str, format: str | None, *, lenient: bool) -> Transcript:
    """Parse a file's bytes in a built-in format or one of an installed package."""
    return formats.parse(unpacked(data, name), name=name, format=format, lenient=lenient, others=Installed().formats)


@with_arguments(
    _FLAGS,
    preset=kinds.PRESET,
    target_tokens=kinds.COUNT,
    model=kinds.TEXT,
    summarizer=kinds.SUMMARIZER,
    clock=kinds.CALLABLE,
    overrides=made_by("Overrides", "overrides_from() makes them."),
    registry=made_by("Registry", "Give a condense_cli.providers.registry.Registry."),
    context_window=kinds.POSITIVE,
    sizing=made_by("Sizing", "Give a condense_cli.window.use.Sizing."),
    factor=_FACTOR,
    profile=kinds.TEXT,
    max_summary_tokens=kinds.COUNT,
    selectors=kinds.SELECTORS,
    on_pass=kinds.CALLABLE,
)
def condense(
    transcript: Transcript | Sequence[Any],
    configuration: Configuration | Mapping[str, Any] | None = None,
    *,
    preset: str | None = None,
    target_tokens: int | str | None = None,
    model: str | None = None,
    counter: Counter | CounterName | None = None,
    summarizer: Summarizer | None = None,
    clock: Callable[[], float] = time.perf_counter,
    slim: bool = False,
    overrides: Overrides = NO_OVERRIDES,
    registry: Registry | None = None,
    if_needed: bool = False,
    context_window: int | None = None,
    sizing: Sizing | None = None,
    factor: Factor | None = None,
    proves: bool = True,
    settles: bool = True,
    profile: str | None = None,
    allow_calls: bool = False,
    max_cost: Dollars = None,
    max_cost_per_conversation: Dollars = None,
    max_cost_per_day: Dollars = None,
    max_summary_tokens: int | None = None,
    redact: bool = False,
    selectors: Mapping[str, Predicate] | None = None,
    on_pass: Callable[[str], None] = lambda name: None,
) -> Condensation:
    """Condense a transcript, or a list of messages, with a configuration, or with a preset (name or path).

    Messages are dicts or objects of an SDK, as `loads` takes them; `dump_messages` returns the list to continue with.
    `configuration` may also be a dict with the keys of a configuration file. With `target_tokens` the passes stop once
    the target is reached. Like all numbers of a configuration it is in the model's tokens. `factor` sets model tokens
    per token of ours, in place of an estimate from transcript and model (`condense_cli.tokens.factor`). `counter`
    overrides the configuration's; `tiktoken` is OpenAI's own tokenizer. `model` will continue the conversation, if not
    the recorded one. `slim` also removes display-only data from the file; the conversation is the same. `clock` gives
    seconds for receipts. `overrides` are a run's flags (`overrides_from`). `registry` holds the providers; its active
    one runs if the configuration names none.

    With `if_needed` a conversation is returned unchanged until it reaches the configuration's threshold or leaves too
    little room in the model's window (`context_window` tokens, if not the listed size). `sizing` replaces both. A
    result that does not read back is an error; with `proves=False`, `dump` raises it instead. With `settles=False`,
    lines that lost their use through other cuts stay, which can halve the time.

    Summaries come from `summarizer`, else from the model of `profile`, or with `allow_calls` from the profiles that the
    configuration names; otherwise offline. Calls cost at most `max_cost` dollars, over all runs at most
    `max_cost_per_conversation` and `max_cost_per_day`, and use at most `max_summary_tokens`, input and output together.
    `redact` masks secrets. Limits not given come from the user's configuration. `selectors` maps names used in the
    configuration to functions of a message and a block. `on_pass` receives each pass's name as it begins.

    Raises ConfigurationError, UsageError (also if the window is needed and unknown) and BrokenOutputError. An error
    inside a provider is the result's `error`.
    """
    transcript = _read(transcript)
    installed = Installed()
    registry = registry or Registry(installed=installed)
    configuration = configuration_from(configuration, preset, registry)
    dollars = (max_cost, max_cost_per_conversation, max_cost_per_day)
    calls = calls_of(profile, allow_calls, *dollars, max_summary_tokens, redact, summarizer)
    assert not isinstance(target_tokens, str)  # The decorator converts 60k.
    if target_tokens is not None:
        configuration = replace(configuration, target_tokens=target_tokens, target_reduction_percent=None)
    if model is not None:
        transcript = transcript.continued_by(model)
    counter = _counter(counter or configuration.counter, transcript)
    factor = factor or factor_of(transcript, counter)
    context = Context(
        count=counter,
        summarizer=summarizer or Offline(counter),
        clock=clock,
        overrides=overrides,
        stop_at_target=target_tokens is not None,
        selectors=installed.selectors(selectors) if selectors else installed.selector,
        factor=factor,
        settles=settles,
        on_pass=on_pass,
    )
    if sizing is None:  # The user's own settings do not apply to the Python API.
        asked = WindowFlags(window=context_window)
        sizing = Sizing.of(transcript, configuration, counter, factor, asked=asked, only_if_needed=if_needed)

    def run(context: Context) -> Condensation:
        result = condensed(transcript, configuration, context, registry, sizing, slim=slim, proves=proves)
        return name_flags(result, overrides, configuration)

    if calls is None:
        return run(context)
    with summaries_for(configuration, counter, calls) as summaries:
        summaries.begin(transcript, counter)
        return with_calls(run(replace(context, summarizer=summaries)), summaries)


def _read(given: Any) -> Transcript:
    """Return a transcript, or that of a list of messages. Raises UsageError for anything else."""
    return loads(given) if isinstance(given, list | tuple) else a_transcript(given)


def _counter(given: Counter | CounterName, transcript: Transcript) -> Counter:
    return given if isinstance(given, Counter) else Counter.of(transcript, given)


def configuration_from(
    given: Configuration | Mapping[str, Any] | None, preset: str | None, registry: Registry | None = None
) -> Configuration:
    """Return the given configuration, a preset's, or the defaults of the registry's active provider.

    Raises ConfigurationError, UsageError.
    """
    if given is None and preset is None and registry is not None and registry.active != DEFAULT:
        return registry.get().default_configuration()
    if given is None:
        return load_preset(preset or DEFAULT_PRESET)
    if preset is not None:
        raise UsageError(
            f"A configuration and the preset {preset} cannot be used together.",
            "Give one of them; a configuration can name the preset that it builds on: preset.",
        )
    if isinstance(given, Configuration):
        return given
    if isinstance(given, str | Path):
        name = repr(str(given))
        raise UsageError(f"A configuration is needed, not the name or path {name}.", f"Give it as preset={name}.")
    try:
        text = json.dumps(given)
    except (TypeError, ValueError, RecursionError) as error:  # RecursionError: it contains itself.
        raise UsageError(
            f"The configuration is not JSON ({error}).", "Give dicts, lists, strings and numbers."
        ) from None
    return parse_configuration(text)


class Restoration(Struct, frozen=True):
    """A transcript with all resolvable references undone.

    `unresolved` references stay, and so do `look_alikes`, text that looks like references. `gaps` counts lossy markers,
    whose content is gone from the file. `elsewhere` counts references in parts of the file outside this conversation,
    such as other branches.
    """

    before: Transcript
    transcript: Transcript
    resolved: int
    unresolved: int
    gaps: int
    elsewhere: int
    look_alikes: int = 0


@with_arguments()
def restore(transcript: Transcript | Sequence[Any]) -> Restoration:
    """Undo every reference of a condensed transcript, or list of messages, using that alone."""
    transcript = _read(transcript)
    found = decode(transcript.messages)
    restored = replace(transcript, messages=found.messages)
    broken = broken_in(transcript.messages, found)
    gaps, elsewhere = count_gaps(found.messages), outside_of(transcript)
    return Restoration(transcript, restored, found.resolved, broken, gaps, elsewhere, found.unresolved - broken)


@with_arguments()
def dump(result: Condensation | Restoration | Transcript) -> bytes:
    """Return the new transcript's bytes in the input's format, read back and checked.

    Raises UsageError if that format is read-only. Raises BrokenOutputError if the bytes break a rule that the input
    kept, or differ from the result. That is a defect of this program, and nothing is lost.
    """
    if isinstance(result, Condensation):
        return checked(result)
    transcript = _transcript_of(result)
    if isinstance(result, Restoration) and transcript.is_changed:
        transcript = replace(transcript, messages=with_escapes(transcript.messages, result.before.messages))
    return checked(transcript)


def _transcript_of(result: Condensation | Restoration | Transcript) -> Transcript:
    return result.transcript if isinstance(result, Condensation | Restoration) else a_transcript(result)


@with_arguments(to=kinds.TEXT)
def convert(result: Condensation | Restoration | Transcript, to: str) -> Conversion:
    """Convert the conversation into messages of an API: `anthropic`, `openai-chat` or `openai-responses`.

    The conversion's `notes` list content that could not be carried over. The bytes are read back and checked against
    the API's rules. Raises UsageError for other formats and empty conversations, BrokenOutputError for a defect.
    """
    transcript = _transcript_of(result)
    if not transcript.messages:
        raise UsageError("There is no conversation to convert.", "Name a transcript that holds messages.")
    conversion = converted(transcript, to)
    for violation in validate(formats.parse(conversion.data, format=to)):
        raise BrokenOutputError(f"The result would be refused: {violation.said}", REPORT)
    return conversion


@with_arguments()
def dump_messages(result: Condensation | Restoration | Transcript) -> list[Any]:
    """Return the new transcript's messages as a list, if the input was one. Raises as `dump` does, and UsageError."""
    transcript = _transcript_of(result)
    data = dump(result)
    if transcript.source.container is Container.ARRAY and transcript.format in _MESSAGE_LISTS:
        return list(json_text.parse(data))
    raise UsageError("The input was not a list of messages.", "Use the bytes of dump().")


@with_arguments(factor=_FACTOR)
def diff(
    before: Transcript | Sequence[Any],
    after: Transcript | Sequence[Any],
    counter: Counter | CounterName = BUILT_IN,
    factor: Factor | None = None,
) -> Diff:
    """Compare two transcripts, or lists of messages, block by block, in the model's tokens."""
    before, after = _read(before), _read(after)
    count = _counter(counter, before)
    from ..report.difference import compare  # With what only reports need.

    return compare(before, after, count, factor or factor_of(before, count))
