"""No pattern takes more steps than some for each character of a text, whatever the text.

Files come from others, and so do the names, paths and commands in them: a pattern that tries again what it has tried
hangs on a long run of what it repeats. Possessive repeats and atomic groups do not, nor do texts cut without a pattern.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from pattern_steps import CountedPattern
from test_structure import PACKAGE, modules, nodes

from condense_cli.core.lazy_pattern import lazy_pattern

METHODS: Final = {
    "match": "match",
    "fullmatch": "fullmatch",
    **dict.fromkeys(("search", "finditer", "findall", "sub", "subn", "split"), "search"),
}
LAZY: Final = type(lazy_pattern(""))
COLLECTIONS: Final = (tuple, list, set, frozenset)

Used = tuple[str | bytes, int, str]
"""A pattern, its flags, and how it is looked for."""


def kept(value: Any) -> Iterator[tuple[str | bytes, int]]:
    """The patterns in a value of a module."""
    if isinstance(value, (re.Pattern, LAZY)):
        yield value.pattern, value.flags
    elif isinstance(value, COLLECTIONS):
        for one in value:
            yield from kept(one)
    elif isinstance(value, dict):
        yield from kept((*value, *value.values()))


@cache
def calls(path: Path) -> dict[str, set[str]]:
    """By name how a file looks for what may be a pattern."""
    found: dict[str, set[str]] = {}
    for node in nodes(path):
        if isinstance(node, ast.Attribute) and node.attr in METHODS and isinstance(node.value, ast.Name):
            found.setdefault(node.value.id, set()).add(METHODS[node.attr])
    return found


def assigned(path: Path) -> set[str]:
    """Names that a module gives to something, not those that it imports."""
    return {node.id for node in nodes(path) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def named(path: Path) -> Iterator[Used]:
    """The patterns that a module keeps. One of which nobody sees how it is looked for is looked for in every way."""
    if not re.search(r"lazy_pattern\(|re\.compile\(", path.read_text()):
        return
    module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    found = {name: [*kept(vars(module)[name])] for name in assigned(path) & vars(module).keys()}
    handed = calls(path).get("pattern")
    for name in sorted(name for name, patterns in found.items() if patterns):
        users = [path] if name.startswith("_") else modules()
        seen = {how for user in users for how in calls(user).get(name, ())} or handed or {"search", "fullmatch"}
        yield from ((pattern, flags, how) for pattern, flags in found[name] for how in sorted(seen))


def written_out(path: Path) -> Iterator[Used]:
    """The patterns in the calls of functions such as `re.sub`; what is put into one is taken for an x."""
    functions = (node for node in nodes(path) if isinstance(node, ast.FunctionDef))
    for node in (node for function in functions for node in ast.walk(function)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) == "re":
            how = METHODS.get(node.func.attr, "search")
            given = node.args[0] if node.func.attr in (*METHODS, "compile") else None
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                yield given.value, 0, how
            elif isinstance(given, ast.JoinedStr):
                yield (
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in given.values),
                    0,
                    how,
                )


@pytest.mark.slow
def test_no_pattern_takes_more_steps_than_the_text_is_long() -> None:
    used = dict.fromkeys(each for path in modules() for each in (*named(path), *written_out(path)))
    assert [(pattern, how) for pattern, flags, how in used if [*CountedPattern(pattern, flags, how).faults()]] == []


# The count itself: each of these tries again what it has tried.
@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"\s*x", "search"),
        (r"\*\*\* ([^\n]*?)[ \t]*\n", "match"),
        (r"(?:a+)+b", "match"),
        (r"a*a*b", "match"),
        (r"\W*-?\W*", "fullmatch"),
        (r"<a>(?:xy)*(?:xy)*z", "match"),
        (r"cd\s[^;]*;", "search"),
        (r"<a>.*?</a>", "search"),
        (r"(a*)\1*b", "match"),
        (r"(?:\w|\d\d?)*;", "match"),
        (r"<(?=\s*/?\s*x)", "search"),
        (rb"\s*x", "search"),
    ],
)
def test_patterns_that_try_again_are_found(pattern: str | bytes, how: str) -> None:
    assert [*CountedPattern(pattern, re.DOTALL, how).faults()]


# And these do not.
@pytest.mark.parametrize(
    ("pattern", "how"),
    [
        (r"\s*x", "match"),
        (r"(?<!\s)\s*x", "search"),
        (r"\*\*\* (?>[^\n]*)\n", "match"),
        (r"(?:a++)+b", "match"),
        (r"a{1,300}b", "search"),
        (r"<(?=\s*+/?\s*+x)", "search"),
    ],
)
def test_patterns_that_do_not_are_left_alone(pattern: str, how: str) -> None:
    assert not [*CountedPattern(pattern, re.DOTALL, how).faults()]
