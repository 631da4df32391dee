"""`condense run` and `estimate` with a model that writes the summaries, and with one that fails to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import model_server as played
import pytest
from helpers import COMMAND, Outcome, as_lines, condense, environment, listing, session
from model_server import ModelServer, Play, model_server

from condense_cli import api
from condense_cli.errors import ExitStatus
from condense_cli.ledger.written import parse as parse_ledger
from condense_cli.markers import gaps_in, parse_summary

APIS: Final = ("openai", "anthropic")
KEYS: Final = {"OPENAI_API_KEY": "sk-test", "ANTHROPIC_API_KEY": "sk-ant-test"}

CALL: Final = Decimal("0.0012")
"""Dollars of a call that the server answers, at the price of the profiles."""

_RECENT: Final = {"type": "preserve_recent", "keep_recent_count": 1}
_EACH: Final = {
    "id": "each",
    "selection": _RECENT,
    "individual_config": {
        "defaults": {"tool_results": {"operation": "summarize", "params": {"summarize": {"max_tokens": 60}}}}
    },
}
_BATCH: Final = {
    "id": "all",
    "selection": _RECENT,
    "mode": "batch",
    "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 1, "keep_last": 0}},
}
WAYS: Final[Mapping[str, dict[str, Any]]] = {
    "individual": {"passes": [_EACH]},
    "batch": {"passes": [_BATCH]},
    "native": {"provider": "native"},
}
CONFIGURATIONS: Final[Mapping[str, dict[str, Any]]] = {
    **WAYS,
    "phases": {
        "selection_phase": {"preserve_recent_count": 1},
        "lossless_phase": {"enabled": False},
        "lossy_phase": {"enabled": False, "target_reduction_percent": 90},
        "llm_phase": {"enabled": True, "max_parallel_calls": 2, "summary_max_tokens": 60},
        "fallback_phase": {"enabled": False},
    },
}

BY_MODEL: Final = "A short summary."


class Desk:
    """A folder with a session, the configurations and the user's own one, and what commands made there."""

    def __init__(self, folder: Path) -> None:
        self.input, self.output = folder / "session.jsonl", folder / "small.jsonl"
        self.own = folder / "condense" / "condense.yaml"
        self.own.parent.mkdir()
        self.input.write_bytes(as_lines(session()))
        self._folder = folder

    def profiles(self, server: ModelServer, more: str = "", **keys: object) -> None:
        """The user's own configuration, with a profile at the server for each API, of that name."""
        common = {"model": "small", "context_window": 100_000, "max_retries": 1, "price": {"input": 1, "output": 10}}
        each = {
            "openai": {"api": "openai", "base_url": f"{server.url}/v1", **common, **keys},
            "anthropic": {"api": "anthropic", "base_url": server.url, **common, **keys},
        }
        self.own.write_text(f"{more}\nprofiles: {json.dumps(each)}\n")

    def configuration(self, way: str, **keys: object) -> Path:
        path = self._folder / f"{way}.json"
        path.write_text(json.dumps({**CONFIGURATIONS[way], **keys}))
        return path

    def command(self, way: str, *arguments: str, **keys: object) -> list[str]:
        to = ("-o", str(self.output))
        return ["run", str(self.input), "-c", str(self.configuration(way, **keys)), *to, *arguments]

    def run(self, way: str, *arguments: str, **keys: object) -> Outcome:
        self.output.unlink(missing_ok=True)
        done = condense(*self.command(way, *arguments, **keys), env=KEYS)
        assert "Traceback" not in done.stderr, done.stderr
        assert "sk-test" not in done.text + done.stderr
        return done

    def report(self, way: str, *arguments: str, status: ExitStatus = ExitStatus.DONE, **keys: object) -> Any:
        done = self.run(way, *arguments, "--json", "--explain", **keys)
        assert done.status == status, (done.status, done.text[-500:], done.stderr)
        return done.json

    @property
    def texts(self) -> list[str]:
        """Every text of the output."""
        return [block.text for _, block in api.load(self.output).blocks()]

    @property
    def is_unchanged(self) -> bool:
        return self.output.read_bytes() == self.input.read_bytes()


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Desk(tmp_path)


def cost_of(report: Any) -> Decimal:
    (used,) = report["summaries"]
    assert used["cost"] == (
        report["cost"]["spent"] if Decimal(report["cost"]["spent"]) or not used["at_least"] else None
    )
    return Decimal(report["cost"]["spent"])


def reasons(report: Any) -> set[str]:
    """Why blocks that a pass selects stay as they are."""
    results = [entry for entry in report["changes"] if entry["kind"] == "tool_result"]
    return {entry["reason"] for entry in results if not entry["changed"]}


