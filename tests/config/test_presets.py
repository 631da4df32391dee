"""The presets: what they are called, what they say, how their sizes compare, and that they are as written down."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec
import pytest
import real
from build import anthropic, conversation
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from known_configurations import PASSES
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import (
    PACKED,
    load_preset,
    load_with_positions,
    packaged,
    parse_with_positions,
    read_text,
)
from condense_cli.config.models import Configuration
from condense_cli.config.overrides import settle
from condense_cli.config.packaged import packing
from condense_cli.config.preset_folders import DEFAULT_PRESET, preset_names, presets_folder
from condense_cli.config.yaml_reading import read_yaml
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ConfigurationError
from condense_cli.formats import parse
from condense_cli.tokens.counting import Counter

DOCUMENTS: Final = {
    "examples/progressive-truncation.yaml": PASSES["simple"],
    "examples/truncate-then-summarize.yaml": PASSES["advanced"],
    "examples/zones.yaml": PASSES["systematic"],
    "speed.yaml": PASSES["speed"],
    "quality.yaml": PASSES["quality"],
    "cost.yaml": PASSES["cost"],
}


def _unnamed(configuration: Configuration) -> Configuration:
    """What the configuration does where there is no target, without names, descriptions, and what goes as it is old."""
    passes = tuple(
        msgspec.structs.replace(config, name="", description="")
        for config in configuration.passes
        if config.execution.type != "target" and config.mode != "target"
    )
    return msgspec.structs.replace(
        configuration, name="", description="", passes=passes, thinking="keep", old_images="keep"
    )


@pytest.mark.parametrize("file", DOCUMENTS)
def test_a_document_of_the_sources_is_the_preset_of_the_same_name(file: str, tmp_path: Path) -> None:
    """Written as JSON with camelCase keys, each configuration of the sources does what the shipped file does."""
    path = tmp_path / "document.json"
    path.write_text(DOCUMENTS[file])
    assert _unnamed(load_with_positions(path).configuration) == _unnamed(
        load_with_positions(presets_folder() / file).configuration
    )


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_found_by_name_and_says_what_it_does(name: str) -> None:
    preset = load_preset(name)
    assert preset.name == name
    assert preset.description.endswith(".")


def test_the_documented_presets_are_there() -> None:
    assert {"speed", "quality", "cost"} <= set(preset_names())


def test_an_unknown_preset_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigurationError, match="'spede'") as caught:
        load_preset("spede")
    assert "Did you mean speed?" in caught.value.hint
    assert all(name in caught.value.hint for name in preset_names())


@pytest.mark.parametrize("name", ["../speed", "examples/zones", "/etc/passwd"])
def test_a_path_is_no_preset_name(name: str) -> None:
    """Names are looked up among the presets only; a path is a file, wherever the presets are."""
    with pytest.raises(ConfigurationError):
        load_preset(name)


# A run reads the package's presets as values that were written down; `make docs` writes them anew.
def test_the_values_written_down_are_those_of_the_files() -> None:
    files = (PACKED.with_suffix(ending) for ending in (".json", ".py"))
    assert tuple(file.read_text(encoding="utf-8") for file in files) == packing.written_down()
    for path in presets_folder().glob("*.yaml"):
        text = read_text(path)
        # What reads them checks nothing any more.
        configuration = parse_with_positions(text, path.name).configuration
        found = packaged(path, text)
        assert found is not None
        assert (found.value, found.configuration) == (read_yaml(text, path.name)[0], configuration)
        assert load_preset(path.stem) == configuration


def test_of_a_changed_file_and_of_others_no_values_are_known(tmp_path: Path) -> None:
    path = presets_folder() / "speed.yaml"
    text = read_text(path)
    assert packaged(path, text + "# Another line.\n") is None
    assert packaged(tmp_path / "speed.yaml", text) is None


# Thousands of conversations may be condensed with one.
def test_a_preset_is_read_once_in_a_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("min_saving: 1")
    first = {name: load_preset(name) for name in (*preset_names(), str(own))}
    monkeypatch.setattr("msgspec.convert", None)
    assert settle([]).configuration == first[DEFAULT_PRESET]
    assert all(load_preset(name) is first[name] for name in preset_names())
    monkeypatch.undo()
    own.write_text("min_saving: 2")
    assert load_preset(str(own)).min_saving == 2


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
