"""Session files of Claude Code, and what `claude -p --output-format stream-json` prints.

A session has one JSON record per line, linked to a tree by `parentUuid`. The conversation is what the client would
send: `chain` finds the lines, `turns` makes turns of them. Everything else in the file (sidechains, older branches,
what is before the last compact boundary, display-only keys) keeps its bytes.

A stream has one event per line; those of the types `assistant` and `user` hold the messages, one block each. Those of a
subagent name the call that started it. The prompt that began the run is not among them. No client reads a stream back,
so it is only read.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, Message, Place, Transcript
from ...core.values import BlockKind, Family, Role
from ..anthropic import ROLES, BlockReader, merged
from ..engine.base import Beside, Evidence, Format, Habit, RecordEdits, SignsReader, messages_understood
from ..engine.client_text import is_injected, is_wrapped
from ..engine.container import Document, as_lazy
from ..engine.writing import not_reached
from . import records as attachments
from . import writing
from .chain import NOTHING_NAMED, as_cut, live_chain, preserved
from .records import BESIDE_TREE, NOTICE_WORDS, SUBTYPE, TREE, Node, uuids, without
from .turns import SentConversation, Told, TurnLine, conversation, first_request, note_signs, told_by, usages

_PROOF_KEYS = {
    "file-history-snapshot": {"messageId", "snapshot"},
    "summary": {"summary", "leafUuid"},
    "queue-operation": {"operation", "sessionId"},
}
"""Keys of records outside the tree that only Claude Code writes, by type: sessions may consist of nothing else."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return Evidence.NO
    if value["type"] in TREE:
        message = value.get("message")
        if "systemPayload" in value or (isinstance(message, dict) and "parts" in message):
            return Evidence.NO  # Qwen Code's, which has the same tree.
        if str(value.get("sessionId")).startswith("session-"):
            return Evidence.NO  # iFlow CLI's, which has the same keys and no tree.
        is_linked = "parentUuid" in value and isinstance(value.get("uuid"), str)
        return Evidence.YES if is_linked else Evidence.MAYBE
    proof = _PROOF_KEYS.get(value["type"])
    return Evidence.YES if proof and proof <= value.keys() else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = BlockReader()
    ending = NOTHING_NAMED
    nodes: list[Node] = []
    blocks: dict[int, tuple[Block, ...]] = {}
    told: dict[int, Told] = {}
    taken_back: set[str] = set()
    signs = SignsReader()
    unknown = Tally[str]()
    noted = None
    for record, value in enumerate(values):
        if not isinstance(value, dict):
            continue
        kind = str(value.get("type"))
        if lacking := writing.lacking(value):
            unknown[f"record {kind} without {lacking}"] += 1
        is_tree = kind in TREE and isinstance(value.get("uuid"), str)
        if is_tree or kind == "last-prompt":
            ending = ending.after(value)
        if not is_tree:
            if not lacking and kind not in BESIDE_TREE:
                unknown[f"record {kind}"] += 1
            continue
        said = () if kind == "progress" else tuple(as_lazy(_blocks(value, record, reader), document.source))
        blocks[record] = said
        nodes.append(_node(value, record, said))
        if kind == "assistant":
            told[record] = told_by(value.get("message"))
        elif kind == "attachment":
            noted = noted or attachments.Noted(unknown)
            noted.take(value, record, is_sent=bool(said))
        elif value.get("subtype") == SUBTYPE:
            taken_back |= uuids(value)
        note_signs(signs, value, told.get(record))
    chain = live_chain(nodes, ending)
    beside = [node for node in nodes if chain and node.is_sidechain == chain[0].is_sidechain]
    prompt, cuts = "", None
    if noted is not None:
        records = [node.record for node in beside]
        blocks |= noted.as_sent(records, blocks)
        prompt, cuts = noted.prompt(records), noted.cuts
    models = (told[node.record].model for node in reversed(chain) if node.record in told)
    model = next((model for model in models if isinstance(model, str) and model and not model.startswith("<")), None)
    lines = [
        TurnLine(node, blocks[node.record], told[node.record].model if node.record in told else None)
        for node in (without(chain, taken_back) if taken_back else chain)
    ]
    sent = conversation(as_cut(lines, cuts) if cuts else lines, model)
    messages = tuple(Message(index, turn.role, turn.blocks) for index, turn in enumerate(sent.turns))
    is_cut_off = any(node.is_boundary for node in chain)
    return Transcript(
        "claude-code",
        Family.ANTHROPIC,
        messages,
        document.source,
        model=model,
        begins_in_middle=_begins_in_middle(chain, nodes),
        envelope=prompt,
        is_envelope_whole=bool(prompt),
        usages=tuple(usages(sent.turns, chain, told)),
        first_request=first_request(beside, blocks, told) if is_cut_off else None,
        window_signs=signs.found,
        unknown=tuple(sorted(unknown.items())),
        warnings=_warnings(nodes, chain, sent),
    )


