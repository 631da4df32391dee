"""The decision to condense, the facts about a model behind it, and `condense check`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from build import conversation
from helpers import Outcome, as_lines, condense_process
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from condense_cli.config.models import Configuration
from condense_cli.config.own import KnownProfile, UserConfiguration
from condense_cli.config.profiles import Profile
from condense_cli.errors import ConfigurationError, ExitStatus
from condense_cli.window.decision import CheckDecision, DecisionReason, Sizes, Window, WindowFlags, decide, window_of

SMALL = as_lines(conversation())


@pytest.mark.parametrize(
    ("context", "reason"),
    [
        (Sizes(49_999, 0, 100_000, threshold=50), DecisionReason.BELOW),
        (Sizes(50_000, 0, 100_000, threshold=50), DecisionReason.THRESHOLD),
        (Sizes(30_000, 20_000, 100_000, threshold=50), DecisionReason.THRESHOLD),
        # The limit: 200,000 x 0.9 - 8,192 = 171,808.
        (Sizes(171_808, 0, 200_000), DecisionReason.BELOW),
        (Sizes(171_809, 0, 200_000), DecisionReason.LIMIT),
        (Sizes(171_000, 809, 200_000), DecisionReason.LIMIT),
        (Sizes(171_809, 0, 200_000, reserved=8_191), DecisionReason.BELOW),
        (Sizes(200_000, 0, 200_000), DecisionReason.THRESHOLD),
        (Sizes(300_000, 0, 200_000, is_automatic=False), DecisionReason.SWITCHED_OFF),
        (Sizes(300_000, 0, None), DecisionReason.UNKNOWN_WINDOW),
        (Sizes(1, 0, 8_192), DecisionReason.LIMIT),
        # A token count, beside the others and where the window is not known.
        (Sizes(149_999, 0, 1_000_000, above=150_000), DecisionReason.BELOW),
        (Sizes(100_000, 50_000, 1_000_000, above=150_000), DecisionReason.ABOVE),
        (Sizes(500_000, 0, 1_000_000, threshold=50, above=600_000), DecisionReason.THRESHOLD),
        (Sizes(171_809, 0, 200_000, above=180_000), DecisionReason.LIMIT),
        (Sizes(150_000, 0, None, above=150_000), DecisionReason.ABOVE),
        (Sizes(149_999, 0, None, above=150_000), DecisionReason.BELOW),
        (Sizes(150_000, 0, None, above=150_000, is_automatic=False), DecisionReason.SWITCHED_OFF),
    ],
)
def test_threshold_and_limit(context: Sizes, reason: DecisionReason) -> None:
    decision = decide(context)
    assert decision.reason is reason
    assert decision.should_condense is (
        reason in (DecisionReason.THRESHOLD, DecisionReason.ABOVE, DecisionReason.LIMIT)
    )
    assert context.above is None or f"{context.above:,}" in str(decision) or reason is not DecisionReason.ABOVE


SIZES = st.integers(0, 2_000_000)


@given(
    st.builds(
        Sizes,
        SIZES,
        SIZES,
        st.one_of(st.none(), st.integers(1, 2_000_000)),
        st.floats(5, 100),
        st.integers(0, 100_000),
        st.booleans(),
        above=st.one_of(st.none(), SIZES),
    ),
    st.integers(1, 100_000),
)
def test_more_tokens_never_turn_a_yes_into_a_no(context: Sizes, more: int) -> None:
    def with_more(tokens: int, overhead: int) -> CheckDecision:
        return decide(replace(context, tokens=context.tokens + tokens, beside=context.beside + overhead))

    decision = decide(context)
    assert with_more(more, 0).should_condense >= decision.should_condense
    assert with_more(0, more).should_condense == with_more(more, 0).should_condense
    assert f"{context.used:,}" in str(decision)


@pytest.mark.parametrize(
    ("sizes", "is_far"),
    [
        (Sizes(30_000, 0, 1_000_000), True),
        (Sizes(30_000, 0, 1_000_000, threshold=95), True),
        (Sizes(30_000, 0, 1_000_000, threshold=60), False),
        # The smallest limit that few conversations reach, and one below.
        (Sizes(30_000, 0, 1_000_000, reserved=400_000), True),
        (Sizes(30_000, 0, 1_000_000, reserved=400_001), False),
        # The threshold is as near as the limit, or a little behind it.
        (Sizes(30_000, 0, 1_000_000, threshold=90, reserved=0), False),
        (Sizes(30_000, 0, 1_000_000, threshold=90.1, reserved=0), True),
        (Sizes(30_000, 0, 1_000_000, above=150_000), False),
        (Sizes(30_000, 0, 1_000_000, is_automatic=False), False),
        (Sizes(30_000, 0, 200_000), False),
        (Sizes(30_000, 0, None), False),
    ],
)
def test_a_limit_that_is_hardly_ever_reached(sizes: Sizes, is_far: bool) -> None:
    assert decide(sizes).is_hardly_ever_due is is_far


def test_a_limit_does_not_depend_on_the_switch() -> None:
    assert [decide(Sizes(used, 0, 200_000, is_automatic=False)).is_over_limit for used in (171_808, 171_809)] == [0, 1]
    assert not decide(Sizes(300_000, 0, None)).is_over_limit


def user(main: str | None = None, **profiles: Profile) -> UserConfiguration:
    known = UserConfiguration().profiles | {name: KnownProfile(each, "own:1") for name, each in profiles.items()}
    return UserConfiguration(main, False, known)


def local(threshold: float | None = None, model: str = "qwen3:8b", max_tokens: int = 1_000) -> Profile:
    return Profile(
        api="openai",
        model=model,
        base_url="http://localhost/v1",
        context_window=32_768,
        max_tokens=max_tokens,
        threshold=threshold,
    )


def known_of(model: str | None, own: UserConfiguration, percent: float = 90, **asked: object) -> Window:
    return window_of(model, Configuration(auto_condense_context_percent=percent), own, WindowFlags(**asked))  # type: ignore[arg-type]


def test_the_price_table_knows_windows() -> None:
    window = known_of("claude-opus-4-5", user())
    assert (window.tokens, window.source, window.reserved) == (200_000, "price table", 8_192)
    assert known_of("nobody-knows-1", user()).tokens is None
    assert known_of(None, user()).tokens is None


def test_a_profile_with_the_model_says_window_and_reserve() -> None:
    window = known_of("qwen3:8b", user(mine=local()))
    assert (window.tokens, window.source, window.reserved) == (32_768, "profile mine", 1_000)


@pytest.mark.parametrize(
    ("threshold", "expected", "source", "warns"),
    [
        (None, 90, None, False),
        (-1, 90, None, False),
        (5, 5, "profile mine", False),
        (100, 100, "profile mine", False),
        (4.9, 90, None, True),
        (101, 90, None, True),
        (0, 90, None, True),
    ],
)
def test_thresholds_of_profiles(threshold: float | None, expected: float, source: str | None, warns: bool) -> None:
    window = known_of("qwen3:8b", user(mine=local(threshold)))
    assert (window.threshold, window.threshold_source) == (expected, source)
    assert any("threshold" in warning for warning in window.warnings) is warns


def test_what_is_asked_for_goes_first() -> None:
    window = known_of("qwen3:8b", user(mine=local(4)), window=1_000, threshold=60.0)
    assert (window.tokens, window.source) == (1_000, "option")
    assert (window.threshold, window.threshold_source) == (60, "option")
    assert not any("threshold" in warning for warning in window.warnings)


def test_the_main_profile_goes_before_others_and_own_ones_before_built_in_ones() -> None:
    own = user("second", first=local(10), second=local(20))
    assert known_of("qwen3:8b", own).profile == "second"
    assert known_of("gpt-4o-mini", user(mine=local(model="gpt-4o-mini"))).profile == "mine"
    assert known_of("gpt-4o-mini", user()).profile == "gpt-4o-mini"


def test_the_token_count_of_the_option_goes_before_those_of_profile_and_settings() -> None:
    common = Configuration(auto_condense_context_above=150_000)
    own = user(mine=replace(local(), above=20_000))

    def above(model: str, asked: int | None = None) -> tuple[int | None, str | None]:
        window = window_of(model, common, own, WindowFlags(above=asked))
        return window.above, window.above_source

    assert above("qwen3:8b", 10_000) == (10_000, "option")
    assert above("qwen3:8b") == (20_000, "profile mine")
    assert above("claude-opus-5") == (150_000, None)
    assert window_of("claude-opus-5", Configuration(), own).above is None


def test_a_profile_that_is_asked_for_brings_its_model() -> None:
    window = known_of("claude-opus-4-5", user(mine=local()), profile="mine")
    assert (window.model, window.tokens) == ("qwen3:8b", 32_768)
    with pytest.raises(ConfigurationError, match="no profile 'mien'"):
        known_of(None, user(mine=local()), profile="mien")


def test_a_reserve_that_leaves_no_room_is_a_warning() -> None:
    assert "smaller max_tokens" in known_of("qwen3:8b", user(mine=local(max_tokens=30_000))).warnings[0]


def checked(*arguments: str, stdin: bytes = SMALL, env: dict[str, str] | None = None) -> Outcome:
    return condense_process("check", "-", *arguments, stdin=stdin, env=env)


def test_no_is_status_0_and_yes_is_status_4() -> None:
    no = checked("--context-window", "100000")
    assert no.status == ExitStatus.DONE
    assert no.stdout.startswith(b"no: ")
    yes = checked("--context-window", "100000", "--overhead-tokens", "99000")
    assert yes.status == ExitStatus.SHOULD_CONDENSE
    assert yes.stdout.startswith(b"yes: ")
    assert re.search(rb"overhead +99,000  option", yes.stdout)


# As --target-tokens takes them.
@pytest.mark.slow
def test_tokens_of_window_and_overhead_are_written_as_people_write_them() -> None:
    yes = checked("--context-window", "0.1M", "--overhead-tokens", "99k")
    assert yes.status == ExitStatus.SHOULD_CONDENSE
    assert re.search(rb"overhead +99,000  option\n.*\nwindow +100,000  option", yes.stdout)
    assert checked("--context-window", "200k", "--overhead-tokens", "0").status == ExitStatus.DONE
    for wrong in (("--context-window", "0"), ("--context-window", "big"), ("--overhead-tokens", "-1")):
        refused = checked(*wrong)
        assert refused.status == ExitStatus.USAGE
        assert "Write 60000, 60k" in refused.stderr


# `check || run` would condense as well where check could not tell: statuses 2 and 3 are no yes.
def test_help_shows_how_to_condense_only_where_it_should() -> None:
    shown = condense_process("check", "--help").text
    assert "condense run session.jsonl --if-needed --in-place" in shown
    assert "||" not in shown


@pytest.mark.slow
def test_an_unknown_window_is_said_and_never_guessed() -> None:
    for arguments in ((), ("--model", "nobody-knows-1"), ("--json",), ("-q",)):
        done = checked(*arguments)
        assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
        assert "context window" in done.stderr
        assert "--context-window" in done.stderr


def test_json_has_the_numbers() -> None:
    done = checked("--json", "--context-window", "40000", "--threshold", "5")
    found = json.loads(done.stdout)
    assert done.status == ExitStatus.SHOULD_CONDENSE
    assert found["condense"] is True
    assert found["reason"] == "threshold"
    assert found["threshold"] == {"percent": 5.0, "source": "option"}
    assert found["window"] == {"tokens": 40_000, "source": "option"}
    assert found["used"]["total"] == found["used"]["messages"] + found["used"]["overhead"]
    assert found["used"]["total_source"] == "estimated"
    assert found["percent"] == pytest.approx(found["used"]["total"] / 400, abs=0.06)
    assert found["limit"] == 40_000 * 9 // 10 - found["reserved"]


# k · 0.1 / (1.25 − 0.1 + k · 0.1) with k = 10, and no word where nobody knows the price.
@pytest.mark.slow
def test_it_says_when_condensing_pays() -> None:
    done = checked("--model", "claude-opus-4-6")
    assert "within 10 requests if it leaves at most 46% of what it rewrites" in " ".join(done.text.split())
    assert json.loads(checked("--model", "claude-opus-4-6", "--json").stdout)["pays"] == {
        "turns": 10, "left_percent": 46.5,
    }  # fmt: skip
    assert json.loads(checked("--context-window", "40000", "--json").stdout)["pays"] is None
    assert "pays" not in checked("--context-window", "40000").text


def test_settings_say_threshold_and_switch() -> None:
    env = {"CONDENSE_AUTO_CONDENSE_CONTEXT_PERCENT": "5"}
    done = checked("--context-window", "40000", env=env)
    assert done.status == ExitStatus.SHOULD_CONDENSE
    assert b"5%  CONDENSE_AUTO_CONDENSE_CONTEXT_PERCENT" in done.stdout
    off = checked("--context-window", "40000", "-q", env=env | {"CONDENSE_AUTO_CONDENSE_CONTEXT": "false"})
    assert (off.status, off.stdout, off.stderr) == (ExitStatus.DONE, b"", "")


@pytest.mark.slow
def test_a_token_count_needs_no_window() -> None:
    yes = checked("--above", "10", "--json")
    assert yes.status == ExitStatus.SHOULD_CONDENSE
    found = json.loads(yes.stdout)
    assert (found["reason"], found["above"]) == ("above", {"tokens": 10, "source": "option"})
    assert (found["window"]["tokens"], found["percent"], found["limit"]) == (None, None, None)
    assert "condensing is due from 10 tokens on" in found["sentence"]
    no = checked("--above", "150k")
    assert no.status == ExitStatus.DONE
    assert re.search(rb"above +150,000  option\n", no.stdout)
    assert "150,000" in " ".join(no.text.split()).partition(". ")[0]
    for wrong in ("0", "15%", "-1"):
        assert checked("--above", wrong).status == ExitStatus.USAGE


@pytest.mark.slow
def test_the_settings_give_a_token_count(tmp_path: Path) -> None:
    variable = {"CONDENSE_AUTO_CONDENSE_CONTEXT_ABOVE": "10"}
    done = checked(env=variable)
    assert done.status == ExitStatus.SHOULD_CONDENSE
    assert b"10  CONDENSE_AUTO_CONDENSE_CONTEXT_ABOVE" in done.stdout
    assert checked("--above", "150k", env=variable).status == ExitStatus.DONE
    for key in ("auto_condense_context_above", "autoCondenseContextAbove"):
        (tmp_path / "condense").mkdir(exist_ok=True)
        (tmp_path / "condense" / "condense.yaml").write_text(f"{key}: 10")
        assert checked(env={"XDG_CONFIG_HOME": str(tmp_path)}).status == ExitStatus.SHOULD_CONDENSE


@pytest.mark.slow
def test_a_window_that_is_hardly_ever_full_is_said() -> None:
    found = json.loads(checked("--context-window", "1M", "--json").stdout)
    (warning,) = found["warnings"]
    assert "only above 891,808 tokens" in warning
    assert "--above 150k" in warning
    assert found["above"] is None
    assert "Warning: With a window of this size" in checked("--context-window", "1M").text
    for more in (("--above", "150k"), ("--threshold", "20")):
        assert json.loads(checked("--context-window", "1M", "--json", *more).stdout)["warnings"] == []


def test_own_profiles_are_looked_at(tmp_path: Path) -> None:
    (tmp_path / "condense").mkdir()
    (tmp_path / "condense" / "condense.yaml").write_text(
        "profiles: {local: {api: openai, model: qwen3, base_url: 'http://x/v1', context_window: 40000, threshold: 5}}"
    )
    done = checked("--model", "qwen3", env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert done.status == ExitStatus.SHOULD_CONDENSE
    assert b"5%  profile local" in done.stdout


@pytest.mark.parametrize("value", ["4.9", "100.1", "many"])
def test_an_impossible_threshold_is_a_usage_error(value: str) -> None:
    assert checked("--context-window", "1000", "--threshold", value).status == ExitStatus.USAGE


# The model of the profile continues, so it counts; naming another one beside it can only be a slip.
@pytest.mark.slow
def test_a_profile_counts_as_its_model_does() -> None:
    told = {name: json.loads(checked("--profile", name, "--json").stdout) for name in ("gpt-4o-mini", "claude-opus-5")}
    assert told["gpt-4o-mini"]["used"]["exact"]
    assert not told["claude-opus-5"]["used"]["exact"]
    assert told["gpt-4o-mini"]["used"] == json.loads(checked("--model", "gpt-4o-mini", "--json").stdout)["used"]
    done = checked("--profile", "gpt-4o-mini", "--model", "claude-opus-5")
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "Use one of them." in done.stderr
