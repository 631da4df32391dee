"""Share of the context window that a transcript fills, with everything else that requests carry."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from build import LONG, assistant, text, user
from helpers import as_lines, condense

from condense_cli.formats.engine import client_text
from condense_cli.money.prices import context_window


class Snapshot:
    """Replaces the package of prices and knows one model."""

    def find_provider_model(self, name: str, *_: object) -> tuple[None, SimpleNamespace]:
        if name != "claude-known":
            raise LookupError
        return None, SimpleNamespace(context_window=1_000)


@pytest.fixture
def known_window(monkeypatch: pytest.MonkeyPatch) -> None:
    package, module = ModuleType("genai_prices"), ModuleType("genai_prices.data_snapshot")
    package.__version__ = "1"  # type: ignore[attr-defined]
    module.get_snapshot = Snapshot  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, package.__name__, package)
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("known_window")
def test_the_window_is_that_of_the_model(tmp_path: Path) -> None:
    """Under any routing prefix; unknown stays unknown."""
    assert context_window("claude-known") == context_window("anthropic/claude-known") == 1_000
    assert context_window("claude-other") is None
    assert context_window(None) is None
    path = tmp_path / "file.jsonl"
    path.write_bytes(as_lines([user(LONG), assistant("ok")]))
    found = condense("inspect", path, "--model", "claude-known", "--json").json
    total = found["tokens"]["total"]
    sources = {"source": "estimated", "tokens_source": "price table"}
    expected = {"tokens": 1_000, "percent": round(total / 10, 1), "used": total, **sources}
    assert found["window"] == expected
    assert "of a context window of 1,000 tokens" in condense("inspect", path, "-m", "claude-known").text
    assert condense("inspect", path, "--json").json["window"] is None


@pytest.mark.usefixtures("known_window")
def test_what_every_request_carries_fills_the_window_too() -> None:
    """System prompt and tools are sent with the messages."""
    request = {"model": "claude-known", "system": "word " * 300, "messages": [user("go"), assistant("ok")]}
    found = condense("inspect", "-", "--json", stdin=json.dumps(request).encode()).json
    assert found["tokens"]["overhead"] >= 300
    filled = found["tokens"]["total"] + found["tokens"]["overhead"]
    assert found["window"]["percent"] == round(filled / 10, 1)


@pytest.mark.usefixtures("known_window")
def test_overhead_that_is_given_fills_the_window_and_stands_apart() -> None:
    """The messages stay what they are."""
    arguments = ("inspect", "-", "--model", "claude-known")
    data = as_lines([user("go"), assistant("ok")])
    without = condense(*arguments, "--json", stdin=data).json
    found = condense(*arguments, "--overhead-tokens", "500", "--json", stdin=data).json
    assert (found["tokens"]["overhead"], found["tokens"]["overhead_source"]) == (500, "option")
    assert found["tokens"]["total"] == without["tokens"]["total"]
    assert found["window"]["percent"] == pytest.approx(without["window"]["percent"] + 50)
    assert found["content_types"] == without["content_types"]
    shown = condense(*arguments, "--overhead-tokens", "500", stdin=data).text.splitlines()
    assert shown[1] == "System prompt and tools add 500 tokens to every request (--overhead-tokens)."
    share = f"{found['window']['percent']}% of a context window of 1,000 tokens"
    assert shown[2] == f"{found['tokens']['total'] + 500:,} in use (estimated): {share}"
    assert condense(*arguments, stdin=data).text.splitlines()[1].endswith("(--overhead-tokens N adds them).")


IMAGE_AND_DOCUMENT = [
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}},
    {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "aGVsbG8="}},
]


def test_what_cannot_be_counted_has_one_name_in_every_report() -> None:
    """Images, documents and hidden thinking."""
    data = as_lines([user([*IMAGE_AND_DOCUMENT, text("look")]), assistant("ok")])
    for command in (("inspect", "-"), ("estimate", "-"), ("run", "-", "--dry-run", "--cost")):
        shown = " ".join(condense(*command, stdin=data).text.split())
        assert "are estimates for images, documents, hidden thinking and what the client adds" in shown


def test_the_package_of_prices_knows_the_window_of_a_real_model() -> None:
    """The package's own interface is as it is used."""
    assert context_window("claude-opus-4-5") == 200_000
    assert context_window("no-such-model") is None


def test_a_document_takes_as_much_as_its_pages() -> None:
    pages = b"".join(b"%d 0 obj\n<< /Type /Page /Parent 2 0 R >>\nendobj\n" % number for number in (3, 4, 5))
    tree = b"<< /Type /Catalog /Pages 2 0 R >> << /Type/Pages /Kids [3 0 R 4 0 R 5 0 R] /Count 3 >>\n"
    assert (
        client_text.document(base64.b64encode(b"%PDF-1.4\n" + tree + pages).decode()) == 3 * client_text.DOCUMENT_PAGE
    )
    assert client_text.document(base64.b64encode(b"%PDF-1.4\n" + tree).decode()) == client_text.DOCUMENT_PAGE
