"""The same recorded session as other clients would have written it."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tools import PROJECT, Json

START = 1_772_442_000_000
"""Milliseconds; every entry comes a second after the one before it."""


@dataclass(frozen=True)
class Use:
    """A call with the text that came back."""

    id: str
    name: str
    args: Json
    result: str


@dataclass(frozen=True)
class Turn:
    """What one side said; of the user without calls."""

    role: str
    text: str
    uses: list[Use]


def turns(messages: list[Json]) -> list[Turn]:
    """The turns of a chat, each call together with its result."""
    results = {message["tool_call_id"]: message["content"] for message in messages if message["role"] == "tool"}
    found = []
    for message in messages:
        if message["role"] in ("user", "assistant"):
            uses = [
                Use(
                    call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]), results[call["id"]]
                )
                for call in message.get("tool_calls", ())
            ]
            found.append(Turn(message["role"], message["content"] or "", uses))
    return found


def time(number: int) -> str:
    seconds = START // 1000 + number
    return f"2026-03-02T{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def lines(args: Json, first: str, count: str) -> Json:
    """The lines that a read asks for, in the words of a client."""
    if "start_line" not in args:
        return {}
    return {first: args["start_line"], count: args["end_line"] - args["start_line"] + 1}


def tool(
    use: Use, names: tuple[str, str, str], path: str, texts: tuple[str, str], limits: tuple[str, str]
) -> tuple[str, Json]:
    """A call in the words of a client: the names of its tools and arguments."""
    args = use.args
    if use.name == "read_file":
        return names[0], {path: f"{PROJECT}/{args['path']}", **lines(args, *limits)}
    if use.name == "edit_file":
        return names[1], {path: f"{PROJECT}/{args['path']}", texts[0]: args["old_text"], texts[1]: args["new_text"]}
    return (names[2], {"command": args["command"]}) if use.name == "run_command" else (use.name, args)


def sharegpt(system: str, tools: list[Json], messages: list[Json]) -> list[Json]:
    """One conversation in the form of ShareGPT."""
    said: list[Json] = []
    for turn in turns(messages):
        if turn.text:
            said.append({"from": "human" if turn.role == "user" else "gpt", "value": turn.text})
        if turn.uses:
            calls = [{"name": use.name, "arguments": use.args} for use in turn.uses]
            said.append({"from": "function_call", "value": json.dumps(calls if len(calls) > 1 else calls[0])})
        said += ({"from": "observation", "value": use.result} for use in turn.uses)
    definitions = json.dumps([tool["function"] for tool in tools])
    return [{"conversations": said, "system": system, "tools": definitions}]


def responses(system: str, tools: list[Json], messages: list[Json]) -> Json:
    """The body of a request to OpenAI's Responses API: what the user said, and the items of each answer."""
    items: list[Json] = []
    for number, turn in enumerate(turns(messages)):
        if turn.role == "user":
            items.append({"role": "user", "content": turn.text})
            continue
        items.append({"type": "reasoning", "id": f"rs_{number:04}", "summary": []})
        if turn.text:
            text = {"type": "output_text", "text": turn.text, "annotations": []}
            message = {"type": "message", "id": f"msg_{number:04}", "role": "assistant", "status": "completed"}
            items.append({**message, "content": [text]})
        for index, use in enumerate(turn.uses):
            call = {"type": "function_call", "id": f"fc_{number:04}_{index}", "call_id": use.id, "name": use.name}
            items.append({**call, "arguments": json.dumps(use.args), "status": "completed"})
        items += ({"type": "function_call_output", "call_id": use.id, "output": use.result} for use in turn.uses)
    flat = [{"type": "function", **tool["function"], "strict": False} for tool in tools]
    return {"model": "gpt-5.1", "instructions": system, "input": items, "tools": flat}


