"""Generated conversations as the logs of agents hold them, by what writes the sample transcripts."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import real
from hypothesis import strategies as st

Messages = list[dict[str, Any]]


def _agents() -> ModuleType:
    path = real.PROJECT / "sample_transcripts" / "other_agents.py"
    spec = importlib.util.spec_from_file_location("other_agents", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


agents = _agents()


def one(write: Callable[[Messages], Any], **style: Any) -> Callable[[Messages], bytes]:
    """Bytes of a file that is one value."""
    return lambda messages: json.dumps(write(messages), **style).encode()


def lines(write: Callable[[Messages], Any]) -> Callable[[Messages], bytes]:
    return lambda messages: "".join(f"{json.dumps(record)}\n" for record in write(messages)).encode()


WRITABLE: dict[str, Callable[[Messages], bytes]] = {
    "swe-agent": one(agents.swe_agent, indent=2),
    "mini-swe-agent": one(agents.mini_swe_agent, indent=2),
    "openhands": one(agents.openhands),
    "openhands-sdk": lines(agents.openhands_sdk),
    "inspect": one(agents.inspect, indent=2),
    "tau2": one(agents.tau2, indent=1),
}
"""The bytes of a file of each format, from messages of chat completions."""

READ_ONLY: dict[str, Callable[[Messages], bytes]] = {
    "claude-stream-json": lines(agents.claude_stream),
    "request-log": lines(agents.request_log),
}


def agent_files(messages: st.SearchStrategy[Messages]) -> st.SearchStrategy[bytes]:
    """Files of every format that can be written."""
    return st.builds(lambda write, said: write(said), st.sampled_from(list(WRITABLE.values())), messages)
