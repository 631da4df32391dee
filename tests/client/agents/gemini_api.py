"""The Gemini API, as far as a client needs it: streamed answers from a script in the words of `messages_api`."""

import json
from collections.abc import Iterator, Sequence

from ..loopback import Answer, Json, Request
from .pieces import Piece

MODEL = "gemini-2.5-pro"
_USAGE = {"promptTokenCount": 1000, "candidatesTokenCount": 10, "totalTokenCount": 1010}


class Script:
    """Answers each request that offers tools with the next of the planned turns, then with "Done."."""

    def __init__(self, turns: Sequence[Sequence[Json]] = ()) -> None:
        self._turns = iter(turns)

    def __call__(self, request: Request) -> Answer:
        _, _, method = request.path.partition("?")[0].rpartition(":")
        if method == "countTokens":
            return Answer({"totalTokens": 1000})
        if method not in ("streamGenerateContent", "generateContent"):
            return Answer({})
        done = [{"type": "text", "text": "Done."}]
        blocks = next(self._turns, done) if request.body.get("tools") else done
        content = {"role": "model", "parts": [_part(block) for block in blocks]}
        candidate = {"content": content, "finishReason": "STOP", "index": 0}
        body = {"candidates": [candidate], "usageMetadata": _USAGE, "modelVersion": MODEL}
        return Answer(events=(body,)) if method == "streamGenerateContent" else Answer(body)


def _part(block: Json) -> Json:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "thinking":
            return {"text": block["thinking"], "thought": True}
        case _:
            return {"functionCall": {"name": block["name"], "args": block["input"]}}


def pieces(body: Json) -> Iterator[Piece]:
    """The conversation in a request."""
    for content in body["contents"]:
        found = (_piece(content.get("role") == "model", part) for part in content["parts"])
        yield from (piece for piece in found if piece)


def _piece(is_models: bool, part: Json) -> Piece | None:
    if part.get("thought"):
        return None
    if "functionCall" in part:
        return Piece("call", part["functionCall"]["name"], json.dumps(part["functionCall"]["args"], sort_keys=True))
    if "functionResponse" in part:
        return Piece("result", "", "\n".join(map(str, part["functionResponse"]["response"].values())).strip())
    return Piece("assistant" if is_models else "user", "", part["text"].strip())
