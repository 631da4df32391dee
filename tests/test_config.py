"""Configuration files: what they may say, in both spellings, and how they are refused."""

from __future__ import annotations

import json
import re
import resource
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from configurations import EVERY_KEY, EVERY_PHASE
from helpers import as_lines, condense_process, session

from condense_cli.config import models, phases
from condense_cli.config.loading import load_with_positions, parse_configuration
from condense_cli.config.models import Configuration
from condense_cli.config.presets import load_preset, preset_names, presets_folder
from condense_cli.errors import ConfigurationError, ExitStatus

# --- Documents of the sources, as JSON with their camelCase keys -----------------------------------------------------

ALL_TRUE = {"deduplicateFileReads": True, "consolidateToolResults": True, "removeObsoleteState": True}
KEEP = {"operation": "keep"}
SUPPRESS = {"operation": "suppress"}
ALWAYS = {"type": "always"}


def _recent(count: int) -> dict[str, Any]:
    return {"type": "preserve_recent", "keepRecentCount": count}


def _percent(percentage: int) -> dict[str, Any]:
    return {"type": "preserve_percent", "keepPercentage": percentage}


def _above(tokens: int) -> dict[str, Any]:
    return {"type": "conditional", "condition": {"tokenThreshold": tokens}}


def _lines(count: int) -> dict[str, Any]:
    return {"operation": "truncate", "params": {"truncate": {"maxLines": count}}}


def _chars(count: int) -> dict[str, Any]:
    return {"operation": "truncate", "params": {"truncate": {"maxChars": count}}}


def _summary(tokens: int) -> dict[str, Any]:
    summarize = {"apiProfile": "gpt-4o-mini", "maxTokens": tokens}
    return {"operation": "summarize", "params": {"summarize": summarize}}


def _individual(
    id: str, name: str, selection: object, parameters: object, results: object, execution: object
) -> dict[str, Any]:
    defaults = {"messageText": KEEP, "toolParameters": parameters, "toolResults": results}
    return {
        "id": id,
        "name": name,
        "selection": selection,
        "mode": "individual",
        "individualConfig": {"defaults": defaults},
        "execution": execution,
    }


def _batch(id: str, name: str, selection: object, execution: object) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "selection": selection,
        "mode": "batch",
        "batchConfig": {
            "operation": "summarize",
            "summarizationConfig": {"apiProfile": "gpt-4o-mini", "keepFirst": 1, "keepLast": 5},
        },
        "execution": execution,
    }


DOCUMENTS: dict[str, dict[str, Any]] = {
    # Section 3.2, examples 1 to 3.
    "examples/progressive-truncation.yaml": {
        "losslessPrelude": {"enabled": True, "operations": ALL_TRUE},
        "passes": [
            _individual("pass-1", "Aggressive Tool Result Truncation", _recent(5), KEEP, _lines(5), ALWAYS),
            _individual("pass-2", "Fallback: Suppress Old Results", _recent(10), KEEP, SUPPRESS, _above(50000)),
        ],
    },
    "examples/truncate-then-summarize.yaml": {
        "losslessPrelude": {"enabled": True},
        "passes": [
            _individual("pass-1", "Mechanical Truncation", _recent(5), _chars(100), _lines(5), ALWAYS),
            _individual("pass-2", "LLM Summarization", _recent(10), KEEP, _summary(100), _above(40000)),
            _batch("pass-3", "Batch Summarization Fallback", _percent(50), _above(30000)),
        ],
    },
    "examples/zones.yaml": {
        "losslessPrelude": {"enabled": True},
        "passes": [
            _individual("zone-1", "Ancient History - Suppress Results", _recent(50), SUPPRESS, SUPPRESS, ALWAYS),
            _individual("zone-2", "Old Context - Truncate", _recent(30), _chars(200), _lines(10), ALWAYS),
            _individual("zone-3", "Recent Context - Preserve", _recent(10), KEEP, KEEP, ALWAYS),
        ],
    },
    # Section 6.
    "speed.yaml": {
        "losslessPrelude": {"enabled": True, "operations": ALL_TRUE},
        "passes": [_individual("speed-pass", "Aggressive Truncation", _recent(5), SUPPRESS, _lines(3), ALWAYS)],
    },
    "quality.yaml": {
        "losslessPrelude": {"enabled": True, "operations": ALL_TRUE},
        "passes": [_individual("quality-pass", "LLM Summarization", _recent(10), KEEP, _summary(150), ALWAYS)],
    },
    "cost.yaml": {
        "losslessPrelude": {"enabled": True, "operations": ALL_TRUE},
        "passes": [
            _individual("mechanical", "Free Truncation", _recent(5), SUPPRESS, _lines(5), ALWAYS),
            _batch("fallback-llm", "Minimal LLM Fallback", _percent(30), _above(60000)),
        ],
    },
}


