"""Automatic condensing that is switched off: over the limit the sliding window acts, where it is configured."""

import pytest
from build import anthropic, conversation
from msgspec.structs import replace
from summarizers import Short

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.modes.sliding_window import dropped
from condense_cli.tokens.counting import Counter
from condense_cli.window.decision import Window
from condense_cli.window.sizing import Sizing

MESSAGES = conversation(12)
TOKENS = Counter().transcript(anthropic(*MESSAGES))
OFF = Configuration(provider="native", auto_condense_context=False, fallback="sliding_window")


def run(configuration: Configuration, window: int | None, *, if_needed: bool = True, may: bool = True) -> Condensation:
    known = Window("model", None, window, "option", 100, None, 0)
    sizing = Sizing(lambda: known, lambda: (0, "estimated"), if_needed, lambda: may)
    return api.condense(anthropic(*MESSAGES), configuration, summarizer=Short(), sizing=sizing)


def test_over_the_limit_the_older_half_goes() -> None:
    result = run(OFF, TOKENS)
    assert dropped(result.receipts)
    assert result.is_needed
    assert result.tokens_after < result.tokens_before
    assert not any("short" in str(receipt) for receipt in result.receipts), "no summary was asked for"
    [warning] = result.warnings
    assert "auto_condense_context is false" in warning
    assert "are lost from this transcript" in warning
    assert "Nothing was done" not in warning


@pytest.mark.parametrize(
    ("configuration", "window", "may"),
    [
        (OFF, 100 * TOKENS, True),
        (OFF, None, True),
        (OFF, TOKENS, False),
        (replace(OFF, fallback="none"), TOKENS, True),
    ],
    ids=["below the limit", "an unknown window", "a dry run", "no fallback"],
)
def test_otherwise_nothing_is_done(configuration: Configuration, window: int | None, may: bool) -> None:
    result = run(configuration, window, may=may)
    assert not result.changes
    assert not result.is_needed
    assert api.dump(result) == result.before.source.data


def test_a_run_that_was_asked_for_condenses_as_ever() -> None:
    result = run(OFF, TOKENS, if_needed=False)
    assert not dropped(result.receipts)
    assert result.changes
