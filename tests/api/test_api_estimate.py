"""What `estimate` of the Python API hands on, and the errors of what is given in place of a transcript."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from build import anthropic, conversation
from msgspec.structs import replace

from condense_cli import api, formats
from condense_cli.core.factor import factor_of
from condense_cli.core.tokens import Counter, encoding_for
from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError, UsageError
from condense_cli.measuring import estimating
from condense_cli.money.windows import signs_of
from condense_cli.passes.context import Context
from condense_cli.plugins import Installed
from condense_cli.providers.registry import Registry
from condense_cli.providers.window import WindowFlags
from condense_cli.providers.window import window_of as window_of_model
from condense_cli.report.costs import facts as costs
from condense_cli.report.estimate import facts as facts

NAMES = ["speed", "lossless"]


def talk() -> Transcript:
    return anthropic(*conversation(3))


class Handed:
    """What the report was built from, what was condensed, and of what the price was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.built: dict[str, Any] = {}
        self.condensed: list[dict[str, Any]] = []
        self.priced: list[Any] = []

        def build(transcript: Transcript, condensations: Any, **options: Any) -> str:
            self.built = {"transcript": transcript, "condensations": list(condensations), **options}
            return "the estimate"

        def condense(transcript: Transcript, **options: Any) -> str:
            self.condensed.append({"transcript": transcript, **options})
            return f"condensed with {options['preset']}"

        def of(model: str | None, when: Any, *, lives_hour: bool) -> str:
            self.priced += [model, when.tzinfo]
            return "the prices"

        monkeypatch.setattr(facts, "build", build)
        monkeypatch.setattr(api, "condense", condense)
        monkeypatch.setattr(costs.PriceSource, "of", of)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Handed:
    return Handed(monkeypatch)


def test_what_an_estimate_is_built_from(asked: Handed) -> None:
    found: Any = estimating.estimate(talk(), presets=NAMES, model="gpt-4", overhead_tokens=123, counter="tiktoken")
    assert found == "the estimate"
    built = asked.built
    assert built["transcript"].model == "gpt-4"
    assert built["condensations"] == [(name, f"condensed with {name}", ()) for name in NAMES]
    assert (built["count"].encoding, built["count"].counter) == ("cl100k_base", "tiktoken")
    assert built["encoding"] == encoding_for("gpt-4", "tiktoken")
    assert built["overhead"] == (123, "option")
    assert (built["source"], built["price_source"], built["warnings"]) == ("", "the prices", [])
    assert built["kept"] is None
    assert asked.priced == ["gpt-4", UTC]
    expected = {
        "transcript": built["transcript"],
        "counter": built["count"],
        "factor": built["factor"],
        "proves": False,
    }
    assert asked.condensed == [{"preset": name, **expected} for name in NAMES]


def test_without_anything_all_presets_are_estimated_as_the_transcript_says(asked: Handed) -> None:
    transcript = talk()
    estimating.estimate(transcript)
    assert len(asked.condensed) > 4
    assert asked.built["transcript"] is transcript
    assert asked.built["factor"] == factor_of(transcript, Counter())
    assert asked.built["count"].counter == "built-in"


@pytest.mark.parametrize(("reason", "said"), [("why", ["why"]), ("", [])])
def test_with_quality_it_is_measured_here(
    reason: str, said: list[str], asked: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def kept_here(transcript: Transcript, presets: Any, *, count: Counter) -> Any:
        given.extend((transcript, [name for name, _ in presets], [each.name for _, each in presets], count))
        return "kept here", reason

    monkeypatch.setattr(estimating, "kept_here", kept_here)
    transcript = talk()
    estimating.estimate(transcript, presets=NAMES, quality=True)
    assert given == [transcript, NAMES, NAMES, asked.built["count"]]
    assert (asked.built["kept"], asked.built["warnings"]) == ("kept here", said)


# --- Deciding ---------------------------------------------------------------------------------------------------------


def test_the_window_is_that_of_the_model_and_of_what_the_transcript_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    real = window_of_model

    def window_of(*arguments: Any) -> Any:
        given.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(api, "window_of", window_of)
    transcript = talk()
    api.condense(transcript, {}, model="gpt-4o", if_needed=True, context_window=1_000_000)
    model, _, user, asked, signs = given[0]
    assert (model, user.allow_calls, asked, signs) == (
        "gpt-4o",
        False,
        WindowFlags(window=1_000_000),
        signs_of(replace(transcript, model="gpt-4o")),
    )


def test_what_installed_packages_bring_is_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    registries: list[Any] = []
    contexts: list[Any] = []
    real_registry, real_context = Registry, Context

    def registry(**options: Any) -> Any:
        registries.append(options["installed"])
        return real_registry(**options)

    def context(**options: Any) -> Any:
        contexts.append(options["selectors"])
        return real_context(**options)

    monkeypatch.setattr(api, "Registry", registry)
    monkeypatch.setattr(api, "Context", context)
    api.condense(talk(), {})
    assert isinstance(registries[0], Installed)
    assert contexts == [registries[0].selector]


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["speed", Path("mine.yaml")])
def test_a_name_in_place_of_a_configuration(given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        api.condense(talk(), given)
    assert caught.value.message == f"A configuration is needed, not the name or path '{given}'."
    assert caught.value.hint == f"Give it as preset='{given}'."


@pytest.mark.parametrize("given", ["session.jsonl", [], None])
def test_something_else_in_place_of_a_transcript(given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        api.restore(given)
    assert caught.value.message == f"A transcript is needed, not a {type(given).__name__}."
    assert caught.value.hint == "load(path) reads a file, loads(messages) a list of messages."


def test_a_result_in_place_of_a_transcript() -> None:
    for given in (api.condense(talk(), {}), api.restore(talk())):
        with pytest.raises(UsageError) as caught:
            api.restore(given)  # type: ignore[arg-type]
        assert caught.value.message == f"A transcript is needed, not a {type(given).__name__}."
        assert caught.value.hint == "Give its .transcript."


def test_what_cannot_be_unpacked_is_named(tmp_path: Path) -> None:
    torn = b"\x1f\x8b\x08\x00 not gzip"
    path = tmp_path / "torn.jsonl.gz"
    path.write_bytes(torn)
    with pytest.raises(CondenseError, match=r"torn\.jsonl\.gz"):
        api.load(path)
    with pytest.raises(CondenseError, match=r"\binput\b"):
        api.loads(torn)


def test_a_conversion_is_read_as_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    real = formats.parse

    def parse(data: bytes, **options: Any) -> Any:
        given.append(options)
        return real(data, **options)

    monkeypatch.setattr(formats, "parse", parse)
    api.convert(talk(), "openai-chat")
    assert {"format": "openai-chat"} in given
