"""Records of a Claude Code session: their tree, and the attachments that reach the model.

Only messages, attachments and what a command of the client printed can be sent. Beside most attachments that it sends,
version 2.1.330 writes their very words (`rendered`): those count. In older files the attachments hold only values, and
the client adds words of its own when it sends them: the table names the values, and about how many tokens the words
are. The rules are those of version 2.1.330, as `tests/client` holds them against the client itself.

Attachments are counted and reported, and no pass cuts them: the words are the client's own. If one ends with a text of
its own, lines of it that are repeated elsewhere may become references. Lists of what the client offers may go whole.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.json_text import object_in, value_in
from ...core.lazy_pattern import lazy_pattern
from ...core.transcript import Block, JsonPath, Place
from ...core.values import BlockKind
from ..engine import client_text
from ..engine.blocks import listed
from ..engine.client_text import is_injected


class Preserved(Struct, frozen=True):
    """Messages that a boundary keeps, behind the record `anchor`.

    Given by their `uuids` in order or, in older files, by the first and the last of a piece of the chain.
    """

    anchor: str | None
    uuids: tuple[str, ...] = ()
    head: str = ""
    tail: str = ""


class Node(Struct, frozen=True):
    """A record of the tree, reduced to what decides its place.

    `time` is an ISO time stamp, empty if the record has none. `reply_id` is the API message of an assistant line;
    `calls` and `answers` are tool ids; `preserved` is what a compact boundary keeps. A node that `decorates` goes along
    with a message: an attachment, a notice, or what the client says in the user's name.
    """

    record: int
    uuid: str
    parent: str | None
    kind: str
    time: str = ""
    is_sidechain: bool = False
    is_boundary: bool = False
    reply_id: str | None = None
    calls: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()
    preserved: Preserved | None = None
    is_message: bool = False
    decorates: bool = False


Tree = dict[str, Node]
"""Nodes by uuid. One that was written again is in its first place, as it was written last."""


TREE: Final = frozenset({"user", "assistant", "attachment", "progress", "system"})
"""Types of the records that are linked to a tree."""

REPLAY: Final = frozenset({"api-request", "api-request-shape", "api-request-blob", "api-request-resumed"})
"""Copies of requests for debugging: the client does not read them when it resumes."""

BESIDE_TREE: Final = REPLAY | {
    *("agent-color", "agent-name", "agent-setting", "ai-title", "artifact-autoreact-ledger"),
    *("artifact-comment-monitor", "atis-latch", "attribution-snapshot", "bridge-session", "content-replacement"),
    *("continued-in", "cost-state", "custom-title", "data-flow-incomplete", "data-flow-records", "derived-from"),
    *("dev-mods", "ended-by-model", "file-history-delta", "file-history-snapshot", "fork-context-ref", "frame-link"),
    *("history-suppression", "host-row", "hybrid-organization", "isolation-latch", "last-prompt", "memory-mode"),
    *("mode", "observer-ref", "permission-mode", "pr-link", "queue-operation", "relocated", "repl-mode"),
    *("resume-head-vouch", "session-owner", "summary", "tag", "tools-used", "worktree-state"),
}
"""Types of the records beside the tree. None is sent; `content-replacement` says that others are sent otherwise."""

OVERHEAD: Final = frozenset({"prompt_snapshot", "deferred_tools_record"})
"""Attachments that hold the system prompt and definitions of tools: every request carries them beside its messages."""

CUTTING: Final = frozenset({"tool_results_cut", "thinking_stripped"})
"""Attachments that say which of the records before them are sent otherwise, or no longer."""

NEVER: Final = frozenset(
    {
        *("advisor_stripped", "already_read_file", "async_hook_response_batch", "attention_budget"),
        *(
            "batching_reminder",
            "batching_reminder_sent",
            "command_permissions",
            "compaction_reminder",
            "context_efficiency",
            "context_tip",
        ),
        *("credential_org", "edited_image_file", "goal_status", "goals", "hook_cancelled", "hook_deferred_tool"),
        *("hook_error_during_execution", "hook_non_blocking_error", "hook_permission_decision"),
        *("hook_plugin_listing", "hook_system_message", "max_turns_reached", "message_pdf_reads"),
        *("project_doc_reads", "projects_thread_ask", "prompt_as_file", "prompt_render_point"),
        *(
            "secondary_reminder",
            "secondary_reminder_sent",
            "session_cron_carry",
            "structured_output",
            "teammate_shutdown_batch",
        ),
        *("thinking_drop", "todo_reminder", "tool_host_result_lines", "tool_offer_record"),
        *("whole_texts_withdrawn", "withheld_memory"),
    }
)
"""Attachments that the client shows or notes for itself and never sends."""


class Sent(Struct, frozen=True):
    """What an attachment without its words tells the model: the texts under `keys`, with dots leading into objects.

    `words` estimates the tokens of what the client says around them. It says that only if there is a text, or `always`.
    """

    keys: tuple[str, ...] = ()
    words: int = 0
    always: bool = False


SENT: Final = {
    "account_memory_recall": Sent(("content",)),
    "advisor_tool": Sent(words=80, always=True),
    "agent_ask_notice": Sent(("lines",)),
    "agent_listing_delta": Sent(("addedLines", "removedTypes"), 20),
    "agent_mention": Sent(("agentType",), 35),
    "artifact_opening_prefetch": Sent(("content",)),
    "async_hook_response": Sent(("response.systemMessage", "response.hookSpecificOutput.additionalContext")),
    "at_mention_reference": Sent(("mentions",), 50),
    "auto_mode": Sent(words=218, always=True),
    "auto_mode_exit": Sent(words=45, always=True),
    "bash_output_audience_note": Sent(words=40, always=True),
    "budget_usd": Sent(words=20, always=True),
    "claude_app_notice": Sent(("lines",)),
    "compact_file_reference": Sent(("filename",), 40),
    "context_sections": Sent(("sections",), 30),
    "coordinator_context": Sent(("content",), 30),
    "cowork_memory_context": Sent(("content",)),
    "critical_system_reminder": Sent(("content",)),
    "date": Sent(("date",), 15),
    "date_change": Sent(("newDate",), 30),
    "deferred_tools_delta": Sent(("addedLines", "removedNames", "readdedNames"), 60),
    "diagnostics": Sent(("files",), 30),
    "dir_sync_notice": Sent(("content",)),
    "directory": Sent(("path", "content"), 50),
    "dynamic_skill": Sent(("skillDir", "skillNames"), 25),
    "edited_text_file": Sent(("filename", "snippet"), 70),
    "elapsed_time_reminder": Sent(("text",)),
    "environment": Sent(("snapshot",), 150),
    "file": Sent(("filename", "content"), 40),
    "first_week": Sent(("note",)),
    "fork_briefing": Sent(("text",)),
    "hook_additional_context": Sent(("content",), 20),
    "hook_blocking_error": Sent(("blockingError.command", "blockingError.blockingError"), 25),
    "hook_stopped_continuation": Sent(("message",), 20),
    "hook_success": Sent(("content",), 20),
    "inlined_image_paths": Sent(("paths",), 60),
    "instruction_files_not_loaded": Sent(words=40, always=True),
    "instructions": Sent(("files",), 60),
    "invoked_skills": Sent(("skills",), 120),
    "language": Sent(words=30, always=True),
    "linked_plugin_tools_note": Sent(("text",)),
    "mcp_dropped_tools_delta": Sent(words=40, always=True),
    "mcp_instructions_delta": Sent(("addedBlocks", "removedNames"), 30),
    "mcp_resource": Sent(("server", "uri", "content"), 30),
    "memory_update": Sent(words=30, always=True),
    "model": Sent(("text",), 10),
    "nested_memory": Sent(("content.path", "content.content"), 5),
    "opened_file_in_ide": Sent(("filename",), 25),
    "output_limit_note": Sent(("text",)),
    "output_style": Sent(("style",), 20),
    "output_style_instructions": Sent(("style",), 10),
    "output_token_usage": Sent(words=15, always=True),
    "pdf_reference": Sent(("filename",), 100),
    "peer_mention": Sent(words=60, always=True),
    "plan_file_reference": Sent(("planFilePath", "planContent"), 40),
    "plan_mode": Sent(("planFilePath",), 1000, always=True),
    "plan_mode_exit": Sent(("planFilePath",), 20, always=True),
    "plan_mode_reentry": Sent(("planFilePath",), 200),
    "plugin_note": Sent(("plugin", "content"), 15),
    "poll_events": Sent(("envelopes",), 20),
    "prefix_delta": Sent(("text",)),
    "proactivity": Sent(words=60, always=True),
    "queued_command": Sent(("prompt",), 60),
    "read_truncation_notice": Sent(("banner",)),
    "relevant_memories": Sent(("memories",), 30),
    "remote_session_change": Sent(("commit", "pr", "url"), 120),
    "repl_mcp_needs_auth": Sent(words=60, always=True),
    "repl_mcp_servers": Sent(("content",)),
    "sandbox_instructions": Sent(("content",)),
    "selected_lines_in_diff": Sent(("filePath", "content"), 30),
    "selected_lines_in_ide": Sent(("filename", "content"), 30),
    "session_context": Sent(("context",)),
    "silent_turn_reminder": Sent(("text",)),
    "skill_listing": Sent(("content",), 20),
    "skill_mention": Sent(("skillName",), 60),
    "task_reminder": Sent(("content.id", "content.subject"), 92, always=True),
    "task_status": Sent(("taskId", "description", "deltaSummary", "outputFilePath"), 50),
    "team_context": Sent(("agentName", "teamConfigPath", "taskListPath"), 200),
    "teammate_mailbox": Sent(("messages",), 30),
    "thread_state": Sent(words=30, always=True),
    "token_usage": Sent(words=20, always=True),
    "tool_hosts_correction": Sent(("lines",)),
    "tool_hosts_notice": Sent(("lines",), 30),
    "tool_search_usage_reminder": Sent(("undiscoveredToolNames",), 80),
    "total_tokens_reminder": Sent(("text",), 10),
    "ultra_effort_enter": Sent(words=80, always=True),
    "ultra_effort_exit": Sent(words=20, always=True),
    "ultrathink_effort": Sent(words=30, always=True),
    "unknown_command_fallback": Sent(("commandName", "availableCommandNames"), 150),
    "widget_context_hint": Sent(("views",), 30),
    "workflow_keyword_request": Sent(words=35, always=True),
    "workflow_size_guideline_change": Sent(words=60, always=True),
}
"""Attachments that become a text of the user's turn or, with newer models, a system message."""


