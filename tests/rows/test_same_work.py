"""One file, many files, rows: the same flags and the same settings of the user give byte for byte the same."""

import json
from pathlib import Path
from typing import Any, Final

import pytest
from build import LONG, assistant, call, result, thinking, user
from helpers import Outcome, condense
from rowsets import chat

SPEED: Final = ("--preset", "speed")
TRUNCATE: Final = "{providers: {truncation: {config: {max_tool_result_lines: 2}}}}"
PROFILE: Final = "{profiles: {mine: {api: anthropic, model: claude-opus-4-5, context_window: 16000, max_tokens: 8192}}}"
FALLBACK: Final = "{provider: native, fallback: sliding_window}"


def worked(turns: int = 8) -> list[dict[str, Any]]:
    """Messages with thinking, and with the results of two tools, of which some come again."""
    messages = [user("Please find the bug.")]
    for number in range(turns):
        tool, arguments = ("Bash", {"command": "make"}) if number % 2 else ("Read", {"file_path": f"src/{number}.py"})
        text = LONG.replace("item", f"item {number % 6} of")
        messages += [assistant([thinking(), call(f"t{number}", tool, **arguments)]), user([result(f"t{number}", text)])]
    return [*messages, assistant("Found it.")]


CONVERSATIONS: Final = [
    json.dumps(value).replace("of the listing", "списка файлов").encode() + b"\n"
    for value in (
        {"model": "claude-opus-4-5", "messages": worked()},
        {"model": "gpt-4", "messages": chat()},
        {"id": 3, "messages": chat(12)},
    )
]
"""Each is a file, and each is a row. The models count Cyrillic letters differently."""


def one_by_one(folder: Path, *flags: str) -> list[Outcome]:
    return [condense("run", "-", *flags, "-o", "-", stdin=data, cwd=folder) for data in CONVERSATIONS]


def as_files(folder: Path, *flags: str) -> tuple[Outcome, list[bytes]]:
    (folder / "in").mkdir(exist_ok=True)
    names = [f"{number}.json" for number in range(len(CONVERSATIONS))]
    for name, data in zip(names, CONVERSATIONS, strict=True):
        (folder / "in" / name).write_bytes(data)
    done = condense("run", "in", "--out-dir", "out", *flags, "-j", "1", cwd=folder)
    return done, [(folder / "out" / name).read_bytes() for name in names]


def as_rows(folder: Path, *flags: str) -> Outcome:
    return condense("run", "-", *flags, "-j", "1", stdin=b"".join(CONVERSATIONS), cwd=folder)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for the user's own settings and for the files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "")
    (tmp_path / "condense").mkdir()
    return tmp_path


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("own", "flags"),
    [
        *(("", ("--preset", name)) for name in ("balanced", "cost", "lossless", "max", "quality", "speed")),
        ("", ("--provider", "smart")),
        ("", ("--provider", "native")),
        ("", ("--provider", "truncation", "--set", "max_tool_result_lines=3")),
        ("", (*SPEED, "--lossless-only")),
        ("", (*SPEED, "--keep-recent", "6")),
        ("", (*SPEED, "--only-tools", "Bash")),
        ("", (*SPEED, "--except-tools", "Read")),
        ("", (*SPEED, "--range", "3:9")),
        ("", (*SPEED, "--pin", "item 2 of|1: line 7 ")),
        ("", (*SPEED, "--drop-thinking")),
        ("", (*SPEED, "--model", "gpt-3.5-turbo")),
        ("", (*SPEED, "--target-tokens", "3000")),
        ("", (*SPEED, "--target-percent", "60")),
        ("", (*SPEED, "--if-needed", "--context-window", "13000")),
        ("", (*SPEED, "--if-needed", "--context-window", "100000", "--threshold", "5")),
        ("", (*SPEED, "--if-needed", "--context-window", "20000", "--overhead-tokens", "6000")),
        (TRUNCATE, ("--provider", "truncation")),
        (PROFILE, (*SPEED, "--if-needed", "--model", "claude-opus-4-5")),
        ("{target_tokens: 3000}", SPEED),
        ("{target_reduction_percent: 30}", SPEED),
        ("{thinking: drop}", SPEED),
        (FALLBACK, ("--profile", "gpt-4o-mini", "--context-window", "9000")),
        (FALLBACK, ("--profile", "gpt-4o-mini", "--context-window", "90000")),
    ],
    ids=str,
)
def test_three_ways_to_the_same_bytes(home: Path, own: str, flags: tuple[str, ...]) -> None:
    (home / "condense/condense.yaml").write_text(own)
    single = one_by_one(home, *flags)
    expected = [each.stdout for each in single]
    assert expected != CONVERSATIONS or "90000" in flags, "the flags do something"
    assert "--if-needed" not in flags or set(expected) & set(CONVERSATIONS), "it is not needed everywhere"
    done, written = as_files(home, *flags)
    assert written == expected, done.stderr
    assert done.status == max(each.status for each in single)
    done = as_rows(home, *flags)
    assert done.stdout == b"".join(expected), done.stderr
    assert done.status == max(each.status for each in single)


@pytest.mark.parametrize("to", ["anthropic", "openai-chat"])
def test_many_files_are_converted_as_one_is(home: Path, to: str) -> None:
    flags = (*SPEED, "--to", to)
    done, written = as_files(home, *flags)
    assert written == [each.stdout for each in one_by_one(home, *flags)]
    assert done.status == 0
