"""The language for what is kept or cut: how it is read, written, and what is said of what it cannot read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.core.selectors import (
    AnySelector,
    Except,
    OfBlock,
    OfFile,
    OfLast,
    OfMessage,
    OfRange,
    OfText,
    OfTool,
    SelectorError,
    is_exact,
    parse_selector,
    written,
)

_NAMES = st.text("abcXYZ_*?./-", min_size=1).filter(lambda name: name.strip() == name)
_INDICES = st.integers(-(10**9) + 1, 10**9 - 1)
_SIMPLE = st.one_of(
    st.builds(OfMessage, _INDICES),
    st.builds(OfBlock, _INDICES, st.integers(0, 10**9 - 1)),
    st.builds(OfRange, st.none() | st.integers(-50, -10), st.none() | st.integers(10, 50) | st.integers(-9, -1)),
    st.builds(OfLast, st.integers(1, 10**9 - 1)),
    st.builds(OfTool, _NAMES),
    st.builds(OfFile, _NAMES),
    st.builds(OfText, st.text("abc/: ", min_size=1)),
)
SELECTORS: st.SearchStrategy[AnySelector] = _SIMPLE | st.builds(Except, _SIMPLE)


@given(SELECTORS)
def test_what_is_written_reads_as_the_same(selector: AnySelector) -> None:
    assert parse_selector(written(selector)) == selector
    assert parse_selector(f" {written(selector)} ") == selector


@given(st.text())
def test_any_text_is_a_selector_or_is_told_how_to_write_one(text: str) -> None:
    found: AnySelector | None = None
    said = ""
    try:
        found = parse_selector(text)
    except SelectorError as error:
        said = str(error)
    assert found is None or parse_selector(written(found)) == found
    assert found or (said.endswith(".") and len(said) < 400)


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("34", OfMessage(34)),
        ("#34", OfMessage(34)),
        ("-1", OfMessage(-1)),
        ("12.0", OfBlock(12, 0)),
        ("40:80", OfRange(40, 80)),
        (":40", OfRange(None, 40)),
        ("-20:", OfRange(-20, None)),
        ("last:20", OfLast(20)),
        ("tool:WebFetch", OfTool("WebFetch")),
        ("Tool: mcp__*", OfTool("mcp__*")),
        ("file:src/*.py", OfFile("src/*.py")),
        ("file:C:\\work\\a.py", OfFile("C:\\work\\a.py")),
        ("/DECISION/", OfText("DECISION")),
        ("/a/b/", OfText("a/b")),
        ("not:tool:Read", Except(OfTool("Read"))),
    ],
)
def test_each_form(text: str, selector: AnySelector) -> None:
    assert parse_selector(text) == selector


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "is not a selector", "34"),
        ("WebFetch", "is not a selector", "tool:WebFetch"),
        ("src/a.py", "is not a selector", "file:src/a.py"),
        ("tol:Read", "is not a selector", "tool:Read"),
        ("tool:", "names nothing", "34"),
        ("last:", "names nothing", "34"),
        ("last:none", "needs a number of turns", "last:20"),
        ("last:0", "needs a number of turns", "last:20"),
        ("80:40", "selects no message", "excluded"),
        (":0", "selects no message", "excluded"),
        ("/(/", "not a regular expression", ""),
        ("/.*/", "matches every text", "may match nothing"),
        ("x" * 5_000 + "!", "xxx…", "34"),
    ],
)
def test_what_is_none_is_told_how_to_write_one(text: str, said: str, hint: str) -> None:
    with pytest.raises(SelectorError) as raised:
        parse_selector(text)
    assert said in str(raised.value)
    assert hint in raised.value.hint


def test_only_a_message_and_a_block_are_exact() -> None:
    assert [is_exact(parse_selector(text)) for text in ("3", "3.0", "3:4", "/x/", "not:3")] == [True, True] + 3 * [
        False
    ]