# Summaries that are written: in the file, in the report, with their cost.


@pytest.mark.parametrize("name", APIS)
def test_summaries_of_single_results(desk: Desk, name: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report("individual", "--profile", name)
    (used,) = report["summaries"]
    assert used["profile"] == name
    assert used["written"] == used["calls"] == server.calls > 1
    assert (used["cached"], used["refused"], used["planned"], used["at_least"]) == (0, 0, False, False)
    assert cost_of(report) == CALL * server.calls
    summed = [text for text in desk.texts if BY_MODEL in text]
    assert len(summed) == server.calls
    for text in summed:
        (gap,) = gaps_in(text)
        assert gap.is_summary
        assert gap.lines == 40


# The summaries of a phase are called for as many at a time as it says, where the profile allows more.
@pytest.mark.parametrize("name", APIS)
def test_a_phase_limits_the_calls_at_a_time(desk: Desk, name: str) -> None:
    with model_server(played.good(BY_MODEL, seconds=0.05)) as server:
        desk.profiles(server, max_parallel_calls=5)
        report = desk.report("phases", "--profile", name)
    assert report["summaries"][0]["written"] == server.calls > 2
    assert server.most_at_once == 2
    assert sum(BY_MODEL in text for text in desk.texts) == server.calls


@pytest.mark.parametrize("way", ["batch", "native"])
@pytest.mark.parametrize("name", APIS)
def test_one_summary_of_many_messages(desk: Desk, name: str, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", name)
    assert server.calls == 1
    assert cost_of(report) == CALL
    (text,) = [text for text in desk.texts if BY_MODEL in text]
    mark = parse_summary(text)
    assert mark
    others = [message for message in api.load(desk.output).messages if not message.is_summary]
    assert mark.messages + len(others) == report["messages"]["before"]
    ledger = parse_ledger(text)
    assert ledger
    assert text.index("<ledger>") > text.index(BY_MODEL)
    assert text.rstrip().endswith("</ledger>")
    assert "src/1.py" in text


def test_what_a_run_used_is_told_in_a_line(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        said = " ".join(desk.run("batch", "--profile", "openai").stderr.split())
        assert "1 summary written by openai: 1 call, 1,020 tokens, $0.0012." in said
        again = " ".join(desk.run("batch", "--profile", "openai").stderr.split())
    assert "1 summary written by openai (1 from the cache): 0 calls, 0 tokens, $0." in again


# What goes wrong loses nothing, and is told.


def wordy(exchange: played.Exchange) -> None:
    """A whole answer that is longer than any limit."""
    exchange.start()
    exchange.text("word " * 6_000)
    exchange.end(
        "end_turn" if exchange.is_anthropic else "stop", None if exchange.is_anthropic else played.OPENAI_USAGE
    )


WHOLE: Final = dict.fromkeys(APIS, CALL)
BEGUN: Final = {"anthropic": Decimal("0.00101"), "openai": Decimal(0)}
NOTHING: Final = dict.fromkeys(APIS, Decimal(0))
"""Dollars that are known of a failed call: Anthropic tells the usage of the input at the beginning."""

FAILURES: Final[Mapping[str, tuple[Play, str, Mapping[str, Decimal]]]] = {
    "401": (played.status(401, "authentication_error"), "sends no key", NOTHING),
    "404": (played.status(404, "not_found_error"), "does not know the model", NOTHING),
    "429": (played.status(429, "rate_limit_error"), "too many", NOTHING),
    "500": (played.status(500, "api_error"), "127.0.0.1 failed", NOTHING),
    "529": (played.status(529, "overloaded_error"), "is overloaded", NOTHING),
    "cut off": (played.cut, "broke off", BEGUN),
    "error inside": (played.error_inside("overloaded_error"), "is overloaded", BEGUN),
    "empty": (played.good(""), "empty answer", WHOLE),
    "too long": (wordy, "longer than the limit", WHOLE),
    "stopped at the limit": (played.ending("max_tokens", "length"), "longer than the limit", WHOLE),
    "refused": (played.ending("refusal", "content_filter"), "refused to answer", WHOLE),
    "malformed": (played.raw("<html>no</html>", "text/html"), "not an answer of this API", NOTHING),
    "hanging": (played.hang, "did not answer in time", NOTHING),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_loses_nothing(desk: Desk, failure: str, name: str, way: str) -> None:
    play, why, known = FAILURES[failure]
    with model_server(play) as server:
        desk.profiles(server, total_seconds=0.3 if failure == "hanging" else 60)
        report = desk.report(way, "--profile", name, status=ExitStatus.CALLS_FAILED)
    assert desk.is_unchanged
    told = [reason for reason in reasons(report) if why in reason]
    assert told, reasons(report)
    assert any("Not summarized, so left as it was" in warning and why in warning for warning in report["warnings"])
    assert not any(".)." in warning for warning in report["warnings"])
    (used,) = report["summaries"]
    assert used["written"] == 0
    assert used["refused"] > 0
    assert cost_of(report) == known[name] * used["calls"]
    assert used["at_least"] == (known is not WHOLE)
    assert server.calls >= used["calls"]


@pytest.mark.parametrize("way", WAYS)
def test_allow_partial_makes_it_no_failure(desk: Desk, way: str) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        desk.profiles(server)
        desk.report(way, "--profile", "openai", "--allow-partial")
    assert desk.is_unchanged


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
def test_a_failure_that_passes_is_tried_again(desk: Desk, name: str, way: str) -> None:
    with model_server(played.in_turn(played.status(429, "rate_limit_error"), played.good(BY_MODEL))) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", name)
    (used,) = report["summaries"]
    assert server.calls == used["calls"] + 1
    assert cost_of(report) == CALL * used["calls"]


@pytest.mark.parametrize("way", WAYS)
def test_a_server_that_reports_no_usage(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL, usage=None)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", "openai")
    (used,) = report["summaries"]
    assert (used["cost"], used["at_least"], used["written"]) == (None, True, server.calls)
    assert any(BY_MODEL in text for text in desk.texts)


@pytest.mark.parametrize("name", APIS)
def test_some_fail(desk: Desk, name: str) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.good(""), played.good(BY_MODEL))) as server:
        desk.profiles(server, max_parallel_calls=1)
        report = desk.report("individual", "--profile", name, status=ExitStatus.CALLS_FAILED)
        (used,) = report["summaries"]
        assert (used["refused"], used["written"]) == (1, server.calls - 1)
        assert cost_of(report) == CALL * server.calls
        before = [block.text for _, block in api.load(desk.input).blocks()]
        for old, new in zip(before, desk.texts, strict=True):
            assert new == old or BY_MODEL in new
        calls = server.calls
        desk.report("individual", "--profile", name, "--allow-partial")
        assert server.calls == calls, "a refused answer is kept as well"


# The known part of the cost is told even if a call broke off.
def test_the_cost_of_a_run_of_which_one_call_broke_off(desk: Desk) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.cut, played.good(BY_MODEL))) as server:
        desk.profiles(server, max_parallel_calls=1)
        said = " ".join(desk.run("individual", "--profile", "openai", "--no-cache").stderr.split())
        assert f"{server.calls} calls" in said
        assert f", at least ${CALL * (server.calls - 1)}." in said


