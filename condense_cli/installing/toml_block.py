"""A table of our own in a TOML file of others, of which not one character is touched."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ..errors import UnreadableError

_NOTE: Final = "# Added by condense install; condense install --remove takes it out."


def tables_in(path: Path, text: str | None) -> dict[str, Any]:
    """Raises UnreadableError."""
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise UnreadableError(f"{path} is not TOML: {error}.", "Nothing was written. Fix it first.") from error


def with_table(text: str, name: str, values: Mapping[str, str | list[str]]) -> str:
    """The text with a table at its end. JSON spells strings, and lists of them, as TOML does."""
    end = "" if not text or text.endswith("\n\n") else "\n" if text.endswith("\n") else "\n\n"
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    return f"{text}{end}" + "\n".join([_NOTE, f"[{name}]", *lines, ""])


def without_table(text: str, name: str) -> str:
    """The text without a table, those inside it, and our note."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            heading = line.strip().strip("[]").strip()
            inside = heading == name or heading.startswith(f"{name}.")
        if inside:
            continue
        if line.strip() == _NOTE:
            if kept and not kept[-1].strip():
                kept.pop()
            continue
        kept.append(line)
    return "".join(kept)
