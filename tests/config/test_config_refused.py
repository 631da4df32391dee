"""Configurations that are refused: where the fault is and what to write; hostile files in a process of their own."""

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
    "unknown key as the file spells it": ("targetTokenz: 5\n", "1:1", "'targetTokenz'", "Did you mean target"),
    # Without a word in it, it would run, change nothing and say all is well.
    "nothing": ("", "1:1", "", ""),
    "blank lines": ("\n\n", "1:1", "", ""),
    "a comment": ("# only a comment\n", "1:1", "", ""),
    "a list that does not end": ('{"passes": [', r"1:\d+", "", ""),
    "a value that is missing": ('{"keep_first": ', r"1:\d+", "", ""),
    "quotes that do not end": ('name: "never closed\n', r"[12]:\d+", "", ""),
    "quotes that do not end in JSON": ('{"name": "never closed', r"1:\d+", "", ""),
    "a tab, which nobody sees": ("lossless_prelude:\n\tenabled: true\n", r"2:\d+", "", "tab"),
    "a tab in a list": ("passes:\n  - id: a\n\tselection: 1\n", r"3:\d+", "tab", ""),
    "NUL": ("keep_first: 1\nname: a\x00b\n", "2:8", "", ""),
    "an escape": ("keep_first: 1\nname: a\x1bb\n", "2:8", "", ""),
    "a number that is none by its tag": ("keep_first: !!int abc\n", r"1:\d+", "", ""),
    "a truth value that is none by its tag": ("keep_first: !!bool maybe\n", r"1:\d+", "", ""),
    "null that is none by its tag": ("keep_first: !!null something\n", r"1:\d+", "", ""),
    "a key that is no text": ("? [keep, first]\n: 2\n", r"1:\d+", "", ""),
}


def _refused(text: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text, "c.yaml")
    assert caught.value.status is ExitStatus.USAGE
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_says_where_and_what_and_what_instead(name: str) -> None:
    text, position, says, hints = REFUSED[name]
    error = _refused(text)
    assert re.match(rf"c\.yaml:{position}: ", error.message), error.message
    assert says in error.message
    assert hints in error.hint
    assert error.message.endswith(".")
    assert "Scalar" not in error.message, "as an object of the YAML library"


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
    marker = tmp_path / "executed"
    text = CODE[name].format(marker=marker)
    error = _refused(text)
    assert not marker.exists()
    assert error.message.startswith("c.yaml:1:")
    tag = re.search(r"!+(\S+)", text)
    assert tag
    assert tag[1] in error.message, error.message


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
    (tmp_path / "c.yaml").write_text(HOSTILE[name])
    done = condense_process("run", file, "--config", "c.yaml", cwd=tmp_path, before_start=_limits)
    assert done.status == ExitStatus.USAGE, done.stderr[-500:]
    assert "c.yaml" in done.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["keep_first", "keep_recent_count", "max_passes"])
def test_a_count_beyond_all_reason_is_refused(name: str, file: Path, tmp_path: Path) -> None:
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