def _unnamed(configuration: Configuration) -> Configuration:
    """What the configuration does where there is no target, without names and descriptions."""
    passes = tuple(
        msgspec.structs.replace(config, name="", description="")
        for config in configuration.passes
        if config.execution.type != "target"
    )
    return msgspec.structs.replace(configuration, name="", description="", passes=passes)


@pytest.mark.parametrize("file", DOCUMENTS)
def test_a_document_of_the_sources_is_the_preset_of_the_same_name(file: str, tmp_path: Path) -> None:
    """Written as JSON with camelCase keys, each configuration of the sources does what the shipped file does."""
    path = tmp_path / "document.json"
    path.write_text(json.dumps(DOCUMENTS[file], indent=2))
    assert _unnamed(load_with_positions(path).configuration) == _unnamed(
        load_with_positions(presets_folder() / file).configuration
    )


# --- Both spellings --------------------------------------------------------------------------------------------------


def _camel(key: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), key)


def _in_camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {_camel(key): _in_camel_case(item) for key, item in value.items()}
    return [_in_camel_case(item) for item in value] if isinstance(value, list) else value


def _keys(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value) | {key for item in value.values() for key in _keys(item)}
    return {key for item in value for key in _keys(item)} if isinstance(value, list) else set()


def test_every_key_is_understood_in_snake_case_and_in_camel_case() -> None:
    """The two spellings of a document that uses every key give the same configuration, and no value is lost."""
    snake = parse_configuration(json.dumps(EVERY_KEY))
    assert snake == parse_configuration(json.dumps(_in_camel_case(EVERY_KEY)))
    assert snake.passes[0].repeat == models.Repeat(max_passes=2, threshold_reduction_factor=0.25)
    assert snake.lossless_prelude.operations.remove_obsolete_state is False
    phased = parse_configuration(json.dumps(EVERY_PHASE))
    assert phased == parse_configuration(json.dumps(_in_camel_case(EVERY_PHASE)))
    assert phased.lossy_phase
    assert phased.lossy_phase.processing_order == ("user_messages", "tool_params")


def test_the_document_with_every_key_is_complete() -> None:
    """A key that is added to the configuration has to be added to the test above too."""
    kinds = [*vars(models).values(), *vars(phases).values()]
    structs = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    known = {field.name for kind in structs for field in msgspec.structs.fields(kind)}
    assert _keys(EVERY_KEY) | _keys(EVERY_PHASE) == known


def test_passes_and_phases_cannot_both_be_given() -> None:
    """Phases become passes: which of both would run is not for the program to guess."""
    with pytest.raises(ConfigurationError, match="passes and phases") as error:
        parse_configuration("passes: [{id: a, selection: {type: custom}, individual_config: {}}]\nllmPhase: {}\n")
    assert "--compiled" in error.value.hint


def test_spellings_can_be_mixed() -> None:
    """One file may use both spellings."""
    configuration = parse_configuration("keepFirst: 3\nmin_saving: 4\n")
    assert (configuration.keep_first, configuration.min_saving) == (3, 4)


@pytest.mark.parametrize("name", ["yaml", "json", "json with tabs", "yaml with a BOM", "yaml with CRLF"])
def test_yaml_and_json_say_the_same(name: str, tmp_path: Path) -> None:
    """Whatever the file is written in, the values are the same."""
    value = {"keep_first": 3, "pins": [{"regex": "TODO\\b"}]}
    texts = {
        "yaml": yaml.safe_dump(value),
        "json": json.dumps(value),
        "json with tabs": json.dumps(value, indent="\t"),
        "yaml with a BOM": "\ufeff" + yaml.safe_dump(value),
        "yaml with CRLF": yaml.safe_dump(value).replace("\n", "\r\n"),
    }
    path = tmp_path / "configuration"
    path.write_bytes(texts[name].encode())
    assert load_with_positions(path).configuration == Configuration(
        keep_first=3, pins=(models.Predicates(regex="TODO\\b"),)
    )


