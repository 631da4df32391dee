"""`condense providers`: the comparison, its figures, and one provider with its settings."""

import io
import json
import re
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
import real
from helpers import condense, condense_on_terminal
from provided import Package
from real import PROJECT
from rich.console import Console

from condense_cli import api
from condense_cli.config.models import TruncationConfig
from condense_cli.errors import ExitStatus
from condense_cli.providers.base import Capabilities, Provider
from condense_cli.providers.registry import BUILT_IN, Registry
from condense_cli.report.lists.providers import comparison, description, facts_of, measured, options_of
from condense_cli.report.sections import Part
from condense_cli.report.terminal import render

BENCHMARKS = PROJECT / "benchmarks"
IDS = [provider.id for provider in BUILT_IN]
FEATURES = (
    "speed",
    "token reduction",
    "information loss",
    "API cost",
    "lossless phase",
    "threshold-based",
    "summaries",
    "multi-pass",
    "fallback",
)


@pytest.mark.parametrize("arguments", [[], ["list"]])
def test_the_table_compares_every_provider(arguments: list[str]) -> None:
    done = condense("providers", *arguments)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    header, *lines = done.text.splitlines()
    assert header.split() == IDS
    assert tuple(line[:17].rstrip() for line in lines[: len(FEATURES)]) == FEATURES
    assert re.search(r"information loss +0–\d+% +none ", done.text)
    printed = " ".join(done.text.split())
    for provider in BUILT_IN:
        assert f"{provider.name}. Best for {provider.best_for}." in printed
    assert f"Measured on {measured().date} with {measured().transcripts} recorded sessions" in printed


@pytest.mark.sampled(1)
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_the_table_fits(columns: int) -> None:
    for arguments in ([], ["show", "smart"]) if columns >= 80 else ([],):
        done = condense_on_terminal("providers", *arguments, columns=columns)
        assert done.status == ExitStatus.DONE
        assert b"\x1b[2m" in done.stdout
        assert max(map(len, done.plain.splitlines())) <= columns
        assert "…" not in done.plain


def test_the_list_as_json() -> None:
    found = json.loads(condense("providers", "list", "--json").stdout)
    assert found["version"] == 1
    assert found["measured"]["transcripts"] == measured().transcripts
    assert [entry["id"] for entry in found["providers"]] == IDS
    assert [entry["id"] for entry in found["providers"] if entry["default"]] == ["smart"]
    for entry, provider in zip(found["providers"], BUILT_IN, strict=True):
        assert entry["capabilities"] == msgspec.to_builtins(provider.capabilities)
        assert entry["origin"] == "built in"
        assert entry["measured"]["saved_percent"][1] > 0


@pytest.mark.parametrize("provider", BUILT_IN, ids=lambda provider: provider.id)
def test_show_names_every_setting(provider: Any) -> None:
    done = condense("providers", "show", provider.id)
    words = done.text.split()
    for option in options_of(provider.settings):
        assert option.key.rpartition(".")[2] in words
    assert f"condense run FILE --provider {provider.id} --set {provider.example}" in done.text
    found = json.loads(condense("providers", "show", provider.id, "--json").stdout)
    assert [option["key"] for option in found["options"]] == [option.key for option in options_of(provider.settings)]
    assert found["schema"] == json.loads(json.dumps(provider.schema()))


def test_settings_have_their_defaults_and_what_they_take() -> None:
    options = {option.key: (option.default, option.takes) for option in options_of(TruncationConfig)}
    assert options["truncation_mode"] == ("truncate", "suppress or truncate")
    assert options["max_tool_result_lines"] == (5, "whole number, 1 or more")
    assert options["preserve_user_messages"] == (True, "true or false")
    smart = {option.key: (option.default, option.takes) for option in options_of(BUILT_IN[0].settings)}
    assert smart["lossless_prelude.enabled"] == (False, "true or false")
    assert smart["lossy_phase.target_reduction_percent"] == (50, "number above 0 and below 100")
    assert smart["fallback_phase.multi_pass.max_passes"] == (3, "whole number from 1 to 20")


def printed(parts: Iterable[Part], width: int) -> list[str]:
    screen = Console(width=width, file=io.StringIO())
    with screen.capture() as captured:
        for part in render(parts, width):
            screen.print(part)
    return captured.get().splitlines()


# A package may say little of its provider, and its settings may all be long.
@pytest.mark.parametrize("width", [40, 80])
def test_a_provider_of_a_package(width: int) -> None:
    class Named(msgspec.Struct, frozen=True):
        pattern: str = "^(error|warning)"

    class Quiet(Provider[Named]):
        id = "quiet"
        name = "Says little"
        description = "Cuts results."
        capabilities = Capabilities(lossy=True)
        settings = Named

    entry = Registry(installed=Package({"quiet": Quiet})).entry("quiet")
    facts = facts_of(entry, measured(), "smart")
    shown = printed(description(entry, facts), width)
    assert "pattern" in " ".join(shown)
    assert "by default ^(error|warning)" in " ".join(" ".join(shown).split())
    listed = printed(comparison([facts], measured()), width)
    assert "quiet  Says little." in listed
    assert not any("est for" in line for line in [*shown, *listed])


# What an example shows works.
@pytest.mark.slow
@pytest.mark.parametrize("provider", BUILT_IN, ids=lambda provider: provider.id)
def test_examples_work(provider: Any) -> None:
    sample = BENCHMARKS.parent / "sample_transcripts" / "bugfix-session.jsonl"
    done = condense("run", sample, "--provider", provider.id, "--set", provider.example, "--json", "--no-config")
    assert done.status == ExitStatus.DONE, done.stderr


def test_an_unknown_provider() -> None:
    done = condense("providers", "show", "smrt")
    assert done.status == ExitStatus.USAGE
    assert "Did you mean smart?" in done.message


# They are of recorded sessions; the benchmark that wrote them measures every provider.
@pytest.mark.slow
def test_the_figures_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import providers as benchmark

    found, stored = benchmark.measure([api.load(real.SESSION)], rounds=1), measured()
    assert (found.transcripts, stored.transcripts > 50) == (1, True)
    assert found.providers.keys() == stored.providers.keys()
    for id, figures in found.providers.items():
        low, high = stored.providers[id].saved_percent
        assert 0 <= low < figures.saved_percent[0] == figures.saved_percent[1] < high + 10
    sys.modules.pop("providers")
