"""How many tokens a client sends of a session, and how many the transcript says, both by the counter of the reports."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from condense_cli.formats import parse
from condense_cli.tokens import Counter
from condense_cli.transcript import Block, Role, Transcript

from .claude_messages import ANSWERS_ITSELF
from .loopback import Json

_ADDED: Final = ("Tool loaded.", "No response requested.", "Continue from where you left off.", *ANSWERS_ITSELF)
"""How texts begin that Claude Code adds between the messages of a session."""

_OF_TOOLS: Final = ("[Tool references removed", "The task tools haven't been used", "<system-reminder>\nThe task tools")
"""How texts begin that tell which tools there are: a session may come from a client that had others."""

_count = Counter()


def of_session(transcript: Transcript) -> int:
    """Tokens of the messages by our reading."""
    return sum(_count.block(block) for _, block in transcript.blocks() if not _is_of_tools(block))


def of_request(transcript: Transcript, body: Json) -> int:
    """Tokens of the messages in a request that are of the session, not added by the client when it resumed it."""
    return sum(map(_count.block, sent(transcript, body)))


def sent(transcript: Transcript, body: Json) -> Iterator[Block]:
    """Behind the last reply stands the new prompt with what comes along: there only what the session says counts."""
    request = parse(json.dumps({"messages": body["messages"]}).encode(), format="anthropic")
    last = _last_reply(request)
    ours = [block for message, block in transcript.blocks() if message.index > _last_reply(transcript)]
    texts = [block.text.strip() for block in ours]
    said = {block.text.strip() for _, block in transcript.blocks()}
    for message, block in request.blocks():
        # Where the client puts texts of one turn together, it ends each with a line break.
        text = block.text.strip()
        is_added = text.startswith(_ADDED) and text not in said
        if is_added or _is_of_tools(block):
            continue
        if message.index <= last or block.answers:
            yield block
        elif message.role is Role.SYSTEM:
            yield from (known for known, text in zip(ours, texts, strict=True) if text and text in block.text)
        elif block.text.strip() in texts:
            yield block


def _last_reply(transcript: Transcript) -> int:
    replies = (message.index for message in transcript.messages if message.role is Role.ASSISTANT)
    return max(replies, default=-1)


def _is_of_tools(block: Block) -> bool:
    return block.api_type in ("tool_reference", "task_reminder") or block.text.startswith(_OF_TOOLS)
