"""Exports of opencode."""

import json
from typing import Any

from build import LONG

from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse, serialize

Json = dict[str, Any]


def message(number: int, role: str, *parts: Json, **info: Any) -> Json:
    named = [
        {"id": f"prt_{number}{n}", "sessionID": "ses_1", "messageID": f"msg_{number}"} | p for n, p in enumerate(parts)
    ]
    about = {"providerID": "anthropic", "modelID": "claude-sonnet-4-5", "mode": "build", "tokens": {"input": 9}}
    info = {"id": f"msg_{number}", "sessionID": "ses_1", "role": role, "time": {"created": number}} | about | info
    return {"info": info, "parts": named}


def text(value: str, **extra: Any) -> Json:
    return {"type": "text", "text": value, **extra}


def tool(call: str, output: Any = LONG, **state: Any) -> Json:
    metadata = {"output": output, "preview": "1: the"}
    arguments = {"filePath": "src/app.py", "offset": 1}
    state = {"status": "completed", "input": arguments, "output": output, "metadata": metadata, **state}
    return {"type": "tool", "callID": call, "tool": "read", "state": state}


def export(*messages: Json) -> Transcript:
    data = json.dumps({"info": {"id": "ses_1"}, "messages": list(messages)}, indent=2).encode()
    transcript = parse(data)
    assert transcript.format == "opencode"
    assert serialize(transcript) == data
    return transcript
