"""Preset `lossless` leaves no less than any other, and `max` no more, where there is no target."""

from __future__ import annotations

from pathlib import Path

import pytest
import real
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.presets import preset_names
from condense_cli.formats import parse
from condense_cli.tokens import Counter
from condense_cli.transcript import Transcript


def check_order(transcript: Transcript, count: Counter) -> None:
    left = {name: api.condense(transcript, preset=name, counter=count).tokens_after for name in preset_names()}
    assert max(left.values()) == left["lossless"], left
    assert min(left.values()) == left["max"], left


@given(st.one_of(FILES, REPEATING_FILES), MODELS)
def test_lossless_leaves_the_most_and_max_the_least(data: bytes, model: str | None) -> None:
    check_order(replace(parse(data), model=model), Counter())


@pytest.mark.parametrize("path", real.readable_files() + real.more_files(), ids=lambda path: path.name[-40:])
def test_the_order_holds_on_real_transcripts(path: Path, count: Counter) -> None:
    check_order(real.transcript(path), count)
