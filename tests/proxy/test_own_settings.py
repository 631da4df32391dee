"""Clients by name: variables, options and copies of their own files that lead them here, and what is said otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest

from condense_cli.proxy.bodies import ANTHROPIC, GOOGLE, OPENAI
from condense_cli.proxy.clients import Started, started

PROXY = "http://127.0.0.1:1"
MINE = "https://mine/v1"


def start(*command: str, home: Path, **environment: str) -> Started:
    folder = home / "run"
    folder.mkdir(exist_ok=True)
    return started(command, PROXY, environment, home, folder)


def put(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


VARIABLES = {
    "python": {
        "ANTHROPIC_BASE_URL": PROXY,
        "OPENAI_BASE_URL": f"{PROXY}/v1",
        "GOOGLE_GEMINI_BASE_URL": PROXY,
    },
    "aider": {"ANTHROPIC_API_BASE": PROXY, "OPENAI_API_BASE": f"{PROXY}/v1"},
    "crush": {
        "ANTHROPIC_API_ENDPOINT": PROXY,
        "OPENAI_API_ENDPOINT": f"{PROXY}/v1",
        "GEMINI_API_ENDPOINT": PROXY,
    },
    "goose": {"ANTHROPIC_HOST": PROXY, "OPENAI_HOST": PROXY, "GOOGLE_HOST": PROXY},
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_lead_it_here_and_addresses_of_the_user_are_kept(name: str, tmp_path: Path) -> None:
    found = start(name, "x", home=tmp_path)
    assert found.command == [name, "x"]
    assert found.environment.items() >= VARIABLES[name].items()
    for variable, vendor in zip(VARIABLES[name], (ANTHROPIC, OPENAI, GOOGLE), strict=False):
        assert start(name, home=tmp_path, **{variable: "https://mine/"}).vendors == {vendor: "https://mine"}


@pytest.mark.parametrize("name", ["amp", "cline", "copilot", "cursor-agent", "droid", "gemini", "kimi"])
def test_how_it_goes_past_is_said(name: str, tmp_path: Path) -> None:
    found = start(name, home=tmp_path)
    assert (len(found.led.notes), found.command, found.led.is_led) == (1, [name], False)
    assert "past this proxy" in found.led.notes[0] or "comes by here" in found.led.notes[0]


def test_copilot(tmp_path: Path) -> None:
    found = start("copilot", "-p", "hi", home=tmp_path, COPILOT_PROVIDER_BASE_URL=f"{MINE}/")
    assert (found.environment["COPILOT_PROVIDER_BASE_URL"], found.led.upstream) == (f"{PROXY}/v1", MINE)
    found = start("copilot", home=tmp_path, COPILOT_PROVIDER_BASE_URL="https://mine")
    assert (found.environment["COPILOT_PROVIDER_BASE_URL"], found.led.notes, found.led.is_led) == (PROXY, (), True)


def registered(found: Started) -> dict[str, str]:
    """Providers and addresses in the extension that pi gets."""
    flag, path = found.command[1:3]
    assert flag == "-e"
    assert Path(path).stat().st_mode & 0o077 == 0
    calls = [line for line in Path(path).read_text().splitlines() if "registerProvider" in line]
    return {line.split('"')[1]: line.split('"')[3] for line in calls}


# pi reads no variables, only its own file; an extension goes before that.
def test_pi(tmp_path: Path) -> None:
    usual = {"anthropic": PROXY, "openai": f"{PROXY}/v1", "google": f"{PROXY}/v1beta"}
    found = start("pi", "-p", "hi", home=tmp_path)
    assert (registered(found), found.command[3:], found.led.upstream) == (usual, ["-p", "hi"], None)
    folder = tmp_path / ".pi" / "agent"
    put(folder / "settings.json", {"defaultProvider": "mine"})
    put(folder / "models.json", {"providers": {"mine": {"baseUrl": MINE}, "other": {"baseUrl": "https://other"}}})
    found = start("pi", home=tmp_path)
    assert (registered(found), found.led.upstream) == (usual | {"mine": f"{PROXY}/v1"}, MINE)
    found = start("pi", "--provider", "other", home=tmp_path)
    assert (registered(found), found.led.upstream) == (usual | {"other": PROXY}, "https://other")
    assert start("pi", "list", home=tmp_path).command == ["pi", "list"]


# Its file goes before the environment; a variable with settings goes before both.
def test_opencode(tmp_path: Path) -> None:
    own = tmp_path / ".config" / "opencode" / "opencode.json"
    assert "OPENCODE_CONFIG_CONTENT" not in start("opencode", home=tmp_path).environment

    def changed(*arguments: str, **environment: str) -> tuple[object, str | None]:
        found = start("opencode", *arguments, home=tmp_path, **environment)
        return json.loads(found.environment.get("OPENCODE_CONFIG_CONTENT", "null")), found.led.upstream

    here = {"provider": {"mine": {"options": {"baseURL": f"{PROXY}/v1"}}}}
    config = {"provider": {"mine": {"options": {"baseURL": f"{MINE}/"}}, "other": {}}}
    put(own, config)
    assert changed() == (here, MINE)
    assert changed("run", "-m", "mine/x", "hi") == (here, MINE)
    assert changed("run", "-m", "other/x", "hi") == (None, None)
    put(own, {**config, "model": "other/x"})
    assert changed() == (None, None)
    given = {"model": "mine/x", "provider": {"mine": {"options": {"apiKey": "k"}}}}
    both = {"model": "mine/x", "provider": {"mine": {"options": {"apiKey": "k", "baseURL": f"{PROXY}/v1"}}}}
    assert changed(OPENCODE_CONFIG_CONTENT=json.dumps(given)) == (both, MINE)
    own.unlink()
    text = (
        '{\n  // mine\n  "provider": {"mine": {"options": {"baseURL": "https://mine/v1" /* http://no */,}}}, // end\n}'
    )
    put(own.with_suffix(".jsonc"), text)
    assert changed() == (here, MINE)
    elsewhere = put(tmp_path / "elsewhere.json", {"provider": {"mine": {"options": {"baseURL": "https://b"}}}})
    assert changed(OPENCODE_CONFIG=str(elsewhere))[1] == "https://b"


# Models of its settings go before variables; settings of the system go before those of the user.
def test_qwen_code(tmp_path: Path) -> None:
    assert "QWEN_CODE_SYSTEM_SETTINGS_PATH" not in start("qwen", home=tmp_path).environment
    models = {"openai": [{"id": "a", "baseUrl": MINE}, {"id": "b", "baseUrl": "https://b"}], "gemini": [{"id": "g"}]}
    own = put(tmp_path / ".qwen" / "settings.json", {"modelProviders": models, "model": {"name": "a"}})
    before = own.read_bytes()
    system = put(tmp_path / "system.json", {"telemetry": {"enabled": False}})
    found = start("qwen", home=tmp_path, QWEN_CODE_SYSTEM_SETTINGS_PATH=str(system))
    given = json.loads(Path(found.environment["QWEN_CODE_SYSTEM_SETTINGS_PATH"]).read_bytes())
    first, second = given["modelProviders"]["openai"]
    assert (first["baseUrl"], second["baseUrl"], found.led.upstream) == (f"{PROXY}/v1", "https://b", MINE)
    assert (given["telemetry"], given["modelProviders"]["gemini"]) == ({"enabled": False}, [{"id": "g"}])
    assert start("qwen", "-m", "b", home=tmp_path).led.upstream == "https://b"
    assert start("qwen", "-m", "g", home=tmp_path).led.upstream is None
    assert own.read_bytes() == before


CONFIG = """
default_model = "main"
[providers.mine]
type = "openai"
base_url = "https://mine/v1"
api_key = "k"
[providers.theirs]
type = "kimi"
api_key = "k"
[providers.login]
type = "kimi"
[models.main]
provider = "mine"
model = "a"
max_context_size = 200000
capabilities = ["thinking"]
[models.other]
provider = "theirs"
model = "b"
[models.by-login]
provider = "login"
model = "c"
"""


def test_kimi_code(tmp_path: Path) -> None:
    put(tmp_path / ".kimi-code" / "config.toml", CONFIG)
    found = start("kimi", "-p", "hi", home=tmp_path)
    named = {name: value for name, value in found.environment.items() if name.startswith("KIMI_MODEL_")}
    assert named == {
        "KIMI_MODEL_NAME": "a",
        "KIMI_MODEL_API_KEY": "k",
        "KIMI_MODEL_PROVIDER_TYPE": "openai",
        "KIMI_MODEL_BASE_URL": f"{PROXY}/v1",
        "KIMI_MODEL_MAX_CONTEXT_SIZE": "200000",
        "KIMI_MODEL_CAPABILITIES": "thinking",
    }
    assert (found.command, found.led.upstream, found.led.notes) == (["kimi", "-p", "hi"], MINE, ())
    found = start("kimi", "-m", "other", "-p", "hi", home=tmp_path)
    assert (found.command, found.led.upstream) == (["kimi", "-p", "hi"], "https://api.moonshot.ai/v1")
    assert start("kimi", "--model=other", "-p", "hi", home=tmp_path).command == ["kimi", "-p", "hi"]
    found = start("kimi", "-m", "by-login", home=tmp_path)
    assert (found.command, len(found.led.notes)) == (["kimi", "-m", "by-login"], 1)
    found = start("kimi", home=tmp_path, KIMI_MODEL_NAME="d", KIMI_MODEL_BASE_URL="https://d")
    assert (found.environment["KIMI_MODEL_BASE_URL"], found.led.upstream) == (PROXY, "https://d")


def test_cline(tmp_path: Path) -> None:
    providers = {
        "anthropic": {"settings": {"apiKey": "k"}, "updatedAt": "now"},
        "mine": {"settings": {"apiKey": "k", "baseUrl": MINE}},
        "cline": {"settings": {"auth": {"accessToken": "t"}}},
    }
    own = put(
        tmp_path / ".cline" / "data" / "settings" / "providers.json",
        {"lastUsedProvider": "anthropic", "providers": providers},
    )
    before = own.read_bytes()
    found = start("cline", "hi", home=tmp_path)
    path = Path(found.environment["CLINE_PROVIDER_SETTINGS_PATH"])
    assert path.stat().st_mode & 0o077 == 0
    given = json.loads(path.read_bytes())["providers"]
    changed = {"settings": {"apiKey": "k", "baseUrl": f"{PROXY}/v1"}, "updatedAt": "now"}
    assert given == providers | {"anthropic": changed}
    assert (found.led.upstream, found.led.is_led) == ("https://api.anthropic.com/v1", True)
    assert start("cline", "-P", "mine", "hi", home=tmp_path).led.upstream == MINE
    assert len(start("cline", "-P", "cline", "hi", home=tmp_path).led.notes) == 1
    assert own.read_bytes() == before