def _begins_in_middle(chain: Sequence[Node], nodes: Sequence[Node]) -> bool:
    """Return whether the conversation continues a record that is not in the file. A compaction begins it anew."""
    if not chain or chain[0].is_boundary or chain[0].parent is None:
        return False
    return all(node.uuid != chain[0].parent for node in nodes)


def _warnings(nodes: list[Node], chain: list[Node], sent: SentConversation) -> tuple[str, ...]:
    """Warn of what a person sees in the file and what is not part of the live conversation."""
    if not chain:
        return ("The session holds no conversation.",)
    warnings = []
    if sent.open_calls:
        warnings.append(f"The client does not send calls without a result ({sent.open_calls}); they stay in the file.")
    if sent.stray_results:
        warnings.append(
            f"The client does not send results without a call ({sent.stray_results}); they stay in the file."
        )
    live = {node.record for node in chain}
    start = max((node.record for node in nodes if node.is_boundary), default=-1)
    lines = [
        node
        for node in nodes
        if node.kind in ("user", "assistant") and node.record > start and node.is_sidechain == chain[0].is_sidechain
    ]
    aside = sum(node.record not in live for node in lines)
    if _begins_in_middle(chain, nodes):
        earlier = sum(node.record not in live and node.record < chain[0].record for node in lines)
        if missing := not_reached(chain[0].record, "parentUuid", earlier):
            return (*warnings, *missing)
    if lines and aside * 2 > len(lines):
        warnings.append(
            f"{aside} of {len(lines)} message lines are on branches that the client no longer sends; "
            "they stay in the file."
        )
    return tuple(warnings)


def _node(value: dict[str, Any], record: int, blocks: Sequence[Block]) -> Node:
    message = value.get("message")
    reply = message.get("id") if value["type"] == "assistant" and isinstance(message, dict) else None
    kind = value["type"]
    is_boundary = value.get("subtype") == "compact_boundary"
    calls = [block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL and block.call_id]
    answers = [block.call_id for block in blocks if block.kind is not BlockKind.TOOL_CALL and block.call_id]
    is_said = kind == "user" and not answers and value.get("isMeta") is True
    return Node(
        record,
        value["uuid"],
        writing.named(value.get("parentUuid")),
        kind,
        str(value.get("timestamp") or ""),
        is_sidechain=value.get("isSidechain") is True,
        is_boundary=is_boundary,
        reply_id=reply if isinstance(reply, str) else None,
        calls=tuple(calls),
        answers=tuple(dict.fromkeys(answers)),
        preserved=preserved(value["compactMetadata"]) if "compactMetadata" in value else None,
        is_message=kind in ("user", "assistant"),
        decorates=is_said or (kind in ("attachment", "system") and not is_boundary),
    )


def _blocks(value: dict[str, Any], record: int, reader: BlockReader) -> Iterator[Block]:
    message = value.get("message")
    if value["type"] == "attachment":
        yield from attachments.blocks(value, record)
    elif _is_printed(value):
        place = Place(record, ("content",))
        text = value["content"]
        yield Block(
            BlockKind.TEXT, place, ("content",), content=text, injected=not is_wrapped(text) or is_injected(text)
        )
    elif value["type"] in ("user", "assistant") and isinstance(message, dict):
        is_notice = value.get("isApiErrorMessage") is True and message.get("model") == "<synthetic>"
        if is_notice or value.get("isVirtual") is True:
            return  # Shown to the user and never sent: the client's own notice of an error, or a substitute.
        is_user = value["type"] == "user"
        is_summary = is_user and value.get("isCompactSummary") is True
        by_client = is_user and (value.get("isMeta") is True or is_summary)
        for block in reader.content(message.get("content"), record, ("message", "content"), is_user=is_user):
            origin = value.get("origin")
            if block.kind is BlockKind.TEXT and isinstance(origin, dict) and origin.get("kind") == "task-notification":
                block = replace(block, estimate=NOTICE_WORDS)
            if block.kind is BlockKind.TOOL_RESULT and _is_answer(value):
                block = replace(block, is_answer=True)
            is_part = is_summary and block.kind is BlockKind.TEXT
            yield replace(block, injected=True, summarizes=is_part) if by_client else block


