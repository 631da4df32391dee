"""The sliding window: what it drops, what it keeps, and the laws that hold for what it makes."""

from __future__ import annotations

from typing import Any

import laws
import pytest
import real
from build import anthropic, assistant, call, conversation, openai, result, rollout, text, thinking, user
from generated_configurations import configurations
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES
from sums import savings_add_up

from condense_cli import api
from condense_cli.config.models import Configuration, Predicates, Prelude
from condense_cli.core.transcript import Transcript, cut_before, stretches
from condense_cli.core.values import BlockKind
from condense_cli.formats import parse, serialize
from condense_cli.formats.engine.rereading import reads_back
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.context import Context
from condense_cli.passes.modes.sliding_window import dropped, sliding
from condense_cli.passes.offline import Offline
from condense_cli.passes.walk import condense
from condense_cli.rules.validity import validate
from condense_cli.tokens.counting import Counter


def slid(transcript: Transcript, configuration: Configuration = Configuration()) -> Condensation:  # noqa: B008
    count = Counter()
    return condense(transcript, sliding(configuration), Context(count, Offline(count)))


def check(transcript: Transcript, configuration: Configuration) -> Condensation:
    """Every law but idempotence: what is left has an older half again, and only a failed run comes here."""
    result = slid(transcript, configuration)
    data = api.dump(result)
    laws.untouched_is_untouched(result, data)
    laws.links_stay_whole(result, data)
    laws.valid_in_valid_out(result)
    laws.never_larger(result, Counter())
    laws.lossless(result)
    savings_add_up(result, Counter())
    laws.receipts_add_up(result, Counter())
    laws.protected_stays(result, replace(sliding(configuration), thinking="drop"), Counter())  # Messages may go.
    assert api.dump(slid(transcript, configuration)) == data
    return result


@given(st.one_of(FILES, REPEATING_FILES), configurations(), MODELS)
def test_laws_hold(data: bytes, configuration: Configuration, model: str | None) -> None:
    transcript = replace(parse(data), model=model)
    # What a Codex rollout replays may need what would go; the manager then drops nothing.
    after = slid(transcript, configuration).transcript
    assume(transcript.format != "codex" or reads_back(serialize(after), after))
    check(transcript, configuration)


@given(FILES)
def test_stretches_lie_between_cuts(data: bytes) -> None:
    messages = parse(data).messages
    found = stretches(messages)
    assert [position for stretch in found for position in stretch] == list(range(len(messages)))
    assert all(cut_before(messages, stretch.start) == stretch.start for stretch in found)


def texts(result: Condensation) -> list[str]:
    return [block.text for _, block in result.transcript.blocks()]


def test_the_older_half_goes_with_pairs_whole() -> None:
    before = anthropic(*conversation(9))
    result = slid(before)
    # Of nine exchanges the newest counts as recent, with the last word before and after it: four of eight go.
    assert [message.index for message in result.transcript.messages] == [0, *range(9, 20)]
    assert len(dropped(result.receipts)) == 8
    assert {receipt.reason for receipt in dropped(result.receipts)} == {"in the older half of the exchanges"}
    assert not validate(result.transcript)


def test_the_first_request_and_pins_stay() -> None:
    messages = conversation(9)
    messages[3]["content"][0]["input"]["file_path"] = "src/precious.py"
    result = slid(anthropic(*messages), Configuration(pins=(Predicates(regex="precious"),)))
    indices = [message.index for message in result.transcript.messages]
    assert indices[:3] == [0, 3, 4]
    assert "Please find the bug." in texts(result)[0]


def test_a_conversation_with_nothing_older_stays() -> None:
    before = anthropic(user("Do it."), assistant("Done."))
    assert not slid(before).transcript.is_changed


def test_parallel_calls_go_together() -> None:
    calls = [call("toolu_a"), call("toolu_b")]
    messages: list[dict[str, Any]] = [
        user("Look."),
        assistant([text("Both."), *calls]),
        user([result("toolu_a"), result("toolu_b")]),
        *conversation(4)[1:],
    ]
    assert stretches(anthropic(*messages).messages)[1] == range(1, 3)
    assert not validate(slid(anthropic(*messages)).transcript)


def test_words_between_two_results_of_one_turn() -> None:
    def item(kind: str, number: int, **more: Any) -> dict[str, Any]:
        return {"type": kind, "call_id": f"call_{number}", **more}

    words = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Meanwhile."}]}
    transcript = rollout(
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]},
        item("function_call", 1, name="shell", arguments="{}"),
        item("function_call", 2, name="shell", arguments="{}"),
        item("function_call_output", 1, output="one"),
        words,
        item("function_call_output", 2, output="two"),
        words,
    )
    assert [len(message.blocks) for message in transcript.messages] == [1, 2, 1, 1, 1, 1]
    assert stretches(transcript.messages) == [range(1), range(1, 5), range(5, 6)]


# Thinking goes behind what was dropped; messages of nothing else go with it, and that is no reason to drop more.
def test_thinking_behind_the_gap_goes_and_one_half_only() -> None:
    def conversed(**last: Any) -> Transcript:
        return replace(anthropic(*conversation(12), *last.values()), model="claude-sonnet-5-5")

    plain = slid(conversed())
    thought = slid(conversed(said=user("Go on."), thought=assistant([thinking()]), more=user("Well?")))
    assert not any(block.kind is BlockKind.THINKING for _, block in thought.transcript.blocks())
    assert {receipt.message for receipt in dropped(plain.receipts)} <= {
        receipt.message for receipt in dropped(thought.receipts)
    }
    assert len(dropped(thought.receipts)) <= len(dropped(plain.receipts)) + 2
    assert not thought.new_violations


def test_messages_of_one_role_in_a_chat() -> None:
    messages = [user("One."), assistant("Two."), user("Three."), assistant("Four."), user("Five."), assistant("Six.")]
    left = slid(openai({"role": "system", "content": "Be brief."}, *messages)).transcript.messages
    assert [message.index for message in left] == [0, 1, 3, 4, 5, 6]


@pytest.mark.parametrize("path", real.some(real.all_files()), ids=lambda path: path.name)
def test_laws_hold_on_real_transcripts(path: Any) -> None:
    transcript = real.transcript(path)
    check(transcript, Configuration(lossless_prelude=Prelude()))
