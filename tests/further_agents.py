"""Generated conversations as further clients and tools write them down, from messages of chat completions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from agent_logs import Messages, agents, lines
from hypothesis import strategies as st

Json = dict[str, Any]


def text_of(message: Json) -> str:
    return agents.text_of(message.get("content"))  # type: ignore[no-any-return]


def copilot(messages: Messages) -> Iterator[Json]:
    """Events of Copilot CLI; each names the one before it."""
    parent: str | None = None

    def event(kind: str, **data: Any) -> Json:
        nonlocal parent
        id = f"e{number}-{kind}-{data.get('toolCallId', '')}"
        made = {"type": kind, "data": data, "id": id, "timestamp": "2026-07-01T09:00:00.000Z", "parentId": parent}
        parent = id
        return made

    number = 0
    yield event("session.start", sessionId="s", version=1, producer="copilot-agent", context={"cwd": "/src"})
    for number, message in enumerate(messages, 1):
        text = text_of(message)
        if message["role"] == "system":
            yield event("system.message", role="system", content=text)
        elif message["role"] == "user":
            yield event("user.message", content=text, transformedContent=f"<now>9:00</now>\n\n{text}", attachments=[])
        elif message["role"] == "assistant":
            calls = agents.calls_of(message)
            asked = [{"toolCallId": call["id"], "name": call["name"], "arguments": call["arguments"]} for call in calls]
            yield event("assistant.message", messageId=f"m{number}", model="gpt-5.6", content=text, toolRequests=asked)
            for call in calls:
                yield event(
                    "tool.execution_start", toolCallId=call["id"], toolName=call["name"], arguments=call["arguments"]
                )
        else:
            result = {"content": text, "detailedContent": f"\n{text}"}
            yield event("tool.execution_complete", toolCallId=message["tool_call_id"], success=True, result=result)


WRITABLE: dict[str, Callable[[Messages], bytes]] = {
    "copilot": lines(copilot),
}
"""The bytes of a file of each format, from messages of chat completions."""


def further_files(messages: st.SearchStrategy[Messages]) -> st.SearchStrategy[bytes]:
    """Files of every format that can be written."""
    return st.builds(lambda write, said: write(said), st.sampled_from(list(WRITABLE.values())), messages)
