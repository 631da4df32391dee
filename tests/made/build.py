"""Small transcripts for tests that are about one thing."""

import json
from typing import Any

from condense_cli import api
from condense_cli.config.loading import parse_configuration
from condense_cli.config.models import Configuration
from condense_cli.core.markers import SummaryMark, parse_summary
from condense_cli.core.transcript import Block, Transcript
from condense_cli.core.values import BlockKind
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept
from condense_cli.providers.registry import Registry

LONG = "\n".join(f"{n}: the value of item {n} is {n * n}" for n in range(40))
OLD = "\n".join(f"line {n} of the file as it was" for n in range(30))

IMAGE_LINK = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "List the files."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "ls", "arguments": '{"path": "."}'}},
            {"id": "b", "type": "function", "function": {"name": "pwd", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "b", "content": "/home"},
    {"role": "tool", "tool_call_id": "a", "content": "one\ntwo"},
    {"role": "assistant", "content": "Two files."},
]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def call(identifier: str, tool: str = "Read", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identifier, "name": tool, "input": arguments}


def result(identifier: str, content: Any = LONG, **extra: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, **extra}


def thinking(value: str = "let me think about that for a while") -> dict[str, Any]:
    return {"type": "thinking", "thinking": value, "signature": "c2lnbmVk"}


def read_turn(identifier: str, path: str = "src/app.py", content: Any = LONG, **extra: Any) -> list[dict[str, Any]]:
    """A call and its result."""
    return [assistant([call(identifier, "Read", file_path=path)]), user([result(identifier, content, **extra)])]


def conversation(turns: int = 6) -> list[dict[str, Any]]:
    """A request, then so many reads, then a last word: 2 * turns + 2 messages."""
    middle = [message for n in range(turns) for message in read_turn(f"toolu_{n}", f"src/file{n}.py")]
    return [user("Please find the bug."), *middle, assistant("Found it.")]


def anthropic(*messages: dict[str, Any]) -> Transcript:
    return api.loads(list(messages), format="anthropic")


def openai(*messages: dict[str, Any]) -> Transcript:
    return api.loads(list(messages), format="openai-chat")


def claude_line(kind: str, uuid: str, parent: str | None, content: Any, **extra: Any) -> dict[str, Any]:
    """One record of a Claude Code session; `reply` is the message id of an assistant line."""
    message: dict[str, Any] = {"role": kind, "content": content}
    if "reply" in extra:
        message |= {"id": extra.pop("reply"), "model": "claude-opus-4-5"}
    return {"parentUuid": parent, "isSidechain": False, "type": kind, "uuid": uuid, "message": message, **extra}


def session(*records: dict[str, Any]) -> Transcript:
    return api.loads("".join(json.dumps(record) + "\n" for record in records), format="claude-code")


def rollout(*items: dict[str, Any]) -> Transcript:
    """A Codex rollout of these items and nothing else."""
    records = ({"timestamp": "", "type": "response_item", "payload": item} for item in items)
    return api.loads("".join(json.dumps(record) + "\n" for record in records), format="codex")


def configuration(*passes: dict[str, Any], **keys: Any) -> Configuration:
    return parse_configuration(json.dumps({"passes": list(passes), **keys}))


def compiled(configuration: Configuration) -> Configuration:
    """The passes that a built-in provider makes of a configuration."""
    return Registry().compiled(configuration)


def one_pass(**keys: Any) -> dict[str, Any]:
    """A pass that suppresses all tool results but those of the last turn, unless told otherwise."""
    return {
        "id": "only",
        "selection": {"type": "preserve_recent", "keep_recent_count": 1},
        "individual_config": {"defaults": {"tool_results": {"operation": "suppress"}}},
        **keys,
    }


def one_batch(recent: int = 1, *, id: str = "all", **summarization: Any) -> dict[str, Any]:
    """A pass that makes one summary of all but the newest turns."""
    asked = {"keep_first": 0, "keep_last": 0, **summarization}
    return {
        "id": id,
        "selection": {"type": "preserve_recent", "keep_recent_count": recent},
        "mode": "batch",
        "batch_config": {"operation": "summarize", "summarization_config": asked},
    }


def extract(**keys: Any) -> dict[str, Any]:
    """A pass that shortens down to the target."""
    return {
        "id": "to-target",
        "selection": {"type": "preserve_recent", "keep_recent_count": 1},
        "mode": "extract",
        "execution": {"type": "target"},
        **keys,
    }


def cut_to(lines: int) -> dict[str, Any]:
    return {"defaults": {"tool_results": {"operation": "truncate", "params": {"truncate": {"max_lines": lines}}}}}


def condense(transcript: Transcript, *passes: dict[str, Any], **keys: Any) -> Condensation:
    """Run passes, check that the result can be written, and return it."""
    condensation = api.condense(transcript, configuration(*(passes or (one_pass(),)), **keys))
    api.dump(condensation)
    return condensation


def changed_messages(condensation: Condensation) -> list[int]:
    return sorted({receipt.message for receipt in condensation.changes})


def reasons(condensation: Condensation, message: int | None = None) -> set[Kept]:
    """Why blocks stay as they are, those of one message or all."""
    return {receipt.kept for receipt in condensation.receipts if receipt.kept and message in (None, receipt.message)}


def marks(condensation: Condensation) -> list[SummaryMark]:
    """The summaries of many messages that stand in the result."""
    return [mark for _, block in condensation.transcript.blocks() if (mark := parse_summary(block.text))]


def texts(transcript: Transcript) -> list[str]:
    return [block.text for _, block in transcript.blocks()]


def calls(transcript: Transcript) -> list[Block]:
    return [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_CALL]


def written(condensation: Condensation) -> list[dict[str, Any]]:
    """Messages or records of the written file."""
    data = api.dump(condensation).decode()
    value = json.loads(data) if data.lstrip().startswith("[") else [json.loads(line) for line in data.splitlines()]
    assert isinstance(value, list)
    return value
