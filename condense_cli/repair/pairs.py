"""Mend calls and results: copies, ids that come twice, results in another place than the API wants them, odd ones."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ..core import json_text
from ..core.transcript import TEXT_CALL, Block, JsonPath, Message
from ..core.values import BlockKind, Role
from ..formats.engine.base import Values, derived_uuid, records_of
from .draft import NO_RESULT, BrokenRule, Change, Draft, Edits
from .links import result_record

NO_BEGINNING: Final = "[The beginning of this conversation is missing.]"

_ANSWERED: Final = ("anthropic", "roo", "cline", "claude-code", "openai-chat", "openai-responses")
"""Formats in which a call gets a note for its result. In others, whose records are linked or repeat calls, it goes."""
_MESSAGES: Final = ("anthropic", "roo", "cline")
_OUTPUTS: Final = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}
_IDS: Final = ("id", "call_id", "callID", "tool_use_id", "tool_call_id", "toolCallId")


def _calls(message: Message) -> Iterator[Block]:
    for block in message.blocks:
        if block.kind is BlockKind.TOOL_CALL and block.call_id and not block.call_id.startswith(TEXT_CALL):
            yield block


def _results(message: Message) -> list[Block]:
    """Return the first block of each result."""
    found: dict[tuple[int, JsonPath], Block] = {}
    for block in message.blocks:
        if block.answers and not block.answers.startswith(TEXT_CALL):
            found.setdefault((block.place.record, block.owner), block)
    return list(found.values())


def _said(faults: Iterable[BrokenRule]) -> dict[str, BrokenRule]:
    """Return the first fault about each call."""
    found: dict[str, BrokenRule] = {}
    for fault in faults:
        found.setdefault(fault.about, fault)
    return found


def remove_copies(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove calls and results that say once more what another one says: of calls the one that is answered stays.

    A second result that says something else stays if another call of that id waits for it.
    """
    about = _said(faults)
    doubled = {fault.about for fault in faults if fault.rule == "one_result_per_call"}
    source = draft.transcript.source
    values = Values(source)
    calls: dict[str, list[tuple[Block, list[Block]]]] = defaultdict(list)  # With the results before the next such call.
    copies: list[tuple[Block, Block]] = []
    others: list[Block] = []
    waiting: dict[str, list[Any]] = {}
    for message in draft.transcript.messages:
        waiting |= {block.call_id or "": [] for block in _calls(message)}
        for block in _calls(message):
            name = block.call_id or ""
            calls[name].append((block, []))
            waiting[name] += [values(*_where(block))] if name in doubled else []
        first: dict[str, tuple[Block, Any]] = {}
        for block in _results(message):
            name = block.call_id or ""
            asked = waiting[name].pop(0) if waiting.get(name) else None
            kept, of = first.setdefault(name, (block, asked))
            if name in doubled and kept is not block:
                is_same = values(*_where(block)) == values(*_where(kept))
                if is_same and asked in (None, of):
                    copies.append((block, kept))
                elif asked is None:
                    others.append(block)
            if calls[name]:
                calls[name][-1][1].append(block)
    for name in about.keys() - doubled:
        found = calls[name]
        kept, its_results = next((each for each in found if each[1]), found[0])
        answers = [values(*_where(each)) for each in its_results]
        for block, results in found:
            is_same = block is not kept and values(*_where(block)) == values(*_where(kept))
            if is_same and [values(*_where(each)) for each in results] in ([], answers):
                copies += [(block, kept), *zip(results, its_results, strict=False)]
    if not copies and not others:
        return None
    whole = {
        block.place.record
        for block, kept in copies
        if block.place.record != kept.place.record and source.raw(block.place.record) == source.raw(kept.place.record)
    }
    changes = [_told(draft, about, block, "Removed a copy of an earlier call or result") for block, _ in copies]
    changes += [_told(draft, about, block, "Removed a second result of the call") for block in others]
    beside = [block for _, block in draft.transcript.blocks() if block.place.record in whole]
    return draft.without([*(block for block, _ in copies), *others, *beside], changes, is_sent=False)


def _where(block: Block) -> tuple[int, JsonPath]:
    return block.place.record, block.owner


def _told(draft: Draft, about: Mapping[str, BrokenRule], block: Block, said: str) -> Change:
    fault = about.get(block.call_id or "") or next(iter(about.values()))
    return draft.change(fault, block.place.record, said)


