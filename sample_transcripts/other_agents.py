"""The same recorded session as other agents would have written it down, from chat messages.

Every function takes messages of chat completions, whose arguments are JSON in a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]
MODEL = "gpt-5.1"
CLAUDE_MODEL = "claude-sonnet-4-5-20250929"


def text_of(content: Any) -> str:
    """The text of a content, which is a string or a list of parts."""
    if isinstance(content, list):
        return "\n".join(part["text"] for part in content if part.get("type") == "text")
    return content or ""


def calls_of(message: Json) -> list[Json]:
    """Id, name and arguments of every call."""
    return [
        {"id": call["id"], "name": call["function"]["name"], "arguments": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls", ())
    ]


def response(message: Json, number: int) -> Json:
    """What the provider answered, as clients keep it."""
    sent = {key: message[key] for key in ("role", "content", "tool_calls") if key in message}
    return {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": MODEL,
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls_of(message) else "stop", "message": sent}],
    }


def _moment(number: int) -> str:
    return f"2026-03-02T09:{number // 60 % 60:02}:{number % 60:02}.250000"


# -- SWE-agent


def action_of(call: Json) -> str:
    """The call as a command line, with longer texts behind it as a here-document."""
    words = [call["name"]]
    document = ""
    for value in call["arguments"].values():
        if isinstance(value, str) and "\n" in value:
            document += f"<<'END'\n{value}\nEND\n"
        else:
            words.append(value if isinstance(value, str) else json.dumps(value))
    return f"{' '.join(words)}\n{document}"


def swe_agent(messages: list[Json]) -> Json:
    """A trajectory whose actions stand in the text, one in a message; of several calls the first is made."""
    history: list[Json] = []
    trajectory: list[Json] = []
    for message in messages:
        calls = calls_of(message)
        if message["role"] == "tool":
            if history[-1]["role"] == "assistant":
                seen = text_of(message["content"])
                history.append({"role": "user", "content": f"OBSERVATION:\n{seen}\n", "agent": "main"})
                trajectory[-1]["observation"] = seen
            continue
        content = text_of(message["content"])
        entry = {"role": message["role"], "content": content, "agent": "main"}
        if calls:
            action, thought = action_of(calls[0]), f"{content}\n"
            entry |= {"content": f"{thought}```\n{action}```", "thought": thought, "action": action}
            query = [{"role": old["role"], "content": old["content"]} for old in history]
            step = {"action": action, "observation": "", "response": entry["content"], "thought": thought}
            trajectory.append(step | {"state": {"open_file": ""}, "query": query})
        history.append(entry)
    config = {"agent": {"model": {"name": MODEL}}}
    return {
        "environment": "sample",
        "trajectory": trajectory,
        "history": history,
        "info": {"exit_status": "submitted", "model_stats": {"api_calls": len(trajectory)}},
        "replay_config": json.dumps(config),
    }


def mini_swe_agent(messages: list[Json]) -> Json:
    """A trajectory with native tools: what the provider answered and what a command printed stand in `extra`."""
    written: list[Json] = []
    for number, message in enumerate(messages):
        extra: Json = {"timestamp": 1772442000.25 + number}
        if message["role"] == "assistant":
            actions = [
                {"command": call["arguments"].get("command"), "tool_call_id": call["id"]} for call in calls_of(message)
            ]
            extra = {"actions": actions, "response": response(message, number), "cost": 0.00125} | extra
        elif message["role"] == "tool":
            extra = {"raw_output": text_of(message["content"]), "returncode": 0} | extra
        written.append({**message, "extra": extra})
    written.append({"role": "exit", "content": "", "extra": {"exit_status": "Submitted", "submission": ""}})
    config = {"model": {"model_name": MODEL}, "agent": {"step_limit": 0}}
    info = {"mini_version": "2.0.0", "exit_status": "Submitted", "config": config}
    return {"info": info, "messages": written, "trajectory_format": "mini-swe-agent-1.1"}


# -- OpenHands

ACTIONS = {"read_file": "read", "edit_file": "edit", "run_command": "run"}


def openhands(messages: list[Json]) -> Json:
    """One line of output.jsonl: a run whose `history` holds the events."""
    events: list[Json] = []
    asked: dict[str, int] = {}

    def add(source: str, told: str, **members: Any) -> int:
        number = len(events)
        events.append({"id": number, "timestamp": _moment(number), "source": source, "message": told, **members})
        return number

    answered = {message["tool_call_id"] for message in messages if message["role"] == "tool"}
    metadata: dict[str, Json] = {}
    for number, message in enumerate(messages):
        role, text = message["role"], text_of(message["content"])
        if role == "system":
            add("agent", text, action="system", args={"content": text, "tools": [], "agent_class": "CodeActAgent"})
        elif role == "user":
            add("user", text, action="message", args={"content": text, "image_urls": None, "wait_for_response": False})
        elif role == "tool":
            call = message["tool_call_id"]
            cause = asked[call]
            seen = {"cause": cause, "observation": events[cause]["action"], "tool_call_metadata": metadata[call]}
            add("agent", f"{text[:60]}...", **seen, content=text, extras={"hidden": False}, success=True)
        elif not calls_of(message):
            add("agent", text, action="message", args={"content": text, "image_urls": None, "wait_for_response": True})
        for call in calls_of(message):
            known = {"function_name": call["name"], "tool_call_id": call["id"]}
            metadata[call["id"]] = {**known, "model_response": response(message, number), "total_calls_in_response": 1}
            action = ACTIONS.get(call["name"], "call_tool_mcp")
            named = {"name": call["name"]} if action == "call_tool_mcp" else {}
            arguments = {**named, **call["arguments"], "thought": text, "hidden": False}
            members = {"action": action, "tool_call_metadata": metadata[call["id"]], "args": arguments}
            if call["id"] in answered:
                asked[call["id"]] = add("agent", f"Running {call['name']}", **members)
    return {
        "instance_id": "sample-1",
        "instruction": text_of(next((message["content"] for message in messages if message["role"] == "user"), "")),
        "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": MODEL, "temperature": 0.0}},
        "history": events,
        "metrics": {"accumulated_cost": 0.0125},
        "error": None,
    }


def openhands_sdk(messages: list[Json]) -> Iterator[Json]:
    """The events of a conversation of the SDK."""
    actions: dict[str, Json] = {}
    for number, message in enumerate(messages):
        head = {"id": f"00000000-0000-4000-8000-{number:012}", "timestamp": _moment(number)}
        text = text_of(message["content"])
        parts = [{"cache_prompt": False, "type": "text", "text": text}] if text else []
        if message["role"] == "system":
            prompt: Json = {"system_prompt": parts[0] if parts else None, "tools": []}
            yield {**head, "source": "agent", **prompt, "kind": "SystemPromptEvent"}
        elif message["role"] == "tool":
            call = actions[message["tool_call_id"]]
            seen = {"content": parts, "is_error": False, "command": call["arguments"].get("command")}
            link = {"tool_name": call["name"], "tool_call_id": call["id"], "action_id": call["event"]}
            yield {**head, "source": "environment", **link, "observation": seen, "kind": "ObservationEvent"}
        elif not calls_of(message):
            said = {"role": message["role"], "content": parts}
            source = "agent" if message["role"] == "assistant" else "user"
            yield {**head, "source": source, "llm_message": said, "activated_skills": [], "kind": "MessageEvent"}
        for place, call in enumerate(calls_of(message)):
            event = f"{head['id'][:-12]}{number * 100 + place + 10**9:012}"
            actions[call["id"]] = {**call, "event": event}
            written = message["tool_calls"][place]["function"]["arguments"]
            yield {
                **head,
                "id": event,
                "source": "agent",
                "thought": parts if place == 0 else [],
                "reasoning_content": None,
                "thinking_blocks": [],
                "action": {**call["arguments"], "kind": "TerminalAction"},
                "tool_name": call["name"],
                "tool_call_id": call["id"],
                "tool_call": {"id": call["id"], "name": call["name"], "arguments": written, "origin": "completion"},
                "llm_response_id": f"response-{number}",
                "kind": "ActionEvent",
            }


# -- Evaluations


def inspect(messages: list[Json]) -> Json:
    """A log of Inspect with one sample, whose events hold the messages again."""
    written: list[Json] = []
    names: dict[str, str] = {}
    for number, message in enumerate(messages):
        entry: Json = {"id": f"message-{number}", "content": _inspect_content(message["content"])}
        entry["role"] = message["role"]
        if message["role"] == "tool":
            entry |= {"tool_call_id": message["tool_call_id"], "function": names[message["tool_call_id"]]}
        elif message["role"] == "assistant":
            calls = [
                {"id": call["id"], "function": call["name"], "arguments": call["arguments"]}
                for call in calls_of(message)
            ]
            names |= {call["id"]: call["function"] for call in calls}
            entry |= {"source": "generate", **({"tool_calls": calls} if calls else {}), "model": MODEL}
        elif message["role"] == "user":
            entry["source"] = "input"
        written.append(entry)
    sample = {
        "id": 1,
        "epoch": 1,
        "input": next((entry["content"] for entry in written if entry["role"] == "user"), ""),
        "target": "",
        "messages": written,
        "output": {"model": MODEL, "choices": [{"message": written[-1], "stop_reason": "stop"}]},
        "events": [{"event": "model", "model": MODEL, "input": written[:-1]}],
        "attachments": {},
    }
    setting = {"task": "sample", "model": f"openai/{MODEL}", "dataset": {"samples": 1}}
    return {"version": 2, "status": "success", "eval": setting, "samples": [sample]}


def _inspect_content(content: Any) -> Any:
    if not isinstance(content, list):
        return content or ""
    return [
        {"type": "image", "image": part["image_url"]["url"]}
        if part["type"] == "image_url"
        else {"type": "text", "text": part["text"]}
        for part in content
    ]


def tau2(messages: list[Json]) -> Json:
    """A simulation of tau2-bench."""
    written: list[Json] = []
    for number, message in enumerate(messages):
        text = text_of(message["content"])
        entry: Json = {"role": message["role"], "content": text, "turn_idx": number, "timestamp": _moment(number)}
        if message["role"] == "tool":
            entry = {"id": message["tool_call_id"], **entry, "requestor": "assistant", "error": False}
        else:
            calls = [{**call, "requestor": "assistant"} for call in calls_of(message)]
            entry |= {"tool_calls": calls or None, "cost": 0.0, "raw_data": response(message, number)}
        written.append(entry)
    return {"id": "simulation", "task_id": "1", "messages": written, "reward_info": {"reward": 1.0}}


# -- Only read


def claude_stream(messages: list[Json]) -> Iterator[Json]:
    """What a run of Claude Code prints as a stream, the prompt left out."""
    session = {"session_id": "00000000-0000-4000-8000-000000000001"}
    yield {"type": "system", "subtype": "init", "cwd": "/home/dev/inventory", **session, "model": CLAUDE_MODEL}
    for number, message in enumerate(messages):
        event: Json = {"parent_tool_use_id": None, **session, "uuid": f"00000000-0000-4000-8000-{number:012}"}
        if message["role"] == "tool":
            result = {"tool_use_id": message["tool_call_id"], "type": "tool_result"}
            content: list[Json] = [{**result, "content": text_of(message["content"])}]
            yield {"type": "user", "message": {"role": "user", "content": content}, **event}
        elif message["role"] == "assistant":
            text = text_of(message["content"])
            blocks: list[Json] = [{"type": "text", "text": text}] if text else []
            blocks += [
                {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
                for call in calls_of(message)
            ]
            head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": CLAUDE_MODEL}
            for block in blocks:
                yield {"type": "assistant", "message": {**head, "content": [block]}, **event}
    yield {"type": "result", "subtype": "success", "is_error": False, **session, "result": "done"}


def request_log(messages: list[Json]) -> Iterator[Json]:
    """Requests and answers of a proxy: every request holds the messages before it."""
    for number, message in enumerate(messages):
        if message["role"] == "assistant":
            request = {"model": MODEL, "messages": messages[:number], "tools": []}
            yield {"timestamp": _moment(number), "type": "request", "request_params": request}
            yield {"timestamp": _moment(number), "type": "response", "response": response(message, number)}
