"""Mend the links of sessions whose records name the one before them: missing parents, loops, copies, stale names.

One record is taken to be lost where a parent is missing. What it was decides: the tail of a turn that was under way can
only continue what was written last; a prompt of the user may have gone back to an earlier turn, and then joining it to
the newest record would bring back what the user left. Where neither the kinds of the records nor the recorded usage
exclude that, nothing is joined, and the candidates are named.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from ..core import json_text
from ..core.wording import brief, plural
from ..formats.claude_code.chain import seconds_of
from ..formats.claude_code.records import TREE
from ..formats.claude_code.writing import COMMON
from ..formats.engine.base import INPUT_TOKENS, derived_uuid, records_of
from ..formats.engine.blocks import listed
from ..formats.engine.writing import surviving
from .draft import NO_RESULT, BrokenRule, Change, Draft, Edits, UnmendableError
from .lines import parsed_fragment

_KEYS: Final = {
    "claude-code": ("uuid", "parentUuid"),
    "qwen-code": ("uuid", "parentUuid"),
    "pi": ("id", "parentId"),
}
"""For each format with such links, the keys of a record's name and of its parent's."""

_USAGE: Final = {
    "claude-code": (*INPUT_TOKENS, "cache_read_input_tokens"),
    "pi": ("input", "cacheWrite", "cacheRead", "cacheRead"),
}
"""Keys of a recorded usage: what adds up to the tokens sent, then those that came from the cache."""

_INTERRUPTED: Final = "[Request interrupted by user"
_LOST: Final = "(lost)"
"""In place of a parent that a record does not name: it is sought as any other."""
_LATE: Final = 5.0
"""Seconds that a record may be older than the one before it: clients write several at a time."""
_NAMED: Final = 5
"""Candidates that a refusal names."""
_SHOWN: Final = 60


class LinkedRecord(Struct, frozen=True):
    """A record of the tree. `state` is that of the turn behind it: `open` if the model or a tool has to answer,
    `over` if the user speaks next, `beside` for what only goes along."""

    record: int
    value: dict[str, Any]
    id: str
    parent: str | None
    state: str
    stretch: str
    """Equal for the records of one conversation: that of the user, or of one sub-agent."""


def mend_unread(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove records of Claude Code that lack their message; others get the id, or the parent, that they lack."""
    gone: dict[str, str | None] = {}
    texts: dict[int, str] = {}
    removed = []
    changes = []
    for fault in faults:
        assert fault.record is not None
        text = json_text.decode(draft.transcript.source.raw(fault.record))
        value = json_text.parse_text(text)
        if draft.transcript.format != "claude-code" or value.get("type") not in ("user", "assistant"):
            continue
        if not isinstance(value.get("message"), dict):
            removed.append(fault.record)
            gone[str(value.get("uuid"))] = value.get("parentUuid")
            said = "Removed a record without a message"
        else:
            if "parentUuid" not in value:
                text = json_text.with_member(text, "parentUuid", json.dumps(_LOST))
            if not isinstance(value.get("uuid"), str):
                text = json_text.with_member(text, "uuid", json.dumps(derived_uuid(text)))
            texts[fault.record] = text
            said = "Gave the record the links that it lacks"
        changes.append(draft.change(fault, fault.record, said))
    edits: Edits = {record: {(): text} for record, text in texts.items()}
    for node in _nodes(draft) if gone else ():
        if node.parent in gone and node.record not in removed:
            edits[node.record] = {("parentUuid",): json.dumps(surviving(node.parent, gone))}
    return draft.edited(changes, edits=edits, gone=removed, is_sent=False) if changes else None


