"""`native` and the decision do item by item what clients do when a context is full.

Deliberate differences are not tested here: refusals are plain English with typed reasons; instead of one client's
function there are `api.condense` and `decide`; nothing is sent anywhere, since a run only writes a line to a local log.
The prompt is our own, with their six sections.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from build import anthropic, configuration, conversation, user
from summarizers import Failing, Short, Wordy

from condense_cli import api
from condense_cli.config.models import Configuration, NativeConfig
from condense_cli.config.own import KnownProfile, UserConfiguration
from condense_cli.config.profiles import MAX_THRESHOLD, MIN_THRESHOLD, Profile
from condense_cli.core.transcript import Message, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.llm.access import AccessChoice, Permission, choose
from condense_cli.llm.client import Cause as CallReason
from condense_cli.llm.prompts import SECTIONS, PromptTask, Subject, request_for
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import BatchTask, Outcome, Summarizer, Task, Written
from condense_cli.providers.native import Refusal
from condense_cli.report.run import facts
from condense_cli.report.run import log as run_log
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.window.decision import Window, decide, window_of
from condense_cli.window.use import Sizing


def prompt(custom: str | None = None) -> str:
    """Instructions of a model for a conversation."""
    return request_for(PromptTask(Subject.CONVERSATION, ("a",), 500, custom_prompt=custom), "a", 500).system


class WindowFlags:
    """Notes what it is asked to summarize."""

    def __init__(self) -> None:
        self.tasks: list[BatchTask] = []

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        self.tasks += [task for task in tasks if isinstance(task, BatchTask)]
        return [Written("What was said.", by="asked") for _ in tasks]


class Long:
    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return [Written("What was said, at length. " * 60, by="long") for _ in tasks]


def talk(turns: int = 8) -> Transcript:
    return anthropic(*conversation(turns), user("And now?"))


def run(transcript: Transcript, summarizer: Summarizer | None = None, **native: Any) -> Condensation:
    configured = configuration(provider="native", native=native)
    found = api.condense(transcript, configured, summarizer=summarizer or Short())
    api.dump(found)
    return found


def profile(threshold: float | None = None) -> Profile:
    return Profile(
        api="openai", model="mine", key_variable="MY_KEY", context_window=100_000, max_tokens=8_192, threshold=threshold
    )


def users(**profiles: Profile) -> UserConfiguration:
    known = {name: KnownProfile(each, "own:1") for name, each in profiles.items()}
    return UserConfiguration(None, True, UserConfiguration().profiles | known)


def should_condense(tokens: int, own: UserConfiguration | None = None, **keys: Any) -> bool:
    configured = Configuration(**keys)
    window = window_of("mine", configured, own or users(mine=profile()))
    return decide(window.sizes(tokens, 0, configured)).should_condense


# --- Values that a client's users rely on -----------------------------------------------------------------------------


def test_three_messages_stay_and_thresholds_go_from_5_to_100() -> None:
    assert NativeConfig().max_messages_to_keep == 3
    assert (MIN_THRESHOLD, MAX_THRESHOLD) == (5, 100)
    assert Configuration().auto_condense_context
    assert Configuration().auto_condense_context_percent == 100


# --- Parameters -------------------------------------------------------------------------------------------------------


def test_automatic_condensing_can_be_switched_off() -> None:
    assert should_condense(99_000)
    assert not should_condense(99_000, auto_condense_context=False)


def test_the_common_threshold_decides() -> None:
    assert should_condense(50_000, auto_condense_context_percent=50)
    assert not should_condense(49_999, auto_condense_context_percent=50)


# Over what the window leaves for an answer it is time, whatever the threshold says.
def test_the_limit_decides_as_well() -> None:
    limit = 100_000 * 9 // 10 - 8_192
    assert not should_condense(limit)
    assert should_condense(limit + 1)


@pytest.mark.parametrize(("own", "tokens"), [(-1, 60_000), (70, 70_000), (4, 60_000), (101, 60_000), (5, 5_000)])
def test_a_profile_has_a_threshold_of_its_own(own: float, tokens: int) -> None:
    of_profile = users(mine=profile(own))
    assert should_condense(tokens, of_profile, auto_condense_context_percent=60)
    assert not should_condense(tokens - 1, of_profile, auto_condense_context_percent=60)


def test_a_custom_prompt_is_used_unless_it_is_blank() -> None:
    asked = WindowFlags()
    run(talk(), asked, custom_prompt="  Say it briefly.  ")
    (task,) = asked.tasks
    assert task.prompt == "  Say it briefly.  "
    assert "Say it briefly." in prompt(task.prompt)
    assert prompt(" ") == prompt()


def test_our_own_prompt_has_the_six_sections() -> None:
    positions = [prompt().find(f"{number}. {name}:") for number, (name, _) in enumerate(SECTIONS, start=1)]
    assert len(positions) == 6
    assert -1 not in positions


def chosen(dedicated: str | None, main: str | None, **keys: str) -> AccessChoice:
    own = users(cheap=profile(), main=Profile(api="openai", model="main", key_variable="MAIN_KEY"))
    return choose(dedicated, main, own, Permission(allow_calls=True), keys)


def test_a_dedicated_profile_goes_before_the_main_one() -> None:
    asked = WindowFlags()
    run(talk(), asked, api_profile="cheap")
    assert asked.tasks[0].profile == "cheap"
    choice = chosen("cheap", "main", MY_KEY="k", MAIN_KEY="k")
    assert choice.access
    assert choice.access.name == "cheap"


# Dedicated, else the main one with a warning, else an error.
def test_a_profile_that_cannot_be_used_falls_back_to_the_main_one() -> None:
    choice = chosen("cheap", "main", MAIN_KEY="k")
    assert choice.access
    assert choice.access.name == "main"
    assert "The profile main is used instead." in choice.warnings[0]
    neither = chosen("cheap", "main")
    assert neither.access is None
    assert neither.failure
    assert neither.failure.reason is CallReason.NO_KEY


# --- Behaviour --------------------------------------------------------------------------------------------------------


def test_the_first_message_a_summary_and_the_last_three() -> None:
    transcript = talk()
    found = run(transcript)
    messages = found.transcript.messages
    assert messages[0] == transcript.messages[0]
    assert messages[-3:] == transcript.messages[-3:]
    assert messages[1].is_summary
    # Everything else that stays belongs to an exchange that the last three begin inside.
    assert sum(not message.is_summary for message in messages) <= 5


def test_what_is_summarized_is_what_goes() -> None:
    asked, transcript = WindowFlags(), talk()
    found = run(transcript, asked)
    (task,) = asked.tasks
    stay = {message.index for message in found.transcript.messages if not message.is_summary}
    assert [message.index for message in task.messages] == [
        message.index for message in transcript.messages if message.index not in stay
    ]


# The next summary continues the last one; what lay before that is not sent again.
def test_nothing_is_summarized_twice() -> None:
    asked = WindowFlags()
    first = run(talk(), asked)
    more = json.loads(api.dump(first)) + conversation(4)[1:]
    second = run(api.loads(more), asked)
    assert second.changes
    assert "What was said." in asked.tasks[1].previous
    assert not any(block.summarizes for message in asked.tasks[1].messages for block in message.blocks)


def test_images_are_not_sent_to_the_summarizer() -> None:
    from condense_cli.llm.prompts import flattened

    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    picture = {"type": "image", "source": source}
    transcript = anthropic(user([{"type": "text", "text": "Look."}, picture]), *conversation()[1:])
    assert any(block.kind is BlockKind.IMAGE for _, block in transcript.blocks())
    assert not any("iVBOR" in text for text in flattened(transcript.messages))


def test_a_summary_is_marked_in_the_clients_own_file() -> None:
    messages = [{**message, "ts": 1_700_000_000_000 + number} for number, message in enumerate(conversation(8))]
    transcript = api.loads(json.dumps(messages), format="roo")
    written = json.loads(api.dump(run(transcript)))
    (summary,) = [message for message in written if message.get("isSummary")]
    assert isinstance(summary["ts"], int)
    known = {key for message in messages for key in message} | {"isSummary", "condenseId", "condenseParent"}
    assert {key for message in written for key in message} <= known


def test_a_context_that_would_grow_stays() -> None:
    found = run(talk(), Wordy())
    assert found.tokens_after == found.tokens_before
    assert found.transcript.messages == found.before.messages
    assert found.passes[-1].reason == Refusal.GREW


def test_a_recent_summary_is_not_summarized_again() -> None:
    first = api.loads(api.dump(run(talk(20), Long(), max_messages_to_keep=2)))
    again = run(first, max_messages_to_keep=2)
    assert not again.changes
    assert again.passes[-1].reason in (Refusal.CONDENSED_RECENTLY, Refusal.TOO_FEW_MESSAGES)


def test_too_few_messages_stay() -> None:
    found = run(anthropic(*conversation()[:4]))
    assert (found.passes[-1].status, found.passes[-1].reason) == (Status.SKIPPED, Refusal.TOO_FEW_MESSAGES)


def sizes(window: int) -> Sizing:
    known = Window("mine", None, window, "option", 100, None, 0)
    return Sizing(lambda: known, lambda: (0, "estimated"))


# A client drops the older half if its summary failed and the context is over the limit. We do so only if configured,
# and report it as loss.
@pytest.mark.parametrize("fallback", ["sliding_window", "none"])
def test_the_sliding_window_stands_in_for_a_summary_that_failed(fallback: str) -> None:
    configured = configuration(provider="native", fallback=fallback)
    transcript = talk()
    found = api.condense(transcript, configured, summarizer=Failing(), sizing=sizes(500))
    assert bool(found.changes) is (fallback == "sliding_window")
    if found.changes:
        assert found.transcript.messages[0] == transcript.messages[0]
        assert len(found.transcript.messages) < len(transcript.messages)
        assert any("are lost" in warning for warning in found.warnings)
        assert found.metrics
        assert found.metrics.fallback == "sliding_window"


def test_below_the_limit_nothing_is_dropped() -> None:
    configured = configuration(provider="native", fallback="sliding_window")
    assert not api.condense(talk(), configured, summarizer=Failing(), sizing=sizes(1_000_000)).changes


def test_condensing_waits_until_it_is_needed() -> None:
    configured = configuration(provider="native")
    assert not api.condense(talk(), configured, summarizer=Short(), if_needed=True, context_window=1_000_000).changes
    assert api.condense(talk(), configured, summarizer=Short(), if_needed=True, context_window=20_000 // 100).changes


# --- What is noted of a run -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
def test_a_run_notes_custom_prompts_dedicated_profiles_fallbacks_and_who_decided(named: bool) -> None:
    native = {"custom_prompt": "Briefly.", "api_profile": "cheap"} if named else {}
    configured = configuration(provider="native", native=native, fallback="sliding_window")
    found = api.condense(talk(), configured, summarizer=Failing(), sizing=sizes(500))
    count = Counter.of(found.before)
    encoding = encoding_for(None)
    report = facts.build(
        found,
        facts.RunFiles("-", None),
        count=count,
        encoding=encoding,
        configuration="mine",
    )
    log = run_log.build(found, report, configured, "2026-01-02T03:04:05Z", 0, if_needed=named)
    assert (log.custom_prompt, log.dedicated_profile, log.if_needed) == (named, named, named)
    assert (log.provider, log.fallback) == ("native", "sliding_window")


# --- Errors -----------------------------------------------------------------------------------------------------------


class Broken:
    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        raise RuntimeError("the handler is broken")


# Nothing is raised: the messages come back as they were, with the reason.
@pytest.mark.parametrize("summarizer", [Failing(), Broken()], ids=["failing", "broken"])
def test_a_failure_is_a_result(summarizer: Summarizer) -> None:
    found = run(talk(), summarizer)
    assert found.transcript.messages == found.before.messages
    told = [*(receipt.why for receipt in found.receipts), str(found.error and found.error.message)]
    assert any("overloaded" in text or "broken" in text for text in told)


# Results have what clients' results have: messages, summary, cost (of the summarizer), new tokens, error.
def test_the_result_has_what_a_client_asks_for() -> None:
    found = run(talk())
    assert found.transcript.messages
    assert any(message.is_summary for message in found.transcript.messages)
    assert found.tokens_after < found.tokens_before
    assert found.error is None
    assert found.metrics
    assert (found.metrics.provider, found.metrics.operations["summarize"] > 0) == ("native", True)


def test_an_invalid_threshold_is_told() -> None:
    window = window_of("mine", Configuration(), users(mine=profile(101)))
    assert any("101" in warning for warning in window.warnings)


def test_long_conversations_are_no_exception() -> None:
    found = run(talk(40))
    assert found.tokens_after < found.tokens_before / 4
