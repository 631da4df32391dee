"""Session files of Claude Code: one JSON record per line, linked to a tree by `parentUuid`.

The conversation is what the client would send (see `claude_chain`): lines of one `message.id` are one
assistant turn, neighbouring user lines are one user turn. Everything else in the file (sidechains,
older branches, what lies before the last compact boundary, display-only keys) keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from .. import jsontext
from ..transcript import Block, BlockKind, Family, Message, Place, Role, Transcript, Usage
from . import claude_display, claude_faults, claude_links, claude_sizes, estimates
from .anthropic import BlockReader
from .base import Evidence, Format, RecordEdits
from .claude_chain import Node, live_chain
from .container import Document
from .spelling import as_spelled

_TREE_TYPES = {"user", "assistant", "attachment", "progress", "system"}
_PROOF_KEYS = {
    "file-history-snapshot": {"messageId", "snapshot"},
    "summary": {"summary", "leafUuid"},
    "queue-operation": {"operation", "sessionId"},
}
"""Records outside the tree that only Claude Code writes: sessions may consist of nothing else."""

_ATTACHMENTS_WITHOUT_TEXT = {"hook_success", "hook_non_blocking_error", "command_permissions"}
"""Attachments that the client shows and does not send."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Evidence.NO
    if value["type"] in _TREE_TYPES:
        is_linked = "parentUuid" in value and isinstance(value.get("uuid"), str)
        return Evidence.YES if is_linked else Evidence.MAYBE
    proof = _PROOF_KEYS.get(value["type"])
    return Evidence.YES if proof and proof <= value.keys() else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = BlockReader()
    nodes: list[Node] = []
    blocks: dict[int, list[Block]] = {}
    facts: dict[int, dict[str, Any]] = {}
    for record, value in enumerate(values):
        if not isinstance(value, dict) or not isinstance(value.get("uuid"), str):
            continue
        if str(value.get("type")) not in _TREE_TYPES:
            continue
        blocks[record] = list(as_spelled(_blocks(value, record, reader), document.source))
        nodes.append(_node(value, record, blocks[record]))
        if value["type"] == "assistant":
            message = value.get("message")
            message = message if isinstance(message, dict) else {}
            facts[record] = {"model": message.get("model"), "usage": message.get("usage")}
    chain = live_chain(nodes)
    turns: list[tuple[Role, list[Block], list[int], str | None]] = []
    for node in chain:
        if blocks[node.record]:
            _add(turns, node, blocks[node.record])
    messages = tuple(Message(index, turn[0], tuple(turn[1])) for index, turn in enumerate(turns))
    sent = [(index, facts[record]) for index, turn in enumerate(turns) for record in turn[2] if record in facts]
    return Transcript(
        "claude-code",
        Family.ANTHROPIC,
        messages,
        document.source,
        model=_last_model([fact for _, fact in sent]),
        first_usage=_first_usage(sent),
        warnings=_warnings(nodes, chain),
    )


def _warnings(nodes: list[Node], chain: list[Node]) -> tuple[str, ...]:
    """Say so when most of what a person sees in the file is not part of the live conversation."""
    if not chain:
        return ("The session holds no conversation.",)
    live = {node.record for node in chain}
    start = max((node.record for node in nodes if node.is_boundary), default=-1)
    lines = [
        node
        for node in nodes
        if node.kind in ("user", "assistant") and node.record > start and node.is_sidechain == chain[0].is_sidechain
    ]
    aside = sum(node.record not in live for node in lines)
    if not lines or aside * 2 <= len(lines):
        return ()
    return (f"{aside} of {len(lines)} message lines are on branches that the client no longer sends; they stay.",)


