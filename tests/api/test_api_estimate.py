"""Arguments that `estimate` of the Python API passes on, and errors for other values than transcripts."""

import json
from datetime import UTC
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from build import anthropic, conversation, one_pass
from helpers import condense
from msgspec.structs import replace
from provided import Mine

from condense_cli import api, formats
from condense_cli.api import estimating, evaluating
from condense_cli.config.loading import load_preset, parse_configuration
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Transcript
from condense_cli.errors import CondenseError, UsageError
from condense_cli.passes.condensation import RunError
from condense_cli.passes.context import Context
from condense_cli.plugins import Installed
from condense_cli.providers.registry import Registry
from condense_cli.report import costs
from condense_cli.report.sections import to_json
from condense_cli.tokens.counting import Counter, encoding_for
from condense_cli.tokens.factor import factor_of
from condense_cli.window import use as sizing
from condense_cli.window.decision import WindowFlags, signs_of
from condense_cli.window.decision import window_of as window_of_model

NAMES = ["speed", "lossless"]


def talk(turns: int = 3) -> Transcript:
    return anthropic(*conversation(turns))


class Handed:
    """Values that the report was built from, calls of condense, and questions for a price."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.built: dict[str, Any] = {}
        self.condensed: list[dict[str, Any]] = []
        self.priced: list[Any] = []
        self.error: RunError | None = None

        def build(transcript: Transcript, condensations: Any, **options: Any) -> str:
            self.built = {"transcript": transcript, "condensations": list(condensations), **options}
            return "the estimate"

        def condense(transcript: Transcript, configuration: Configuration, **options: Any) -> Any:
            self.condensed.append({"transcript": transcript, "configuration": configuration, **options})
            return SimpleNamespace(by=configuration.name or configuration.provider, error=self.error)

        def of(model: str | None, when: Any, *, lives_hour: bool) -> str:
            self.priced += [model, when.tzinfo]
            return "the prices"

        monkeypatch.setattr(estimating, "build", build)
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
    assert [(name, result.by, used) for name, result, used in built["condensations"]] == [
        (name, name, ()) for name in NAMES
    ]
    assert (built["count"].encoding, built["count"].counter) == ("cl100k_base", "tiktoken")
    assert built["encoding"] == encoding_for("gpt-4", "tiktoken")
    assert built["overhead"] == (123, "option")
    assert (built["source"], built["price_source"], built["warnings"]) == ("", "the prices", ())
    assert built["kept"] is None
    assert asked.priced == ["gpt-4", UTC]
    assert (built["target"], asked.condensed[0]["registry"]) == (None, asked.condensed[1]["registry"])
    expected = {
        "transcript": built["transcript"],
        "target_tokens": None,
        "counter": built["count"],
        "factor": built["factor"],
        "summarizer": None,
        "proves": False,
    }
    for each in asked.condensed:
        assert isinstance(each.pop("registry"), Registry)
    assert asked.condensed == [{"configuration": load_preset(name), **expected} for name in NAMES]


def test_without_anything_all_presets_are_estimated_as_the_transcript_says(asked: Handed) -> None:
    transcript = talk()
    estimating.estimate(transcript)
    assert len(asked.condensed) > 4
    assert asked.built["transcript"] is transcript
    assert asked.built["factor"] == factor_of(transcript, Counter())
    assert asked.built["count"].counter == "built-in"


@pytest.mark.parametrize(("reason", "said"), [("why", ("why",)), ("", ())])
def test_with_quality_it_is_measured_here(
    reason: str, said: tuple[str, ...], asked: Handed, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def kept_here(transcript: Transcript, ways: Any, *, count: Counter, target: Any, registry: Registry) -> Any:
        given.extend((transcript, [name for name, _ in ways], [each.name for _, each in ways], count, target, registry))
        return "kept here", reason

    monkeypatch.setattr(evaluating, "kept_here", kept_here)
    transcript = talk()
    estimating.estimate(transcript, presets=NAMES, quality=True)
    assert given == [transcript, NAMES, NAMES, asked.built["count"], None, asked.condensed[0]["registry"]]
    assert (asked.built["kept"], asked.built["warnings"]) == ("kept here", said)


BY_A_MODEL = {
    "passes": [
        one_pass(individual_config={"defaults": {"tool_results": {"operation": "summarize"}}}),
    ]
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("given", "flags"),
    [
        ({"presets": ["quality"], "profile": "gpt-4o-mini"}, ["quality", "--profile", "gpt-4o-mini"]),
        ({"providers": ["truncation"], "target_tokens": "2k"}, ["--provider", "truncation", "--target-tokens", "2k"]),
        ({"presets": ["speed"], "target_percent": "40%"}, ["speed", "--target-percent", "40"]),
        ({"presets": ["speed", "speed"]}, ["speed"]),
        ({}, []),
        (
            {"presets": ["cost"], "providers": ["native", "truncation"], "target_tokens": "2k"},
            ["cost", "--provider", "native", "--provider", "truncation", "--target-tokens", "2k"],
        ),
        (
            {"presets": ["speed"], "target_percent": 60, "quality": True},
            ["speed", "--target-percent", "60", "--quality"],
        ),
        ({"presets": ["quality"], "allow_calls": True}, ["quality", "--allow-calls"]),
        ({"presets": ["quality"], "profile": "offline"}, ["quality", "--profile", "offline"]),
    ],
)
def test_an_estimate_is_that_of_the_command(given: dict[str, Any], flags: list[str], tmp_path: Path) -> None:
    path = tmp_path / "talk.json"
    path.write_bytes(api.dump(talk(9)))
    told = condense("estimate", path, *flags, "--json").json
    found = json.loads(to_json(estimating.estimate(api.load(path), **given)))
    if not given.keys() & {"profile", "allow_calls"}:  # The command tells that nothing permits a call, and who writes.
        told["warnings"] = [said for said in told["warnings"] if "without a model" not in said]
        for option in told["presets"]:
            option["summaries"] = []
    assert found == {**told, "input": ""}


def test_configurations_are_estimated_by_the_name_to_show(tmp_path: Path) -> None:
    path, config = tmp_path / "talk.json", tmp_path / "mine.json"
    path.write_bytes(api.dump(talk(9)))
    config.write_text(json.dumps(BY_A_MODEL))
    mine = parse_configuration(json.dumps(BY_A_MODEL))
    found = estimating.estimate(api.load(path), configurations={"mine": mine}, profile="gpt-4o-mini")
    (told,) = condense("estimate", path, config, "--profile", "gpt-4o-mini", "--json").json["presets"]
    (option,) = found.presets
    assert json.loads(to_json(option)) == {**told, "preset": "mine"}
    (used,) = option.summaries
    assert (used.profile, used.planned, used.calls) == ("gpt-4o-mini", True, 9)


def test_a_provider_that_was_registered_is_estimated_and_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    registry.register(Mine)
    transcript = talk()
    (option,) = estimating.estimate(transcript, providers=["mine"], registry=registry).presets
    assert (option.preset, option.saved > 0) == ("mine", True)
    case: Any = SimpleNamespace(before=transcript, count=Counter())

    def measure(transcript: Transcript, ways: Any, **options: Any) -> Any:
        (_, as_is) = ways[0].as_is[0]
        assert as_is(case) != transcript.messages
        raise UsageError("Measured.")

    monkeypatch.setattr(evaluating, "_evaluate", measure)
    with pytest.raises(UsageError, match="Measured"):
        estimating.estimate(transcript, providers=["mine"], registry=registry, quality=True)


def test_what_stopped_a_provider_is_a_warning(asked: Handed) -> None:
    asked.error = RunError("speed", "ValueError", "it is late")
    estimating.estimate(talk(), presets=NAMES)
    assert asked.built["warnings"] == ("Provider speed failed: ValueError: it is late.",)


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"profile": "gpt-4o-mni"}, "There is no profile 'gpt-4o-mni'.", "Did you mean gpt-4o-mini?"),
        ({"providers": ["nativ"]}, "There is no provider named 'nativ'.", "Did you mean native?"),
        ({"presets": ["sped"]}, "There is no preset named 'sped'.", "speed"),
        (
            {"target_tokens": 9, "target_percent": 5},
            "target_tokens and target_percent cannot be used together.",
            "Use only one.",
        ),
        ({"target_percent": 100}, "target_percent must be more than 0 and less than 100, not 100.", ""),
        ({"target_tokens": 0}, "target_tokens cannot be 0.", "Give a whole number from 1"),
        ({"configurations": {"mine": {}}}, "configurations cannot be {'mine': {}}.", "Give a dict from names"),
        ({"preset": "speed"}, "estimate has no argument 'preset'.", "Give presets=['speed']."),
        ({"provider": "native"}, "estimate has no argument 'provider'.", "Give providers=['native']."),
        ({"configuration": {}}, "estimate has no argument 'configuration'.", "Give configurations={'mine': ...}."),
    ],
)
def test_mistakes_in_what_is_estimated(given: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(CondenseError) as caught:
        estimating.estimate(talk(), **given)
    assert caught.value.message == message
    assert hint in caught.value.hint


def test_the_window_is_that_of_the_model_and_of_what_the_transcript_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    real = window_of_model

    def window_of(*arguments: Any) -> Any:
        given.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(sizing, "window_of", window_of)
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


@pytest.mark.parametrize("given", ["speed", Path("mine.yaml")])
def test_a_name_in_place_of_a_configuration(given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        api.condense(talk(), given)
    assert caught.value.message == f"A configuration is needed, not the name or path '{given}'."
    assert caught.value.hint == f"Give it as preset='{given}'."


@pytest.mark.parametrize("given", ["session.jsonl", None])
def test_something_else_in_place_of_a_transcript(given: Any) -> None:
    with pytest.raises(UsageError) as caught:
        api.restore(given)
    assert caught.value.message == f"A transcript is needed, not a {type(given).__name__}."
    assert "reads a file" in caught.value.hint


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
