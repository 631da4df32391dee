"""Size of a window: listed, named by the client, or implied by requests and compactions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import kimi_logs
import opencode_exports
import pytest
from build import text
from claude_tree import boundary, reply, said
from helpers import as_lines, condense
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine
from rollouts import message
from rollouts import record as codex_record

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.config.own import KnownProfile, UserConfiguration
from condense_cli.config.profiles import Profile
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import WindowSigns
from condense_cli.money.prices import NAMED, RECORDED_USE, signs_of, window_size
from condense_cli.providers.window import WindowFlags, window_of

Json = dict[str, Any]
SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-6"
"""Models with a listed window of 200,000 tokens, and of a million."""


def compacted_at(tokens: int) -> str:
    return f"the client's own compaction at {tokens:,}"


@pytest.mark.parametrize(
    ("model", "signs", "expected"),
    [
        (SONNET, {}, (200_000, "price table")),
        (SONNET, {"used": 200_000}, (200_000, "price table")),
        (SONNET, {"used": 200_001}, (256_000, RECORDED_USE)),
        (SONNET, {"used": 286_513}, (400_000, RECORDED_USE)),
        (SONNET, {"used": 999_000}, (1_000_000, RECORDED_USE)),
        (OPUS, {"used": 1_000_001}, (2_000_000, RECORDED_USE)),
        # No window is this large, so the number was miscounted.
        (OPUS, {"used": 50_000_000}, (1_000_000, "price table")),
        (OPUS, {"compacted_at": 168_000}, (200_000, compacted_at(168_000))),
        (OPUS, {"compacted_at": 112_579}, (128_000, compacted_at(112_579))),
        (OPUS, {"compacted_at": 998_659}, (1_000_000, "price table")),
        (SONNET, {"compacted_at": 168_000}, (200_000, "price table")),
        # More was sent than that window holds, so something else made the client compact.
        (OPUS, {"compacted_at": 168_000, "used": 400_000}, (1_000_000, "price table")),
        (f"{OPUS}[1m]", {"compacted_at": 168_000}, (1_000_000, "price table")),
        (f"{SONNET}[1m]", {"used": 300_000}, (1_000_000, "price table")),
        (OPUS, {"named": 258_400, "compacted_at": 90_000}, (258_400, NAMED)),
        (f"{OPUS}[1m]", {"named": 258_400}, (1_000_000, "price table")),
        ("nobody-knows-1", {"used": 90_000}, (None, "unknown")),
        ("nobody-knows-1", {"compacted_at": 80_000}, (128_000, compacted_at(80_000))),
        ("nobody-knows-1", {"named": 121_600}, (121_600, NAMED)),
    ],
)
def test_a_window_agrees_with_what_the_file_shows(
    model: str, signs: dict[str, int], expected: tuple[int | None, str]
) -> None:
    assert window_size(model, WindowSigns(model, **signs)) == expected


TOKENS = st.integers(0, 10_000_000)


@given(st.sampled_from([SONNET, OPUS, f"{OPUS}[1m]"]), TOKENS, TOKENS)
def test_what_was_sent_fits_into_the_window(model: str, used: int, compaction: int) -> None:
    size, _ = window_size(model, WindowSigns(model, used, compaction))
    assert size is not None
    assert size >= used


def test_another_model_has_a_window_of_its_own() -> None:
    signs = WindowSigns(OPUS, compacted_at=168_000)
    assert window_size("claude-opus-4-7", signs) == (1_000_000, "price table")
    assert window_size(f"us.anthropic.{OPUS}", signs)[0] == 200_000


def test_the_users_word_goes_first() -> None:
    signs = WindowSigns(OPUS, used=300_000, named=258_400)
    local = Profile(api="anthropic", model=OPUS, context_window=90_000)
    user = UserConfiguration(profiles={"mine": KnownProfile(local, "own:1")})
    of_profile = window_of(OPUS, Configuration(), user, signs=signs)
    assert (of_profile.tokens, of_profile.source) == (90_000, "profile mine")
    asked = window_of(OPUS, Configuration(), user, WindowFlags(window=80_000), signs)
    assert (asked.tokens, asked.source) == (80_000, "option")


# --- What files show --------------------------------------------------------------------------------------------------


def sized(transcript: Transcript) -> tuple[int | None, str]:
    return window_size(transcript.model, signs_of(transcript))


def claude(*records: Json) -> Transcript:
    return api.loads(as_lines(list(records)), format="claude-code")


def answered(number: int, tokens: int, parent: int | None = None, model: str = OPUS, **keys: Any) -> Json:
    record = reply(number, parent or number - 1, f"msg_{number}", text("Done."), model=model, **keys)
    record["message"]["usage"] = {"input_tokens": 2, "cache_read_input_tokens": tokens - 2, "output_tokens": 9}
    return record


def session(tokens: int = 168_400, model: str = OPUS, **metadata: Any) -> list[Json]:
    """A conversation that was compacted, and what followed."""
    compaction = boundary(3, **{"trigger": "auto", "preTokens": 168_483} | metadata)
    return [said(1, None, "Go."), answered(2, tokens, model=model), compaction, said(4, 3, "On."), answered(5, 30_000)]


def test_claude_code_compacts_by_itself() -> None:
    assert sized(claude(*session())) == (200_000, compacted_at(168_483))
    # Whoever asks for a compaction does so whenever he likes.
    assert sized(claude(*session(trigger="manual"))) == (1_000_000, "price table")
    for wrong in (None, "168483", -1, True, 10**12):
        assert sized(claude(*session(preTokens=wrong))) == (1_000_000, "price table")
    # Requests of a sub-agent with another model say nothing; those before the compaction do.
    assert sized(claude(*session(tokens=300_000))) == (1_000_000, "price table")
    aside = answered(6, 300_000, 5, isSidechain=True)
    assert sized(claude(*session(), aside)) == (200_000, compacted_at(168_483))


def test_use_before_a_compaction_counts() -> None:
    records = [said(1, None, "Go."), answered(2, 450_000, model=SONNET), boundary(3, trigger="manual")]
    transcript = claude(*records, said(4, 3, "On."), answered(5, 30_000, model=SONNET))
    assert [usage.input_tokens for usage in transcript.usages] == [30_000]
    assert sized(transcript) == (500_000, RECORDED_USE)


def test_codex_names_its_window() -> None:
    usage = {"input_tokens": 9_000, "output_tokens": 50}

    def rollout(window: Any) -> Transcript:
        count = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": window}
        return api.loads(
            as_lines([
                codex_record("turn_context", model="gpt-5.5"),
                codex_record("response_item", **message("user", "Go.")),
                codex_record("response_item", **message("assistant", "Done.")),
                codex_record("event_msg", type="token_count", info=count),
            ]),
            format="codex",
        )  # fmt: skip

    assert sized(rollout(258_400)) == (258_400, NAMED)
    for wrong in (None, 0, -1, "258400", True):
        assert sized(rollout(wrong)) == (1_000_000, "price table")


def test_kimi_code_compacts_by_itself() -> None:
    usage = {"inputOther": 80_000, "inputCacheRead": 0, "inputCacheCreation": 0, "output": 227}

    def log(source: str) -> Transcript:
        records = [
            kimi_logs.HEADER,
            kimi_logs.said("Go."),
            {"type": "llm.request", "model": "deepseek-v4-flash", "time": 2},
            kimi_logs.event("step.begin", uuid="s1"),
            kimi_logs.part("s1", "Done."),
            kimi_logs.event("step.end", uuid="s1", usage=usage),
            {"type": "full_compaction.begin", "source": source, "time": 3},
            {"type": "context.apply_compaction", "summary": "So far.", "compactedCount": 2, "tokensBefore": 1},
        ]
        return api.loads(as_lines(records), format="kimi")

    assert sized(log("auto")) == (128_000, compacted_at(80_227))
    assert sized(log("manual")) == (1_000_000, "price table")


def test_opencode_compacts_by_itself() -> None:
    tokens = {"input": 105_000, "output": 7_045, "cache": {"read": 534, "write": 0}}

    def export(*, auto: bool) -> Transcript:
        return opencode_exports.export(
            opencode_exports.message(0, "user", opencode_exports.text("Go.")),
            opencode_exports.message(1, "assistant", opencode_exports.text("Done."), modelID=OPUS, tokens=tokens),
            opencode_exports.message(2, "user", {"type": "compaction", "auto": auto}, modelID=OPUS),
        )

    assert sized(export(auto=True)) == (128_000, compacted_at(112_579))
    assert sized(export(auto=False)) == (1_000_000, "price table")


# --- Commands ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", tmp_path / "cache")


def test_every_command_has_the_same_window_and_use(machine: Machine) -> None:
    path = machine.claude_code("aaaa-bbbb-cccc", *session())
    checked = condense("check", path, "--json", env=machine.env).json
    expected = {
        "tokens": 200_000,
        "percent": checked["percent"],
        "used": checked["used"]["total"],
        "source": "recorded usage",
        "tokens_source": compacted_at(168_483),
    }
    assert checked["window"] == {"tokens": 200_000, "source": compacted_at(168_483)}
    inspected = condense("inspect", path, "--json", env=machine.env).json
    assert inspected["window"] == expected
    assert machine.rows()[0]["window"] == expected
    assert machine.rows()[0]["window"] == expected  # From the cache as well.
    estimated = condense("estimate", path, "--json", env=machine.env).json
    assert estimated["prices"]["window"] == 200_000
    shown = condense("inspect", path, env=machine.env).text
    assert f"of a context window of 200,000 tokens ({compacted_at(168_483)})" in " ".join(shown.split())
    assert condense("check", path, "--json", "-m", f"{OPUS}[1m]").json["window"]["tokens"] == 1_000_000


def test_a_profile_says_it_to_all(machine: Machine) -> None:
    path = machine.claude_code("aaaa-bbbb-cccc", *session())
    own = machine.home / ".config" / "condense"
    own.mkdir(parents=True)
    profile = {"api": "anthropic", "model": OPUS, "context_window": 90_000}
    (own / "condense.yaml").write_text(json.dumps({"profiles": {"mine": profile}}))
    windows = [condense(command, path, "--json", env=machine.env).json["window"] for command in ("check", "inspect")]
    assert [window["tokens"] for window in [*windows, machine.rows()[0]["window"]]] == [90_000] * 3
