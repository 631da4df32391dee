"""Generated transcripts of every format, with the oddities of real files."""

from __future__ import annotations

import json
import uuid
from typing import Any

from agent_logs import agent_files
from beside_messages import attachments, copies_of_requests
from chats_of_clients import Turns, opencode_exports
from hypothesis import strategies as st
from kimi_work import sessions_of_clients
from pictures import image_links, images
from repeats import repeating_turns, xml_messages
from response_items import request_items
from rollouts import rollout_records
from todo_calls import todo_calls
from training import sharegpt_files

from condense_cli.core.markers import Gap

ODD_LINES = st.sampled_from(
    [
        "",
        " ",
        "\t",
        "x",
        "…",
        "…rest",
        "a line with trailing blanks  ",
        "a carriage return\r",
        "a line separator\u2028inside",
        "日本語 emoji 🎉 é",
        "lone \ud800 surrogate",
        "nul \x00 and escape \x1b[31m",
        '{"json": [1, 2, "three"]}',
        "<system-reminder>be brief</system-reminder>",
        *(str(gap) for hash in ("0123abcd", "012345") for gap in (Gap(hash, 12), Gap(hash, 0, 300))),
        *(str(gap) for hash in ("89abcdef", "678901") for gap in (Gap(hash, 3, 4), Gap(hash, is_image=True))),
        *("[… 3 lines #012345] and more", "[… 0 lines #012345]"),
        "[…3 lines]",
        "[condense: 3 lines left out #0123abcd] and more",
        "[condense: 0 lines left out #0123abcd]",
        "   12→    return total",
        "word " * 60,
        "no_spaces_at_all_" * 30,
    ]
)
LINES = st.one_of(ODD_LINES, st.text(max_size=30), st.integers(0, 10**6).map(lambda n: f"result {n} of step {n * 7}"))

TEXTS = st.one_of(
    st.lists(LINES, max_size=14).map("\n".join),
    st.integers(1, 60).flatmap(lambda n: st.just("\n".join(f"line {i}: value = {i * i}" for i in range(n)))),
    st.integers(1, 40).map(lambda n: "a long single line of words, numbered 1 to many; " * n),
)
VISIBLE = TEXTS.map(lambda text: text if text.strip() else text + "visible")
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), LINES)

ARGUMENTS = st.dictionaries(
    st.sampled_from(["file_path", "command", "content", "old_string", "edits", "n", "ключ"]),
    st.one_of(SCALARS, VISIBLE, st.lists(VISIBLE, max_size=2), st.dictionaries(st.just("inner"), VISIBLE, max_size=1)),
    max_size=4,
)
TOOLS = st.sampled_from(["Read", "Bash", "Write", "read_file", "mcp__x__y"])


@st.composite
def exchanges(draw: st.DrawFn, *, thinking: bool = True) -> list[dict[str, Any]]:
    """A conversation in no format: [{"user": [text]}, {"assistant": ..., "calls": [...], "results": [...]}]."""
    turns: list[dict[str, Any]] = []
    number = 0
    for _ in range(draw(st.integers(1, 7))):
        turns.append({"user": draw(VISIBLE)})
        for _ in range(draw(st.integers(0, 3))):
            calls = []
            for _ in range(draw(st.integers(1, 3))):
                number += 1
                is_state = draw(st.integers(0, 3)) == 0
                tool, arguments = draw(todo_calls() if is_state else st.tuples(TOOLS, ARGUMENTS))
                calls.append(
                    {
                        "id": f"call_{number}",
                        "tool": tool,
                        "arguments": arguments,
                        "result": draw(st.one_of(TEXTS, st.lists(st.one_of(VISIBLE, images()), max_size=3))),
                        "error": draw(st.sampled_from([None, True, False])),
                    }
                )
            turns.append(
                {
                    "thinking": draw(st.one_of(st.none(), st.just(""), VISIBLE)) if thinking else None,
                    "text": draw(st.one_of(st.none(), VISIBLE)),
                    "calls": calls,
                }
            )
        only_thinking = thinking and draw(st.integers(0, 9)) == 0
        turns.append(
            {
                "thinking": draw(VISIBLE)
                if only_thinking
                else (draw(st.one_of(st.none(), VISIBLE)) if thinking else None),
                "text": None if only_thinking else draw(VISIBLE),
                "calls": [],
            }
        )
    if draw(st.booleans()):
        turns.append({"user": draw(VISIBLE)})
    return turns


def _result_content(result: Any) -> Any:
    if isinstance(result, list):
        return [{"type": "text", "text": part} if isinstance(part, str) else part for part in result]
    return result


