"""Settings in a JSON file: read, and changed in places of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from ..errors import UnreadableError
from .json_edits import JsonLayout, rewritten
from .plan import SettingsEdit, read

Settings = dict[str, Any]
T = TypeVar("T", dict[str, Any], list[Any])


def settings_in(path: Path) -> tuple[str | None, Settings]:
    """The text of a file and the object in it, empty where there is no file. Raises UnreadableError."""
    text = read(path)
    if text is None or not text.strip():
        return text, {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"{path} is not JSON: {error}.", "Nothing was written. Fix it first.") from error
    if not isinstance(found, dict):
        raise UnreadableError(f"{path} does not hold a JSON object.", "Nothing was written. Fix it first.")
    return text, found


def part(holder: Mapping[str, Any], key: str, kind: type[T]) -> T:
    """What is under a key, empty where there is nothing.

    Raises UnreadableError where it is of another kind: what nobody here understands is not written over.
    """
    found = holder.get(key)
    if found is None:
        return kind()
    if not isinstance(found, kind):
        what = {dict: "an object", list: "a list"}[kind]
        raise UnreadableError(f"{key!r} in the client's settings is not {what}.", "Nothing was written. Fix it first.")
    return found


def edit_of(path: Path, text: str | None, before: Settings, after: Settings) -> SettingsEdit:
    """The file with other settings. Where they are the same it stays as it is; where none are left it goes."""
    if before == after:
        return SettingsEdit(path, text, text)
    if not after:
        return SettingsEdit(path, text, None)
    return SettingsEdit(path, text, _written(text or "", before, after))


def _written(text: str, before: Settings, after: Settings) -> str:
    """A text with other settings, everything else in it as it was."""
    if text.strip():
        written = rewritten(text, before, after)
        if json.loads(written) == after:
            return written
    layout = JsonLayout.of(text)
    return layout.dump(after) + (layout.line_end if not text or text.endswith("\n") else "")
