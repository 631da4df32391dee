"""Lead clients here that have their addresses in files: by an option or a variable, and no file of theirs changes.

Each function takes the surroundings of a client and returns what to start it with. Only the user's own settings are
read, never a project's. A changed copy of a file is in the run's own folder, as it may hold keys.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..clients.choices import Client, own_folder
from ..core.json_text import text_in, value_in
from ..core.lazy_pattern import lazy_pattern
from .bodies import GOOGLE, OPENAI

VERSION: Final = "/v1"
_OPENCODE: Final = "OPENCODE_CONFIG_CONTENT"
"""Settings of opencode that go before those of every file."""
_QWEN: Final = "QWEN_CODE_SYSTEM_SETTINGS_PATH"
_QWEN_USUAL: Final = "/etc/qwen-code/settings.json"
_CLINE: Final = "CLINE_PROVIDER_SETTINGS_PATH"
_COPILOT: Final = "COPILOT_PROVIDER_BASE_URL"
"""The user's own provider: https://docs.github.com/copilot/how-tos/copilot-cli"""
_KIMI: Final = "KIMI_MODEL_"
"""Begins the variables of a model that goes before those of the file."""
_KIMI_USUAL: Final = {"kimi": f"https://api.moonshot.ai{VERSION}", "openai": f"{OPENAI}{VERSION}"}
_PI_COMMANDS: Final = ("install", "remove", "uninstall", "update", "list", "config", "auth")


class ClientSurroundings(Struct, frozen=True):
    """Arguments and environment of a client, the user's home, this run's own folder, and the proxy's address."""

    arguments: list[str]
    environment: dict[str, str]
    home: Path
    folder: Path
    proxy: str

    def value_of(self, *flags: str) -> str | None:
        """Return the value of one of these options: what follows it, or what is behind its `=`."""
        for argument, following in zip_longest(self.arguments, self.arguments[1:]):
            flag, equals, value = argument.partition("=")
            if flag in flags:
                return value if equals else following
        return None

    def here(self, url: str) -> str:
        """Return the proxy's address in place of another, with the version if that has one."""
        return self.proxy + (VERSION if url.rstrip("/").endswith(VERSION) else "")

    def leads_elsewhere(self, url: str | None) -> bool:
        return url is not None and not url.startswith(self.proxy)

    def written(self, name: str, value: object) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return str(written(self.folder / name, text))


class Led(Struct, frozen=True):
    """Variables and options that lead a client here, its arguments if they change, and the API that it was set to.

    `note` says to the user how the client goes past the proxy all the same. It `is_led` where nothing else of its
    settings can lead it elsewhere.
    """

    variables: dict[str, str] = {}
    options: tuple[str, ...] = ()
    arguments: list[str] | None = None
    upstream: str | None = None
    note: str = ""
    is_led: bool = False


def opencode(around: ClientSurroundings) -> Led:
    """Change the address of the provider that is used, if the user's file has one: it goes before the environment."""
    environment = around.environment
    folder = own_folder(Client.OPENCODE, around.home, environment)
    named = environment.get("OPENCODE_CONFIG")
    files = [Path(named)] if named else [folder / "opencode.json", folder / "opencode.jsonc"]
    config = next(filter(None, map(read_json, files)), None)
    given = _parsed(environment.get(_OPENCODE)) or {}
    model = around.value_of("-m", "--model") or text_in(given, "model") or text_in(config, "model")
    chosen = (model or "").partition("/")[0]
    providers = [value_in(each, "provider") for each in (given, config)]
    known = [name for each in providers if isinstance(each, dict) for name in each]
    for provider in [chosen] if chosen else known:
        urls = (text_in(each, provider, "options", "baseURL") for each in providers)
        url = next(filter(None, urls), None)
        if url is not None and around.leads_elsewhere(url):
            changed = _with(given, ("provider", provider, "options", "baseURL"), around.here(url))
            return Led({_OPENCODE: json.dumps(changed)}, upstream=url.rstrip("/"), is_led=True)
    return Led()