def _is_answer(value: dict[str, Any]) -> bool:
    """Return whether the result in a record holds what a person said: answers, an edited plan, or a refusal."""
    shown = value.get("toolUseResult")
    is_said = isinstance(shown, dict) and (isinstance(shown.get("answers"), dict) or shown.get("planWasEdited") is True)
    return is_said or value.get("toolDenialKind") == "user-rejected"


def _is_printed(value: dict[str, Any]) -> bool:
    """Return whether a record tells what a command of the client printed: no other system record is sent."""
    is_said = value.get("type") == "system" and isinstance(value.get("content"), str)
    return is_said and value.get("subtype") == "local_command" and value.get("isDisplayOnly") is not True


def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    if gone:
        writing.relink(transcript, edits, gone)


FORMAT: Final = Format(
    "claude-code",
    Family.ANTHROPIC,
    "Claude Code session file (~/.claude/projects/*/*.jsonl)",
    evidence,
    read,
    complete=complete,
    going=writing.going,
    rules=writing.RULES,
    beside=Beside(writing.cut, writing.shown, writing.sizes),
    compaction=lambda rewrite: writing.Appended(rewrite).data(),
    summary_role=Role.USER,
    habits=Habit.ANSWERS_CALLS | Habit.DROPS_LONE_THINKING,
)


_SAID: Final = ("assistant", "user")
_OTHERS: Final = frozenset({"system", "stream_event", "result", "rate_limit_event", "control_request", "tool_progress"})


def _stream_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or "session_id" not in value or "parentUuid" in value:
        return Evidence.NO
    kind = value.get("type")
    if kind in _SAID:
        return Evidence.YES if isinstance(value.get("message"), dict) else Evidence.NO
    if kind == "system" and value.get("subtype") == "init":
        return Evidence.YES
    return Evidence.MAYBE if isinstance(kind, str) and kind in _OTHERS else Evidence.NO


def _read_stream(document: Document, values: Iterator[Any]) -> Transcript:
    reader = BlockReader()
    turns = []
    unknown = Tally[str]()
    model = None
    for record, value in enumerate(values):
        if not isinstance(value, dict):
            continue
        if value.get("subtype") == "init" and isinstance(value.get("model"), str):
            model = value["model"]
        kind = value.get("type")
        if lacking := _event_lacking(value):
            unknown[f"event {kind} without {lacking}"] += 1
        elif kind not in _SAID and str(kind) not in _OTHERS:
            unknown[f"event {kind}"] += 1
        if lacking or kind not in _SAID or value.get("parent_tool_use_id"):
            continue
        role = ROLES[kind]
        content = reader.content(
            value["message"].get("content"), record, ("message", "content"), is_user=role is Role.USER
        )
        blocks = as_lazy(content, document.source)
        if blocks:
            turns.append((role, blocks))
    return Transcript(
        "claude-stream-json",
        Family.ANTHROPIC,
        merged(turns),
        document.source,
        model=model,
        unknown=tuple(unknown.items()),
    )


def _event_lacking(value: Any) -> str:
    """Name what an event that may be a message lacks; empty for a whole one, and for one that is no message."""
    if not isinstance(value, dict):
        return ""
    has_message = isinstance(value.get("message"), dict)
    if value.get("type") not in _SAID:
        return "a known type" if has_message else ""
    if not has_message:
        return "message"
    if not isinstance(value["message"].get("content"), str | list):
        return "content"
    return "" if isinstance(value.get("parent_tool_use_id"), str | None) else "a known parent_tool_use_id"


STREAM: Final = Format(
    "claude-stream-json",
    Family.ANTHROPIC,
    "Output of claude -p --output-format stream-json, read-only",
    _stream_evidence,
    _read_stream,
    rules=(messages_understood(_event_lacking),),
    is_writable=False,
)