NOTICE_WORDS: Final = 103
"""Tokens of the client's words around the notice of a background task: that no user wrote it."""


_HOOKS_HEARD: Final = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion")
"""Events whose hooks may say something to the model when they succeed."""

_WHOLE: Final[JsonPath] = ("attachment",)
_OF_CLIENT: Final = ("task-notification", "orphaned-permission")
"""Modes of what the client itself puts into the queue; a person's words wait as `prompt` or `bash`."""

_TAGS: Final = lazy_pattern(r"\A<system-reminder>\n|\n</system-reminder>\Z")


def blocks(value: Mapping[str, Any], record: int) -> Iterator[Block]:
    """Yield the attachment of a record as the client sends it: one block, or none."""
    attachment = value.get("attachment")
    if not isinstance(attachment, dict):
        return
    kind = str(attachment.get("type"))
    path: JsonPath = ()
    texts, estimate = list(_rendered(value.get("rendered"))), 0
    if not texts:
        row = SENT.get(kind)
        if row is None or (kind == "hook_success" and not _is_heard(attachment)):
            return
        told = list(_told(attachment, row))
        texts = [text for text, _ in told if isinstance(text, str)]
        path = told[-1][1] if texts else ()
        images = sum(tokens for tokens, _ in told if isinstance(tokens, int))
        if not (told or row.always):
            return
        estimate = images + row.words
    content = "\n".join(texts)
    yield Block(
        BlockKind.OPAQUE,
        Place(record, path or _WHOLE),
        _WHOLE,
        content=content,
        lead=len(content) - len(texts[-1]) if path else 0,
        estimate=estimate,
        injected=not _is_typed(attachment) or is_injected(content),
        api_type=kind,
        is_readable=bool(content),
    )


