"""What summaries may cost: limits that stop in time, and prices that are known without a call."""

from decimal import Decimal

import model_server as played
import pytest
from build import assistant, read_turn, user
from desk import APIS, BY_MODEL, CALL, KEYS, WAYS, Desk, cost_of, reasons
from helpers import as_lines, condense, listing, session
from model_server import model_server

from condense_cli.errors import ExitStatus
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import family_of


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", [("--max-cost", "0.0001"), ("--max-summary-tokens", "50")])
def test_a_limit_too_small_for_any_call_calls_nothing(desk: Desk, limit: tuple[str, str], way: str, name: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", name, *limit, status=ExitStatus.CALLS_FAILED)
        assert server.calls == 0
    assert desk.is_unchanged
    assert any("budget" in reason for reason in reasons(report))


@pytest.mark.parametrize("name", APIS)
def test_limits_stop_in_time(desk: Desk, name: str) -> None:
    desk.input.write_bytes(as_lines(session([listing(number, 150) for number in range(8)])))
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        most = Decimal("0.006")
        report = desk.report("individual", "--profile", name, "--max-cost", str(most), status=ExitStatus.CALLS_FAILED)
        (used,) = report["summaries"]
        assert 0 < used["written"] < used["written"] + used["refused"]
        assert cost_of(report) == CALL * server.calls <= most
        before = server.calls
        report = desk.report(
            "individual", "--profile", name, "--no-cache", "--max-summary-tokens", "5000",
            status=ExitStatus.CALLS_FAILED,
        )  # fmt: skip
        (used,) = report["summaries"]
        assert 0 < server.calls - before == used["calls"]
        assert used["tokens"] <= 5000


def named(warnings: list[str]) -> Decimal:
    """The limit that a dry run names."""
    (said,) = (each for each in warnings if "is enough" in each)
    return Decimal(said.partition("--max-cost ")[2].partition(" ")[0])


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("way", ["batch", "native"])
def test_a_limit_that_the_dry_run_names_is_enough_and_less_is_refused(desk: Desk, way: str, name: str) -> None:
    """The dry run refuses what the run refuses, with the same sums."""

    def said(*flags: str, status: ExitStatus = ExitStatus.DONE) -> list[str]:
        return [each for each in desk.report(way, "--profile", name, *flags, status=status)["warnings"] if "$" in each]

    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        least = named(said("--dry-run"))
        assert said("--dry-run", "--max-cost", str(least)) == []
        less = ("--max-cost", "0.0010", "--no-cache")
        dry = said("--dry-run", *less, status=ExitStatus.CALLS_FAILED)
        assert named(dry) == least
        refused = said(*less, status=ExitStatus.CALLS_FAILED)
        assert server.calls == 0
        assert refused == dry[:1]
        assert "The next call may cost $" in refused[0]
        assert "of $0.0010" in refused[0]
        said("--max-cost", str(least))
        assert server.calls > 0


# Each answer is as long as it may get and lacks what it must hold, so that it is asked for again; parts are joined.
@pytest.mark.sampled(1)
@pytest.mark.parametrize(("way", "window"), [("individual", 100_000), ("batch", 9_000), ("native", 4_096)])
def test_what_a_dry_run_names_is_enough_for_the_longest_answers(desk: Desk, way: str, window: int) -> None:
    turns = [each for n in range(12) for each in read_turn(f"toolu_{n}", f"{n}.py", listing(n, 120))]
    desk.input.write_bytes(as_lines([user("Please look around."), *turns, assistant("Done.")]))

    count = Counter()

    def longest(exchange: played.Exchange) -> None:
        limit = exchange.body["max_completion_tokens"]
        read = sum(count(each["content"]) for each in exchange.body["messages"])
        usage = {"prompt_tokens": read, "completion_tokens": limit, "total_tokens": read + limit}
        played.good("· " * (500 if limit > 500 else 5), usage=usage)(exchange)

    with model_server(longest) as server:
        desk.profiles(server, context_window=window)
        flags = ("--profile", "openai", "--no-cache")
        (low, free) = (
            named(desk.report(way, "-n", *flags, *less, status=status)["warnings"])
            for less, status in ((("--max-cost", "0.001"), ExitStatus.CALLS_FAILED), ((), ExitStatus.DONE))
        )
        assert low == free
        report = desk.run(way, *flags, "--json", "--max-cost", str(free)).json
        assert server.calls > 2
    assert not any("budget" in warning or "max-cost" in warning for warning in report["warnings"])


def test_a_limit_in_tokens_names_what_is_missing(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        limit = ("--profile", "openai", "--max-summary-tokens", "50")
        for flags in ((), ("--dry-run",)):
            report = desk.report("batch", *limit, *flags, status=ExitStatus.CALLS_FAILED)
            assert any("tokens, and 50 of 50 are left" in warning for warning in report["warnings"])


@pytest.mark.parametrize("amount", ["much", "-1", "nan"])
def test_an_amount_that_is_none_is_refused(desk: Desk, amount: str) -> None:
    done = desk.run("batch", f"--max-cost={amount}")
    assert done.status == ExitStatus.USAGE
    assert "--max-cost" in done.message


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
def test_a_dry_run_prices_the_requests(desk: Desk, name: str, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        done = condense(
            "run", desk.input, "-c", desk.configuration(way), "--dry-run", "--profile", name, "--json", env=KEYS
        )
        assert server.calls == 0
        planned = done.json
        report = desk.report(way, "--profile", name)
    (used,) = planned["summaries"]
    (real,) = report["summaries"]
    assert (done.status, used["planned"]) == (ExitStatus.DONE, True)
    assert (used["written"], used["calls"]) == (real["written"], real["calls"])
    assert used["cost"] > 0
    assert planned["cost"]["spent"] == used["cost"]


# Prices are for the model's tokens, of which there are more than of those that are counted here.
@pytest.mark.parametrize("way", WAYS)
def test_a_plan_is_in_the_tokens_of_its_model(desk: Desk, way: str) -> None:
    def planned(model: str) -> int:
        with model_server(played.good()) as server:
            desk.profiles(server, "", model=model)
        done = condense(
            "run", desk.input, "-c", desk.configuration(way), "-n", "--profile", "openai", "--json", env=KEYS
        )
        return int(done.json["summaries"][0]["tokens"])

    family = family_of("claude-opus-5")
    assert family is not None
    assert planned("claude-opus-5") == pytest.approx(family.factor * planned("small"), rel=0.01)


# The texts that stand in for summaries differ, so none of them becomes a reference to another.
def test_a_plan_needs_no_key_and_shortens_no_stand_in(desk: Desk) -> None:
    done = condense("run", desk.input, "--preset", "quality", "--dry-run", "--profile", "gpt-4o-mini", "--json")
    report = done.json
    (used,) = report["summaries"]
    assert done.status == ExitStatus.DONE
    assert used["written"] > 1
    assert report["tokens"]["saved_by_references"] == 0
    assert "needs a key" in " ".join(report["warnings"])


def test_an_estimate_warns_of_what_a_run_would_need(desk: Desk) -> None:
    done = condense("estimate", desk.input, "quality", "--profile", "gpt-4o-mini", "--json")
    (preset,) = done.json["presets"]
    assert preset["saved"] > 0
    assert "Set OPENAI_API_KEY" in " ".join(done.json["warnings"])


def test_an_estimate_prices_the_requests(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        arguments = ["estimate", str(desk.input), "--preset", "quality", "--json"]
        allowed = condense(*arguments, "--profile", "openai", env=KEYS)
        plain = condense(*arguments, env=KEYS)
        assert server.calls == 0
    (preset,) = allowed.json["presets"]
    (used,) = preset["summaries"]
    assert used["planned"]
    assert used["calls"] == used["written"] > 0
    assert used["cost"] > 0
    (offline,) = plain.json["presets"][0]["summaries"]
    assert (offline["profile"], offline["calls"], offline["cost"]) == ("offline", 0, 0)
