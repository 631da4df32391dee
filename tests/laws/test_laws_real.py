"""The laws on the sample transcripts and, where they are present, on real ones, for each preset."""

from functools import cache
from pathlib import Path
from typing import Any

import laws
import pytest
import real
from build import configuration
from msgspec.structs import replace
from summarizers import SUMMARIZERS, Failing

from condense_cli import api
from condense_cli.config.loading import load_with_positions
from condense_cli.config.models import LosslessConfig
from condense_cli.config.preset_folders import preset_names, presets_folder
from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse, serialize
from condense_cli.lossless.decode import decode
from condense_cli.lossless.encode import encode, most_saved
from condense_cli.lossless.matching import Reader
from condense_cli.lossless.pieces import Finders, find_pieces
from condense_cli.passes.summaries import Summarizer
from condense_cli.providers.base import Provider
from condense_cli.providers.registry import BUILT_IN
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter

CONFIGURATIONS = [presets_folder() / f"{name}.yaml" for name in preset_names()] + sorted(
    (presets_folder() / "examples").glob("*.yaml")
)
FINDERS = ("deduplicate_file_reads", "consolidate_tool_results", "remove_obsolete_state")
STRICT = """
thinking: drop
keep_first: 0
passes:
  - id: everything
    selection: {type: preserve_recent, keep_recent_count: 0}
    individual_config:
      defaults:
        message_text: {operation: truncate, params: {truncate: {max_chars: 80, keep: both}}}
        tool_parameters: {operation: truncate, params: {truncate: {max_lines: 2, keep: tail}}}
        tool_results: {operation: suppress}
"""


def _id(value: object) -> str:
    return value.name[-40:] if isinstance(value, Path) else getattr(value, "id", "") or str(value)


# What nothing changed is written back byte for byte.
@pytest.mark.parametrize("path", real.all_files(), ids=_id)
def test_round_trip_is_the_identity(path: Path) -> None:
    assert serialize(real.transcript(path)) == path.read_bytes()


# Whether a target may be met by references is told from this bound, without writing them.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", real.all_files(), ids=_id)
def test_references_save_no_more_than_what_lines_that_come_again_take(path: Path, count: Counter) -> None:
    messages, reader = decode(real.transcript(path).messages).messages, Reader()
    most = most_saved([piece.content for piece in find_pieces(messages, Finders())], count, reader)
    written = encode(messages, Finders(), count, lambda *_: True, reader=reader, proves=False).blocks
    saved = sum(count.block(messages[at[0]].blocks[at[1]]) - count.block(block) for at, block in written.items())
    assert saved <= most <= sum(map(count.message, messages))


# Every law holds for each preset and example configuration.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "configuration"), real.spread(real.all_files(), CONFIGURATIONS), ids=_id)
def test_laws_hold(path: Path, configuration: Path, count: Counter) -> None:
    laws.check_all(real.transcript(path), load_with_positions(configuration).configuration, count)


# Every law holds for each provider with its default settings, and for a fallback.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "provider"), real.spread(real.all_files(), BUILT_IN), ids=_id)
def test_laws_hold_for_each_provider(path: Path, provider: Provider[Any], count: Counter) -> None:
    config = provider.default_configuration()
    if provider.id == "lossless":
        config = replace(config, lossless=LosslessConfig(fallback="native"), target_tokens=1_000)
    laws.check_all(real.transcript(path), config, count)


# Every law holds when everything that may be cut is cut, for a model that binds thinking too.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "model"), real.spread(real.all_files(), [None, "claude-opus-5-5"]), ids=_id)
def test_laws_hold_for_the_strictest_configuration(
    path: Path, model: str | None, count: Counter, tmp_path: Path
) -> None:
    configuration = tmp_path / "strict.yaml"
    configuration.write_text(STRICT)
    transcript = real.transcript(path)
    laws.check_all(
        replace(transcript, model=model or transcript.model), load_with_positions(configuration).configuration, count
    )


