"""A result that is wrong is an error, which says where and what avoids it.

The faults are made up; whether there is one is another test's matter.
"""

import pytest
from build import anthropic, assistant, call, conversation, result, text, user
from msgspec.structs import replace

from condense_cli import api, formats
from condense_cli.core.transcript import Transcript
from condense_cli.errors import BrokenOutputError
from condense_cli.live.conversation import Live
from condense_cli.live.deciding import DecisionKind
from condense_cli.passes.condensation import Condensation, Proof
from condense_cli.providers import proven
from condense_cli.providers.proven import RunFault, checked, fault_of


@pytest.fixture
def condensed() -> Condensation:
    return replace(api.condense(anthropic(*conversation(9)), preset="speed"), proof=None)


def faults(monkeypatch: pytest.MonkeyPatch, *found: RunFault | None) -> None:
    """What is found one after the other; nothing after the last."""
    left = [*found]
    monkeypatch.setattr(proven, "fault_of", lambda result, data: left.pop(0) if left else None)


def test_a_result_without_a_fault_is_proven() -> None:
    result = api.condense(anthropic(*conversation(9)), preset="speed")
    assert result.proof == Proof(result.transcript, formats.serialize(result.transcript))


def test_a_fault_names_the_message_and_what_avoids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    faults(monkeypatch, RunFault(5, 20, 7, "it is wrong."))
    with pytest.raises(BrokenOutputError) as caught:
        api.condense(anthropic(*conversation(9)), preset="speed")
    assert caught.value.message == "The result would be wrong at line 7, message 5: it is wrong."
    assert caught.value.hint == (
        "Nothing was written. This is a bug in condense; please report it. Until then, --keep 4:22 leaves the messages "
        "there alone."
    )


def test_what_did_not_change_needs_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    faults(monkeypatch, RunFault(0, 0, 1, "x"))
    same = api.condense(anthropic(*conversation(1)), preset="lossless")
    assert not same.transcript.is_changed
    assert same.proof is None
    assert checked(same) == checked(same.transcript) == same.before.source.data


def test_live_passes_the_original_where_a_result_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = conversation(12)
    live = Live(preset="speed", policy="tokens:300", context_window=30_000, keep_recent=2, format="anthropic")
    monkeypatch.setattr(proven, "fault_of", lambda result, data: RunFault(1, 1, 1, "it is wrong"))
    fitted = live.fit(messages, now=0)
    assert fitted.messages == messages
    assert fitted.decision.kind is DecisionKind.DECLINED
    assert "it is wrong" in fitted.decision.reason


def test_a_proof_is_of_this_very_result(condensed: Condensation, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = replace(condensed, proof=Proof(condensed.transcript, b"proven"))
    assert checked(proof) == b"proven"
    faults(monkeypatch)
    other = proof.with_transcript(replace(condensed.transcript, model="another"))
    assert checked(other) == formats.serialize(condensed.transcript)


LINES = [user("a"), assistant([text("b"), call("x")]), user([result("x", "c")]), assistant("d")]


def read() -> Transcript:
    import json

    return api.loads("".join(json.dumps(message) + "\n" for message in LINES), format="anthropic")


def changed(position: int, number: int, words: str) -> Transcript:
    """The conversation with one block that says something else."""
    transcript = read()
    messages = [*transcript.messages]
    message = messages[position]
    blocks = [*message.blocks]
    blocks[number] = blocks[number].with_text(words)
    messages[position] = replace(message, blocks=tuple(blocks))
    return replace(transcript, messages=tuple(messages))


def test_the_bytes_of_a_transcript_have_no_fault() -> None:
    meant = changed(2, 0, "other")
    assert fault_of(meant, formats.serialize(meant)) is None


@pytest.mark.parametrize(
    ("position", "number", "fault"),
    [
        (0, 0, RunFault(0, 0, 1, "a text of the user would read differently")),
        (1, 0, RunFault(1, 1, 2, "a text of the assistant would read differently")),
        (2, 0, RunFault(2, 2, 3, "a result of Read would read differently")),
        (3, 0, RunFault(3, 3, 4, "a text of the assistant would read differently")),
    ],
)
def test_where_the_bytes_say_something_else(position: int, number: int, fault: RunFault) -> None:
    assert fault_of(changed(position, number, "other"), read().source.data) == fault


def test_faults_reach_from_the_first_to_the_last_block() -> None:
    meant = changed(1, 0, "other")
    data = formats.serialize(changed(3, 0, "more"))
    assert fault_of(meant, data) == RunFault(1, 3, 2, "a text of the assistant would read differently")


def test_what_would_be_missing_or_would_follow() -> None:
    lines = read().source.data.splitlines(keepends=True)
    assert fault_of(read(), b"".join(lines[:3])) == RunFault(3, 3, 4, "a text of the assistant would be missing")
    longer = b"".join([*lines, b'{"role": "user", "content": "e"}\n'])
    assert fault_of(read(), longer) == RunFault(3, 3, 4, "a text of the user would follow it")


def test_a_rule_that_the_input_kept_is_named_before_anything_else(condensed: Condensation) -> None:
    messages = [message for message in condensed.before.messages if not message.answers_calls]
    broken = condensed.with_transcript(replace(condensed.before, messages=tuple(messages)))
    fault = fault_of(broken, b"")
    assert fault is not None
    assert (fault.first, fault.last, fault.line) == (1, 1, 1)
    assert fault.said.startswith("it would be refused: messages.1: `tool_use` ids were found without")


def test_the_line_is_that_of_the_message_that_breaks_the_rule() -> None:
    done = replace(api.condense(read(), {}), proof=None)
    broken = done.with_transcript(replace(read(), messages=(*read().messages[:2], read().messages[3])))
    fault = fault_of(broken, b"")
    assert fault is not None
    assert (fault.first, fault.last, fault.line) == (1, 1, 2)


# A message left empty begins nowhere; the file is named from its first line.
def test_a_message_without_blocks_is_named_by_the_first_line() -> None:
    done = replace(api.condense(read(), {}), proof=None)
    messages = [*read().messages]
    messages[2] = replace(messages[2], blocks=())
    fault = fault_of(done.with_transcript(replace(read(), messages=tuple(messages))), b"")
    assert fault is not None
    assert fault.line == 2
    blank = replace(messages[1], blocks=())
    fault = fault_of(done.with_transcript(replace(read(), messages=(messages[0], blank, *read().messages[3:]))), b"")
    assert fault is not None
    assert (fault.first, fault.line) == (1, 1)
