"""Preset `lossless` leaves no less than any other, and `max` no more, where there is no target."""

from __future__ import annotations

from pathlib import Path

import laws
import pytest
import real
from build import anthropic, assistant, configuration, conversation, one_pass, read_turn, user
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES
from summarizers import Wordy

from condense_cli import api
from condense_cli.config.loading import load_with_positions
from condense_cli.config.preset_folders import preset_names
from condense_cli.config.presets import load_preset
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ConfigurationError
from condense_cli.formats import parse
from condense_cli.passes.receipts import Status


def check_order(transcript: Transcript, count: Counter) -> None:
    left = {name: api.condense(transcript, preset=name, counter=count).tokens_after for name in preset_names()}
    assert max(left.values()) == left["lossless"], left
    assert min(left.values()) == left["max"], left


@given(st.one_of(FILES, REPEATING_FILES), MODELS)
def test_lossless_leaves_the_most_and_max_the_least(data: bytes, model: str | None) -> None:
    check_order(replace(parse(data), model=model), Counter())


@pytest.mark.parametrize(
    "path", real.some(real.readable_files() + real.more_files(), 24), ids=lambda path: path.name[-40:]
)
def test_the_order_holds_on_real_transcripts(path: Path, count: Counter) -> None:
    check_order(real.transcript(path), count)


PASS = {
    "id": "summary",
    "selection": {"type": "preserve_recent", "keep_recent_count": 5},
    "mode": "batch",
    "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}},
}
LAST = {"id": "last", "selection": {"type": "preserve_recent", "keep_recent_count": 0}, "mode": "extract"}


def test_a_summary_is_held_to_what_a_smaller_preset_leaves() -> None:
    results = ["\n".join(f"{n} {'abc'[line % 3] * 40} {line}" for line in range(n, n + 60)) for n in range(0, 480, 60)]
    turns = [message for n, content in enumerate(results) for message in read_turn(f"toolu_{n}", f"{n}.py", content)]
    transcript = anthropic(user("Please find the bug."), *turns, assistant("Found it."))
    prelude = {"enabled": True}
    alone, held = (
        configuration(PASS, LAST, lossless_prelude=prelude, no_larger_than=names) for names in ([], ["speed"])
    )
    speed = api.condense(transcript, load_preset("speed"))
    assert api.condense(transcript, alone).tokens_after > speed.tokens_after, "nothing to hold it to"
    result = laws.check_all(transcript, held)
    assert (result.tokens_after <= speed.tokens_after, result.target) == (True, None)
    assert [receipt.id for receipt in result.passes if receipt.status is Status.SKIPPED] == ["last"]


def test_where_a_run_cannot_be_that_small_what_the_preset_does_takes_its_place() -> None:
    transcript = anthropic(*conversation(4))
    keeping = one_pass(individual_config={"defaults": {}})
    result = laws.check_all(transcript, configuration(keeping, no_larger_than=["speed", "lossless"]))
    assert result.changes
    (skipped,) = [receipt for receipt in result.passes if receipt.id == "only"]
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "preset speed is smaller")


# A model's summary is paid for, and a target says how much may be left.
def test_neither_a_model_nor_a_target_is_held_to_presets() -> None:
    transcript = anthropic(*conversation(4))
    alone, held = (configuration(PASS, no_larger_than=names) for names in ([], ["speed"]))
    for keys in ({"summarizer": Wordy()}, {"target_tokens": 400}):
        one, other = (api.condense(transcript, config, **keys).tokens_after for config in (alone, held))
        assert one == other


@pytest.mark.slow
def test_the_command_leaves_as_little_as_the_api() -> None:
    for path in (real.SESSION, real.PROJECT / "sample_transcripts" / "bugfix-messages.jsonl"):
        report = condense("run", path, "-p", "max", "--json").json
        assert report["tokens"]["after"] == api.condense(api.load(path), preset="max").shown_after
        assert not any("--allow-calls" in warning for warning in report["warnings"])


def test_only_presets_of_the_package_are_compared_with(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("passes: []\nno_larger_than: [speed, spede]\n")
    with pytest.raises(ConfigurationError, match=r"mine\.yaml:2:\d+: .*'spede'") as caught:
        load_with_positions(path)
    assert "Did you mean speed?" in caught.value.hint
