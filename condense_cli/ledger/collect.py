"""Collect the ledger of a stretch of conversation from its calls, command lines and results.

Only plain names count. Words with variables or wildcards, and unknown programs, are left alone.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import accumulate
from typing import Any, Final, Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message
from ..core.values import BlockKind, Role
from ..extractive.answers import is_typed, pasted_units, words_in
from ..extractive.parts import LEFT_OUT, sections_of_note
from ..extractive.units import render, sentences, split
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

_HEREDOC: Final = lazy_pattern(r"(?<!<)<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
_LONGEST: Final = 4_000
"""Longest command line, here-documents aside. Longer ones are programs whose effect on files cannot be told."""

_SEPARATORS: Final = frozenset({"&&", "||", ";", "|", "&", "|&", ";;", "(", ")"})
_PLAIN: Final = lazy_pattern(r"[^\s$`*?{}\[\]<>|&;()'\"!=,:@]+")
_ASSIGNMENT: Final = lazy_pattern(r"[A-Za-z_]\w*=.*")
_PREFIXES: Final = frozenset({"sudo", "command", "time", "nohup", "then", "do", "else"})
_PRINTERS: Final = frozenset({"cat", "head", "tail", "nl", "less", "more", "bat", "Get-Content"})
_SCRIPTS: Final = ("-e", "-f", "--expression", "--file")
"""Options of sed that hold or name the script; otherwise it is the first word."""

_WITH_VALUE: Final = {
    "head": frozenset({"-n", "-c"}),
    "tail": frozenset({"-n", "-c"}),
    "nl": frozenset({"-b", "-n", "-v", "-w"}),
    "Get-Content": frozenset({"-TotalCount", "-Head", "-First", "-Tail", "-Last", "-Encoding"}),
    "sed": frozenset(_SCRIPTS),
}
"""Options whose value is a word of its own."""

_SHORT_REPLY: Final = 60
_LONGEST_ENDING: Final = 200
"""Most characters of a reply that says little without its question, and of what is shown of that."""

Kind = Literal["read", "written", "edited", "deleted", "moved"]


class Effect(Struct, frozen=True):
    """An effect on a file; `target` is its new path if it is moved."""

    kind: Kind
    path: str
    target: str = ""


def file_effects(command: str) -> Iterator[Effect]:
    """Yield the effects of a command line in order; paths are joined to the folder of an earlier `cd` in it."""
    code = "\n".join(_without_here_documents(command))
    if len(code) > _LONGEST:
        return
    lexer = shlex.shlex(code.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=True)
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return
    folder = ""
    for segment in _segments(words):
        if segment[0] == "cd" and len(segment) == 2 and _PLAIN.fullmatch(segment[1]):
            folder = _joined(folder, segment[1])
            continue
        for effect in _effects(segment):
            target = _joined(folder, effect.target) if effect.target else ""
            yield Effect(effect.kind, _joined(folder, effect.path), target)


def _without_here_documents(command: str) -> Iterator[str]:
    ending = None
    for line in command.split("\n"):
        if ending is not None:
            ending = None if line.strip() == ending else ending
            continue
        yield line
        opened = _HEREDOC.search(line) if "<<" in line else None
        ending = opened[2] if opened else None


def _segments(words: Sequence[str]) -> Iterator[list[str]]:
    segment: list[str] = []
    for word in (*words, ";"):
        if word not in _SEPARATORS:
            if segment or not (word in _PREFIXES or _ASSIGNMENT.fullmatch(word)):
                segment.append(word)
        elif segment:
            yield segment
            segment = []


def _effects(segment: list[str]) -> Iterator[Effect]:
    words, targets = _redirections(segment)
    program, arguments = (words[0], words[1:]) if words else ("", [])
    # With --cached it stays on the disk.
    if program == "git" and arguments[:1] in (["rm"], ["mv"]) and "--cached" not in arguments:
        program, arguments = arguments[0], arguments[1:]
    operands = _operands(program, arguments)
    if program == "sed" and not any(word.startswith(_SCRIPTS) for word in arguments):
        operands = operands[1:]
    files = [word for word in operands if _PLAIN.fullmatch(word)]
    if program in _PRINTERS:
        yield from (Effect("read", word) for word in files if not word.startswith("+"))
    elif program == "sed":
        in_place = any(re.match(r"-[a-zA-Z]*i|--in-place", word) for word in arguments)
        yield from (Effect("edited" if in_place else "read", word) for word in files)
    elif program == "rm":
        yield from (Effect("deleted", word) for word in files)
    elif program == "mv" and len(files) == 2:
        target = files[1] + files[0].rpartition("/")[2] if files[1].endswith("/") else files[1]
        yield Effect("moved", files[0], target)
    elif program == "cp" and len(files) == 2 and not files[1].endswith("/"):
        yield Effect("written", files[1])
    elif program in ("touch", "tee"):
        yield from (Effect("written", word) for word in files)
    yield from (Effect("written", target) for target in targets)


def _operands(program: str, arguments: Sequence[str]) -> list[str]:
    """Return the words that are neither options nor their values, such as the empty one after `sed -i` on a Mac."""
    with_value = _WITH_VALUE.get(program, ())
    before = ("", *arguments)
    return [
        word
        for option, word in zip(before, arguments, strict=False)
        if word and not word.startswith("-") and option not in with_value
    ]


def _redirections(segment: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off redirections; return the other words, and the files that output goes to."""
    words: list[str] = []
    targets: list[str] = []
    rest = iter(segment)
    for word in rest:
        if word in (">", ">>", ">|", "&>", ">&"):
            target = next(rest, "")
            is_error = bool(words) and words[-1] == "2"
            if words and words[-1] in ("1", "2"):
                words.pop()
            if not is_error and _PLAIN.fullmatch(target) and not target.isdigit() and not target.startswith("/dev/"):
                targets.append(target)
        elif word.startswith("<"):
            next(rest, "")
        else:
            words.append(word)
    return words, targets


