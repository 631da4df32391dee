"""Start clients so that they send through the proxy: commands, environments, and the API they were set to."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..clients.choices import Client, own_folder
from ..errors import UsageError
from .bodies import ANTHROPIC, GOOGLE, OPENAI

_ANTHROPIC_URL: Final = "ANTHROPIC_BASE_URL"
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_GOOGLE_URL: Final = "GOOGLE_GEMINI_BASE_URL"
_CODEX_URL: Final = "openai_base_url"
_COPILOT_URL: Final = "COPILOT_PROVIDER_BASE_URL"
"""The user's own provider: https://docs.github.com/copilot/how-tos/copilot-cli"""
_SETTINGS: Final = "--settings"
_BEFORE_COMPACTION: Final = "PreCompact"
_VERSION: Final = "/v1"
_FIXED_PORT: Final = 8788
"""The default port of `condense proxy` without a client."""

_FIRST_PARTY: Final = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
"""Behind any other base URL, Claude Code leaves out `scope: global` in cache marks, betas, and the window of a million
tokens. Found by trying 2.1.332."""
_AS_FIRST_PARTY: Final = (
    f"Claude Code is told that this is Anthropic's own API, as all requests go there ({_FIRST_PARTY}=1): it keeps its "
    "shared cache and its features. --no-first-party leaves that out."
)

_GEMINI: Final = (
    "Gemini CLI comes by here with an API key (GEMINI_API_KEY) alone; with a login it sends past this proxy."
)


class Started(Struct, frozen=True):
    """A client's command and environment, and the API it was set to; None if it decides that itself.

    `vendors` are addresses that its environment names in place of those of vendors. `notes` are sentences for its
    user: how its settings lead past the proxy, and what else was set. It `is_led` if the proxy's address overrides all
    its own settings. It `asks_to_compact` if the proxy knows how it asks for a compaction, and `keeps_proxy` if a
    session cannot do without it after an answer of ours; `word` is what a hook of ours prints then, empty if none runs.
    """

    command: list[str]
    environment: dict[str, str]
    upstream: str | None = None
    vendors: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    is_led: bool = False
    asks_to_compact: bool = False
    keeps_proxy: bool = False
    word: str = ""


def started(
    command: Sequence[str], proxy: str, environment: Mapping[str, str], home: Path, folder: Path,
    *, upstream: str | None = None, first_party: bool = True, word: str = "",
) -> Started:  # fmt: skip
    """Return the command with the proxy's address. Reads only the user's own settings. Raises UsageError.

    `folder` is this run's own: settings that were given as a file go on as one, as they may hold keys. `upstream` is
    the API that the user named. `word` is for a hook of Claude Code to print before a compaction. That client is told
    that it talks to its vendor's own API where it does, unless that is not to be (`first_party`).
    """
    name = Path(command[0]).name
    env = {**environment, **_past_proxies(environment)}
    if name.startswith("claude"):
        return _claude(command, proxy, env, home, folder, upstream, first_party=first_party, word=word)
    if name.startswith("codex"):
        return _codex(command, proxy, env, home)
    if name.startswith("copilot"):
        return _copilot(command, proxy, env)
    # Any program with an SDK reads these variables.
    addresses = {_ANTHROPIC_URL: proxy, _OPENAI_URL: f"{proxy}/v1", _GOOGLE_URL: proxy}
    variables = ((ANTHROPIC, _ANTHROPIC_URL), (OPENAI, _OPENAI_URL), (GOOGLE, _GOOGLE_URL))
    named = [(vendor, environment.get(variable)) for vendor, variable in variables]
    notes: tuple[str, ...] = ()
    if name == "pi":
        notes = _past_pi(command[1:], proxy, own_folder(Client.PI, home, environment))
    elif name == "opencode":
        own = own_folder(Client.OPENCODE, home, environment) / "opencode.json"
        notes = _past_opencode(command[1:], proxy, Path(environment.get("OPENCODE_CONFIG") or own))
    elif name == "gemini":
        notes = (_GEMINI,)
    return Started([*command], env | addresses, None, {vendor: url.rstrip("/") for vendor, url in named if url}, notes)