def test_what_to_do_about_a_failure_is_told(desk: Desk) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        desk.profiles(server, key_variable="OPENAI_API_KEY")
        report = desk.report("batch", "--profile", "openai", status=ExitStatus.CALLS_FAILED)
    assert any("OPENAI_API_KEY" in warning for warning in report["warnings"])


def test_no_key_calls_nothing(desk: Desk) -> None:
    with model_server(played.good()) as server:
        desk.profiles(server, key_variable="NO_SUCH_KEY")
        report = desk.report("batch", "--profile", "openai", status=ExitStatus.CALLS_FAILED)
        assert server.calls == 0
    assert desk.is_unchanged
    assert any("NO_SUCH_KEY" in warning for warning in report["warnings"])


# Ctrl-C keeps what is done.
def test_an_interrupt(desk: Desk) -> None:
    with model_server(played.in_turn(played.good(BY_MODEL), played.hang)) as server:
        desk.profiles(server, max_parallel_calls=1)
        process = subprocess.Popen(
            [*COMMAND, *desk.command("individual", "--profile", "openai", "--json")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(KEYS),
        )
        while server.calls < 2 and process.poll() is None:
            server.over.wait(0.01)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == ExitStatus.INTERRUPTED, err.decode()
    assert b"Traceback" not in err
    report = json.loads(out)
    (used,) = report["summaries"]
    assert used["written"] == 1
    before = [block.text for _, block in api.load(desk.input).blocks()]
    changed = [new for old, new in zip(before, desk.texts, strict=True) if new != old]
    assert len(changed) == 1
    assert BY_MODEL in changed[0]


# The cache.


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", APIS)
def test_a_second_run_calls_nothing(desk: Desk, name: str, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        desk.report(way, "--profile", name)
        calls, first = server.calls, desk.output.read_bytes()
        report = desk.report(way, "--profile", name)
        assert server.calls == calls
        (used,) = report["summaries"]
        assert (used["cached"], used["calls"], used["written"]) == (calls, 0, calls)
        assert cost_of(report) == 0
        assert desk.output.read_bytes() == first
        desk.report(way, "--profile", name, "--no-cache")
        assert server.calls == 2 * calls


# Limits.


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("limit", [("--max-cost", "0.0001"), ("--max-summary-tokens", "50")])
def test_a_limit_too_small_for_any_call(desk: Desk, limit: tuple[str, str], way: str, name: str) -> None:
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


@pytest.mark.parametrize("most", [1, 3])
def test_calls_at_the_same_time(desk: Desk, most: int) -> None:
    with model_server(played.good(BY_MODEL, seconds=0.05)) as server:
        desk.profiles(server, max_parallel_calls=most)
        desk.report("individual", "--profile", "openai")
    assert server.most_at_once == most


# Prices without calls.


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
    assert Decimal(used["cost"]) > 0
    assert planned["cost"]["spent"] == used["cost"]


# The texts that stand in for summaries differ, so none of them becomes a reference to another.
def test_a_plan_needs_no_key_and_shortens_no_stand_in(desk: Desk) -> None:
    done = condense("run", desk.input, "--preset", "quality", "--dry-run", "--profile", "gpt-4o-mini", "--json")
    report = done.json
    (used,) = report["summaries"]
    assert done.status == ExitStatus.DONE
    assert used["written"] > 1
    assert report["tokens"]["lossless_saved"] == 0
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
    assert Decimal(used["cost"]) > 0
    (offline,) = plain.json["presets"][0]["summaries"]
    assert (offline["profile"], offline["calls"], offline["cost"]) == ("offline", 0, "0")


# Consent.


@pytest.mark.parametrize("way", WAYS)
def test_without_consent_nothing_is_called(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        report = desk.report(way)
        done = desk.run(way)
        assert server.calls == 0
    (used,) = report["summaries"]
    assert used["profile"] == "offline"
    assert len([warning for warning in report["warnings"] if "offline" in warning]) == 1
    assert done.stderr.count("Summaries were made offline") == 1
    assert report["tokens"]["saved"] > 0


@pytest.mark.parametrize("arguments", [["--allow-calls"], []])
def test_consent_by_flag_or_by_the_users_own_configuration(desk: Desk, arguments: list[str]) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai" if arguments else "profile: openai\nallow_calls: true")
        desk.report("batch", *arguments)
        assert server.calls == 1


@pytest.mark.parametrize(
    "keys", [{"allow_calls": True}, {"profiles": {"x": {"api": "openai", "base_url": "http://x"}}}]
)
def test_a_configuration_cannot_permit_calls(desk: Desk, keys: dict[str, object]) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        done = desk.run("batch", **keys)
        assert server.calls == 0
    assert done.status == ExitStatus.USAGE
    assert "batch.json:1:" in done.message
    assert not desk.output.exists()


def test_a_configuration_may_name_a_profile(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        desk.report("batch", profile="anthropic")
        assert server.calls == 0
        desk.report("batch", "--allow-calls", profile="anthropic")
        assert server.paths == ["/v1/messages"]


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_profile(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        done = desk.run(way, "--profile", "opnai")
        assert server.calls == 0
    assert done.status == ExitStatus.USAGE
    assert "Did you mean openai?" in done.message


@pytest.mark.parametrize("amount", ["much", "-1", "nan"])
def test_an_amount_that_is_none(desk: Desk, amount: str) -> None:
    done = desk.run("batch", f"--max-cost={amount}")
    assert done.status == ExitStatus.USAGE
    assert "--max-cost" in done.message


# Secrets.
@pytest.mark.parametrize("way", WAYS)
def test_secrets_are_masked_before_they_are_sent(desk: Desk, way: str) -> None:
    secret = "sk-ant-api03-" + "Zq8R3kfT0vYw7LmN" * 5
    desk.input.write_bytes(as_lines(session([f"ANTHROPIC_API_KEY={secret}\n" + "a line of text\n" * 60] * 8)))
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", "openai", "--redact")
        assert server.calls > 0
        assert not any(secret in prompt for prompt in server.prompts())
        assert any("[secret 1]" in prompt for prompt in server.prompts())
        assert any("masked (--redact)" in warning for warning in report["warnings"])
        desk.report(way, "--profile", "openai")
        assert any(secret in prompt for prompt in server.prompts())


# Of a pass whose summaries were all refused nobody can say that it completed.
@pytest.mark.parametrize("way", WAYS)
def test_a_pass_without_summaries_failed(desk: Desk, way: str) -> None:
    with model_server(played.ending("end_turn", "stop", "")) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", APIS[0], status=ExitStatus.CALLS_FAILED)
    (failed,) = [each for each in report["passes"] if each["status"] == "failed"]
    assert failed["reason"]
