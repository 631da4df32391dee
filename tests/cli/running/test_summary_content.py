"""Summaries are checked for content: what is missing is asked for once, then the ledger says it, or there is none."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import model_server as played
import pytest
from build import assistant, call, result, text, user
from desk import CALL, WAYS, Desk, cost_of, reasons
from helpers import as_lines, condense
from model_server import ModelServer, Play, model_server

from condense_cli.errors import ExitStatus

RULE: Final = "Never touch config/legacy.toml, and keep parse_prices as it is."
ERROR: Final = "E   AssertionError: round_total gave 3.1"
FILES: Final = ("src/billing/invoice.py", "src/billing/rounding.py", "tests/test_invoice.py")

BANANA: Final = played.good("banana banana")
GOOD: Final = played.good("round_total in rounding.py was wrong, so test_invoice failed; invoice.py calls compute_tax.")
FAILED: Final = ExitStatus.CALLS_FAILED
DONE: Final = assistant([text("Done.")])
LACKING: Final = "lacks facts that later work needs"


def work() -> list[dict[str, Any]]:
    """A rule, three files changed, a test that fails, an open todo; each result names `compute_tax` and others."""
    records = [user(RULE)]
    for number, path in enumerate(FILES):
        body = "\n".join(f"def compute_tax(self, line_{n}): return round_total(line_{n})" for n in range(40))
        edit = call(f"e{number}", "Edit", file_path=path, old_string="a", new_string="b")
        records += [assistant([call(f"r{number}", file_path=path)]), user([result(f"r{number}", f"{path}\n{body}")])]
        records += [assistant([edit]), user([result(f"e{number}", "The file has been updated.")])]
    failed = result("t", f"{ERROR}\n" + "tests/test_invoice.py::test_total FAILED\n" * 30, is_error=True)
    todos = [{"content": "Document the rounding mode", "status": "pending"}]
    records += [assistant([call("t", "Bash", command="pytest -q")]), user([failed])]
    records += [assistant([call("l", "TodoWrite", todos=todos)]), user([result("l", "ok")])]
    return [*records, assistant([text("On it.")]), user("Go on."), DONE]


def at_second(first: Play, second: Play) -> Play:
    """The first answer to each request, and the second where it is asked again."""
    return lambda exchange: (second if "<answer-1>" in exchange.prompt else first)(exchange)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """One for all runs of a test: the cache knows answers by the address, too."""
    with model_server(BANANA) as server:
        yield server


def summarized(
    desk: Desk,
    server: ModelServer,
    play: Play,
    way: str,
    *arguments: str,
    status: ExitStatus = ExitStatus.DONE,
    records: Sequence[dict[str, Any]] = (),
    **keys: Any,
) -> Any:
    """The report of a run; of the server only what it was asked in that."""
    desk.input.write_bytes(as_lines([*records] or work()))
    desk.profiles(server)
    server.play = play
    server.bodies.clear()
    name = () if "--profile" in arguments else ("--profile", "openai")
    return desk.report(way, *name, *arguments, status=status, **keys)


def again(server: ModelServer) -> Sequence[str]:
    return [prompt for prompt in server.prompts() if "<answer-1>" in prompt]


@pytest.mark.parametrize(("name", "way"), [("openai", "individual"), ("anthropic", "batch"), ("openai", "native")])
def test_a_summary_without_content_is_refused(desk: Desk, server: ModelServer, name: str, way: str) -> None:
    report = summarized(desk, server, BANANA, way, "--profile", name, status=FAILED)
    assert desk.is_unchanged
    assert any(LACKING in reason for reason in reasons(report))
    assert any("min_facts" in warning for warning in report["warnings"])
    (used,) = report["summaries"]
    assert (used["written"], used["calls"]) == (0, server.calls)
    assert len(again(server)) == used["refused"] == server.calls / 2
    assert cost_of(report) == CALL * server.calls
    report = summarized(desk, server, GOOD, way, "--profile", name, status=FAILED)
    assert (server.calls, cost_of(report)) == (0, Decimal(0)), "refused answers are kept as well"


@pytest.mark.parametrize("way", WAYS)
def test_a_short_summary_with_content_is_taken_at_once(desk: Desk, server: ModelServer, way: str) -> None:
    (used,) = summarized(desk, server, GOOD, way)["summaries"]
    assert again(server) == []
    assert (used["written"], used["calls"], used["refused"]) == (server.calls, server.calls, 0)


@pytest.mark.parametrize(("name", "way"), [("anthropic", "individual"), ("openai", "batch"), ("anthropic", "native")])
def test_what_is_missing_is_asked_for_once(desk: Desk, server: ModelServer, name: str, way: str) -> None:
    report = summarized(desk, server, at_second(BANANA, GOOD), way, "--profile", name)
    assert report["summaries"][0]["written"] == len(again(server)) == server.calls / 2
    assert cost_of(report) == CALL * server.calls
    assert any("round_total in rounding.py" in each for each in desk.texts)
    assert not any("banana" in each for each in desk.texts)
    kept = desk.output.read_bytes()
    report = summarized(desk, server, BANANA, way, "--profile", name)
    assert (server.calls, cost_of(report)) == (0, Decimal(0))
    assert desk.output.read_bytes() == kept


# A provider that remembers the beginning of requests reads most of the second one for less.
def test_the_second_request_names_what_the_list_asks_for(desk: Desk, server: ModelServer) -> None:
    summarized(desk, server, at_second(BANANA, GOOD), "batch")
    first, second = server.prompts()
    assert second.startswith(first)
    assert server.bodies[0]["messages"][0] == server.bodies[1]["messages"][0]
    assert "banana banana" in second.partition("<answer-1>")[2]
    missing = second.partition("<missing-1>")[2].splitlines()
    for named in (*FILES, " ".join(ERROR.split()), "Document the rounding mode", "round_total"):
        assert f"- {named}" in missing


# Where hardly any facts are but in the ledger, it says what the words do not, once they were asked for it.
def test_the_ledger_says_what_is_still_missing(desk: Desk, server: ModelServer) -> None:
    request = "Please write docs/a_long_page.md now. " + "Take your time with it, and mind the style. " * 40
    records = [user("Hello."), assistant([text("Yes?")]), user(request), assistant([text("Yes.")]), user("Go on.")]
    said = played.good("There is to be a page: a_long_page.md.")
    report = summarized(desk, server, said, "batch", records=[*records, DONE], **with_share("batch", 1))
    assert report["summaries"][0]["written"] == len(again(server)) == 1
    summarized(desk, server, BANANA, "batch", "--no-cache", status=FAILED, records=[*records, DONE])


# What the first one said is kept, and not paid for again.
@pytest.mark.parametrize("way", WAYS)
def test_a_failure_at_the_second_request_loses_nothing(desk: Desk, server: ModelServer, way: str) -> None:
    down = at_second(BANANA, played.status(401, "authentication_error"))
    report = summarized(desk, server, down, way, status=FAILED)
    assert desk.is_unchanged
    assert any("sends no key" in reason for reason in reasons(report))
    firsts = server.calls - len(again(server))
    assert cost_of(report) == CALL * firsts
    report = summarized(desk, server, GOOD, way)
    assert server.calls == len(again(server)) == firsts == report["summaries"][0]["written"]


@pytest.mark.slow
@pytest.mark.parametrize("second", [played.good(""), played.good("word " * 6_000)], ids=["empty", "too long"])
def test_a_second_answer_of_no_use_is_as_good_as_none(desk: Desk, server: ModelServer, second: Play) -> None:
    report = summarized(desk, server, at_second(BANANA, second), "batch", status=FAILED)
    assert desk.is_unchanged
    assert any(LACKING in reason for reason in reasons(report))
    assert server.calls == 2
    summarized(desk, server, GOOD, "batch", status=FAILED)
    assert server.calls == 0


def test_the_budget_holds_for_both_requests(desk: Desk, server: ModelServer) -> None:
    dear = played.good("banana banana", usage={"prompt_tokens": 19_000, "completion_tokens": 9, "total_tokens": 19_009})
    most = ("--max-summary-tokens", "20000")
    report = summarized(desk, server, at_second(dear, GOOD), "batch", *most, status=FAILED)
    assert server.calls == 1
    assert any("budget" in reason for reason in reasons(report))
    assert desk.is_unchanged


# Nobody knows beforehand whether one will be asked for; of answers that are there it is known.
def test_a_dry_run_prices_the_second_request(desk: Desk, server: ModelServer) -> None:
    summarized(desk, server, at_second(BANANA, played.status(401, "authentication_error")), "batch", status=FAILED)
    assert cost_of(summarized(desk, server, GOOD, "batch", "--dry-run")) > 0
    assert server.calls == 0
    summarized(desk, server, GOOD, "batch")
    assert cost_of(summarized(desk, server, BANANA, "batch", "--dry-run")) == 0


@pytest.mark.slow
@pytest.mark.usefixtures("masking")
def test_secrets_are_not_in_what_is_asked_for_again(desk: Desk, server: ModelServer) -> None:
    secret = "hunter2/" + "correct_horse_battery_" * 5
    key = "Zq8R3kfT0vYw7LmN" * 5
    address = f"https://{'a' * 150}.org/?api_key={key}"  # Only its beginning is named, which ends within the key.
    listing = f"DB_PASSWORD={secret}\n{address}\nround_total\n" * 20
    records = [user("Look."), assistant([call("a")]), user([result("a", listing)]), DONE]
    summarized(desk, server, BANANA, "individual", "--redact", status=FAILED, records=records)
    (second,) = again(server)
    assert "- round_total" in second.partition("<missing-1>")[2].splitlines()
    assert not any(part in prompt for part in ("correct_horse", "Zq8R3kfT") for prompt in server.prompts())


def with_share(way: str, share: Any, key: str = "min_facts") -> dict[str, Any]:
    check = {key: share}
    if way == "native":
        return {"native": {"validate": check}}
    one = {"id": "one", "selection": {"type": "preserve_recent", "keep_recent_count": 1}}
    if way == "batch":
        summarization = {"keep_first": 1, "keep_last": 0, "validate": check}
        return {
            "passes": [
                {
                    **one,
                    "mode": "batch",
                    "batch_config": {"operation": "summarize", "summarization_config": summarization},
                }
            ]
        }
    params = {"summarize": {"max_tokens": 60, "validate": check}}
    results = {"operation": "summarize", "params": params}
    return {"passes": [{**one, "individual_config": {"defaults": {"tool_results": results}}}]}


@pytest.mark.parametrize("key", ["min_facts", "minFacts"])
@pytest.mark.parametrize("way", WAYS)
def test_it_can_be_switched_off(desk: Desk, server: ModelServer, way: str, key: str) -> None:
    (used,) = summarized(desk, server, BANANA, way, **with_share(way, 0, key))["summaries"]
    assert (used["written"], again(server)) == (server.calls, [])


def test_more_can_be_asked_for(desk: Desk, server: ModelServer) -> None:
    summarized(desk, server, GOOD, "individual", status=FAILED, **with_share("individual", 1))
    assert len(again(server)) > 0


@pytest.mark.parametrize("share", [1.5, -0.1, "half"])
@pytest.mark.parametrize("way", WAYS)
def test_a_share_that_is_none_is_refused_with_its_place(desk: Desk, way: str, share: Any) -> None:
    done = condense("config", "validate", desk.configuration(way, **with_share(way, share)))
    assert done.status == ExitStatus.USAGE
    assert "validate.min_facts" in done.message
    assert f"{way}.json:1:" in done.message
