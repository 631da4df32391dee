"""`condense profiles` and `condense cache`, as processes of their own."""

import json
import re
from pathlib import Path
from typing import Any

import model_server as played
import pytest
from helpers import condense_process
from model_server import model_server

from condense_cli.config.profiles import BUILT_IN
from condense_cli.errors import ExitStatus
from condense_cli.llm.cache import Cache, Stored


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own configuration file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "condense").mkdir()
    return tmp_path / "condense" / "condense.yaml"


def local(url: str, more: str = "") -> str:
    return (
        "profiles:\n  local: {api: openai, model: small, base_url: '" + url + "/v1', context_window: 9000,"
        " max_retries: 0, price: {input: 1, output: 10}" + more + "}\n"
    )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_list_names_every_profile(own: Path, arguments: list[str]) -> None:
    own.write_text("profile: local\n" + local("http://localhost:1"))
    done = condense_process("profiles", *arguments, env={"COLUMNS": "120"})
    assert done.status == ExitStatus.DONE
    for name in [*BUILT_IN, "local (main)"]:
        assert f"\n{name} " in done.text
    assert re.search(r"(?m)^local \(main\) +small +localhost ", done.text)
    assert "no OPENAI_API_KEY" in done.text
    assert "Calls need --profile or --allow-calls" in " ".join(done.text.split())


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["80", "120"])
def test_names_of_models_are_whole(own: Path, columns: str) -> None:
    done = condense_process("profiles", env={"COLUMNS": columns})
    models = {profile.model for profile in BUILT_IN.values() if profile.model}
    assert models <= set(done.text.split())
    assert ("api.anthropic.com" in done.text) == (columns == "120")


def test_prices_and_windows_are_whole_where_there_is_little_room(own: Path) -> None:
    head, *rows = condense_process("profiles", env={"COLUMNS": "60"}).text.splitlines()
    assert head.split() == ["profile", "key", "$", "in", "$", "out", "window"]
    assert ["5", "25", "1,000,000"] in [row.split()[-3:] for row in rows]


def test_what_costs_nothing_has_a_price(own: Path) -> None:
    own.write_text(local("http://localhost:1").replace("{input: 1, output: 10}", "{input: 0, output: 0}"))
    assert re.search(r"(?m)^local .* 0 +0 +9,000$", condense_process("profiles", env={"COLUMNS": "120"}).text)


def test_the_list_as_json(own: Path) -> None:
    own.write_text("allow_calls: true\n" + local("http://localhost:1"))
    done = condense_process("profiles", "list", "--json", env={"OPENAI_API_KEY": "top-secret"})
    listed = json.loads(done.text)
    assert listed["version"] == 1
    assert listed["allow_calls"] is True
    assert listed["configuration"] == str(own)
    found: dict[str, Any] = {entry["name"]: entry for entry in listed["profiles"]}
    assert found["gpt-4o-mini"]["ready"] is True
    assert found["claude-opus-5"]["ready"] is False
    assert found["gpt-4o-mini"]["price"]["input"] == 0.15
    assert found["local"]["price"] == {"input": 1, "output": 10, "cache_read": None, "cache_write": None}
    assert (found["local"]["key"], found["local"]["ready"]) == (None, True)
    assert found["local"]["origin"] == f"{own}:3"
    assert "top-secret" not in done.text


def test_show(own: Path) -> None:
    own.write_text(local("http://localhost:1"))
    done = condense_process("profiles", "show", "local")
    assert done.status == ExitStatus.DONE
    assert "model: small\n" in done.text
    assert "price.output: $10 per million tokens\n" in done.text
    assert "price.cache_read: unknown\n" in done.text
    shown = json.loads(condense_process("profiles", "show", "local", "--json").text)
    assert shown["profile"]["context_window"] == 9000


@pytest.mark.slow
def test_a_test_that_succeeds(own: Path) -> None:
    with model_server(played.good("ready")) as server:
        own.write_text(local(server.url))
        done = condense_process("profiles", "test", "local")
        report = json.loads(condense_process("profiles", "test", "local", "--json").text)["test"]
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert done.text.startswith("local: ready (")
    assert done.text.endswith(" s, 1,020 tokens, cost $0.0012)\n")
    assert (report["ok"], report["tokens"], report["cost"]) == (True, 1020, 0.0012)
    assert report["seconds"] > 0
    assert server.calls == 2, "a test is never answered from the cache"


@pytest.mark.slow
def test_a_test_that_fails(own: Path) -> None:
    with model_server(played.status(401, "authentication_error")) as server:
        own.write_text(local(server.url, ", key_variable: MY_KEY"))
        done = condense_process("profiles", "test", "local", env={"MY_KEY": "top-secret"})
        reported = condense_process("profiles", "test", "local", "--json", env={"MY_KEY": "top-secret"})
    assert (done.status, done.text) == (ExitStatus.CALLS_FAILED, "")
    assert "refused the key of the profile local" in done.stderr
    assert "MY_KEY" in done.stderr
    report = json.loads(reported.text)["test"]
    assert (reported.status, report["ok"], report["reason"]) == (ExitStatus.CALLS_FAILED, False, "unauthorised")
    assert "top-secret" not in done.stderr + reported.text


def test_a_test_without_a_key_calls_nothing(own: Path) -> None:
    done = condense_process("profiles", "test", "gpt-4o-mini")
    assert done.status == ExitStatus.CALLS_FAILED
    assert "OPENAI_API_KEY is not set" in done.stderr


def test_offline_needs_no_test() -> None:
    assert condense_process("profiles", "test", "offline").status == ExitStatus.DONE


@pytest.mark.parametrize("command", ["show", "test"])
def test_an_unknown_profile(command: str) -> None:
    done = condense_process("profiles", command, "gpt-4o-mni")
    assert (done.status, done.text) == (ExitStatus.USAGE, "")
    assert "Did you mean gpt-4o-mini?" in done.stderr


def test_a_mistake_in_the_users_configuration(own: Path) -> None:
    own.write_text("profiles:\n  local: {api: openai, modle: x}\n")
    done = condense_process("profiles")
    assert done.status == ExitStatus.USAGE
    assert f"{own}:2:24: unknown key 'modle'" in done.stderr


def test_the_users_configuration_is_checked_as_what_it_is(own: Path) -> None:
    own.write_text(local("http://localhost:1"))
    done = condense_process("config", "validate", str(own))
    assert (done.status, done.text) == (ExitStatus.DONE, f"{own}: valid, your own configuration\n")


@pytest.mark.slow
def test_the_cache(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    path = tmp_path / "condense" / "summaries.sqlite3"
    assert condense_process("cache", "info", env=env).text == f"{path}: 0 answers, 0 bytes\n"
    assert not path.exists()
    cache = Cache(path)
    cache.put(b"key", Stored("an answer"))
    cache.close()
    report = json.loads(condense_process("cache", "info", "--json", env=env).text)
    assert (report["version"], report["path"], report["answers"], report["refused"]) == (1, str(path), 1, 0)
    assert condense_process("cache", "clear", env=env).text == "Cleared: 1 answer\n"
    assert json.loads(condense_process("cache", "info", "--json", env=env).text)["answers"] == 0