def mend_copies(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Leave one record of each uuid: the client takes what was written last, where the first one is."""
    named = {fault.record for fault in faults}
    records: dict[str, list[int]] = defaultdict(list)
    for record, value in records_of(draft.transcript.source):
        if isinstance(value, dict) and isinstance(value.get("uuid"), str):
            records[value["uuid"]].append(record)
    edits: Edits = {}
    gone: list[int] = []
    changes = []
    for uuid, copies in records.items():
        if len(copies) < 2 or named.isdisjoint(copies):
            continue
        first, last = (json_text.decode(draft.transcript.source.raw(record)) for record in (copies[0], copies[-1]))
        if first != last:
            edits[copies[0]] = {(): last}
        gone += copies[1:]
        why = f"Records share the uuid {uuid}"
        said = "Removed a copy of an earlier record"
        changes += [Change("live_uuids_unique", draft.line(record), said, why) for record in copies[1:]]
    return draft.edited(changes, edits=edits, gone=gone, is_sent=False) if gone else None


def mend_parents(draft: Draft, faults: Sequence[BrokenRule], joined: Collection[str] = ()) -> Draft | None:
    """Join each record whose parent is missing, or that closes a loop, to the only record that it can continue.

    `joined` are ids of records that the user chose. Raises UnmendableError, which names the candidates, where there
    are several.
    """
    nodes = list(_nodes(draft))
    orphans = _orphans(draft, nodes, {fault.record for fault in faults})
    if not orphans:
        return None
    key = _KEYS[draft.transcript.format][1]
    live = _live(draft, nodes)
    edits: Edits = {}
    behind: dict[int, list[str]] = defaultdict(list)
    changes = []
    found: dict[str, str | None] = {}
    for orphan, why in orphans:
        if orphan.parent in found and orphan.parent is not None:
            parent = found[orphan.parent]
        else:
            try:
                parent = _parent_of(draft, orphan, nodes, joined, is_only=len(orphans) == 1)
            except UnmendableError:
                if orphan.id in live:
                    raise
                parent = None  # Of a branch that is not sent.
            found[str(orphan.parent)] = parent
        at = next((node.record for node in nodes if node.id == parent), None)
        if at is not None and (note := _lost_result(draft, orphan, at, nodes)):
            if note not in behind[at]:
                behind[at].append(note)
                changes.append(
                    Change(faults[0].rule, draft.line(orphan.record), "Put a note in place of the lost result", why)
                )
            continue
        what = "the conversation" if orphan.id in live else "a branch"
        said = f"Made it the beginning of {what}" if at is None else f"Joined to line {draft.line(at)}"
        changes.append(Change(faults[0].rule, draft.line(orphan.record), said, why))
        edits[orphan.record] = {(key,): json.dumps(parent)}
    return draft.edited(changes, edits=edits, behind=behind)


def _lost_result(draft: Draft, orphan: LinkedRecord, tip: int, nodes: Sequence[LinkedRecord]) -> str | None:
    """Return a record of Claude Code in place of the lost one, where that held the only result that is missing.

    It has the lost one's id, so that no link need change.
    """
    known = {node.id for node in nodes}
    if draft.transcript.format != "claude-code" or orphan.parent is None or orphan.parent in known:
        return None
    answered = {part.get("tool_use_id") for node in nodes for part in _parts_of(node.value)}
    waiting: list[tuple[LinkedRecord, str]] = []
    for node in nodes:
        if node.record > tip or node.stretch != orphan.stretch:
            continue
        calls = [str(part.get("id")) for part in _parts_of(node.value) if part.get("type") == "tool_use"]
        if node.state == "over" or _is_word(node.value):
            waiting = []  # Calls of earlier turns are left out by the client.
        waiting += [(node, call) for call in calls if call not in answered]
    if len(waiting) != 1:
        return None
    (caller, call), above = waiting[0], next(node for node in nodes if node.record == tip)
    return result_record(draft, caller.value, call, parent=above.id, uuid=orphan.parent)


def result_record(draft: Draft, caller: Mapping[str, Any], call: str, *, parent: str, uuid: str) -> str:
    """Return a record of Claude Code that says that the result of a call is missing, at the time of the call."""
    content = [{"type": "tool_result", "tool_use_id": call, "content": NO_RESULT, "is_error": True}]
    members = {"parentUuid": parent, "isSidechain": caller.get("isSidechain", False)}
    members |= {key: caller[key] for key in (*COMMON, "agentId") if key in caller}
    members |= {"type": "user", "message": {"role": "user", "content": content}, "uuid": uuid}
    members |= {"timestamp": caller.get("timestamp"), "sourceToolAssistantUUID": caller.get("uuid")}
    return json_text.Style.of(draft.transcript.source.data).dump(members)


def _nodes(draft: Draft) -> Iterator[LinkedRecord]:
    """Yield the records of the tree in the order of the file."""
    name, parent = _KEYS[draft.transcript.format]
    seen: set[str] = set()
    for record, value in records_of(draft.transcript.source):
        if not isinstance(value, dict) or not isinstance(value.get(name), str) or value.get("type") == "session":
            continue
        if draft.transcript.format == "claude-code" and str(value.get("type")) not in TREE:
            continue
        link = value.get(parent)
        link = link if link is None or isinstance(link, str) else json_text.dump_compact(link)
        state = "beside" if value[name] in seen else _state(value)
        stretch = f"{value.get('agentId')}" if value.get("isSidechain") is True else ""
        seen.add(value[name])
        yield LinkedRecord(record, value, value[name], link, state, stretch)


def _orphans(
    draft: Draft, nodes: Sequence[LinkedRecord], named: Collection[int | None]
) -> list[tuple[LinkedRecord, str]]:
    """Return the records without a parent, in the order of the file, each with what is wrong."""
    by_id: dict[str, LinkedRecord] = {}
    for node in nodes:
        by_id.setdefault(node.id, node)
    found: dict[int, tuple[LinkedRecord, str]] = {}
    is_whole_file = draft.transcript.format == "claude-code"
    if is_whole_file:
        for each in nodes:
            if each.record in named and each.parent is not None and each.parent not in by_id:
                found[each.record] = each, f"Its parent {each.parent} is not in the file"
    starts = nodes if is_whole_file else [node for node in nodes if node.state != "beside" or not node.parent][-1:]
    done: set[str] = set()
    for start in starts:
        path: dict[str, LinkedRecord] = {}
        at: LinkedRecord | None = start
        while at is not None and at.id not in path and at.id not in done:
            path[at.id] = at
            above = by_id.get(at.parent) if at.parent is not None else None
            if above is None and at.parent is not None and not is_whole_file:
                found[at.record] = at, f"Its parent {at.parent} is not in the file"
            at = above
        if at is not None and at.id in path:
            ring = list(path.values())[list(path).index(at.id) :]
            forward = [each for each in ring if by_id[str(each.parent)].record >= each.record]
            if len(forward) == 1:
                found[forward[0].record] = forward[0], "Its parents lead back to itself"
        done.update(path)
    return [found[record] for record in sorted(found)]


def _live(draft: Draft, nodes: Sequence[LinkedRecord]) -> set[str]:
    """Return the ids of the records that the conversation consists of, and of those above them."""
    sent = {block.place.record for _, block in draft.transcript.blocks()}
    by_id = {node.id: node for node in nodes}
    live: set[str] = set()
    for node in nodes:
        at: LinkedRecord | None = node if node.record in sent else None
        while at is not None and at.id not in live:
            live.add(at.id)
            at = by_id.get(at.parent) if at.parent else None
    return live


def _parent_of(
    draft: Draft, orphan: LinkedRecord, nodes: Sequence[LinkedRecord], joined: Collection[str], *, is_only: bool
) -> str | None:
    """Return the id of the record that an orphan continues, None if it begins the conversation."""
    earlier = [node for node in nodes if node.record < orphan.record and node.stretch == orphan.stretch]
    value = orphan.value
    if not earlier or value.get("isCompactSummary") is True or value.get("subtype") == "compact_boundary":
        return None
    by_id = {node.id: node for node in earlier}
    torn = _torn_parent(draft, orphan, is_only=is_only)
    if torn in by_id:
        return torn
    caller = value.get("sourceToolAssistantUUID")
    if isinstance(caller, str) and caller in by_id:
        return caller
    reply = _reply(value)
    if reply and (lines := [node for node in earlier if _reply(node.value) == reply]):
        return lines[-1].id
    tip = earlier[-1]
    ends = [node for node in earlier if node.state == "over"]
    if _fits(orphan, tip, nodes, by_id) and (
        _turn(tip, by_id) == "open"
        or not _may_follow_prompt(value)
        or _is_cached(orphan, tip, nodes, by_id)
        or len(ends) < 2
    ):
        return tip.id
    chosen = [uuid for uuid in joined if uuid in by_id]
    if len(chosen) == 1:
        return chosen[0]
    candidates = [tip, *(node for node in reversed(ends) if node is not tip)]
    raise _ambiguous(draft, orphan, candidates)


def _ambiguous(draft: Draft, orphan: LinkedRecord, candidates: Sequence[LinkedRecord]) -> UnmendableError:
    told = "\n".join(
        f"  {node.id}  line {draft.line(node.record)}, {node.value.get('timestamp') or 'no time'}{_words(node.value)}"
        for node in candidates[:_NAMED]
    )
    more = f"\n  and {plural(len(candidates) - _NAMED, 'earlier turn')}" if len(candidates) > _NAMED else ""
    return UnmendableError(
        f"The record in line {draft.line(orphan.record)} names a parent that is not in the file ({orphan.parent}), "
        f"and may continue any of these:\n{told}{more}",
        "The user may have gone back to an earlier turn. Choose one with --join ID. Nothing was written.",
    )


def _words(value: Mapping[str, Any]) -> str:
    """Return the beginning of what a record says, behind its kind."""
    message = value.get("message")
    content = message.get("content", message.get("parts")) if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    said = brief(" ".join(" ".join(texts).split()), _SHOWN)
    return f", {value.get('type')}" + (f": {said}" if said else "")


def _torn_parent(draft: Draft, orphan: LinkedRecord, *, is_only: bool) -> str | None:
    """Return the parent that the lost record named, where it is one of the lines that were cut off."""
    name, key = _KEYS[draft.transcript.format]
    by_id = [each for each in draft.fragments if parsed_fragment(each.text, name) == orphan.parent]
    if not by_id and is_only and len(draft.fragments) == 1 and draft.fragments[0].before <= orphan.record:
        by_id = [each for each in draft.fragments if parsed_fragment(each.text, name) is None]
    parent = parsed_fragment(by_id[0].text, key) if len(by_id) == 1 else None
    return parent if isinstance(parent, str) else None


def _reply(value: Mapping[str, Any]) -> str:
    """Return the id of the API's message that a line of an assistant belongs to."""
    message = value.get("message")
    reply = message.get("id") if value.get("type") == "assistant" and isinstance(message, dict) else None
    return reply if isinstance(reply, str) else ""


def _state(value: Mapping[str, Any]) -> str:
    """Return the state of the turn behind a record of any of these formats."""
    message = value.get("message")
    if value.get("subtype") == "compact_boundary" or value.get("type") in ("compaction", "branch_summary"):
        return "open"
    if not isinstance(message, dict):
        return "beside"
    parts = _parts_of(value)
    role = message.get("role") or value.get("type")
    if role in ("assistant", "model"):
        reason = message.get("stop_reason") or message.get("stopReason")
        has_calls = any(part.get("type") in ("tool_use", "toolCall") or "functionCall" in part for part in parts)
        is_thought = bool(parts) and all(part.get("type") == "thinking" for part in parts)
        return "open" if has_calls or is_thought or reason in ("tool_use", "toolUse") else "over"
    if _is_result(value):
        return "open"
    if value.get("isMeta") is True or role not in ("user", "bashExecution"):
        return "beside"
    first = parts[0].get("text") if parts else message.get("content")
    return "over" if isinstance(first, str) and first.startswith(_INTERRUPTED) else "open"


def _is_result(value: Mapping[str, Any]) -> bool:
    message = value.get("message")
    if not isinstance(message, dict):
        return False
    is_one = message.get("role") == "toolResult" or value.get("type") == "tool_result"
    return is_one or any(part.get("type") == "tool_result" or "functionResponse" in part for part in _parts_of(value))


def _parts_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a record's message in any of these formats."""
    message = value.get("message")
    return [part for key in ("content", "parts") for part in listed(message, key) if isinstance(part, dict)]


def _may_follow_prompt(value: Mapping[str, Any]) -> bool:
    """Check if the lost record before this one may have been a prompt of the user.

    A result follows its call, a prompt the end of the turn before it.
    """
    if _is_result(value) or (value.get("type") == "system" and value.get("subtype") != "api_error"):
        return False
    return not _is_word(value)


def _is_word(value: Mapping[str, Any]) -> bool:
    """Check if the user said this record, and it answers no call."""
    message = value.get("message")
    is_of_user = isinstance(message, dict) and message.get("role", value.get("type")) == "user"
    return is_of_user and _state(value) == "open" and not _is_result(value)


def _turn(tip: LinkedRecord, by_id: Mapping[str, LinkedRecord]) -> str:
    """Return the state of the turn behind a record, passing over what only goes along."""
    node: LinkedRecord | None = tip
    seen: set[str] = set()
    while node is not None and node.state == "beside" and node.id not in seen:
        seen.add(node.id)
        node = by_id.get(node.parent) if node.parent else None
    return "over" if node is None else node.state


def _fits(
    orphan: LinkedRecord, tip: LinkedRecord, nodes: Sequence[LinkedRecord], by_id: Mapping[str, LinkedRecord]
) -> bool:
    """Check if time and recorded usage allow the orphan to continue `tip`: a context grows until it is cut."""
    then, now = (seconds_of(str(node.value.get("timestamp"))) for node in (tip, orphan))
    if then is not None and now is not None and then > now + _LATE:
        return False
    sent, after = _usage_above(tip, by_id), _usage_below(orphan, nodes)
    return sent is None or after is None or after[0] >= sent[0]


def _is_cached(
    orphan: LinkedRecord, tip: LinkedRecord, nodes: Sequence[LinkedRecord], by_id: Mapping[str, LinkedRecord]
) -> bool:
    """Check if the next request read all of the last one before from the cache: then it went on from it.

    After a step back the cache holds only what was sent before that step.
    """
    sent, after = _usage_above(tip, by_id), _usage_below(orphan, nodes)
    return sent is not None and after is not None and sent[2] > 0 and after[1] >= sent[2]


_Usage = tuple[int, int, int]
"""Tokens sent, those of them that came from the cache, and those that were in it afterwards."""


def _usage(value: Mapping[str, Any]) -> _Usage | None:
    message = value.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if not isinstance(usage, dict):
        return None
    for *sent, read in _USAGE.values():
        numbers = [usage.get(key) for key in sent]
        if any(isinstance(number, int) and number > 0 for number in numbers):
            whole = [number if isinstance(number, int) else 0 for number in numbers]
            cached = usage.get(read)
            return sum(whole), cached if isinstance(cached, int) else 0, sum(whole) - whole[0]
    return None


def _usage_above(tip: LinkedRecord, by_id: Mapping[str, LinkedRecord]) -> _Usage | None:
    node: LinkedRecord | None = tip
    seen: set[str] = set()
    while node is not None and node.id not in seen:
        seen.add(node.id)
        if (found := _usage(node.value)) or node.value.get("subtype") == "compact_boundary":
            return found
        node = by_id.get(node.parent) if node.parent else None
    return None


def _usage_below(orphan: LinkedRecord, nodes: Sequence[LinkedRecord]) -> _Usage | None:
    """Return the usage of the first request at or below a record."""
    below = {orphan.id}
    for node in nodes:
        if node.record < orphan.record or not (node is orphan or node.parent in below):
            continue
        below.add(node.id)
        if node.value.get("subtype") == "compact_boundary":
            return None
        if found := _usage(node.value):
            return found
    return None


def mend_leaves(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Let notes of the last message name the newest one before them; notes with none before them go."""
    nodes = [node for node in _nodes(draft) if not node.stretch and node.state != "beside"]
    edits: Edits = {}
    gone = []
    changes = []
    for fault in faults:
        record = fault.record
        assert record is not None
        value = json_text.parse(draft.transcript.source.raw(record))
        before = [node for node in nodes if node.record < record]
        if value.get("explicit") is True and before:
            raise UnmendableError(
                f"Line {draft.line(record)} says that the user went back to a record that is not in the file "
                f"({value.get('leafUuid')}).",
                "Remove that line to go on from the newest message. Nothing was written.",
            )
        if before:
            edits[record] = {("leafUuid",): json.dumps(before[-1].id)}
            said = f"Linked it to the newest message before it, in line {draft.line(before[-1].record)}"
        else:
            gone.append(record)
            said = "Removed a note of the last message"
        changes.append(draft.change(fault, record, said))
    return draft.edited(changes, edits=edits, gone=gone, is_sent=False)


def mend_callers(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Let a result name the record with its call; where there is none, it names nothing."""
    callers: dict[str, str] = {}
    for node in _nodes(draft):
        for part in _parts_of(node.value):
            if part.get("type") == "tool_use":
                callers[str(part.get("id"))] = node.id
    edits: Edits = {}
    changes = []
    for fault in faults:
        assert fault.record is not None
        value = json_text.parse(draft.transcript.source.raw(fault.record))
        calls = {str(part.get("tool_use_id")) for part in _parts_of(value)} & callers.keys()
        caller = callers[calls.pop()] if len(calls) == 1 else None
        edits[fault.record] = {("sourceToolAssistantUUID",): None if caller is None else json.dumps(caller)}
        said = "Removed the name of a call that is lost" if caller is None else "Linked it to the record of its call"
        changes.append(draft.change(fault, fault.record, said))
    return draft.edited(changes, edits=edits, is_sent=False)
