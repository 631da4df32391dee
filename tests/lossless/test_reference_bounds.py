"""References that would blow up a file: what they may give is bounded, and what goes beyond it is text."""

from typing import Any

import pytest
from bombs import BOMBS, LINES, counted
from build import anthropic, read_turn, user
from references import references, says_the_same, written

from condense_cli.core.markers import short_hash
from condense_cli.lossless import decode as decoding
from condense_cli.lossless.decode import decode


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


def wide(hash: str) -> list[dict[str, Any]]:
    """Very many references to one long result."""
    line = f"[see the next Read of a.py #{hash}]"
    return [user("Look."), *read_turn("1", "b.py", "\n".join([line] * 500)), *read_turn("2", "a.py", LINES * 50)]


@pytest.mark.parametrize("hash", [short_hash(LINES * 50), "000000"], ids=["that resolve", "that do not"])
def test_all_references_together_are_bounded_by_the_file(hash: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = counted(monkeypatch)
    monkeypatch.setattr(decoding, "_LEAST", 0)
    messages = anthropic(*wide(hash)).messages
    size = sum(len(block.text) for message in messages for block in message.blocks)
    decoded = decode(messages)
    assert sum(looked_at) <= (decoding.READ_TIMES + 1) * size
    assert sum(len(block.text) for message in decoded.messages for block in message.blocks) <= 33 * size
    assert decoded.resolved + decoded.unresolved == 500


# Writing has a lower limit than reading: with too many repeats, some stay.
@pytest.mark.parametrize("keep", ["latest", "earliest"])
def test_what_is_written_can_be_read(keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    turns = [message for n in range(40) for message in read_turn(str(n), content=LINES * 5)]
    messages = anthropic(user("Look."), *turns).messages
    everything = written(messages, keep=keep)
    monkeypatch.setattr(decoding, "_LEAST", 0)
    monkeypatch.setattr("condense_cli.lossless.encode.WRITTEN_TIMES", 2)
    assert decode(everything, times=4).unresolved
    some = written(messages, keep=keep)
    decoded = decode(some, times=4)
    assert 0 < decoded.resolved < 39
    assert not decoded.unresolved
    assert says_the_same(decoded.messages, messages)
    assert written(decoded.messages, keep=keep) == some
