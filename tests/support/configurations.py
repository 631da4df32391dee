"""Configurations that several tests read: a small one with both spellings and an alias, and all the keys there are."""

from typing import Any, Final

MINE: Final = """\
keepFirst: 2
pins: [{regex: TODO}]
passes:
  - id: old
    selection: {type: preserve_percent, keep_percentage: 30}
    individual_config:
      defaults: &all
        tool_results: {operation: suppress}
  - id: older
    selection: {type: custom, tools: {include: [Read]}}
    individual_config: {defaults: *all}
"""

EVERY_KEY: Final[dict[str, Any]] = {
    "native": {
        "max_messages_to_keep": 4,
        "api_profile": "p",
        "custom_prompt": "c",
        "max_tokens": 900,
        "validate": {"min_facts": 0.5},
    },
    "lossless": {
        "deduplicate_file_reads": False,
        "consolidate_tool_results": False,
        "remove_obsolete_state": False,
        "keep": "earliest",
        "keep_recent": 2,
        "tool_parameters": True,
        "fallback": "native",
    },
    "provider_config": {"name": "x"},
    "name": "all",
    "description": "every key there is",
    "preset": "cost",
    "provider": "smart",
    "profile": "gpt-4o-mini",
    "target_tokens": 60_000,
    "keep_first": 2,
    "min_saving": 10,
    "thinking": "keep",
    "old_images": "keep",
    "counter": "tiktoken",
    "auto_condense_context": False,
    "auto_condense_context_percent": 80,
    "auto_condense_context_above": 150_000,
    "fallback": "sliding_window",
    "no_larger_than": ["speed"],
    "count": "o200k",
    "keep": ["tool:Task"],
    "must_keep": ["A1"],
    "cut": ["file:docs/*"],
    "pins": [{"roles": ["user"], "regex": "TODO", "match": ["last:9"]}],
    "lossless_prelude": {
        "enabled": True,
        "operations": {
            "deduplicate_file_reads": False,
            "consolidate_tool_results": False,
            "remove_obsolete_state": False,
        },
        "keep": "earliest",
        "keep_recent": 4,
        "tool_parameters": True,
        "file_tools": ["mcp__files__*"],
        "state_tags": ["status"],
    },
    "passes": [
        {
            "id": "one",
            "name": "One",
            "description": "first",
            "selection": {
                "type": "custom",
                "selector": "mine",
                "keep_recent_count": 3,
                "keep_percentage": 30,
                "tools": {"include": ["Read*"], "exclude": ["ReadMe"]},
                "only_tools": ["Read*"],
                "range": {"start": 2, "end": -2},
                "age": {"min": 1, "max": 90},
                "min_tokens": 12,
                "failed": False,
                "superseded": True,
            },
            "mode": "individual",
            "individual_config": {
                "defaults": {
                    "message_text": {"operation": "keep", "min_tokens": 7},
                    "tool_parameters": {
                        "operation": "truncate",
                        "params": {
                            "truncate": {"max_lines": 4, "max_chars": 400, "keep": "both", "add_ellipsis": False},
                            "summarize": {
                                "api_profile": "cheap",
                                "max_tokens": 60,
                                "custom_prompt": "Briefly.",
                                "max_parallel_calls": 2,
                                "validate": {"min_facts": 1},
                            },
                        },
                    },
                    "tool_results": {"operation": "suppress"},
                    "images": {"operation": "suppress", "min_tokens": 100},
                    "assistant_reasoning": {"operation": "keep"},
                    "user_messages": {"operation": "keep"},
                },
                "overrides": [{"message_index": -3, "operations": {"tool_results": {"operation": "keep"}}}],
            },
            "execution": {"type": "conditional", "condition": {"token_threshold": 9_000}},
            "stop_at_target": True,
            "order": ["message_text", "tool_results"],
            "repeat": {"max_passes": 2, "threshold_reduction_factor": 0.25},
        },
        {
            "id": "two",
            "selection": {"type": "custom"},
            "mode": "batch",
            "extract_config": {
                "content": ["message_text", "tool_parameters", "tool_results"],
                "out_of_reach": "leave",
                "may_summarize": True,
                "min_tokens": 30,
                "min_worth": 0.5,
            },
            "batch_config": {
                "operation": "summarize",
                "summarization_config": {
                    "api_profile": "cheap",
                    "custom_prompt": "All of it.",
                    "keep_first": 2,
                    "keep_last": 3,
                    "validate": {"min_facts": 0},
                },
            },
        },
    ],
}
"""Every key that can stand beside passes."""

EVERY_PHASE: Final[dict[str, Any]] = {
    "provider": "truncation",
    "truncation": {
        "preserve_recent_count": 7,
        "truncation_mode": "suppress",
        "max_tool_result_lines": 6,
        "max_tool_param_chars": 90,
        "preserve_user_messages": False,
        "preserve_assistant_text": False,
    },
    "lossless_phase": {
        "enabled": False,
        "deduplicate_file_reads": False,
        "consolidate_results": False,
        "remove_obsolete_state": False,
    },
    "selection_phase": {
        "preserve_recent_count": 6,
        "preserve_user_messages": False,
        "preserve_assistant_text": False,
    },
    "lossy_phase": {
        "enabled": False,
        "target_reduction_percent": 40,
        "tool_results": {"strategy": "suppress", "threshold": 1, "truncate_lines": 2, "summary_max_tokens": 3},
        "tool_params": {"strategy": "summarize", "threshold": 4, "truncate_chars": 5, "summary_max_tokens": 6},
        "assistant_reasoning": {"strategy": "truncate", "threshold": 7, "truncate_lines": 8, "summary_max_tokens": 9},
        "user_messages": {"strategy": "keep", "threshold": 10, "truncate_lines": 11, "summary_max_tokens": 12},
        "processing_order": ["user_messages", "tool_params"],
    },
    "llm_phase": {"enabled": True, "max_parallel_calls": 3, "summary_max_tokens": 60, "validate": {"min_facts": 0.1}},
    "fallback_phase": {
        "enabled": False,
        "strategy": "native",
        "multi_pass": {
            "max_passes": 2,
            "stricter_thresholds_each_pass": False,
            "threshold_reduction_factor": 0.25,
        },
    },
}
"""Every other key."""
