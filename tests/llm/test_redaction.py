"""Secrets that are masked before anything is sent. Every secret here is made up by the test."""

import random
import string
from copy import copy
from datetime import UTC, datetime
from pathlib import Path

import pytest

from condense_cli.config.profiles import BUILT_IN, Access
from condense_cli.llm.access import Redactor
from condense_cli.llm.cache import Cache
from condense_cli.llm.calls import Caller, fulfil
from condense_cli.llm.client import Answer, ModelRequest

_CHOICE = random.Random(7)
ALPHABET = string.ascii_letters + string.digits


def made_up(length: int, alphabet: str = ALPHABET) -> str:
    return "".join(_CHOICE.choice(alphabet) for _ in range(length))


SECRETS = {
    "github": "ghp_" + made_up(36),
    "anthropic": "sk-ant-api03-" + made_up(93) + "AA",
    "openai": "sk-proj-" + made_up(74) + "T3BlbkFJ" + made_up(74),
    "slack": f"xoxb-{made_up(12, string.digits)}-{made_up(12, string.digits)}-{made_up(24)}",
    "stripe": "sk_live_" + made_up(24),
    "google": "AIza" + made_up(35),
    "npm": "npm_" + made_up(36),
}
PASSWORD = "Tr0ub4dor3x"
PRIVATE = f"{made_up(64)}\n{made_up(64)}\n{made_up(40)}="


@pytest.fixture(scope="module")
def loaded(masking_rules: Path) -> Redactor:
    return Redactor(masking_rules)


@pytest.fixture
def redactor(loaded: Redactor) -> Redactor:
    """One that knows no secret yet: loading takes a third of a second."""
    new = copy(loaded)
    new._numbers = {}
    return new


@pytest.mark.slow
@pytest.mark.parametrize("name", SECRETS)
def test_known_kinds_of_keys(redactor: Redactor, name: str) -> None:
    text = f"The output was:\nTOKEN {SECRETS[name]} in src/app.py:12"
    assert redactor.text(text) == "The output was:\nTOKEN [secret 1] in src/app.py:12"


# The id of an AWS key alone opens nothing; beside the key it goes too.
def test_a_pair_of_keys(redactor: Redactor) -> None:
    id, key = "AKIA" + made_up(16, string.ascii_uppercase + "234567"), made_up(40)
    masked = redactor.text(f"AWS_ACCESS_KEY_ID={id}\nAWS_SECRET_ACCESS_KEY={key}")
    assert id not in masked
    assert key not in masked


# Comments that tell a scanner of repositories to look away mean nothing for what is sent.
@pytest.mark.parametrize("comment", ["gitleaks:allow", "kingfisher:ignore", "pragma: allowlist secret"])
def test_a_comment_excuses_no_secret(redactor: Redactor, comment: str) -> None:
    assert SECRETS["github"] not in redactor.text(f'key = "{SECRETS["github"]}"  # {comment}')


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD={}",
        'password = "{}"',
        "password: {}",
        '{{"password": "{}"}}',
        r"{{\"api_key\": \"{}\"}}",
        "PGPASSWORD='{}' psql",
        "client_secret: {}",
        "X-Api-Key: {}",
        "Authorization: Bearer {}",
        "postgres://admin:{}@db.internal:5432/app",
    ],
)
def test_passwords_by_the_name_they_are_given_to(redactor: Redactor, text: str) -> None:
    assert PASSWORD not in redactor.text(text.format(PASSWORD))


def test_a_private_key_is_masked_to_its_last_line(redactor: Redactor) -> None:
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{PRIVATE}\n-----END RSA PRIVATE KEY-----\nand so on"
    masked = redactor.text(text)
    assert not any(line in masked for line in PRIVATE.splitlines())
    assert masked.endswith("and so on")


# Facts that later work needs are not secrets.
@pytest.mark.parametrize(
    "text",
    [
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 in src/app/main.py:120",
        "sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "uuid 3f2504e0-4f89-11d3-9a0c-0305e82c3301, toolu_01A09q90qw90lq917835lq9",
        "def login(password: str, token: str | None = None) -> bool:",
        "if not password: raise ValueError('password missing')",
        "max_tokens: 100000, total_tokens=12345",
        "password = get_password(user_id=42)",
        "https://example.com/a/b?page=2#L10",
    ],
)
def test_what_is_no_secret_stays(redactor: Redactor, text: str) -> None:
    assert redactor.text(text) == text


def test_masking_twice_changes_nothing(redactor: Redactor) -> None:
    once = redactor.text(f"password={PASSWORD} {SECRETS['npm']}")
    assert redactor.text(once) == once


# Neither the request nor the cache sees the secret, and what was masked is never put back.
@pytest.mark.slow
def test_nothing_is_sent_unmasked(redactor: Redactor, masking_rules: Path, tmp_path: Path) -> None:
    sent: list[ModelRequest] = []

    class Fake:
        def call(self, request: ModelRequest) -> Answer:
            sent.append(request)
            return Answer(request.prompt, None)

        def close(self) -> None:
            pass

    asked = ModelRequest("Keep keys.", f"it says {SECRETS['openai']}", 100)
    access = Access("test", BUILT_IN["gpt-4o-mini"], "k")
    for number in range(2):
        caller = Caller(
            access,
            len,
            datetime.now(UTC),
            redactor=Redactor(masking_rules),
            cache=Cache(tmp_path / "c"),
            opened=lambda _: Fake(),
        )
        done = fulfil([asked], caller)
        assert done.outcomes[0].text == "it says [secret 1]"
        assert done.outcomes[0].is_cached is (number == 1)
    assert [request.prompt for request in sent] == ["it says [secret 1]"]


def test_of_secrets_inside_each_other_the_longest_is_masked_first(redactor: Redactor) -> None:
    longer = f"{PASSWORD}-{PASSWORD}-and-99"
    assert redactor.text(f"password={PASSWORD}") == "password=[secret 1]"
    assert redactor.text(f"token={longer} {PASSWORD}") == "token=[secret 2] [secret 1]"
    assert redactor.text(f"{PASSWORD} {longer}") == "[secret 1] [secret 2]"
