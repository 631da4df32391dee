"""Provider `lossless`: references only; optionally one summary of the middle if a target is missed."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from ..config.models import Configuration, LosslessConfig, Prelude, PreludeOperations
from ..passes.condensation import Condensation
from . import native
from .base import Capabilities, Provider, Run


class Lossless(Provider[LosslessConfig]):
    id = "lossless"
    name = "References alone"
    description = (
        "Replaces repeated text with references and removes nothing; condense restore undoes them. "
        "With `fallback: native`, one summary of the middle follows if the target is missed."
    )
    best_for = "keeping every word"
    example = "keep_recent=4"
    capabilities = Capabilities(lossless=True, fallback=True, speed="fast")
    besides = "falls back to one summary if allowed and the target is missed"
    settings = LosslessConfig
    section = "lossless"

    def compiled(self, configuration: Configuration, settings: LosslessConfig) -> Configuration:
        prelude = Prelude(
            operations=PreludeOperations(
                deduplicate_file_reads=settings.deduplicate_file_reads,
                consolidate_tool_results=settings.consolidate_tool_results,
                remove_obsolete_state=settings.remove_obsolete_state,
            ),
            keep=settings.keep,
            keep_recent=settings.keep_recent,
            tool_parameters=settings.tool_parameters,
            file_tools=configuration.lossless_prelude.file_tools,
            state_tags=configuration.lossless_prelude.state_tags,
        )
        return replace(configuration, provider="smart", lossless=None, lossless_prelude=prelude, passes=())

    def warnings(self, configuration: Configuration) -> list[str]:
        found = super().warnings(configuration)
        if self.settings_of(configuration).fallback is not None and not configuration.has_target:
            found.append("Without a target the fallback of provider lossless does not run.")
        return found

    def strategy(self, run: Run[LosslessConfig]) -> Condensation:
        alone = run.pipeline(self.compiled(run.configuration, run.settings))
        if run.settings.fallback is None or not alone.is_target_missed:
            return alone
        refused = native.refusal(run.transcript, run.context.count)
        if refused:
            passes = (*alone.passes, native.skipped(run, refused))
            return replace(alone, decisions=replace(alone.decisions, ran=passes))
        # From the start, so that references are only made to content that stays.
        referring = self.compiled(run.configuration, run.settings)
        return native.summarized(run.pipeline(native.compiled(referring)))


PROVIDER: Final = Lossless()
