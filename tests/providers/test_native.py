"""Provider native: when it refuses, and what it writes."""

import json
from itertools import pairwise

import pytest
from batches import Noting
from build import anthropic, assistant, configuration, conversation, user
from summarizers import Failing, Short, Wordy

from condense_cli import api
from condense_cli.config.models import Configuration, NativeConfig
from condense_cli.config.profiles import MAX_THRESHOLD, MIN_THRESHOLD
from condense_cli.core.markers import GO_ON, parse_summary
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind, Role
from condense_cli.llm.prompts import SECTIONS, PromptTask, Subject, request_for
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Status
from condense_cli.passes.summaries import Summarizer
from condense_cli.providers.native import Refusal

NATIVE = configuration(provider="native")


def run(transcript: Transcript, summarizer: Summarizer | None = None, **native: object) -> Condensation:
    configured = configuration(provider="native", native=native) if native else NATIVE
    condensation = api.condense(transcript, configured, summarizer=summarizer or Short())
    api.dump(condensation)
    return condensation


def prompt(custom: str | None = None) -> str:
    """Instructions of a model for a conversation."""
    return request_for(PromptTask(Subject.CONVERSATION, ("a",), 500, custom_prompt=custom), "a", 500).system


def talk(turns: int = 8) -> Transcript:
    return anthropic(*conversation(turns), user("And now?"))


def refusal(condensation: Condensation) -> Refusal:
    assert condensation.transcript is condensation.before or not condensation.changes
    return Refusal(condensation.passes[-1].reason)


# The first message, the summary, the last three turns.
def test_one_summary_of_the_middle() -> None:
    transcript = anthropic(*conversation(), user("And now?"))
    found = run(transcript)
    messages = found.transcript.messages
    assert messages[0] == transcript.messages[0]
    mark = parse_summary(messages[1].blocks[0].text)
    assert mark
    assert messages[1].role is Role.ASSISTANT
    assert messages[-3:] == transcript.messages[-3:]
    kept = [message for message in messages if not message.is_summary]
    assert mark.messages + len(kept) == len(transcript.messages)
    assert mark.following == len(messages) - 2


# Roles alternate: behind an assistant's summary a line of the user leads on to the assistant's next message.
def test_roles_alternate() -> None:
    for extra in ([], [user("And now?")]):
        found = run(anthropic(*conversation(), *extra))
        roles = [message.role for message in found.transcript.messages]
        assert all(one is not other for one, other in pairwise(roles))
        assert roles[0] is Role.USER


def test_the_line_that_leads_on_is_no_request() -> None:
    found = run(anthropic(*conversation()), max_messages_to_keep=1)
    assert [message.blocks[0].text for message in found.transcript.messages][2] == GO_ON


def api_messages(condensation: Condensation) -> list[dict[str, object]]:
    import json

    messages: list[dict[str, object]] = json.loads(api.dump(condensation))
    return messages


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        (conversation()[:4], Refusal.TOO_FEW_MESSAGES),
        ([user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f")], Refusal.TOO_FEW_TOKENS),
    ],
)
def test_small_conversations_are_refused(messages: list[dict[str, object]], why: Refusal) -> None:
    found = run(anthropic(*messages))
    assert refusal(found) is why
    assert found.passes[-1].status is Status.SKIPPED


def test_a_recent_summary_is_refused() -> None:
    first = run(talk(20), Noting([], "What was said, at length. " * 60), max_messages_to_keep=2)
    found = run(api.loads(api_messages(first)), max_messages_to_keep=2)
    assert refusal(found) is Refusal.CONDENSED_RECENTLY


def test_a_summary_that_grew_is_refused() -> None:
    found = run(anthropic(*conversation()), Wordy())
    assert refusal(found) is Refusal.GREW
    assert found.transcript.messages == found.before.messages


def test_no_summary_is_refused() -> None:
    found = run(anthropic(*conversation()), Failing())
    assert refusal(found) is Refusal.NO_MODEL
    assert found.passes[-1].status is Status.FAILED
    assert any("overloaded" in receipt.reason for receipt in found.receipts)


# Without a model the offline summarizer does it, so a fresh machine can.
def test_it_needs_no_model() -> None:
    transcript = anthropic(*conversation(12), user("And now?"))
    found = api.condense(transcript, NATIVE)
    assert found.tokens_after < found.tokens_before
    assert "src/file3.py" in found.transcript.messages[1].blocks[0].text


def test_three_messages_stay_and_thresholds_go_from_5_to_100() -> None:
    assert NativeConfig().max_messages_to_keep == 3
    assert (MIN_THRESHOLD, MAX_THRESHOLD) == (5, 100)
    assert Configuration().auto_condense_context
    assert Configuration().auto_condense_context_percent == 100


def test_our_own_prompt_has_the_six_sections() -> None:
    positions = [prompt().find(f"{number}. {name}:") for number, (name, _) in enumerate(SECTIONS, start=1)]
    assert len(positions) == 6
    assert -1 not in positions


def test_what_is_summarized_is_what_goes() -> None:
    asked, transcript = Noting([], "What was said."), talk()
    found = run(transcript, asked)
    (task,) = asked.tasks
    stay = {message.index for message in found.transcript.messages if not message.is_summary}
    assert [message.index for message in task.messages] == [
        message.index for message in transcript.messages if message.index not in stay
    ]


# The next summary continues the last one; what lay before that is not sent again.
def test_nothing_is_summarized_twice() -> None:
    asked = Noting([], "What was said.")
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


def test_its_prompt_and_profile_are_taken_unless_the_prompt_is_blank() -> None:
    asked = Noting([], "What was said.")
    run(talk(), asked, custom_prompt="  Say it briefly.  ", api_profile="cheap")
    (task,) = asked.tasks
    assert (task.prompt, task.profile) == ("  Say it briefly.  ", "cheap")
    assert "Say it briefly." in prompt(task.prompt)
    assert prompt(" ") == prompt()
