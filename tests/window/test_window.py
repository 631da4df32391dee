"""Size of a context window, and the share that a transcript fills with all else that requests carry."""

import base64
import json
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import kimi_logs
import opencode_exports
import pytest
from build import LONG, assistant, text, user
from claude_tree import boundary, reply, said
from helpers import as_lines, condense
from hypothesis import given
from hypothesis import strategies as st
from machine import Machine
from rollouts import message
from rollouts import record as codex_record

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.config.own import KnownProfile, UserConfiguration
from condense_cli.config.profiles import Profile
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import WindowSigns
from condense_cli.formats.engine import client_text
from condense_cli.money.prices import context_window
from condense_cli.window.decision import NAMED, RECORDED_USE, WindowFlags, signs_of, window_of, window_size


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


Json = dict[str, Any]
SONNET, OPUS = "claude-sonnet-4-5", "claude-opus-4-6"
"""Models with a listed window of 200,000 tokens, and of a million."""


def compacted_at(tokens: int) -> str:
    return f"the client's own compaction at {tokens:,}"


@pytest.mark.parametrize(
    ("model", "signs", "expected"),
    [
        (SONNET, {}, (200_000, "price table")),
        (SONNET, {"used": 200_000}, (200_000, "price table")),
        (SONNET, {"used": 200_001}, (256_000, RECORDED_USE)),
        (SONNET, {"used": 286_513}, (400_000, RECORDED_USE)),
        (SONNET, {"used": 999_000}, (1_000_000, RECORDED_USE)),
        (OPUS, {"used": 1_000_001}, (2_000_000, RECORDED_USE)),
        # No window is this large, so the number was miscounted.
        (OPUS, {"used": 50_000_000}, (1_000_000, "price table")),
        (OPUS, {"compacted_at": 168_000}, (200_000, compacted_at(168_000))),
        (OPUS, {"compacted_at": 112_579}, (128_000, compacted_at(112_579))),
        (OPUS, {"compacted_at": 998_659}, (1_000_000, "price table")),
        (SONNET, {"compacted_at": 168_000}, (200_000, "price table")),
        # More was sent than that window holds, so something else made the client compact.
        (OPUS, {"compacted_at": 168_000, "used": 400_000}, (1_000_000, "price table")),
        (f"{OPUS}[1m]", {"compacted_at": 168_000}, (1_000_000, "price table")),
        (f"{SONNET}[1m]", {"used": 300_000}, (1_000_000, "price table")),
        (OPUS, {"named": 258_400, "compacted_at": 90_000}, (258_400, NAMED)),
        (f"{OPUS}[1m]", {"named": 258_400}, (1_000_000, "price table")),
        ("nobody-knows-1", {"used": 90_000}, (None, "unknown")),
        ("nobody-knows-1", {"compacted_at": 80_000}, (128_000, compacted_at(80_000))),
        ("nobody-knows-1", {"named": 121_600}, (121_600, NAMED)),
    ],
)
def test_a_window_agrees_with_what_the_file_shows(
    model: str, signs: dict[str, int], expected: tuple[int | None, str]
) -> None:
    assert window_size(model, WindowSigns(model, **signs)) == expected


TOKENS = st.integers(0, 10_000_000)


@given(st.sampled_from([SONNET, OPUS, f"{OPUS}[1m]"]), TOKENS, TOKENS)
def test_what_was_sent_fits_into_the_window(model: str, used: int, compaction: int) -> None:
    size, _ = window_size(model, WindowSigns(model, used, compaction))
    assert size is not None
    assert size >= used


def test_another_model_has_a_window_of_its_own() -> None:
    signs = WindowSigns(OPUS, compacted_at=168_000)
    assert window_size("claude-opus-4-7", signs) == (1_000_000, "price table")
    assert window_size(f"us.anthropic.{OPUS}", signs)[0] == 200_000


def test_the_users_word_goes_first() -> None:
    signs = WindowSigns(OPUS, used=300_000, named=258_400)
    local = Profile(api="anthropic", model=OPUS, context_window=90_000)
    user = UserConfiguration(profiles={"mine": KnownProfile(local, "own:1")})
    of_profile = window_of(OPUS, Configuration(), user, signs=signs)
    assert (of_profile.tokens, of_profile.source) == (90_000, "profile mine")
    asked = window_of(OPUS, Configuration(), user, WindowFlags(window=80_000), signs)
    assert (asked.tokens, asked.source) == (80_000, "option")


def sized(transcript: Transcript) -> tuple[int | None, str]:
    return window_size(transcript.model, signs_of(transcript))


def claude(*records: Json) -> Transcript:
    return api.loads(as_lines(list(records)), format="claude-code")


def answered(number: int, tokens: int, parent: int | None = None, model: str = OPUS, **keys: Any) -> Json:
    record = reply(number, parent or number - 1, f"msg_{number}", text("Done."), model=model, **keys)
    record["message"]["usage"] = {"input_tokens": 2, "cache_read_input_tokens": tokens - 2, "output_tokens": 9}
    return record


def session(tokens: int = 168_400, model: str = OPUS, **metadata: Any) -> list[Json]:
    """A conversation that was compacted, and what followed."""
    compaction = boundary(3, **{"trigger": "auto", "preTokens": 168_483} | metadata)
    return [said(1, None, "Go."), answered(2, tokens, model=model), compaction, said(4, 3, "On."), answered(5, 30_000)]


