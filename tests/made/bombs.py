"""References each of which means what others give, so that a few lines would become gigabytes."""

from typing import Any

import pytest
from build import assistant, call, read_turn, result, user

from condense_cli.core.markers import short_hash
from condense_cli.lossless import decode as decoding

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


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many characters are compared from now on with what references mean, one number for each that is."""
    sizes: list[int] = []

    def counting(text: str) -> str:
        sizes.append(len(text))
        return short_hash(text)

    monkeypatch.setattr(decoding, "short_hash", counting)
    return sizes
