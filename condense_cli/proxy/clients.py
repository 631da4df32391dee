"""Start clients so that they send through the proxy: commands, environments, and the API they were set to.

Some have their addresses in files: they are led here by an option or a variable, and no file of theirs changes. Only
the user's own settings are read, never a project's. A changed copy of a file is in the run's own folder, as it may
hold keys.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..clients.choices import Client, own_folder
from ..core.json_text import text_in, value_in
from ..core.lazy_pattern import lazy_pattern
from ..errors import UsageError
from .bodies import ANTHROPIC, GOOGLE, OPENAI

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
_ANTHROPIC_URL: Final = "ANTHROPIC_BASE_URL"
_OPENAI_URL: Final = "OPENAI_BASE_URL"
_CODEX_URL: Final = "openai_base_url"
_SETTINGS: Final = "--settings"
_BEFORE_COMPACTION: Final = "PreCompact"
_FIXED_PORT: Final = 8788
"""The default port of `condense proxy` without a client."""

_FIRST_PARTY: Final = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL"
"""Behind any other base URL, Claude Code leaves out `scope: global` in cache marks, betas, and the window of a million
tokens. Found by trying 2.1.332."""
_AS_FIRST_PARTY: Final = (
    f"Claude Code is told that this is Anthropic's own API, as all requests go there ({_FIRST_PARTY}=1): it keeps its "
    "shared cache and its features. --no-first-party leaves that out."
)


class ClientSurroundings(Struct, frozen=True):
    """Arguments and environment of a client, the user's home, this run's own folder, and the proxy's address.

    `upstream` is the API that the user named; for the others see `started`.
    """

    arguments: list[str]
    environment: dict[str, str]
    home: Path
    folder: Path
    proxy: str
    upstream: str | None = None
    first_party: bool = True
    word: str = ""

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
        """Write a file that only this user can read."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(value if isinstance(value, str) else json.dumps(value))
        return str(path)


class Led(Struct, frozen=True):
    """Variables and options that lead a client here, its arguments if they change, and the API that it was set to.

    `notes` are sentences for its user: how it goes past the proxy all the same, and what else was set. It `is_led`
    where nothing else of its settings can lead it elsewhere. It `asks_to_compact` if the proxy knows how it asks for a
    compaction, and `keeps_proxy` if a session cannot do without it after an answer of ours; `word` is what a hook of
    ours prints then, empty if none runs.
    """

    variables: dict[str, str] = {}
    options: tuple[str, ...] = ()
    arguments: list[str] | None = None
    upstream: str | None = None
    notes: tuple[str, ...] = ()
    is_led: bool = False
    asks_to_compact: bool = False
    keeps_proxy: bool = False
    word: str = ""


def claude(around: ClientSurroundings) -> Led:
    """Set the address in the settings that are given to it, which go before its own."""
    settings, is_file, rest = _without_settings(around.arguments)
    own = read_json(own_folder(Client.CLAUDE_CODE, around.home, around.environment) / "settings.json")
    word = around.word if _add_hook(settings, own, around.word) else ""
    set_to = text_in(settings, "env", _ANTHROPIC_URL) or text_in(own, "env", _ANTHROPIC_URL)
    set_to = set_to or around.environment.get(_ANTHROPIC_URL) or ANTHROPIC
    is_vendor = around.first_party and (around.upstream or set_to).rstrip("/") == ANTHROPIC
    variables = settings.get("env")
    settings["env"] = {
        **(variables if isinstance(variables, dict) else {}),
        _ANTHROPIC_URL: around.proxy,
        **({_FIRST_PARTY: "1"} if is_vendor else {}),
    }
    given = around.written("settings.json", settings) if is_file else json.dumps(settings)
    notes = (_AS_FIRST_PARTY,) if is_vendor else ()
    return Led({}, (_SETTINGS, given), rest, set_to, notes, is_led=True, asks_to_compact=True, word=word)


def _add_hook(settings: dict[str, Any], own: object, word: str) -> bool:
    """Add a hook that prints the word before a compaction; False if the client would not run it."""
    events = settings.get("hooks", {})
    hooks = events.get(_BEFORE_COMPACTION, []) if isinstance(events, dict) else None
    is_off = any(value_in(each, "disableAllHooks") is True for each in (settings, own))
    if not word or is_off or not isinstance(hooks, list):
        return False
    ours = {"hooks": [{"type": "command", "command": f"echo {word}"}]}
    settings["hooks"] = {**events, _BEFORE_COMPACTION: [*hooks, ours]}
    return True


def codex(around: ClientSurroundings) -> Led:
    named, rest = _without_address(around.arguments)
    folder = own_folder(Client.CODEX, around.home, around.environment)
    set_to = named or text_in(read_toml(folder / "config.toml"), _CODEX_URL) or around.environment.get(_OPENAI_URL)
    # TOML and JSON spell a plain string alike.
    options = ("-c", f"{_CODEX_URL}={json.dumps(around.proxy + VERSION)}")
    notes = _past_codex(rest, around.proxy, folder)
    return Led({}, options, rest, set_to, notes, is_led=True, asks_to_compact=True, keeps_proxy=not notes)


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
    config = read_toml(folder / "config.toml")
    profile = profile or text_in(config, "profile")
    layers: list[object] = [config]
    if profile:  # Newer versions have a file for each.
        layers = [read_toml(folder / f"{profile}.config.toml"), value_in(config, "profiles", profile), config]

    def setting(*keys: str) -> str | None:
        return given.get(".".join(keys)) or next(filter(None, (text_in(layer, *keys) for layer in layers)), None)

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