def opencode(messages: list[Json]) -> Json:
    """An export: a tool part holds the call and its result."""
    written: list[Json] = []
    request = ""
    for number, turn in enumerate(turns(messages)):
        id = f"msg_{number:04}"
        model = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5"}
        info: Json = {"id": id, "sessionID": "ses_0001", "role": turn.role, "time": {"created": START + 1000 * number}}
        if turn.role == "user":
            request, info = id, {**info, "agent": "build", "model": model}
        else:
            info |= {"parentID": request, **model, "mode": "build", "agent": "build", "cost": 0.01}
            info |= {"path": {"cwd": PROJECT, "root": PROJECT}, "tokens": tokens(number)}
        parts: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
        for use in turn.uses:
            name, args = tool(
                use, ("read", "edit", "bash"), "filePath", ("oldString", "newString"), ("offset", "limit")
            )
            state = {"status": "completed", "input": args, "output": use.result, "title": name}
            state |= {"metadata": {"output": use.result}, "time": {"start": START, "end": START + 1000}}
            parts.append({"type": "tool", "callID": use.id, "tool": name, "state": state})
        named = [
            {"id": f"prt_{number:04}_{index}", "sessionID": "ses_0001", "messageID": id, **part}
            for index, part in enumerate(parts)
        ]
        written.append({"info": info, "parts": named})
    session = {"id": "ses_0001", "version": "1.14.20", "directory": PROJECT, "title": "Bugs in the price list"}
    return {"info": session, "messages": written}


def tokens(number: int) -> Json:
    return {"input": 4, "output": 120, "reasoning": 0, "cache": {"read": 9_000 + 400 * number, "write": 300}}


def opencode_events(export: Json) -> list[list[object]]:
    """What a plugin would have seen of the same session: each part when it begins and when it is complete."""
    hooks: list[list[object]] = []

    def event(kind: str, **properties: object) -> None:
        hooks.append(["event", {"event": {"type": kind, "properties": properties}}])

    for message in export["messages"]:
        event("message.updated", info=message["info"])
        for part in message["parts"]:
            if part["type"] == "tool":
                running = {"status": "running", "input": part["state"]["input"], "time": {"start": START}}
                event("message.part.updated", part={**part, "state": running})
            event("message.part.updated", part=part)
    return hooks


