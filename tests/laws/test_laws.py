"""The laws on generated transcripts with generated configurations."""

from __future__ import annotations

from typing import Any

import laws
import pytest
from build import configuration
from generated_configurations import configurations, phased, truncations
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES
from summarizers import SUMMARIZERS

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.config.preset_folders import preset_names
from condense_cli.formats import parse, serialize
from condense_cli.passes.summaries import Summarizer
from condense_cli.providers.registry import BUILT_IN

pytestmark = pytest.mark.usefixtures("anywhere")

SUMMARIZED_BY = st.sampled_from(SUMMARIZERS)


# What nothing changed is written back byte for byte, whatever the file looks like.
@given(FILES)
def test_round_trip_is_the_identity(data: bytes) -> None:
    assert serialize(parse(data)) == data


# Every law holds for any configuration on any transcript.
@given(FILES, configurations(), MODELS, SUMMARIZED_BY)
def test_laws_hold_for_any_configuration(
    data: bytes, configuration: Configuration, model: str | None, summarizer: Summarizer
) -> None:
    laws.check_all(replace(parse(data), model=model), configuration, summarizer=summarizer)


# Every law holds for each preset on any transcript, for models that bind thinking too.
@pytest.mark.parametrize("preset", preset_names())
@given(data=FILES, model=MODELS)
def test_laws_hold_for_each_preset(preset: str, data: bytes, model: str | None) -> None:
    laws.check_all(replace(parse(data), model=model), load_preset(preset))


# Every law holds for provider truncation and for phases with each fallback.
@pytest.mark.parametrize(
    "configured",
    [truncations(), phased("native"), phased("strict_truncation"), phased("multi_pass")],
    ids=["truncation", "native", "strict_truncation", "multi_pass"],
)
@given(st.data(), st.one_of(FILES, REPEATING_FILES), MODELS, SUMMARIZED_BY)
def test_laws_hold_for_sections(
    configured: st.SearchStrategy[Configuration],
    data: st.DataObject,
    file: bytes,
    model: str | None,
    summarizer: Summarizer,
) -> None:
    laws.check_all(replace(parse(file), model=model), data.draw(configured), summarizer=summarizer)


PROVIDERS: dict[str, dict[str, Any]] = {
    "smart": {"lossy_phase": {"target_reduction_percent": 80}, "llm_phase": {"enabled": True}},
    "lossless": {"lossless": {"keep": "earliest", "tool_parameters": True}},
    "lossless, then native": {"lossless": {"fallback": "native"}, "target_tokens": 50},
    "truncation": {},
    "native": {"native": {"max_messages_to_keep": 1}},
}


# Every law holds for each provider, with a model that writes summaries and one that fails.
@pytest.mark.parametrize("provider", PROVIDERS)
@given(data=st.one_of(FILES, REPEATING_FILES), model=MODELS, summarizer=SUMMARIZED_BY)
def test_laws_hold_for_each_provider(provider: str, data: bytes, model: str | None, summarizer: Summarizer) -> None:
    config = configuration(provider=provider.partition(",")[0], **PROVIDERS[provider])
    laws.check_all(replace(parse(data), model=model), config, summarizer=summarizer)


def test_every_provider_is_among_them() -> None:
    assert {name.partition(",")[0] for name in PROVIDERS} == {provider.id for provider in BUILT_IN}


# Every law holds where passes cut what references name, and where nothing but references is written.
@given(REPEATING_FILES, configurations(), MODELS, SUMMARIZED_BY)
def test_laws_hold_where_content_comes_again(
    data: bytes, configuration: Configuration, model: str | None, summarizer: Summarizer
) -> None:
    laws.check_all(replace(parse(data), model=model), configuration, summarizer=summarizer)


@given(REPEATING_FILES, configurations(is_lossless=True), MODELS)
def test_laws_hold_for_the_prelude_alone(data: bytes, configuration: Configuration, model: str | None) -> None:
    result = laws.check_all(replace(parse(data), model=model), configuration)
    assert laws.restored(result.transcript) == laws.restored(result.before)


# What one run wrote is the input of another one: its references are understood, whoever wrote them.
@given(REPEATING_FILES, configurations(), configurations(), MODELS, SUMMARIZED_BY)
def test_laws_hold_on_condensed_transcripts(
    data: bytes, first: Configuration, second: Configuration, model: str | None, summarizer: Summarizer
) -> None:
    result = api.condense(replace(parse(data), model=model), first, summarizer=summarizer)
    laws.check_all(replace(parse(api.dump(result)), model=model), second, summarizer=summarizer)
