"""Long texts of a record as the stretches of the file's bytes that spell them, instead of strings of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from ...core.transcript import Block, JsonPath, Source
from ...core.values import LONG, LazyText, compact

_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_elements: Final = msgspec.json.Decoder(list[Raw]).decode

_Found = dict[JsonPath, Any]


def as_lazy(blocks: Iterable[Block], source: Source) -> Iterator[Block]:
    """Blocks of one record, which read the same and take less memory: see `LazyText`.

    A reader that passes its blocks through this, record by record, never holds the texts of a whole file.
    """
    found: _Found = {}
    for block in blocks:
        text = block.content
        if isinstance(text, str) and len(text) >= LONG:
            block = replace(block, content=_spelled(block, source, found) or compact(text))
        yield block


def _spelled(block: Block, source: Source, found: _Found) -> LazyText | None:
    """The text as it stands at the block's place; None where that is not all of it or no strict JSON."""
    if block.span:
        return None
    try:
        literal = _literal(source.view(block.place.record), block.place.path, found)
        spelled = LazyText(literal)
        return spelled if str(spelled) == block.text else None
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError):
        return None


def _literal(record: memoryview, path: JsonPath, found: _Found) -> Any:
    """The value at a path of a record, not decoded. `found` are values of the same record that were passed before."""
    if not path:
        return record
    *parent, key = path
    inside: Any = found.get(tuple(parent))
    if inside is None:
        take = _elements if isinstance(key, int) else _members
        inside = found[tuple(parent)] = take(_literal(record, tuple(parent), found))
    return inside[key]
