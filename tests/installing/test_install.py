"""Settings of clients: shown first, ours alone are written, and taken out without a trace."""

from __future__ import annotations

import json
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers import condense, condense_process, snapshot

from condense_cli.hooks.notes import add_fault
from condense_cli.installing import codex_trust
from condense_cli.installing.commands import hook_command, is_ours, program, runs
from condense_cli.installing.hook_entries import HOOKS, with_hooks, without_hooks

OTHERS: dict[str, Any] = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PostToolUse": [{"matcher": "Edit", "hooks": [{"type": "command", "command": "ruff format"}]}],
    },
    "permissions": {"allow": ["Bash(condense hook:*)"]},
}
TOML = '# mine\nmodel = "gpt-5.5"   # the best\n\n[mcp_servers.other]\ncommand = "other"\n'


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and no client that could be asked."""
    own_home = tmp_path / "home"
    own_home.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(own_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return own_home


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def commands(settings: dict[str, Any]) -> list[str]:
    groups = [group for groups in settings["hooks"].values() for group in groups]
    return [each["command"] for group in groups for each in group["hooks"]]


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_nothing_is_written_before_it_was_shown_and_wanted(client: str, own_home: Path) -> None:
    for options in (["--dry-run"], []):
        ran = condense("install", client, *options)
        assert ran.status == 0
        assert f"hook {client} session-start" in ran.text
        assert snapshot(own_home) == {}
    assert "--yes writes it" in condense("install", client).stderr


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_what_is_installed_once_is_installed_twice(client: str, own_home: Path) -> None:
    condense("install", client, "--yes")
    first = {path: path.read_bytes() for path in own_home.rglob("*") if path.is_file()}
    again = condense("install", client, "--yes")
    assert "Nothing to change" in again.text
    assert {path: path.read_bytes() for path in own_home.rglob("*") if path.is_file()} == first
    condense("install", client, "--remove", "--yes")
    assert [path for path in own_home.rglob("*") if path.is_file()] == []
    assert "nothing of condense" in condense("install", client, "--remove", "--yes").text


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
    if text.strip(" {}"):
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


def test_broken_settings_are_left_alone(own_home: Path) -> None:
    path = put(own_home / ".claude" / "settings.json", '{"model": ')
    ran = condense("install", "claude-code", "--yes")
    assert ran.status == 3
    assert "is no JSON" in ran.message
    assert path.read_text() == '{"model": '
    put(own_home / ".codex" / "config.toml", "a = ")
    assert "is no TOML" in condense("install", "codex", "--yes").message
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


def test_a_project_has_settings_of_its_own(own_home: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    condense("install", "claude-code", "--project", "--yes", cwd=project / "src")
    assert commands(json.loads((project / ".claude" / "settings.local.json").read_text()))
    assert list(json.loads((own_home / ".claude.json").read_text())["projects"]) == [str(project)]
    assert not (own_home / ".claude").exists()
    condense("install", "codex", "--project", "--yes", cwd=project)
    assert (project / ".codex" / "hooks.json").is_file()
    assert condense("install", "claude-code", "--project", "--status", cwd=project).status == 0
    for client in ("claude-code", "codex"):
        condense("install", client, "--project", "--remove", "--yes", cwd=project)
    assert [path for path in [*project.rglob("*"), *own_home.rglob("*")] if path.is_file()] == []


def test_the_status_says_what_does_not_work(own_home: Path) -> None:
    assert "not installed" in condense("install", "claude-code", "--status").text
    condense("install", "claude-code", "--yes")
    assert condense("install", "claude-code", "--status").status == 0
    add_fault("claude-code", "stop", "ValueError: no such thing")
    path = own_home / ".claude" / "settings.json"
    path.write_text(path.read_text().replace(shlex.quote(program()[0]), "/gone/bin/condense"))
    ran = condense("install", "claude-code", "--status")
    assert ran.status == 1
    assert "runs a program that is not there: /gone/bin/condense hook" in ran.text
    assert "no such thing" in ran.text
    condense("install", "claude-code", "--yes")
    assert condense("install", "claude-code", "--status").status == 0


# Of an installation that was moved: each hook once, and in its place, by which Codex knows it.
def test_an_older_installation_is_replaced_in_its_place() -> None:
    old = {
        "hooks": {"Stop": [{"hooks": [{"command": "/old/condense hook codex stop"}]}, {"hooks": [{"command": "x"}]}]}
    }
    after = with_hooks(old, "codex")
    assert [group["hooks"][0]["command"] for group in after["hooks"]["Stop"]] == [hook_command("codex", "stop"), "x"]
    assert with_hooks(after, "codex") == after
    assert without_hooks(after) == {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}


def test_a_group_that_others_share_keeps_their_commands() -> None:
    shared = {"hooks": {"Stop": [{"hooks": [{"command": "x"}, {"command": "/a/condense hook codex stop"}]}]}}
    assert without_hooks(shared) == {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}
    assert commands(with_hooks(shared, "codex")).count("x") == 1


@pytest.mark.parametrize("settings", [{"hooks": []}, {"hooks": {"Stop": None}}, {"hooks": {"Stop": [None, {}]}}, {}])
def test_settings_of_odd_shapes_are_left_as_they_are(settings: dict[str, Any]) -> None:
    assert without_hooks(settings) == settings


def test_commands_are_absolute_and_known_again() -> None:
    for hook in HOOKS:
        command = hook_command("claude-code", hook.name)
        assert Path(shlex.split(command)[0]).is_absolute()
        assert runs(command)
        assert is_ours(command)
    assert is_ours("'/own_home/a b/bin/condense' hook codex stop")
    assert is_ours("/usr/bin/python3 -P -m condense_cli hook codex stop")
    assert not is_ours("condense run --hook")
    assert not is_ours(None)


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


# Without a script of ours beside it, Python runs the package.
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_what_python_runs_is_taken_out_as_well(client: str, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = own_home / "python3"
    monkeypatch.setattr(sys, "executable", str(python))
    condense("install", client, "--yes")
    assert str(python) in "".join(path.read_text() for path in own_home.rglob("*.*") if path.is_file())
    condense("install", client, "--remove", "--yes")
    assert [path for path in own_home.rglob("*") if path.is_file()] == []


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
    assert "Mend it first" in ran.message
    assert path.read_text() == text
    assert [each for each in own_home.rglob("*") if each.is_file()] == [path]


def test_codex_says_itself_what_it_trusts(own_home: Path, tmp_path: Path) -> None:
    condense("install", "codex", "--yes")
    hooks = [
        {"eventName": name, "command": hook_command("codex", "stop"), "enabled": True, "trustStatus": status}
        for name, status in (("sessionStart", "trusted"), ("preCompact", "untrusted"), ("stop", "trusted"))
    ]
    answer = json.dumps({"id": 2, "result": {"data": [{"hooks": hooks}]}})
    fake = put(tmp_path / "codex", f"#!/bin/sh\nread a; read b; read c\necho '{{\"id\": 1}}'\necho '{answer}'\n")
    fake.chmod(0o755)
    ran = condense("install", "codex", "--status")
    assert "Not trusted yet: PreCompact." in ran.text
    assert "/hooks" in ran.text


# Without the client its configuration is looked into.
def test_trust_is_read_from_the_configuration_otherwise(own_home: Path) -> None:
    condense("install", "codex", "--yes")
    config = own_home / ".codex" / "config.toml"
    hooks = own_home / ".codex" / "hooks.json"
    assert "Not trusted yet: SessionStart, PreCompact, Stop." in condense("install", "codex", "--status").text
    for event in ("session_start", "pre_compact", "stop"):
        config.write_text(config.read_text() + f'\n[hooks.state."{hooks}:{event}:0:0"]\ntrusted_hash = "sha256:1"\n')
    assert condense("install", "codex", "--status").status == 0


def test_a_client_that_hangs_is_not_waited_for(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codex_trust, "_SECONDS", 0.2)
    condense("install", "codex", "--yes")
    fake = put(tmp_path / "codex", "#!/bin/sh\nexec /bin/sleep 60\n")
    fake.chmod(0o755)
    assert "Not trusted yet" in condense("install", "codex", "--status").text


def test_without_the_package_the_server_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    ran = condense("install", "claude-code", "--dry-run")
    assert "mcpServers" not in ran.text
    assert "pip install 'condense-cli[mcp]'" in ran.text


def test_a_hook_that_a_person_types_ends_at_once() -> None:
    assert condense_process("hook", "claude-code", "stop").stdout == b""
