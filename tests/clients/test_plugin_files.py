"""Plugins of opencode and pi: one file each, taken out without a trace, and the text that they ask condense for."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from client_settings import put
from compacted_work import opencode, pi
from helpers import condense, condense_process, snapshot
from opencode_exports import message, text, tool

from condense_cli.clients import hook_work
from condense_cli.clients.hooks import faults_of
from condense_cli.clients.settings import program
from condense_cli.ledger.compaction import Earlier, read_back

pytestmark = pytest.mark.usefixtures("own_home")

FILES = {
    "opencode": (".config/opencode/plugin/condense.js", ".opencode/plugin/condense.js"),
    "pi": (".pi/agent/extensions/condense.js", ".pi/extensions/condense.js"),
}


@pytest.fixture(autouse=True)
def own_folders(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "PI_CODING_AGENT_DIR", "CONDENSE_COMPACT_TOKENS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("client", FILES)
def test_a_plugin_is_one_file_and_goes_without_a_trace(client: str, own_home: Path) -> None:
    assert "(new)" in condense("install", client, "--dry-run").text
    assert snapshot(own_home) == {}
    ran = condense("install", client, "--yes")
    assert "MCP" not in ran.text
    (path,) = (path for path in own_home.rglob("*") if path.is_file())
    assert str(path.relative_to(own_home)) == FILES[client][0]
    assert json.dumps(program()) in path.read_text()
    assert condense("install", client, "--status").status == 0
    assert "Nothing to change" in condense("install", client, "--yes").text
    condense("install", client, "--remove", "--yes")
    assert not path.exists()
    assert "condense is not installed there" in condense("install", client, "--remove", "--yes").text
    assert "not installed" in condense("install", client, "--status").text


@pytest.mark.parametrize("client", FILES)
def test_a_plugin_for_a_project(client: str, own_home: Path, tmp_path: Path) -> None:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    condense("install", client, "--project", "--yes", cwd=tmp_path / "project")
    assert (tmp_path / "project" / FILES[client][1]).is_file()
    assert snapshot(own_home) == {}


@pytest.mark.parametrize("client", FILES)
def test_a_file_of_that_name_that_is_not_ours_is_left_alone(client: str, own_home: Path) -> None:
    path = put(own_home / FILES[client][0], "export default () => {}\n")
    for options in (["--yes"], ["--remove", "--yes"]):
        assert "is not from condense; it was left alone" in condense("install", client, *options).text
    assert path.read_text() == "export default () => {}\n"


@pytest.mark.parametrize("client", FILES)
def test_a_plugin_of_another_version_or_installation_is_told_and_replaced(client: str, own_home: Path) -> None:
    condense("install", client, "--yes")
    path = own_home / FILES[client][0]
    wanted = path.read_text()
    path.write_text(wanted + "// more\n")
    assert "of another version" in condense("install", client, "--status").text
    path.write_text(wanted.replace(json.dumps(program()), '["/gone/condense"]'))
    assert "a program that is not there: /gone/condense" in condense("install", client, "--status").text
    condense("install", client, "--yes")
    assert path.read_text() == wanted
    path.write_text(wanted.replace("const PROGRAM = ", "const PROGRAM = oops"))
    ran = condense("install", client, "--status")
    assert (ran.status, "of another version" in ran.text) == (1, True)


def given(client: str) -> dict[str, Any]:
    if client == "pi":
        return {"entries": [json.loads(line) for line in pi().splitlines()], "window": 200_000}
    found = json.loads(opencode())
    return {"info": found["info"], "messages": found["messages"], "window": None}


def answer(client: str, value: dict[str, Any]) -> Earlier:
    ran = condense_process("hook", client, "compact", stdin=json.dumps(value).encode())
    held = read_back(ran.stdout.decode())
    assert held is not None, ran.stdout
    return held


@pytest.mark.slow
@pytest.mark.parametrize("client", FILES)
def test_a_plugin_gets_the_text_of_a_compaction(client: str) -> None:
    held = answer(client, given(client))
    assert [entry.path for entry in held.ledger.changed] == ["src/other.py"]


@pytest.mark.slow
def test_the_text_is_as_large_as_a_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = answer("pi", given("pi"))
    monkeypatch.setenv("CONDENSE_COMPACT_TOKENS", "300")
    assert len(answer("pi", given("pi")).lines) < len(whole.lines)


# The plugin of pi leaves it to the model then, and that of opencode gives the user's words.
@pytest.mark.slow
@pytest.mark.parametrize("client", FILES)
def test_what_cannot_be_read_gets_no_answer(client: str) -> None:
    assert condense_process("hook", client, "compact", stdin=b'{"entries": [1], "info": 1}').stdout == b""
    assert [fault["event"] for fault in faults_of(client)] == ["compact"]


def ids_in(session: dict[str, Any]) -> list[str]:
    return re.findall(r"\b(?:ses|msg|prt)_\w+", json.dumps(session))


# Ids keep the time that they begin with, by which opencode sorts.
def test_a_smaller_copy_is_a_session_of_its_own() -> None:
    read = [
        message(2 * n + 2, "assistant", tool(f"call{n}", "\n".join(f"line {k} of file {n}" for k in range(300))))
        for n in range(6)
    ]
    made = json.dumps([message(1, "user", text("Look.")), *read, message(20, "user", text("Go on."))])
    asked = json.loads(re.sub(r"\b(ses|msg|prt)_(?=\d)", r"\1_0123456789abcdefghij", made))
    info = {"id": "ses_0123456789abcdefghij1", "title": "Items", "directory": "/work", "share": {"url": "x"}}
    found = json.loads(hook_work.copy("opencode", {"info": info, "messages": asked, "preset": "speed"}))
    session = found["session"]
    assert re.fullmatch(
        r"condense wrote a smaller copy: [\d,]+ → [\d,]+ tokens. This session stays as it is.", found["said"]
    )
    assert session["info"] == {"id": session["info"]["id"], "title": "Items (condensed)", "directory": "/work"}
    assert session["info"]["id"].startswith("ses_0123456789abc")
    assert set(ids_in(session)).isdisjoint(ids_in({"info": info, "messages": asked}))
    again = json.loads(hook_work.copy("opencode", {**session, "preset": "speed"}))
    assert again["why"] == "Nothing in this session would get smaller, so no copy was written."
    unknown = json.loads(hook_work.copy("opencode", {"info": info, "messages": asked, "preset": "no-such-preset"}))
    assert "no-such-preset" in unknown["why"]