def _joined(folder: str, path: str) -> str:
    if not folder or path.startswith(("/", "~")):
        return path
    return f"{folder.rstrip('/')}/{path.removeprefix('./')}"


_LONGEST_COMMAND: Final = (300, 60)

_CREATED: Final = lazy_pattern(r"\bcreat(?:ed|ing)\b|^New file\b", re.IGNORECASE)
_CHECKBOX: Final = lazy_pattern(r"\s*(?:[-*]\s*)?\[(.)\]\s*(.*)")
_CHECKS: Final = {" ": "pending", "x": "completed", "X": "completed", "-": "in_progress", "~": "in_progress"}
_NAMED: Final = lazy_pattern(r"(\S+(?: \(\w+\))?) (.+)")
_TASK_NUMBER: Final = lazy_pattern(r"#(\w+)", re.ASCII)


def collect(messages: Sequence[Message]) -> Ledger:
    """Collect what was done in messages. A call without its result among them counts as done."""
    results = results_of(messages)
    outcomes = outcomes_of(messages)
    entries: list[Ledger] = []
    said = ""
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if message.role is Role.ASSISTANT and block.kind is BlockKind.TEXT and not block.summarizes:
                said = block.text
            if block.kind is BlockKind.TOOL_CALL:
                entries += _of_call(block, results.get(id(block), Results()))
            elif block.summarizes and message.is_note:
                entries += _of_note(block)
            elif is_typed(message, block):
                asked = ending_of(said) if len(block.text) <= _SHORT_REPLY else ""
                asked = asked if "?" in asked else ""
                request = UserRequest(_request(block.text), 1, asked, outcomes.get((position, number), ""))
                entries.append(Ledger(requests=(request,)))
                said = ""
            elif words := words_in(block):
                entries.append(Ledger(requests=(UserRequest(words),)))
            elif block.kind is BlockKind.IMAGE:
                entries.append(Ledger(left_out=LeftOutEntries(images=1)))
            elif block.is_document:
                entries.append(Ledger(left_out=LeftOutEntries(documents=1)))
    return merge_all(entries)


