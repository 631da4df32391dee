"""Write docs/formats.md: what the table of formats says, and a few words on each.

python docs/make_formats.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from condense_cli.core.values import Family, Role
from condense_cli.formats import FORMATS
from condense_cli.formats.engine.base import Format

PAGE = Path(__file__).resolve().parent / "formats.md"


class Notes(NamedTuple):
    """What the table does not say. `summary` is empty where a summary is a message like the others."""

    recognised: str
    read: str
    left_out: str = "nothing"
    kept: str = ""
    summary: str = ""


CHAT = "messages with `role` and `content`, `tool_calls` or the role `tool`; texts alone with a `system` message"
NOTES = {
    "claude-code": Notes(
        "records with `uuid`, `parentUuid` and `sessionId`",
        "the chain to the newest leaf, after the last compact boundary; lines of one `message.id` are one turn",
        "branches that were left, sidechains, what the client never sends",
        "`parentUuid`, `leafUuid`, `sourceToolAssistantUUID`, `logicalParentUuid`, what a boundary preserves",
        "a compact boundary and an `isCompactSummary` message at the end, behind them copies of what stays",
    ),
    "claude-stream-json": Notes(
        "events with `session_id` and a `message`",
        "the messages of `assistant` and `user` events, one block each",
        "events of subagents, deltas; the prompt is not in such a file",
    ),
    "codex": Notes(
        "lines `{timestamp, type, payload}`, as they are since September 2025",
        "what `codex resume` would send after compactions and rollbacks",
        "what is drawn only (`event_msg`), reasoning that was dropped",
        "ids of reasoning and calls",
        "one `compacted` record at the end, with the history that replaces what was before",
    ),
    "cline": Notes(
        "messages with `id`, `ts` and Anthropic's content",
        "Anthropic's blocks; each entry `{query, result}` of a result is a text of its own, in a string too",
    ),
    "roo": Notes(
        "Anthropic's messages with `ts`",
        "native tool blocks, and calls as XML with `[tool for …] Result:` bodies, linked by order",
        "messages that a summary or a truncation of the client hides",
        "",
        "an `isSummary` message; what it replaces stays in the file and names it in `condenseParent`",
    ),
    "swe-agent": Notes(
        "an object with `history` and `trajectory`",
        "native tools, or actions inside the text with the observation after them",
        "nothing; demonstrations count as the client's words",
        "the number and the order of the steps in `trajectory`",
    ),
    "mini-swe-agent": Notes(
        "an object with `trajectory_format`, or messages with `extra`",
        "native tools, or commands between fences with what they printed",
        "the `exit` message",
    ),
    "openhands": Notes(
        "an object with `history` of events, or the events",
        "an action is a call, the observation that it caused its result",
        "changes of state, and what else the model never got",
        "",
        "an event in which the user says it",
    ),
    "openhands-sdk": Notes(
        "events with `kind` and `source`",
        "actions, observations and messages as the SDK sends them, after its condensations",
        "events that a `Condensation` forgot, and kinds that never reach the model",
        "",
        "an event in which the user says it",
    ),
    "inspect": Notes(
        "an object with `eval` and one of `samples`, or a sample",
        "the messages of the sample",
        "`events`, `output` and `attachments`, which repeat them",
    ),
    "inspect-eval": Notes(
        "a zip archive of samples", "the messages of its one sample; many are [rows](rows.md)", "as in `inspect`"
    ),
    "request-log": Notes(
        "lines with a request and its parameters, or an answer",
        "the last request, which holds the whole conversation, and its answer",
        "earlier requests",
    ),
    "tau2": Notes(
        "an object with `messages` and the keys of a simulation",
        "the messages of the agent, and of the user to it",
        "calls of the simulated user, which the agent never sees",
    ),
    "opencode": Notes(
        "messages `{info, parts}`",
        "a tool part is a call in the turn of the assistant and a result in the turn after it; from the last finished "
        "compaction on, or from the message that it names as the first to keep",
        "snapshots, patches, ignored texts, answers that failed",
        "`parentID`, `tail_start_id`; ids and times give the order and stay",
        "a message of the user with the id and time of the first message it replaces. `opencode import` "
        "leaves alone what it has already: import on another machine, or after `opencode session delete`",
    ),
    "opencode-events": Notes(
        'lines `["event", {"event": …}]`',
        "the newest `message.part.updated` of each part, as in `opencode`",
        "all earlier states; other sessions in the same log, such as those of subagents",
    ),
    "pi": Notes(
        'a header `{"type": "session", "cwd", …}`',
        "the path to the last entry; of a compaction its summary, then what it kept, then what follows",
        "other branches, answers that failed, commands that were kept out of the context",
        "`parentId`, `firstKeptEntryId`, `fromId`; in version 1 the number `firstKeptEntryIndex`",
        "an entry `branch_summary`; what it replaces stays in the file as a branch that was left. A compaction that "
        "is summarized again is followed by a new one. In version 1, which has no branches, a message",
    ),
    "session-trace": Notes(
        'a header `{"type": "session", "harness", "id"}`; sessions of Claude Code, Codex and pi are shared as they are',
        "one message a line; results by the id of their call",
    ),
    "gemini": Notes(
        "messages with `id`, `timestamp`, `type` and `content`",
        "calls and thoughts beside the content or in it, results under `toolCalls`",
        "notices, and what the user said to the client (`/…`, `?`)",
    ),
    "gemini-log": Notes(
        "a header with `sessionId` and `projectHash`",
        "the newest version of each message, after `$set` and `$rewindTo`; a result that is told twice counts once",
        "notices, and earlier versions of a message",
        "results that are told twice; no line goes: what loses messages has a new line at the end that says which "
        "are left, as the client writes it. `gemini --resume` goes on with it; `gemini --session-file FILE` too",
    ),
    "qwen-code": Notes(
        "records with `uuid`, `parentUuid` and `sessionId` whose `message` has `parts`",
        "the messages on the way to the last record; of a compression its history, then what follows",
        "branches that were left, system records",
        "`parentUuid`; what `toolCallResult` repeats of what was cut",
    ),
    "google-adk": Notes(
        "an object with `app_name` and `events`",
        "the contents of the events; results by the id of their call, or by order and name where there is none",
        "state, actions",
    ),
    "atif": Notes(
        "an object with `steps` whose `schema_version` begins with `ATIF`",
        "messages, thoughts and calls of each step; its observation is the results, in a turn of their own",
        "metrics",
        "`step_id`, counted anew",
    ),
    "gemini-contents": Notes(
        "contents with `role` and `parts`, or an object with `contents`",
        "texts, thoughts, calls and responses; responses by the id of their call, or by order and name without one",
        "`systemInstruction` and `tools`, which count as overhead",
    ),
    "bedrock-converse": Notes(
        "messages whose content has parts without a type (`text`, `toolUse`, `toolResult`, …)",
        "texts, reasoning, calls and results; results that are JSON stay as they are",
        "`system` and `toolConfig`, which count as overhead",
    ),
    "goose": Notes(
        "messages with `created` and Goose's parts (`toolRequest`, …), or an export with `conversation`",
        "texts, thinking, requests of tools and their responses; tried with files made from its source, not with "
        "Goose. A session in its database is read as it is exported",
        "messages that the agent does not see, notices, requests to confirm",
    ),
    "amp": Notes(
        "messages with `messageId` and Anthropic's parts",
        "texts, thinking, calls, and results that are texts; learned from tools that read threads, not tried with Amp",
        "states and usage",
    ),
    "iflow": Notes(
        "Claude Code's keys, with ids of sessions that begin with `session-`",
        "all records in their order, from the last summary on; pieces of an answer are one turn, and what they repeat "
        "counts once. Learned from tools that read sessions: the client itself is no longer to be had",
        "sidechains",
    ),
    "bedrock-log": Notes(
        'records with `"schemaType": "ModelInvocationLog"`',
        "the messages of the newest call, with its answer: bodies of Converse, of Anthropic's API (streams too) and of "
        "chat completions",
        "calls of other conversations; bodies that the log keeps in files of their own",
    ),
    "chatgpt-export": Notes(
        "an object with `mapping` and `current_node`; many of them are [rows](rows.md)",
        "the path to the current node; a message to a tool that is answered is a call, whatever follows from the tool "
        "its result",
        "branches that were left, files",
    ),
    "claude-export": Notes(
        "messages with `uuid` and `sender`; an object with `chat_messages`, and many of them are [rows](rows.md)",
        "Anthropic's parts; calls and results are in one message. Texts of attached files count as the client's",
        "branches that were left, `text` where there is `content`, files",
    ),
    "droid": Notes(
        'a record `{"type": "session_start", "id", "cwd"}`',
        "the messages in the order of the file; learned from tools that read such sessions, not tried with Droid",
        "all records but messages",
        "`parentId`",
    ),
    "ai-sdk-ui": Notes(
        "messages with `id`, `role` and typed `parts`",
        "each step of a message is a turn, and the outputs of its tools another; an output that is no text stays whole",
        "parts that are only shown (`source-…`, `data-…`), calls whose input was still coming",
        summary="a message of the user; steps that stay in front of it and behind it are messages of their own",
    ),
    "langfuse": Notes(
        "an object with `observations`, each with a `type` and a `startTime`",
        "the input and the output of the newest generation: the whole conversation so far",
        "other observations; definitions of tools",
    ),
    "langsmith": Notes(
        "runs: records with a `run_type` and `inputs`, also as `child_runs`",
        "inputs and outputs of the newest run of a model, else the longest state of a graph",
        "other runs",
    ),
    "otel-spans": Notes(
        "an object with `resourceSpans`, or spans whose `attributes` begin with `gen_ai.` or `llm.`",
        "the messages of the newest span of a model: the whole conversation so far, with its answer",
        "other spans; reasoning. Older conventions, which have a message in each event, are not read",
    ),
    "vscode-chat": Notes(
        "an object with `requests`, each with a `message` and a `response`",
        "the rendered message, and the rounds of calls with their results; without rounds what the window shows",
        "what the window shows besides; encrypted thinking",
    ),
    "langchain": Notes(
        "records `{type, data}` or `{lc, id, kwargs}`, or messages of a type with `additional_kwargs`",
        "texts, `tool_calls` and results by the id of their call",
        "calls that are there again in the content or in `additional_kwargs`",
        "those copies, of what was cut",
    ),
    "copilot": Notes(
        "events with `data` and `parentId`, of the types that Copilot CLI writes",
        "what a resumed session sends: of a message the transformed text, results by the id of their call, after a "
        "compaction its summary and what came after it began",
        "events of sub-agents, secret reasoning, which is bound to the session; the system prompt counts as overhead",
        "`parentId`; with a call go its other events; copies of what was cut (`content`, `detailedContent`, arguments)",
    ),
    "kimi": Notes(
        "a header with `protocol_version`, or `context.` events",
        "the context as the client builds it: steps, results, compactions, undos",
        "what was compacted, cleared or undone",
        "copies of what was cut; no line goes: what loses messages has the context once more at the end, behind a "
        "`context.clear`, and `kimi --session ID` goes on with that",
    ),
    "sharegpt": Notes(
        "turns `{from, value}`, or messages whose parts have a `value`; many of them are [rows](rows.md)",
        "a call is JSON in the turn's text, linked to its result by order; `system` and `tools` are standing text",
    ),
    "openai-responses": Notes(
        "items such as `function_call` and `reasoning`, messages with a `type` and a list of parts; an object with "
        "`input`. Messages with texts alone are taken for `openai-chat` or `anthropic`",
        "the items of one answer are one turn, and so are the outputs that follow. What servers did "
        "(`web_search_call`, `mcp_call`, …), what they alone can read (`compaction`, `item_reference`) and items of "
        "unknown types stay as they are",
        kept="ids of items behind reasoning that goes. Reasoning stays where an item behind it needs its id",
    ),
    "openai-chat": Notes(CHAT, "messages with their calls; the results of one assistant message are one turn"),
    "anthropic": Notes(
        "messages with `role` and Anthropic's content blocks; texts alone",
        "neighbours of one role are one turn, as the API joins them; texts that servers return (`mcp_tool_result`, "
        "code, fetched pages) are results, what is encrypted in others stays whole",
    ),
}
_FAMILIES = {
    Family.ANTHROPIC: "Anthropic Messages",
    Family.OPENAI_CHAT: "chat completions",
    Family.OPENAI_RESPONSES: "OpenAI Responses",
}
_HEAD = """# Formats

