"""Settings in a JSON file: read, changed in places of ours, and written as they were written before."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from ..errors import UnreadableError
from .plan import Edit, read

_INDENT: Final = re.compile(r"\{\r?\n([ \t]+)\"")

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
        raise UnreadableError(f"{path} is no JSON: {error}.", "Nothing was written. Mend it first.") from error
    if not isinstance(found, dict):
        raise UnreadableError(f"{path} holds no object.", "Nothing was written. Mend it first.")
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
        raise UnreadableError(f"{key!r} in the client's settings is not {what}.", "Nothing was written. Mend it first.")
    return found


def edit_of(path: Path, text: str | None, before: Settings, after: Settings) -> Edit:
    """The file with other settings. Where they are the same it stays as it is; where none are left it goes."""
    if before == after:
        return Edit(path, text, text)
    if not after:
        return Edit(path, text, None)
    return Edit(path, text, _written(after, text or ""))


def _written(settings: Settings, like: str) -> str:
    """JSON in the style of a text: its indentation, its line ends."""
    found = _INDENT.search(like)
    indent: str | int | None = found[1] if found else (None if like.strip() and "\n" not in like.strip() else 2)
    separators = (",", ":") if indent is None and '": ' not in like else (", ", ": ") if indent is None else (",", ": ")
    # A text that spells characters by their numbers goes on to; half of a pair can be spelled in no other way.
    ensure_ascii = "\\u" in like and (like.isascii() or "\\ud" in like.lower())
    written = json.dumps(settings, indent=indent, separators=separators, ensure_ascii=ensure_ascii)
    if not like or like.endswith("\n"):
        written += "\n"
    return written.replace("\n", "\r\n") if "\r\n" in like else written
