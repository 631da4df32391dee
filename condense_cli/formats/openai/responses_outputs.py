"""Outputs of calls: the result itself apart from what a client, most often Codex, wrote around it.

    Exit code: 0                          {"output": "the result", "metadata": {"exit_code": 0}}
    Wall time: 0.1 seconds
    Output:                               [{"type": "input_text", "text": "the result"}]
    the result

The lines above the result, and the object around it, are the client's: no pass rewrites them. An object in a string is
changed inside that string, so its spelling stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.markers import content_hash
from ...core.transcript import IN_STRING, Block, JsonPath, Place
from ...core.values import BlockKind
from ..engine import client_text
from ..engine.base import unknown_block

_LINE: Final = (
    r"(?:Chunk ID|Exit code|Wall time|Process exited with code|Process running with session ID|Original token count"
    r"|Total output lines|Script)\b[^\n]*\n"
)
_HEADER: Final = re.compile(rf"(?:{_LINE})+\n?Output:\n")
_FAILED: Final = re.compile(r"^(?:Exit code: |Process exited with code )(?!0\b)-?\d|^Script failed", re.MULTILINE)


def output_blocks(
    output: Any, record: int, path: JsonPath, call_id: str | None, tool: str | None, failed: bool = False
) -> Iterator[Block]:
    """Blocks of an output, which stands under `output` of the item at `path`. `failed` tells what the item says."""
    place = Place(record, (*path, "output"))
    base = Block(BlockKind.TOOL_RESULT, place, path, call_id=call_id, tool=tool, is_error=failed)
    if isinstance(output, str):
        yield from _wrapped(output, base) or _with_header(output, base)
        return
    if isinstance(output, dict):
        failed = failed or output.get("success") is False
        inner = "content" if "content" in output else "text"
        if isinstance(output.get(inner), str):
            text_place = Place(record, (*place.path, inner))
            yield from _with_header(output[inner], replace(base, place=text_place, is_error=failed))
            return
        place = Place(record, (*place.path, "content"))
        output = output.get("content")
    parts = output if isinstance(output, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    failed = failed or (bool(texts) and isinstance(texts[0], str) and _has_failed(texts[0]))
    for number, part in enumerate(parts):
        part_path = (*place.path, number)
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            text_place = Place(record, (*part_path, "text"))
            yield from _with_header(part["text"], replace(base, place=text_place, is_error=failed))
        else:
            block = part_block(part, record, path, place=part_path)
            yield replace(block, call_id=call_id, tool=tool, is_error=failed)
    if not parts:
        yield base


def shell_blocks(
    output: list[Any], record: int, path: JsonPath, call_id: str | None, tool: str | None
) -> Iterator[Block]:
    """Blocks of what commands printed, `{"stdout", "stderr", "outcome"}` each; there is at least one command."""
    for number, part in enumerate(output):
        where = (*path, "output", number)
        printed = part if isinstance(part, dict) else {}
        failed = _is_failure(printed.get("outcome"))
        base = Block(BlockKind.TOOL_RESULT, Place(record, where), path, call_id=call_id, tool=tool, is_error=failed)
        texts = {key: printed[key] for key in ("stdout", "stderr") if isinstance(printed.get(key), str)}
        for key, text in texts.items():
            yield replace(base, place=Place(record, (*where, key)), content=text)
        if not texts:
            yield replace(base, kind=BlockKind.OPAQUE, content=json_text.dump_compact(part))


def _is_failure(outcome: Any) -> bool:
    return isinstance(outcome, dict) and (outcome.get("type") == "timeout" or outcome.get("exit_code", 0) != 0)


def _with_header(text: str, base: Block) -> Iterator[Block]:
    """The header that the client wrote, if there is one, and the result."""
    header = _HEADER.match(text)
    if header is None:
        yield replace(base, content=text)
        return
    base = replace(base, is_error=base.is_error or _has_failed(text))
    whole = replace(base, content=text)
    yield replace(whole.part(0, header.end()), kind=BlockKind.OPAQUE)
    if header.end() < len(text):
        yield whole.part(header.end(), len(text))


def _has_failed(text: str) -> bool:
    header = _HEADER.match(text)
    return header is not None and _FAILED.search(header.group()) is not None


def _wrapped(text: str, base: Block) -> list[Block]:
    """The blocks of an object in a string that holds the result; none where the text is something else."""
    if not text.startswith("{"):
        return []
    try:
        value = json_text.parse_text(text)
    except (ValueError, RecursionError):
        return []
    metadata = value.get("metadata") if isinstance(value, dict) else None
    if not isinstance(metadata, dict) or not isinstance(value.get("output"), str):
        return []
    base = replace(base, is_error=base.is_error or metadata.get("exit_code", 0) not in (0, None))
    around = json_text.splice(text, {("output",): '""'})
    inner = Place(base.place.record, (*base.place.path, IN_STRING, "output"))
    return [
        replace(base, kind=BlockKind.OPAQUE, content=around),
        replace(base, place=inner, content=value["output"]),
    ]


def part_block(part: Any, record: int, owner: JsonPath, *, place: JsonPath | None = None) -> Block:
    """An image or anything unknown among the parts of a message or an output."""
    where = Place(record, place if place is not None else owner)
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "input_image":
        url = part.get("image_url")
        inline = url if isinstance(url, str) and url.startswith("data:") else None
        # The data alone, so that one image has one hash in every format.
        digest = content_hash(inline.partition(",")[2] if inline else json_text.dump_compact(part))
        return Block(BlockKind.IMAGE, where, owner, estimate=client_text.image(inline), digest=digest)
    if kind == "input_file":  # One that has only an id, or an address, is sent whole too.
        data = part.get("file_data")
        estimate = client_text.document(data.rpartition(",")[2] if isinstance(data, str) else None)
        return Block(BlockKind.OPAQUE, where, owner, estimate=estimate)
    if kind == "encrypted_content":
        estimate = client_text.encrypted_thinking(part.get("encrypted_content"))
        return Block(BlockKind.OPAQUE, where, owner, estimate=estimate)
    return unknown_block(part, record, where.path, owner)
