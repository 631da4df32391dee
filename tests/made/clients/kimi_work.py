"""Wire logs of Kimi Code, with what the client writes beside the context."""

from __future__ import annotations

import json
from typing import Any

import kimi_logs
from chats_of_clients import pi_sessions
from gemini_logs import gemini_files
from hypothesis import strategies as st

Json = dict[str, Any]


def sessions_of_clients(turns: st.SearchStrategy[list[Json]]) -> st.SearchStrategy[bytes]:
    """Files of pi, of Gemini CLI, also as one object, and of Kimi Code."""
    return st.one_of(pi_sessions(turns), gemini_files(turns), kimi_files(turns))


@st.composite
def kimi_files(draw: st.DrawFn, turns: st.SearchStrategy[list[Json]]) -> bytes:
    records: list[Json] = [kimi_logs.HEADER, {"type": "config.update", "systemPrompt": "Be brief.", "time": 1}]
    for number, turn in enumerate(draw(turns)):
        if "user" in turn:
            records += [{"type": "turn.prompt", "input": turn["user"], "time": 1}, kimi_logs.said(turn["user"])]
            continue
        name = f"s{number}"
        thought = [kimi_logs.part(name, turn["thinking"], "think")] if turn["thinking"] else []
        said = [kimi_logs.part(name, turn["text"])] if turn["text"] else []
        calls, answers, copies = [], [], []
        for call in turn["calls"]:
            asked = kimi_logs.call(name, call["id"], call["tool"])
            asked["event"] |= {"args": call["arguments"], "display": {"kind": "x", "text": _text(call["result"])}}
            notes: list[Json] = [{}, {"note": "<system>All was read.</system>"}, {"durationMs": 5}]
            note = draw(st.sampled_from(notes))
            output = draw(st.sampled_from([_text(call["result"]), [{"type": "text", "text": _text(call["result"])}]]))
            calls.append(asked)
            answers.append(kimi_logs.answer(call["id"], output, isError=bool(call["error"]), **note))
            told = {"role": "tool", "content": [{"type": "text", "text": _text(call["result"])}]}
            copies.append({"type": "agent.message.appended", "message": {"message": told}, "time": 4, "kind": "event"})
        answers = draw(st.permutations(answers)) if len(answers) < 4 else answers
        records += [*kimi_logs.step(name, *thought, *said, *calls, *answers), *copies]
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _text(result: Any) -> str:
    parts = result if isinstance(result, list) else [result]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", "")) for part in parts)