def rename_calls(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Give a call another id, together with its result, where an earlier one has the same.

    Of calls in one message, the first result belongs to the first call.
    """
    about = _said(faults)
    values = Values(draft.transcript.source)
    ids = {block.call_id for _, block in draft.transcript.blocks()}
    counts: dict[str, int] = defaultdict(int)
    waiting: dict[str, deque[str]] = {}
    edits: Edits = defaultdict(dict)
    changes = []
    for message in draft.transcript.messages:
        waiting |= {block.call_id or "": deque() for block in _calls(message)}
        for block in (*_calls(message), *_results(message)):
            name = block.call_id or ""
            if name not in about:
                continue
            if block.answers:
                new = waiting.get(name) or deque([name])
                other = new.popleft() if len(new) > 1 else new[0]
                changes += [_told(draft, about, block, f"Gave the result the id {other}")] if other != name else []
            else:
                other = name
                counts[name] += 1
                if counts[name] > 1:
                    number = counts[name]
                    while (other := f"{name}_{number}") in ids:
                        number += 1
                    ids.add(other)
                    changes.append(_told(draft, about, block, f"Renamed the call to {other}"))
                waiting[name].append(other)
            if other != name:
                # The id of a result may be beside its content.
                for path in (block.owner[:end] for end in range(len(block.owner), -1, -1)):
                    part = values(block.place.record, path)
                    keys = [key for key in _IDS if isinstance(part, dict) and part.get(key) == name]
                    edits[block.place.record] |= {(*path, key): json.dumps(other) for key in keys}
                    if keys:
                        break
    return draft.edited(changes, edits=edits) if edits else None


def _last_records(draft: Draft) -> dict[str, int]:
    """Return the last record of the message with each call, by the call's id."""
    found: dict[str, int] = {}
    for message in draft.transcript.messages:
        end = max((block.place.record for block in message.blocks), default=-1)
        for block in _calls(message):
            found.setdefault(block.call_id or "", end)
    return found


def move_results(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put results right behind the message with their calls, and texts behind results. Whole records move."""
    about = _said(faults)
    transcript = draft.transcript
    last_record = _last_records(draft)
    by_record: dict[int, list[Block]] = defaultdict(list)
    for _, block in transcript.blocks():
        by_record[block.place.record].append(block)
    behind: dict[int, list[int]] = defaultdict(list)
    changes = []
    for record, blocks in by_record.items():
        named = [block.answers for block in blocks if block.answers in about and block.answers in last_record]
        ends = {last_record[str(name)] for name in named}
        if len(ends) == 1 and all(block.answers for block in blocks) and record != (end := ends.pop()) + 1:
            behind[end].append(record)
            block = next(block for block in blocks if block.answers in about)
            changes.append(_told(draft, about, block, f"Moved the result behind its call, in line {draft.line(end)}"))
    if not behind:
        return None
    moved = {record for records in behind.values() for record in records}
    order: list[int] = []
    for record in range(transcript.source.listed):
        order += [record] if record not in moved else []
        order += behind.get(record, [])
    return draft.reordered(order, changes) if len(order) == transcript.source.listed else None


def split_results(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Move results out of messages that hold more, into a message of their own behind their calls."""
    if draft.transcript.format not in _MESSAGES:
        return None
    about = _said(faults)
    last_record = _last_records(draft)
    values = Values(draft.transcript.source)
    edits: Edits = defaultdict(dict)
    behind: dict[int, list[str]] = defaultdict(list)
    changes = []
    for message in draft.transcript.messages:
        for block in _results(message):
            end = last_record.get(block.call_id or "")
            if block.call_id in about and end is not None and block.place.record != end + 1:
                literal = json_text.dump_compact(values(block.place.record, block.owner))
                edits[block.place.record][block.owner] = json_text.REMOVE
                behind[end].append(_message(draft, end, "user", f"[{literal}]"))
                changes.append(_told(draft, about, block, "Moved the result behind its call"))
    return draft.edited(changes, edits=edits, behind=behind, is_sent=False) if behind else None


def results_first(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put the results of a message in front of its texts."""
    at = {fault.message: fault for fault in faults}
    order = list(range(draft.transcript.source.listed))
    edits: Edits = {}
    changes = []
    for message in draft.transcript.messages:
        if message.index not in at:
            continue
        records = sorted({block.place.record for block in message.blocks})
        answering = {block.place.record for block in message.blocks if block.answers}
        for record in records:
            if record in answering and (new := _parts_in_order(draft, record, message)):
                edits[record] = new
        for place, record in zip(records, sorted(records, key=lambda each: each not in answering), strict=True):
            order[place] = record
        fault = at[message.index]
        changes.append(draft.change(fault, records[0], "Put the results before the texts"))
    if edits:
        return draft.edited(changes, edits=edits, is_sent=False)
    return draft.reordered(order, changes) if changes else None


def _parts_in_order(draft: Draft, record: int, message: Message) -> dict[JsonPath, str | None]:
    """Return the edits that put results before other parts of a record's content; none if they are there."""
    owners = list(dict.fromkeys(block.owner for block in message.blocks if block.place.record == record))
    results = {block.owner for block in message.blocks if block.place.record == record and block.answers}
    wanted = sorted(owners, key=lambda owner: owner not in results)
    if wanted == owners or len({owner[:-1] for owner in owners}) != 1:
        return {}
    text = json_text.decode(draft.transcript.source.raw(record))
    spans = json_text.locate(text, owners)
    literals = [text[slice(*spans[owner])] for owner in wanted]
    return dict(zip(owners, literals, strict=True))


def answer_calls(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Answer calls without a result by a note, where the format is a list of messages or items."""
    if draft.transcript.format not in _ANSWERED:
        return None
    about = _said(faults)
    values = Values(draft.transcript.source)
    behind: dict[int, list[str]] = defaultdict(list)
    changes = []
    for message in draft.transcript.messages:
        end = max((block.place.record for block in message.blocks), default=-1)
        for block in _calls(message):
            if block.call_id not in about:
                continue
            record = block.place.record
            if draft.transcript.format == "claude-code":
                caller, end = json_text.parse(draft.transcript.source.raw(record)), record
                uuid = derived_uuid(str(caller["uuid"]), str(block.call_id))
                note: str | None = result_record(draft, caller, str(block.call_id), parent=caller["uuid"], uuid=uuid)
            else:
                note = _note(draft, block, values(record, block.owner), end)
            if note is not None:
                behind[end].append(note)
                changes.append(_told(draft, about, block, "Answered the call by a note that its result is missing"))
    return draft.edited(changes, behind=behind) if behind else None


def _note(draft: Draft, block: Block, part: Any, end: int) -> str | None:
    """Return the text of a new record that answers a call; None for a kind of call that takes none."""
    if draft.transcript.format in _MESSAGES:
        note = {"type": "tool_result", "tool_use_id": block.call_id, "content": NO_RESULT, "is_error": True}
        return _message(draft, end, "user", json.dumps([note]))
    if draft.transcript.format == "openai-chat" and block.owner[:1] == ("tool_calls",):
        note = {"role": "tool", "tool_call_id": block.call_id, "content": NO_RESULT}
    elif draft.transcript.format == "openai-responses" and part.get("type") in _OUTPUTS:
        note = {"type": _OUTPUTS[part["type"]], "call_id": block.call_id, "output": NO_RESULT}
    else:
        return None
    return _like(draft, end, {key: json.dumps(value) for key, value in note.items()})


def _message(draft: Draft, record: int, role: str, content: str) -> str:
    """Return the text of a new message, at the time of the record where there is one."""
    value = json_text.parse(draft.transcript.source.raw(record))
    time = {"ts": json.dumps(value["ts"])} if isinstance(value, dict) and "ts" in value else {}
    return _like(draft, record, {"role": json.dumps(role), "content": content, **time})


def _like(draft: Draft, record: int, members: Mapping[str, str]) -> str:
    return json_text.object_like(json_text.decode(draft.transcript.source.raw(record)), members)


def remove_unpaired(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove calls without a result and results without a call."""
    about = {(fault.message, fault.about) for fault in faults}
    said = _said(faults)
    found = [
        block
        for message in draft.transcript.messages
        for block in message.blocks
        if (message.index, block.call_id or block.server_call) in about
    ]
    changes = []
    for block in {(block.place.record, block.owner): block for block in found}.values():
        name = block.call_id or block.server_call or ""
        if name in said:
            is_result = bool(block.answers) or block.api_type.endswith("_result")
            gone, lacking = ("result", "call") if is_result else ("call", "result")
            changes.append(draft.change(said[name], block.place.record, f"Removed a {gone} without its {lacking}"))
    return draft.without(found, changes) if found else None


def begin_with_user(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put a note of the user in front of a conversation whose beginning is lost."""
    if draft.transcript.format not in _MESSAGES:
        return None
    note = _message(draft, 0, Role.USER.value, json.dumps(NO_BEGINNING))
    change = Change(faults[0].rule, 1, "Put a note of the user in front of the first message", faults[0].said)
    return draft.edited([change], behind={-1: [note]})


def unrepeat_items(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove copies of items of the Responses API; others lose the id that an earlier one has."""
    source = draft.transcript.source
    texts = {source.raw(record): record for record, _ in reversed([*records_of(source)])}
    edits: Edits = {}
    gone, changes = [], []
    for fault in faults:
        assert fault.record is not None
        is_copy = texts[source.raw(fault.record)] < fault.record
        if is_copy:
            gone.append(fault.record)
        else:
            edits[fault.record] = {("id",): json_text.REMOVE}
        said = "Removed a copy of an earlier item" if is_copy else "Removed the id of the item"
        changes.append(draft.change(fault, fault.record, said))
    return draft.edited(changes, edits=edits, gone=gone, is_sent=False)
