"""`condense presets`: listing, showing, and writing a configuration to begin with."""

import json
import re
from pathlib import Path

import pytest
from helpers import condense, condense_on_terminal, condense_process
from real import PROJECT

from condense_cli.config.loading import load_preset, parse_configuration
from condense_cli.config.preset_folders import DEFAULT_PRESET, preset_names, presets_folder
from condense_cli.config.starter import STARTER, starter
from condense_cli.errors import ExitStatus


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_list_names_every_preset_with_its_description(arguments: list[str]) -> None:
    done = condense_process("presets", *arguments)
    assert done.status == ExitStatus.DONE
    printed = " ".join(done.stdout.decode().split())
    for name in preset_names():
        shown = f"{name} (default)" if name == DEFAULT_PRESET else name
        assert f"{shown} {load_preset(name).description}" in printed


def test_the_list_as_json() -> None:
    done = condense_process("presets", "list", "--json")
    listed = json.loads(done.stdout)
    assert listed["version"] == 1
    assert [entry["name"] for entry in listed["presets"]] == preset_names()
    assert [entry["name"] for entry in listed["presets"] if entry["default"]] == [DEFAULT_PRESET]
    assert all(entry["description"] for entry in listed["presets"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", preset_names())
def test_show_prints_the_file_as_it_is(name: str) -> None:
    done = condense_process("presets", "show", name)
    assert (done.status, done.stdout) == (ExitStatus.DONE, (presets_folder() / f"{name}.yaml").read_bytes())


@pytest.mark.parametrize("name", preset_names())
def test_show_as_json(name: str) -> None:
    shown = condense("presets", "show", name, "--json").json
    listed = {entry["name"]: entry for entry in condense("presets", "list", "--json").json["presets"]}
    assert (shown["version"], shown["preset"]) == (1, listed[name])
    assert parse_configuration(json.dumps(shown["configuration"])) == load_preset(name)


def test_show_as_json_of_what_is_no_preset(tmp_path: Path) -> None:
    assert condense("presets", "show", "presets/speed.yaml", "--json").status == ExitStatus.USAGE
    broken = tmp_path / "condense" / "presets" / "broken.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_text("passes: 3\n")
    done = condense("presets", "show", "broken", "--json", env={"XDG_CONFIG_HOME": str(tmp_path)})
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "broken.yaml:1:1: expected a list" in done.stderr


# What is written works as it is, or is not written.
@pytest.mark.parametrize("target", ["new.yaml", "new.json", "-"])
@pytest.mark.parametrize("data", ["description: grüße".encode("latin-1"), b"passes: 3\n", b"- 1\n"], ids=str)
def test_new_from_a_broken_preset_is_refused(tmp_path: Path, target: str, data: bytes) -> None:
    broken = tmp_path / "condense" / "presets" / "broken.yaml"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(data)
    env = {"XDG_CONFIG_HOME": str(tmp_path)}
    done = condense("presets", "new", target, "--from", "broken", env=env, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "broken.yaml" in done.message
    assert not (tmp_path / target).exists()


def test_show_on_a_terminal() -> None:
    done = condense_on_terminal("presets", "show", "speed")
    assert done.stdout == (presets_folder() / "speed.yaml").read_bytes()


# A path is no preset: what anybody's file holds is not printed.
@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["sped", "speed.yaml", "../presets/speed", "presets/speed.yaml", ""])
def test_show_of_an_unknown_preset(name: str) -> None:
    done = condense_process("presets", "show", name)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "There is no preset named" in done.stderr
    assert "balanced, cost, lossless, max, quality, speed" in done.stderr


def test_new_writes_a_configuration_that_is_valid(tmp_path: Path) -> None:
    done = condense_process("presets", "new", cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.DONE, b"")
    assert "condense.yaml" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["condense.yaml"]
    checked = condense_process("config", "validate", tmp_path / "condense.yaml")
    assert (checked.status, checked.stderr) == (ExitStatus.DONE, "")


def test_new_refuses_to_write_over_a_file_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("precious")
    done = condense_process("presets", "new", path)
    assert done.status == ExitStatus.USAGE
    assert "--force" in done.stderr
    assert path.read_text() == "precious"
    assert condense_process("presets", "new", path, "--force").status == ExitStatus.DONE
    assert parse_configuration(path.read_text()) == parse_configuration(STARTER)


def test_new_names_the_file_in_its_comments(tmp_path: Path) -> None:
    """As the shell takes it."""
    for name, spelled in (("mine.yaml", "mine.yaml"), ("my own.yml", "'my own.yml'")):
        done = condense_process("presets", "new", name, cwd=tmp_path)
        assert f"--config {spelled}\n" in done.stderr
        text = (tmp_path / name).read_text()
        assert f" condense config validate {spelled}\n" in text
        assert f" --config {spelled}\n" in text
        assert "condense.yaml" not in text


@pytest.mark.parametrize("name", ["a\nb: 1.yaml", "a\x07b.yaml", "a\udcffb.yaml", "a\u2028name: x.yaml"])
def test_new_in_a_file_with_an_odd_name_is_valid(name: str) -> None:
    assert parse_configuration(starter(file=name)) == parse_configuration(STARTER)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [None, *preset_names()])
def test_new_json_is_json_and_the_same_configuration(name: str | None, tmp_path: Path) -> None:
    path = tmp_path / "mine.JSON"
    done = condense_process("presets", "new", path, *(("--from", name) if name else ()))
    assert done.status == ExitStatus.DONE
    assert isinstance(json.loads(path.read_text()), dict)
    expected = load_preset(name) if name else parse_configuration(STARTER)
    assert parse_configuration(path.read_text()) == expected


def test_new_refuses_a_link_that_leads_nowhere(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.symlink_to(tmp_path / "elsewhere.yaml")
    assert condense_process("presets", "new", path).status == ExitStatus.USAGE
    assert not (tmp_path / "elsewhere.yaml").exists()


def test_new_with_a_hyphen_prints_it(tmp_path: Path) -> None:
    done = condense_process("presets", "new", "-", cwd=tmp_path)
    assert (done.status, done.stdout.decode(), done.stderr) == (ExitStatus.DONE, STARTER, "")
    assert not list(tmp_path.iterdir())


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", preset_names())
def test_new_from_a_preset_is_that_preset(name: str) -> None:
    done = condense_process("presets", "new", "-", "--from", name)
    text = done.stdout.decode()
    assert text.startswith("# ")
    assert name in text.splitlines()[0]
    assert parse_configuration(text) == load_preset(name)


def test_new_from_an_unknown_preset_writes_nothing(tmp_path: Path) -> None:
    done = condense_process("presets", "new", "x.yaml", "--from", "qualty", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "Did you mean quality?" in done.stderr
    assert not list(tmp_path.iterdir())


def test_new_into_a_folder_that_is_not_there(tmp_path: Path) -> None:
    done = condense_process("presets", "new", tmp_path / "no" / "x.yaml")
    assert done.status == ExitStatus.FAILED
    assert "Cannot write" in done.stderr


# What the comments offer works too: without its `#` every key is valid, all of them together.
def test_every_key_in_the_comments_is_valid() -> None:
    begun = parse_configuration(starter())
    text = re.sub(r"(?m)^#(?! )|^#(?= +(?:- [\{\"]|\w+: ))(?! +condense )", "", STARTER)
    assert text != STARTER
    uncommented = parse_configuration(text)
    assert begun.target_tokens is None
    assert uncommented.target_tokens == 60_000
    assert len(uncommented.keep) == len(begun.keep) + 2
    assert uncommented.passes[1].selection.superseded
    assert uncommented.passes[2].stop_at_target


@pytest.mark.slow
def test_a_run_takes_the_new_configuration(tmp_path: Path) -> None:
    sample = PROJECT / "sample_transcripts" / "bugfix-session.jsonl"
    condense_process("presets", "new", "mine.yaml", cwd=tmp_path)
    done = condense_process("run", sample, "-c", "mine.yaml", "--json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert report["tokens"]["saved_percent"] > 30
    assert not report["warnings"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a preset of its own, and one that stands in front of the package's `speed`."""
    presets = tmp_path / "project" / ".condense" / "presets"
    presets.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (presets / "ours.yaml").write_text("description: What this team uses.\n" + PASSES)
    (presets / "speed.json").write_text(json.dumps({"description": "Our own speed.", "lossless_prelude": {}}))
    below = tmp_path / "project" / "src" / "deep"
    below.mkdir(parents=True)
    return below


PASSES = """
passes:
  - id: all
    selection: {type: preserve_recent, keep_recent_count: 2}
    individual_config: {defaults: {tool_results: {operation: suppress}}}
"""


def listed(cwd: Path, **env: str) -> dict[str, dict[str, str]]:
    done = condense_process("presets", "list", "--json", cwd=cwd, env=env)
    return {entry["name"]: entry for entry in json.loads(done.stdout)["presets"]}


# The project's presets go before the user's, and these before the package's.
def test_presets_of_the_project_and_of_the_user(project: Path, tmp_path: Path) -> None:
    own = tmp_path / "config" / "condense" / "presets"
    own.mkdir(parents=True)
    (own / "mine.yaml").write_text("description: My own.\n" + PASSES)
    (own / "ours.yaml").write_text("description: Never seen here.\n" + PASSES)
    found = listed(project, XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert {"cost", "mine", "ours", "quality", "speed"} <= found.keys()
    assert found["ours"]["description"] == "What this team uses."
    assert found["speed"]["description"] == "Our own speed."
    assert found["mine"]["folder"] == str(own)
    assert found["cost"]["folder"] is None


@pytest.mark.slow
def test_a_preset_of_the_project_runs_by_its_name(project: Path) -> None:
    sample = PROJECT / "sample_transcripts" / "bugfix-messages.jsonl"
    done = condense_process("run", sample, "--preset", "ours", "--json", cwd=project)
    report = json.loads(done.stdout)
    assert report["configuration"] == "ours"
    assert report["tokens"]["saved"] > 0
    assert "ours" in condense_process("estimate", sample, "ours", cwd=project).stdout.decode()
    assert b"What this team uses." in condense_process("presets", "show", "ours", cwd=project).stdout


# What the Python API does depends on nothing that it is not given.
def test_the_api_knows_the_presets_of_the_package_alone(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    assert "ours" not in preset_names()
    assert load_preset("speed").passes


# A folder that anybody may write to is not looked into.
def test_presets_outside_of_repository_and_home_are_not_found(project: Path) -> None:
    (project.parent.parent / ".git").rmdir()
    assert "ours" not in listed(project)


def test_a_broken_preset_hides_no_other(project: Path) -> None:
    (project.parent.parent / ".condense" / "presets" / "bad.yaml").write_text("passess: []\n")
    found = listed(project)
    assert found["bad"]["description"].startswith("Broken: ")
    assert found["ours"]["description"] == "What this team uses."


def test_a_file_of_settings_may_name_a_preset_of_the_project(project: Path) -> None:
    (project.parent.parent / "condense.yaml").write_text("preset: ours\n")
    done = condense_process("run", PROJECT / "sample_transcripts" / "bugfix-messages.jsonl", "--json", cwd=project)
    assert "ours" in json.loads(done.stdout)["configuration"]


def test_new_writes_what_the_name_says_or_nothing(tmp_path: Path) -> None:
    done = condense_process("presets", "new", "mine.toml", cwd=tmp_path)
    assert done.status == ExitStatus.USAGE
    assert "mine.toml: a configuration is YAML or JSON." in done.message
    assert not list(tmp_path.iterdir())
