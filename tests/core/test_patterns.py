"""Patterns that users and projects write: what would hang a run is an error here, and all else works as ever."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from build import anthropic, assistant, read_turn, user
from helpers import as_lines, condense, session, unharmed

from condense_cli import api
from condense_cli.core import selectors
from condense_cli.core.lazy_pattern import lazy_pattern
from condense_cli.core.selectors import PatternError, check, searcher
from condense_cli.errors import ConfigurationError

SLOW = r"(a|aa)+$"
HARD = "a" * 200 + "b"
"""A text that takes that pattern longer than the age of the universe."""


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "_SECONDS", 0.05)
    monkeypatch.setattr(selectors, "_left", 0.05)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (SLOW, HARD),
        (r"(a+){1,50}\1{3}$", HARD),
        (r"(?i)(.*)(.*)(.*)(.*)(.*)\1\2", "q" * 400),
        (r"\s+$", " " * 100_000 + "x"),
        ("(?:(?:(?:a?)+)+)+(?:(?:(?:a?)+)+)+$", "a" * 3_000 + "b"),
    ],
)
def test_a_search_that_takes_too_long_is_an_error(pattern: str, text: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        searcher(pattern)(text)
    assert f"{pattern!r} takes too long" in refused.value.message
    assert f"{len(text):,} characters" in refused.value.message
    assert refused.value.hint
    assert searcher("b$")(HARD), "others go on"


# Each of many slow searches may be short enough; all together they may not.
def test_all_searches_share_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: Iterator[float] = iter(range(0, 1_000, 1))
    monkeypatch.setattr("time.process_time", lambda: next(seconds) / 100)
    allowed = []

    class Engine:
        def search(self, text: str, timeout: float) -> None:
            allowed.append(timeout)

    monkeypatch.setattr(selectors, "_compiled", lambda pattern: Engine())
    one, other = searcher("a"), searcher("b")
    for _ in range(3):
        one("")
        other("")
    assert allowed == pytest.approx([0.05, 0.04, 0.03, 0.02, 0.01, 0.0])
    one("x" * 100_000)
    assert allowed[-1] == pytest.approx(0.05), "a long text brings time of its own"


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("(a{1000}){1000}", "counted repetitions"),
        ("(?:(?:(?:a{99}){99}){99}){99}", "counted repetitions"),
        ("(?x)(a{1000})#\n{1000}", "counted repetitions"),
        ("(a{1000})(?#){1000}", "counted repetitions"),
        ("(" * 5_000, "nested too deeply"),
        ("x" * 10_001, "10,001 characters"),
        ("[a", "unterminated character set"),
        ("(?R)", "unknown extension"),
    ],
)
def test_patterns_that_take_too_long_to_read_are_refused(pattern: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        check(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?<!x)TODO(?=:)", "TODO: tests"),
        (r"(\w)\1{3}", "aaaa"),
        (r"(?i)\bnever\b", "NEVER do that"),
        (r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", "0b0f0b0f-0b0f-0b0f-0b0f-0b0f0b0f0b0f"),
        (r"(?ms)^a.*z$", "b\na\nz\nc"),
        ("ß|🎉", "a 🎉"),
        (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}", "2026-01-31T12:00:00"),
    ],
)
def test_what_python_reads_is_found(pattern: str, text: str) -> None:
    assert searcher(pattern)(text)
    assert not searcher(pattern)("nothing")


HARD_SESSION = [user("Look."), *read_turn("a", content=HARD), assistant("Done.")]
PROJECT = f"pins:\n  - {{regex: '{SLOW}'}}\n"


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_a_projects_file_hangs_no_command(command: str, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "condense.yaml").write_text(f"preset: speed\n{PROJECT}")
    (tmp_path / "session.jsonl").write_bytes(as_lines(HARD_SESSION))
    with unharmed(tmp_path):
        outcome = condense(command, "session.jsonl", cwd=tmp_path)
    if command == "run":
        assert outcome.status == 2
        assert "takes too long" in outcome.stderr


def test_a_pin_is_stopped(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(as_lines(HARD_SESSION))
    outcome = condense("run", tmp_path / "session.jsonl", "--preset", "speed", "--pin", SLOW, "--dry-run")
    assert outcome.status == 2
    assert f"{SLOW!r} takes too long" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_selection_is_stopped() -> None:
    one = {"id": "a", "selection": {"type": "custom", "regex": SLOW}, "individual_config": {"defaults": {
        "message_text": {"operation": "keep"}, "tool_parameters": {"operation": "keep"},
        "tool_results": {"operation": "suppress"}}}, "mode": "individual"}  # fmt: skip
    with pytest.raises(ConfigurationError, match="takes too long"):
        api.condense(anthropic(*HARD_SESSION), {"passes": [one]})


def test_a_pin_that_is_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "session.jsonl").write_bytes(as_lines(session()))
    outcome = condense("run", tmp_path / "session.jsonl", "--pin", "(a{1000}){1000}", "--dry-run")
    assert outcome.status == 2
    assert "--pin '(a{1000}){1000}' is not a regular expression" in outcome.stderr


def test_it_does_what_the_compiled_one_does() -> None:
    lazy, compiled = lazy_pattern("(a+)(?P<b>b)?", re.IGNORECASE), re.compile("(a+)(?P<b>b)?", re.IGNORECASE)
    for text in ("xAAb", "a", ""):
        assert lazy.findall(text) == compiled.findall(text)
        assert str(lazy.search(text)) == str(compiled.search(text))
    assert (lazy.pattern, lazy.flags, lazy.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert lazy_pattern(rb"\s+").sub(b" ", b"a \n b") == b"a b"


def test_a_mistake_shows_where_it_is_used() -> None:
    pattern = lazy_pattern("(")
    with pytest.raises(re.error):
        pattern.match("")
