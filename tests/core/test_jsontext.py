"""Replacing values in JSON text: the value changes, and not a character around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import ODD_LINES, SCALARS

from condense_cli import api, formats
from condense_cli.core import json_text
from condense_cli.core.json_text import REMOVE, Style, splice
from condense_cli.core.transcript import Transcript
from condense_cli.toolcalls.tools import string_values

VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ODD_LINES, inner, max_size=4),
    max_leaves=20,
)
STYLES = st.fixed_dictionaries(
    {"indent": st.sampled_from([None, 1, "\t"]), "ensure_ascii": st.booleans(), "separators": st.just((" ,", ":  "))}
)


# Exchanging some strings of a value changes exactly these, in the value and in the text.
@given(VALUES, STYLES, st.data())
def test_splice_changes_exactly_the_given_values(value: Any, style: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(value, **style)
    strings = dict(string_values(value))
    paths = data.draw(st.lists(st.sampled_from(sorted(strings, key=repr)), unique=True)) if strings else []
    edits = {path: json.dumps(f"new {number}") for number, path in enumerate(paths)}
    spliced = splice(text, dict(edits))
    expected = {**strings, **{path: json.loads(literal) for path, literal in edits.items()}}
    assert dict(string_values(json.loads(spliced))) == expected
    assert len(spliced) - len(text) == sum(
        len(literal) - len(json.dumps(strings[path], ensure_ascii=style["ensure_ascii"]))
        for path, literal in edits.items()
    )


# Exchanging values by their bytes gives the same as parsing the text.
@given(VALUES, STYLES, st.data())
def test_exchanged_in_the_bytes_is_the_same(value: Any, style: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps({"a": value, "b": value, "c": "only here"}, **style)
    paths = sorted(dict(string_values(json.loads(text))), key=repr)
    edits = {path: json.dumps("new") for path in data.draw(st.lists(st.sampled_from(paths), unique=True))}
    exchanged = json_text.exchange(text.encode("utf-8", "surrogatepass"), dict(edits))
    if exchanged is not None:
        assert exchanged == splice(text, dict(edits)).encode("utf-8", "surrogatepass")


# Bytes that occur twice identify no value.
@pytest.mark.parametrize(
    ("text", "new"),
    [
        ('{"a": "x", "b": "y"}', '{"a": "z", "b": "y"}'),
        ('{"a": "x", "b": "x"}', None),
        ('{"a": {"x": 1}, "b": 2, "c": ["x"]}', '{"a": "z", "b": 2, "c": ["x"]}'),
        ('{"b": "x", "a": "x"}', None),
        ('{"b": 2}', None),
    ],
)
def test_a_value_is_exchanged_where_its_bytes_stand_once(text: str, new: str | None) -> None:
    exchanged = json_text.exchange(text.encode(), {("a",): '"z"'})
    assert exchanged == (new.encode() if new else None)


# Removing list elements leaves valid JSON with the other elements, whichever go.
@given(st.lists(st.integers(), min_size=1, max_size=6), STYLES, st.data())
def test_removed_elements_take_one_comma_each(items: list[int], style: dict[str, Any], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(items) - 1)))
    text = json.dumps({"a": items, "b": 1}, **style)
    spliced = splice(text, {("a", index): REMOVE for index in gone})
    kept = [item for index, item in enumerate(items) if index not in gone]
    assert json.loads(spliced) == {"a": kept, "b": 1}


# Of doubled keys the last is the one that readers see, so it is the one that changes.
def test_of_doubled_keys_the_last_changes() -> None:
    assert splice('{"a": "x", "a": "y"}', {("a",): '"z"'}) == '{"a": "x", "a": "z"}'


# An edit of a value that is not there is an error, not a silent nothing.
@pytest.mark.parametrize("path", [("b",), ("a", 3), ("a", "x"), ("a", 0, "deep")])
def test_missing_paths_are_errors(path: tuple[str | int, ...]) -> None:
    with pytest.raises(KeyError):
        splice('{"a": [1, 2]}', {path: "0"})


# New strings are spelled as the file spells its own: escaped, raw, with lone surrogates, with bad bytes.
@pytest.mark.parametrize(
    ("data", "value", "literal"),
    [
        (b'"\\u00e9"', "é", '"\\u00e9"'),
        ('"é"'.encode(), "é", '"é"'),
        (b'"plain"', "é", '"é"'),
        (b'"C:\\\\users"', "é", '"é"'),
        (b'"C:\\\\\\u00e9"', "é", '"\\u00e9"'),
        (b'\xef\xbb\xbf"\\u00e9"', "é", '"\\u00e9"'),
        ('"é"'.encode(), "\ud800", '"\\ud800"'),
        (b'"\\u00e9"', "\ud800", '"\\ud800"'),
        (b'"\xff"', "\udcff", '"\udcff"'),
    ],
)
def test_literals_follow_the_style_of_the_file(data: bytes, value: str, literal: str) -> None:
    assert Style.of(data).literal(value) == literal


# A file may hold bad bytes and, as an escape, half of an emoji: both are written as they were read.
def test_bad_bytes_and_lone_surrogates_are_written() -> None:
    data = b'["\xff", "\\ud83d"]'
    assert json_text.encode(Style.of(data).dump(["\udcff", "\ud83d"])) == data.replace(b" ", b"")


# Text that strict parsers refuse is read, and integers keep every digit.
@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b'"\\ud800"', "\ud800"),
        (b'"a\xffb"', "a\udcffb"),
        (b"[Infinity]", [float("inf")]),
    ],
)
def test_lenient_reading(raw: bytes, value: Any) -> None:
    assert json_text.parse(raw) == value
    assert json_text.encode(json_text.decode(raw)) == raw


RESULTS = "".join(f"[read_file for 'src/{number}.py'] Result:\nthe text of {number}\n\n" for number in range(3))
HISTORY = [
    {"role": "user", "content": [{"type": "text", "text": "<task>\nRead them.\n</task>"}], "ts": 1},
    {
        "role": "assistant",
        "content": [{"type": "text", "text": "<read_file>\n<path>src/0.py</path>\n</read_file>"}],
        "ts": 2,
    },
    {"role": "user", "content": [{"type": "text", "text": RESULTS}], "ts": 3},
]


def rewritten(transcript: Transcript, order: int) -> Transcript:
    """The last message with its parts in capital letters."""
    *others, last = transcript.messages
    blocks = [block.with_text(block.text.upper()) for block in last.blocks]
    return replace(transcript, messages=(*others, replace(last, blocks=tuple(blocks[::order]))))


@pytest.mark.parametrize("order", [1, -1])
def test_parts_keep_their_places(order: int) -> None:
    transcript = api.loads(json.dumps(HISTORY), format="roo")
    last = transcript.messages[-1]
    assert len([block for block in last.blocks if block.span]) > 1
    expected = RESULTS
    for block in last.blocks:
        expected = expected.replace(block.text, block.text.upper())
    written = json.loads(formats.serialize(rewritten(transcript, order)))
    assert written[-1]["content"][0]["text"] == expected != RESULTS
    assert written[:-1] == HISTORY[:-1]