This page is made by `docs/make_formats.py` from the table of formats (`make docs`).

The format is recognised from the content (`--format NAME` overrides; `--format list` prints all). What nothing changed
is written back byte for byte; in a changed record only the strings that changed are exchanged. `condense run FILE --to`
with `anthropic`, `openai-chat` or `openai-responses` writes any of these as messages of that API. Many conversations in
one file are [rows](rows.md).

A file in which most of the calls, the results or the text is of kinds that condense does not know is refused; single
parts of such kinds stay as they are, and every report says so. Where a client stops reading at a parent that is
missing, the messages before it are counted and said.

"""


def page() -> str:
    """The text of the page. Raises KeyError for a format without notes."""
    lines = ["| format | written | files |", "| --- | --- | --- |"]
    lines += [f"| [`{form.name}`](#{form.name}) | {_yes(form.is_writable)} | {_files(form)} |" for form in FORMATS]
    sections = [_section(form, NOTES[form.name]) for form in FORMATS]
    return _HEAD + "\n".join([*lines, "", *sections])


def _files(form: Format) -> str:
    return form.description.removesuffix(", only read").replace("*", "\\*")


def _yes(value: bool) -> str:
    return "yes" if value else "only read"


def _section(form: Format, notes: Notes) -> str:
    rows = {
        "recognised by": notes.recognised,
        "read": notes.read,
        "not part of the conversation": notes.left_out,
        "rules of": _FAMILIES[form.family],
    }
    if form.is_writable:
        user = form.summary_role is Role.USER
        place = "in place of the first message it replaces"
        rows["a summary is"] = notes.summary or f"a message {'of the user ' if user else ''}{place}"
        rows["kept right"] = notes.kept or "nothing leads from one record to another"
    rows["`--slim`"] = "leaves out what only the client shows" if form.shown else "changes nothing"
    table = "\n".join(f"| {name} | {text} |" for name, text in rows.items())
    return f"## {form.name}\n\n{_files(form)}.\n\n| | |\n| --- | --- |\n{table}\n"


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
