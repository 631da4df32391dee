"""LiteLLM's own guardrail sends rows to the proxy and puts back what it gets."""

import json
import os
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest
from live_conversations import lines
from proxy.upstream import Running, proxied

NAMED = os.environ.get("CONDENSE_LITELLM")
"""A Python that has it. Read before the tests are kept from seeing it."""

PINNED = ("litellm==1.106.2", "fastapi==0.165.0", "openai==2.54.0", "pydantic==2.14.3", "httpx==0.28.1")
"""Versions that were tried. Newer ones may move the guardrail, or need each other differently."""

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]


def chat() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "Look."}]
    for n in range(4):
        function = {"name": "read", "arguments": f'{{"path": "{n}.py"}}'}
        calls = [{"id": f"c{n}", "type": "function", "function": function}]
        found.append({"role": "assistant", "content": None, "tool_calls": calls})
        found.append({"role": "tool", "tool_call_id": f"c{n}", "content": lines(f"file{n}")})
    return [*found, {"role": "assistant", "content": "Found."}, {"role": "user", "content": "Go on."}]


SCRIPT = """
import asyncio, json, sys
from litellm.proxy.guardrails.guardrail_hooks.headroom.headroom import HeadroomGuardrail

asked = json.load(sys.stdin)

async def applied():
    guardrail = HeadroomGuardrail(api_base=asked["url"], guardrail_name="condense", **asked["settings"])
    inputs = {"structured_messages": asked["request"]["messages"]}
    return await guardrail.apply_guardrail(inputs, asked["request"], "request")

found = asyncio.run(applied())["structured_messages"]
print(json.dumps([found, asked["request"]["metadata"]], default=str))
"""


@pytest.fixture(scope="module")
def litellm(request: pytest.FixtureRequest) -> Path:
    """A Python with LiteLLM, which wants other versions of the SDKs than the tests do."""
    if NAMED:
        return Path(NAMED)
    assert request.config.cache is not None
    folder = Path(request.config.cache.mkdir("litellm"))
    python, installed = folder / "bin" / "python", folder / "installed.txt"
    if not installed.exists() or installed.read_text() != " ".join(PINNED):  # A set-up that broke off is begun anew.
        venv.create(folder, clear=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, *PINNED], check=True, timeout=900)
        installed.write_text(" ".join(PINNED))
    return python


def guarded(litellm: Path, running: Running, messages: list[dict[str, Any]], **settings: Any) -> tuple[Any, Any]:
    """Run the guardrail on the messages of a request; return them and its notes."""
    request = {"model": "gpt-5.5", "messages": messages, "metadata": {}}
    # Without the variable it asks the internet for prices.
    ran = subprocess.run(
        [litellm, "-c", SCRIPT],
        input=json.dumps({"url": running.url, "request": request, "settings": settings}),
        env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr[-2_000:]
    found, noted = json.loads(ran.stdout.splitlines()[-1])
    return found, noted


def test_rows_come_back_where_they_were(litellm: Path) -> None:
    messages = chat()
    with proxied(None) as running:
        found, notes = guarded(litellm, running, messages)
        assert running.proxy.record.fault_count == 0
    assert [row["role"] for row in found] == [row["role"] for row in messages]
    assert [row.get("tool_calls") for row in found] == [row.get("tool_calls") for row in messages]
    assert [found[n] for n in (0, 1, -2, -1)] == [messages[n] for n in (0, 1, -2, -1)]
    assert sum(len(row["content"] or "") for row in found) < sum(len(row["content"] or "") for row in messages)
    (noted,) = notes["standard_logging_guardrail_information"]
    assert noted["guardrail_status"] == "success"
    assert noted["guardrail_response"]["tokens_saved"] > 1_000


# Rows that cannot be used are refused with a sentence, and the gateway goes on with what it had.
def test_rows_that_are_refused(litellm: Path) -> None:
    odd = [{"role": "nobody", "content": "x"}, *chat()]
    with proxied(None) as running:
        found, _ = guarded(litellm, running, odd, unreachable_fallback="fail_open")
    assert found == odd
