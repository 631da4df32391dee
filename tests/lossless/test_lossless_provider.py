"""The provider that writes references alone, and its fallback where they are not enough."""

from typing import Any

from build import anthropic, assistant, call, configuration, result, user
from summarizers import Failing, Short

from condense_cli import api
from condense_cli.config.models import Configuration, LosslessConfig
from condense_cli.core.markers import SummaryMark, parse_summary
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Status

REPEATING = anthropic(
    user("Please find the bug."),
    *(m for n in range(8) for m in (assistant([call(f"t{n}", file_path="a.py")]), user([result(f"t{n}")]))),
    assistant("Found it."),
    user("And now?"),
)


def test_lossless_writes_references_alone() -> None:
    found = api.condense(REPEATING, configuration(provider="lossless", target_tokens=10))
    assert found.tokens_after < found.tokens_before
    assert {change.operation for change in found.changes} == {"refer"}
    restored = api.restore(found.transcript).transcript
    assert [block.text for _, block in restored.blocks()] == [block.text for _, block in REPEATING.blocks()]


def test_lossless_is_the_prelude_with_its_settings() -> None:
    for settings in (
        LosslessConfig(),
        LosslessConfig(keep="earliest", keep_recent=4),
        LosslessConfig(tool_parameters=True),
    ):
        prelude = {
            "keep": settings.keep,
            "keep_recent": settings.keep_recent,
            "tool_parameters": settings.tool_parameters,
        }
        ours = api.condense(REPEATING, Configuration(provider="lossless", lossless=settings))
        assert ours.transcript == api.condense(REPEATING, configuration(lossless_prelude=prelude)).transcript


# The fallback is for a target that references miss, and only where it is asked for.
def test_lossless_falls_back_to_one_summary() -> None:
    alone = api.condense(REPEATING, configuration(provider="lossless"))

    def condensed(target: int, **keys: Any) -> Condensation:
        config = configuration(provider="lossless", target_tokens=target, lossless={"fallback": "native"}, **keys)
        return api.condense(REPEATING, config, summarizer=Short())

    assert condensed(alone.tokens_after).transcript == alone.transcript
    fallen = condensed(alone.tokens_after - 1)
    assert fallen.tokens_after < alone.tokens_after
    assert len(summaries(fallen)) == 1
    kept = condensed(alone.tokens_after - 1, native={"max_messages_to_keep": 9})
    assert summaries(kept)[0].messages < summaries(fallen)[0].messages


def test_without_a_target_there_is_no_fallback() -> None:
    found = api.condense(REPEATING, configuration(provider="lossless", lossless={"fallback": "native"}))
    assert found.transcript == api.condense(REPEATING, configuration(provider="lossless")).transcript
    assert found.warnings == ("Without a target the fallback of provider lossless does not run.",)


def summaries(found: Condensation) -> list[SummaryMark]:
    return [mark for _, block in found.transcript.blocks() if (mark := parse_summary(block.text))]


def test_a_fallback_that_fails_leaves_the_references() -> None:
    config = configuration(provider="lossless", target_tokens=10, lossless={"fallback": "native"})
    found = api.condense(REPEATING, config, summarizer=Failing())
    assert found.transcript == api.condense(REPEATING, configuration(provider="lossless")).transcript
    assert found.passes[-1].status is Status.FAILED
    short = api.condense(anthropic(user("a"), assistant("b")), config)
    assert short.passes[-1].status is Status.SKIPPED
