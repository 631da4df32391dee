"""Nothing leaves this machine without consent, secrets are masked; the one request for what a summary lacks."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from desk import BY_MODEL, WAYS, Desk
from fake_client import EACH, Fake, Reply, caller, profile, reasons, words
from helpers import as_lines, session
from model_server import INPUT, OUTPUT, model_server

from condense_cli.errors import ExitStatus
from condense_cli.ledger.checklist import of_text
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import CallOutcome, Fulfilment
from condense_cli.llm.client import Answer, Cause, ModelRequest, max_output
from condense_cli.llm.prompts import PromptTask, Subject, request_for, worst_input
from condense_cli.llm.summaries import again, summarize
from condense_cli.money.economics import CallUsage


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_without_consent_nothing_is_called(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server, "profile: openai")
        report = desk.report(way)
        done = desk.run(way)
        assert server.calls == 0
    (used,) = report["summaries"]
    assert used["profile"] == "offline"
    assert len([warning for warning in report["warnings"] if "without a model" in warning]) == 1
    assert done.stderr.count("Summaries were picked from the text") == 1
    assert report["tokens"]["saved"] > 0


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_configuration_may_name_a_profile_but_not_call_it(desk: Desk) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        desk.report("batch", profile="anthropic")
        assert server.calls == 0
        desk.report("batch", "--allow-calls", profile="anthropic")
        assert server.paths == ["/v1/messages"]


@pytest.mark.parametrize("way", WAYS)
def test_an_unknown_profile_is_refused_with_the_nearest(desk: Desk, way: str) -> None:
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        done = desk.run(way, "--profile", "opnai")
        assert server.calls == 0
    assert done.status == ExitStatus.USAGE
    assert "Did you mean openai?" in done.message


@pytest.mark.slow
@pytest.mark.usefixtures("masking")
@pytest.mark.parametrize("way", WAYS)
def test_secrets_are_masked_before_they_are_sent(desk: Desk, way: str) -> None:
    secret = "sk-ant-api03-" + "Zq8R3kfT0vYw7LmN" * 5
    desk.input.write_bytes(as_lines(session([f"ANTHROPIC_API_KEY={secret}\n" + "a line of text\n" * 60] * 8)))
    with model_server(played.good(f"{BY_MODEL} ANTHROPIC_API_KEY is set.")) as server:
        desk.profiles(server)
        report = desk.report(way, "--profile", "openai", "--redact")
        assert server.calls > 0
        assert not any(secret in prompt for prompt in server.prompts())
        assert any("[secret 1]" in prompt for prompt in server.prompts())
        assert any("masked (--redact)" in warning for warning in report["warnings"])
        desk.report(way, "--profile", "openai")
        assert any(secret in prompt for prompt in server.prompts())


NAMES = tuple(f"name_{number}" for number in range(10))
LACKS = Cause.LACKS_CONTENT


def task(number: int = 0, share: float = 0.2, lines: int = 1, listed: str = "") -> PromptTask:
    source = f"text {number}\n" + f"{' '.join(NAMES)}\n" * lines
    checklist = of_text(source, share, 100)
    return PromptTask(Subject.TOOL_RESULT, (source,), 100, checklist=checklist, listed=listed)


def saying(first: str, second: str) -> Reply:
    def reply(request: ModelRequest) -> Answer:
        return Answer(second if "<answer-1>" in request.prompt else first, CallUsage(INPUT, OUTPUT))

    return reply


def asked(tasks: Sequence[PromptTask], reply: Reply, window: int = 50_000, **changes: Any) -> tuple[Fulfilment, Fake]:
    fake = Fake(reply)
    return summarize(tasks, caller(profile(context_window=window), opened=lambda _: fake, **changes)), fake


def test_it_is_asked_once() -> None:
    done, fake = asked([task()], saying("banana", "banana again"))
    assert reasons(done) == [LACKS]
    assert (len(fake.asked), done.spent, done.outcomes[0].spent) == (2, EACH + EACH, EACH + EACH)
    assert done.outcomes[0].failure
    assert "name_0" in done.outcomes[0].failure.detail


def test_a_long_path_that_is_missing_is_named_by_its_end() -> None:
    path = f"/home/me/{'deep/' * 20}name_0.py"
    checklist = of_text(f"{path}\n" * 3 + " ".join(NAMES), 0.2, 100)
    done, _ = asked([PromptTask(Subject.TOOL_RESULT, ("text",), 100, checklist=checklist)], saying("no", "no"))
    assert done.outcomes[0].failure
    assert "deep/name_0.py, " in done.outcomes[0].failure.detail
    assert "/home/me" not in done.outcomes[0].failure.detail


@pytest.mark.parametrize(("length", "is_whole"), [(60, True), (61, False)])
def test_a_path_of_sixty_characters_is_named_whole(length: int, is_whole: bool) -> None:
    path = f"/{'d' * (length - len('//name_0.py'))}/name_0.py"
    checklist = of_text(f"{path}\n" * 3 + " ".join(NAMES), 0.2, 100)
    done, _ = asked([PromptTask(Subject.TOOL_RESULT, ("text",), 100, checklist=checklist)], saying("no", "no"))
    assert done.outcomes[0].failure
    assert (path in done.outcomes[0].failure.detail) is is_whole
    assert (f"…{path[-59:]}" in done.outcomes[0].failure.detail) is not is_whole


def test_the_better_answer_is_taken() -> None:
    for first, second, taken in (
        ("banana", "name_1 name_2", "name_1 name_2"),
        ("name_1", "name_1 name_2", "name_1 name_2"),
        ("name_1", "banana", "name_1"),
    ):
        done, fake = asked([task(listed=" ".join(NAMES[2:]))], saying(first, second))
        assert [outcome.text for outcome in done.outcomes] == [taken]
        assert len(fake.asked) == 2
    assert reasons(asked([task()], saying("name_1", "banana"))[0]) == [LACKS]


def test_of_a_text_in_parts_what_joins_them_is_checked() -> None:
    long = task(lines=300)
    done, fake = asked([long], saying("banana", "name_1 and name_2"), window=3_000)
    assert [outcome.text for outcome in done.outcomes] == ["name_1 and name_2"]
    assert sum("<answer-1>" in prompt for prompt in fake.asked) == 1
    assert len(fake.asked) > 3
    assert done.spent.calls == len(fake.asked)


# If it does not fit, nothing is requested again; the ledger still counts.
def test_what_does_not_fit_into_the_window_is_not_asked() -> None:
    whole = task(lines=30)
    for listed, expected in (("", [LACKS]), (" ".join(NAMES[2:]), [None])):
        said = saying("name_1", "name_1 and name_2")
        done, fake = asked([task(lines=30, listed=listed)], said, window=650)
        assert reasons(done) == expected
        assert len(fake.asked) == 1
    assert reasons(asked([whole], saying("name_1", "name_1 and name_2"), window=800)[0]) == [None]


def test_what_just_fits_into_the_window_is_asked() -> None:
    one, user = task(), caller()
    first = request_for(one, "".join(one.pieces), one.limit)
    second = again(one, first, CallOutcome("banana"), 50_000, user)
    assert second is not None
    most = worst_input(second, words, exact=True) + max_output(user.access.profile, second.limit)
    assert again(one, first, CallOutcome("banana"), most, user) == second
    assert again(one, first, CallOutcome("banana"), most - 1, user) is None


# A model that cannot give it costs no second request for each of hundreds of blocks, however often it is run.
def test_after_some_in_vain_the_others_are_not_asked_again(tmp_path: Path) -> None:
    tasks = [task(number) for number in range(40)]
    done, fake = asked(tasks, saying("banana", "banana"), cache=Cache(tmp_path / "c"))
    assert reasons(done) == [LACKS] * 40
    assert len(fake.asked) == 40 + 10
    done, fake = asked(tasks, saying("banana", "banana"), cache=Cache(tmp_path / "c"))
    assert (reasons(done), fake.asked) == ([LACKS] * 40, [])
    done, fake = asked(tasks, saying("banana", " ".join(NAMES)))
    assert (reasons(done), len(fake.asked)) == ([None] * 40, 80)
