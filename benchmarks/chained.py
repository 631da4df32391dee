"""Chain recorded sessions to one of a size, for measurements on real text; synthetic where no recorded ones are."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
from processes import write_synthetic
from recorded import MORE, TRANSCRIPTS
from synthetic import Format

from condense_cli import api
from condense_cli.errors import CondenseError

_CLIENTS: Final = ("claude-code", "codex", "cline", "roo-code", "swe-agent", "openhands", "kimi", "pi", "opencode")
_LARGEST: Final = 2_500_000
_LINKS: Final = ("uuid", "parentUuid", "logicalParentUuid", "sourceToolAssistantUUID", "leafUuid")
_COMPACTED: Final = (b'"compact_boundary"', b'"isCompactSummary"')
"""A compaction would end what came before it."""

Json = dict[str, Any]


def write_chained(folder: Path, megabytes: float, format: Format) -> Path:
    """Write a session of this size: of Claude Code, or messages as the API of Anthropic takes them."""
    size, written = int(megabytes * 1e6), 0
    path = folder / f"{format}-{megabytes:g}.jsonl"
    with path.open("wb") as file:
        for record in _of_claude_code() if format == "claude-code" else _messages():
            line = msgspec.json.encode(record) + b"\n"
            if written + len(line) > size and written > size / 2:
                break
            written += file.write(line)
    return path if written else write_synthetic(folder, megabytes, format)


def _sessions(*clients: str) -> Iterator[tuple[int, Path]]:
    """Yield recorded sessions in a mixed order that is always the same, over and over, numbered."""
    found = [path for client in clients for top in (TRANSCRIPTS, MORE) for path in (top / client).glob("*.json*")]
    found = [path for path in found if 20_000 < path.stat().st_size < _LARGEST and not _is_compacted(path)]
    found.sort(key=lambda path: sha256(path.name.encode()).digest())
    if found:
        yield from ((number, found[number % len(found)]) for number in count())


def _is_compacted(path: Path) -> bool:
    data = path.read_bytes()
    return any(mark in data for mark in _COMPACTED)


def _of_claude_code() -> Iterator[Json]:
    """Yield the records of sessions, each of which goes on where the one before it ended."""
    last: str | None = None
    for number, path in _sessions("claude-code"):
        data = path.read_bytes()
        for prefix in (b'"msg_', b'"toolu_'):  # A session comes more than once, and no two calls may have one id.
            data = data.replace(prefix, b"%s%04x_" % (prefix, number))
        records = [msgspec.json.decode(line) for line in data.splitlines() if line.strip()]
        for record in records:
            for link in _LINKS:
                if isinstance(record.get(link), str):
                    record[link] = f"{number:04x}{record[link][4:]}"
            if "sessionId" in record:
                record["sessionId"] = "11111111-1111-4111-8111-111111111111"
            if "uuid" in record and not record.get("isSidechain"):
                record["parentUuid"] = record.get("parentUuid") or last
                last = record["uuid"]
            yield record


def _messages() -> Iterator[Json]:
    """Yield the messages of sessions of many clients, each with ids of its own; turns alternate."""
    before: Json | None = None
    for number, path in _sessions(*_CLIENTS):
        try:
            messages = msgspec.json.decode(api.convert(api.load(path), "anthropic").data)["messages"]
        except CondenseError:
            continue
        while messages and (messages[0]["role"] != "user" or _ids(messages[0], "tool_result")):
            del messages[0]
        if messages and _ids(messages[-1], "tool_use"):
            del messages[-1]
        for message in messages:
            blocks = [_renamed(block, number) for block in _blocks(message) if block["type"] != "image"]
            now = {"role": message["role"], "content": blocks or [{"type": "text", "text": "(image)"}]}
            if before and before["role"] == now["role"]:
                before["content"] += now["content"]
                continue
            if before:
                yield before
            before = now


def _blocks(message: Json) -> list[Json]:
    content = message["content"]
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def _ids(message: Json, kind: str) -> bool:
    return any(block["type"] == kind for block in _blocks(message))


def _renamed(block: Json, number: int) -> Json:
    """Give a block the ids of its session; images in results are left out, since only text is read."""
    for key in ("id", "tool_use_id"):
        if isinstance(block.get(key), str):
            block = {**block, key: f"{block[key]}_{number}"}
    if isinstance(block.get("content"), list):
        texts = [part for part in block["content"] if part.get("type") == "text"]
        block = {**block, "content": texts or "(image)"}
    return block
