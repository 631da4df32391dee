"""Masking of detected secrets. The detector here is a list, so that nothing else is tested."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from condense_cli.errors import CondenseError
from condense_cli.llm.access import Redactor
from condense_cli.llm.client import ModelRequest
from condense_cli.storage.extras import how_to_install

FOUND = ("sk-first-key", "tok4", "tok", "inner-key", "https://inner-key@host")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A detector that finds FOUND; what it is asked for is noted."""
    notes = SimpleNamespace(rules={}, scanner={}, texts=[])

    class Scanner:
        def __init__(self, rules: Any, **options: Any) -> None:
            notes.scanner = options

        def scan(self, data: bytes) -> list[SimpleNamespace]:
            notes.texts.append(data)
            return [SimpleNamespace(secret=secret) for secret in FOUND]

    module = ModuleType("kingfisher_sdk")
    vars(module).update(Scanner=Scanner, Rules=lambda **options: notes.rules.update(options))
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", module)
    return notes


@pytest.fixture
def redactor(asked: SimpleNamespace) -> Redactor:
    return Redactor()


def test_the_detector_takes_every_guess_and_keeps_its_rules_only_where_it_is_told(asked: SimpleNamespace) -> None:
    Redactor()
    assert asked.rules == {"confidence": "low", "cache": False, "cache_dir": None}
    assert asked.scanner == {"base64": False}
    Redactor(Path("rules"))
    assert asked.rules == {"confidence": "low", "cache": True, "cache_dir": Path("rules")}


def test_secrets_are_numbered_as_they_come(redactor: Redactor) -> None:
    assert redactor.count == 0
    assert redactor.text("a tok4 b sk-first-key c tok4") == "a [secret 1] b [secret 2] c [secret 1]"
    assert redactor.count == 2
    assert redactor.text("sk-first-key and inner-key") == "[secret 2] and [secret 3]"
    assert redactor.count == 3


# A finding that is not in the text is no secret of it, and three characters are in too many words.
def test_what_is_too_short_or_not_there_is_masked_nowhere(redactor: Redactor) -> None:
    assert redactor.text("a tok b") == "a tok b"
    assert redactor.count == 0


def test_the_longest_of_secrets_inside_each_other_is_masked_and_numbered_first(redactor: Redactor) -> None:
    assert redactor.text("to https://inner-key@host with inner-key") == "to [secret 1] with [secret 2]"
    assert redactor.text("inner-key, https://inner-key@host") == "[secret 2], [secret 1]"


def test_the_longest_is_numbered_first_where_both_begin_in_one_place(redactor: Redactor) -> None:
    assert redactor.text("token=tok4-99x") == "token=[secret 1]"
    assert redactor.text("tok4 alone") == "[secret 2] alone"


def test_a_secret_stays_one_to_the_end(redactor: Redactor) -> None:
    assert redactor.text("password: hunter22") == "password: [secret 1]"
    assert redactor.text("it was hunter22") == "it was [secret 1]"
    request = redactor.request(ModelRequest("Keep hunter22.", "of hunter22", 100, 7))
    assert request == ModelRequest("Keep [secret 1].", "of [secret 1]", 100, 7)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("password=hunter22", "hunter22"),
        ("PassWd : hunter22", "hunter22"),
        ("passphrase='hunter22'", "hunter22"),
        ("secret_access_key=hunter22", "hunter22"),
        ("api-key: hunter22, and", "hunter22"),
        ('private_key":"hunter22"', "hunter22"),
        ("Bearer hunter22", "hunter22"),
        ("token=abc123", "abc123"),
    ],
)
def test_what_is_assigned_to_a_name_is_one(redactor: Redactor, text: str, value: str) -> None:
    assert redactor.text(text) == text.replace(value, "[secret 1]")


@pytest.mark.parametrize("text", ["password=hunters", "token=abc12", "password hunter22", "my token is hunter22"])
def test_what_is_not_made_up_or_not_assigned_is_none(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_every_assignment_counts(redactor: Redactor) -> None:
    assert (
        redactor.text("password=words token=abc123 secret=xyz789")
        == "password=words token=[secret 1] secret=[secret 2]"
    )


def test_half_a_character_reaches_the_detector_as_something_it_can_read(
    redactor: Redactor, asked: SimpleNamespace
) -> None:
    assert redactor.text("\ud800 tok4") == "\ud800 [secret 1]"
    assert asked.texts == [b"? tok4"]


def test_without_a_detector_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kingfisher_sdk", None)
    with pytest.raises(CondenseError, match="--redact needs the Python package kingfisher-secret-scanner") as caught:
        Redactor()
    assert caught.value.hint == how_to_install("redact")
