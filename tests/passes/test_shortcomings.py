"""What a report says that a run did not do."""

from __future__ import annotations

from typing import Any

import pytest
from build import anthropic, assistant, call, configuration, conversation, one_pass, result, text, user
from msgspec.structs import replace

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.report.run.shortcomings import warnings_of


def _warnings(transcript: Transcript, target: int | None = None, **keys: Any) -> list[str]:
    return warnings_of(api.condense(transcript, configuration(one_pass(**keys)), target_tokens=target))


def test_reasons_read_well_after_a_number() -> None:
    large = {"operation": "suppress", "min_tokens": 9_999}
    (said,) = _warnings(anthropic(*conversation()), individual_config={"defaults": {"tool_results": large}})
    assert said == (
        "Nothing was changed. Blocks kept: "
        "the pass keeps this kind (6); smaller than min_tokens (6); part of the user's first request (1)."
    )


def test_what_was_condensed_before_is_not_explained_block_by_block() -> None:
    once = api.condense(anthropic(*conversation()), configuration(one_pass()))
    (said,) = _warnings(api.loads(api.dump(once.transcript)))
    assert said == "Nothing was changed: the transcript is already condensed, and nothing more is worth cutting."


def test_passes_for_a_target_are_not_named_where_there_is_none_and_others_say_more() -> None:
    (said,) = warnings_of(api.condense(replace(anthropic(user("a")), messages=()), load_preset("cost")))
    assert said == "Nothing was changed. One summary of the middle: 0 tokens does not exceed its threshold of 60,000."


@pytest.mark.parametrize(("last", "is_said"), [(result("2", "word " * 100), True), (text("word " * 100), False)])
def test_only_turns_that_would_get_smaller_are_said_to_help(last: dict[str, Any], is_said: bool) -> None:
    """The pass rewrites results; a long text among the preserved turns would stay in any case."""
    turns = [*conversation(), assistant([call("1"), call("2")]), user([result("1", "done"), last])]
    said = " ".join(_warnings(anthropic(*turns), 1))
    assert "The target of 1 token was not reached" in said
    assert ("Preserving fewer turns (--keep last:N) would free" in said) == is_said


def test_where_all_lines_are_worth_their_tokens_a_target_is_named() -> None:
    passes = [one_pass(mode="extract", extract_config={"min_worth": 0.000_1})]
    (said,) = warnings_of(api.condense(anthropic(*conversation()), configuration(*passes)))
    assert "worth their tokens (6)" in said
    assert said.endswith("--target-percent 50 cuts more anyway.")
    (within,) = warnings_of(api.condense(anthropic(*conversation()), configuration(*passes), target_tokens=99_999))
    assert "--target-percent" not in within
