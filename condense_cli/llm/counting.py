"""Let a provider count a transcript: send its text once to the token-counting endpoint, and nowhere else.

Images, documents and thinking are not sent: secret detection cannot read the first two, and some models refuse thinking
under another system prompt. An API counts more than the text, and refuses calls of tools that a request does not
define. So a request with the same tools and almost no text is counted first. It also checks, before any text is sent,
that the endpoint exists and that key and model are valid.
"""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..config.profiles import Access, Api
from ..core.transcript import Block, Transcript
from ..core.values import BlockKind
from ..errors import UsageError
from ..formats.convert import convert
from ..tokens.counting import Counter
from ..tokens.factor import HIGHEST, LOWEST, Factor, Known, typical_of
from .access import Redactor, connect
from .client import CallError, Cause, failure, names_of

Body = dict[str, Any]

_SENT: Final = (BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
_NOTHING: Final = "."
"""Text of a message that exists only because the API requires one."""


class _Requests(Struct, frozen=True):
    """A request with the text, one with almost none, and our counts of both."""

    whole: Body
    frame: Body
    bare: int
    bare_frame: int


def counted_factor(transcript: Transcript, count: Counter, access: Access, redactor: Redactor | None = None) -> Factor:
    """Return model tokens per token of ours in this transcript, as counted by a profile's API.

    Raises CallError if no plausible count came back, UsageError if there is no text.
    """
    asked = _requests(transcript, count, access.profile.api, redactor)
    client = connect(access)
    try:
        frame = client.count_tokens(asked.frame)
        tokens = client.count_tokens(asked.whole) - frame + asked.bare_frame
    except CallError as error:
        if error.failure.reason is Cause.MODEL_NOT_FOUND and access.profile.base_url:
            # Servers without the endpoint report this, too.
            raise CallError(failure(Cause.NO_COUNTING, names_of(access), error.failure.detail)) from error
        raise
    finally:
        client.close()
    value = tokens / asked.bare
    if not LOWEST <= value <= HIGHEST:
        said = f"({tokens:,} tokens where we count {asked.bare:,}; plausible is {LOWEST:g} to {HIGHEST:g} times that.)"
        raise CallError(failure(Cause.NOT_BELIEVED, names_of(access), said))
    return Factor(value, Known.COUNTED, typical=typical_of(transcript.model))


def _requests(transcript: Transcript, count: Counter, api: Api, redactor: Redactor | None) -> _Requests:
    sent = _masked(_text_alone(transcript), redactor)
    if not sent.messages:
        raise UsageError("The transcript has no text that a provider could count.", "Leave --count exact out.")
    match api:
        case "anthropic":
            format_name = "anthropic"
        case "openai":
            format_name = "openai-responses"
        case "offline" | "installed":
            raise ValueError(f"a profile of api {api} has no endpoint that counts")
        case other:
            assert_never(other)
    whole = json.loads(convert(sent, format_name).data)
    whole.pop("model", None)  # The client adds the profile's.
    if format_name == "anthropic":
        _close_messages(whole["messages"])
        frame: Body = {"messages": [{"role": "user", "content": _NOTHING}]}
        # The API rejects calls of tools without a definition.
        names = dict.fromkeys(part["name"] for message in whole["messages"] for part in _calls(message["content"]))
        if names:
            whole["tools"] = frame["tools"] = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    else:
        items = whole["input"]
        answered = {item["call_id"] for item in items if item["type"] == "function_call_output"}
        open_calls = [item for item in items if item["type"] == "function_call" and item["call_id"] not in answered]
        items += [
            {"type": "function_call_output", "call_id": call["call_id"], "output": _NOTHING} for call in open_calls
        ]
        frame = {"input": [{"type": "message", "role": "user", "content": _NOTHING}]}
    # No client of an API can send lone surrogates.
    sendable: Body = json.loads(json.dumps(whole, ensure_ascii=False).encode("utf-8", "replace"))
    return _Requests(sendable, frame, _bare(whole, format_name, count), _bare(frame, format_name, count))


def _text_alone(transcript: Transcript) -> Transcript:
    messages = (
        replace(message, blocks=tuple(block for block in message.blocks if block.kind in _SENT))
        for message in transcript.messages
    )
    return replace(transcript, messages=tuple(message for message in messages if message.blocks))


def _masked(transcript: Transcript, redactor: Redactor | None) -> Transcript:
    if redactor is None:
        return transcript

    def masked(block: Block) -> Block:
        text = redactor.text(block.text)
        return block if text == block.text else block.with_text(text)

    for _, block in transcript.blocks():  # Secrets detected in later blocks are masked in earlier ones, too.
        redactor.text(block.text)
    return replace(
        transcript,
        messages=tuple(replace(message, blocks=tuple(map(masked, message.blocks))) for message in transcript.messages),
    )


def _close_messages(messages: list[Body]) -> None:
    """Append an ending that the API accepts: no assistant message last, no call without result."""
    if messages and messages[-1]["role"] == "user":
        return
    content = messages[-1]["content"] if messages else []
    results = [{"type": "tool_result", "tool_use_id": part["id"], "content": _NOTHING} for part in _calls(content)]
    messages.append({"role": "user", "content": results or _NOTHING})


def _calls(content: Any) -> list[Body]:
    return [part for part in content if part["type"] == "tool_use"] if isinstance(content, list) else []


def _bare(body: Body, format_name: str, count: Counter) -> int:
    """Count a request ourselves, without tool definitions."""
    without_tools = {key: value for key, value in body.items() if key != "tools"}
    read = formats.parse(json.dumps(without_tools).encode(), format=format_name)
    return count.transcript(read) + count(read.envelope)
