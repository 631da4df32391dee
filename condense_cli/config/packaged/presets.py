"""The configurations of the package's presets. Written by `packing.py`; do not edit."""

# ruff: noqa: E501

from __future__ import annotations

from typing import Final

from ..models import (
    BatchConfig,
    Condition,
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    Execution,
    ExtractConfig,
    IndividualConfig,
    OperationParams,
    PassConfig,
    Prelude,
    Selection,
    SummarizationConfig,
    SummarizeParams,
    TruncateParams,
)

PRESETS: Final[dict[str, Configuration]] = {
    "balanced.yaml": Configuration(
        name="balanced",
        description="Keeps the lines of old results, parameters and texts that later work needs, and drops the others.",
        lossless_prelude=Prelude(),
        passes=(
            PassConfig(id="to-target", mode="target"),
            PassConfig(
                id="worth",
                name="Lines worth their tokens",
                mode="extract",
                extract_config=ExtractConfig(min_tokens=100, min_worth=0.3),
            ),
        ),
    ),
    "cost.yaml": Configuration(
        name="cost",
        description="Cuts old tool results to five lines and removes old parameters, and summarizes the middle above 60,000 tokens; balanced keeps more at the same size.",
        lossless_prelude=Prelude(),
        passes=(
            PassConfig(id="to-target", mode="target"),
            PassConfig(
                id="mechanical",
                name="Free truncation",
                individual_config=IndividualConfig(
                    defaults=ContentTypeOperations(
                        tool_parameters=ContentOperation(operation="suppress"),
                        tool_results=ContentOperation(
                            operation="truncate",
                            params=OperationParams(truncate=TruncateParams(max_lines=5)),
                        ),
                    ),
                ),
            ),
            PassConfig(
                id="fallback-llm",
                name="One summary of the middle",
                selection=Selection(type="preserve_percent", keep_percentage=30.0),
                mode="batch",
                batch_config=BatchConfig(
                    operation="summarize",
                    summarization_config=SummarizationConfig(api_profile="gpt-4o-mini"),
                ),
                execution=Execution(type="conditional", condition=Condition(token_threshold=60000)),
            ),
        ),
    ),
    "lossless.yaml": Configuration(
        name="lossless",
        description="Replaces repeated text with references and removes nothing; condense restore brings every character back.",
        lossless_prelude=Prelude(),
    ),
    "max.yaml": Configuration(
        name="max",
        description="Cuts as balanced does, then replaces all but the newest turns with one summary: usually the smallest.",
        lossless_prelude=Prelude(),
        passes=(
            PassConfig(
                id="summary-to-target",
                name="One summary of all but the newest turns",
                mode="batch",
                batch_config=BatchConfig(
                    operation="summarize",
                    summarization_config=SummarizationConfig(keep_first=0, keep_last=0),
                ),
                execution=Execution(type="target"),
            ),
            PassConfig(id="to-target", mode="target"),
            PassConfig(
                id="worth",
                name="Lines worth their tokens",
                mode="extract",
                extract_config=ExtractConfig(min_tokens=100, min_worth=0.3),
            ),
            PassConfig(
                id="one-summary",
                name="One summary of all but the newest turns",
                mode="batch",
                batch_config=BatchConfig(
                    operation="summarize",
                    summarization_config=SummarizationConfig(keep_first=0, keep_last=0),
                ),
            ),
        ),
    ),
    "quality.yaml": Configuration(
        name="quality",
        description="Keeps everything said and called, and summarizes old tool results one by one, best with a model; without one, balanced keeps more at the same size.",
        thinking="keep",
        old_images="keep",
        lossless_prelude=Prelude(),
        passes=(
            PassConfig(id="to-target", mode="target"),
            PassConfig(
                id="quality-pass",
                name="Summaries of old results",
                selection=Selection(type="preserve_recent", keep_recent_count=10),
                individual_config=IndividualConfig(
                    defaults=ContentTypeOperations(
                        tool_results=ContentOperation(
                            operation="summarize",
                            params=OperationParams(
                                summarize=SummarizeParams(api_profile="gpt-4o-mini", max_tokens=150),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
    "speed.yaml": Configuration(
        name="speed",
        description="Cuts old tool results to three lines and removes old parameters; balanced keeps more at the same size.",
        lossless_prelude=Prelude(),
        passes=(
            PassConfig(id="to-target", mode="target"),
            PassConfig(
                id="speed-pass",
                name="Aggressive truncation",
                individual_config=IndividualConfig(
                    defaults=ContentTypeOperations(
                        tool_parameters=ContentOperation(operation="suppress"),
                        tool_results=ContentOperation(
                            operation="truncate",
                            params=OperationParams(truncate=TruncateParams(max_lines=3)),
                        ),
                    ),
                ),
            ),
        ),
    ),
}
