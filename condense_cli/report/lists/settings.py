"""An effective configuration as YAML that can be read back, each value with a comment on its origin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ...config.effective import COMPILED, DEFAULT, Effective
from ...config.positions import KeyPath, spelled
from ...core.wording import visible

_COMMENT_COLUMN: Final = 58
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_/.-]*(?: [A-Za-z0-9_/.-]+)*", re.ASCII)


def as_yaml(settings: Effective, *, has_defaults: bool = True) -> str:
    """Return the configuration as YAML for people and the loader; nothing in it can steer a terminal."""
    origins = {path: origin for path, origin in settings.origins.items() if origin != COMPILED}
    rows = [(line, origins.get(path) if path is not None else None) for line, path in _lines(settings.values)]
    heading = ""
    if not has_defaults:
        heading, rows = _commonest_once(_without_defaults(rows))
    width = min(_COMMENT_COLUMN, max((len(line) for line, _ in rows), default=0))
    return heading + "".join(
        f"{line:<{width}}  # {_one_line(origin)}\n" if origin else f"{line}\n" for line, origin in rows
    )


def _commonest_once(rows: list[tuple[str, str | None]]) -> tuple[str, list[tuple[str, str | None]]]:
    """Move the most common origin into a heading; return heading and remaining lines."""
    origins = Counter(origin for _, origin in rows if origin).most_common(1)
    if not origins or origins[0][1] == 1:
        return "", rows
    commonest = origins[0][0]
    heading = f"# From {_one_line(commonest)}, unless a line says otherwise. --all adds the defaults.\n"
    return heading, [(line, None if origin == commonest else origin) for line, origin in rows]


def _without_defaults(rows: Sequence[tuple[str, str | None]]) -> list[tuple[str, str | None]]:
    """Return the lines with given values and the keys around them. An element of a list keeps its first line."""
    kept: list[tuple[str, str | None]] = []
    deepest = 0
    for line, origin in reversed(rows):
        indent = len(line) - len(line.lstrip())
        is_header = origin is None and line.endswith(":")
        if (is_header and deepest > indent) or line.lstrip().startswith("- ") or not (is_header or origin == DEFAULT):
            kept.append((line, origin))
            deepest = indent
    return kept[::-1]


def as_report(settings: Effective, name: str) -> dict[str, Any]:
    """Return the configuration for programs; documented in docs/json-report.md."""
    origins = {spelled(path): origin for path, origin in settings.origins.items()}
    return {"version": 1, "name": name, "configuration": settings.values, "origins": origins}


def _lines(value: dict[str, Any], path: KeyPath = (), indent: str = "") -> Iterator[tuple[str, KeyPath | None]]:
    """Lines of a mapping, each with the path of the value that it shows."""
    for key, item in value.items():
        here = (*path, key)
        if isinstance(item, dict) and item:
            yield f"{indent}{key}:", None
            yield from _lines(item, here, indent + "  ")
        elif isinstance(item, list) and any(isinstance(part, dict) for part in item):
            yield f"{indent}{key}:", None
            for index, part in enumerate(item):
                bullet = f"{indent}  - "
                for line, leaf in _lines(part, (*here, index), indent + "    "):
                    yield bullet + line.removeprefix(indent + "    "), leaf
                    bullet = indent + "    "
                if not part:
                    yield f"{bullet}{{}}", None
        else:
            yield f"{indent}{key}: {_scalar(item)}", here


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, dict):
        return "{}"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) and _reads_as_text(value) else _quoted(value)
    return str(value)


def _reads_as_text(value: str) -> bool:
    import yaml

    return bool(yaml.safe_load(value) == value)


def _quoted(value: str) -> str:
    """Return a double-quoted YAML scalar with every invisible character escaped."""
    pieces = []
    for char in value:
        if char in '"\\':
            pieces.append("\\" + char)
        elif char == " " or char.isprintable():
            pieces.append(char)
        else:
            code = ord(char)
            pieces.append(
                {"\n": "\\n", "\t": "\\t"}.get(char) or (f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}")
            )
    return f'"{"".join(pieces)}"'


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())
