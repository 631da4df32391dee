"""Sets of rows for tests: each row is a conversation with results that the preset `speed` cuts."""

from __future__ import annotations

import json
from typing import Any

from helpers import as_lines, cut_by_speed, listing
from hypothesis import strategies as st
from strategies import anthropic_messages, openai_messages

LONG = 8
"""Exchanges of a long conversation: `speed` cuts all results of it but the last two. It cuts none where two are."""


def chat(exchanges: int = LONG, *, ids: str = "call") -> list[dict[str, Any]]:
    """Chat-completions messages: a request, so many exchanges, a last word."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please look around."}]
    for number in range(1, exchanges + 1):
        function = {"name": "Read", "arguments": json.dumps({"file_path": f"src/{number}.py"})}
        calls = [{"id": f"{ids}_{number}", "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"{ids}_{number}", "content": listing(number)},
        ]
    return [*messages, {"role": "assistant", "content": "Done."}]


def row(number: int, exchanges: int = LONG, column: str = "messages") -> dict[str, Any]:
    """A row with columns before and after its conversation."""
    return {"id": number, column: chat(exchanges), "score": 0.1 + number, "note": "größer → kleiner"}


def rows(*exchanges: int) -> list[dict[str, Any]]:
    return [row(number, count) for number, count in enumerate(exchanges)]


SPEED = ("--preset", "speed")
DATA = as_lines(rows(LONG, 1, LONG), ensure_ascii=True)
"""Two long rows with a short one between them."""

BROKEN = b'{"messages": [{"role": "user", "content": "cut off\n'
"""A line that is no JSON."""


def expected(data: bytes) -> bytes:
    """The set with every result cut that `speed` cuts, and nothing else."""
    lines = []
    for line in data.splitlines(keepends=True):
        for number in range(1, LONG - 1):
            literal, cut = (json.dumps(text).encode() for text in (listing(number), cut_by_speed(listing(number))))
            if line.count(b"tool_call_id") == LONG:
                assert line.count(literal) == 1
                line = line.replace(literal, cut)
        lines.append(line)
    return b"".join(lines)


COLUMNS = st.dictionaries(
    st.sampled_from(["id", "score", "tags", "system", "ключ", "model"]),
    st.one_of(
        st.none(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), st.text(max_size=8), st.just([1, {}])
    ),
    max_size=3,
)


@st.composite
def row_lines(draw: st.DrawFn) -> bytes:
    """One row as a line without its line break, as some program may have written it."""
    messages = draw(st.one_of(anthropic_messages(), openai_messages()))
    before, after = draw(COLUMNS), draw(COLUMNS)
    column = draw(st.sampled_from(["messages", "conversations", "conversation", "trace"]))
    style: dict[str, Any] = {
        "ensure_ascii": draw(st.booleans()),
        "separators": draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    }
    text = json.dumps({**before, column: messages, **{f"{key}_": value for key, value in after.items()}}, **style)
    if not style["ensure_ascii"]:
        text = "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)
    return draw(st.sampled_from([b"", b"  ", b"\t"])) + text.encode() + draw(st.sampled_from([b"", b" ", b"\r"]))
