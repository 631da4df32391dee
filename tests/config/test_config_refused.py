"""Configurations that are refused: where the fault is and what to write; hostile files in a process of their own."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest
from helpers import condense_process

from condense_cli.config.loading import parse_configuration
from condense_cli.errors import ConfigurationError, ExitStatus

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
    "list for a mapping": ("lossless_prelude: [true]\n", "1:1", "lossless_prelude", "Its keys: enabled, "),
    "text for an operation": (
        PASS + "    individual_config: {defaults: {tool_results: suppress}}\n",
        "4:36",
        "got text at passes[0].individual_config.defaults.tool_results",
        "Its keys: min_tokens, operation, params.",
    ),
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
    "missing individual_config": (PASS, "2:5", "individual_config", ""),
    "missing batch_config": (PASS + "    mode: batch\n", "2:5", "batch_config", ""),
    "operation that no file may name": (
        PASS + "    mode: batch\n    batch_config: {operation: drop_older_half}\n",
        "5:20",
        "no pass may drop messages",
        "fallback: sliding_window",
    ),
    "operation of a batch that does not exist": (
        PASS + "    mode: batch\n    batch_config: {operation: drop}\n",
        "5:20",
        "is not one of keep, summarize",
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


def _limits() -> None:
    """A gigabyte, and seconds of the processor, which do not pass faster where other tests run beside this one."""
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    resource.setrlimit(resource.RLIMIT_CPU, (10, 10))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_costs_neither_time_nor_memory(name: str, file: Path, tmp_path: Path) -> None:
    """Nesting and aliases are refused within seconds and a gigabyte: no crash, no traceback, exit status 2."""
    (tmp_path / "c.yaml").write_text(HOSTILE[name])
    done = condense_process("run", file, "--config", "c.yaml", cwd=tmp_path, before_start=_limits)
    assert done.status == ExitStatus.USAGE, done.stderr[-500:]
    assert "c.yaml" in done.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keep_first", "keep_recent_count", "max_passes"])
def test_a_count_beyond_all_reason_is_refused(name: str, file: Path, tmp_path: Path) -> None:
    """It is named, and nothing is counted up to it."""
    counts = dict.fromkeys(("keep_first", "keep_recent_count", "max_passes"), 1) | {name: 10**26}
    (tmp_path / "c.yaml").write_text(
        "target_tokens: 1\nkeep_first: {keep_first}\npasses:\n  - id: a\n"
        "    selection: {{type: preserve_recent, keep_recent_count: {keep_recent_count}}}\n"
        "    individual_config: {{defaults: {{tool_results: {{operation: suppress}}}}}}\n"
        "    repeat: {{max_passes: {max_passes}}}\n".format(**counts)
    )
    done = condense_process("run", file, "--config", "c.yaml", cwd=tmp_path, before_start=_limits)
    assert done.status == ExitStatus.USAGE
    assert re.search(rf"c\.yaml:\d+:\d+: expected a whole number of at most \d+ at \S*{name}\.", done.message)
