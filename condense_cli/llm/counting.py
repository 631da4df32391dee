"""How a provider counts a transcript: its text goes once to the endpoint that counts tokens, and to nothing else.

Images, documents and thinking stay here: no detector of secrets looks into the first two, and some models refuse
thinking behind another system prompt than its own. An API counts more than the text, and refuses calls of tools that a
request does not define. So a request with the same tools and next to no text is counted first. That also tells, before
any text is sent, whether there is such an endpoint, and whether key and model are good.
"""

from __future__ import annotations

import json
from typing import Any, Final, assert_never

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..config.profiles import Access, Api
from ..core.factor import HIGHEST, LOWEST, Factor, Known, typical_of
from ..core.tokens import Counter
from ..core.transcript import Block, Transcript
from ..core.values import BlockKind
from ..errors import UsageError
from ..formats.convert import convert
from .access import Redactor
from .client import CallError, Cause, failure, names_of
from .connecting import connect

Body = dict[str, Any]

_SENT: Final = (BlockKind.TEXT, BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT)
_NOTHING: Final = "."
"""The text of a message that is there because an API wants one."""


class _Asked(Struct, frozen=True):
    """What is counted: a request with the text, and one with next to none. The others are our counts of both."""

    whole: Body
    frame: Body
    bare: int
    bare_frame: int


def counted_factor(transcript: Transcript, count: Counter, access: Access, redactor: Redactor | None = None) -> Factor:
    """The model's tokens for one of ours in this transcript, by the count of the API of a profile.

    Raises CallError for a call that gave no count, or one that cannot be, and UsageError where there is no text.
    """
    asked = _asked(transcript, count, access.profile.api, redactor)
    client = connect(access)
    try:
        frame = client.count_tokens(asked.frame)
        tokens = client.count_tokens(asked.whole) - frame + asked.bare_frame
    except CallError as error:
        raise _in_other_words(error, access) from error
    finally:
        client.close()
    value = tokens / asked.bare
    if not LOWEST <= value <= HIGHEST:
        said = f"({tokens:,} tokens where we count {asked.bare:,}; plausible is {LOWEST:g} to {HIGHEST:g} times that.)"
        raise CallError(failure(Cause.NOT_BELIEVED, names_of(access), said))
    return Factor(value, Known.COUNTED, typical=typical_of(transcript.model))


def _in_other_words(error: CallError, access: Access) -> CallError:
    """The same error, or that a server which is not the vendor's has no such endpoint: some say one, some the other."""
    if error.failure.reason is Cause.MODEL_NOT_FOUND and access.profile.base_url:
        return CallError(failure(Cause.NO_COUNTING, names_of(access), error.failure.detail))
    return error


def _asked(transcript: Transcript, count: Counter, api: Api, redactor: Redactor | None) -> _Asked:
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
    whole.pop("model", None)  # It is the profile's.
    if format_name == "anthropic":
        _close_messages(whole["messages"])
        frame: Body = {"messages": [{"role": "user", "content": _NOTHING}]}
        tools = _tools(whole["messages"])
        whole |= tools
        frame |= tools
    else:
        _close_items(whole["input"])
        frame = {"input": [{"type": "message", "role": "user", "content": _NOTHING}]}
    return _Asked(_encodable(whole), frame, _bare(whole, format_name, count), _bare(frame, format_name, count))


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

    for _, block in transcript.blocks():  # A secret that gives itself away in a later block is one in the first, too.
        redactor.text(block.text)
    return replace(
        transcript,
        messages=tuple(replace(message, blocks=tuple(map(masked, message.blocks))) for message in transcript.messages),
    )


def _close_messages(messages: list[Body]) -> None:
    """An end that the API takes: no message of the assistant, and no call without a result."""
    if messages and messages[-1]["role"] == "user":
        return
    content = messages[-1]["content"] if messages else []
    results = [{"type": "tool_result", "tool_use_id": part["id"], "content": _NOTHING} for part in _calls(content)]
    messages.append({"role": "user", "content": results or _NOTHING})


def _close_items(items: list[Body]) -> None:
    answered = {item["call_id"] for item in items if item["type"] == "function_call_output"}
    open_calls = [item for item in items if item["type"] == "function_call" and item["call_id"] not in answered]
    items += [{"type": "function_call_output", "call_id": call["call_id"], "output": _NOTHING} for call in open_calls]


def _tools(messages: list[Body]) -> Body:
    """A definition of every tool that is called: without one the API takes no call."""
    names = dict.fromkeys(part["name"] for message in messages for part in _calls(message["content"]))
    return {"tools": [{"name": name, "input_schema": {"type": "object"}} for name in names]} if names else {}


def _calls(content: Any) -> list[Body]:
    return [part for part in content if part["type"] == "tool_use"] if isinstance(content, list) else []


def _bare(body: Body, format_name: str, count: Counter) -> int:
    """What we count in a request, but for the definitions of tools."""
    without_tools = {key: value for key, value in body.items() if key != "tools"}
    read = formats.parse(json.dumps(without_tools).encode(), format=format_name)
    return count.transcript(read) + count(read.envelope)


def _encodable(body: Body) -> Body:
    """The same without lone surrogates, which no client of an API can send."""
    sent: Body = json.loads(json.dumps(body, ensure_ascii=False).encode("utf-8", "replace"))
    return sent
