"""The facts of a text."""

import pytest

from condense_cli.core.text_facts import facts_of


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


@pytest.mark.sampled(3)
@pytest.mark.parametrize("piece", ["a-", "a/", "a", "A_", "1.", "_", "-", "aA1/", "@.", "~/", "é", ".", "https://"])
def test_hostile_texts_come_to_an_end(piece: str) -> None:
    # With a pattern that goes back over what it has read, each of these would take hours.
    assert len(facts_of(piece * 200_000)) < 200_000
