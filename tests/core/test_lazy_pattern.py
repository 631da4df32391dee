"""Patterns that are compiled when they are first used."""

import re

import pytest

from condense_cli.core.lazy_pattern import lazy_pattern


def test_it_does_what_the_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern("(a+)(?P<b>b)?", re.IGNORECASE), re.compile("(a+)(?P<b>b)?", re.IGNORECASE)
    for text in ("xAAb", "a", ""):
        assert lazy.findall(text) == compiled.findall(text)
        assert str(lazy.search(text)) == str(compiled.search(text))
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert lazy_pattern(rb"\s+").sub(b" ", b"a \n b") == b"a b"


def test_a_mistake_shows_where_it_is_used() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.match("")
