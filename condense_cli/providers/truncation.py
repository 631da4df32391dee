"""Provider `truncation`: cut or suppress old results and parameters, without a model. The newest turns stay."""

from __future__ import annotations

from typing import Final, assert_never

from msgspec.structs import replace

from ..config.models import (
    Configuration,
    ContentOperation,
    ContentTypeOperations,
    IndividualConfig,
    OperationParams,
    PassConfig,
    Selection,
    TruncateParams,
    TruncationConfig,
)
from .base import Capabilities, Provider

PASS: Final = "truncation"

KEEP: Final = ContentOperation()
SUPPRESS: Final = ContentOperation(operation="suppress")


def cut(*, max_lines: int | None = None, max_chars: int | None = None, min_tokens: int = 0) -> ContentOperation:
    params = OperationParams(truncate=TruncateParams(max_lines=max_lines, max_chars=max_chars))
    return ContentOperation(operation="truncate", params=params, min_tokens=min_tokens)


class Truncation(Provider[TruncationConfig]):
    id = "truncation"
    name = "Mechanical truncation"
    description = (
        "Cuts old tool results and the parameters of old calls to a few lines and characters, or removes results. "
        "Keeps what the user and the assistant said, and the newest turns."
    )
    best_for = "much room at once, without a model"
    example = "max_tool_result_lines=20"
    capabilities = Capabilities(lossy=True, thresholds=True, speed="fast")
    settings = TruncationConfig
    section = "truncation"

    def compiled(self, configuration: Configuration, settings: TruncationConfig) -> Configuration:
        """Texts that are not preserved are treated like results. Parameters are cut in both modes: a suppressed call
        tells nothing.
        """
        match settings.truncation_mode:
            case "suppress":
                old = SUPPRESS
            case "truncate":
                old = cut(max_lines=settings.max_tool_result_lines)
            case other:
                assert_never(other)
        operations = ContentTypeOperations(
            tool_results=old,
            tool_parameters=cut(max_chars=settings.max_tool_param_chars),
            user_messages=KEEP if settings.preserve_user_messages else old,
            assistant_reasoning=KEEP if settings.preserve_assistant_text else old,
        )
        only = PassConfig(
            id=PASS,
            name=self.name,
            selection=Selection(type="preserve_recent", keep_recent_count=settings.preserve_recent_count),
            individual_config=IndividualConfig(defaults=operations),
        )
        keep_first = max(1, configuration.keep_first)
        return replace(configuration, provider="smart", truncation=None, keep_first=keep_first, passes=(only,))


PROVIDER: Final = Truncation()
