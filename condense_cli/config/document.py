"""A configuration's text that is edited: what is not touched stays as it is, and comments stay with their entries.

Every edit is proven: the new text is read, and has to say what was meant. Where it does not (an alias, say), the text
is written anew from its values, with all comments at the top.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from ..errors import ConfigurationError
from . import yaml_editing
from .positions import KeyPath, value_at
from .yaml_reading import read_yaml

Edit = Callable[[str], str]


class ConfigurationDocument:
    """The text of a configuration and the values in it. Edits give another one."""

    def __init__(self, text: str, name: str = "configuration") -> None:
        """Raises ConfigurationError where the text is no mapping in YAML or JSON."""
        value, positions = read_yaml(text, name)
        if value is not None and not isinstance(value, dict):
            raise positions.error((), "expected a mapping")
        self.text, self.name = text, name
        self.value: dict[str, Any] = value or {}

    @property
    def is_json(self) -> bool:
        return self.text.lstrip().startswith("{")

    def with_value(self, path: KeyPath, value: Any) -> ConfigurationDocument:
        """The document with another value at a path, whether or not there is one."""
        meant = _copied(self.value)
        _put(meant, path, value)
        return self._edited(meant, lambda text: yaml_editing.put(text, path, value_at(meant, path), meant))

    def without(self, path: KeyPath) -> ConfigurationDocument:
        """The document without the entry at a path, and without the comments above that."""
        meant = _copied(self.value)
        around = value_at(meant, path[:-1])
        try:
            del around[path[-1]]
        except (KeyError, IndexError, TypeError):
            return self
        return self._edited(meant, lambda text: yaml_editing.remove(text, path, meant))

    def with_item(self, path: KeyPath, index: int, value: Any) -> ConfigurationDocument:
        """The document with one more item in the list at a path, in front of the one at an index."""
        meant = _copied(self.value)
        items = value_at(meant, path)
        if not (isinstance(items, list) and items):
            return self.with_value(path, [value])
        items.insert(index, value)
        return self._edited(meant, lambda text: yaml_editing.insert(text, path, index, value, meant))

    def with_moved(self, path: KeyPath, index: int, to: int) -> ConfigurationDocument:
        """The document with an item of the list at a path in another place, and its comments with it."""
        meant = _copied(self.value)
        items = value_at(meant, path)
        if not isinstance(items, list) or not 0 <= to < len(items) or index == to:
            return self
        items.insert(to, items.pop(index))
        return self._edited(meant, lambda text: yaml_editing.move(text, path, index, to, meant))

    def _edited(self, meant: dict[str, Any], edit: Edit) -> ConfigurationDocument:
        if _is_same(meant, self.value):
            return self
        if self.is_json:
            return ConfigurationDocument(json.dumps(meant, indent=2, ensure_ascii=False) + "\n", self.name)
        try:
            edited = ConfigurationDocument(edit(self.text), self.name)
            if _is_same(edited.value, meant):
                return edited
        except (ConfigurationError, yaml.YAMLError, IndexError, yaml_editing.NotInPlaceError):
            pass
        return ConfigurationDocument(yaml_editing.anew(self.text, meant), self.name)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values say the same; the order of keys does not matter, and true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _copied(value: Any) -> Any:
    """A copy in which nothing is shared: what an alias stands for may be edited by itself."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _put(value: Any, path: KeyPath, item: Any) -> None:
    """Put a value at a path of plain values, with mappings on the way to it."""
    for step in path[:-1]:
        inner = value.get(step) if isinstance(value, dict) else value[step]
        if not isinstance(inner, dict | list):
            inner = value[step] = {}
        value = inner
    value[path[-1]] = item
