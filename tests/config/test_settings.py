"""Settings from flags, variables, the project's file and the user's own: which hold, where from, what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers import CUT, as_lines, condense_process, condensed, session

from condense_cli.config.effective import configuration_schema
from condense_cli.config.loading import PACKAGED, Layer, load_preset, parse_with_positions
from condense_cli.config.overrides import Settings, settle
from condense_cli.config.own import keys, read_variables, variable_of
from condense_cli.config.preset_folders import find_project_file
from condense_cli.errors import ConfigurationError, ExitStatus

PASS = "passes: [{id: mine, selection: {type: custom}, individual_config: {defaults: {}}}]\n"


def settled(*texts: str, variables: Mapping[str, str] | None = None, **named: Layer) -> Settings:
    """Settings of files, the lowest first, then of variables, then of what a flag names."""
    files: list[Layer | None] = [parse_with_positions(text, f"{number}.yaml") for number, text in enumerate(texts)]
    layers = [*files, read_variables(variables or {}, PACKAGED), *named.values()]
    whole = next(iter(named.values()), None)
    return settle([layer for layer in layers if layer is not None], whole)


def value(settings: Settings, key: str) -> tuple[Any, str | None]:
    return getattr(settings.configuration, key), settings.origin((key,))


def test_without_any_file_the_default_preset_runs() -> None:
    settings = settled()
    assert settings.configuration == load_preset("balanced")
    assert settings.name == "balanced"
    assert not settings.has_own_target


def test_a_higher_layer_holds_key_by_key() -> None:
    settings = settled(
        "target_tokens: 1000\nmin_saving: 5\nkeep_first: 2\n",
        "target_tokens: 2000\nmin_saving: 6\n",
        variables={"CONDENSE_TARGET_TOKENS": "3000"},
    )
    assert value(settings, "target_tokens") == (3000, "CONDENSE_TARGET_TOKENS")
    assert value(settings, "min_saving") == (6, "1.yaml:2")
    assert value(settings, "keep_first") == (2, "0.yaml:3")
    assert value(settings, "passes") == (load_preset("balanced").passes, "preset balanced")
    assert value(settings, "thinking") == ("auto", None)


def test_what_a_run_does_comes_from_one_place_as_a_whole() -> None:
    settings = settled("preset: speed\nmin_saving: 9\n", PASS)
    assert [config.id for config in settings.configuration.passes] == ["mine"]
    assert not settings.configuration.lossless_prelude.enabled, "the prelude of another configuration"
    assert settings.configuration.min_saving == 9


def test_a_file_may_change_a_preset_that_it_names() -> None:
    settings = settled("preset: speed\nlossless_prelude: {enabled: false}\n")
    assert settings.configuration.passes == load_preset("speed").passes
    assert not settings.configuration.lossless_prelude.enabled
    assert value(settings, "passes")[1] == "preset speed"
    assert settings.origin(("lossless_prelude", "enabled")) == "0.yaml:2"
    assert settings.name == "speed with 0.yaml"


def test_a_file_that_a_flag_names_is_whole_even_where_it_says_nothing() -> None:
    settings = settled("preset: speed\npins: [{regex: x}]\n", config=parse_with_positions("min_saving: 2", "c.yaml"))
    assert settings.configuration.passes == ()
    assert settings.configuration.pins, "what the file says nothing about is taken from below"
    assert settings.name == "c.yaml with 0.yaml"


def test_a_preset_that_a_flag_names_holds_over_passes_and_under_nothing() -> None:
    settings = settled(PASS + "target_tokens: 77\n", preset=PACKAGED.named("quality"))
    assert settings.configuration.passes == load_preset("quality").passes
    assert value(settings, "target_tokens") == (77, "0.yaml:2")


@pytest.mark.parametrize(
    ("lower", "higher", "expected"),
    [
        ("target_tokens: 5", "target_reduction_percent: 40", (None, 40)),
        ("target_reduction_percent: 40", "target_tokens: 5", (5, None)),
    ],
)
def test_one_target_takes_the_place_of_the_other(
    lower: str, higher: str, expected: tuple[int | None, float | None], tmp_path: Path
) -> None:
    def targets(settings: Settings) -> tuple[int | None, float | None]:
        return settings.configuration.target_tokens, settings.configuration.target_reduction_percent

    assert targets(settled(lower, higher)) == expected
    (tmp_path / "base.yaml").write_text(lower)
    assert targets(settled(f"preset: {tmp_path}/base.yaml\n{higher}")) == expected


@pytest.mark.parametrize(
    ("texts", "is_own"),
    [
        (("target_tokens: 5",), True),
        (("preset: cost\ntarget_tokens: 5",), True),
        ((PASS + "target_tokens: 5",), False),
        (("target_tokens: 5", PASS), True),
        ((PASS,), False),
    ],
)
def test_passes_stop_at_a_target_that_is_not_their_own(texts: tuple[str, ...], is_own: bool) -> None:
    assert settled(*texts).has_own_target is is_own


def test_a_preset_of_a_file_must_name_none_itself(tmp_path: Path) -> None:
    loop = tmp_path / "loop.yaml"
    loop.write_text(f"# around\npreset: {loop}\n")
    with pytest.raises(ConfigurationError, match=r"loop.yaml:2:1: .* cannot name one itself"):
        parse_with_positions(loop.read_text(), str(loop))


@pytest.mark.parametrize("preset", ["/dev/zero", "./gone.yaml", "."])
def test_a_preset_of_a_file_must_be_a_file(preset: str) -> None:
    with pytest.raises(ConfigurationError, match=r"p\.yaml:1:1: "):
        parse_with_positions(f"preset: {preset}\n", "p.yaml")


def test_an_unknown_preset_is_named_with_its_line() -> None:
    with pytest.raises(ConfigurationError, match=r"p\.yaml:2:1: There is no preset named 'sped'") as caught:
        parse_with_positions("keep_first: 1\npreset: sped\n", "p.yaml")
    assert "speed" in caught.value.hint


def test_every_key_that_one_word_can_say_has_a_variable() -> None:
    properties = configuration_schema()["$defs"]["FileConfiguration"]["properties"]
    plain = {key for key, schema in properties.items() if not {"object", "array", None} & _types(schema)}
    assert set(keys()) == plain - {"name", "description"}


def _types(schema: dict[str, Any]) -> set[str | None]:
    """The types of JSON that a schema takes; None where it refers to another one."""
    if "enum" in schema:
        return {"string"}
    return set().union(*map(_types, schema["anyOf"])) if "anyOf" in schema else {schema.get("type")}


def test_no_variable_permits_calls() -> None:
    assert not [key for key in keys() if "allow" in key or "url" in key or "key_" in key]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("CONDENSE_TARGET_TOKENS", "many", "CONDENSE_TARGET_TOKENS: expected a whole number, not 'many'"),
        ("CONDENSE_KEEP_FIRST", "-1", "CONDENSE_KEEP_FIRST: expected a whole number of at least 0, not '-1'"),
        ("CONDENSE_THINKING", "never", "CONDENSE_THINKING: 'never' is not one of auto, drop, keep"),
        ("CONDENSE_AUTO_CONDENSE_CONTEXT", "perhaps", "expected true or false, not 'perhaps'"),
        ("CONDENSE_AUTO_CONDENSE_CONTEXT_PERCENT", "4", "expected a number of at least 5.0, not '4'"),
        ("CONDENSE_PRESET", "sped", "no preset named 'sped'"),
    ],
)
def test_a_variable_that_says_nothing_possible_is_refused(name: str, text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_variables({name: text}, PACKAGED)
    assert expected in caught.value.message


def test_an_empty_variable_says_nothing() -> None:
    assert read_variables({variable_of(key): " " for key in keys()}, PACKAGED) is None


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src" / "deep").mkdir(parents=True)
    return tmp_path / "shop"


def found(folder: Path, home: Path = Path("/nowhere"), own: Path = Path("/none")) -> Path | None:
    return find_project_file(folder, home, own)


def test_the_nearest_file_up_to_the_root_of_the_repository(repository: Path) -> None:
    deep = repository / "src" / "deep"
    (repository.parent / "condense.yaml").touch()
    assert found(deep) is None, "it is outside the repository"
    (repository / "condense.yaml").touch()
    assert found(deep) == found(repository) == repository / "condense.yaml"
    (deep / "condense.yaml").touch()
    assert found(deep) == deep / "condense.yaml"


def test_without_a_repository_up_to_the_home_and_never_outside(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "notes").mkdir(parents=True)
    (tmp_path / "condense.yaml").touch()
    assert found(home / "notes", home) is None
    assert found(tmp_path, home) is None, "anybody could have left it there"
    (home / "condense.yaml").touch()
    assert found(home / "notes", home) == home / "condense.yaml"


def test_links_on_the_way_change_nothing(tmp_path: Path) -> None:
    real = tmp_path / "data" / "home"
    (real / "notes").mkdir(parents=True)
    (real / "condense.yaml").touch()
    (tmp_path / "home").symlink_to(real)
    assert found(real / "notes", tmp_path / "home") == real / "condense.yaml"


def test_the_users_own_file_is_no_projects(repository: Path) -> None:
    own = repository / "src" / "condense.yaml"
    own.touch()
    assert found(own.parent, own=own) is None


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file; a folder for it is there."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    (tmp_path / "settings" / "condense").mkdir(parents=True)
    return tmp_path / "settings" / "condense" / "condense.yaml"


def test_show_says_where_each_value_is_from(repository: Path, own: Path) -> None:
    own.write_text("keep_first: 3\nmin_saving: 4\nprofile: gpt-4o-mini\n")
    (repository / "condense.yaml").write_text("preset: quality\nmin_saving: 50\n")
    done = condense_process(
        "config", "show", "--json", "--target-tokens", "9", cwd=repository / "src", env={"CONDENSE_THINKING": "drop"}
    )
    shown = json.loads(done.stdout)
    assert shown["name"] == f"quality with ../condense.yaml, {own}, CONDENSE_* variables"
    origins = shown["origins"]
    assert origins["target_tokens"] == "--target-tokens"
    assert origins["thinking"] == "CONDENSE_THINKING"
    assert origins["min_saving"] == "../condense.yaml:2"
    assert origins["keep_first"] == f"{own}:1"
    assert origins["profile"] == f"{own}:3"
    assert origins["passes[0].id"] == "preset quality"
    assert origins["fallback"] == "default"


def test_run_uses_the_projects_file_and_says_so(repository: Path) -> None:
    (repository / "condense.yaml").write_text("preset: speed\n")
    data = as_lines(session())
    done = condense_process("run", "-", stdin=data, cwd=repository)
    assert done.stdout == condensed(data, CUT)
    assert done.stderr.splitlines()[0].endswith(", speed")
    ignored = condense_process("run", "-", "--no-config", stdin=data, cwd=repository)
    assert "messages, balanced\n" in ignored.stderr


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", [["config", "show"], ["run", "-"], ["check", "-"]])
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("keep_first: 1\nprofiles: {spy: {api: openai, model: m, base_url: 'http://spy.example/v1'}}\n", "profiles"),
        ("keep_first: 1\nallow_calls: true\n", "allow_calls"),
        ("keep_first: 1\nallowCalls: true\n", "allowCalls"),
        ("keep_first: 1\nbase_url: http://spy.example/v1\n", "base_url"),
        ("keep_first: 1\nkey_variable: OPENAI_API_KEY\n", "key_variable"),
    ],
)
def test_a_project_cannot_say_where_transcripts_go(repository: Path, command: list[str], text: str, key: str) -> None:
    (repository / "condense.yaml").write_text(text)
    done = condense_process(*command, stdin=as_lines(session()), cwd=repository)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert f"condense.yaml:2:1: the key '{key}' belongs in your own configuration only" in done.stderr


def test_a_preset_that_a_project_names_cannot_either(repository: Path) -> None:
    (repository / "condense.yaml").write_text("preset: ./spy.yaml\n")
    (repository / "spy.yaml").write_text("allow_calls: true\n")
    done = condense_process("config", "show", cwd=repository)
    assert done.status == ExitStatus.USAGE
    assert "spy.yaml:1:1: the key 'allow_calls' belongs in your own configuration only" in done.stderr


def test_a_link_that_leads_nowhere_is_an_error(repository: Path) -> None:
    (repository / "condense.yaml").symlink_to(repository / "gone.yaml")
    done = condense_process("config", "show", cwd=repository)
    assert done.status == ExitStatus.USAGE
    assert "Cannot read the configuration condense.yaml" in done.stderr


# A folder that is gone has no project file, and a pipe needs none.
def test_a_run_in_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    data = as_lines(session())
    done = condense_process("run", "-", "-p", "speed", stdin=data, cwd=gone, before_start=gone.rmdir)
    assert done.stdout == condensed(data, CUT)


# The functions of the package read no settings: what a program gets must not depend on the folder it runs in.
def test_the_api_reads_no_files(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from condense_cli import api

    (repository / "condense.yaml").write_text("allow_calls: true\n")
    monkeypatch.chdir(repository)
    monkeypatch.setenv("CONDENSE_PRESET", "nothing of that name")
    assert api.condense(api.loads(session()), target_tokens=2_000).changes