@pytest.mark.parametrize(
    "path", sorted(presets_folder().rglob("*.yaml")), ids=lambda path: str(path.relative_to(presets_folder()))
)
def test_every_shipped_configuration_loads_in_both_spellings(path: Path) -> None:
    """Presets and examples load, do something, and mean the same with camelCase keys."""
    configuration = load_with_positions(path).configuration
    assert configuration.passes or configuration.lossless_prelude.enabled
    assert parse_configuration(json.dumps(_in_camel_case(yaml.safe_load(path.read_text())))) == configuration


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_is_found_by_name_and_says_what_it_does(name: str) -> None:
    """A preset's own name is the one it is called by, and it has a description to list it with."""
    preset = load_preset(name)
    assert preset.name == name
    assert preset.description.endswith(".")


def test_the_documented_presets_are_there() -> None:
    """The three presets of the sources exist."""
    assert {"speed", "quality", "cost"} <= set(preset_names())


def test_aliases_may_reuse_what_stands_elsewhere_in_the_file() -> None:
    """Anchors are a way not to repeat oneself, and work."""
    text = """\
passes:
  - {id: a, selection: &recent {type: preserve_recent, keep_recent_count: 5}, individual_config: {}}
  - {id: b, selection: *recent, individual_config: {}}
"""
    first, second = parse_configuration(text).passes
    assert first.selection == second.selection == models.Selection(type="preserve_recent", keep_recent_count=5)


# --- Refusals --------------------------------------------------------------------------------------------------------

PASS = "passes:\n  - id: a\n    selection: {type: custom}\n"