def _assistant_blocks(turn: dict[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if turn["thinking"] is not None:
        blocks.append({"type": "thinking", "thinking": turn["thinking"], "signature": "c2lnbmF0dXJl" * 8})
    if turn["text"] is not None:
        blocks.append({"type": "text", "text": turn["text"]})
    blocks += (
        {"type": "tool_use", "id": call["id"], "name": call["tool"], "input": call["arguments"]}
        for call in turn["calls"]
    )
    return blocks


def _result_blocks(turn: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = []
    for call in turn["calls"]:
        block = {"type": "tool_result", "tool_use_id": call["id"], "content": _result_content(call["result"])}
        if call["error"] is not None:
            block["is_error"] = call["error"]
        blocks.append(block)
    return blocks


REPEATING: Turns = repeating_turns(images())
"""Conversations in which lines come again, so that there is something to refer to."""
ANY_TURNS: Turns = st.one_of(exchanges(), REPEATING)
WITHOUT_THINKING: Turns = st.one_of(exchanges(thinking=False), REPEATING)


@st.composite
def _api_blocks(draw: st.DrawFn, number: int) -> list[dict[str, Any]]:
    """Blocks of an answer that only Anthropic's API knows, some of them where it takes none."""
    call = {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": "x"}}
    found = {"type": "web_search_tool_result", "tool_use_id": call["id"], "content": []}
    told = draw(VISIBLE)
    document = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": told}}
    compaction = {"type": "compaction", "content": told, "signature": "c2lnbmVk"}
    return draw(st.sampled_from([[call, found], [call], [found], [document], [compaction]]))


@st.composite
def anthropic_messages(draw: st.DrawFn, turns: Turns = ANY_TURNS) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    if draw(st.integers(0, 4)) == 0:
        role = draw(st.sampled_from(["system", "developer"]))
        messages.append(
            {"role": role, "content": draw(st.sampled_from(["be brief", [{"type": "text", "text": "be"}]]))}
        )
    for turn in draw(turns):
        if "user" in turn:
            as_blocks = draw(st.booleans())
            content: Any = [{"type": "text", "text": turn["user"]}] if as_blocks else turn["user"]
            if as_blocks and draw(st.booleans()):
                content.insert(draw(st.integers(0, 1)), draw(images()))
            messages.append({"role": "user", "content": content})
            continue
        blocks = _assistant_blocks(turn)
        if draw(st.integers(0, 5)) == 0:
            blocks += draw(_api_blocks(len(messages)))
        if draw(st.booleans()) and len(blocks) == 1 and blocks[0]["type"] == "text":
            messages.append({"role": "assistant", "content": blocks[0]["text"]})
        else:
            messages.append({"role": "assistant", "content": blocks, "extra": draw(SCALARS)})
        if turn["calls"]:
            messages.append({"role": "user", "content": _result_blocks(turn)})
    return messages


def _strings(call: dict[str, Any]) -> list[str]:
    return [value for value in call["arguments"].values() if isinstance(value, str)]


@st.composite
def openai_messages(
    draw: st.DrawFn, turns: Turns = WITHOUT_THINKING, *, free_texts: bool = False
) -> list[dict[str, Any]]:
    """Some calls take a free text in place of arguments where there may be `free_texts`."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": draw(VISIBLE)}]
    for turn in draw(turns):
        if "user" in turn:
            content: Any = turn["user"]
            if draw(st.booleans()):
                content = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
                content += draw(st.lists(image_links(), max_size=2))
            messages.append({"role": "user", "content": content})
            continue
        message: dict[str, Any] = {"role": "assistant", "content": turn["text"]}
        if turn["calls"]:
            styles: list[dict[str, Any]] = [{"separators": (",", ":")}, {"indent": 1}, {"ensure_ascii": False}]
            style = draw(st.sampled_from(styles))
            message["tool_calls"] = []
            for call in turn["calls"]:
                arguments = json.dumps(call["arguments"], **style)
                function = {"type": "function", "function": {"name": call["tool"], "arguments": arguments}}
                custom = {"type": "custom", "custom": {"name": call["tool"], "input": "\n".join(_strings(call))}}
                is_free = free_texts and draw(st.booleans())
                message["tool_calls"].append({"id": call["id"], **(custom if is_free else function)})
        messages.append(message)
        for call in draw(st.permutations(turn["calls"])):
            result = call["result"]
            if isinstance(result, list):
                result = [
                    {"type": "text", "text": part} if isinstance(part, str) else draw(image_links()) for part in result
                ] or ""
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    return messages


@st.composite
def claude_records(draw: st.DrawFn, turns: Turns = ANY_TURNS) -> list[dict[str, Any]]:
    """A session with straight, branching and interleaved parallel calls, and records that are no messages."""
    records: list[dict[str, Any]] = []
    parent: str | None = None

    def add(kind: str, message: dict[str, Any] | None, parent: str | None, **extra: Any) -> str:
        identifier = str(uuid.uuid5(uuid.NAMESPACE_URL, str(len(records))))
        records.append(
            {
                "parentUuid": parent,
                "isSidechain": False,
                "sessionId": "s",
                "type": kind,
                **({} if message is None else {"message": message}),
                "uuid": identifier,
                "timestamp": "2026-01-02T03:04:05.000Z",
                **extra,
            }
        )
        return identifier

    def beside(parent: str | None) -> str | None:
        """Now and then what newer clients write besides."""
        records.extend(draw(copies_of_requests(VISIBLE)) if draw(st.integers(0, 3)) == 0 else ())
        return add("attachment", None, parent, **draw(attachments(VISIBLE))) if draw(st.integers(0, 3)) == 0 else parent

    if draw(st.booleans()):
        records.append({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}})
    for number, turn in enumerate(draw(turns)):
        if "user" in turn:
            content: Any = turn["user"]
            if draw(st.integers(0, 3)) == 0:
                content = [draw(images()), {"type": "text", "text": content}]
            parent = beside(add("user", {"role": "user", "content": content}, parent))
            if draw(st.integers(0, 4)) == 0:
                records.append({"type": "queue-operation", "operation": "enqueue", "sessionId": "s", "timestamp": ""})
            continue
        shape = draw(st.sampled_from(["straight", "branching", "interleaved"]))
        waiting = {block["tool_use_id"]: block for block in _result_blocks(turn)}
        lines: dict[str, str] = {}

        def answer(identifier: str, parent: str | None, lines: dict[str, str], waiting: dict[str, Any]) -> str:
            block = waiting[identifier]
            content = block["content"]
            return add(
                "user",
                {"role": "user", "content": [block]},
                parent,
                toolUseResult={"stdout": content, "n": 1} if isinstance(content, str) else content,
                sourceToolAssistantUUID=lines[identifier],
            )

        for block in _assistant_blocks(turn):
            message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-opus-4-5"}
            parent = add("assistant", {**message, "content": [block], "stop_reason": None}, parent)
            if block["type"] == "tool_use":
                lines[block["id"]] = parent
                if shape == "interleaved":
                    parent = answer(block["id"], parent, lines, waiting)
        if shape != "interleaved":
            for identifier in waiting:
                parent = answer(identifier, lines[identifier] if shape == "branching" else parent, lines, waiting)
        parent = beside(parent)
    if draw(st.booleans()):
        records.append({"type": "last-prompt", "lastPrompt": "x", "sessionId": "s", "leafUuid": parent})
    return records


@st.composite
def spelled(
    draw: st.DrawFn, records: list[dict[str, Any]], *, lines_only: bool = False, key: str = "messages"
) -> bytes:
    """Records as the bytes of a file, in one of the containers and styles that files come in."""
    container = "lines" if lines_only else draw(st.sampled_from(["lines", "array", "object"]))
    style: dict[str, Any] = {"ensure_ascii": draw(st.booleans())}
    if container == "lines":
        style["separators"] = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
        newline = draw(st.sampled_from(["\n", "\r\n", "\n\n"]))
        text = newline.join(json.dumps(record, **style) for record in records)
        text += draw(st.sampled_from(["", "\n", "\n\n"]))
    else:
        style["indent"] = draw(st.sampled_from([None, 2, "\t"]))
        value = records if container == "array" else {"model": "m", key: records, "tools": [{"name": "Read"}]}
        text = json.dumps(value, **style) + draw(st.sampled_from(["", "\n"]))
    if not style["ensure_ascii"]:
        text = "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode()


def _lines(records: list[dict[str, Any]]) -> st.SearchStrategy[bytes]:
    return spelled(records, lines_only=True)


def _request(records: list[dict[str, Any]]) -> st.SearchStrategy[bytes]:
    return spelled(records, key="input")


FILES = st.one_of(
    anthropic_messages().flatmap(spelled),
    openai_messages(free_texts=True).flatmap(spelled),
    claude_records().flatmap(_lines),
    rollout_records(ANY_TURNS).flatmap(_lines),
    request_items(ANY_TURNS).flatmap(_request),
    sharegpt_files(ANY_TURNS),
    opencode_exports(ANY_TURNS),
    sessions_of_clients(ANY_TURNS),
    agent_files(openai_messages()),
)

REPEATING_FILES = st.one_of(
    anthropic_messages(REPEATING).flatmap(spelled),
    openai_messages(REPEATING, free_texts=True).flatmap(spelled),
    claude_records(REPEATING).flatmap(_lines),
    xml_messages().flatmap(spelled),
    rollout_records(REPEATING).flatmap(_lines),
    request_items(REPEATING).flatmap(_request),
    sharegpt_files(REPEATING),
    opencode_exports(REPEATING),
    sessions_of_clients(REPEATING),
    agent_files(openai_messages(REPEATING)),
)
MODELS = st.sampled_from([None, "claude-opus-4-5", "claude-sonnet-5-5", "gpt-5.1"])