def _on_fixed_port(proxy: str, url: str | None) -> str:
    """Return the proxy's address at the fixed port, with the version if `url` has one."""
    host = proxy.rpartition(":")[0]
    version = VERSION if url is None or url.rstrip("/").endswith(VERSION) else ""
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
        return _kimi({}, named, around) if named else Led(notes=(_KIMI_PAST,))
    folder = Path(environment.get("KIMI_CODE_HOME") or around.home / ".kimi-code")
    config = read_toml(folder / "config.toml")
    alias = around.value_of("-m", "--model") or text_in(config, "default_model") or ""
    model = value_in(config, "models", alias)
    provider = value_in(config, "providers", text_in(model, "provider") or "")
    name, key, api = text_in(model, "model"), text_in(provider, "api_key"), text_in(provider, "type") or ""
    url = text_in(provider, "base_url") or _KIMI_USUAL.get(api)
    if not (name and key and api in (*_KIMI_USUAL, "anthropic") and url):
        return Led(notes=(_KIMI_PAST,))
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
        comes = "Cline comes by here with a provider that has an API key (cline auth)"
        return Led(notes=(f"{comes}; with a login it sends past this proxy.",))
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
    note = (
        f"Copilot sends to GitHub, past this proxy, unless it has a provider of your own: set {_COPILOT}, "
        "COPILOT_MODEL and a key (copilot help providers)."
    )
    return Led(notes=(note,))


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


class AddressVariable(Struct, frozen=True):
    """A variable for the address of a vendor's API, and the path that a client wants behind the host."""

    variable: str
    vendor: str
    path: str = ""


_SDKS: Final = (
    AddressVariable(_ANTHROPIC_URL, ANTHROPIC),
    AddressVariable(_OPENAI_URL, OPENAI, VERSION),
    AddressVariable("GOOGLE_GEMINI_BASE_URL", GOOGLE),
)
"""Any program with an SDK reads these variables."""


class NamedClient(Struct, frozen=True):
    """How to lead a client here: by variables, by `own` settings of it, or not at all, which the note says."""

    addresses: tuple[AddressVariable, ...] = _SDKS
    own: Callable[[ClientSurroundings], Led] | None = None
    note: str = ""


_OTHERS: Final = NamedClient()
_BEGINNINGS: Final = ("claude", "codex")
"""Clients whose programs may have longer names."""
_KNOWN: Final = {
    "aider": NamedClient(
        # The names of LiteLLM, which reads no others for OpenAI.
        (*_SDKS, AddressVariable("ANTHROPIC_API_BASE", ANTHROPIC), AddressVariable("OPENAI_API_BASE", OPENAI, VERSION))
    ),
    "amp": NamedClient((), note="Amp sends to its own service, past this proxy."),
    "claude": NamedClient((), own=claude),
    "cline": NamedClient(own=cline),
    "codex": NamedClient((), own=codex),
    "copilot": NamedClient((), own=copilot),
    # https://github.com/charmbracelet/catwalk (internal/providers/configs)
    "crush": NamedClient(
        (
            AddressVariable("ANTHROPIC_API_ENDPOINT", ANTHROPIC),
            AddressVariable("OPENAI_API_ENDPOINT", OPENAI, VERSION),
            AddressVariable("GEMINI_API_ENDPOINT", GOOGLE),
        )
    ),
    "cursor-agent": NamedClient((), note="Cursor sends to its own service, past this proxy."),
    "droid": NamedClient(
        (),
        note="Droid comes by here with a model of your own alone: start condense proxy without a client, and set its "
        f"baseUrl to http://127.0.0.1:{_FIXED_PORT} (anthropic) or http://127.0.0.1:{_FIXED_PORT}/v1, in customModels "
        "of ~/.factory/settings.json.",
    ),
    "gemini": NamedClient(
        note="Gemini CLI comes by here with an API key (GEMINI_API_KEY) alone; with a login it sends past this proxy."
    ),
    # https://github.com/block/goose (documentation/docs/getting-started/providers.md)
    "goose": NamedClient(
        (
            AddressVariable("ANTHROPIC_HOST", ANTHROPIC),
            AddressVariable("OPENAI_HOST", OPENAI),
            AddressVariable("GOOGLE_HOST", GOOGLE),
        )
    ),
    "kimi": NamedClient((), own=kimi),
    "opencode": NamedClient(own=opencode),
    "pi": NamedClient((), own=pi),
    "qwen": NamedClient(own=qwen),
}
"""By the names of their programs. docs/clients.md says what was tried."""


class Started(Struct, frozen=True):
    """A client's command and environment, and how it was led here.

    `vendors` are addresses that its environment names in place of those of vendors.
    """

    command: list[str]
    environment: dict[str, str]
    led: Led = Led()
    vendors: dict[str, str] = {}


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
    known = _KNOWN.get(next((each for each in _BEGINNINGS if name.startswith(each)), name), _OTHERS)
    vendors = {each.vendor: url.rstrip("/") for each in known.addresses if (url := env.get(each.variable))}
    around = ClientSurroundings([*command[1:]], env, home, folder, proxy, upstream, first_party, word)
    led = known.own(around) if known.own else Led()
    addresses = {each.variable: proxy + each.path for each in known.addresses}
    rest = command[1:] if led.arguments is None else led.arguments
    if known.note:
        led = replace(led, notes=(known.note, *led.notes))
    return Started([command[0], *led.options, *rest], {**env, **addresses, **led.variables}, led, vendors)


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Exempt this machine from the proxies of the environment."""
    known = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    value = ",".join(filter(None, (known, "127.0.0.1", "localhost")))
    return {"NO_PROXY": value, "no_proxy": value}
