"""Which of our hooks Codex does not trust yet: by its own word, else by what its configuration says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Timer
from typing import Any, Final

from .commands import is_ours
from .plan import read
from .target import Target
from .toml_block import tables_in

_SECONDS: Final = 10
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def untrusted(target: Target, hooks: Path, events: Mapping[str, str]) -> list[str]:
    """Events whose hook does not run, by their names."""
    said = said_by_codex(target)
    if said is not None:
        trusted = {
            str(hook.get("eventName", "")).casefold()
            for hook in said
            if is_ours(hook.get("command"))
            and hook.get("trustStatus") in ("trusted", "managed")
            and hook.get("enabled")
        }
        return [event for event in events if event.casefold() not in trusted]
    tables = tables_in(target.folder / "config.toml", read(target.folder / "config.toml"))
    section = tables.get("hooks")
    state = section.get("state") if isinstance(section, dict) else None
    known = [key for key, value in state.items() if _is_trusted(value)] if isinstance(state, dict) else []
    places = {os.path.realpath(hooks), str(hooks)}
    return [
        event
        for event in events
        if not any(key.startswith(f"{place}:{_snake(event)}:") for key in known for place in places)
    ]


def _is_trusted(value: Any) -> bool:
    return isinstance(value, dict) and bool(value.get("trusted_hash")) and value.get("enabled") is not False


def _snake(event: str) -> str:
    return _CAPITAL.sub("_", event).lower()


def said_by_codex(target: Target) -> list[dict[str, Any]] | None:
    """The hooks that Codex itself lists, without starting a session; None where it cannot be asked."""
    codex = shutil.which("codex", path=target.environment.get("PATH"))
    if codex is None:
        return None
    try:
        process = subprocess.Popen(
            [codex, "app-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(target.environment),
        )
    except OSError:
        return None
    limit = Timer(_SECONDS, process.kill)
    limit.start()
    try:
        with process:
            answer = _asked(process, str(target.project or target.home))
            process.kill()
        return answer
    except (OSError, ValueError):
        return None
    finally:
        limit.cancel()


def _asked(process: subprocess.Popen[bytes], folder: str) -> list[dict[str, Any]] | None:
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"name": "condense", "title": "condense", "version": "0"}
    for request in (
        {"id": 1, "method": "initialize", "params": {"clientInfo": client}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [folder]}},
    ):
        process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    for line in process.stdout:
        answer = json.loads(line)
        if isinstance(answer, dict) and answer.get("id") == 2:
            result = answer.get("result")
            data = result.get("data") if isinstance(result, dict) else None
            return [hook for each in data or () for hook in each.get("hooks", ())] if isinstance(data, list) else None
    return None