REFUSED: dict[str, tuple[str, str, str, str]] = {
    # name: (text, pattern of line:column, what the message names, what the hint names)
    "unknown key": ("pases: []\n", "1:1", "'pases'", "Did you mean passes?"),
    "unknown key inside": (
        "keep_first: 1\npasses:\n  - id: a\n    selection:\n      type: custom\n      keep_recent_cuont: 5\n",
        "6:7",
        "passes[0].selection.keep_recent_cuont",
        "Did you mean keep_recent_count?",
    ),
    "unknown key with hyphens": ("keep-first: 1\n", "1:1", "'keep-first'", "Did you mean keep_first?"),
    "unknown key like no other": ("zzz: 1\n", "1:1", "'zzz'", "passes"),
    "unknown key of a predicate": ("pins:\n  - regexp: x\n", "2:5", "pins[0].regexp", "Did you mean regex?"),
    "word for a number": ("target_tokens: many\n", "1:1", "target_tokens", ""),
    "fraction for a count": ("\nkeep_first: 1.5\n", "2:1", "keep_first", ""),
    "truth value for a count": ("keep_first: true\n", "1:1", "keep_first", ""),
    "text for a list": ("passes: none\n", "1:1", "passes", ""),
    "list for a mapping": ("lossless_prelude: [true]\n", "1:1", "lossless_prelude", ""),
    "null for a list": ("passes:\n", "1:1", "passes", ""),
    "null for a pass": ("passes: [null]\n", "1:10", "passes[0]", ""),
    "number for a name": (PASS.replace("id: a", "id: 1"), "2:5", "passes[0].id", ""),
    "zero tokens": ("target_tokens: 0\n", "1:1", "of at least 1", ""),
    "negative count": ("keep_first: -1\n", "1:1", "of at least 0", ""),
    "more than all": ("target_reduction_percent: 120\n", "1:1", "target_reduction_percent", ""),
    "not a number": ("target_reduction_percent: .nan\n", "1:1", "target_reduction_percent", ""),
    "infinite": ("target_reduction_percent: .inf\n", "1:1", "target_reduction_percent", ""),
    "word that is no choice": ("thinking: kep\n", "1:1", "auto, drop, keep", "Did you mean keep?"),
    "selection that does not exist": (
        "passes:\n  - id: a\n    selection: {type: preserve_recnt}\n",
        "3:17",
        "passes[0].selection.type",
        "Did you mean preserve_recent?",
    ),
    "missing id": ("passes:\n  - selection: {type: custom}\n", "2:5", "'id' is missing", ""),
    "missing selection": ("passes:\n  - id: a\n", "2:5", "'selection' is missing", ""),
    "missing individual_config": (PASS, "2:5", "individual_config", ""),
    "missing batch_config": (PASS + "    mode: batch\n", "2:5", "batch_config", ""),
    "missing keep_recent_count": (
        "passes:\n  - id: a\n    selection: {type: preserve_recent}\n    individual_config: {}\n",
        "3:5",
        "keep_recent_count",
        "",
    ),
    "missing keep_percentage": (
        "passes:\n  - id: a\n    selection: {type: preserve_percent}\n    individual_config: {}\n",
        "3:5",
        "keep_percentage",
        "",
    ),
    "condition without a threshold": (
        PASS + "    individual_config: {}\n    execution: {type: conditional}\n",
        "5:5",
        "passes[0].execution",
        "token_threshold",
    ),
    "duplicate key": ("keep_first: 1\nkeep_first: 2\n", "2:1", "twice at keep_first", ""),
    "duplicate key in two spellings": ("keep_first: 1\nkeepFirst: 2\n", "2:1", "twice at keepFirst", ""),
    "duplicate key inside": (PASS + "    id: b\n", "4:5", "twice at passes[0].id", ""),
    "duplicate pass id": (
        PASS + "    individual_config: {}\n  - id: a\n    selection: {type: custom}\n    individual_config: {}\n",
        "5:5",
        "passes[1].id",
        "own id",
    ),
    "truncate without limits": (
        PASS + "    individual_config:\n      defaults:\n        tool_results: {operation: truncate}\n",
        "6:9",
        "passes[0].individual_config.defaults.tool_results",
        "max_lines",
    ),
    "truncate without limits in an override": (
        PASS
        + "    individual_config:\n      overrides:\n        - message_index: 3\n"
        + "          operations: {tool_results: {operation: truncate, params: {truncate: {keep: tail}}}}\n",
        "7:24",
        "passes[0].individual_config.overrides[0].operations.tool_results",
        "max_lines",
    ),
    "bad regular expression": ('pins:\n  - regex: "(["\n', "2:5", "pins[0].regex", ""),
    "bad regular expression in a selection": (
        "passes:\n  - id: a\n    selection: {type: custom, regex: '*'}\n    individual_config: {}\n",
        "3:31",
        "passes[0].selection.regex",
        "",
    ),
    "pin that pins everything": ("pins: [{}]\n", "1:8", "pins[0]", "regex"),
    "a list": ("- keep_first\n", "1:1", "expected a mapping", ""),
    "a word": ("hello\n", "1:1", "expected a mapping", ""),
    "null": ("null\n", "1:1", "expected a mapping", ""),
    "wrong indentation": ("passes:\n  - id: a\n selection: 1\n", "3:2", "not valid", ""),
    "two documents": ("keep_first: 1\n---\nkeep_first: 2\n", "2:1", "document", ""),
    "broken JSON": ('{\n  "keep_first": 1\n  "min_saving": 2\n}\n', r"3:\d+", "not valid", ""),
    "loop of aliases": ("passes: &a\n  - *a\n", "2:5", "names nothing before it", ""),
    "nesting": ('{"passes": ' + "[" * 200 + "]" * 200 + "}", r"1:\d+", "nested too deeply", ""),
}


def _refused(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, "c.yaml")
    assert caught.value.status is ExitStatus.USAGE
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_where_and_what_and_what_instead(name: str) -> None:
    """File, line and column, the path of the key or the fault, and the nearest known key or a remedy."""
    text, position, says, hints = REFUSED[name]
    error = _refused(text)
    assert re.match(rf"c\.yaml:{position}: ", error.message), error.message
    assert says in error.message
    assert hints in error.hint
    assert error.message.endswith(".")


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"], ids=["nothing", "blank lines", "comment"])
def test_an_empty_file_is_refused(text: str) -> None:
    """A configuration without a word in it is a mistake: it would run, change nothing and say all is well."""
    assert _refused(text).message.startswith("c.yaml:1:1: ")


