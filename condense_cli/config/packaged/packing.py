"""Write down the values of the package's presets: `python -m condense_cli.config.packaged.packing`.

Plain ones go beside the hash of the file that they were read from, typed ones into Python.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from ...core.markers import content_hash
from ..loading import PACKED, parse_with_positions, read_text
from ..models import Configuration
from ..preset_folders import presets_folder

_WIDTH: Final = 120
_MODULE: Final = '''"""The configurations of the package's presets. Written by `packing.py`; do not edit."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Final

{imports}
PRESETS: Final[dict[str, Configuration]] = {presets}
'''


def written_down() -> tuple[str, str]:
    """What the files of plain and of typed values say when they are up to date."""
    plain, typed = {}, {}
    for path in sorted(presets_folder().glob("*.yaml")):
        text = read_text(path)
        # What reads them checks nothing any more.
        found = parse_with_positions(text, path.name, folder=None)
        plain[path.name] = {"hash": content_hash(text), "values": found.value}
        typed[path.name] = found.configuration
    return json.dumps(plain, indent=1) + "\n", _module(typed)


def _module(presets: dict[str, Configuration]) -> str:
    modules: dict[str, set[str]] = {}
    for kind in _types_in(presets):
        modules.setdefault(kind.__module__.rpartition(".")[2], set()).add(kind.__name__)
    imports = "".join(
        (f"from ..{module} import (\n" + "".join(f"    {name},\n" for name in sorted(names)) + ")\n")
        for module, names in sorted(modules.items())
    )
    return _MODULE.format(imports=imports, presets=_written(presets))


def _types_in(value: Any) -> Iterator[type[Struct]]:
    if isinstance(value, Struct):
        yield type(value)
    for _, inner in _taken_apart(value)[1]:
        yield from _types_in(inner)


def _written(value: Any, lead: str = "", depth: int = 0) -> str:
    """Write a value as Python behind `start`: on one line if it fits, else part by part."""
    opening, inside, closing = _taken_apart(value)
    flat = lead + _on_one_line(value)
    if not inside or 4 * depth + len(flat) < _WIDTH:
        return flat
    lines = "".join(f"{' ' * 4 * (depth + 1)}{_written(inner, name, depth + 1)},\n" for name, inner in inside)
    return f"{lead}{opening}\n{lines}{' ' * 4 * depth}{closing}"


def _on_one_line(value: Any) -> str:
    opening, inside, closing = _taken_apart(value)
    comma = "," if isinstance(value, tuple) and len(inside) == 1 else ""
    return opening + ", ".join(name + _on_one_line(inner) for name, inner in inside) + comma + closing


def _taken_apart(value: Any) -> tuple[str, list[tuple[str, Any]], str]:
    """What a value begins with in Python, what is in it with the name of each, and its end."""
    match value:
        case Struct():
            given = [(f"{each.name}=", getattr(value, each.name)) for each in fields(value) if _is_given(value, each)]
            return f"{type(value).__name__}(", given, ")"
        case dict():
            return "{", [(f"{json.dumps(key)}: ", inner) for key, inner in value.items()], "}"
        case list():
            return "[", [("", inner) for inner in value], "]"
        case tuple():
            return "(", [("", inner) for inner in value], ")"
        case str():
            return json.dumps(value, ensure_ascii=False), [], ""
        case _:
            return repr(value), [], ""


def _is_given(value: Struct, field: Any) -> bool:
    """Whether a field is not as it is anyway."""
    default = field.default if field.default_factory is NODEFAULT else field.default_factory()
    return bool(getattr(value, field.name) != default)


if __name__ == "__main__":
    for ending, text in zip((".json", ".py"), written_down(), strict=True):
        PACKED.with_suffix(ending).write_text(text, encoding="utf-8")
