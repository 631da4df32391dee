"""What Codex sends and what our reader takes for the conversation, item by item of the Responses API."""

import json
from typing import Any

from condense_cli.core.transcript import JsonPath, Transcript
from condense_cli.formats import parse

from . import token_counts
from .loopback import Json

_TAKEN_OFF = ("id", "internal_chat_message_metadata_passthrough")
"""Keys that do not matter here: the client leaves them out, or makes them anew."""


def of_request(body: Json) -> list[Json]:
    return [_bare(item) for item in body["input"]]


def of_transcript(transcript: Transcript) -> list[Json]:
    """The items that the blocks of a transcript stand in, in order."""
    places = dict.fromkeys((block.place.record, _item(block.place.path)) for _, block in transcript.blocks())
    return [_bare(_value(transcript, record, path)) for record, path in places]


def _item(path: JsonPath) -> JsonPath:
    return path[:3] if path[1:2] == ("replacement_history",) else path[:1]


def _value(transcript: Transcript, record: int, path: JsonPath) -> Json:
    value: Any = json.loads(transcript.source.raw(record))
    for key in path:
        value = value[key]
    # The summary of an old compaction is no item: the client makes a message of it.
    return value if "type" in value else message(value["message"])


def message(text: str) -> Json:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _bare(item: Json) -> Json:
    return {key: value for key, value in item.items() if key not in _TAKEN_OFF and value is not None}


def differences(transcript: Transcript, body: Json, prompt: str) -> list[str]:
    """Where a request that resumes the transcript with `prompt` differs from what the transcript says.

    What the client adds on its own does not count: its instructions and surroundings, outputs of calls
    that have none, that instructions of another folder no longer apply, and the new prompt. Where the items agree,
    their tokens are compared.
    """
    ours = of_transcript(transcript)
    position = 0
    sent = []
    for original, item in zip(body["input"], of_request(body), strict=True):
        if position < len(ours) and item == ours[position]:
            position += 1
            sent.append(original)
        elif not _is_clients_own(item, prompt):
            expected = ours[position] if position < len(ours) else None
            return [f"item {position}: the transcript says {_shown(expected)}, the client {_shown(item)}"]
    if ours[position:]:
        return [f"not sent: {_shown(item)}" for item in ours[position:]]
    request = parse(json.dumps({"model": body["model"], "input": sent}).encode(), format="openai-responses")
    return token_counts.differences(token_counts.of_blocks(transcript), token_counts.of_blocks(request))


def _is_clients_own(item: Json, prompt: str) -> bool:
    texts = [part.get("text", "") for part in item.get("content", ())]
    return (
        item.get("role") == "developer"
        or item.get("output") == "aborted"
        or any(text.startswith(("<environment_context>", prompt)) or "no longer apply" in text for text in texts)
    )


def _shown(item: Json | None) -> str:
    return json.dumps(item)[:200]
