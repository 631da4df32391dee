"""Broken sessions as public threads describe them, made up: what happened, the file, and what is changed in it."""

import json
from typing import Any, NamedTuple

from build import assistant, call, result, text, thinking, user
from claude_tree import boundary, reply, said, summary, uuid
from helpers import as_lines
from pi_sessions import HEADER, answer
from pi_sessions import call as pi_call
from pi_sessions import said as pi_said
from pictures import picture
from rollout_items import function, head, items, output
from rollouts import message

Json = dict[str, Any]


class Broken(NamedTuple):
    """`changes` are the rules of the changes with their lines; `messages` how many there are afterwards."""

    data: bytes
    changes: list[tuple[str, int | None]]
    messages: int


def answer_to(number: int, parent: int, name: str, content: str = "done") -> Json:
    return said(number, parent, [result(name, content)], sourceToolAssistantUUID=uuid(parent))


def worked() -> list[Json]:
    """A session of Claude Code: a request, two calls with their results, an answer, and the next request."""
    return [
        said(1, None, "please look"),
        reply(2, 1, "m1", call("a")),
        answer_to(3, 2, "a"),
        reply(4, 3, "m2", call("b")),
        answer_to(5, 4, "b"),
        reply(6, 5, "m3", text("I looked"), stop_reason="end_turn"),
        said(7, 6, "go on"),
    ]


def lines_of(*records: Json) -> list[bytes]:
    return as_lines(list(records)).splitlines()


def file_of(*lines: bytes) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def usage(sent: int, cached: int) -> dict[str, int]:
    keys = {"input_tokens": 10, "cache_creation_input_tokens": sent - cached - 10, "cache_read_input_tokens": cached}
    return {**keys, "output_tokens": 5}


def answered(number: int, parent: int, *numbers: int) -> dict[str, Any]:
    """An answer that ends a turn, with its recorded usage where one is given."""
    record = reply(number, parent, f"m{number}", text(f"answer {number}"))
    record["message"] |= {"stop_reason": "end_turn"} | ({"usage": usage(*numbers)} if numbers else {})
    return record


def turns(*, cached: int, back: bool = False) -> list[dict[str, Any]]:
    """Three turns, of which the last one's request is lost. `back`: it followed the first turn, not the second."""
    return [
        said(1, None, "one"),
        answered(2, 1, 1_000, 0),
        said(3, 2, "two"),
        answered(4, 3, 2_000, 900),
        answered(6, 5, 1_500 if back else 3_000, cached),
        said(7, 6, "four"),
    ]


def _pi() -> list[Json]:
    return [
        HEADER,
        pi_said("1", None, "user", "look"),
        pi_said("2", "1", "assistant", [pi_call("a")], stopReason="toolUse"),
        answer("3", "2", "a"),
        pi_said("4", "3", "assistant", [text("done")], stopReason="stop"),
    ]


def _image(width: int, height: int) -> Json:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture(width, height)}}


