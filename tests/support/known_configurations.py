"""Configurations as their authors wrote them down: JSON in camelCase, whole. They have to run as they are."""

from typing import Final

PRELUDE: Final = """"losslessPrelude": {
    "enabled": true,
    "operations": {"deduplicateFileReads": true, "consolidateToolResults": true, "removeObsoleteState": true}
  }"""

SIMPLE: Final = f"""{{
  {PRELUDE},
  "passes": [
    {{
      "id": "pass-1",
      "name": "Aggressive Tool Result Truncation",
      "selection": {{"type": "preserve_recent", "keepRecentCount": 5}},
      "mode": "individual",
      "individualConfig": {{
        "defaults": {{
          "messageText": {{"operation": "keep"}},
          "toolParameters": {{"operation": "keep"}},
          "toolResults": {{"operation": "truncate", "params": {{"truncate": {{"maxLines": 5}}}}}}
        }}
      }},
      "execution": {{"type": "always"}}
    }},
    {{
      "id": "pass-2",
      "name": "Fallback: Suppress Old Results",
      "selection": {{"type": "preserve_recent", "keepRecentCount": 10}},
      "mode": "individual",
      "individualConfig": {{
        "defaults": {{
          "messageText": {{"operation": "keep"}},
          "toolParameters": {{"operation": "keep"}},
          "toolResults": {{"operation": "suppress"}}
        }}
      }},
      "execution": {{"type": "conditional", "condition": {{"tokenThreshold": 50000}}}}
    }}
  ]
}}"""

ADVANCED: Final = """{
  "losslessPrelude": {"enabled": true},
  "passes": [
    {
      "id": "pass-1",
      "name": "Mechanical Truncation",
      "selection": {"type": "preserve_recent", "keepRecentCount": 5},
      "mode": "individual",
      "individualConfig": {
        "defaults": {
          "messageText": {"operation": "keep"},
          "toolParameters": {"operation": "truncate", "params": {"truncate": {"maxChars": 100}}},
          "toolResults": {"operation": "truncate", "params": {"truncate": {"maxLines": 5}}}
        }
      },
      "execution": {"type": "always"}
    },
    {
      "id": "pass-2",
      "name": "LLM Summarization",
      "selection": {"type": "preserve_recent", "keepRecentCount": 10},
      "mode": "individual",
      "individualConfig": {
        "defaults": {
          "messageText": {"operation": "keep"},
          "toolParameters": {"operation": "keep"},
          "toolResults": {
            "operation": "summarize",
            "params": {"summarize": {"apiProfile": "gpt-4o-mini", "maxTokens": 100}}
          }
        }
      },
      "execution": {"type": "conditional", "condition": {"tokenThreshold": 40000}}
    },
    {
      "id": "pass-3",
      "name": "Batch Summarization Fallback",
      "selection": {"type": "preserve_percent", "keepPercentage": 50},
      "mode": "batch",
      "batchConfig": {
        "operation": "summarize",
        "summarizationConfig": {"apiProfile": "gpt-4o-mini", "keepFirst": 1, "keepLast": 5}
      },
      "execution": {"type": "conditional", "condition": {"tokenThreshold": 30000}}
    }
  ]
}"""

SYSTEMATIC: Final = """{
  "losslessPrelude": {"enabled": true},
  "passes": [
    {
      "id": "zone-1",
      "name": "Ancient History - Suppress Results",
      "selection": {"type": "preserve_recent", "keepRecentCount": 50},
      "mode": "individual",
      "individualConfig": {
        "defaults": {
          "messageText": {"operation": "keep"},
          "toolParameters": {"operation": "suppress"},
          "toolResults": {"operation": "suppress"}
        }
      },
      "execution": {"type": "always"}
    },
    {
      "id": "zone-2",
      "name": "Old Context - Truncate",
      "selection": {"type": "preserve_recent", "keepRecentCount": 30},
      "mode": "individual",
      "individualConfig": {
        "defaults": {
          "messageText": {"operation": "keep"},
          "toolParameters": {"operation": "truncate", "params": {"truncate": {"maxChars": 200}}},
          "toolResults": {"operation": "truncate", "params": {"truncate": {"maxLines": 10}}}
        }
      },
      "execution": {"type": "always"}
    },
    {
      "id": "zone-3",
      "name": "Recent Context - Preserve",
      "selection": {"type": "preserve_recent", "keepRecentCount": 10},
      "mode": "individual",
      "individualConfig": {
        "defaults": {
          "messageText": {"operation": "keep"},
          "toolParameters": {"operation": "keep"},
          "toolResults": {"operation": "keep"}
        }
      },
      "execution": {"type": "always"}
    }
  ]
}"""

