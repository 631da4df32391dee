"""Preset `lossless` leaves no less than any other, `max` no more than `balanced`, where there is no target."""

from __future__ import annotations

from pathlib import Path

import pytest
import real
from build import anthropic, conversation
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset, load_with_positions
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse


def check_order(transcript: Transcript, count: Counter) -> None:
    left = {name: api.condense(transcript, preset=name, counter=count).tokens_after for name in preset_names()}
    assert max(left.values()) == left["lossless"], left
    assert left["max"] <= left["balanced"], left


@given(st.one_of(FILES, REPEATING_FILES), MODELS)
def test_lossless_leaves_the_most_and_max_no_more_than_balanced(data: bytes, model: str | None) -> None:
    check_order(replace(parse(data), model=model), Counter())


@pytest.mark.parametrize(
    "path", real.some(real.readable_files() + real.more_files(), 24), ids=lambda path: path.name[-40:]
)
def test_the_order_holds_on_real_transcripts(path: Path, count: Counter) -> None:
    check_order(real.transcript(path), count)


@pytest.mark.slow
@pytest.mark.real
def test_max_leaves_the_least_as_a_rule(count: Counter) -> None:
    files = [path for path in real.largest() if path.stat().st_size < 400_000]
    left = [
        {name: api.condense(real.transcript(path), preset=name, counter=count).tokens_after for name in preset_names()}
        for path in files
    ]
    least = sum(sizes["max"] == min(sizes.values()) for sizes in left)
    assert least >= 0.8 * len(files), left


@pytest.mark.slow
def test_the_command_leaves_as_little_as_the_api() -> None:
    for path in (real.SESSION, real.PROJECT / "sample_transcripts" / "bugfix-messages.jsonl"):
        report = condense("run", path, "-p", "max", "--json").json
        assert report["tokens"]["after"] == api.condense(api.load(path), preset="max").shown_after
        assert not any("--allow-calls" in warning for warning in report["warnings"])


def test_a_key_of_earlier_versions_is_accepted_and_told_to_do_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("preset: speed\nno_larger_than: [speed]\n")
    result = api.condense(anthropic(*conversation()), load_with_positions(path).configuration)
    assert any("no_larger_than" in warning for warning in result.warnings)
    assert result.tokens_after == api.condense(anthropic(*conversation()), load_preset("speed")).tokens_after


@pytest.mark.parametrize("preset", ["balanced", "speed", "cost", "quality"])
def test_with_a_target_every_preset_that_cuts_chooses_the_same_lines(preset: str) -> None:
    transcript = anthropic(*conversation(8))
    target = api.condense(transcript, preset="lossless").tokens_after // 2
    same = api.condense(transcript, preset="balanced", target_tokens=target)
    assert api.dump(api.condense(transcript, preset=preset, target_tokens=target)) == api.dump(same)
    assert not same.is_target_missed
    assert same.passes[1].name == "Lines that later work needs"
