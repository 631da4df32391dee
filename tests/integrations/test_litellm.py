"""LiteLLM's own guardrail sends rows to the proxy and puts back what it gets."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from proxy.talks import lines
from proxy.upstream import Running, proxied

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]


def chat() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Look."}]
    for n in range(4):
        function = {"name": "read", "arguments": f'{{"path": "{n}.py"}}'}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        found.append({"role": "assistant", "content": None, "tool_calls": calls})
        found.append({"role": "tool", "tool_call_id": f"c{n}", "content": lines(f"file{n}")})
    return [*found, {"role": "assistant", "content": "Found."}, {"role": "user", "content": "Go on."}]


def guarded(
    running: Running, messages: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> tuple[list[Any], dict[str, Any]]:
    """What the guardrail makes of the messages of a request, and what it notes about that."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # Or it asks the internet for prices.
    from litellm.proxy.guardrails.guardrail_hooks.headroom.headroom import HeadroomGuardrail

    async def applied() -> Any:
        guardrail = HeadroomGuardrail(api_base=running.url, guardrail_name="condense", **settings)
        inputs: Any = {"structured_messages": messages}
        return await guardrail.apply_guardrail(inputs, request, "request")

    request: dict[str, Any] = {"model": "gpt-5.5", "messages": messages, "metadata": {}}
    return asyncio.run(applied())["structured_messages"], request


def test_rows_come_back_where_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    messages = chat()
    with proxied(None) as running:
        found, request = guarded(running, messages, monkeypatch)
        assert running.proxy.record.fault_count == 0
    assert [row["role"] for row in found] == [row["role"] for row in messages]
    assert [row.get("tool_calls") for row in found] == [row.get("tool_calls") for row in messages]
    assert [found[n] for n in (0, 1, -2, -1)] == [messages[n] for n in (0, 1, -2, -1)]
    assert sum(len(row["content"] or "") for row in found) < sum(len(row["content"] or "") for row in messages)
    (noted,) = request["metadata"]["standard_logging_guardrail_information"]
    assert noted["guardrail_status"] == "success"
    assert noted["guardrail_response"]["tokens_saved"] > 1_000


# Rows that cannot be used are refused with a sentence, and the gateway goes on with what it had.
def test_rows_that_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [{"role": "nobody", "content": "x"}, *chat()]
    with proxied(None) as running:
        found, _ = guarded(running, odd, monkeypatch, unreachable_fallback="fail_open")
    assert found == odd
