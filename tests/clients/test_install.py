"""Settings of clients: shown first, ours alone are written, and taken out without a trace."""

import json
import shlex
import sys
from pathlib import Path

import pytest
from client_settings import commands, put
from helpers import condense, condense_process, snapshot

from condense_cli.clients import codex
from condense_cli.clients.hooks import add_fault
from condense_cli.clients.settings import HOOKS, hook_command, is_ours, program, runs, with_hooks, without_hooks

pytestmark = pytest.mark.usefixtures("own_home")


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
    assert "condense is not installed there" in condense("install", client, "--remove", "--yes").text


def test_a_command_of_that_name_that_is_not_ours_is_left_alone(own_home: Path) -> None:
    path = put(own_home / ".claude" / "commands" / "condense.md", "Make it shorter.")
    for options in (["--yes"], ["--remove", "--yes"]):
        condense("install", "claude-code", *options)
        assert path.read_text() == "Make it shorter."
    assert "another command /condense" in condense("install", "claude-code", "--dry-run").text


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


def test_the_status_of_all_clients_of_a_machine(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    ran = condense("install", "--status")
    assert (ran.status, ran.text) == (0, "There is no client here that condense can be installed in.\n")
    (own_home / ".codex").mkdir()
    condense("install", "claude-code", "--yes")
    condense("install", "pi", "--yes")
    ran = condense("install", "--status")
    assert (ran.status, ran.text.splitlines()) == (
        0,
        [
            "claude-code, for all projects: installed.",
            "codex: not installed; condense install codex shows what it adds.",
            "pi, for all projects: installed.",
        ],
    )
    (own_home / ".claude" / "commands" / "condense.md").unlink()
    ran = condense("install", "--status")
    assert (ran.status, "The command /condense is not installed." in ran.text) == (1, True)
    ran = condense("install", "--yes")
    assert (ran.status, "Name one of claude-code, codex, opencode, pi" in ran.stderr) == (2, True)


# Of an installation that was moved: each hook once, and in its place, by which Codex knows it.
def test_an_older_installation_is_replaced_in_its_place() -> None:
    old = {
        "hooks": {"Stop": [{"hooks": [{"command": "/old/condense hook codex stop"}]}, {"hooks": [{"command": "x"}]}]}
    }
    after = with_hooks(old, "codex")
    assert [group["hooks"][0]["command"] for group in after["hooks"]["Stop"]] == [hook_command("codex", "stop"), "x"]
    assert with_hooks(after, "codex") == after
    assert without_hooks(after) == {"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}


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


# Without a script of ours beside it, Python runs the package.
@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_what_python_runs_is_taken_out_as_well(client: str, own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = own_home / "python3"
    monkeypatch.setattr(sys, "executable", str(python))
    condense("install", client, "--yes")
    assert str(python) in "".join(path.read_text() for path in own_home.rglob("*.*") if path.is_file())
    condense("install", client, "--remove", "--yes")
    assert [path for path in own_home.rglob("*") if path.is_file()] == []


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
    monkeypatch.setattr(codex, "_SECONDS", 0.2)
    condense("install", "codex", "--yes")
    fake = put(tmp_path / "codex", "#!/bin/sh\nexec /bin/sleep 60\n")
    fake.chmod(0o755)
    assert "Not trusted yet" in condense("install", "codex", "--status").text


def test_without_the_package_the_server_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.cli.work.install.find_spec", lambda name: None)
    ran = condense("install", "claude-code", "--dry-run")
    assert "mcpServers" not in ran.text
    assert "-m pip install 'mcp>=" in ran.text


def test_a_hook_that_a_person_types_ends_at_once() -> None:
    assert condense_process("hook", "claude-code", "stop").stdout == b""
