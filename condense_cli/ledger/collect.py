"""The ledger of a stretch of conversation, from its calls and their results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, Final, assert_never

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message
from ..core.values import BlockKind
from ..extractive.answers import is_typed, pasted_units, words_in
from ..extractive.units import render, split
from ..toolcalls import tools
from ..toolcalls.outcomes import Results, command_outcome, results_of
from .entries import (
    LONGEST_REQUEST,
    CommandEntry,
    FileEntry,
    Ledger,
    LeftOutEntries,
    State,
    Todo,
    UserRequest,
    merge,
    middle_left_out,
)
from .shell import file_effects

_LONGEST_COMMAND: Final = (300, 60)

_CREATED: Final = lazy_pattern(r"\bcreat(?:ed|ing)\b|^New file\b", re.IGNORECASE)
_CHECKBOX: Final = lazy_pattern(r"\s*(?:[-*]\s*)?\[(.)\]\s*(.*)")
_CHECKS: Final = {" ": "pending", "x": "completed", "X": "completed", "-": "in_progress", "~": "in_progress"}
_TASK_NUMBER: Final = lazy_pattern(r"#(\w+)", re.ASCII)


def collect(messages: Sequence[Message]) -> Ledger:
    """What was done in these messages. A call whose result is not among them counts as done."""
    results = results_of(messages)
    entries: list[Ledger] = []
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                entries += _of_call(block, results.get(id(block), Results()))
            elif is_typed(message, block):
                entries.append(Ledger(requests=(UserRequest(_request(block.text)),)))
            elif words := words_in(block):
                entries.append(Ledger(requests=(UserRequest(words),)))
            elif block.kind is BlockKind.IMAGE:
                entries.append(Ledger(left_out=LeftOutEntries(images=1)))
            elif block.is_document:
                entries.append(Ledger(left_out=LeftOutEntries(documents=1)))
    return merge_all(entries)


def merge_all(ledgers: Sequence[Ledger]) -> Ledger:
    """One ledger for stretches in order, merged in pairs, so that long ones are not copied for each entry."""
    while len(ledgers) > 1:
        ledgers = [reduce(merge, ledgers[start : start + 2]) for start in range(0, len(ledgers), 2)]
    return ledgers[0] if ledgers else Ledger()


def _request(text: str) -> str:
    """What the user wrote; of a long text without the middle of what is pasted in it."""
    head, tail = LONGEST_REQUEST
    if len(text) <= head + tail:
        return text
    units = split(text)
    pasted = sorted(pasted_units(units))
    from_start = [*accumulate(len(units.texts[unit]) for unit in pasted)]
    gone = {unit for unit, end in zip(pasted, from_start, strict=True) if head < end <= from_start[-1] - tail}
    return render(units, [unit not in gone for unit in range(len(units.texts))]) if gone else text


def _of_call(call: Block, results: Results) -> Iterator[Ledger]:
    yield from _todos(call, results)
    commands = tools.command_lines(call)
    if commands:
        for command in commands:
            yield from _of_command(command, results)
        return
    if tools.reads_a_file(call):
        if not results.is_refused:
            for path in worked_on(call, results):
                yield _file(FileEntry(path, read=1))
    elif tools.writes_a_file(call):
        patched = list(tools.patched_files(call))
        if patched:
            yield from _of_patch(patched, results.state)
        else:
            for path in worked_on(call, results):
                yield _file(_change(path, call, results))


def _of_command(command: str, results: Results) -> Iterator[Ledger]:
    outcome = command_outcome(results)
    text = middle_left_out(command.strip(), *_LONGEST_COMMAND)
    yield Ledger(commands=(CommandEntry(text, outcome.outcome, 1, int(outcome.state == "failed"), outcome.error),))
    patched = tools.files(command)
    if patched:
        yield from _of_patch(patched, outcome.state)
    elif not outcome.state:
        for effect in file_effects(command):
            match effect.kind:
                case "deleted":
                    yield _file(FileEntry(effect.path, state="deleted"))
                case "moved":
                    yield _file(FileEntry(effect.path, state="moved", moved_to=effect.target))
                case "read":
                    yield _file(FileEntry(effect.path, read=1))
                case "written":
                    yield _file(FileEntry(effect.path, written=1))
                case "edited":
                    yield _file(FileEntry(effect.path, edited=1))
                case other:
                    assert_never(other)


def _of_patch(patched: list[tuple[str, str, str]], state: State) -> Iterator[Ledger]:
    for action, path, target in patched:
        if state:
            yield _file(_unchanged(path, state))
        elif action == "Add":
            yield _file(FileEntry(path, created=1))
        elif action == "Delete":
            yield _file(FileEntry(path, state="deleted"))
        else:
            yield _file(FileEntry(path, edited=1, state="moved" if target else "", moved_to=target))


def _change(path: str, call: Block, results: Results) -> FileEntry:
    if results.state:
        return _unchanged(path, results.state)
    if not tools.replaces_a_file(call):
        return FileEntry(path, edited=1)
    is_new = tools.name_of(call) in ("create", "create_file") or tools.command_of_editor(call) == "create"
    if is_new or any(_CREATED.search(block.text[:200]) for block in results.blocks):
        return FileEntry(path, created=1)
    return FileEntry(path, written=1)


def _unchanged(path: str, state: State) -> FileEntry:
    return FileEntry(path, failed=int(state == "failed"), state=state)


def _file(entry: FileEntry) -> Ledger:
    return Ledger(changed=(entry,)) if entry.is_changed else Ledger(read=(entry,))


def worked_on(call: Block, results: Results) -> list[str]:
    """What the call works on; the open file of SWE-agent where it names none, or less than its whole path."""
    paths = tools.paths(call)
    if len(paths) < 2:
        found = tools.open_file(results.text)
        if found and (not paths or found.endswith(f"/{paths[0]}")):
            return [found]
    return paths


def _todos(call: Block, results: Results) -> Iterator[Ledger]:
    name = tools.name_of(call)
    if name in tools.TODO_LISTS:
        path = tools.path_of(call)
        # A list that went was replaced by a later call.
        if not results.is_refused and not (path and tools.gap_of(tools.value_of(call, path))):
            yield Ledger(todos=tuple(_todo_list(tools.arguments_of(call) or {})), is_whole_list=True)
    elif name in tools.TASK_TOOLS and not results.is_refused:
        arguments = tools.arguments_of(call) or {}
        told = _TASK_NUMBER.search(results.text[:200])
        number = arguments.get("taskId") or (told[1] if told else "")
        text = arguments.get("subject") or arguments.get("description") or ""
        if isinstance(number, str) and isinstance(text, str) and re.fullmatch(r"\w+", number):
            status = _status(arguments.get("status") or ("pending" if name == "taskcreate" else ""))
            yield Ledger(todos=(Todo(text, status, number),))


def _todo_list(arguments: Mapping[str, Any]) -> Iterator[Todo]:
    entries = next((arguments[key] for key in tools.ARGUMENTS if key in arguments), ())
    if isinstance(entries, str):
        for line in entries.split("\n"):
            box = _CHECKBOX.fullmatch(line)
            if box:
                yield Todo(box[2].strip(), _CHECKS.get(box[1], "pending"))
        return
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict):
            text = tools.words_of(entry)
            if text:
                yield Todo(text, _status(entry.get("status") or "pending"))


def _status(value: object) -> str:
    return re.sub(r"[^a-z]+", "_", str(value).lower())[:20].strip("_")
