"""Clients that are started to send through the proxy: their commands, and the API that they were set to."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..errors import UsageError
from .apis import ANTHROPIC

_ANTHROPIC_URL: Final = "ANTHROPIC_BASE_URL"
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_CODEX_URL: Final = "openai_base_url"
_SETTINGS: Final = "--settings"


class Started(Struct, frozen=True):
    """A client's command and environment, and the API that it would have gone to, None where it decides that itself."""

    command: list[str]
    environment: dict[str, str]
    upstream: str | None


def started(command: Sequence[str], proxy: str, environment: Mapping[str, str], home: Path, folder: Path) -> Started:
    """The command with the proxy's address. Only the user's own settings are read. Raises UsageError.

    `folder` is this run's own: settings that were given as a file go on as one, as they may hold keys.
    """
    name = Path(command[0]).name
    env = {**environment, **_past_proxies(environment)}
    if name.startswith("claude"):
        settings, is_file, rest = _without_settings(command[1:])
        own = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"
        set_to = _text(settings, "env", _ANTHROPIC_URL) or _text(_json(own), "env", _ANTHROPIC_URL)
        variables = settings.get("env")
        settings["env"] = {**(variables if isinstance(variables, dict) else {}), _ANTHROPIC_URL: proxy}
        given = json.dumps(settings)
        if is_file:
            given = str(_written(folder / "settings.json", given))
        return Started(
            [command[0], _SETTINGS, given, *rest], env, set_to or environment.get(_ANTHROPIC_URL) or ANTHROPIC
        )
    if name.startswith("codex"):
        named, rest = _without_address(command[1:])
        own = Path(environment.get("CODEX_HOME") or home / ".codex") / "config.toml"
        set_to = named or _text(_toml(own), _CODEX_URL) or environment.get(_OPENAI_URL)
        # TOML and JSON spell a plain string alike.
        return Started([command[0], "-c", f"{_CODEX_URL}={json.dumps(proxy + '/v1')}", *rest], env, set_to)
    # Anything that uses an SDK: these are the variables that they read.
    addresses = {_ANTHROPIC_URL: proxy, _OPENAI_URL: f"{proxy}/v1"}
    return Started([*command], env | addresses, None)


def _without_settings(arguments: Sequence[str]) -> tuple[dict[str, Any], bool, list[str]]:
    """The settings that the user gave to Claude Code, whether in a file, and the other arguments. Raises UsageError."""
    rest = [*arguments]
    end = rest.index("--") if "--" in rest else len(rest)
    for position, argument in enumerate(rest[:end]):
        flag, equals, value = argument.partition("=")
        if flag == _SETTINGS and (equals or position + 1 < end):
            value = value if equals else rest[position + 1]
            return *_given(value), rest[:position] + rest[position + (1 if equals else 2) :]
    return {}, False, rest


def _without_address(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """The address that the user gave to Codex, which would go before ours, and the other arguments."""
    rest = [*arguments]
    for position, (flag, value) in enumerate(pairwise(rest)):
        key, _, text = value.partition("=")
        if flag == "--":
            break
        if flag in ("-c", "--config") and key.strip() == _CODEX_URL:
            return text.strip().strip("\"'") or None, rest[:position] + rest[position + 2 :]
    return None, rest


def _given(value: str) -> tuple[dict[str, Any], bool]:
    """Settings as JSON or as the path of a file, and whether it is that. Raises UsageError."""
    is_file = not value.lstrip().startswith("{")
    try:
        found = json.loads(Path(value).read_bytes() if is_file else value)
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("The settings given to the client cannot be read.", "Give --settings a file, or JSON.")
    return found, is_file


def _written(path: Path, text: str) -> Path:
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """This machine is asked directly, whatever proxy the rest of the world is asked through."""
    known = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    value = ",".join(filter(None, (known, "127.0.0.1", "localhost")))
    return {"NO_PROXY": value, "no_proxy": value}


def _json(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _toml(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return None


def _text(value: object, *keys: str) -> str | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) and value else None
