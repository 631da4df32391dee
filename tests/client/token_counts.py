"""How many tokens a client sends of a session, and how many the transcript says, both by the counter of the reports."""

import json
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import Role
from condense_cli.formats import parse
from condense_cli.tokens.counting import Counter

from .loopback import Json

ANSWERS_ITSELF: Final = ("[Tool call interrupted: ", "[Tool result missing ")
"""How the results begin that Claude Code gives to open calls."""

_ADDED: Final = ("Tool loaded.", "No response requested.", "Continue from where you left off.", *ANSWERS_ITSELF)
"""How texts begin that Claude Code adds between the messages of a session."""

MISSING: Final = "[Tool references removed"
"""How a text begins that stands for tools which the client of these tests does not have."""

_REMINDED: Final = "The task tools haven't been used"
"""What a client says that has these tools: with some models it has not."""

_count = Counter()


def differences(ours: int, theirs: int) -> list[str]:
    """That two counts differ by more than the words which old files do not hold, and line breaks between texts."""
    is_close = abs(ours - theirs) <= 5 + theirs // 100
    return [] if is_close else [f"the transcript says {ours} tokens, the client {theirs}"]


def of_envelope(transcript: Transcript) -> int:
    return _count(transcript.envelope)


def of_blocks(transcript: Transcript) -> int:
    return sum(_count.block(block) for _, block in transcript.blocks())


def of_session(transcript: Transcript, body: Json) -> int:
    """Tokens of the messages by our reading, but for what is about tools that the client of `body` does not have."""
    is_reminded = _REMINDED in json.dumps(body["messages"])
    blocks = [block for _, block in transcript.blocks() if is_reminded or block.api_type != "task_reminder"]
    return sum(_count.block(block) for block in blocks if block.api_type != "tool_reference")


def of_request(transcript: Transcript, body: Json) -> int:
    """Tokens of the messages in a request that are of the session, and not added by the client that resumed it."""
    return sum(map(_count.block, sent(transcript, body)))


def sent(transcript: Transcript, body: Json) -> Iterator[Block]:
    """Behind the last reply stands the new prompt with what comes along: there only what the session says counts."""
    request = parse(json.dumps({"messages": body["messages"]}).encode(), format="anthropic")
    last = _last_reply(request)
    said = {block.text.strip() for _, block in transcript.blocks()}
    newest = [block for message, block in transcript.blocks() if message.index > _last_reply(transcript)]
    left = [block.text for block in newest]
    for message, block in request.blocks():
        # Where the client puts texts of one turn together, it ends each with a line break.
        block = replace(block, content=block.text.removesuffix("\n"))
        if block.api_type == "tool_reference" or block.text.startswith(MISSING):
            continue
        if block.text.startswith(_ADDED) and block.text not in said:
            continue
        if message.index <= last or block.answers:
            yield block
        elif message.role is Role.SYSTEM:
            yield from (known for known in newest if known.text and known.text in block.text)
        elif holder := next((text for text in left if block.text.strip() in text), ""):
            # An attachment may be sent in several texts.
            left.remove(holder)
            left.append(holder.replace(block.text.strip(), "", 1))
            yield block


def overhead(body: Json) -> int:
    """Tokens of the system prompt and the tools of a request of Claude Code."""
    tools = (json.dumps(tool, ensure_ascii=False, separators=(",", ":")) for tool in body["tools"])
    return sum(map(_count, (*(part["text"] for part in body["system"]), *tools)))


def _last_reply(transcript: Transcript) -> int:
    replies = (message.index for message in transcript.messages if message.role is Role.ASSISTANT)
    return max(replies, default=-1)
