"""Start clients so that they send through the proxy: commands, environments, and the API they were set to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..clients.choices import Client, own_folder
from ..core.json_text import text_in, value_in
from ..errors import UsageError
from . import own_settings
from .bodies import ANTHROPIC, GOOGLE, OPENAI
from .own_settings import VERSION, ClientSurroundings, Led, read_json, read_toml, written

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
_KNOWN: Final = {
    "aider": NamedClient(
        # The names of LiteLLM, which reads no others for OpenAI.
        (*_SDKS, AddressVariable("ANTHROPIC_API_BASE", ANTHROPIC), AddressVariable("OPENAI_API_BASE", OPENAI, VERSION))
    ),
    "amp": NamedClient((), note="Amp sends to its own service, past this proxy."),
    "cline": NamedClient(own=own_settings.cline),
    "copilot": NamedClient((), own=own_settings.copilot),
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
    "kimi": NamedClient((), own=own_settings.kimi),
    "opencode": NamedClient(own=own_settings.opencode),
    "pi": NamedClient((), own=own_settings.pi),
    "qwen": NamedClient(own=own_settings.qwen),
}
"""By the names of their programs. Claude Code and Codex have functions of their own. docs/clients.md says what was
tried."""


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
    return _known(name, command, proxy, env, home, folder)


def _known(name: str, command: Sequence[str], proxy: str, env: dict[str, str], home: Path, folder: Path) -> Started:
    known = _KNOWN.get(name, _OTHERS)
    vendors = {each.vendor: url.rstrip("/") for each in known.addresses if (url := env.get(each.variable))}
    led = known.own(ClientSurroundings([*command[1:]], env, home, folder, proxy)) if known.own else Led()
    addresses = {each.variable: proxy + each.path for each in known.addresses}
    rest = command[1:] if led.arguments is None else led.arguments
    return Started(
        [command[0], *led.options, *rest],
        {**env, **addresses, **led.variables},
        led.upstream,
        vendors,
        tuple(filter(None, (known.note, led.note))),
        is_led=led.is_led,
    )


def _claude(
    command: Sequence[str], proxy: str, env: dict[str, str], home: Path, folder: Path, upstream: str | None,
    *, first_party: bool, word: str,
) -> Started:  # fmt: skip
    settings, is_file, rest = _without_settings(command[1:])
    own = read_json(own_folder(Client.CLAUDE_CODE, home, env) / "settings.json")
    word = word if _add_hook(settings, own, word) else ""
    set_to = text_in(settings, "env", _ANTHROPIC_URL) or text_in(own, "env", _ANTHROPIC_URL)
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
        given = str(written(folder / "settings.json", given))
    notes = (_AS_FIRST_PARTY,) if is_vendor else ()
    new = [command[0], _SETTINGS, given, *rest]
    return Started(new, env, set_to, notes=notes, is_led=True, asks_to_compact=True, word=word)


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


def _codex(command: Sequence[str], proxy: str, env: dict[str, str], home: Path) -> Started:
    named, rest = _without_address(command[1:])
    folder = own_folder(Client.CODEX, home, env)
    set_to = named or text_in(read_toml(folder / "config.toml"), _CODEX_URL) or env.get(_OPENAI_URL)
    # TOML and JSON spell a plain string alike.
    new = [command[0], "-c", f"{_CODEX_URL}={json.dumps(proxy + VERSION)}", *rest]
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


def _past_proxies(environment: Mapping[str, str]) -> dict[str, str]:
    """Exempt this machine from the proxies of the environment."""
    known = environment.get("NO_PROXY") or environment.get("no_proxy") or ""
    value = ",".join(filter(None, (known, "127.0.0.1", "localhost")))
    return {"NO_PROXY": value, "no_proxy": value}
