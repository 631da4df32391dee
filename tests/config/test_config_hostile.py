"""Hostile configuration files, in a process of their own because a crash would take the tests along."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import pytest
from helpers import condense_process

from condense_cli.errors import ExitStatus


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
