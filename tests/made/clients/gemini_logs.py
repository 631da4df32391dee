"""Chats of Gemini CLI as the logs that the client writes: versions of messages, results told twice, lists of all."""

from __future__ import annotations

import json
from typing import Any

from chats_of_clients import gemini_chats
from hypothesis import strategies as st

Json = dict[str, Any]


def log(messages: list[Json], resumed_at: int | None = None, *, keeps_calls: bool = False) -> list[Json]:
    """The lines of a log. A client that goes on before the message of this number says all again first.

    In the minute in which the session began it forgets what came of calls beside the messages; later it `keeps_calls`.
    """
    lines: list[Json] = [{"sessionId": "s", "projectHash": "h", "kind": "main"}]
    for number, message in enumerate(messages):
        if number == resumed_at:
            again = [said for earlier in messages[:number] for said in _again(earlier, keeps_calls)]
            lines.append({"$set": {"messages": again}})
        if message.get("toolCalls"):
            lines.append({key: value for key, value in message.items() if key != "toolCalls"})
        lines += [message, *_answers(message, "answers"), {"$set": {"lastUpdated": message["timestamp"]}}]
    return lines


def _answers(message: Json, name: str) -> list[Json]:
    """The results of a message in one of the user, as the API gets them."""
    results = [call["result"] for call in message.get("toolCalls") or []]
    parts = [part for result in results for part in (result if isinstance(result, list) else [result])]
    told = [part for part in parts if "functionResponse" in part]
    head = {"id": f"{message['id']}_{name}", "timestamp": message["timestamp"], "type": "user"}
    return [{**head, "content": told}] if told else []


def _again(message: Json, keeps_calls: bool) -> list[Json]:
    """A message as the client says it when it goes on: calls among the parts, and results behind them, twice.

    Calls that are kept beside the content have each the results of all.
    """
    calls = message.get("toolCalls") or []
    bare = {key: value for key, value in message.items() if key in ("id", "timestamp", "type")}
    results = [part for answers in _answers(message, "response") for part in answers["content"]]
    if keeps_calls and results:
        bare["toolCalls"] = [{**call, "result": results} for call in calls]
    content = message["content"]
    parts = [{"text": content}] if isinstance(content, str) and content else content or []
    if not any(isinstance(part, dict) and "functionCall" in part for part in parts):
        asked = [{"functionCall": {key: call[key] for key in ("id", "name", "args")}} for call in calls]
        parts = [*(parts if isinstance(parts, list) else [parts]), *asked]
    return [{**bare, "content": parts}, *_answers(message, "response"), *_answers(message, "answers")]


def gemini_files(turns: st.SearchStrategy[list[Json]]) -> st.SearchStrategy[bytes]:
    """Chats as one object, and as logs."""
    return st.one_of(gemini_chats(turns), gemini_logs(gemini_chats(turns)))


@st.composite
def gemini_logs(draw: st.DrawFn, chats: st.SearchStrategy[bytes]) -> bytes:
    """The log of a chat, of which results that are no objects are left as the client would give them."""
    messages = json.loads(draw(chats))["messages"]
    for message in messages:
        for call in message.get("toolCalls") or []:
            call["result"] = [_response(call)]
    resumed_at = draw(st.one_of(st.none(), st.integers(0, max(0, len(messages) - 1))))
    lines = log(messages, resumed_at, keeps_calls=draw(st.booleans()))
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def _response(call: Json) -> Json:
    result = call["result"]
    part = result[0] if isinstance(result, list) else result
    if isinstance(part, str):
        return {"functionResponse": {"id": call["id"], "name": call["name"], "response": {"output": part}}}
    return dict(part)
