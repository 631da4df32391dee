"""OpenAI Agents SDK: a filter of what a run sends, and hooks that report usage to it (extra `openai-agents`)."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any

from . import needs
from .conversations import FittedConversations, OnDecision, digest_of_beginning

with needs("the OpenAI Agents SDK", "openai-agents"):
    from agents import ModelResponse, RunContextWrapper, RunHooks
    from agents.run import CallModelData, ModelInputData


class CondenseFilter(RunHooks[Any]):
    """Condense what a run sends; raises nothing. `options` are those of `condense_cli.Live`.

    Set it as `RunConfig(call_model_input_filter=it)`, and as `hooks=it` of the run, where it learns the usage.
    """

    def __init__(self, *, on_decision: OnDecision | None = None, **options: Any) -> None:
        self._conversations = FittedConversations(on_decision=on_decision, format="openai-responses", **options)
        self._last: ContextVar[bytes | None] = ContextVar("condense", default=None)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        try:
            key = digest_of_beginning(given.input)
            self._last.set(key)
            fitted = await asyncio.to_thread(
                self._conversations.fit,
                key,
                given.input,
                model=_name(data.agent.model),
                system=given.instructions,
                tools=[getattr(tool, "name", None) for tool in data.agent.tools],
            )
        except Exception:  # An error in a filter ends the run.
            return given
        return ModelInputData(input=fitted.messages, instructions=given.instructions)

    async def on_llm_end(self, context: RunContextWrapper[Any], agent: Any, response: ModelResponse) -> None:
        key = self._last.get()
        if key is not None and response.usage.input_tokens:
            usage = {"input": response.usage.input_tokens, "output": response.usage.output_tokens}
            self._conversations.reported(key, usage)


def _name(model: Any) -> str | None:
    """Return the name of an agent's model, which may be a string, an object or the SDK's own choice."""
    return model if isinstance(model, str) else getattr(model, "model", None)