SECTIONS = {
    "truncation": configuration(provider="truncation"),
    "suppression": configuration(
        provider="truncation",
        truncation={"truncation_mode": "suppress", "preserve_user_messages": False, "preserve_assistant_text": False},
        lossless_prelude={"enabled": True},
    ),
    "phases": configuration(lossy_phase={"target_reduction_percent": 50}),
    **{
        fallback: configuration(
            selection_phase={"preserve_user_messages": False, "preserve_assistant_text": False},
            lossy_phase={"tool_results": {"threshold": 200}, "assistant_reasoning": {"strategy": "truncate"}},
            llm_phase={"enabled": True},
            fallback_phase={"strategy": fallback},
            target_tokens=1_000,
        )
        for fallback in ("native", "strict_truncation", "multi_pass")
    },
}


# Every law holds for provider truncation, and for phases up to each of the fallbacks.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "name"), real.spread([*real.SAMPLES, *real.largest()], list(SECTIONS)), ids=_id)
def test_laws_hold_for_sections(path: Path, name: str, count: Counter) -> None:
    laws.check_all(real.transcript(path), SECTIONS[name], count)


PRELUDES = {
    "all": {},
    "all, the earliest stay": {"keep": "earliest", "tool_parameters": True},
    "parameters": {"tool_parameters": True, "operations": dict.fromkeys(FINDERS, False)},
    **{finder: {"operations": {**dict.fromkeys(FINDERS, False), finder: True}} for finder in FINDERS},
}


# Every law holds for the prelude alone, with each of its finders, and nothing is lost.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "prelude"), real.spread(real.all_files(), list(PRELUDES)), ids=_id)
def test_laws_hold_for_the_prelude_alone(path: Path, prelude: str, count: Counter) -> None:
    result = laws.check_all(real.transcript(path), configuration(lossless_prelude=PRELUDES[prelude]), count)
    assert laws.restored(result.transcript) == laws.restored(result.before)


@cache
def condensed(path: Path) -> Transcript:
    result = api.condense(real.transcript(path), configuration(lossless_prelude=PRELUDES["all, the earliest stay"]))
    return parse(api.dump(result), format=result.transcript.format)


# Every law holds for a preset on what another configuration condensed.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("path", "preset"), real.spread(real.some(real.all_files()), preset_names(), every_way=False), ids=_id
)
def test_laws_hold_on_condensed_transcripts(path: Path, preset: str, count: Counter) -> None:
    laws.check_all(condensed(path), load_with_positions(presets_folder() / f"{preset}.yaml").configuration, count)


SUMMARIES = configuration(
    {
        "id": "results",
        "selection": {"type": "preserve_recent", "keep_recent_count": 4},
        "individual_config": {"defaults": {"tool_results": {"operation": "summarize"}}},
    },
    {
        "id": "middle",
        "selection": {"type": "preserve_percent", "keep_percentage": 30},
        "mode": "batch",
        "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 1, "keep_last": 5}},
    },
    lossless_prelude={"enabled": True},
)


# Every law holds where a model writes summaries, where it fails, and where it says more than it was told.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("path", "summarizer"), real.spread(real.all_files(), SUMMARIZERS), ids=_id)
def test_laws_hold_with_summaries(path: Path, summarizer: Summarizer, count: Counter) -> None:
    result = laws.check_all(real.transcript(path), SUMMARIES, count, summarizer)
    if summarizer == Failing():
        assert all(receipt.operation != "summarize" for receipt in result.changes)


# Files that are known to be of a format are recognised as that, and break no rule of their API.
@pytest.mark.parametrize("format", list(real.OF_FORMAT))
def test_real_files_are_recognised_and_valid(format: str) -> None:
    files = real.files_of(format)
    if not files:
        pytest.skip("the real transcripts are not present")
    for path in files:
        transcript = real.transcript(path)
        assert transcript.format == format, path.name
        assert {violation.rule for violation in validate(transcript)} <= real.faults_of(path), path.name


# A file of any other kind is refused with a message, or read and written back byte for byte.
@pytest.mark.slow
def test_every_other_file_is_refused_or_round_trips() -> None:
    files = real.every_file()
    if not files:
        pytest.skip("the real transcripts are not present")
    for path in files:
        if real.is_readable(path):
            assert serialize(parse(path.read_bytes())) == path.read_bytes(), path.name
