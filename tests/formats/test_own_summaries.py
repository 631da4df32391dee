"""Recognise our summaries, and treat those that a client wrote."""

import json
from typing import Any

import laws
import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    claude_line,
    condense,
    configuration,
    conversation,
    one_pass,
    openai,
    session,
    texts,
    user,
)  # fmt: skip

from condense_cli import api
from condense_cli.config.overrides import overrides_from
from condense_cli.core.markers import GO_ON, SummaryMark, parse_summary, short_hash
from condense_cli.core.transcript import Message, Transcript
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept

RULE = "RULE: never push to main."
OLD = f"{SummaryMark(3, 4, '12345678')}\n{RULE}"
"""As version 0.1.0 wrote them."""
SUMMARY = "What was done so far: nothing."
SUMMARIZE = one_pass(
    mode="batch", batch_config={"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 2}}
)
FIRST_TURNS = {"type": "custom", "roles": ["tool"]}


def named(request: str, hash: str = "12345678") -> str:
    return f"{SummaryMark(3, 4, hash, short_hash(request))}\n{RULE}"


def summaries(messages: tuple[Message, ...]) -> list[bool]:
    return [message.is_summary for message in messages]


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["max", "cost", "balanced"])
@pytest.mark.parametrize("place", ["system", "first", "later"])
def test_a_rule_that_begins_like_a_summary_stays(preset: str, place: str) -> None:
    turns = conversation(40)
    if place == "system":
        transcript = openai({"role": "system", "content": OLD}, {"role": "user", "content": "Go."}, *plain(40))
    elif place == "first":
        transcript = anthropic(user(OLD), *turns[1:])
    else:
        transcript = anthropic(turns[0], assistant("Yes."), user(OLD), *turns[1:])
    for target in (None, 2_000):
        result = api.condense(transcript, preset=preset, target_tokens=target)
        assert result.changes or target is None
        assert any(RULE in text for text in texts(api.loads(api.dump(result))))


def plain(turns: int) -> list[dict[str, Any]]:
    return [{"role": role, "content": f"{LONG}\n{n}"} for n in range(turns) for role in ("assistant", "user")]


def summarized(*messages: dict[str, Any]) -> Condensation:
    return laws.check_all(anthropic(*messages), configuration(SUMMARIZE))


def test_a_summary_names_the_request_before_it() -> None:
    again = api.loads(api.dump(summarized(*conversation(12))))
    (mark,) = [mark for text in texts(again) if (mark := parse_summary(text))]
    assert mark.after == short_hash(texts(again)[0])


@pytest.mark.parametrize("escapes", ["", "\\", "\\\\"])
def test_text_that_would_count_gets_one_escape_and_loses_it_again(escapes: str) -> None:
    """A copy of a summary counts once the summary itself went into a later one."""
    copy = named("Please find the bug.").replace(": ", f": {escapes}", 1)
    turns = conversation(12)
    said = [turns[0], assistant(named("Please find the bug.")), user("Go on."), *turns[1:], user(copy)]
    first = summarized(*said)
    data = api.dump(first)
    assert json.dumps(f"[condense: {escapes}\\summary of 3")[1:-1].encode() in data
    again = api.loads(data)
    assert texts(again)[-1] == copy
    assert not again.messages[-1].is_summary
    assert api.dump(api.condense(again, configuration(SUMMARIZE))) == data
    # The same text, with turns behind it, is left alone as what the user typed, and keeps its escape.
    more = api.loads([*json.loads(data), *turns[1:5], assistant("z")])
    assert copy in texts(api.loads(api.dump(condense(more, one_pass(selection=FIRST_TURNS)))))


def compacted(turns: int) -> Transcript:
    """Build a session that goes on from a summary of Claude Code's."""
    lines = [claude_line("user", "u0", None, SUMMARY, isCompactSummary=True)]
    for number, message in enumerate(conversation(turns)[1:], 1):
        reply = {"reply": f"m{number}"} if message["role"] == "assistant" else {}
        content = message["content"]
        content = [{"type": "text", "text": content}] if isinstance(content, str) else content
        lines.append(claude_line(message["role"], f"u{number}", f"u{number - 1}", content, **reply))
    return session(*lines)


def test_pins_and_flags_leave_a_clients_summary_alone() -> None:
    transcript = compacted(40)
    for flags in (overrides_from(pins=["was done"]), overrides_from(only_tools=["Read"]), overrides_from(range="1:")):
        result = api.condense(transcript, configuration(SUMMARIZE), overrides=flags)
        assert result.changes
        assert SUMMARY in texts(result.transcript), flags
    gone = api.condense(transcript, configuration(SUMMARIZE))
    assert SUMMARY not in texts(gone.transcript)
    assert Kept.SUMMARY not in {receipt.kept for receipt in gone.receipts}


def test_what_leads_on_from_a_pinned_summary_stays_with_it() -> None:
    said = [user("Go."), assistant("Yes."), user(named("Go.")), assistant(GO_ON), user("Go on."), *conversation(12)[1:]]
    pinned = configuration(SUMMARIZE, pins=[{"regex": "never push"}], keep_first=2)
    messages = laws.check_all(anthropic(*said), pinned).transcript.messages
    assert [message.blocks[0].text for message in messages[2:4]] == [named("Go."), GO_ON]
    assert condense(anthropic(*said), SUMMARIZE).changes