def _claude(
    command: Sequence[str], proxy: str, env: dict[str, str], home: Path, folder: Path, upstream: str | None,
    *, first_party: bool, word: str,
) -> Started:  # fmt: skip
    settings, is_file, rest = _without_settings(command[1:])
    own = _json(own_folder(Client.CLAUDE_CODE, home, env) / "settings.json")
    word = word if _add_hook(settings, own, word) else ""
    set_to = _text(settings, "env", _ANTHROPIC_URL) or _text(own, "env", _ANTHROPIC_URL)
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
    new = [command[0], _SETTINGS, given, *rest]
    return Started(new, env, set_to, notes=notes, is_led=True, asks_to_compact=True, word=word)


def _add_hook(settings: dict[str, Any], own: object, word: str) -> bool:
    """Add a hook that prints the word before a compaction; False if the client would not run it."""
    events = settings.get("hooks", {})
    hooks = events.get(_BEFORE_COMPACTION, []) if isinstance(events, dict) else None
    is_off = any(_inner(each, "disableAllHooks") is True for each in (settings, own))
    if not word or is_off or not isinstance(hooks, list):
        return False
    ours = {"hooks": [{"type": "command", "command": f"echo {word}"}]}
    settings["hooks"] = {**events, _BEFORE_COMPACTION: [*hooks, ours]}
    return True


def _codex(command: Sequence[str], proxy: str, env: dict[str, str], home: Path) -> Started:
    named, rest = _without_address(command[1:])
    folder = own_folder(Client.CODEX, home, env)
    set_to = named or _text(_toml(folder / "config.toml"), _CODEX_URL) or env.get(_OPENAI_URL)
    # TOML and JSON spell a plain string alike.
    new = [command[0], "-c", f"{_CODEX_URL}={json.dumps(proxy + _VERSION)}", *rest]
    notes = _past_codex(rest, proxy, folder)
    return Started(new, env, set_to, notes=notes, is_led=True, asks_to_compact=True, keeps_proxy=not notes)


def _past_codex(arguments: Sequence[str], proxy: str, folder: Path) -> tuple[str, ...]:
    """Say what to set if Codex uses another provider than its own: openai_base_url does not set its address."""
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
    """Lead Copilot CLI here if variables set a provider of the user's; say what to set otherwise."""
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
    """Say what to set for pi, which reads addresses only from its own file of models."""
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
    """Say what to set if opencode's file has an address, which overrides the environment."""
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
    """Return the proxy's address at the fixed port, with the version if `url` has one."""
    host = proxy.rpartition(":")[0]
    version = _VERSION if url is None or url.rstrip("/").endswith(_VERSION) else ""
    return f"{host}:{_FIXED_PORT}{version}"


def _without_settings(arguments: Sequence[str]) -> tuple[dict[str, Any], bool, list[str]]:
    """Return the settings given to Claude Code, whether in a file, and the other arguments. Raises UsageError."""
    rest = [*arguments]
    end = rest.index("--") if "--" in rest else len(rest)
    for position, argument in enumerate(rest[:end]):
        flag, equals, value = argument.partition("=")
        if flag == _SETTINGS and (equals or position + 1 < end):
            value = value if equals else rest[position + 1]
            return *_given(value), rest[:position] + rest[position + (1 if equals else 2) :]
    return {}, False, rest


def _without_address(arguments: Sequence[str]) -> tuple[str | None, list[str]]:
    """Return the address given to Codex, which would override ours, and the other arguments."""
    rest = [*arguments]
    for position, (flag, value) in enumerate(pairwise(rest)):
        key, _, text = value.partition("=")
        if flag == "--":
            break
        if flag in ("-c", "--config") and key.strip() == _CODEX_URL:
            return text.strip().strip("\"'") or None, rest[:position] + rest[position + 2 :]
    return None, rest


def _given(value: str) -> tuple[dict[str, Any], bool]:
    """Read settings given as JSON or as the path of a file; return whether it was a file. Raises UsageError."""
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
    """Exempt this machine from the proxies of the environment."""
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
