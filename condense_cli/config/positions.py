"""Paths of keys in plain values, and where the keys stand in a file."""

from __future__ import annotations

import re
from typing import Any, Final

from msgspec import Struct, field

from ..core.wording import brief
from ..errors import ConfigurationError

KeyPath = tuple[str | int, ...]
_LONGEST: Final = 200
"""Characters of a path in a message."""


class Positions(Struct, frozen=True):
    """Line and column (from 1) of every key of a file by its path, and how the file spells the key.

    Of values that stand in no file there is only the name: what gave them.
    """

    name: str
    marks: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    spellings: dict[KeyPath, str] = field(default_factory=dict)
    is_file: bool = True

    def mark(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of a key; what has none of its own, such as what an alias stands for, has that around it."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, (1, 1))

    def place(self, path: KeyPath) -> str:
        """File and line of a key."""
        return f"{self.name}:{self.mark(path)[0]}"

    def error(self, path: KeyPath, what: str, hint: str = "") -> ConfigurationError:
        line, column = self.mark(path)
        spelled = self._spell(path)
        is_said = not self.is_file and spelled in self.name  # As in "--set max_lines=3".
        where = f" at {brief(spelled, _LONGEST)}" if path and not is_said else ""
        place = f"{self.name}:{line}:{column}" if self.is_file else self.name
        return ConfigurationError(f"{place}: {what}{where}.", hint)

    def spelling(self, path: KeyPath) -> str:
        return self.spellings.get(path, str(path[-1]) if path else "")

    def _spell(self, path: KeyPath) -> str:
        steps = [path[: length + 1] for length in range(len(path))]
        text = "".join(f"[{step[-1]}]" if isinstance(step[-1], int) else f".{self.spelling(step)}" for step in steps)
        return text.removeprefix(".")


def spelled(path: KeyPath) -> str:
    """The path as errors spell it: passes[0].selection.type."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def value_at(value: Any, path: KeyPath) -> Any:
    """The value at a path of plain values; None where there is none."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def is_at(value: Any, path: KeyPath) -> bool:
    """Whether there is a value at the path."""
    around = value_at(value, path[:-1])
    if isinstance(around, dict):
        return path[-1] in around
    return isinstance(around, list) and isinstance(path[-1], int) and path[-1] < len(around)


def snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: "_" + match.group().lower(), key)
