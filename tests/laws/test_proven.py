"""Results that would be wrong are not given: read back, held against the rules, with what to keep to avoid it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from build import anthropic, changed_messages, configuration, conversation, one_pass
from helpers import DATA, condense
from msgspec.structs import replace
from test_imitations import GO_BETWEEN, imitating

from condense_cli import api, formats
from condense_cli.core.transcript import Transcript
from condense_cli.errors import BrokenOutputError, ExitStatus
from condense_cli.passes.condensation import Condensation
from condense_cli.providers import proven

LINES = b"".join(json.dumps(message).encode() + b"\n" for message in conversation(12))
"""26 lines; in every second one from the third on is a result."""

Damage = Callable[[list[bytes], set[int]], None]
"""Lets something go wrong in the lines that are written, of which some hold changed messages."""


@pytest.fixture
def damage(monkeypatch: pytest.MonkeyPatch) -> Callable[[Damage], list[int]]:
    """Lets something go wrong when a transcript is written. The list that comes back grows with each writing."""
    serialize = formats.serialize

    def set_up(go_wrong: Damage) -> list[int]:
        writings: list[int] = []

        def written(transcript: Transcript) -> bytes:
            lines = serialize(transcript).splitlines(keepends=True)
            changed = {block.place.record for _, block in transcript.blocks() if block.changed}
            writings.append(len(changed))
            go_wrong(lines, changed)
            return b"".join(lines)

        monkeypatch.setattr(formats, "serialize", written)
        return writings

    return set_up


def run(*passes: dict[str, Any], proves: bool = True) -> Condensation:
    transcript = api.loads(LINES, format="anthropic")
    return api.condense(transcript, configuration(*(passes or (one_pass(),))), proves=proves)


def nothing(lines: list[bytes], changed: set[int]) -> None:
    pass


def lost(*records: int) -> Damage:
    """Lines are lost where their messages changed."""

    def go_wrong(lines: list[bytes], changed: set[int]) -> None:
        for record in sorted(changed.intersection(records), reverse=True):
            del lines[record]

    return go_wrong


def last_lost(lines: list[bytes], changed: set[int]) -> None:
    del lines[-1:]


def last_doubled(lines: list[bytes], changed: set[int]) -> None:
    lines.append(lines[-1])


def renamed(lines: list[bytes], changed: set[int]) -> None:
    """A result answers another call."""
    lines[8] = lines[8].replace(b"toolu_3", b"toolu_1")


def reworded(lines: list[bytes], changed: set[int]) -> None:
    lines[:] = [
        line.replace("[…".encode(), b"[refined").replace(b"[\\u2026", b"[refined").replace(b"value", b"worth")
        for line in lines
    ]


# What is right is written and read once, and given as it was read.
def test_a_result_is_proven_once(damage: Callable[[Damage], list[int]]) -> None:
    writings = damage(nothing)
    result = run()
    assert api.dump(result) == api.dump(result)
    assert len(writings) == 1
    assert changed_messages(result) == [*range(2, 25, 2)]
    assert not run(proves=False).proof


# What the error says to keep avoids it, and the rest is condensed.
def test_what_the_error_says_to_keep_avoids_it(damage: Callable[[Damage], list[int]]) -> None:
    damage(lost(8))
    with pytest.raises(BrokenOutputError) as caught:
        run()
    (span,) = re.findall(r"--keep (\S+)", caught.value.hint)
    result = api.condense(
        api.loads(LINES, format="anthropic"), configuration(one_pass()), overrides=api.overrides_from(keep=[span])
    )
    assert changed_messages(result) == [2, 4, 6, *range(12, 25, 2)]
    assert json.loads(api.dump(result).splitlines()[8]) == conversation(12)[8]


# The error names the line, the message, and what is wrong with it; nothing is tried again.
@pytest.mark.parametrize(
    ("go_wrong", "line", "said"),
    [
        (lost(*range(26)), 3, "a result of Read would read as a call of Read"),
        (last_lost, 26, "a text of the assistant would be missing"),
        (last_doubled, 26, "a text of the assistant would follow it"),
        (renamed, 9, "a result of Read would belong to another call"),
        (reworded, 3, "a result of Read would read differently"),
    ],
)
def test_the_error_names_the_line(
    damage: Callable[[Damage], list[int]], go_wrong: Damage, line: int, said: str
) -> None:
    writings = damage(go_wrong)
    with pytest.raises(BrokenOutputError, match=f"^The result would be wrong at line {line}, message .*{said}"):
        run()
    assert len(writings) == 1


# So does the error where nobody proved the run.
def test_what_was_not_proven_is_checked_when_it_is_written(damage: Callable[[Damage], list[int]]) -> None:
    damage(lost(8))
    result = run(proves=False)
    with pytest.raises(BrokenOutputError, match="wrong at line 9"):
        api.dump(result)
    with pytest.raises(BrokenOutputError, match="wrong at line 9"):
        api.dump(result.transcript)


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
    monkeypatch.setattr(api, "converted", lambda *_: wrong)
    with pytest.raises(BrokenOutputError, match="would be refused") as caught:
        api.convert(anthropic(*conversation()), "anthropic")
    assert caught.value.hint == proven.REPORT


# Text of somebody else that would be read as a reference of ours: a restored file says it with its escape.
def test_what_is_restored_reads_back_with_its_escapes() -> None:
    condensed = api.condense(api.loads(imitating()), configuration(GO_BETWEEN, min_saving=0))
    restored = api.restore(api.loads(api.dump(condensed)))
    assert restored.transcript.is_changed
    assert api.dump(restored) == api.dump(condensed)