@pytest.mark.parametrize(
    "text",
    ['{"passes": [', '{"keep_first": ', 'name: "never closed\n', '{"name": "never closed'],
    ids=["list", "value", "quotes", "quotes in JSON"],
)
def test_a_file_that_ends_too_early_is_refused_with_a_position(text: str) -> None:
    """The position may be the end of the text or the start of what is open, but it is there."""
    message = _refused(text).message
    position = re.match(r"c\.yaml:(\d+):(\d+): ", message)
    assert position, message
    assert int(position[1]) <= text.count("\n") + 1, "the file has no such line"


@pytest.mark.parametrize("text", ["lossless_prelude:\n\tenabled: true\n", "passes:\n  - id: a\n\tselection: 1\n"])
def test_a_tab_is_named_as_what_is_wrong(text: str) -> None:
    """Nobody sees a tab: the refusal has to say that there is one, and where."""
    error = _refused(text)
    line = text[: text.index("\t")].count("\n") + 1
    assert error.message.startswith(f"c.yaml:{line}:")
    assert "tab" in f"{error.message} {error.hint}".lower()


@pytest.mark.parametrize("character", ["\x00", "\x07", "\x1b"], ids=["NUL", "bell", "escape"])
def test_a_control_character_is_refused_with_a_position(character: str) -> None:
    """What YAML cannot hold is refused like everything else: file, line and column."""
    assert _refused(f"keep_first: 1\nname: a{character}b\n").message.startswith("c.yaml:2:8: ")


CODE = {
    "call": "name: !!python/object/apply:pathlib.Path.touch [{marker}]\n",
    "object": "name: !!python/object:pathlib.Path {{}}\n",
    "new": "name: !!python/object/new:pathlib.Path [{marker}]\n",
    "function": "name: !!python/name:os.system\n",
    "module": "name: !!python/module:antigravity\n",
    "tuple": "passes: !!python/tuple []\n",
    "mapping": "lossless_prelude: !!python/dict {{}}\n",
    "own tag": "name: !secret x\n",
    "own tag on a mapping": "lossless_prelude: !include {{file: /etc/passwd}}\n",
    "on the document": "!!python/object:condense_cli.config.models.Configuration\nkeep_first: 1\n",
}


@pytest.mark.parametrize("name", CODE)
def test_a_tag_that_asks_for_code_is_refused_by_its_name(name: str, tmp_path: Path) -> None:
    """No configuration file can run code: a tag beyond plain values is refused wherever it stands, and named."""
    marker = tmp_path / "executed"
    text = CODE[name].format(marker=marker)
    error = _refused(text)
    assert not marker.exists()
    assert error.message.startswith("c.yaml:1:")
    tag = re.search(r"!+(\S+)", text)
    assert tag
    assert tag[1] in error.message, error.message


@pytest.mark.parametrize("value", ["!!int abc", "!!float abc", "!!bool maybe", "!!null something", "!!int 1.5"])
def test_a_value_that_denies_its_own_tag_is_refused(value: str) -> None:
    """A standard tag on a value it does not fit is a fault of the file, not of the program."""
    assert _refused(f"keep_first: {value}\n").message.startswith("c.yaml:1:")


def test_a_key_that_is_no_text_is_refused_in_the_words_of_the_file() -> None:
    """A list as a key is shown, if at all, as the file has it, not as an object of the YAML library."""
    error = _refused("? [keep, first]\n: 2\n")
    assert "Scalar" not in error.message
    assert error.message.startswith("c.yaml:1:")


def test_an_unknown_key_is_named_as_the_file_spells_it() -> None:
    """Who wrote targetTokenz looks for targetTokenz."""
    error = _refused("targetTokenz: 5\n")
    assert "'targetTokenz'" in error.message
    assert error.hint in ("Did you mean target_tokens?", "Did you mean targetTokens?")


def test_a_refusal_uses_no_words_of_a_type_checker() -> None:
    """What was expected is said in words, not as `int | null`."""
    assert "|" not in _refused("target_tokens: many\n").message


# --- Hostile files, in a process of their own because a crash would take the tests along ------------------------------


