"""Transcripts of any size in shapes that invite superlinear work, for `hostile.py`.

Each shape is a function from a number of bytes to the messages of an API, or the records of a session.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

Records = list[dict[str, Any]]
Shape = Callable[[int], Records]

_WORDS: Final = (
    "parse", "value", "error", "line", "token", "cache", "index", "buffer",
    "path", "test", "result", "state", "reader", "writer", "field", "node",
)  # fmt: skip


def line(number: int, size: int = 60) -> str:
    """Return a unique line per number, of about `size` characters: words, a name and a path."""
    picked = int.from_bytes(hashlib.blake2b(number.to_bytes(8), digest_size=8).digest())
    words = [_WORDS[(picked >> 4 * shift) % 16] for shift in range(12)]
    return f"{' '.join(words)} src/{words[0]}_{number}.py:{number % 900}"[-size:]


def lines(size: int, start: int = 0) -> str:
    """Return text of about this size without repeated lines."""
    return "\n".join(line(number) for number in range(start, start + size // 61 + 1))


def repeated(unit: str, size: int) -> str:
    return unit * max(1, size // max(1, len(unit.encode())))


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def turn(identifier: str, said: Any, tool: str = "Bash", **arguments: Any) -> Records:
    """Return a call and its result."""
    call = {"type": "tool_use", "id": identifier, "name": tool, "input": arguments or {"command": f"run {identifier}"}}
    return [assistant([call]), user([{"type": "tool_result", "tool_use_id": identifier, "content": said}])]


def session(*middle: dict[str, Any]) -> Records:
    """Put messages between a request and newest turns, which presets leave alone."""
    newest = [message for number in range(6) for message in turn(f"new{number}", line(number))]
    return [user("Please find out why the tests fail."), *middle, *newest, assistant("Done.")]


def in_a_result(text: str) -> Records:
    return session(*turn("a", text))


def in_the_users_words(text: str) -> Records:
    return session(assistant("Yes?"), user(text), assistant("I see."))


def in_the_assistants_words(text: str) -> Records:
    return session(assistant(text), user("Go on."))


def in_an_argument(text: str) -> Records:
    return session(*turn("a", "ok", "Write", file_path="src/a.py", content=text))


PLACES: Final = (in_a_result, in_the_users_words, in_the_assistants_words, in_an_argument)
"""Places for a text."""


def _many(size: int, unit: Callable[[int], Records]) -> Records:
    """Repeat a unit, given its number, until the size is reached."""
    found: Records = []
    filled = 0
    for number in itertools.count():
        if filled >= size:
            return session(*found)
        made = unit(number)
        found += made
        filled += len(str(made))
    raise AssertionError


def small_messages(size: int) -> Records:
    return _many(size, lambda number: [assistant(f"Step {number}."), user(f"And {number}?")])


def small_turns(size: int) -> Records:
    return _many(size, lambda number: turn(f"t{number}", line(number)))


def equal_messages(size: int) -> Records:
    return _many(size, lambda _: [assistant("Here you are."), user("Once more, please.")])


def equal_turns(size: int) -> Records:
    text = lines(600)
    return _many(size, lambda number: turn(f"t{number}", text, "Read", file_path="src/a.py"))


def equal_ids(size: int) -> Records:
    return _many(size, lambda number: turn("same", line(number)))


def many_blocks(size: int) -> Records:
    return session(assistant("Yes?"), user([{"type": "text", "text": line(n)} for n in range(size // 90)]))


def parallel_calls(size: int) -> Records:
    numbers = range(size // 260)
    calls = [{"type": "tool_use", "id": f"p{n}", "name": "Bash", "input": {"command": line(n)}} for n in numbers]
    results = [{"type": "tool_result", "tool_use_id": f"p{n}", "content": line(n + 7)} for n in numbers]
    return session(assistant(calls), user(results))


def many_arguments(size: int) -> Records:
    """One call with many arguments, half of them equal to another."""
    values = {f"value{number}": lines(150, number // 2 * 5) for number in range(size // 230)}
    return session(*turn("a", "ok", "Apply", **values))


def deep_arguments(size: int) -> Records:
    """Calls with deeply nested arguments."""

    def deep(number: int) -> Records:
        value: Any = line(number)
        for level in range(120):
            value = {"a": value} if level % 2 else [value]
        return turn(f"d{number}", "ok", "Apply", value=value)

    return _many(size, deep)


def deep_in_one(size: int) -> Records:
    """A text of brackets that open and never close."""
    return in_a_result(repeated('{"a":[', size))


def todo_lists(size: int) -> Records:
    def listed(number: int) -> Records:
        todos = [{"content": line(n), "status": "completed" if n < number % 20 else "pending"} for n in range(20)]
        return turn(f"l{number}", "Todos were changed.", "TodoWrite", todos=todos)

    return _many(size, listed)


def one_todo_list(size: int) -> Records:
    todos = [{"content": line(number), "status": "pending"} for number in range(size // 100)]
    return session(*turn("l", "ok", "TodoWrite", todos=todos), *turn("m", "ok", "TodoWrite", todos=todos[::2]))


def edits(size: int) -> Records:
    def edit(number: int) -> Records:
        old, new = lines(300, number * 3), lines(300, number * 3 + 2)
        return turn(f"e{number}", "Done.", "Edit", file_path="src/a.py", old_string=old, new_string=new)

    return _many(size, edit)


def overlapping_reads(size: int) -> Records:
    """Reads of one file, each a few lines further on."""

    def read(number: int) -> Records:
        text = "\n".join(f"{n:>6}→{line(n)}" for n in range(number * 3, number * 3 + 20))
        return turn(f"r{number}", text, "Read", file_path="src/a.py", offset=number * 3)

    return _many(size, read)


def claude_code(size: int) -> Records:
    """A session of Claude Code with many small records."""
    return _claude_lines(size, lambda number: (f"u{number}", f"u{number - 1}" if number else None))


def equal_uuids(size: int) -> Records:
    """All records have one uuid and are their own parents."""
    return _claude_lines(size, lambda number: ("same", "same" if number else None))


def many_branches(size: int) -> Records:
    """Every second record begins a branch at the first one."""
    return _claude_lines(size, lambda number: (f"u{number}", "u0" if number else None))


def _claude_lines(size: int, ids: Callable[[int], tuple[str, str | None]]) -> Records:
    def record(number: int) -> dict[str, Any]:
        uuid, parent = ids(number)
        kind = "assistant" if number % 2 else "user"
        content: Any = [{"type": "text", "text": line(number)}] if number % 2 else line(number)
        message = {"role": kind, "content": content} | ({"id": f"msg_{number}"} if number % 2 else {})
        return {
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/me", "sessionId": "s",
            "version": "2.0.0", "type": kind, "message": message, "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z",
        }  # fmt: skip

    return [record(number) for number in range(size // 330 + 2)]


def references(size: int) -> Records:
    """Half of it is one result, the other half refers to it."""
    text = lines(size // 2)
    return session(*turn("a", repeated("[see the next Read of src/b.py #123456]\n", size // 2)), *_read(text))


def references_to_lines(size: int) -> Records:
    each = "".join(f"[see lines {n}-{n + 9} of the next Read of src/b.py #123456]\n" for n in range(1, size // 110))
    return session(*turn("a", each), *_read(lines(size // 2)))


def references_that_alternate(size: int) -> Records:
    """References to several long results in turns."""
    files = [_read(lines(size // 10, number * size), f"src/f{number}.py") for number in range(5)]
    each = "".join(f"[see line {n + 1} of the next Read of src/f{n % 5}.py #123456]\n" for n in range(size // 110))
    return session(*turn("a", each), *itertools.chain(*files))


def references_above(size: int) -> Records:
    text = lines(size // 2)
    each = "".join(f"[see lines 1-{n} above #123456]\n" for n in range(1, size // 64))
    return in_a_result(f"{text}\n{each}")


def references_to_tags(size: int) -> Records:
    """Each reference names another tag; the user's text around them has many tags."""
    each = "".join(f"[see the next <tag{number}> #123456]\n" for number in range(size // 80))
    return session(assistant("Yes?"), user(each + repeated("<tag1>\nvalue\n</tag1>\n", size // 2)), assistant("Yes."))


def references_in_arguments(size: int) -> Records:
    values = {f"v{number:06}": f"[see v{number + 1:06} of this call #123456]" for number in range(size // 70)}
    return session(*turn("a", "ok", "Apply", **values))


def _read(text: str, path: str = "src/b.py") -> Records:
    return turn(path, text, "Read", file_path=path)


def markers(size: int) -> Records:
    return in_a_result("".join(f"[condense: {n % 90 + 1} lines left out #{n:08x}]\n" for n in range(size // 45)))


def summaries(size: int) -> Records:
    def summary(number: int) -> Records:
        mark = f"[condense: summary of 3 messages, {number + 2} follow #{number:08x}]\n{line(number)}"
        return [assistant("Go on."), user(mark)]

    return _many(size, summary)


def reminders(size: int) -> Records:
    """A user text that consists of client reminders only."""
    return in_the_users_words(repeated("<system-reminder>x</system-reminder>\n", size))


def words_and_reminders(size: int) -> Records:
    return in_the_users_words("Look:\n" + repeated("<system-reminder>x</system-reminder>\n", size))


def open_tags(size: int) -> Records:
    return in_the_users_words(repeated("<system-reminder>\n", size))


def _texts() -> Iterator[tuple[str, Shape]]:
    units = {
        "equal lines": "the very same line of text\n", "one word": "a", "line breaks": "\n", "spaces": " ",
        "short lines": "}\n", "fences": "```\n", "dots": "a.", "slashes": "a/", "numbers": "1\t", "quotes": '"',
    }  # fmt: skip
    for place in PLACES:
        where = place.__name__.replace("_", " ")
        yield f"one text {where}", _placed(place, lines)
        yield f"one line {where}", _placed(place, lambda size: lines(size).replace("\n", " "))
        for name, unit in units.items():
            yield f"{name} {where}", _placed(place, partial(repeated, unit))


def _placed(place: Callable[[str], Records], text: Callable[[int], str]) -> Shape:
    return lambda size: place(text(size))


_NAMED: Final[tuple[Shape, ...]] = (
    small_messages, small_turns, equal_messages, equal_turns, equal_ids, many_blocks, parallel_calls, many_arguments,
    deep_arguments, deep_in_one, todo_lists, one_todo_list, edits, overlapping_reads, claude_code, equal_uuids,
    many_branches, references, references_to_lines, references_that_alternate, references_above, references_to_tags,
    references_in_arguments, markers, summaries, reminders, words_and_reminders, open_tags,
)  # fmt: skip
SHAPES: Final[dict[str, Shape]] = {shape.__name__.replace("_", " "): shape for shape in _NAMED} | dict(_texts())
"""Every shape by name."""
