"""Records of a session of Claude Code by their numbers: each hangs on the one that it names."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from build import LONG, call, result, text, thinking

Json = dict[str, Any]
SESSION = "5e551011-0000-4000-8000-000000000000"
MODEL = "claude-sonnet-4-5-20250929"


class Case(NamedTuple):
    """The records, and what is sent of them: per turn the call ids or texts of its blocks."""

    records: list[Json]
    turns: list[list[str]]


def uuid(number: int) -> str:
    return f"{number:08}-0000-4000-8000-000000000000"


def record(number: int, parent: int | None, kind: str, second: int | None = None, **keys: Any) -> Json:
    """A record of the tree, written in that second of the session."""
    minutes, seconds = divmod(number if second is None else second, 60)
    return {
        "parentUuid": None if parent is None else uuid(parent),
        "isSidechain": False,
        "type": kind,
        **keys,
        "uuid": uuid(number),
        "timestamp": f"2026-03-02T09:{minutes:02}:{seconds:02}.000Z",
        "sessionId": SESSION,
    }


def said(number: int, parent: int | None, content: Any, **keys: Any) -> Json:
    return record(number, parent, "user", message={"role": "user", "content": content}, **keys)


def reply(number: int, parent: int | None, name: str, *content: Json, model: str = MODEL, **keys: Any) -> Json:
    """A line of the assistant's message of that name."""
    message = {"id": name, "type": "message", "role": "assistant", "model": model, "content": list(content)}
    return record(number, parent, "assistant", message=message, **keys)


def answer(number: int, parent: int, *calls: str) -> Json:
    return said(number, parent, [result(name, f"result of {name}") for name in calls])


def chain(*lines: str, start: int = 1) -> list[Json]:
    """Records that hang each on the one before, by words with " / " between them.

    "m1: one", "m1 calls a" and "m1 thinks it over" are lines of the message m1, "a answers" is the result of the call;
    anything else is what the user said.
    """
    records: list[Json] = []
    for number, words in enumerate(" / ".join(lines).split(" / "), start):
        parent = number - 1 or None
        if found := re.fullmatch(r"(\w+)(:| calls| thinks) (.*)", words):
            name, how, what = found.groups()
            made: dict[str, Callable[[str], Json]] = {":": text, " calls": call, " thinks": thinking}
            records.append(reply(number, parent, name, made[how](what)))
        elif words.endswith(" answers"):
            records.append(answer(number, number - 1, words.removesuffix(" answers")))
        else:
            records.append(said(number, parent, words))
    return records


def queued(number: int, parent: int, prompt: str) -> Json:
    """What the user typed while the agent worked."""
    return record(number, parent, "attachment", attachment={"type": "queued_command", "prompt": prompt})


def boundary(number: int, **metadata: Any) -> Json:
    keys: Json = {"content": "Conversation compacted", "level": "info", "isMeta": False}
    return record(
        number, None, "system", subtype="compact_boundary", compactMetadata={"trigger": "auto", **metadata}, **keys
    )


def summary(number: int, parent: int) -> Json:
    return said(number, parent, "the summary", isCompactSummary=True, isVisibleInTranscriptOnly=True)


def prompt_note(leaf: int | None, **keys: Any) -> Json:
    named = None if leaf is None else uuid(leaf)
    return {"type": "last-prompt", "lastPrompt": "go", "leafUuid": named, "sessionId": SESSION, **keys}


GO = said(1, None, "go")
OLD = [GO, reply(2, 1, "m1", text("one")), said(3, 2, "more"), reply(4, 3, "m2", text("two"))]
OLD_TURNS = [["go"], ["one"], ["more"], ["two"]]
"""Two requests with their answers, and what is sent of them."""

OTHER_TURNS = [["go"], ["one"], ["instead"], ["other"]]
"""What is sent where the user went back and asked something else the second time."""


def _looking_around() -> list[Json]:
    records = [said(1, None, "Please find the bug.")]
    for at in range(2, 12, 2):
        read = call(f"toolu_{at}", "Read", file_path=f"src/file{at}.py")
        records.append(reply(at, at - 1, f"msg_{at}", text("I look."), read))
        records.append(said(at + 1, at, [result(f"toolu_{at}", LONG)]))
    return [*records, reply(12, 11, "msg_12", text("Found it."))]


LOOKING_AROUND = _looking_around()
"""A request, five reads of long files, a last word (record 12): enough to summarize."""
