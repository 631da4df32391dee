"""Settings that are not ours: they stay as they are, to the character, while ours come and go."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from client_settings import commands, put
from helpers import condense

from condense_cli.clients.settings import hook_command, is_ours, program, with_hooks, without_hooks

pytestmark = pytest.mark.usefixtures("own_home")

OTHERS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "ruff format"}]}],
    },
    "permissions": {"allow": ["Bash(condense hook:*)"]},
}
TOML = '# mine\nmodel = "gpt-5.5"   # the best\n\n[mcp_servers.other]\ncommand = "other"\n'


# With tabs and without a final line break, as somebody's editor left it.
@pytest.mark.parametrize(("indent", "end"), [(2, "\n"), ("\t", ""), (4, "\r\n")])
def test_settings_of_others_come_back_byte_for_byte(own_home: Path, indent: int | str, end: str) -> None:
    text = json.dumps(OTHERS, indent=indent).replace("\n", "\r\n" if end == "\r\n" else "\n") + end
    path = put(own_home / ".claude" / "settings.json", "")
    path.write_bytes(text.encode())
    condense("install", "claude-code", "--yes")
    after = json.loads(path.read_bytes())
    assert commands(after)[:2] == ["say done", hook_command("claude-code", "stop")]
    assert {key: after[key] for key in ("model", "permissions")} == {
        key: OTHERS[key] for key in ("model", "permissions")
    }
    condense("install", "claude-code", "--remove", "--yes")
    assert path.read_bytes() == text.encode()


HAND_WRITTEN = """{ "model": "opus",
  "permissions": {
    "allow": ["Read", "Bash(ls:*)"],  "deny": [ ]},
  "numbers": [1.10, 1e3, 12345678901234567890123, -0],
\t"hooks": {
    "Stop": [{ "hooks": [{ "type": "command",   "command": "say done" }] } ],
    "PostToolUse": [
      { "matcher": "Edit", "hooks": [ { "type": "command", "command": "ruff format" } ] }
    ]
  }
  , "model": "\\u0073onnet"

}
"""


# As a person wrote it: lists on one line, spaces anywhere, numbers spelled as they like, a key twice.
@pytest.mark.parametrize(
    "text", [HAND_WRITTEN, HAND_WRITTEN.replace("\n", "\r\n"), '{"a":[1,2]}', '{"hooks": {"X": []}}', " { } "]
)
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_nothing_of_others_is_laid_out_anew(own_home: Path, text: str, name: str) -> None:
    files = (".claude/settings.json", ".claude.json") if name == "claude-code" else (".codex/hooks.json",)
    paths = [put(own_home / file, "") for file in files]
    for path in paths:
        path.write_bytes(text.encode())
    condense("install", name, "--yes")
    for path in paths:
        after = path.read_bytes().decode()
        assert (
            json.loads(after).items()
            > {key: json.loads(text)[key] for key in json.loads(text) if key != "hooks"}.items()
        )
        kept = [line for line in text.splitlines(keepends=True)[:5] if "say done" not in line]
        assert all(line.rstrip("\r\n ,}]") in after for line in kept)
    condense("install", name, "--remove", "--yes")
    assert [path.read_bytes().decode() for path in paths] == [text] * len(paths)


def test_a_status_line_of_others_stays(own_home: Path) -> None:
    line = {"type": "command", "command": "~/.claude/line.sh"}
    path = put(own_home / ".claude" / "settings.json", json.dumps({"statusLine": line}))
    assert "another status line" in condense("install", "claude-code", "--yes").text
    assert json.loads(path.read_text())["statusLine"] == line
    condense("install", "claude-code", "--remove", "--yes")
    assert path.read_text() == json.dumps({"statusLine": line})


def test_a_server_of_others_by_our_name_stays(own_home: Path) -> None:
    state = json.dumps({"mcpServers": {"condense": {"command": "another", "args": []}}, "numStartups": 3})
    path = put(own_home / ".claude.json", state)
    toml = '[mcp_servers.condense]\ncommand = "another"\n'
    config = put(own_home / ".codex" / "config.toml", toml)
    for client in ("claude-code", "codex"):
        condense("install", client, "--yes")
        condense("install", client, "--remove", "--yes")
    assert path.read_text() == state
    assert config.read_text() == toml


def test_a_configuration_of_codex_is_only_added_to(own_home: Path) -> None:
    path = put(own_home / ".codex" / "config.toml", TOML)
    condense("install", "codex", "--yes")
    assert path.read_text().startswith(TOML)
    assert tomllib.loads(path.read_text())["mcp_servers"]["condense"]["args"] == [*program()[1:], "mcp"]
    # The client itself adds behind it, also inside our table.
    path.write_text(path.read_text() + "[mcp_servers.condense.tools.show]\nenabled = true\n\n[hooks.state]\nx = 1\n")
    condense("install", "codex", "--remove", "--yes")
    assert path.read_text() == TOML + "[hooks.state]\nx = 1\n"


_EMPTY = [
    "",
    "\n\n",
    "{}",
    "{ }\n",
    '{"hooks": {}, "mcpServers": { }}',
    '{"hooks": {"Stop": [ ], "SessionStart": []}}\n\n',
]


@pytest.mark.parametrize("text", _EMPTY)
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_what_was_empty_is_empty_again(own_home: Path, text: str, name: str) -> None:
    """Also where it was installed anew in between; without its notes, and where others wrote since, ours goes alone."""
    file = ".claude/settings.json" if name == "claude-code" else ".codex/hooks.json"
    path = put(own_home / file, text)
    state = put(own_home / ".claude.json", text)
    toml = put(own_home / ".codex" / "config.toml", "# mine" if text else "")
    for _ in range(2):
        condense("install", name, "--yes")
    assert "condense" in path.read_text()
    condense("install", name, "--remove", "--yes")
    assert (path.read_text(), state.read_text(), toml.read_text()) == (text, text, "# mine" if text else "")

    condense("install", name, "--yes")
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "model": "opus"}))
    condense("install", name, "--yes")
    condense("install", name, "--remove", "--yes")
    assert json.loads(path.read_text())["model"] == "opus"
    assert "condense" not in path.read_text()


def test_an_installation_without_a_note_is_taken_out_whole(own_home: Path) -> None:
    """As a version before wrote it: what it changes is not given back, for it is ours."""
    path = put(own_home / ".claude" / "settings.json", json.dumps(with_hooks({"model": "opus"}, "claude-code")))
    condense("install", "claude-code", "--yes")
    condense("install", "claude-code", "--remove", "--yes")
    assert json.loads(path.read_text()) == {"model": "opus"}


def test_broken_settings_are_left_alone(own_home: Path) -> None:
    path = put(own_home / ".claude" / "settings.json", '{"model": ')
    ran = condense("install", "claude-code", "--yes")
    assert ran.status == 3
    assert "is not JSON" in ran.message
    assert path.read_text() == '{"model": '
    put(own_home / ".codex" / "config.toml", "a = ")
    assert "is not TOML" in condense("install", "codex", "--yes").message
    assert not (own_home / ".codex" / "hooks.json").exists()


@pytest.mark.parametrize("name", ["J\u00f6rg", "\\u004a\\u00f6rg", "\\ud83d", "J\u00f6rg \\uD83D"])
def test_characters_stay_as_they_are_spelled(own_home: Path, name: str) -> None:
    text = f'{{\n  "name": "{name}"\n}}\n'
    path = put(own_home / ".claude.json", text)
    path.chmod(0o600)
    condense("install", "claude-code", "--yes")
    assert json.loads(path.read_text())["name"] == json.loads(text)["name"]
    assert path.stat().st_mode & 0o777 == 0o600
    condense("install", "claude-code", "--remove", "--yes")
    assert json.loads(path.read_text()) == json.loads(text)


def test_a_link_to_settings_elsewhere_stays_a_link(own_home: Path) -> None:
    real = put(own_home / "dotfiles" / "claude.json", "{}\n")
    (own_home / ".claude").mkdir()
    (own_home / ".claude" / "settings.json").symlink_to(real)
    assert f"settings.json → {real}" in condense("install", "claude-code", "--yes").text
    assert (own_home / ".claude" / "settings.json").is_symlink()
    assert commands(json.loads(real.read_text()))


def test_settings_that_are_read_only_stay(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(own_home / ".claude" / "settings.json", "{}\n")
    monkeypatch.setattr("os.access", lambda found, mode: Path(found) != path)  # Root may write whatever is read-only.
    ran = condense("install", "claude-code", "--yes")
    assert (ran.status, "read-only" in ran.message, path.read_text()) == (1, True, "{}\n")


def test_a_group_that_others_share_keeps_their_commands() -> None:
    shared = {"hooks": {"Stop": [{"hooks": [{"command": "x"}, {"command": "/a/condense hook codex stop"}]}]}}
    assert without_hooks(shared) == {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}
    assert commands(with_hooks(shared, "codex")).count("x") == 1


@pytest.mark.parametrize("settings", [{"hooks": []}, {"hooks": {"Stop": None}}, {"hooks": {"Stop": [None, {}]}}, {}])
def test_settings_of_odd_shapes_are_left_as_they_are(settings: dict[str, Any]) -> None:
    assert without_hooks(settings) == settings


# What a user made of it is theirs.
@pytest.mark.parametrize(
    "command",
    [
        "~/line.sh; /a/condense hook claude-code status-line",
        "/a/condense hook codex stop && say done",
        "cat | /a/condense hook codex stop",
        "/a/not-condense hook codex stop",
        "echo 'condense hook codex stop'",
        "/a/condense hook codex 'stop",
    ],
)
def test_a_command_with_ours_in_it_is_none_of_ours(command: str) -> None:
    assert not is_ours(command)
    settings = {"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}
    assert without_hooks(with_hooks(settings, "codex")) == settings


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".claude/settings.json", '{"hooks": ["mine"]}'),
        (".claude/settings.json", '{"hooks": {"Stop": "mine"}}'),
        (".claude.json", '{"mcpServers": ["mine"]}'),
        (".claude/settings.json", '["mine"]'),
    ],
)
def test_what_is_not_understood_is_not_written_over(own_home: Path, name: str, text: str) -> None:
    path = put(own_home / name, text)
    ran = condense("install", "claude-code", "--yes")
    assert ran.status == 3
    assert "Fix it first" in ran.message
    assert path.read_text() == text
    assert [each for each in own_home.rglob("*") if each.is_file()] == [path]
