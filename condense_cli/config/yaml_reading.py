"""YAML or JSON text as plain values, with the position of every key. Nothing in it can run, nest or expand without end.

The tree is built here from the parser's events, not composed by the library: composing recurses in C
and crashes on deep nesting, and aliases can grow a small file beyond any memory.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import yaml

from ..core.wording import quoted
from ..errors import ConfigurationError
from .positions import KeyPath, Positions, snake_case

_OF_SELECTORS: Final = frozenset({"keep", "cut", "match"})
"""Keys of lists of selectors."""
_MAX_DEPTH: Final = 50
_MAX_VALUES: Final = 50_000
_PLAIN_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{tag}" for tag in ("null", "bool", "int", "float", "str", "map", "seq")
)
_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_CONTROL: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def read_yaml(text: str, name: str) -> tuple[Any, Positions]:
    """Value and positions; keys in snake_case whatever the file's style. Raises ConfigurationError."""
    control = _CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        column = control.start() - (text.rfind("\n", 0, control.start()) + 1) + 1
        raise ConfigurationError(f"{name}:{line}:{column}: the control character {control.group()!r} is not allowed.")
    if text.lstrip().startswith("{"):
        # JSON spells what lies beyond U+FFFF as two escapes, which YAML does not know.
        text = _PAIR.sub(lambda match: json.loads(f'"{match.group()}"'), text)
    builder = _Builder(text, name)
    try:
        return builder.document(), builder.positions
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error, text, name) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError(f"{name}:1:1: not valid YAML or JSON ({str(error).splitlines()[0]}).") from None


def _not_yaml(error: yaml.MarkedYAMLError, text: str, name: str) -> ConfigurationError:
    mark = error.problem_mark or error.context_mark
    lines = text.split("\n")
    row = min(mark.line, max(0, len(lines) - 1 - (lines[-1] == ""))) if mark else 0
    column = mark.column if mark and row == mark.line else len(lines[row])
    what = error.problem or error.context or "it cannot be read"
    hint = "There is a tab: indent with spaces." if lines[row][column : column + 1] == "\t" else ""
    return ConfigurationError(f"{name}:{row + 1}:{column + 1}: not valid YAML or JSON ({what}).", hint)


class _Builder:
    """Builds values from parser events, within bounds of depth and number."""

    def __init__(self, text: str, name: str) -> None:
        self.positions = Positions(name)
        self._loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._values = 0

    def document(self) -> Any:
        """Return the value of the only document, or None."""
        loader = self._loader
        loader.get_event()  # the stream's start
        if loader.check_event(yaml.StreamEndEvent):
            return None
        loader.get_event()  # the document's start
        value = self._value(())
        loader.get_event()  # the document's end
        if not loader.check_event(yaml.StreamEndEvent):
            mark = loader.peek_event().start_mark
            self.positions.marks[()] = (mark.line + 1, mark.column + 1)
            raise self.positions.error((), "not valid here: a second document begins, and a configuration is one")
        return value

    def _value(self, path: KeyPath) -> Any:
        event = self._loader.get_event()
        self.positions.marks.setdefault(path, (event.start_mark.line + 1, event.start_mark.column + 1))
        if len(path) > _MAX_DEPTH:
            raise self.positions.error(path[:2], "nested too deeply")
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self._anchors:
                raise self.positions.error(path, f"the alias *{event.anchor} names nothing before it")
            value, size = self._anchors[event.anchor]
            self._count(path, size)
            return value
        self._check_tag(path, event.tag)
        before = self._values
        self._count(path, 1)
        if isinstance(event, yaml.MappingStartEvent):
            value = self._mapping(path)
        elif isinstance(event, yaml.SequenceStartEvent):
            value = []
            while not self._loader.check_event(yaml.SequenceEndEvent):
                value.append(self._value((*path, len(value))))
            self._loader.get_event()
        else:
            value = self._scalar(path, event)
        if event.anchor:
            self._anchors[event.anchor] = (value, self._values - before)
        return value

    def _count(self, path: KeyPath, size: int) -> None:
        self._values += size
        if self._values > _MAX_VALUES:
            raise self.positions.error(path, "the configuration is too large, its aliases written out")

    def _check_tag(self, path: KeyPath, tag: str | None) -> None:
        if tag and tag != "!" and tag not in _PLAIN_TAGS:
            short = tag.replace("tag:yaml.org,2002:", "!!")
            raise self.positions.error(
                path, f"the tag {short} is not allowed", "Only plain values are read from a file."
            )

    def _mapping(self, path: KeyPath) -> dict[str, Any]:
        result: dict[str, Any] = {}
        while not self._loader.check_event(yaml.MappingEndEvent):
            event = self._loader.get_event()
            mark = (event.start_mark.line + 1, event.start_mark.column + 1)
            if not isinstance(event, yaml.ScalarEvent):
                self.positions.marks[path] = mark
                raise self.positions.error(path, "a key must be a plain word")
            key = snake_case(event.value)
            self.positions.marks[(*path, key)] = mark
            self.positions.spellings[(*path, key)] = event.value
            if key in result:
                raise self.positions.error((*path, key), "the key is given twice")
            result[key] = self._value((*path, key))
        self._loader.get_event()
        return result

    def _scalar(self, path: KeyPath, event: yaml.ScalarEvent) -> Any:
        tag = event.tag
        if len(path) > 1 and path[-2] in _OF_SELECTORS and isinstance(path[-1], int):
            return str(event.value)  # To YAML, 34 and 12.0 are numbers, and 40:50 is one that counts in sixties.
        if not tag or tag == "!":
            tag = self._loader.resolve(yaml.ScalarNode, event.value, event.implicit)
        self._check_tag(path, tag)
        kind = tag.rpartition(":")[2]
        if kind == "null":
            if event.value.lower() not in ("", "~", "null"):
                raise self.positions.error(path, f"{quoted(event.value)} is not null")
            return None
        try:
            return self._loader.construct_object(yaml.ScalarNode(tag, event.value))
        except (ValueError, KeyError, OverflowError):
            raise self.positions.error(path, f"{quoted(event.value)} is not a valid {kind}") from None
