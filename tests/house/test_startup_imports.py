"""What is imported on the way to an answer: an import that nobody needs is time that everybody waits.

Measured by running the command in a process of its own and listing its modules at the end.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest
from imported import outcome

from condense_cli.core.postponed import OF_TYPER

NEVER: Final = frozenset({"anthropic", "openai", "pydantic", "genai_prices", "kingfisher_sdk", "tiktoken"})
NOT_FOR_HELP: Final = frozenset(
    {"rich", "splintr", "yaml", "msgspec", "asyncio", "platformdirs", "rapidfuzz", "sqlite3", *OF_TYPER}
)


@pytest.fixture
def stand_ins(tmp_path: Path) -> Path:
    """A folder with an empty module for each unwanted package, found where the package itself is not installed."""
    folder = tmp_path / "stand_ins"
    folder.mkdir()
    for name in NEVER:
        (folder / f"{name}.py").touch()
    return folder


def dialogue() -> list[dict[str, Any]]:
    """Messages of the Messages API with more to cut than the newest turns, one of them not in ASCII."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Why does the total differ? Größe → 日本語"}]
    for number in range(8):
        call = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": "Bash",
            "input": {"command": f"grep -rn total part{number}"},
        }
        found = "\n".join(f"part{number}/file{line}.py:{line}: total = prices[{line}] * {number}" for line in range(30))
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": found}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    return [*messages, {"role": "assistant", "content": "The sixth price was counted twice."}]


def session(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same as records of a Claude Code session."""
    return [
        {
            "type": message["role"],
            "uuid": f"line-{number}",
            "parentUuid": f"line-{number - 1}" if number else None,
            "sessionId": "session",
            "message": message,
        }
        for number, message in enumerate(messages)
    ]


# A client waits for each hook: with nothing to do it imports nothing of the work, and not even `typing`.
def test_a_hook_imports_next_to_nothing(stand_ins: Path) -> None:
    bare = set(
        subprocess.run(
            [sys.executable, "-c", "import json, re, sys; print(*sys.modules)"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )
    _, modules = outcome(stand_ins, "hook", "claude-code", "stop")
    assert modules - {name.partition(".")[0] for name in bare} <= {
        "__future__",
        "condense_cli",
        "contextlib",
        "filecmp",
    }


# `condense --help` imports no client of a vendor, no pydantic, no prices and no second tokenizer.
def test_help_imports_nothing_that_no_command_may_import(stand_ins: Path) -> None:
    printed, modules = outcome(stand_ins, "--help")
    assert "First commands:" in printed
    assert not modules & NEVER


# `condense --help` reads no transcript, so it imports nothing that reads, counts, compares or draws one.
def test_help_imports_nothing_that_only_work_needs(stand_ins: Path) -> None:
    _, modules = outcome(stand_ins, "--help")
    assert "typer" in modules
    assert not modules & NOT_FOR_HELP


# `condense run` with a preset that asks no model imports no client of a vendor, no pydantic, no prices, no tiktoken.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("format", ["anthropic", "claude-code"])
@pytest.mark.parametrize("where", ["-", "condensed.jsonl"])
def test_run_without_a_model_imports_no_client(tmp_path: Path, stand_ins: Path, format: str, where: str) -> None:
    records = dialogue() if format == "anthropic" else session(dialogue())
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    output = where if where == "-" else str(tmp_path / where)
    printed, modules = outcome(stand_ins, "run", str(path), "--preset", "speed", "-m", "claude-opus-4-5", "-o", output)
    condensed = printed if where == "-" else (tmp_path / where).read_text(encoding="utf-8")
    assert " lines #" in condensed, "nothing was condensed"
    assert "msgspec" in modules, "the work itself was not seen"
    assert not modules & (NEVER | {"rich", "yaml", "splintr"})


# Nor does one with the default preset, whose extraction compares little here: no library for that, no lists of words,
# nothing to quote commands with.
def test_a_small_run_with_the_default_preset_imports_little(tmp_path: Path, stand_ins: Path) -> None:
    path = tmp_path / "small.jsonl"
    messages = dialogue()
    messages[2]["content"][0]["content"] = "\n".join(f"all was well so far, as it was {'over ' * n}" for n in range(30))
    path.write_text("".join(json.dumps(message) + "\n" for message in messages))
    condensed, modules = outcome(stand_ins, "run", str(path), "-o", "-")
    assert " lines #" in condensed or "notes on" in condensed, "nothing was condensed"
    assert not modules & (NEVER | {"rich", "yaml", "splintr", "rapidfuzz", "typing_extensions", "shlex", "subprocess"})


# `condense check` reads no settings where nobody wrote any, and looks up no window that it is given.
def test_check_imports_no_yaml_where_there_is_no_file(tmp_path: Path, stand_ins: Path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in dialogue()))
    printed, modules = outcome(stand_ins, "check", str(path), "--context-window", "100000")
    assert printed.startswith("no: ")
    assert not modules & (NEVER | {"yaml", "rich", "sqlite3", "asyncio"})


# `condense run` loads the prices when it is asked for costs: the test above would see them.
def test_costs_import_the_prices(tmp_path: Path, stand_ins: Path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in dialogue()))
    _, modules = outcome(stand_ins, "run", str(path), "--preset", "speed", "--cost")
    assert "genai_prices" in modules
    assert not modules & (NEVER - {"genai_prices", "pydantic"})


COMPILED: Final = """
import re, sys
compiled, compile = [], re._compiler.compile
def seen(*given):
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] in ("re", "condense_cli.core.lazy_pattern"):
        frame = frame.f_back
    if frame.f_globals["__name__"].startswith("condense_cli."):
        compiled.append((frame.f_globals["__name__"], frame.f_code.co_name))
    return compile(*given)
re._compiler.compile = seen
from condense_cli.cli import main
try:
    main()
finally:
    sys.stderr.write("\\nCOMPILED " + repr((compiled, len(sys.modules))))
"""
"""Runs the command and says who compiled a regular expression, and how many modules there are in the end."""


# A hundred patterns are in the modules that a run imports; it compiles those that it needs. The table of tokens, which
# is also imported by itself when the package is built, always needs its own.
def test_a_small_run_compiles_no_pattern_that_it_does_not_need(tmp_path: Path) -> None:
    path = tmp_path / "small.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in dialogue()))
    command = [sys.executable, "-c", COMPILED, "run", str(path), "--preset", "speed", "-o", str(tmp_path / "out.jsonl")]
    said = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stderr
    compiled, modules = eval(said.rpartition("COMPILED ")[2])
    assert {module for module, function in compiled if function == "<module>"} == {"condense_cli.tokens.token_table"}
    assert 10 < len(compiled) < 40
    assert modules < 370
