"""Facts about single models."""

import pytest

from condense_cli.tokens.models import forgets_thinking


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-codex", "openai/gpt-5-mini", "GPT-5.3-codex-spark", "gpt-5.5", "o3"])
def test_apis_that_leave_out_old_thinking(model: str) -> None:
    assert forgets_thinking(model)


@pytest.mark.parametrize(
    "model", [None, "gpt-5.6-sol", "gpt-5.50", "gpt-50", "gpt-4o", "claude-opus-4-5", "o35", "mo3"]
)
def test_apis_that_do_not(model: str | None) -> None:
    assert not forgets_thinking(model)