def _rendered(rendered: Any) -> Iterator[str]:
    """Yield the words that newer clients write down as they send them: a list of contents of one or several texts.

    When it resumes, the client makes them anew from the values.
    """
    for said in rendered if isinstance(rendered, list) else ():
        content = value_in(said, "content")
        if isinstance(content, str):
            yield content
        for part in content if isinstance(content, list) else ():
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def _is_typed(attachment: Mapping[str, Any]) -> bool:
    """Return whether a person typed it while the agent was at work."""
    origin = attachment.get("origin")
    by_person = not isinstance(origin, dict) or origin.get("kind") == "human"
    return attachment.get("type") == "queued_command" and attachment.get("commandMode") not in _OF_CLIENT and by_person


def _is_heard(attachment: Mapping[str, Any]) -> bool:
    return attachment.get("hookEvent") in _HOOKS_HEARD and bool(attachment.get("content"))


_Told = Iterator[tuple[str | int, JsonPath]]
"""Texts and their paths in the record, empty if the text is not there as it is sent; for images, their tokens."""


def _told(attachment: Mapping[str, Any], row: Sent) -> _Told:
    """Yield the texts under the keys of a row."""
    for key in row.keys:
        for value, path in _values(attachment, key.split("."), _WHOLE):
            yield from _texts(value, path)


