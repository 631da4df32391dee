"""Events of wire logs of Kimi Code."""

from typing import Any

from build import LONG

Json = dict[str, Any]
HEADER: Json = {"type": "metadata", "protocol_version": "1.4", "created_at": 1}


def said(text: str, kind: str = "user", role: str = "user") -> Json:
    message = {"role": role, "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": {"kind": kind}}
    return {"type": "context.append_message", "message": message, "time": 2}


def event(kind: str, **members: Any) -> Json:
    return {"type": "context.append_loop_event", "event": {"type": kind, **members}, "time": 3}


def step(name: str, *events: Json) -> list[Json]:
    usage = {"inputOther": 5, "inputCacheRead": 7, "inputCacheCreation": 0}
    return [event("step.begin", uuid=name), *events, event("step.end", uuid=name, usage=usage)]


def part(name: str, text: str, kind: str = "text") -> Json:
    return event("content.part", stepUuid=name, part={"type": kind, kind: text})


def call(name: str, identifier: str, tool: str = "Read") -> Json:
    return event("tool.call", stepUuid=name, toolCallId=identifier, name=tool, args={"path": "src/app.py"})


def answer(identifier: str, output: Any = LONG, **extra: Any) -> Json:
    return event("tool.result", toolCallId=identifier, result={"output": output, **extra})


def exchange() -> list[Json]:
    calls = [call("s1", "a"), call("s1", "b", "Bash")]
    return [
        said("Go on."),
        {"type": "llm.request", "model": "kimi-k2", "time": 2},
        *step(
            "s1",
            part("s1", "Hm.", "think"),
            part("s1", "I look."),
            *calls,
            answer("b", "no", isError=True),
            answer("a"),
        ),
        *step("s2", part("s2", "Done.")),
    ]
