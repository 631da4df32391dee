"""A result that is wrong: the gentler runs that are tried, in their order, and what is said of them.

The faults are made up; whether there is one is another test's matter.
"""

from __future__ import annotations

import pytest
from build import anthropic, assistant, call, conversation, result, text, user
from msgspec.structs import replace

from condense_cli import api, formats
from condense_cli.config.loading import parse_configuration
from condense_cli.core.transcript import Transcript
from condense_cli.errors import BrokenOutputError
from condense_cli.passes.condensation import Condensation, Proof
from condense_cli.providers import proven
from condense_cli.providers.proven import Gentler, RunFault, checked, fault_of


@pytest.fixture
def condensed() -> Condensation:
    return replace(api.condense(anthropic(*conversation(9)), preset="speed"), proof=None)


def faults(monkeypatch: pytest.MonkeyPatch, *found: RunFault | None) -> None:
    """What is found one after the other; nothing after the last."""
    left = [*found]
    monkeypatch.setattr(proven, "fault_of", lambda result, data: left.pop(0) if left else None)


class Runs:
    """Runs that all give one result, and what each was asked to leave out."""

    def __init__(self, given: Condensation) -> None:
        self.given = given
        self.asked: list[Gentler] = []

    def __call__(self, gentler: Gentler) -> Condensation:
        self.asked.append(gentler)
        return self.given


def test_a_result_without_a_fault_is_proven(condensed: Condensation, monkeypatch: pytest.MonkeyPatch) -> None:
    faults(monkeypatch)
    runs = Runs(condensed)
    result = proven.proven(runs)
    assert runs.asked == [Gentler()]
    assert result.proof == Proof(condensed.transcript, formats.serialize(condensed.transcript))
    assert result.warnings == condensed.warnings


def test_what_is_tried_after_each_fault(condensed: Condensation, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [RunFault(5, 20, 7, "it is wrong."), RunFault(30, 31, 9, "that too"), *[RunFault(12, 12, 1, "again")] * 3]
    faults(monkeypatch, *found)
    runs = Runs(condensed)
    result = proven.proven(runs)
    assert runs.asked == [
        Gentler(),
        Gentler((range(4, 7), range(19, 22))),
        Gentler((range(14), range(12, 29), range(22, 39), range(23, 40))),
        Gentler(without_summaries=True),
        Gentler((range(4, 33),), without_summaries=True),
        Gentler((range(33),), without_summaries=True),
    ]
    assert result.proof is not None
    assert result.warnings[-1] == (
        "Condensed less than possible. At line 7, it is wrong otherwise. Please report this."
    )
    assert len(result.warnings) == len(condensed.warnings) + 1


def test_where_every_run_is_wrong_the_first_result_is_left_and_not_given(
    condensed: Condensation, monkeypatch: pytest.MonkeyPatch
) -> None:
    faults(monkeypatch, *[RunFault(0, 0, 3, "it is wrong")] * 7)
    runs = Runs(condensed)
    result = proven.proven(runs)
    assert result is condensed
    assert len(runs.asked) == 6
    with pytest.raises(BrokenOutputError) as caught:
        checked(result)
    assert caught.value.message == "The result would be wrong at line 3: it is wrong"
    assert caught.value.hint == "Nothing was written. This is a bug in condense; please report it."


def test_what_did_not_change_needs_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    faults(monkeypatch, RunFault(0, 0, 1, "x"), RunFault(0, 0, 1, "x"))
    same = replace(api.condense(anthropic(*conversation(1)), preset="lossless"), proof=None)
    assert not same.transcript.is_changed
    runs = Runs(same)
    assert proven.proven(runs) is same
    assert runs.asked == [Gentler()]
    assert checked(same) == checked(same.transcript) == same.before.source.data


def test_a_proof_is_of_this_very_result(condensed: Condensation, monkeypatch: pytest.MonkeyPatch) -> None:
    proof = replace(condensed, proof=Proof(condensed.transcript, b"proven"))
    assert checked(proof) == b"proven"
    faults(monkeypatch)
    other = proof.with_transcript(replace(condensed.transcript, model="another"))
    assert checked(other) == formats.serialize(condensed.transcript)


def test_what_a_gentler_run_asks_for() -> None:
    asked = parse_configuration('{"pins": [{"regex": "PIN"}], "passes": []}')
    pins = Gentler((range(2, 5),)).applied(asked).pins
    assert [pin.regex for pin in pins] == ["PIN", None]
    assert pins[1].range is not None
    assert (pins[1].range.start, pins[1].range.end) == (2, 5)
    summed = api.condense(anthropic(*conversation(1)), preset="balanced")
    assert summed is not None
    assert Gentler().applied(asked) == asked


# --- What is wrong ----------------------------------------------------------------------------------------------------

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
