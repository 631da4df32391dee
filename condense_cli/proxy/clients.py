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
from .apis import ANTHROPIC, OPENAI

_ANTHROPIC_URL: Final = "ANTHROPIC_BASE_URL"
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_CODEX_URL: Final = "openai_base_url"
_COPILOT_URL: Final = "COPILOT_PROVIDER_BASE_URL"
"""https://docs.github.com/copilot/how-tos/copilot-cli: a provider of one's own."""
_SETTINGS: Final = "--settings"
_VERSION: Final = "/v1"
_FIXED_PORT: Final = 8788
"""What `condense proxy` listens on by itself."""

_FIRST_PARTY: Final = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
"""Behind any other base URL Claude Code leaves out `scope: global` of its cache marks, betas, and the window of a
million tokens. Tried with 2.1.332."""
_AS_FIRST_PARTY: Final = (
    f"Claude Code is told that this is Anthropic's own API, as all requests go there ({_FIRST_PARTY}=1): it keeps its "
    "shared cache and its features. --no-first-party leaves that out."
)

_GEMINI: Final = "Gemini CLI sends to Google's API, past this proxy, which condenses requests to Anthropic and OpenAI."


class Started(Struct, frozen=True):
    """A client's command and environment, and the API that it would have gone to, None where it decides that itself;
    `vendors` are addresses that its environment names in place of those of Anthropic and OpenAI.

    `notes` are sentences for its user: how its settings lead past the proxy, and what else was set. It `is_led` where
    what was set goes before all settings of its own.
    """

    command: list[str]
    environment: dict[str, str]
    upstream: str | None = None
    vendors: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    is_led: bool = False


