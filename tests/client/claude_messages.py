"""What Claude Code sends and what our reader takes for the conversation, block by block."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from condense_cli.core.transcript import Block, Message, Transcript
from condense_cli.core.values import BlockKind, Role

from . import token_counts
from .loopback import Json
from .token_counts import ANSWERS_ITSELF, MISSING

RENAMED = {"Task": "Agent", "BashOutput": "TaskOutput", "KillShell": "TaskStop", "AgentOutputTool": "TaskOutput"}
"""Tools of older clients, which the client sends under their present names."""

REMINDER = "<system-reminder>"
NOTICE = "<task-notification>"
CLIENTS_OWN = (
    REMINDER,
    NOTICE,  # a command that ran in the background is gone
    "Continue from where you left off.",  # the user had the last word
    "No response requested.",
    "Tool loaded.",  # behind what a search for tools found
)
"""How texts begin that Claude Code adds on its own when it resumes a session."""


class Item(NamedTuple):
    """One block of the conversation. `about` is the id of a call or result, `text` what it says."""

    role: str
    kind: str
    about: str
    text: str


def of_request(body: Json) -> list[Item]:
    """The blocks that a request to the Messages API holds."""
    return _calls_last(
        [item for part in _parts(message["content"]) for item in _of_part(message, part)]
        for message in body["messages"]
    )


def _calls_last(messages: Iterable[list[Item]]) -> list[Item]:
    """Blocks, in each message the calls behind the rest: mostly the client puts them there."""
    ordered = (item for items in messages for item in sorted(items, key=lambda item: item.kind == "call"))
    # What a search for tools found the client sends as far as it has those tools.
    return [item for item in ordered if item.text != "tool_reference"]


def _parts(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _of_part(message: Json, part: Json) -> Iterator[Item]:
    role, kind = message["role"], part["type"]
    if kind == "text":
        yield Item(role, "text", "", part["text"].removesuffix("\n"))
    elif kind == "thinking":
        yield Item(role, "thinking", "", part["thinking"])
    elif kind == "tool_use":
        yield Item(role, "call", part["id"], _call(part["name"], part["input"]))
    elif kind == "tool_result":
        for piece in _parts(part.get("content")) or [{"type": "text", "text": ""}]:
            yield Item(role, "result", part["tool_use_id"], piece["text"] if piece["type"] == "text" else piece["type"])
    else:
        yield Item(role, kind, "", "")


def of_transcript(transcript: Transcript) -> list[Item]:
    """The same of a transcript, without attachments, whose wording is the client's."""
    return _calls_last(
        [
            _of_block(transcript, message, block)
            for block in message.blocks
            if not (block.kind is BlockKind.OPAQUE and block.owner == ("attachment",))
        ]
        for message in transcript.messages
    )


def _of_block(transcript: Transcript, message: Message, block: Block) -> Item:
    role = "assistant" if message.role is Role.ASSISTANT else "user"
    if block.answers:
        is_text = block.kind is BlockKind.TOOL_RESULT or block.is_readable
        return Item(role, "result", block.answers, block.text if is_text else _type(transcript, block))
    if block.kind is BlockKind.TEXT:
        return Item(role, "text", "", block.text.removesuffix("\n"))
    if block.kind is BlockKind.THINKING:
        return Item(role, "thinking", "", block.text)
    if block.kind is BlockKind.TOOL_CALL:
        return Item(role, "call", str(block.call_id), _call(str(block.tool), json.loads(block.text)))
    return Item(role, _type(transcript, block), "", "")


def _type(transcript: Transcript, block: Block) -> str:
    value = json.loads(transcript.source.raw(block.place.record))
    for key in block.place.path:
        value = value[key]
    return str(value["type"])


def _call(tool: str, arguments: Any) -> str:
    return f"{RENAMED.get(tool, tool)} {json.dumps(arguments, sort_keys=True)}"


def differences(transcript: Transcript, body: Json, prompt: str) -> list[str]:
    """Where a request that resumes the transcript with `prompt` differs from what the transcript says.

    What the client adds on its own does not count: system messages, texts, also at the end of a result, results
    of open calls, and the new prompt. Where the blocks agree, the tokens are compared, attachments among them.
    """
    ours = of_transcript(transcript)
    position = 0
    for item in of_request(body):
        expected = ours[position] if position < len(ours) else None
        if expected and _agree(expected, item):
            position += 1
        elif not _is_clients_own(item, prompt):
            return [f"block {position}: the transcript says {_shown(expected)}, the client {_shown(item)}"]
    if ours[position:]:
        return [f"not sent: {_shown(item)}" for item in ours[position:]]
    counts = token_counts.of_session(transcript, body), token_counts.of_request(transcript, body)
    return token_counts.differences(*counts)


def _is_clients_own(item: Item, prompt: str) -> bool:
    if item.kind == "result":
        return item.text.startswith((*ANSWERS_ITSELF, REMINDER, MISSING))
    return item.role == "system" or (item.kind == "text" and item.text.startswith((*CLIENTS_OWN, prompt)))


def _agree(ours: Item, theirs: Item) -> bool:
    if ours == theirs:
        return True
    if ours[:3] != theirs[:3]:
        return False
    if ours.kind == "text":  # a notice that a task has ended, which it says is none of the user's
        return ours.text.startswith(NOTICE) and theirs.text.startswith(REMINDER) and ours.text in theirs.text
    return ours.kind == "result" and theirs.text.startswith(f"{ours.text.strip()}\n\n{REMINDER}")


def _shown(item: Item | None) -> str:
    return "nothing" if item is None else f"{item.role} {item.kind} {item.about} {item.text[:100]!r}"
