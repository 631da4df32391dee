"""Provider native: when it refuses, and what it writes."""

from itertools import pairwise

import pytest
from build import LONG, anthropic, assistant, call, configuration, conversation, marks, result, user
from summarizers import Failing, Short, Wordy

from condense_cli import api
from condense_cli.core.markers import GO_ON, parse_summary
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import Role
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


# The next summary takes the last one in, and it alone: what lay before it is not summarized again.
def test_the_last_summary_is_continued_and_replaced() -> None:
    first = run(anthropic(*conversation(), user("And now?")))
    more = [message for number in range(9, 12) for message in turn(number)]
    again = api.loads([*api_messages(first), assistant("So."), *more])
    second = run(again)
    (old,), (new,) = marks(first), marks(second)
    assert new.messages > old.messages


def turn(number: int) -> list[dict[str, object]]:
    return [user(f"Look at {number}."), assistant([call(f"more_{number}")]), user([result(f"more_{number}", LONG)])]


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
    first = run(anthropic(*conversation(), user("And now?")), max_messages_to_keep=1)
    found = run(api.loads(api_messages(first)), max_messages_to_keep=1)
    assert refusal(found) in (Refusal.CONDENSED_RECENTLY, Refusal.TOO_FEW_MESSAGES)


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
