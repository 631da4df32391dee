"""Generated conversations as further clients and tools write them down, from messages of chat completions."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from agent_logs import Messages, agents, lines, one
from traces import langfuse, langsmith, otel

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


def with_parts(messages: Messages) -> Json:
    """Calls and results are parts of the content, the calls in `tool_calls` as well; other keys stand beside."""
    written: Messages = []
    for message in messages:
        made: Json = {**message, "_metadata": {"timestamp": 5}}
        text = [{"type": "text", "text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            # The same text, now as it is and now as a list.
            output = text_of(message) if len(written) % 2 else [{"type": "text", "text": text_of(message)}]
            made["content"] = [{"type": "tool_output", "text": output}]
        elif message.get("tool_calls"):
            calls = agents.calls_of(message)
            asked = [
                {"tool_call_id": call["id"], "name": call["name"], "arguments": call["arguments"]} for call in calls
            ]
            made["content"] = [*text, *({"type": "tool_call", **call} for call in asked)]
        written.append(made)
    return {"session": "s", "exported": True, "messages": written, "statistics": {"turns": len(written)}}


def ai_sdk(messages: Messages) -> Messages:
    """Messages of the AI SDK: calls are parts, and results of one answer are parts of one message."""
    written: Messages = []
    for message in messages:
        text = text_of(message)
        if message["role"] == "tool":
            part = {"type": "tool-result", "toolCallId": message["tool_call_id"], "toolName": "tool"}
            part |= {"output": {"type": "text", "value": text}}
            if written[-1]["role"] == "tool":
                written[-1]["content"].append(part)
            else:
                written.append({"role": "tool", "content": [part]})
        elif message["role"] == "assistant":
            said = [{"type": "text", "text": text}] if text else []
            calls = [
                {"type": "tool-call", "toolCallId": call["id"], "toolName": call["name"], "input": call["arguments"]}
                for call in agents.calls_of(message)
            ]
            written.append({"role": "assistant", "content": [*said, *calls]})
        else:
            written.append({"role": message["role"], "content": text})
    return written


def contents(
    messages: Messages, call: str = "functionCall", response: str = "functionResponse", *, is_joined: bool = False
) -> Iterator[Json]:
    """Contents of Google's API, without the system prompt; results of one answer are in one content.

    If it `is_joined`, what the user says behind results is in their content.
    """
    results: list[Json] = []
    for message in [*messages, {"role": "end"}]:
        if is_joined and results and message["role"] == "user" and text_of(message):
            yield {"role": "user", "parts": [*results, {"text": text_of(message)}]}
            results = []
            continue
        if results and message["role"] != "tool":
            yield {"role": "user", "parts": results}
            results = []
        text = [{"text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            answer = {"id": message["tool_call_id"], "name": "tool", "response": {"output": text_of(message)}}
            results.append({response: answer})
        elif message["role"] == "user":
            yield {"role": "user", "parts": text}
        elif message["role"] == "assistant":
            calls = [
                {call: {"id": one["id"], "name": one["name"], "args": one["arguments"]}}
                for one in agents.calls_of(message)
            ]
            yield {"role": "model", "parts": [*text, *calls]}


def qwen_code(messages: Messages) -> Iterator[Json]:
    """Records of Qwen Code, with a branch that was left."""
    common = {"sessionId": "s", "timestamp": "2026-07-01T09:00:00.000Z", "cwd": "/src", "version": "0.24.4"}
    parent = None
    for number, content in enumerate(contents(messages)):
        is_result = "functionResponse" in content["parts"][0]
        kind = "assistant" if content["role"] == "model" else "tool_result" if is_result else "user"
        made: Json = {"uuid": f"u{number}", "parentUuid": parent, **common, "type": kind, "message": content}
        if is_result:
            shown = [part["functionResponse"]["response"]["output"] for part in content["parts"]]
            made["toolCallResult"] = {"callId": "c", "resultDisplay": "\n".join(shown)}
        yield made
        if kind == "user":
            left = {"role": "model", "parts": [{"text": "Another way."}]}
            yield {**made, "uuid": f"left{number}", "parentUuid": f"u{number}", "type": "assistant", "message": left}
        parent = f"u{number}"
    payload = {"uiEvent": {"event.name": "api_response"}}
    yield {"uuid": "end", "parentUuid": parent, **common, "type": "system", "systemPayload": payload}


def google_adk(messages: Messages) -> Json:
    events: list[Json] = [{"author": "model", "actions": {}, "id": "first", "timestamp": 1.5}]
    for number, content in enumerate(contents(messages, "function_call", "function_response")):
        author = "agent" if content["role"] == "model" else "user"
        events.append({"content": content, "author": author, "id": f"e{number}", "timestamp": 2.5, "actions": {}})
    return {"id": "s", "app_name": "shop", "user_id": "u", "state": {"cart": []}, "events": events}


def atif(messages: Messages) -> Json:
    """A trajectory of Harbor: results are in the step of their calls."""
    steps: list[Json] = []
    sources = {"system": "system", "user": "user", "assistant": "agent"}
    for message in messages:
        text = text_of(message)
        if message["role"] == "tool":
            results = steps[-1].setdefault("observation", {"results": []})["results"]
            results.append({"source_call_id": message["tool_call_id"], "content": text})
            continue
        step: Json = {"step_id": len(steps) + 1, "source": sources[message["role"]], "message": text}
        if message.get("tool_calls"):
            step["tool_calls"] = [
                {"tool_call_id": call["id"], "function_name": call["name"], "arguments": call["arguments"]}
                for call in agents.calls_of(message)
            ]
        steps.append(step)
    agent = {"name": "terminus-2", "version": "2.0.0", "model_name": "openai/gpt-5.1"}
    return {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": agent, "steps": steps, "final_metrics": {}}


def vscode_chat(messages: Messages) -> Json:
    """A chat of VS Code: results may be trees of texts."""
    requests: list[Json] = []
    metadata: Json = {}
    for message in messages:
        text = text_of(message)
        if message["role"] == "user":
            metadata = {"toolCallRounds": [], "toolCallResults": {}}
            rendered = [{"type": 1, "text": "<context>\nToday is Monday.\n</context>"}, {"type": 1, "text": text}]
            metadata |= {"renderedUserMessage": rendered} if len(requests) % 2 else {}
            shown = {"message": {"text": text, "parts": []}, "response": [], "modelId": "copilot/gpt-5.1"}
            requests.append({"requestId": f"r{len(requests)}", **shown, "result": {"metadata": metadata}})
        elif message["role"] == "assistant":
            calls = [
                {"id": call["id"], "name": call["name"], "arguments": json.dumps(call["arguments"])}
                for call in agents.calls_of(message)
            ]
            metadata["toolCallRounds"].append({"response": text, "toolCalls": calls, "id": "x"})
            requests[-1]["response"].append({"value": text})
        elif message["role"] == "tool":
            tree = {"node": {"type": 1, "children": [{"type": 2, "text": text, "lineBreakBefore": False}]}}
            value = tree if len(requests) % 2 else text
            metadata["toolCallResults"][message["tool_call_id"]] = {
                "$mid": 20,
                "content": [{"$mid": 21, "value": value}],
            }
            requests[-1]["response"].append({"kind": "toolInvocationSerialized", "resultDetails": {"output": text}})
    return {"responderUsername": "GitHub Copilot", "requests": requests}


def langchain(messages: Messages) -> Messages:
    """Messages of LangChain, whose calls are there twice."""
    kinds = {"system": "system", "user": "human", "assistant": "ai", "tool": "tool"}
    written: Messages = []
    for message in messages:
        made: Json = {"type": kinds[message["role"]], "content": text_of(message), "additional_kwargs": {}}
        if message["role"] == "tool":
            made |= {"tool_call_id": message["tool_call_id"], "status": "success"}
        elif message.get("tool_calls"):
            made["additional_kwargs"] = {"tool_calls": message["tool_calls"]}
            made["tool_calls"] = [
                {"name": call["name"], "args": call["arguments"], "id": call["id"], "type": "tool_call"}
                for call in agents.calls_of(message)
            ]
        written.append({"type": made["type"], "data": made})
    return written


def session_trace(messages: Messages) -> Iterator[Json]:
    """A session as the Hub of Hugging Face takes it from any agent."""
    yield {"type": "session", "harness": "my-agent", "id": "s", "name": "Work"}
    for message in messages:
        made: Json = {"role": message["role"], "content": text_of(message), "timestamp": 5}
        if message["role"] == "tool":
            made["toolCallId"] = message["tool_call_id"]
        elif message.get("tool_calls"):
            made |= {"toolCalls": message["tool_calls"], "model": "gpt-5.1"}
        yield {"type": "message", "message": made}


def converse(messages: Messages) -> Json:
    """A request of Bedrock's Converse API: results of one answer are in one message of the user."""
    written: Messages = []
    for message in [each for each in messages if each["role"] != "system"]:
        role = "assistant" if message["role"] == "assistant" else "user"
        content: Messages = [{"text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            told = {"toolUseId": message["tool_call_id"], "content": [{"text": text_of(message)}], "status": "success"}
            content = [{"toolResult": told}]
        for call in agents.calls_of(message):
            asked = {"toolUseId": call["id"], "name": call["name"], "input": call["arguments"]}
            content.append({"toolUse": asked})
        if written and written[-1]["role"] == role:
            written[-1]["content"] += content
        elif content:
            written.append({"role": role, "content": content})
    system = [{"text": text_of(message)} for message in messages if message["role"] == "system"]
    return {"modelId": "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "messages": written, "system": system}


def gemini_contents(messages: Messages) -> Json:
    """A request of the Gemini API."""
    prompt = [{"text": text_of(message)} for message in messages if message["role"] == "system"]
    return {
        "model": "models/gemini-2.5-pro",
        "contents": [*contents(messages, is_joined=True)],
        "systemInstruction": {"parts": prompt},
    }


def goose(messages: Messages) -> Iterator[Json]:
    """A session of Goose, with a message that only the user sees."""
    yield {"working_dir": "/src", "description": "Work", "message_count": len(messages)}
    for number, message in enumerate(messages):
        role = "assistant" if message["role"] == "assistant" else "user"
        content: Messages = [{"type": "text", "text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            value = {"content": [{"type": "text", "text": text_of(message)}], "isError": False}
            told = {"status": "success", "value": value}
            content = [{"type": "toolResponse", "id": message["tool_call_id"], "toolResult": told}]
        for call in agents.calls_of(message):
            asked = {"status": "success", "value": {"name": call["name"], "arguments": call["arguments"]}}
            content.append({"type": "toolRequest", "id": call["id"], "toolCall": asked})
        if message["role"] != "system" and content:
            yield {"id": f"m{number}", "role": role, "created": 1_790_000_000 + number, "content": content}
    notice = [{"type": "text", "text": "Compacted."}]
    yield {"role": "user", "created": 1, "content": notice, "metadata": {"userVisible": True, "agentVisible": False}}


def droid(messages: Messages) -> Iterator[Json]:
    """A session of Factory Droid: Anthropic's messages, each behind the one before."""
    yield {"type": "session_start", "id": "s", "title": "Work", "cwd": "/src", "version": 2}
    parent = None
    for number, message in enumerate(each for each in messages if each["role"] != "system"):
        content: Messages = [{"type": "text", "text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            told = {"tool_use_id": message["tool_call_id"], "content": text_of(message)}
            content = [{"type": "tool_result", **told}]
        for call in agents.calls_of(message):
            content.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        role = "assistant" if message["role"] == "assistant" else "user"
        about = {"id": f"m{number}", "timestamp": "2026-07-01T09:00:00.000Z", "parentId": parent}
        parent = f"m{number}"
        yield {"type": "message", **about, "message": {"role": role, "content": content}}
    yield {"type": "todo_state", "todos": []}


def amp(messages: Messages) -> Json:
    """A thread of Amp: Anthropic's messages, whose results have a form of their own."""
    written: Messages = []
    for message in (each for each in messages if each["role"] != "system"):
        content: Messages = [{"type": "text", "text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            run = {"status": "done", "result": {"output": text_of(message), "exitCode": 0}}
            content = [{"type": "tool_result", "toolUseID": message["tool_call_id"], "run": run}]
        for call in agents.calls_of(message):
            content.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]})
        role = "assistant" if message["role"] == "assistant" else "user"
        written.append({"role": role, "messageId": len(written), "content": content})
    return {"v": 12, "id": "T-1", "title": "Work", "messages": written}


def ai_sdk_ui(messages: Messages) -> Messages:
    """UI messages of the AI SDK: all that an agent does between two words of the user is one message."""
    written: Messages = []
    parts: dict[str, Json] = {}
    for message in messages:
        text: Messages = [{"type": "text", "text": text_of(message)}] if text_of(message) else []
        if message["role"] == "tool":
            parts[message["tool_call_id"]] |= {"state": "output-available", "output": text_of(message)}
            continue
        if not (written and written[-1]["role"] == message["role"] == "assistant"):
            written.append({"id": f"m{len(written)}", "role": message["role"], "parts": []})
        step = [{"type": "step-start"}] if message["role"] == "assistant" else []
        written[-1]["parts"] += [*step, *text]
        for call in agents.calls_of(message):
            about = {"type": f"tool-{call['name']}", "toolCallId": call["id"]}
            parts[call["id"]] = {**about, "state": "input-available", "input": call["arguments"]}
            written[-1]["parts"].append(parts[call["id"]])
    return written


def iflow(messages: Messages) -> Iterator[Json]:
    """A session of iFlow CLI: an answer comes in pieces that hang on the same record and repeat calls."""
    common = {"sessionId": "session-1", "timestamp": "2026-07-01T09:00:00.000Z", "isSidechain": False}
    parent = None
    for number, message in enumerate(each for each in messages if each["role"] != "system"):
        text = text_of(message)
        calls = [
            {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
            for call in agents.calls_of(message)
        ]
        contents: list[Any] = [text]
        if message["role"] == "tool":
            answer = {"id": message["tool_call_id"], "name": "tool", "response": {"output": text}}
            told: Json = {"functionResponse": answer}
            if number % 2:
                told = {"callId": answer["id"], "responseParts": told, "resultDisplay": "Done."}
            contents = [[{"type": "tool_result", "tool_use_id": answer["id"], "content": told}]]
        elif message["role"] == "assistant":
            said = [{"type": "text", "text": text}] if text else []
            contents = [[*said, *calls[:1]], [*said, *calls]] if calls else [said]
        kind = "assistant" if message["role"] == "assistant" else "user"
        for piece, content in enumerate(contents):
            about: Json = {"role": kind, "content": content}
            if kind == "assistant":
                about |= {"model": "glm-5", "usage": {"input_tokens": 0, "output_tokens": 0}}
            uuid = f"u{number}.{piece}"
            yield {"uuid": uuid, "parentUuid": parent, **common, "type": kind, "message": about}
        parent = uuid


def bedrock_log(messages: Messages, *, is_stream: bool = False) -> Iterator[Json]:
    """Calls of a model as Bedrock logs them: of Converse, or streamed in the form of Anthropic's API."""
    for number, message in enumerate(messages):
        if message["role"] != "assistant":
            continue
        request = converse([*messages[:number], message])
        *asked, answer = request["messages"]
        body: Any = {"output": {"message": answer}, "stopReason": "end_turn", "usage": {"inputTokens": 1}}
        if is_stream:
            asked = list(map(_in_anthropic, asked))
            body = list(_events(_in_anthropic(answer)))
        given = {"messages": asked, "system": request["system"]}
        yield {
            "schemaType": "ModelInvocationLog",
            "timestamp": f"2026-07-01T{number // 60:02}:{number % 60:02}:00Z",
            "operation": "InvokeModelWithResponseStream" if is_stream else "Converse",
            "modelId": "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5",
            "input": {"inputContentType": "application/json", "inputBodyJson": given},
            "output": {"outputContentType": "application/json", "outputBodyJson": body},
        }


def _in_anthropic(message: Json) -> Json:
    """A message of Converse in the form of Anthropic's API."""
    parts: Messages = []
    for part in message["content"]:
        if "toolUse" in part:
            call = part["toolUse"]
            parts.append({"type": "tool_use", "id": call["toolUseId"], "name": call["name"], "input": call["input"]})
        elif "toolResult" in part:
            told = part["toolResult"]
            content = [{"type": "text", **item} for item in told["content"]]
            parts.append({"type": "tool_result", "tool_use_id": told["toolUseId"], "content": content})
        else:
            parts.append({"type": "text", **part})
    return {"role": message["role"], "content": parts}


def _events(message: Json) -> Iterator[Json]:
    """The events in which Anthropic's API streams a message."""
    yield {"type": "message_start", "message": {"role": "assistant", "content": []}}
    for index, part in enumerate(message["content"]):
        if part["type"] == "text":
            begun, pieces = (
                {**part, "text": ""},
                [{"type": "text_delta", "text": each} for each in _halves(part["text"])],
            )
        else:
            begun = {**part, "input": {}}
            halves = _halves(json.dumps(part["input"]))
            pieces = [{"type": "input_json_delta", "partial_json": each} for each in halves]
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield from ({"type": "content_block_delta", "index": index, "delta": each} for each in pieces)
        yield {"type": "content_block_stop", "index": index}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def chatgpt_export(messages: Messages) -> Json:
    """A conversation of ChatGPT, with an answer that was regenerated. Each call is a message to its tool."""
    mapping: dict[str, Json] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    parent, tool = "root", "browser"

    def put(name: str, role: str, content: Json, *, goes_on: bool = True, **more: Any) -> None:
        nonlocal parent
        about = {"id": name, "author": {"role": role, "name": tool if role == "tool" else None}, "recipient": "all"}
        about |= {"content": content, "metadata": {"model_slug": "gpt-5-1"} if role == "assistant" else {}, **more}
        mapping[name] = {"id": name, "message": about, "parent": parent, "children": []}
        mapping[parent]["children"].append(name)
        parent = name if goes_on else parent

    for number, message in enumerate(messages):
        said = {"content_type": "text", "parts": [text_of(message)]}
        if message["role"] == "tool":
            put(f"m{number}", "tool", said)
        elif message["role"] == "assistant":
            put(f"left{number}", "assistant", {"content_type": "text", "parts": ["Another."]}, goes_on=False)
            if text_of(message):
                put(f"m{number}", "assistant", said)
            for call in agents.calls_of(message):
                tool, text = call["name"], json.dumps(call["arguments"])
                put(f"m{number}.{call['id']}", "assistant", {"content_type": "code", "text": text}, recipient=tool)
        else:
            put(f"m{number}", message["role"], said)
    return {"title": "Work", "create_time": 1.5, "mapping": mapping, "current_node": parent, "conversation_id": "c"}


def claude_export(messages: Messages) -> Json:
    """A conversation of Claude: calls and results are in one message, and a prompt was edited."""
    written: Messages = []
    before = "00000000-0000-4000-8000-000000000000"

    def put(name: str, sender: str) -> Messages:
        content: Messages = []
        about = {"uuid": name, "sender": sender, "created_at": "2026-07-01T09:00:00.000Z", "content": content}
        written.append({**about, "text": "", "attachments": [], "files": [], "parent_message_uuid": before})
        return content

    for number, message in enumerate(each for each in messages if each["role"] != "system"):
        text: Messages = [{"type": "text", "text": text_of(message), "citations": []}] if text_of(message) else []
        if message["role"] == "user":
            put(f"left{number}", "human").append({"type": "text", "text": "Another."})
            put(f"m{number}", "human").extend(text)
            written[-1]["text"] = text_of(message)
            before = f"m{number}"
            continue
        if not (written and written[-1]["sender"] == "assistant"):
            put(f"m{number}", "assistant")
            before = f"m{number}"
        if message["role"] == "tool":
            told = {"type": "tool_result", "name": "tool", "content": text, "is_error": False}
            written[-1]["content"].append({**told, "tool_use_id": message["tool_call_id"]})
            continue
        written[-1]["content"] += text
        for call in agents.calls_of(message):
            asked = {"type": "tool_use", "id": call["id"], "name": call["name"], "input": call["arguments"]}
            written[-1]["content"].append(asked)
    return {"uuid": "c", "name": "Work", "account": {"uuid": "a"}, "chat_messages": written}


WRITABLE: dict[str, Callable[[Messages], bytes]] = {
    "copilot": lines(copilot),
    "langchain": lines(langchain),
    "google-adk": one(google_adk),
    "atif": one(atif),
    "qwen-code": lines(qwen_code),
    "session-trace": lines(session_trace),
    "bedrock-converse": one(converse),
    "gemini-contents": one(gemini_contents),
    "goose": lines(goose),
    "droid": lines(droid),
    "ai-sdk-ui": one(ai_sdk_ui),
    "openai-chat, calls as parts": one(with_parts),
    "openai-chat, AI SDK": one(ai_sdk),
}
"""The bytes of a file of each format, from messages of chat completions."""


READ_ONLY: dict[str, Callable[[Messages], bytes]] = {
    "vscode-chat": one(vscode_chat),
    "amp": one(amp),
    "iflow": lines(iflow),
    "bedrock-log": lines(bedrock_log),
    "bedrock-log, streams": lines(partial(bedrock_log, is_stream=True)),
    "chatgpt-export": one(chatgpt_export),
    "claude-export": one(claude_export),
    "otel-spans": one(otel),
    "otel-spans, OpenInference": one(partial(otel, is_open_inference=True)),
    "langfuse": one(langfuse),
    "langsmith": one(langsmith),
}
"""The same for formats that cannot be written."""