def _event(number: int, kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": f"e{number}", "timestamp": "2026-01-01", "parentId": f"e{number - 1}"}


def _qwen(number: int, kind: str, role: str, *parts: Json, parent: int | None) -> Json:
    link = None if parent is None else f"q{parent}"
    value = {"uuid": f"q{number}", "parentUuid": link, "sessionId": "s", "timestamp": f"2026-01-01T00:00:{number:02}Z"}
    return {**value, "type": kind, "message": {"role": role, "parts": list(parts)}}


def broken() -> dict[str, Broken]:
    """The sessions by what happened to them."""
    whole = lines_of(*worked())
    torn = [*whole[:5], whole[5][:90]]
    loop = [*worked()]
    loop[0] = loop[0] | {"parentUuid": uuid(5)}
    events = lines_of(
        _event(1, "user.message", content="look"),
        _event(2, "assistant.message", content="", toolRequests=[{"toolCallId": "c", "name": "bash", "arguments": {}}]),
        _event(3, "tool.execution_complete", toolCallId="c", success=True, result={"content": "done"}),
        _event(4, "assistant.message", content="I looked", toolRequests=[]),
    )
    compacted = [
        *worked(),
        boundary(8),
        summary(9, 8),
        said(11, 10, "after the summary"),
        reply(12, 11, "m4", text("ok")),
    ]
    rollout = lines_of(head(), *items(message("user", "look"), function("a"), output("a"), message("assistant", "ok")))
    roo = [user("look") | {"ts": 1}, assistant([call("a")]) | {"ts": 2}, user([result("a")]) | {"ts": 3}]
    qwen = [
        _qwen(1, "user", "user", {"text": "look"}, parent=None),
        _qwen(2, "assistant", "model", {"functionCall": {"id": "a", "name": "f", "args": {}}}, parent=1),
        _qwen(4, "assistant", "model", {"text": "I looked"}, parent=3),
    ]
    return {
        # anthropics/claude-code issue 49876: the client reads only what is before the zeros.
        "zeros between records": Broken(file_of(*whole[:3], b"\0" * 300, *whole[3:]), [("unreadable_lines", 4)], 7),
        # issue 76059
        "zeros behind a record and at the end": Broken(
            file_of(whole[0], whole[1] + b"\0" * 90, *whole[2:]) + b"\0" * 900,
            [("unreadable_lines", 2), ("unreadable_lines", 8)],
            7,
        ),
        "a torn last line": Broken(b"\n".join(torn), [("unreadable_lines", 6)], 5),
        # github/copilot-cli issue 4098
        "a torn record in front of a whole one": Broken(
            file_of(*events[:3], events[3][:40] + events[3]), [("unreadable_lines", 4)], 4
        ),
        # openai/codex issue 24425
        "records without a line break between them": Broken(
            file_of(rollout[0], rollout[1] + rollout[2], *rollout[3:]), [("unreadable_lines", 2)], 4
        ),
        "a history of Roo Code that was cut off": Broken(
            json.dumps([*roo, assistant("and then") | {"ts": 4}]).encode()[:-20], [("unreadable_lines", 1)], 3
        ),
        # anthropics/claude-code issues 22107, 58554
        "a parent that was never written": Broken(file_of(*whole[:4], *whole[5:]), [("parents_exist", 5)], 7),
        # issue 46603
        "a parent that a compaction dropped": Broken(as_lines(compacted), [("parents_exist", 10)], 3),
        "a loop in the chain": Broken(as_lines(loop), [("parents_end", 1)], 7),
        # QwenLM/qwen-code issue 6501
        "a missing link in a session of Qwen Code": Broken(
            as_lines(qwen), [("parents_exist", 3), ("tool_calls_answered", 2)], 2
        ),
        "a missing entry of pi": Broken(
            as_lines([_pi()[0], *_pi()[1:3], _pi()[4]]), [("parents_exist", 4), ("tool_calls_answered", 3)], 2
        ),
        # anthropics/claude-code issues 473, 3003: a call that was interrupted.
        "a call without a result": Broken(
            as_lines([user("look"), assistant([text("well"), call("a")]), user("never mind"), assistant("fine")]),
            [("calls_answered_next", 2)],
            4,
        ),
        # issues 8484, 11042
        "a result without a call": Broken(
            as_lines([user("look"), assistant("well"), user([result("a"), text("and?")]), assistant("fine")]),
            [("results_follow_calls", 3)],
            4,
        ),
        "a result behind the next word of the user": Broken(
            as_lines([user("look"), assistant([call("a")]), user("wait"), assistant("yes"), user([result("a")])]),
            [("calls_answered_next", 5)],
            4,
        ),
        # issue 20901
        "records written twice": Broken(
            as_lines([user("look"), *[assistant([call("a")]), user([result("a")])] * 2, assistant("fine")]),
            [("call_ids_unique", 4), ("call_ids_unique", 5)],
            4,
        ),
        # issues 55868, 60313
        "empty texts": Broken(
            as_lines([user("look"), assistant([text(""), text("well")]), user([text("\n")]), assistant("fine")]),
            [("texts_not_blank", 2), ("texts_not_blank", 3)],
            2,
        ),
        "thinking of another model": Broken(
            as_lines([user("look"), assistant([thinking() | {"signature": ""}, text("well")]), user("and?")]),
            [("thinking_is_signed", 2)],
            3,
        ),
        # issues 34120, 36535
        "an image too large among many": Broken(
            as_lines([user([_image(9, 9)] * 20 + [_image(2_162, 322), text("look")]), assistant("fine")]),
            [("images_not_too_large", 1)],
            2,
        ),
        # issues 1939, 6273
        "half an emoji": Broken(
            as_lines(
                [user("look"), assistant([call("a", command="\ud83d")]), user([result("a", "\ude00 ok")])],
                ensure_ascii=True,
            ),
            [("texts_are_unicode", 2), ("texts_are_unicode", 3)],
            3,
        ),
    }