def test_claude_code_compacts_by_itself() -> None:
    assert sized(claude(*session())) == (200_000, compacted_at(168_483))
    # Whoever asks for a compaction does so whenever he likes.
    assert sized(claude(*session(trigger="manual"))) == (1_000_000, "price table")
    for wrong in (None, "168483", -1, True, 10**12):
        assert sized(claude(*session(preTokens=wrong))) == (1_000_000, "price table")
    # Requests of a sub-agent with another model say nothing; those before the compaction do.
    assert sized(claude(*session(tokens=300_000))) == (1_000_000, "price table")
    aside = answered(6, 300_000, 5, isSidechain=True)
    assert sized(claude(*session(), aside)) == (200_000, compacted_at(168_483))


def test_use_before_a_compaction_counts() -> None:
    records = [said(1, None, "Go."), answered(2, 450_000, model=SONNET), boundary(3, trigger="manual")]
    transcript = claude(*records, said(4, 3, "On."), answered(5, 30_000, model=SONNET))
    assert [usage.input_tokens for usage in transcript.usages] == [30_000]
    assert sized(transcript) == (500_000, RECORDED_USE)


def test_codex_names_its_window() -> None:
    usage = {"input_tokens": 9_000, "output_tokens": 50}

    def rollout(window: Any) -> Transcript:
        count = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": window}
        return api.loads(
            as_lines([
                codex_record("turn_context", model="gpt-5.5"),
                codex_record("response_item", **message("user", "Go.")),
                codex_record("response_item", **message("assistant", "Done.")),
                codex_record("event_msg", type="token_count", info=count),
            ]),
            format="codex",
        )  # fmt: skip

    assert sized(rollout(258_400)) == (258_400, NAMED)
    for wrong in (None, 0, -1, "258400", True):
        assert sized(rollout(wrong)) == (1_000_000, "price table")


def test_kimi_code_compacts_by_itself() -> None:
    usage = {"inputOther": 80_000, "inputCacheRead": 0, "inputCacheCreation": 0, "output": 227}

    def log(source: str) -> Transcript:
        records = [
            kimi_logs.HEADER,
            kimi_logs.said("Go."),
            {"type": "llm.request", "model": "deepseek-v4-flash", "time": 2},
            kimi_logs.event("step.begin", uuid="s1"),
            kimi_logs.part("s1", "Done."),
            kimi_logs.event("step.end", uuid="s1", usage=usage),
            {"type": "full_compaction.begin", "source": source, "time": 3},
            {"type": "context.apply_compaction", "summary": "So far.", "compactedCount": 2, "tokensBefore": 1},
        ]
        return api.loads(as_lines(records), format="kimi")

    assert sized(log("auto")) == (128_000, compacted_at(80_227))
    assert sized(log("manual")) == (1_000_000, "price table")


def test_opencode_compacts_by_itself() -> None:
    tokens = {"input": 105_000, "output": 7_045, "cache": {"read": 534, "write": 0}}

    def export(*, auto: bool) -> Transcript:
        return opencode_exports.export(
            opencode_exports.message(0, "user", opencode_exports.text("Go.")),
            opencode_exports.message(1, "assistant", opencode_exports.text("Done."), modelID=OPUS, tokens=tokens),
            opencode_exports.message(2, "user", {"type": "compaction", "auto": auto}, modelID=OPUS),
        )

    assert sized(export(auto=True)) == (128_000, compacted_at(112_579))
    assert sized(export(auto=False)) == (1_000_000, "price table")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "home", tmp_path / "cache")


def test_every_command_has_the_same_window_and_use(machine: Machine) -> None:
    path = machine.claude_code("aaaa-bbbb-cccc", *session())
    checked = condense("check", path, "--json", env=machine.env).json
    expected = {
        "tokens": 200_000,
        "percent": checked["percent"],
        "used": checked["used"]["total"],
        "source": "recorded usage",
        "tokens_source": compacted_at(168_483),
    }
    assert checked["window"] == {"tokens": 200_000, "source": compacted_at(168_483)}
    inspected = condense("inspect", path, "--json", env=machine.env).json
    assert inspected["window"] == expected
    assert machine.rows()[0]["window"] == expected
    assert machine.rows()[0]["window"] == expected  # From the cache as well.
    estimated = condense("estimate", path, "--json", env=machine.env).json
    assert estimated["prices"]["window"] == 200_000
    shown = condense("inspect", path, env=machine.env).text
    assert f"of a context window of 200,000 tokens ({compacted_at(168_483)})" in " ".join(shown.split())
    assert condense("check", path, "--json", "-m", f"{OPUS}[1m]").json["window"]["tokens"] == 1_000_000


def test_a_profile_says_it_to_all(machine: Machine) -> None:
    path = machine.claude_code("aaaa-bbbb-cccc", *session())
    own = machine.home / ".config" / "condense"
    own.mkdir(parents=True)
    profile = {"api": "anthropic", "model": OPUS, "context_window": 90_000}
    (own / "condense.yaml").write_text(json.dumps({"profiles": {"mine": profile}}))
    windows = [condense(command, path, "--json", env=machine.env).json["window"] for command in ("check", "inspect")]
    assert [window["tokens"] for window in [*windows, machine.rows()[0]["window"]]] == [90_000] * 3
