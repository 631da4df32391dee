"""Which records of a Claude Code session reach the model, and as what: one table of kinds.

Only messages, attachments and what a command of the client printed can be sent. Version 2.1.330 writes beside most
attachments that it sends their very words (`rendered`): those count. In older files the attachments hold values alone,
and the client adds words of its own when it sends them: the table names the values, and about how many tokens the words
are. The rules are those of version 2.1.330, as `tests/client` holds them against the client itself.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

TREE: Final = frozenset({"user", "assistant", "attachment", "progress", "system"})
"""Types of the records that are linked to a tree."""

REPLAY: Final = frozenset({"api-request", "api-request-shape", "api-request-blob", "api-request-resumed"})
"""Requests, written down once more for whoever debugs them: the client does not read them when it resumes."""

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
"""Attachments that say what of the records before them is sent otherwise, or no longer (`cut`)."""

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
"""Attachments that the client shows or notes for itself."""


class Sent(Struct, frozen=True):
    """What an attachment without its words tells the model: the texts under `keys`, dots leading into objects.

    `words` are the tokens of what the client says around them, about. It says that only where it has such a text, or
    `always`.
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
"""Attachments that become a text of the user's turn, or with newer models a message of the system's."""


NOTICE_WORDS: Final = 103
"""Tokens of what the client says around the notice of a task in the background: that no user wrote it."""