def _node(value: dict[str, Any], record: int, blocks: list[Block]) -> Node:
    message = value.get("message")
    reply = message.get("id") if value["type"] == "assistant" and isinstance(message, dict) else None
    parent = value.get("parentUuid")
    return Node(
        record,
        value["uuid"],
        parent if isinstance(parent, str) else None,
        value["type"],
        is_sidechain=value.get("isSidechain") is True,
        is_boundary=value.get("subtype") == "compact_boundary",
        reply_id=reply if isinstance(reply, str) else None,
        calls=tuple(block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL and block.call_id),
        answers=tuple(dict.fromkeys(block.answers for block in blocks if block.answers)),
    )


def _blocks(value: dict[str, Any], record: int, reader: BlockReader) -> Iterator[Block]:
    message = value.get("message")
    if value["type"] == "attachment":
        yield from _attachment(value.get("attachment"), record)
    elif value["type"] in ("user", "assistant") and isinstance(message, dict):
        if value.get("isApiErrorMessage") is True:
            return  # Shown to the user; the client never sends its own error notices.
        is_user = value["type"] == "user"
        is_injected = value.get("isMeta") is True or value.get("isCompactSummary") is True
        for block in reader.content(message.get("content"), record, ("message", "content"), is_user=is_user):
            yield replace(block, injected=True) if is_user and is_injected else block


def _attachment(attachment: Any, record: int) -> Iterator[Block]:
    """Text that the client injects. Its wording is the client's own, so the content is counted as it stands."""
    if not isinstance(attachment, dict) or str(attachment.get("type")) in _ATTACHMENTS_WITHOUT_TEXT:
        return
    content = {key: value for key, value in attachment.items() if key != "type" and not _is_image(value)}
    images = sum(estimates.UNKNOWN_IMAGE for value in attachment.values() if _is_image(value))
    text = jsontext.dump_compact(content) if content else ""
    place = Place(record, ("attachment",))
    yield Block(BlockKind.OPAQUE, place, ("attachment",), content=text, estimate=images, injected=True)


def _is_image(value: Any) -> bool:
    return isinstance(value, dict) and value.get("type") == "image"


def _add(turns: list[tuple[Role, list[Block], list[int], str | None]], node: Node, blocks: list[Block]) -> None:
    """Append a line to the turn it belongs to, as the client merges lines before it sends them."""
    if node.kind == "assistant":
        for turn in reversed(turns):
            if turn[0] is Role.ASSISTANT and turn[3] == node.reply_id and node.reply_id:
                turn[1].extend(blocks)
                turn[2].append(node.record)
                return
            # Results may stand between the lines of one message; what the user wrote may not.
            if turn[0] is Role.ASSISTANT or not all(block.answers or block.injected for block in turn[1]):
                break
        role = Role.ASSISTANT
    else:
        role = Role.USER
    if turns and turns[-1][0] is role:
        turns[-1][1].extend(blocks)
        turns[-1][2].append(node.record)
    else:
        turns.append((role, list(blocks), [node.record], node.reply_id))
    if role is Role.USER and blocks[0].answers:
        # The API wants results first; the client puts them there, whatever the file's order.
        turns[-1][1].sort(key=lambda block: block.answers is None)


def _last_model(facts: list[dict[str, Any]]) -> str | None:
    for fact in reversed(facts):
        model = fact["model"]
        if isinstance(model, str) and model and not model.startswith("<"):
            return model
    return None


def _first_usage(sent: list[tuple[int, dict[str, Any]]]) -> Usage | None:
    for index, fact in sent:
        usage = fact["usage"]
        if isinstance(usage, dict):
            keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
            numbers = [usage.get(key) for key in keys]
            total = sum(number for number in numbers if isinstance(number, int))
            if total:
                return Usage(index, total)
    return None


def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: jsontext.Style) -> None:
    claude_display.shorten(transcript, edits, style)
    if gone:
        claude_links.relink(transcript.source, edits, gone)


FORMAT = Format(
    "claude-code",
    Family.ANTHROPIC,
    "Claude Code session file (~/.claude/projects/*/*.jsonl)",
    evidence,
    read,
    complete=complete,
    rules=claude_faults.RULES,
    sizes=claude_sizes.sizes,
)