def _values(value: Any, keys: Sequence[str], path: JsonPath) -> Iterator[tuple[Any, JsonPath]]:
    """Yield the values that keys lead to, in each element of a list on their way."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _values(item, keys, (*path, number))
    elif not keys:
        yield value, path
    elif isinstance(value, Mapping):
        yield from _values(value.get(keys[0]), keys[1:], (*path, keys[0]))


def _texts(value: Any, path: JsonPath) -> _Told:
    if isinstance(value, str):
        yield from ((value, path),) if value else ()
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from _texts(item, (*path, number))
    elif isinstance(value, dict):
        if value.get("type") == "image":
            # The base64 is as the API has it, or in a file that was read.
            source, file = value.get("source"), value.get("file")
            data = value_in(source, "data")
            if not isinstance(source, dict) and isinstance(file, dict):
                data = file.get("base64")
            yield client_text.image(data), ()
            return
        for key, item in value.items():
            if key == "content" and isinstance(item, str) and "filePath" in value:  # A file, as the client prints it.
                first = value["startLine"] if isinstance(value.get("startLine"), int) else 1
                yield "\n".join(f"{number}\t{line}" for number, line in enumerate(item.split("\n"), first)), ()
            elif key not in ("type", "base64", "data"):
                yield from _texts(item, (*path, key))


class Noted:
    """Collect what the attachments of a session note, besides the texts that they send.

    `unknown` counts, by kind, those that are not in the table and come without their words.
    """

    def __init__(self, unknown: Tally[str]) -> None:
        self.unknown = unknown
        self.cuts: dict[int, Mapping[str, Any]] = {}
        """Attachments of the kinds in `CUTTING`, by their records."""
        self._overhead: dict[int, Mapping[str, Any]] = {}
        self._of_system: set[int] = set()

    def take(self, value: Mapping[str, Any], record: int, *, is_sent: bool) -> None:
        attachment = object_in(value, "attachment")
        kind = str(attachment.get("type"))
        if value.get("renderedRole") == "system":
            self._of_system.add(record)
        if kind in OVERHEAD:
            self._overhead[record] = attachment
        elif kind in CUTTING:
            self.cuts[record] = attachment
        elif not (is_sent or kind in SENT or kind in NEVER):
            self.unknown[f"attachment {kind}"] += 1

    def prompt(self, records: Iterable[int]) -> str:
        """Return system prompt and tools as these records hold them last; empty if no snapshot holds the tools too.

        Each tool is the definition that is sent (`schema`). Definitions that the model asked for later are added.
        """
        system: list[Any] = []
        tools: dict[str, Any] = {}
        for attachment in self._of(records):
            if _is_whole(attachment):
                system = [attachment.get("cliPrefix"), *listed(attachment, "systemPrompt")]
                tools = _by_name(attachment, "tools")
            else:
                tools |= _by_name(attachment, "entries")
        texts = [text for text in system if isinstance(text, str)]
        return "\n".join([*texts, *(json_text.dump_compact(tool) for tool in tools.values())]) if system else ""

    def as_sent(self, records: Iterable[int], blocks: Mapping[int, tuple[Block, ...]]) -> dict[int, tuple[Block, ...]]:
        """Return blocks without their tags if the client sends them as system messages, as it does to newer models."""
        snapshots = [attachment for attachment in self._of(records) if _is_whole(attachment)]
        if not (snapshots and snapshots[-1].get("systemTurns") is True):
            return {}
        found: dict[int, tuple[Block, ...]] = {}
        for record in self._of_system:
            place = Place(record, _WHOLE)
            bare = (replace(block, content=_TAGS.sub("", block.text), place=place, lead=0) for block in blocks[record])
            found[record] = tuple(bare)
        return found

    def _of(self, records: Iterable[int]) -> Iterator[Mapping[str, Any]]:
        return (self._overhead[record] for record in records if record in self._overhead)


def _is_whole(attachment: Mapping[str, Any]) -> bool:
    return attachment.get("type") == "prompt_snapshot" and isinstance(attachment.get("tools"), list)


def _by_name(attachment: Mapping[str, Any], key: str) -> dict[str, Any]:
    tools = [tool for tool in listed(attachment, key) if isinstance(tool, dict)]
    return {str(tool.get("name")): tool.get("schema") or tool for tool in tools}


SUBTYPE: Final = "model_refusal_fallback"
_KNOWN_BY: Final = 24
"""Characters of a uuid that the client compares."""


def uuids(value: Mapping[str, Any]) -> set[str]:
    """Return the beginnings of the uuids that a record of this subtype takes back."""
    named = value.get("retractedMessageUuids") if value.get("type") == "system" else None
    return {uuid[:_KNOWN_BY] for uuid in named if isinstance(uuid, str)} if isinstance(named, list) else set()


def without(chain: Iterable[Node], retracted: set[str]) -> list[Node]:
    return [node for node in chain if node.kind == "system" or node.uuid[:_KNOWN_BY] not in retracted]
