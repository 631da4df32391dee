"""The last guards between a defect of ours and a file: a result is read back and held against the rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from build import anthropic, configuration, conversation
from helpers import DATA, condense
from msgspec.structs import replace
from test_imitations import GO_BETWEEN, imitating

from condense_cli import api, formats
from condense_cli.core.transcript import Transcript
from condense_cli.errors import BrokenOutputError, ExitStatus
from condense_cli.passes.condensation import Condensation
from condense_cli.providers import proven


def result() -> Condensation:
    return api.condense(anthropic(*conversation()), preset="speed")


@pytest.fixture
def wrong_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that puts another word in the last message."""
    real = formats.serialize

    def wrong(transcript: Transcript) -> bytes:
        return real(transcript).replace(b"Found it.", b"Lost it.").replace(b"Done.", b"Gone.")

    monkeypatch.setattr(formats, "serialize", wrong)


@pytest.mark.usefixtures("wrong_words")
def test_bytes_that_do_not_say_the_result_are_not_given() -> None:
    with pytest.raises(BrokenOutputError, match=r"line 1, message 13: a text of the .* would read differently"):
        api.dump(result())


@pytest.mark.usefixtures("wrong_words")
@pytest.mark.parametrize("where", ["-o", "--in-place"])
def test_bytes_that_do_not_say_the_result_are_not_written(where: str, file: Path, tmp_path: Path) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    output = (tmp_path / "small.jsonl",) if where == "-o" else ()
    done = condense("run", file, "-p", "speed", where, *output)
    assert done.status == ExitStatus.FAILED
    assert "would be wrong at line 18, message 17: a text of the assistant would read differently" in done.stderr
    assert (file.read_bytes(), {path.name for path in tmp_path.iterdir()}) == (DATA, before)


def without_results(transcript: Transcript) -> Transcript:
    """The same with calls that nobody answers, and a change so that it is written."""
    messages = [message for message in transcript.messages if not message.answers_calls]
    first = messages[0]
    messages[0] = replace(first, blocks=(first.blocks[0].with_text("Find it."), *first.blocks[1:]))
    return replace(transcript, messages=tuple(messages))


def test_a_result_that_the_api_would_refuse_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proven, "differences", lambda data, transcript: None)  # The rules alone are left.
    good = result()
    with pytest.raises(BrokenOutputError, match=r"message \d+: it would be refused: .* without `tool_result`"):
        api.dump(good.with_transcript(without_results(good.before)))


def test_what_the_input_broke_already_is_no_reason() -> None:
    messages = conversation(9)
    done = api.condense(anthropic(*messages[:2], *messages[3:]), preset="speed")
    assert done.old_violations
    assert done.changes
    assert len(api.dump(done)) < len(done.before.source.data)


def test_a_conversion_that_the_api_would_refuse_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    from condense_cli.formats import convert

    good = convert.convert(anthropic(*conversation()), "anthropic")
    (before, after) = (b'"tool_use_id":"toolu_0"', b'"tool_use_id":"toolu_x"')
    assert before in good.data
    wrong = replace(good, data=good.data.replace(before, after))
    monkeypatch.setattr(convert, "convert", lambda *_: wrong)
    with pytest.raises(BrokenOutputError, match="would be refused") as caught:
        api.convert(anthropic(*conversation()), "anthropic")
    assert caught.value.hint == proven.REPORT


# Text of somebody else that would be read as a reference of ours: a restored file says it with its escape.
def test_what_is_restored_reads_back_with_its_escapes() -> None:
    condensed = api.condense(api.loads(imitating()), configuration(GO_BETWEEN, min_saving=0))
    restored = api.restore(api.loads(api.dump(condensed)))
    assert restored.transcript.is_changed
    assert api.dump(restored) == api.dump(condensed)
