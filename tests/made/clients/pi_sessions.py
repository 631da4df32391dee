"""Entries of sessions of pi."""

from typing import Any

from build import LONG

Json = dict[str, Any]
HEADER: Json = {"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/home/me"}


def entry(kind: str, id: str, parent: str | None, **members: Any) -> Json:
    return {"type": kind, "id": id, "parentId": parent, "timestamp": f"2026-01-02T03:04:06.{id:0>3}Z", **members}


def said(id: str, parent: str | None, role: str, content: Any, **extra: Any) -> Json:
    return entry("message", id, parent, message={"role": role, "content": content, **extra})


def call(identifier: str, name: str = "read", **arguments: Any) -> Json:
    return {"type": "toolCall", "id": identifier, "name": name, "arguments": arguments}


def answer(id: str, parent: str, call_id: str, text: str = LONG) -> Json:
    return said(id, parent, "toolResult", [{"type": "text", "text": text}], toolCallId=call_id, toolName="read")


def first_version(records: list[Json]) -> list[Json]:
    """The same without ids; what a compaction kept is named by its number."""
    keys = ("version", "id", "parentId")
    numbers = {record["id"]: number for number, record in enumerate(records)}
    lines = [{key: value for key, value in record.items() if key not in keys} for record in records]
    lines[0]["id"] = "s"
    for line in lines:
        if "firstKeptEntryId" in line:
            line["firstKeptEntryIndex"] = numbers[line.pop("firstKeptEntryId")]
    return lines