SPEED: Final = f"""{{
  {PRELUDE},
  "passes": [
    {{
      "id": "speed-pass",
      "name": "Aggressive Truncation",
      "selection": {{"type": "preserve_recent", "keepRecentCount": 5}},
      "mode": "individual",
      "individualConfig": {{
        "defaults": {{
          "messageText": {{"operation": "keep"}},
          "toolParameters": {{"operation": "suppress"}},
          "toolResults": {{"operation": "truncate", "params": {{"truncate": {{"maxLines": 3}}}}}}
        }}
      }},
      "execution": {{"type": "always"}}
    }}
  ]
}}"""

QUALITY: Final = f"""{{
  {PRELUDE},
  "passes": [
    {{
      "id": "quality-pass",
      "name": "LLM Summarization",
      "selection": {{"type": "preserve_recent", "keepRecentCount": 10}},
      "mode": "individual",
      "individualConfig": {{
        "defaults": {{
          "messageText": {{"operation": "keep"}},
          "toolParameters": {{"operation": "keep"}},
          "toolResults": {{
            "operation": "summarize",
            "params": {{"summarize": {{"apiProfile": "gpt-4o-mini", "maxTokens": 150}}}}
          }}
        }}
      }},
      "execution": {{"type": "always"}}
    }}
  ]
}}"""

COST: Final = f"""{{
  {PRELUDE},
  "passes": [
    {{
      "id": "mechanical",
      "name": "Free Truncation",
      "selection": {{"type": "preserve_recent", "keepRecentCount": 5}},
      "mode": "individual",
      "individualConfig": {{
        "defaults": {{
          "messageText": {{"operation": "keep"}},
          "toolParameters": {{"operation": "suppress"}},
          "toolResults": {{"operation": "truncate", "params": {{"truncate": {{"maxLines": 5}}}}}}
        }}
      }},
      "execution": {{"type": "always"}}
    }},
    {{
      "id": "fallback-llm",
      "name": "Minimal LLM Fallback",
      "selection": {{"type": "preserve_percent", "keepPercentage": 30}},
      "mode": "batch",
      "batchConfig": {{
        "operation": "summarize",
        "summarizationConfig": {{"apiProfile": "gpt-4o-mini", "keepFirst": 1, "keepLast": 5}}
      }},
      "execution": {{"type": "conditional", "condition": {{"tokenThreshold": 60000}}}}
    }}
  ]
}}"""

PASSES: Final = {
    "simple": SIMPLE,
    "advanced": ADVANCED,
    "systematic": SYSTEMATIC,
    "speed": SPEED,
    "quality": QUALITY,
    "cost": COST,
}

PHASES: Final = """{
  "losslessPhase": {
    "enabled": true, "deduplicateFileReads": true, "consolidateResults": true, "removeObsoleteState": true
  },
  "selectionPhase": {"preserveRecentCount": 5, "preserveUserMessages": true, "preserveAssistantText": true},
  "lossyPhase": {
    "enabled": true,
    "targetReductionPercent": 50,
    "toolResults": {"strategy": "truncate", "threshold": 500, "truncateLines": 5, "summaryMaxTokens": 100},
    "toolParams": {"strategy": "truncate", "threshold": 100, "truncateChars": 100},
    "assistantReasoning": {"strategy": "keep", "threshold": 1000},
    "processingOrder": ["tool_results", "tool_params", "assistant_reasoning", "user_messages"]
  },
  "llmPhase": {"enabled": false, "maxParallelCalls": 5, "summaryMaxTokens": 100},
  "fallbackPhase": {
    "enabled": true,
    "strategy": "multi_pass",
    "multiPass": {"maxPasses": 3, "stricterThresholdsEachPass": true, "thresholdReductionFactor": 0.5}
  }
}"""
"""Every phase with its defaults."""

TRUNCATION: Final = """{
  "provider": "truncation",
  "truncation": {
    "preserveRecentCount": 5,
    "truncationMode": "truncate",
    "maxToolResultLines": 5,
    "maxToolParamChars": 100,
    "preserveUserMessages": true,
    "preserveAssistantText": true
  }
}"""

NATIVE: Final = """{"provider": "native", "native": {"maxMessagesToKeep": 10}}"""

LOSSLESS: Final = """{
  "provider": "lossless",
  "lossless": {"deduplicateFileReads": true, "consolidateToolResults": true, "removeObsoleteState": true}
}"""