def started(
    command: Sequence[str], proxy: str, environment: Mapping[str, str], home: Path, folder: Path,
    *, upstream: str | None = None, first_party: bool = True,
) -> Started:  # fmt: skip
    """The command with the proxy's address. Only the user's own settings are read. Raises UsageError.

    `folder` is this run's own: settings that were given as a file go on as one, as they may hold keys. `upstream` is
    the API that the user named. Claude Code is told that it talks to its vendor's own API where it does, unless that
    is not to be (`first_party`).
    """
    name = Path(command[0]).name
    env = {**environment, **_past_proxies(environment)}
    if name.startswith("claude"):
        return _claude(command, proxy, env, home, folder, upstream, first_party=first_party)
    if name.startswith("codex"):
        return _codex(command, proxy, env, home)
    if name.startswith("copilot"):
        return _copilot(command, proxy, env)
    # Anything that uses an SDK: these are the variables that they read.
    addresses = {_ANTHROPIC_URL: proxy, _OPENAI_URL: f"{proxy}/v1"}
    named = ((ANTHROPIC, environment.get(_ANTHROPIC_URL)), (OPENAI, environment.get(_OPENAI_URL)))
    notes: tuple[str, ...] = ()
    if name == "pi":
        notes = _past_pi(command[1:], proxy, Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent"))
    elif name == "opencode":
        own = Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode" / "opencode.json"
        notes = _past_opencode(command[1:], proxy, Path(environment.get("OPENCODE_CONFIG") or own))
    elif name == "gemini":
        notes = (_GEMINI,)
    return Started([*command], env | addresses, None, {vendor: url.rstrip("/") for vendor, url in named if url}, notes)


def _claude(
    command: Sequence[str], proxy: str, env: dict[str, str], home: Path, folder: Path, upstream: str | None,
    *, first_party: bool,
) -> Started:  # fmt: skip
    settings, is_file, rest = _without_settings(command[1:])
    own = Path(env.get("CLAUDE_CONFIG_DIR") or home / ".claude") / "settings.json"
    set_to = _text(settings, "env", _ANTHROPIC_URL) or _text(_json(own), "env", _ANTHROPIC_URL)
    set_to = set_to or env.get(_ANTHROPIC_URL) or ANTHROPIC
    is_vendor = first_party and (upstream or set_to).rstrip("/") == ANTHROPIC
    variables = settings.get("env")
    settings["env"] = {
        **(variables if isinstance(variables, dict) else {}),
        _ANTHROPIC_URL: proxy,
        **({_FIRST_PARTY: "1"} if is_vendor else {}),
    }
    given = json.dumps(settings)
    if is_file:
        given = str(_written(folder / "settings.json", given))
    notes = (_AS_FIRST_PARTY,) if is_vendor else ()
    return Started([command[0], _SETTINGS, given, *rest], env, set_to, notes=notes, is_led=True)


def _codex(command: Sequence[str], proxy: str, env: dict[str, str], home: Path) -> Started:
    named, rest = _without_address(command[1:])
    folder = Path(env.get("CODEX_HOME") or home / ".codex")
    set_to = named or _text(_toml(folder / "config.toml"), _CODEX_URL) or env.get(_OPENAI_URL)
    # TOML and JSON spell a plain string alike.
    new = [command[0], "-c", f"{_CODEX_URL}={json.dumps(proxy + _VERSION)}", *rest]
    return Started(new, env, set_to, notes=_past_codex(rest, proxy, folder), is_led=True)


def _past_codex(arguments: Sequence[str], proxy: str, folder: Path) -> tuple[str, ...]:
    """Say what to set where Codex uses another provider than its own, whose address openai_base_url does not set."""
    given: dict[str, str] = {}
    profile = None
    for flag, value in pairwise((*arguments, "")):
        if flag == "--":
            break
        if flag in ("-c", "--config"):
            key, _, text = value.partition("=")
            given[key.strip()] = text.strip().strip("\"'")
        elif flag in ("-p", "--profile"):
            profile = value
    config = _toml(folder / "config.toml")
    profile = profile or _text(config, "profile")
    layers: list[object] = [config]
    if profile:  # Newer versions have a file for each.
        layers = [_toml(folder / f"{profile}.config.toml"), _inner(config, "profiles", profile), config]

    def setting(*keys: str) -> str | None:
        return given.get(".".join(keys)) or next(filter(None, (_text(layer, *keys) for layer in layers)), None)

    provider = setting("model_provider")
    if provider in (None, "openai"):
        return ()
    url = setting("model_providers", str(provider), "base_url")
    if url is not None and url.startswith(proxy):
        return ()
    address = _on_fixed_port(proxy, url)
    change = f"-c 'model_providers.{provider}.base_url=\"{address}\"'"
    return (
        f"Codex uses its provider {provider}{f' ({url})' if url else ''}, which goes past this proxy. Start it as: "
        f"condense proxy --port {_FIXED_PORT} --upstream {url or 'URL'} -- codex {change}",
    )


def _copilot(command: Sequence[str], proxy: str, env: dict[str, str]) -> Started:
    """Copilot CLI with a provider of its user's, which is set by variables; without one nothing leads it here."""
    set_to = env.get(_COPILOT_URL)
    if set_to:
        version = _VERSION if set_to.rstrip("/").endswith(_VERSION) else ""
        return Started([*command], {**env, _COPILOT_URL: proxy + version}, set_to.rstrip("/"), is_led=True)
    note = (
        f"Copilot sends to GitHub, past this proxy, unless it has a provider of your own: set {_COPILOT_URL}, "
        "COPILOT_MODEL and a key (copilot help providers)."
    )
    return Started([*command], env, notes=(note,))


def _past_pi(arguments: Sequence[str], proxy: str, folder: Path) -> tuple[str, ...]:
    """Say what to set for pi, which reads addresses from its own file of models alone."""
    named = (value for flag, value in pairwise(arguments) if flag == "--provider")
    provider = next(named, None) or _text(_json(folder / "settings.json"), "defaultProvider") or "anthropic"
    url = _text(_json(folder / "models.json"), "providers", provider, "baseUrl")
    if url is not None and url.startswith(proxy):
        return ()
    usual = {"anthropic": ANTHROPIC, "openai": f"{OPENAI}{_VERSION}"}.get(provider)
    url = url or usual
    setting = json.dumps({"providers": {provider: {"baseUrl": _on_fixed_port(proxy, url)}}})
    return (
        f"pi sends to {url or provider}, past this proxy. Set {setting} in {folder / 'models.json'}, and start it as: "
        f"condense proxy --port {_FIXED_PORT} --upstream {url or 'URL'} -- pi",
    )


def _past_opencode(arguments: Sequence[str], proxy: str, path: Path) -> tuple[str, ...]:
    """Say what to set for opencode where its file has an address, which goes before that of the environment."""
    config = _json(path)
    providers = _inner(config, "provider")
    model = next((value for flag, value in pairwise(arguments) if flag in ("-m", "--model")), None)
    named = (model or _text(config, "model") or "").partition("/")[0]
    for provider in [named] if named else [*(providers if isinstance(providers, dict) else ())]:
        url = _text(providers, provider, "options", "baseURL")
        if url is not None and not url.startswith(proxy):
            setting = json.dumps({"provider": {provider: {"options": {"baseURL": _on_fixed_port(proxy, url)}}}})
            return (
                f"opencode sends to {url}, past this proxy. Set {setting} in {path}, and start it as: "
                f"condense proxy --port {_FIXED_PORT} --upstream {url} -- opencode",
            )
    return ()


def _on_fixed_port(proxy: str, url: str | None) -> str:
    """The proxy's address in place of another, at the port that a user can write down."""
    host = proxy.rpartition(":")[0]
    version = _VERSION if url is None or url.rstrip("/").endswith(_VERSION) else ""
    return f"{host}:{_FIXED_PORT}{version}"


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
    value = _inner(value, *keys)
    return value if isinstance(value, str) and value else None


def _inner(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