def pi(messages: list[Json]) -> list[Json]:
    """A session of version 3: a header, then entries linked by their parents."""
    records: list[Json] = [{"type": "session", "version": 3, "id": "bugfix", "timestamp": time(0), "cwd": PROJECT}]

    def add(kind: str, **members: object) -> None:
        number = len(records)
        parent = records[-1]["id"] if number > 1 else None
        records.append({"type": kind, "id": f"{number:08x}", "parentId": parent, "timestamp": time(number), **members})

    add("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
    for turn in turns(messages):
        content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
        if turn.role == "user":
            add("message", message={"role": "user", "content": content, "timestamp": START})
            continue
        named = {}
        for use in turn.uses:
            named[use.id], args = tool(
                use, ("read", "edit", "bash"), "path", ("oldText", "newText"), ("offset", "limit")
            )
            content.append({"type": "toolCall", "id": use.id, "name": named[use.id], "arguments": args})
        usage = {"input": 4, "output": 120, "cacheRead": 9_000, "cacheWrite": 300}
        about = {"provider": "anthropic", "model": "claude-sonnet-4-5", "usage": usage, "stopReason": "stop"}
        add("message", message={"role": "assistant", "content": content, **about, "timestamp": START})
        for use in turn.uses:
            result = {"toolCallId": use.id, "toolName": named[use.id], "isError": False}
            text = [{"type": "text", "text": use.result}]
            add("message", message={"role": "toolResult", **result, "content": text, "timestamp": START})
    return records


def cline(system: str, messages: list[Json]) -> Json:
    """A session of the Cline SDK: results are lists of what was asked and what came of it."""
    written: list[Json] = []

    def add(role: str, content: list[Json]) -> None:
        number = len(written)
        written.append({"id": f"msg_{number:04}", "role": role, "content": content, "ts": START + 1000 * number})

    for turn in turns(messages):
        content: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
        results = []
        for use in turn.uses:
            name, args, query = cline_tool(use)
            content.append({"type": "tool_use", "id": use.id, "name": name, "input": args})
            entry = {"query": query, "result": use.result, "success": True}
            results.append({"type": "tool_result", "tool_use_id": use.id, "name": name, "content": [entry]})
        add(turn.role, content)
        if results:
            add("user", results)
    return {"version": 1, "agent": "lead", "sessionId": "bugfix", "system_prompt": system, "messages": written}


def cline_tool(use: Use) -> tuple[str, Json, str]:
    args = use.args
    if use.name == "read_file":
        part = {key: args[key] for key in ("start_line", "end_line") if key in args}
        return "read_files", {"files": [{"path": args["path"], **part}]}, args["path"]
    if use.name == "edit_file":
        return "editor", args, f"edit:{args['path']}"
    if use.name == "run_command":
        return "run_commands", {"commands": [args["command"]]}, args["command"]
    return use.name, args, use.name


def gemini(messages: list[Json]) -> Json:
    """A chat as one object; calls stand beside the content, with their results."""
    written: list[Json] = []
    for number, turn in enumerate(turns(messages)):
        message: Json = {"id": f"m{number:04}", "timestamp": time(number)}
        if turn.role == "user":
            written.append({**message, "type": "user", "content": [{"text": turn.text}]})
            continue
        calls = []
        for use in turn.uses:
            name, args = tool(
                use,
                ("read_file", "replace", "run_shell_command"),
                "file_path",
                ("old_string", "new_string"),
                ("offset", "limit"),
            )
            response = {"functionResponse": {"id": use.id, "name": name, "response": {"output": use.result}}}
            calls.append(
                {"id": use.id, "name": name, "args": args, "result": [response], "status": "success"}
                | {"timestamp": time(number), "resultDisplay": use.result}
            )
        used = {"input": 9_000 + 400 * number, "output": 120, "cached": 8_000, "total": 9_500 + 400 * number}
        message |= {"type": "gemini", "content": turn.text, "thoughts": [], "tokens": used, "model": "gemini-3-pro"}
        written.append({**message, "toolCalls": calls} if calls else message)
    return {"sessionId": "bugfix", "projectHash": "0" * 64, "startTime": time(0), "messages": written}


def gemini_log(chat: Json) -> list[Json]:
    """The same as a log: a message is written again when the results of its calls are there."""
    records = [{key: value for key, value in chat.items() if key != "messages"}]
    for message in chat["messages"]:
        if "toolCalls" in message:
            records.append({key: value for key, value in message.items() if key != "toolCalls"})
        records += [message, {"$set": {"lastUpdated": message["timestamp"]}}]
    return records


def kimi(system: str, messages: list[Json]) -> list[Json]:
    """A wire log: requests are messages, the work of the agent is events."""
    records: list[Json] = [{"type": "metadata", "protocol_version": "1.4", "created_at": START}]

    def add(kind: str, /, **members: object) -> None:
        records.append({"type": kind, **members, "time": START + 1000 * len(records)})

    def event(kind: str, /, **members: object) -> None:
        add("context.append_loop_event", event={"type": kind, **members})

    add("config.update", systemPrompt=system)
    for number, turn in enumerate(turns(messages)):
        if turn.role == "user":
            text = [{"type": "text", "text": turn.text}]
            add("turn.prompt", input=text, origin={"kind": "user"})
            message = {"role": "user", "content": text, "toolCalls": [], "origin": {"kind": "user"}}
            add("context.append_message", message=message)
            continue
        step = f"step-{number}"
        event("step.begin", uuid=step, turnId="0", step=number)
        add("llm.request", kind="loop", model="kimi-k2.7-code")
        if turn.text:
            event("content.part", uuid=f"{step}-text", stepUuid=step, part={"type": "text", "text": turn.text})
        for use in turn.uses:
            name, args = tool(
                use, ("Read", "Edit", "Bash"), "path", ("old_string", "new_string"), ("line_offset", "n_lines")
            )
            event("tool.call", uuid=use.id, stepUuid=step, toolCallId=use.id, name=name, args=args)
        for use in turn.uses:
            event("tool.result", parentUuid=use.id, toolCallId=use.id, result={"output": use.result})
        usage = {"inputOther": 300, "output": 120, "inputCacheRead": 9_000, "inputCacheCreation": 0}
        event("step.end", uuid=step, usage=usage, finishReason="tool_use" if turn.uses else "end_turn")
    return records