def merge_all(ledgers: Sequence[Ledger]) -> Ledger:
    """Merge ledgers of consecutive stretches in pairs, so that long ones are not copied for each entry."""
    while len(ledgers) > 1:
        ledgers = [reduce(merge, ledgers[start : start + 2]) for start in range(0, len(ledgers), 2)]
    return ledgers[0] if ledgers else Ledger()


def ending_of(text: str) -> str:
    """Return the last sentences of what the assistant said, in one line; from its last question on, if that is near."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if not lines:
        return ""
    asked = next((line for line in reversed(lines[-12:]) if "?" in line), lines[-1])
    found = ""
    for sentence in reversed(sentences(asked)):
        if found and len(sentence) + len(found) > _LONGEST_ENDING:
            break
        found = sentence + found
    found = found.strip()
    return found if len(found) <= _LONGEST_ENDING else "…" + found[-_LONGEST_ENDING:]


def outcomes_of(messages: Sequence[Message]) -> dict[tuple[int, int], str]:
    """Return what came of each short order, by (message, block): the first sentence with which the assistant ended.

    An order that the assistant still works on, was interrupted at, or answers with a question has none.
    """
    found: dict[tuple[int, int], str] = {}
    order: tuple[int, int] | None = None
    ending = ""
    for position, message in enumerate(messages):
        if message.role is Role.ASSISTANT:
            ends = all(block.kind in (BlockKind.TEXT, BlockKind.THINKING) for block in message.blocks)
            said = [block.text for block in message.blocks if block.kind is BlockKind.TEXT]
            ending = said[-1] if ends and said else ""
            if order and (sentence := _first_sentence(ending)):
                found[order] = sentence
            elif order:
                found.pop(order, None)
            continue
        for number, block in enumerate(message.blocks):
            if is_typed(message, block):
                order = (position, number) if len(block.text) <= _SHORT_REPLY and "?" not in block.text else None
    return found


def _first_sentence(text: str) -> str:
    """Return the first sentence of an answer that is no question; empty if there is none."""
    lines = (line.strip(" *>-") for line in text.split("\n") if not line.startswith("#"))
    line = next(filter(None, lines), "")
    sentence = sentences(line)[0].strip(" *")
    return sentence[:_LONGEST_ENDING] if "?" not in ending_of(text) else ""


def _request(text: str) -> str:
    """Return what the user wrote, long pasted parts without their middle."""
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


def _of_note(note: Block) -> Iterator[Ledger]:
    """Yield the uses of files that a note names, but for paths that it shortens."""
    named: list[tuple[str, str]] = []
    for heading, body in sections_of_note(note.text):
        if heading.tool == LEFT_OUT:
            calls = (_NAMED.fullmatch(call) for call in body.split("; "))
            named += [(call[1], path) for call in calls if call for path in call[2].split(", ")]
        else:
            named.append((heading.tool, heading.argument or body))
    for tool, path in named:
        name, _, ending = tool.partition(" (")
        name, _, command = name.partition(" ")
        arguments = json.dumps({"path": path, "command": command})
        call = replace(note, kind=BlockKind.TOOL_CALL, content=arguments, tool=name, summarizes=False)
        is_change = tools.writes_a_file(call)
        if not path or "…" in path:
            continue
        if is_change and ending:
            yield _file(_unchanged(path, "denied" if ending.startswith("denied") else "failed"))
        elif is_change:
            yield _file(_change(path, call, Results()))
        elif tools.reads_a_file(call) and not ending:
            yield _file(FileEntry(path, read=1))


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
    """Return the file that the call works on; the open file of SWE-agent if it names none, or only part of its
    path."""
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
        # A later call replaced that list.
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
