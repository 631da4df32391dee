"""The manager: whether a provider runs, and what happens when it failed. The sliding window runs only then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import laws
import pytest
from build import anthropic, conversation
from generated_configurations import configurations
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from strategies import FILES, MODELS
from summarizers import Failing, Short

from condense_cli import api
from condense_cli.config.models import Configuration, NativeConfig, Prelude
from condense_cli.config.options import Overrides
from condense_cli.errors import UsageError
from condense_cli.formats import parse
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.modes.sliding_window import PASS, dropped
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import Summarizer
from condense_cli.providers.base import Capabilities, Provider, Run
from condense_cli.providers.manager import CHECK
from condense_cli.providers.registry import FoundPlugin, Registry
from condense_cli.tokens.counting import Counter
from condense_cli.window.decision import Window
from condense_cli.window.use import Sizing

NATIVE = Configuration(provider="native", native=NativeConfig(max_messages_to_keep=3))
SLIDING = replace(NATIVE, fallback="sliding_window")
MESSAGES = conversation(12)
COUNT = Counter()
TOKENS = COUNT.transcript(anthropic(*MESSAGES))


def sizing(window: int | None, *, overhead: int = 0, only_if_needed: bool = False, may: bool = True) -> Sizing:
    known = Window("model", None, window, "option", 100, None, 0)
    return Sizing(lambda: known, lambda: (overhead, "estimated"), only_if_needed, lambda: may)


def run(configuration: Configuration, summarizer: Summarizer, sizes: Sizing, **more: Any) -> Condensation:
    return api.condense(anthropic(*MESSAGES), configuration, summarizer=summarizer, sizing=sizes, **more)


def test_without_need_nothing_is_done_and_a_receipt_says_so() -> None:
    result = run(NATIVE, Short(), sizing(100 * TOKENS, only_if_needed=True))
    assert api.dump(result) == result.before.source.data
    assert [(receipt.id, receipt.status) for receipt in result.passes] == [(CHECK, Status.SKIPPED)]
    assert "below the threshold" in result.warnings[0]


@pytest.mark.parametrize(("overhead", "is_needed"), [(0, False), (TOKENS, True)])
def test_overhead_counts(overhead: int, is_needed: bool) -> None:
    result = run(NATIVE, Short(), sizing(3 * TOKENS // 2, overhead=overhead, only_if_needed=True))
    assert bool(result.changes) is is_needed


def test_switched_off_nothing_is_done_unless_it_is_asked_for() -> None:
    off = replace(NATIVE, auto_condense_context=False)
    assert not run(off, Short(), sizing(1, only_if_needed=True)).changes
    assert run(off, Short(), sizing(1)).changes


def test_an_unknown_window_decides_nothing() -> None:
    with pytest.raises(UsageError, match="not known"):
        run(NATIVE, Short(), sizing(None, only_if_needed=True))
    assert run(NATIVE, Short(), sizing(None)).changes


def test_the_window_is_looked_up_only_where_it_matters() -> None:
    def never() -> Any:
        raise AssertionError("nobody needs to know")

    assert run(NATIVE, Short(), Sizing(never, never)).changes
    assert not run(NATIVE, Failing(), Sizing(never, never)).changes
    assert run(SLIDING, Short(), Sizing(never, never)).changes


def test_the_api_decides_by_the_window_that_it_is_given() -> None:
    transcript = anthropic(*MESSAGES)
    assert not api.condense(transcript, preset="speed", if_needed=True, context_window=1_000_000).changes
    assert api.condense(transcript, preset="speed", if_needed=True, context_window=TOKENS).changes


def test_a_failed_provider_over_the_limit_falls_back_and_says_what_is_lost() -> None:
    result = run(SLIDING, Failing(), sizing(TOKENS))
    lost = {receipt.message for receipt in dropped(result.receipts)}
    assert lost
    assert result.metrics
    assert (result.metrics.provider, result.metrics.fallback) == ("native", "sliding_window")
    assert [receipt.id for receipt in result.passes if receipt.changes] == [PASS]
    assert f"{len(lost)} messages with {TOKENS - result.tokens_after:,} tokens are lost" in result.warnings[-1]
    api.dump(result)
    laws.receipts_add_up(result, COUNT)


@pytest.mark.parametrize(
    ("configuration", "summarizer", "sizes"),
    [
        (NATIVE, Failing(), sizing(TOKENS)),
        (SLIDING, Short(), sizing(TOKENS)),
        (SLIDING, Failing(), sizing(100 * TOKENS)),
        (SLIDING, Failing(), sizing(None)),
        (SLIDING, Failing(), sizing(TOKENS, may=False)),
        (Configuration(fallback="sliding_window"), Failing(), sizing(TOKENS)),
    ],
    ids=["not configured", "not failed", "not over the limit", "unknown window", "not allowed", "nothing asked for"],
)
def test_it_never_runs_otherwise(configuration: Configuration, summarizer: Summarizer, sizes: Sizing) -> None:
    result = run(configuration, summarizer, sizes)
    assert not dropped(result.receipts)
    assert result.metrics
    assert result.metrics.fallback is None


def test_an_unknown_window_is_said() -> None:
    assert "context window" in run(SLIDING, Failing(), sizing(None)).warnings[-1]


def test_a_limit_that_is_still_exceeded_is_said() -> None:
    assert "still over the limit" in run(SLIDING, Failing(), sizing(100)).warnings[-1]
    assert "still over the limit" not in run(SLIDING, Failing(), sizing(TOKENS)).warnings[-1]


# A run that stops at a target must not halve a conversation again and again to reach it.
def test_it_drops_one_half_whatever_the_target() -> None:
    configuration = replace(SLIDING, lossless_prelude=Prelude())
    once = run(configuration, Failing(), sizing(100))
    again = run(configuration, Failing(), sizing(100), target_tokens=1, overrides=Overrides(target_tokens=1))
    assert 0 < len(dropped(again.receipts)) == len(dropped(once.receipts))
    assert again.target == 1


class NoConfig(Struct, frozen=True):
    pass


class Broken(Provider[NoConfig]):
    id = "broken"
    name = "Broken"
    description = "It raises."
    capabilities = Capabilities()
    settings = NoConfig

    def strategy(self, run: Run[NoConfig]) -> Condensation:
        raise RuntimeError("no")


class OnlyBroken(Struct):
    def providers(self) -> Sequence[str]:
        return ("broken",)

    def provider(self, name: str) -> Sequence[FoundPlugin]:
        return [FoundPlugin(name, "a test", Broken)] if name == "broken" else []


def test_an_error_in_a_provider_falls_back_too_and_stays_an_error() -> None:
    registry = Registry(installed=OnlyBroken())
    broken = Configuration(provider="broken", fallback="sliding_window")
    result = run(broken, Short(), sizing(TOKENS), registry=registry)
    assert dropped(result.receipts)
    assert result.error
    assert "RuntimeError" in result.warnings[-1]


# Whatever the provider left behind, the laws hold for what the sliding window makes of it.
@given(FILES, configurations(), MODELS, st.sampled_from((Failing(), Failing(2), Failing(3))), st.booleans())
def test_laws_hold_after_a_fallback(
    data: bytes, configuration: Configuration, model: str | None, summarizer: Summarizer, is_native: bool
) -> None:
    configuration = replace(configuration, fallback="sliding_window", provider="native" if is_native else "smart")
    transcript = replace(parse(data), model=model)

    def fallen() -> Condensation:
        return api.condense(transcript, configuration, counter=COUNT, summarizer=summarizer, sizing=sizing(1))

    result = fallen()
    assume(result.metrics is not None and result.metrics.fallback)
    written = api.dump(result)
    laws.valid_in_valid_out(result)
    laws.links_stay_whole(result, written)
    laws.receipts_add_up(result, COUNT)
    assert result.tokens_after <= result.tokens_before
    assert api.dump(fallen()) == written
