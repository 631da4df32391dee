"""What a report says that a run did not do."""

from __future__ import annotations

from typing import Any

from build import anthropic, configuration, conversation, one_pass

from condense_cli import api
from condense_cli.report.shortcomings import warnings_of
from condense_cli.transcript import Transcript


def _warnings(transcript: Transcript, target: int | None = None, **keys: Any) -> list[str]:
    return warnings_of(api.condense(transcript, configuration(one_pass(**keys)), target_tokens=target))


def test_reasons_read_well_after_a_number() -> None:
    large = {"operation": "suppress", "min_tokens": 9_999}
    (said,) = _warnings(anthropic(*conversation()), individual_config={"defaults": {"tool_results": large}})
    assert said == (
        "Nothing was changed. Blocks that stay: "
        "6 of a kind that the pass keeps; 6 below the pass's min_tokens; 1 in the first request of the user."
    )


def test_what_was_condensed_before_is_not_explained_block_by_block() -> None:
    once = api.condense(anthropic(*conversation()), configuration(one_pass()))
    (said,) = _warnings(api.loads(api.dump(once.transcript)))
    assert said == "Nothing was changed: the transcript was condensed before, and there is nothing more to do."
