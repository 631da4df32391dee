"""Configurations that their authors wrote down: JSON in camelCase, whole. They have to run as they are."""

import json
from typing import Any, Final

Json = dict[str, Any]

PRELUDE: Final = {
    "enabled": True,
    "operations": {"deduplicateFileReads": True, "consolidateToolResults": True, "removeObsoleteState": True},
}
KEEP: Final = {"operation": "keep"}
SUPPRESS: Final = {"operation": "suppress"}


def _cut(**limits: int) -> Json:
    return {"operation": "truncate", "params": {"truncate": limits}}


def _summary(tokens: int) -> Json:
    return {
        "operation": "summarize",
        "params": {"summarize": {"apiProfile": "gpt-4o-mini", "maxTokens": tokens}},
    }


def _execution(above: int) -> Json:
    return {"type": "conditional", "condition": {"tokenThreshold": above}} if above else {"type": "always"}


def _each(id: str, name: str, recent: int, parameters: Json, results: Json, *, above: int = 0) -> Json:
    return {
        "id": id,
        "name": name,
        "selection": {"type": "preserve_recent", "keepRecentCount": recent},
        "mode": "individual",
        "individualConfig": {"defaults": {"messageText": KEEP, "toolParameters": parameters, "toolResults": results}},
        "execution": _execution(above),
    }


def _batch(id: str, name: str, percent: int, *, above: int) -> Json:
    return {
        "id": id,
        "name": name,
        "selection": {"type": "preserve_percent", "keepPercentage": percent},
        "mode": "batch",
        "batchConfig": {
            "operation": "summarize",
            "summarizationConfig": {"apiProfile": "gpt-4o-mini", "keepFirst": 1, "keepLast": 5},
        },
        "execution": _execution(above),
    }


def _passes(*passes: Json, prelude: Json = PRELUDE) -> str:
    return json.dumps({"losslessPrelude": prelude, "passes": passes}, indent=2)


PASSES: Final = {
    "simple": _passes(
        _each("pass-1", "Aggressive Tool Result Truncation", 5, KEEP, _cut(maxLines=5)),
        _each("pass-2", "Fallback: Suppress Old Results", 10, KEEP, SUPPRESS, above=50_000),
    ),
    "advanced": _passes(
        _each("pass-1", "Mechanical Truncation", 5, _cut(maxChars=100), _cut(maxLines=5)),
        _each("pass-2", "LLM Summarization", 10, KEEP, _summary(100), above=40_000),
        _batch("pass-3", "Batch Summarization Fallback", 50, above=30_000),
        prelude={"enabled": True},
    ),
    "systematic": _passes(
        _each("zone-1", "Ancient History - Suppress Results", 50, SUPPRESS, SUPPRESS),
        _each("zone-2", "Old Context - Truncate", 30, _cut(maxChars=200), _cut(maxLines=10)),
        _each("zone-3", "Recent Context - Preserve", 10, KEEP, KEEP),
        prelude={"enabled": True},
    ),
    "speed": _passes(_each("speed-pass", "Aggressive Truncation", 5, SUPPRESS, _cut(maxLines=3))),
    "quality": _passes(_each("quality-pass", "LLM Summarization", 10, KEEP, _summary(150))),
    "cost": _passes(
        _each("mechanical", "Free Truncation", 5, SUPPRESS, _cut(maxLines=5)),
        _batch("fallback-llm", "Minimal LLM Fallback", 30, above=60_000),
    ),
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
