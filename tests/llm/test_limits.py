"""Limits of what calls may use: keys, variables and flags, days and conversations, small windows."""

import sqlite3
import stat
from decimal import Decimal
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from build import assistant, read_turn, user
from desk import BY_MODEL, KEYS, Desk
from helpers import as_lines, condense, listing, session
from model_server import model_server

from condense_cli import CondensationManager, api, loads
from condense_cli.config.base import LIMITS, Limits
from condense_cli.config.own import limits_in
from condense_cli.errors import ConfigurationError, ExitStatus, UsageError
from condense_cli.llm.budget import FILE_NAME, Accounts, Spendable, conversation_of


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, where the accounts are."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "condense"


def called(desk: Desk, *arguments: str, status: ExitStatus = ExitStatus.DONE, more: str = "", **env: str) -> int:
    """The calls of a run that may call a model, and asks it anew."""
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, f"profile: openai\nallow_calls: true\n{more}")
        desk.output.unlink(missing_ok=True)
        done = condense(*desk.command("batch", *arguments, "--no-cache"), env={**KEYS, **env})
        assert done.status == status, done.stderr
        return server.calls


@pytest.mark.parametrize("limit", ["max_cost: 0", "max_cost_per_day: 0", "max_cost_per_conversation: 0"])
def test_a_limit_in_the_users_own_file(desk: Desk, cache: Path, limit: str) -> None:
    assert called(desk, more=limit, status=ExitStatus.CALLS_FAILED) == 0
    assert called(desk, more=limit.replace(" 0", " 0.9")) == 1


@pytest.mark.parametrize("name", ["MAX_COST", "MAX_COST_PER_DAY", "MAX_COST_PER_CONVERSATION", "MAX_SUMMARY_TOKENS"])
def test_a_limit_in_a_variable(desk: Desk, cache: Path, name: str) -> None:
    assert called(desk, status=ExitStatus.CALLS_FAILED, **{f"CONDENSE_{name}": "0"}) == 0


def test_a_flag_goes_before_a_variable_and_that_before_the_file(desk: Desk, cache: Path) -> None:
    assert called(desk, more="max_cost: 0", CONDENSE_MAX_COST="$0.9") == 1
    assert called(desk, "--max-cost", "0.9", more="max_cost: 0", CONDENSE_MAX_COST="0") == 1
    assert called(desk, "--max-cost", "0", status=ExitStatus.CALLS_FAILED, CONDENSE_MAX_COST="0.9") == 0


@pytest.mark.parametrize(
    ("key", "written", "calls"),
    [("max_cost", "$0.90", 1), ("max_cost", "0", 0), ("max_summary_tokens", "60k", 1), ("max_summary_tokens", "0", 0)],
)
def test_a_limit_is_written_alike_everywhere(desk: Desk, cache: Path, key: str, written: str, calls: int) -> None:
    status = ExitStatus.DONE if calls else ExitStatus.CALLS_FAILED
    assert called(desk, f"--{key.replace('_', '-')}", written, status=status) == calls
    assert called(desk, status=status, **{f"CONDENSE_{key.upper()}": written}) == calls
    assert called(desk, status=status, more=f"{key}: {written}") == calls


@pytest.mark.parametrize("flag", ["--max-cost-per-day", "--max-cost-per-conversation"])
def test_what_earlier_runs_cost_counts(desk: Desk, cache: Path, flag: str) -> None:
    """The worst case of a call is more than twice what it costs, 0.0012: the limit covers the first alone."""
    worst = Decimal("0.1")
    assert called(desk, flag, str(worst)) == 1
    with sqlite3.connect(cache / FILE_NAME) as connection:
        [(cost,)] = connection.execute("SELECT cost FROM calls_1").fetchall()
        assert cost == 1_200_000
        connection.execute("UPDATE calls_1 SET cost = ?", (100_000_000,))
    assert called(desk, flag, str(worst), status=ExitStatus.CALLS_FAILED) == 0
    assert called(desk, flag, "0.2") == 1
    assert stat.S_IMODE((cache / FILE_NAME).stat().st_mode) == 0o600


# A day that is over, or another conversation, has an account of its own.
def test_other_days_and_conversations_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "spent"
    accounts = Accounts(path, "2026-11-22", Spendable(Decimal(1), Decimal("0.8")))
    accounts.conversation = "one"
    assert accounts.book(Decimal("0.7"))
    assert accounts.book(Decimal("0.2")) is None
    accounts.conversation = "other"
    assert accounts.book(Decimal("0.3"))
    assert accounts.book(Decimal("0.1")) is None
    tomorrow = Accounts(path, "2026-11-23", Spendable(Decimal(1), Decimal("0.8")))
    tomorrow.conversation = "other"
    entry = tomorrow.book(Decimal("0.5"))
    assert entry
    assert tomorrow.book(Decimal("0.1")) is None
    tomorrow.settle(entry, Decimal("0.3"))
    assert tomorrow.book(Decimal("0.2"))


def test_accounts_that_cannot_be_kept_cover_nothing(tmp_path: Path) -> None:
    path = tmp_path / "spent"
    path.write_bytes(b"no database at all, but a text of some length" * 100)
    assert Accounts(path, "2026-11-22", Spendable(Decimal(1))).book(Decimal("0.1")) is None


