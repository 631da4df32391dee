"""Small values: kinds of blocks, facts of a text, counts with their nouns, the folders of this user."""

import re
import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest
from build import assistant, user
from helpers import as_lines, condense

from condense_cli.core.text_facts import facts_of
from condense_cli.core.user_folders import cache_folder, config_folder
from condense_cli.core.values import BlockKind, ContentType, Role
from condense_cli.core.wording import plural
from condense_cli.passes.receipts import Kept


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (plural(0, "file"), "0 files"),
        (plural(1, "file"), "1 file"),
        (plural(1204, "file"), "1,204 files"),
        (plural(1, "pass", "passes"), "1 pass"),
        (plural(2, "pass", "passes"), "2 passes"),
    ],
)
def test_one_is_one(said: str, expected: str) -> None:
    assert said == expected


def test_commands_speak_of_one_message(tmp_path: Path) -> None:
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    one.write_bytes(as_lines([user("Please go.")]))
    two.write_bytes(as_lines([user("Please come.")]))
    for arguments in (("inspect", one), ("validate", one), ("diff", one, two), ("estimate", one), ("run", one, "-n")):
        said = condense(*arguments).text
        assert not re.search(r"\b1 (?:\w+ )?(?:messages|tokens|blocks|files|rows) ", said), said


def test_missed_targets_speak_of_what_is_protected(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines([user("Please go."), assistant("Gone."), user("Back."), assistant("Here.")]))
    said = condense("run", file, "--target-tokens", "1", "-p", "speed").stderr
    assert "The target of 1 token was not reached" in said
    assert re.search(r"\d+ tokens are protected", said)


@pytest.mark.parametrize("kind", [BlockKind, ContentType, Role, Kept])
def test_members_are_plain_attributes_and_stay_members(kind: type[BlockKind]) -> None:
    for name, member in kind.__members__.items():
        assert vars(kind)[name] is member
        assert kind(member.value) is kind[name] is member
        assert member.name == name
    assert [*kind] == [*kind.__members__.values()]
    with pytest.raises(AttributeError):
        setattr(kind, next(iter(kind.__members__)), "another")


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


@pytest.mark.parametrize("home", ["/home/somebody", "relative", "", None])
@pytest.mark.parametrize("given", ["/elsewhere", "relative", " ", "", None])
def test_they_are_those_of_platformdirs(monkeypatch: pytest.MonkeyPatch, home: str | None, given: str | None) -> None:
    for name, value in (("HOME", home), ("XDG_CONFIG_HOME", given), ("XDG_CACHE_HOME", given)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert config_folder() == platformdirs.user_config_dir("condense", appauthor=False)
    assert cache_folder() == platformdirs.user_cache_dir("condense", appauthor=False)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere only platformdirs knows")
def test_on_linux_it_is_not_imported() -> None:
    told = "import sys; from condense_cli.core.user_folders import cache_folder; cache_folder(); "
    told += "print('platformdirs' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout == "False\n"
