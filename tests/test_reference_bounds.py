"""References that would blow up a file: what they may give is bounded, and what goes beyond it is text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from build import anthropic, assistant, call, read_turn, result, user
from helpers import as_lines, condense
from references import references, says_the_same, written

from condense_cli.lossless import decode as decoding
from condense_cli.lossless.decode import decode
from condense_cli.markers import short_hash

LEVELS = 12
LINES = "\n".join(f"the value of item {n} is {n * n}" for n in range(20))


def above_bomb() -> str:
    """A text in which each reference means all lines above it, those of the references before it included."""
    written = decoded = LINES
    for _ in range(LEVELS):
        size = decoded.count("\n") + 1
        written += f"\n[see lines 1-{size} above #{short_hash(decoded)}]"
        decoded += "\n" + decoded
    return written


def result_bomb() -> list[dict[str, Any]]:
    """Results each of which says the next one twice, with the last one first in `LINES`."""
    text, turns = LINES, []
    for number in range(LEVELS):
        name = f"{number}.py"
        turns.append(read_turn(f"a{number}", name, LINES if not number else _twice(f"{number - 1}.py", text)))
        text = f"{text}\n{text}" if number else text
    return [user("Look."), *[message for turn in reversed(turns) for message in turn], assistant("Done.")]


def _twice(name: str, text: str) -> str:
    line = f"[see the next Read of {name} #{short_hash(text)}]"
    return f"{line}\n{line}"


def value_bomb() -> list[dict[str, Any]]:
    """A call each of whose arguments says the one after it twice."""
    text, values = LINES, {f"v{LEVELS:02}": LINES}
    for number in reversed(range(LEVELS)):
        line = f"[see v{number + 1:02} of this call #{short_hash(text)}]"
        values[f"v{number:02}"] = f"{line}\n{line}"
        text = f"{text}\n{text}"
    ordered = dict(sorted(values.items()))
    return [user("Look."), assistant([call("a", "Other", **ordered)]), user([result("a", "ok")]), assistant("Done.")]


BOMBS = {
    "above": [user("Look."), *read_turn("a", content=above_bomb()), assistant("Done.")],
    "results": result_bomb(),
    "values": value_bomb(),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_reference_gives_no_lines_that_a_reference_gave(bomb: str) -> None:
    messages = anthropic(*BOMBS[bomb]).messages
    decoded = decode(messages)
    # Those of the innermost level only: the first line in `above`, the two lines that say LINES in the others.
    assert decoded.resolved == (1 if bomb == "above" else 2)
    assert decoded.unresolved == len(references(messages)) - decoded.resolved == len(references(decoded.messages))


# A forward reference gives a line that is a backward reference itself, which the second sweep would resolve.
def test_what_a_reference_gave_is_no_reference() -> None:
    first = f"[see the previous Read of a.py #{short_hash(LINES)}]"
    other = f"x\n{first}\n{'y' * 80}"
    messages = anthropic(
        user("Look."),
        *read_turn("1", "a.py", LINES),
        *read_turn("2", "b.py", f"[see the next Read of c.py #{short_hash(other)}]"),
        *read_turn("3", "c.py", other),
    ).messages
    texts = [block.text for message in decode(messages).messages for block in message.blocks][-3::2]
    assert texts == [other, other.replace(first, LINES)]


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters were compared with what references mean, one number for each that was."""
    sizes: list[int] = []

    def counted(text: str) -> str:
        sizes.append(len(text))
        return short_hash(text)

    monkeypatch.setattr(decoding, "short_hash", counted)
    return sizes


def wide(hash: str) -> list[dict[str, Any]]:
    """Very many references to one long result."""
    line = f"[see the next Read of a.py #{hash}]"
    return [user("Look."), *read_turn("1", "b.py", "\n".join([line] * 500)), *read_turn("2", "a.py", LINES * 50)]


@pytest.mark.parametrize("hash", [short_hash(LINES * 50), "000000"], ids=["that resolve", "that do not"])
def test_all_references_together_are_bounded_by_the_file(
    hash: str, looked_at: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decoding, "_LEAST", 0)
    messages = anthropic(*wide(hash)).messages
    size = sum(len(block.text) for message in messages for block in message.blocks)
    decoded = decode(messages)
    assert sum(looked_at) <= (decoding.READ_TIMES + 1) * size
    assert sum(len(block.text) for message in decoded.messages for block in message.blocks) <= 33 * size
    assert decoded.resolved + decoded.unresolved == 500


# What is written keeps to less than may be read: where repeats are too many, some stay.
@pytest.mark.parametrize("keep", ["latest", "earliest"])
def test_what_is_written_can_be_read(keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [message for n in range(40) for message in read_turn(str(n), content=LINES * 5)]
    messages = anthropic(user("Look."), *turns).messages
    everything = written(messages, keep=keep)
    monkeypatch.setattr(decoding, "_LEAST", 0)
    monkeypatch.setattr("condense_cli.lossless.proof.WRITTEN_TIMES", 2)
    assert decode(everything, times=4).unresolved
    some = written(messages, keep=keep)
    decoded = decode(some, times=4)
    assert 0 < decoded.resolved < 39
    assert not decoded.unresolved
    assert says_the_same(decoded.messages, messages)
    assert written(decoded.messages, keep=keep) == some


COMMANDS = {
    "run": ["run", "FILE", "--preset", "cost", "--dry-run"],
    "run at a target": ["run", "FILE", "--preset", "balanced", "--target-percent", "50", "-o", "OUT"],
    "restore": ["restore", "FILE", "-o", "OUT"],
    "estimate": ["estimate", "FILE"],
    "inspect": ["inspect", "FILE"],
    "show": ["show", "FILE", "2"],
    "diff": ["diff", "FILE", "FILE"],
    "validate": ["validate", "FILE"],
    "check": ["check", "FILE", "--above", "1000"],
    "evaluate": ["evaluate", "FILE"],
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_bounded(command: str, bomb: str, tmp_path: Path, looked_at: list[int]) -> None:
    path = tmp_path / "bomb.jsonl"
    path.write_bytes(as_lines(BOMBS[bomb]))
    paths = {"FILE": str(path), "OUT": str(tmp_path / "out.jsonl")}
    outcome = condense(*(paths.get(word, word) for word in COMMANDS[command]))
    assert outcome.status in (0, 3, 4), outcome.stderr
    assert max(looked_at, default=0) <= path.stat().st_size, "no reference gives more than the file has"
    out = tmp_path / "out.jsonl"
    assert not out.exists() or out.stat().st_size <= 3 * path.stat().st_size
