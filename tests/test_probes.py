"""What is asked of a condensed conversation, what stands, and the facts of a text."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from build import anthropic, assistant, call, read_turn, result, user
from real import PROJECT, SAMPLES

from condense_cli.facts import facts_of
from condense_cli.markers import Gap
from condense_cli.quality.probes import Asked, Recall, ask, recall
from condense_cli.transcript import Message


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("see https://example.org/a?b=1, then", ["https://example.org/a?b=1"]),
        ("in /home/me/app.py and src\\main.rs", ["/home/me/app.py", "src\\main.rs"]),
        ("open config.yaml now", ["config.yaml"]),
        ("call load_all(x) of TodoList, userName, MAX_SIZE", ["load_all", "TodoList", "userName", "MAX_SIZE"]),
        ("render(x) with --dry-run", ["render", "--dry-run"]),
        ("12 tests in 3.5 s, version 1.2.3, one 7", ["12", "3.5", "1.2.3"]),
        ("commit 3f2a9bc and utf8", ["3f2a9bc", "utf8"]),
        ("We asked Django about HTTP.", ["Django", "HTTP"]),
        ("Plain words are none. The next sentence is not either.", []),
        ("</div>", []),
    ],
)
def test_facts_of_a_text(text: str, facts: list[str]) -> None:
    assert facts_of(text) == facts


@pytest.mark.parametrize("piece", ["a-", "a/", "a", "A_", "1.", "_", "-", "aA1/", "@.", "~/", "é", ".", "https://"])
def test_hostile_texts_come_to_an_end(piece: str) -> None:
    # With a pattern that goes back over what it has read, each of these would take hours.
    assert len(facts_of(piece * 200_000)) < 200_000


def _messages(*messages: dict[str, Any]) -> tuple[Message, ...]:
    """These messages, after others with which none of them can be one turn."""
    before = (user("Begin."), assistant("Yes."), user("Now."), assistant("Well."))
    first = before if messages[0]["role"] == "user" else before[:-1]
    return anthropic(*first, *messages).messages[len(first) :]


BEFORE = _messages(*read_turn("t0", "app.py", "    12→def old_name(self):\n    13→    return max_size"))


def test_asked_is_what_the_assistant_wrote_later_and_saw_before() -> None:
    after = _messages(assistant("old_name returns max_size, not new_thing."))
    assert ask(BEFORE, after).facts == {"old_name", "max_size"}


def test_what_was_shown_again_before_it_was_needed_is_not_asked() -> None:
    after = _messages(user("Is it max_size?"), assistant("max_size, in old_name."))
    assert ask(BEFORE, after).facts == {"old_name"}


def test_asked_are_the_lines_that_edits_had_to_match() -> None:
    edit = call("t1", "Edit", file_path="app.py", old_string="def old_name(self):\n    x", new_string="def b(self):")
    assert ask(BEFORE, _messages(assistant([edit]))).lines == {"def old_name(self):"}
    reread = read_turn("t2", "app.py", "     1→def old_name(self):\n     2→    pass")
    again = _messages(*reread, assistant([edit]), user([result("t1", "ok")]))
    assert ask(BEFORE, again).lines == frozenset()


def test_numbers_of_a_listing_are_no_facts() -> None:
    assert "12" not in ask(BEFORE, _messages(assistant("Line 12 has old_name."))).facts


def test_what_stands_on_a_verbatim_line_counts_and_a_list_of_words_does_not() -> None:
    asked = Asked(frozenset({"old_name", "max_size", "other_fact"}), frozenset({"def old_name(self):"}))
    original = ["def old_name(self):\n    return max_size\nother_fact"]
    marker = str(Gap("5f2c91d8", 2))
    assert recall(asked, original, original) == Recall(3, 3, 1, 1)
    assert recall(asked, original, [f"def old_name(self):\n{marker}"]) == Recall(3, 1, 1, 1)
    assert recall(asked, original, ["old_name max_size other_fact"]) == Recall(3, 0, 1, 0)


def test_the_ends_of_a_line_that_was_cut_inside_count() -> None:
    long = "old_name " + "x" * 300 + " max_size"
    asked = Asked(frozenset({"old_name", "max_size"}), frozenset())
    cut = f"old_name xx…\n{Gap('5f2c91d8', 0, 296)}\n…xx max_size"
    assert recall(asked, [long], [cut]).facts == 1.0
    assert recall(asked, [long], ["old_name and max_size…"]).facts == 0.0


def test_nothing_asked_has_no_recall() -> None:
    nothing = recall(Asked(frozenset(), frozenset()), [], [])
    assert (nothing.facts, nothing.edits) == (None, None)


def test_the_benchmark_measures_every_way(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    benchmark = runpy.run_path(str(PROJECT / "benchmarks" / "quality_probe.py"))
    benchmark["main"].__globals__["SMALLEST"] = 500
    notes = tmp_path / "notes.txt"
    notes.write_text("no transcript")
    benchmark["main"]([*map(str, SAMPLES), str(notes), "--sizes", "0.5", "--worst", "1"])
    printed = capsys.readouterr().out
    assert "files that cannot be read: 1" in printed
    for way in benchmark["WAYS"]:
        assert f"  50%  {way} " in printed