def pi(around: ClientSurroundings) -> Led:
    """Add an extension that sets the addresses of its providers; they are in no variable."""
    if around.arguments[:1] and around.arguments[0] in _PI_COMMANDS:
        return Led()
    folder = own_folder(Client.PI, around.home, around.environment)
    provider = around.value_of("--provider") or text_in(read_json(folder / "settings.json"), "defaultProvider")
    url = text_in(read_json(folder / "models.json"), "providers", provider or "", "baseUrl")
    addresses = {
        "anthropic": around.proxy,
        "openai": around.proxy + VERSION,
        "google": f"{around.proxy}/v1beta",
    }
    if provider and url:
        addresses[provider] = around.here(url)
    calls = "".join(
        f"  pi.registerProvider({json.dumps(name)}, {{ baseUrl: {json.dumps(to)} }});\n"
        for name, to in addresses.items()
    )
    extension = around.written("condense-proxy.mjs", f"export default function (pi) {{\n{calls}}}\n")
    return Led(options=("-e", extension), upstream=url.rstrip("/") if url else None, is_led=True)


def qwen(around: ClientSurroundings) -> Led:
    """Change the addresses of models in the settings; without any, the variables of SDKs count."""
    settings = read_json(around.home / ".qwen" / "settings.json")
    kinds = value_in(settings, "modelProviders")
    if not isinstance(kinds, dict):
        return Led()
    name = around.value_of("-m", "--model") or text_in(settings, "model", "name")
    kind = around.value_of("--auth-type") or text_in(settings, "security", "auth", "selectedType")
    models = {key: value for key, value in kinds.items() if isinstance(value, list)}
    used = [
        model
        for key, listed in models.items()
        for model in listed
        if isinstance(model, dict) and (kind in (None, key)) and name in (None, model.get("id"))
    ]
    url = next((text_in(model, "baseUrl") for model in used), None)
    if url is None or not around.leads_elsewhere(url):
        return Led()
    changed = {
        key: [{**model, "baseUrl": around.here(url)} if text_in(model, "baseUrl") == url else model for model in listed]
        for key, listed in models.items()
    }
    system = read_json(Path(around.environment.get(_QWEN) or _QWEN_USUAL))
    path = around.written("qwen.json", {**(system if isinstance(system, dict) else {}), "modelProviders": changed})
    return Led({_QWEN: path}, upstream=url.rstrip("/"), is_led=True)


def kimi(around: ClientSurroundings) -> Led:
    """Name the model of the file in variables, with the proxy's address. A login keeps its own address."""
    environment = around.environment
    if environment.get(f"{_KIMI}NAME"):
        kind = environment.get(f"{_KIMI}PROVIDER_TYPE", "kimi")
        named = environment.get(f"{_KIMI}BASE_URL") or _KIMI_USUAL.get(kind)
        return _kimi({}, named, around) if named else Led(note=_KIMI_PAST)
    folder = Path(environment.get("KIMI_CODE_HOME") or around.home / ".kimi-code")
    config = read_toml(folder / "config.toml")
    alias = around.value_of("-m", "--model") or text_in(config, "default_model") or ""
    model = value_in(config, "models", alias)
    provider = value_in(config, "providers", text_in(model, "provider") or "")
    name, key, api = text_in(model, "model"), text_in(provider, "api_key"), text_in(provider, "type") or ""
    url = text_in(provider, "base_url") or _KIMI_USUAL.get(api)
    if not (name and key and api in (*_KIMI_USUAL, "anthropic") and url):
        return Led(note=_KIMI_PAST)
    size, can = value_in(model, "max_context_size"), value_in(model, "capabilities")
    variables = {"NAME": name, "API_KEY": key, "PROVIDER_TYPE": api}
    if isinstance(size, int):
        variables["MAX_CONTEXT_SIZE"] = str(size)
    if isinstance(can, list):
        variables["CAPABILITIES"] = ",".join(map(str, can))
    return _kimi(variables, url, around)


