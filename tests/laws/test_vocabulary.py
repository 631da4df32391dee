"""The laws over transcripts that are full of our own vocabulary."""

from __future__ import annotations

import laws
import pytest
from generated_configurations import configurations
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import MODELS
from summarizers import SUMMARIZERS
from vocabulary import IMITATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.core import json_text
from condense_cli.formats import parse, serialize
from condense_cli.lossless.decode import decode
from condense_cli.passes.summaries import Summarizer

pytestmark = pytest.mark.usefixtures("anywhere")

NO_SHRINKING = settings(phases=[Phase.explicit, Phase.reuse, Phase.generate])
"""An example is large whatever one does, and shrinking it takes minutes."""


@NO_SHRINKING
@given(IMITATING_FILES)
def test_what_nothing_changed_keeps_its_bytes(data: bytes) -> None:
    transcript = parse(data)
    assert serialize(transcript) == data
    found = decode(transcript.messages)
    if not found.resolved:
        assert api.dump(api.restore(transcript)) == data


@NO_SHRINKING
@given(IMITATING_FILES, configurations(), MODELS, st.sampled_from(SUMMARIZERS))
def test_laws_hold_for_any_configuration(
    data: bytes, configuration: Configuration, model: str | None, summarizer: Summarizer
) -> None:
    laws.check_all(replace(parse(data), model=model), configuration, summarizer=summarizer)


@pytest.mark.parametrize("preset", ["max", "balanced", "speed"])
@settings(NO_SHRINKING, max_examples=settings().max_examples // 2)
@given(data=IMITATING_FILES, share=st.sampled_from([0.2, 0.5, None]))
def test_laws_hold_for_presets(preset: str, data: bytes, share: float | None) -> None:
    transcript = parse(data)
    percent = None if share is None else 100 * (1 - share)
    laws.check_all(transcript, replace(load_preset(preset), target_reduction_percent=percent))


# What the prelude wrote, restored, is what the original is, restored: compared as parsed JSON.
@NO_SHRINKING
@given(IMITATING_FILES, configurations(is_lossless=True))
def test_what_is_restored_is_the_original(data: bytes, configuration: Configuration) -> None:
    transcript = parse(data)
    result = laws.check_all(transcript, configuration)
    again = parse(api.dump(result), format=transcript.format)
    one, two = (api.dump(api.restore(each)) for each in (transcript, again))
    assert [json_text.parse(line) for line in _records(one, transcript.format)] == [
        json_text.parse(line) for line in _records(two, transcript.format)
    ]


def _records(data: bytes, format: str) -> list[bytes]:
    source = parse(data, format=format).source
    return [source.raw(record) for record in range(len(source.spans))]
