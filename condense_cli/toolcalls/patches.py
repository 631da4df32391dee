"""Patches as Codex's `apply_patch` takes them: plain text with a section for each file.

    *** Begin Patch
    *** Update File: src/app.py
    @@ def main():
    -    old()
    +    new()
    *** End Patch

The sections are read as arguments, so that the paths stay where the changes to a file are shortened. Any other
text is one argument, `input`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import JsonPath

BEGIN: Final = "*** Begin Patch"

_FILE: Final = lazy_pattern(
    r"^\*\*\* (?P<kind>Add|Update|Delete) File: (?P<path>(?:[^ \t\r\n]++|[ \t\r]++(?=[^ \t\r\n]))*+)[ \t\r]*+"
    r"(?:\n(?:\*\*\* Move to: (?P<target>[^\n]*)(?:\n|\Z))?|\Z)",
    re.MULTILINE,
)
_AFTER: Final = lazy_pattern(r"(?:^|\n)\*\*\* (?:(?:Add|Update|Delete) File: |End Patch)|\Z")


def files(text: str) -> list[tuple[str, str, str]]:
    """The files that a patch in the text changes: Add, Update or Delete, the path, and where an update moves it."""
    found = _FILE.finditer(text) if BEGIN in text else ()
    return [(match["kind"], match["path"], (match["target"] or "").strip()) for match in found if match["path"]]


def paths(text: str) -> list[str]:
    """The files that a patch in the text changes."""
    return [path for _, path, _ in files(text)]


def arguments(text: str) -> dict[str, Any]:
    """`{"files": [{"path", "patch"}]}` for a patch, `{"input": text}` for any other text."""
    found: dict[str, Any] = {}
    for path, start, end in _values(text):
        if len(path) == 1:
            return {"input": text}
        files = found.setdefault("files", [])
        if path[-1] == "path":
            files.append({})
        files[-1][path[-1]] = text[start:end]
    return found


def replace(text: str, edits: Mapping[JsonPath, str]) -> str:
    """The text with the arguments at some paths exchanged."""
    spans = {path: (start, end) for path, start, end in _values(text)}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        text = text[:start] + value + text[end:]
    return text


def _values(text: str) -> Iterator[tuple[JsonPath, int, int]]:
    """Path and span of every argument."""
    headers = list(_FILE.finditer(text)) if BEGIN in text else []
    for number, header in enumerate(headers):
        yield ("files", number, "path"), *header.span("path")
        # The line break before the next section belongs to no change; an empty section begins behind it.
        after = _AFTER.search(text, header.end() - 1)
        end = max(header.end(), after.start() if after else len(text))
        yield ("files", number, "patch"), header.end(), end
    if not headers:
        yield ("input",), 0, len(text)