_KIMI_PAST: Final = (
    "Kimi Code comes by here with a model that has an api_key in its config.toml, or is named in KIMI_MODEL_NAME; "
    "with a login it sends past this proxy."
)


def _kimi(variables: Mapping[str, str], url: str, around: ClientSurroundings) -> Led:
    named = {f"{_KIMI}{name}": value for name, value in variables.items()}
    # A model that is named goes before that of the variables.
    rest = _without(around.arguments, "-m", "--model")
    return Led({**named, f"{_KIMI}BASE_URL": around.here(url)}, (), rest, url.rstrip("/"), is_led=True)


def cline(around: ClientSurroundings) -> Led:
    """Give it a changed copy of its file of providers. What it would write there is lost."""
    data = around.value_of("--data-dir") or around.environment.get("CLINE_DATA_DIR")
    folder = Path(data) if data else Path(around.value_of("--config") or around.home / ".cline") / "data"
    settings = read_json(Path(around.environment.get(_CLINE) or folder / "settings" / "providers.json"))
    provider = around.value_of("-P", "--provider") or text_in(settings, "lastUsedProvider") or ""
    at = ("providers", provider, "settings")
    usual = {
        "anthropic": f"https://api.anthropic.com{VERSION}",
        "openai-native": f"{OPENAI}{VERSION}",
        "gemini": GOOGLE,
    }
    url = text_in(settings, *at, "baseUrl") or usual.get(provider)
    if not (isinstance(settings, dict) and url and text_in(settings, *at, "apiKey")):
        return Led(
            note="Cline comes by here with a provider that has an API key (cline auth); with a login it sends past "
            "this proxy."
        )
    if not around.leads_elsewhere(url):
        return Led()
    path = around.written("providers.json", _with(settings, (*at, "baseUrl"), around.here(url)))
    # Otherwise a process of an earlier session, which knows the old address, may send in its place.
    return Led({_CLINE: path, "CLINE_SESSION_BACKEND_MODE": "local"}, upstream=url.rstrip("/"), is_led=True)


def copilot(around: ClientSurroundings) -> Led:
    """Lead Copilot CLI here if variables set a provider of the user's; say what to set otherwise."""
    url = around.environment.get(_COPILOT)
    if url:
        return Led({_COPILOT: around.here(url)}, upstream=url.rstrip("/"), is_led=True)
    return Led(
        note=f"Copilot sends to GitHub, past this proxy, unless it has a provider of your own: set {_COPILOT}, "
        "COPILOT_MODEL and a key (copilot help providers)."
    )


def _with(value: object, path: Sequence[str], new: str) -> dict[str, Any]:
    """Return a copy of an object with another text at a path."""
    changed = dict(value) if isinstance(value, dict) else {}
    key, *rest = path
    changed[key] = _with(changed.get(key), rest, new) if rest else new
    return changed


def _without(arguments: Sequence[str], *flags: str) -> list[str]:
    """Return the arguments without these options and what follows each."""
    rest: list[str] = []
    skips = False
    for argument in arguments:
        if skips:
            skips = False
        elif argument.partition("=")[0] in flags:
            skips = "=" not in argument
        else:
            rest.append(argument)
    return rest


def written(path: Path, text: str) -> Path:
    """Write a file that only this user can read."""
    path.touch(mode=0o600)
    path.write_text(text)
    return path


def _parsed(text: str | None) -> object:
    try:
        return json.loads(text or "null")
    except ValueError:
        return None


_BESIDE: Final = lazy_pattern(
    r'("(?:\\[\s\S]|[^"\\])*+(?:"|\Z))|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|,(?=\s*+[}\]])'
)
"""A string, or what these clients allow in JSON besides: comments, and commas behind the last value."""


def read_json(path: Path) -> object:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return None
    for _ in range(3):  # A comma may be in front of a comment.
        with suppress(ValueError):
            return json.loads(text)
        text = _BESIDE.sub(lambda found: found[1] or "", text)
    return None


def read_toml(path: Path) -> object:
    try:
        return tomllib.loads(path.read_text())
    except (OSError, ValueError):
        return None