# A conversation is known by its first request, in whatever file it is, condensed or not.
def test_a_conversation_is_known_by_its_first_request() -> None:
    messages = session()
    whole, shorter = loads(as_lines(messages)), loads(as_lines(messages[:5]))
    assert conversation_of(whole) == conversation_of(shorter) != ""
    assert conversation_of(loads([{"role": "user", "content": "Another."}])) != conversation_of(whole)


def test_secrets_are_masked_where_the_users_own_file_says_so(
    desk: Desk, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path | None] = []

    class Masking:
        count = 0

        def __init__(self, folder: Path | None = None) -> None:
            made.append(folder)

        def request(self, request: object) -> object:
            return request

        def hides(self, text: str) -> bool:
            return False

    monkeypatch.setattr("condense_cli.llm.access.Redactor", Masking)
    called(desk, more="redact: true")
    called(desk, CONDENSE_REDACT="true")
    called(desk)
    assert len(made) == 2


def test_a_project_cannot_set_limits(desk: Desk, cache: Path) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai\nallow_calls: true")
        done = desk.run("batch", max_cost=100)
        assert (done.status, server.calls) == (ExitStatus.USAGE, 0)
    assert "your own configuration" in done.stderr


@pytest.mark.parametrize("value", ["-1", "much", "nan"])
def test_limits_that_are_none_are_refused_with_a_hint(desk: Desk, cache: Path, value: str) -> None:
    with pytest.raises(ConfigurationError, match="CONDENSE_MAX_COST") as caught:
        limits_in({"CONDENSE_MAX_COST": value})
    assert caught.value.hint
    assert called(desk, more=f"max_cost: {value}", status=ExitStatus.USAGE) == 0
    desk.own.write_text(f"max_cost: {value}\n")
    refused = condense("config", "validate", str(desk.own))
    assert "Write dollars such as 0.50" in refused.text + refused.stderr


# From Python there is each limit that a flag can set.
@pytest.mark.parametrize("key", LIMITS)
def test_a_limit_of_a_call_from_python(desk: Desk, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    arguments: dict[str, Any] = {key: True if key == "redact" else 0}
    with pytest.raises(UsageError, match="apply to model calls only"):
        api.condense(api.load(desk.input), {"provider": "native"}, **arguments)
    if key == "redact":
        return
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        manager = CondensationManager({"provider": "native"}, context_window=4_000, profile="openai", **arguments)
        managed = manager.condense(session())
        result = api.condense(api.load(desk.input), {"provider": "native"}, profile="openai", **arguments)
        assert (server.calls, len(result.changes), managed.is_condensed) == (0, 0, False)
    assert managed.error is not None
    assert "no summary was written" in managed.error.message


def test_limits_over_limits() -> None:
    below = Limits(Decimal(1), max_summary_tokens=5, redact=True)
    assert Limits(Decimal(0)).over(below) == Limits(Decimal(0), max_summary_tokens=5, redact=True)
    assert limits_in({"CONDENSE_REDACT": "false", "CONDENSE_MAX_SUMMARY_TOKENS": "7"}) == Limits(max_summary_tokens=7)


WINDOW = 9_000


# The session fits into the window; the usual length of a summary does not fit beside it.
@pytest.mark.parametrize("way", ["batch", "native"])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_summary_fits_a_small_window_as_it_comes(desk: Desk, way: str, api: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, context_window=WINDOW)
        report = desk.report(way, "--profile", api, "--no-cache")
        assert server.calls >= 1
        limits = {body.get("max_completion_tokens") or body.get("max_tokens") for body in server.bodies}
    assert max(int(str(limit)) for limit in limits) <= WINDOW // 4
    assert report["tokens"]["saved"] > 0
    assert report["summaries"][0]["written"] == 1


# A session that is larger than the window goes in parts, of which each fits.
@pytest.mark.parametrize(("way", "api", "window"), [("batch", "openai", WINDOW), ("native", "anthropic", 4_096)])
def test_a_long_session_goes_in_parts(desk: Desk, way: str, api: str, window: int) -> None:
    turns = [each for n in range(30) for each in read_turn(f"toolu_{n}", f"{n}.py", listing(n))]
    desk.input.write_bytes(as_lines([user("Please look around."), *turns, assistant("Done.")]))
    names = " ".join(f"{n}.py" for n in range(30))  # Without them an answer lacks what a summary has to hold.
    with model_server(played.good(f"A short summary of {names}.")) as server:
        desk.profiles(server, context_window=window)
        report = desk.report(way, "--profile", api, "--no-cache")
        assert server.calls > 2
        assert max(len(str(body["messages"])) for body in server.bodies) < 4 * window
    assert report["summaries"][0]["written"] == 1
    assert not report["warnings"]


@pytest.mark.parametrize(("of_profile", "is_said"), [(1, True), (2, False), (5, False)])
def test_more_calls_at_a_time_than_the_profile_allows_are_told_of(desk: Desk, of_profile: int, is_said: bool) -> None:
    with model_server(played.good(BY_MODEL, together=min(2, of_profile))) as server:
        desk.profiles(server, max_parallel_calls=of_profile)
        report = desk.report("phases", "--profile", "openai", "--no-cache")
        assert server.most_at_once == min(2, of_profile)
    said = [warning for warning in report["warnings"] if "max_parallel_calls" in warning]
    assert said == (
        ["The configuration allows 2 parallel calls, the profile openai only 1 (max_parallel_calls)."]
        if is_said
        else []
    )