def _laughs(levels: int = 9) -> str:
    lines = ["a: &a [ha, ha, ha, ha, ha, ha, ha, ha, ha]"]
    for name, last in zip("bcdefghijk"[:levels], "abcdefghijk", strict=False):
        lines.append(f"{name}: &{name} [{', '.join([f'*{last}'] * 9)}]")
    return "\n".join(lines) + "\n"


HOSTILE = {
    "billion laughs": _laughs(),
    "billion laughs where a list belongs": "passes: &a [x, x, x, x, x, x, x, x, x, x]\n"
    + "\n".join(f"{name}: &{name} [{', '.join([f'*{last}'] * 10)}]" for name, last in zip("bcdefghi", "abcdefgh"))  # noqa: B905
    + "\n",
    "100,000 open brackets": "[" * 100_000,
    "100,000 nested lists": "[" * 100_000 + "]" * 100_000,
    "100,000 nested lists inside": '{"passes": ' + "[" * 100_000 + "]" * 100_000 + "}",
    "20,000 nested mappings": '{"passes": ' + '{"a": ' * 20_000 + "1" + "}" * 20_001,
    "3,000 levels of indentation": "\n".join(" " * level + "passes:" for level in range(3_000)) + "\n",
    "3,000 levels of dashes": "passes:\n  " + "- " * 3_000 + "x\n",
    "a long line of aliases": "name: &a x\npins: [" + "*a, " * 200_000 + "*a]\n",
}


def _limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_neither_time_nor_memory(name: str, tmp_path: Path) -> None:
    """Nesting and aliases are refused within seconds and a gigabyte: no crash, no traceback, exit status 2."""
    (tmp_path / "session.jsonl").write_bytes(as_lines(session()))
    (tmp_path / "c.yaml").write_text(HOSTILE[name])
    started = time.monotonic()
    done = condense_process(
        "run", "session.jsonl", "--config", "c.yaml", cwd=tmp_path, before_start=_limit_memory, timeout=5
    )
    assert done.status == ExitStatus.USAGE, done.stderr[-500:]
    assert time.monotonic() - started < 4
    assert "c.yaml" in done.message


def test_a_count_beyond_all_reason_is_no_crash(tmp_path: Path) -> None:
    """A count of any size is either refused or harmless."""
    (tmp_path / "session.jsonl").write_bytes(as_lines(session()))
    (tmp_path / "c.yaml").write_text(
        "target_tokens: 1\nkeep_first: 99999999999999999999999999\npasses:\n  - id: a\n"
        "    selection: {type: preserve_recent, keep_recent_count: 99999999999999999999999999}\n"
        "    individual_config: {defaults: {tool_results: {operation: suppress}}}\n"
        "    repeat: {max_passes: 99999999999999999999999999}\n"
    )
    done = condense_process(
        "run", "session.jsonl", "--config", "c.yaml", "-q", cwd=tmp_path, before_start=_limit_memory, timeout=5
    )
    assert done.status in (ExitStatus.DONE, ExitStatus.USAGE), done.stderr[-500:]


# --- Files -----------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """A missing file, a folder and a file that is not text are refused by name."""
    (tmp_path / "latin.yaml").write_bytes(b"name: caf\xe9\n")
    for name in ("missing.yaml", "latin.yaml", "."):
        with pytest.raises(ConfigurationError, match=re.escape(str(tmp_path / name))):
            load_with_positions(tmp_path / name)


def test_an_unknown_preset_is_refused_with_the_nearest_one() -> None:
    """The names that exist are listed, the nearest first."""
    with pytest.raises(ConfigurationError, match="'spede'") as caught:
        load_preset("spede")
    assert "Did you mean speed?" in caught.value.hint
    assert all(name in caught.value.hint for name in preset_names())


@pytest.mark.parametrize("name", ["../speed", "examples/zones", "/etc/passwd"])
def test_a_path_is_no_preset_name(name: str) -> None:
    """Names are looked up among the presets only; a path is a file, wherever the presets are."""
    with pytest.raises(ConfigurationError):
        load_preset(name)


def test_json_may_spell_a_character_as_two_escapes() -> None:
    """Beyond U+FFFF JSON needs a pair, and YAML does not know pairs."""
    assert parse_configuration('{"name": "\\ud83d\\ude00 é"}').name == "\U0001f600 é"
