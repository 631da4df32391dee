"""Options as classes, and flags of one run that change the configuration: what a run then leaves alone."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import build
import pytest
from helpers import condense_process
from summarizers import Short

import condense_cli
from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration
from condense_cli.config.options import COMMON, OUTPUT, Flag, Options, Overrides, in_groups, options_of, target, tokens
from condense_cli.config.overrides import apply, overrides_from
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ExitStatus


class Sizes(Options, group="Sizes"):
    limit: Annotated[int | None, Flag("The limit.", metavar="N", parse=tokens)] = None
    names: Annotated[tuple[str, ...], Flag("Names.", name="--name", short="-n")] = ()


class Shown(Options, group=OUTPUT):
    brief: Annotated[bool, Flag("Say less.")] = False


class Both(Shown, Sizes, group=COMMON):
    file: Annotated[str, Flag("The file.", is_argument=True)]
    last: Annotated[bool, Flag("The last one.", group="Others")] = False
    limit: Annotated[int, Flag("Another limit."), "Others"] = 3


def test_a_class_has_its_own_options_first_and_then_those_of_its_bases() -> None:
    assert [option.name for option in options_of(Both)] == ["file", "last", "limit", "brief", "names"]


def test_the_group_is_that_of_the_flag_or_the_class() -> None:
    groups = {option.name: option.group for option in options_of(Both)}
    assert groups == {"file": COMMON, "last": "Others", "limit": "Others", "brief": OUTPUT, "names": "Sizes"}
    assert [*in_groups(options_of(Both))] == [COMMON, OUTPUT, "Others", "Sizes"]


def test_flags_are_named_by_their_field_unless_they_have_a_name() -> None:
    assert Flag("x").names("target_tokens") == ["--target-tokens"]
    assert Flag("x", name="--name", short="-n").names("names") == ["--name", "-n"]


def test_values_have_their_defaults_and_lists_become_tuples() -> None:
    options = Both(file="a", names=["x"])  # type: ignore[arg-type]
    assert (options.file, options.limit, options.names, options.brief) == ("a", 3, ("x",), False)
    assert Both(file="a", names=None).names == ()  # type: ignore[arg-type]


def test_values_are_frozen_and_compared_by_their_fields() -> None:
    one = Both(file="a")
    with pytest.raises(AttributeError, match="frozen"):
        one.file = "b"  # type: ignore[misc]
    assert one == Both(file="a") != one.replace(last=True)
    assert hash(one) == hash(Both(file="a"))
    assert one.part(Sizes) == Sizes(limit=3)


@pytest.mark.parametrize("given", [{}, {"file": "a", "size": 3}])
def test_what_is_missing_or_unknown_is_named(given: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="size" if given else "file"):
        Both(**given)


def test_the_arguments_of_the_api_are_the_options_that_change_a_configuration() -> None:
    arguments = inspect.signature(condense_cli.overrides_from).parameters
    assert {*arguments} == {option.name for option in options_of(Overrides)}


ALL: dict[str, Any] = {"selection": {"type": "custom"}}


def changed(configuration: Configuration, **flags: Any) -> list[int]:
    """Messages of a small conversation that a run with these flags changes."""
    transcript = build.anthropic(*build.conversation(4))
    result = api.condense(transcript, apply(configuration, overrides_from(**flags)))
    return sorted({receipt.message for receipt in result.changes})


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("60000", 60_000), ("60k", 60_000), ("1.5M", 1_500_000), ("1.001M", 1_001_000), ("60,000", 60_000)],
)
def test_a_number_of_tokens_is_written_as_people_write_it(text: str, tokens: int) -> None:
    assert target(text) == tokens


@pytest.mark.parametrize("text", ["", "0", "-5", "k", "1.5", "1,5M", "60 k", "50%", "٣k", "1e3"])
def test_what_is_no_number_of_tokens_is_told_how_to_write_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"60k.*--target-percent"):
        target(text)


@pytest.mark.parametrize("preset", preset_names())
def test_without_flags_the_configuration_stays(preset: str) -> None:
    assert apply(load_preset(preset), Overrides()) == load_preset(preset)


def test_keep_recent_replaces_what_every_pass_preserves() -> None:
    selections = [
        {"type": "preserve_recent", "keep_recent_count": 9},
        {"type": "preserve_percent", "keep_percentage": 30, "roles": ["user"]},
        {"type": "custom", "regex": "x"},
    ]
    before = build.configuration(
        *(build.one_pass(id=str(number), selection=each) for number, each in enumerate(selections))
    )
    after = apply(before, Overrides(keep_recent=2))
    said = [
        (each.selection.type, each.selection.keep_recent_count, each.selection.keep_percentage) for each in after.passes
    ]
    assert said == [("preserve_recent", 2, None)] * 3
    assert [each.selection.roles for each in after.passes] == [None, ("user",), None]
    assert after.passes[2].selection.regex == "x"
    assert before.passes[0].selection.keep_recent_count == 9


@pytest.mark.parametrize(("count", "messages"), [(1, [2, 4, 6, 8]), (4, [2, 4]), (50, [])])
def test_keep_recent_leaves_the_newest_alone(count: int, messages: list[int]) -> None:
    assert changed(build.configuration(build.one_pass(**ALL)), keep=[f"last:{count}"]) == messages


def test_the_target_replaces_either_target() -> None:
    before = build.configuration(build.one_pass(), target_reduction_percent=50)
    after = apply(before, Overrides(target_tokens=7))
    assert (after.target_tokens, after.target_reduction_percent) == (7, None)


NATIVE: Configuration = build.configuration(provider="native")


# Flags bind the provider that writes one summary as they bind passes.
def test_flags_bind_the_provider_native() -> None:
    transcript = build.anthropic(*build.conversation(8))
    whole = range(1, 15)
    assert _summarized(transcript) == [*whole]
    assert _summarized(transcript, keep=["last:9"]) == [*range(1, 9)]
    assert _summarized(transcript, keep=["not:3:7"]) == [*range(3, 7)]
    assert _summarized(transcript, keep=["/file2/"]) == [index for index in whole if index not in (5, 6)]
    assert _summarized(transcript, keep=["tool:Read"]) == []
    assert _summarized(transcript, lossless_only=True) == []


def _summarized(transcript: Transcript, **flags: Any) -> list[int]:
    result = api.condense(transcript, NATIVE, overrides=overrides_from(**flags), summarizer=Short())
    return sorted(
        {receipt.message for receipt in result.changes if receipt.operation == "summarize" and receipt.block >= 0}
    )


# --- On the command line ----------------------------------------------------------------------------------------------


def changed_by_run(file: Path, *flags: str) -> list[int]:
    done = condense_process("run", file, "-p", "speed", "--json", "--explain", *flags)
    assert done.status == ExitStatus.DONE, done.stderr
    return sorted({entry["message"] for entry in json.loads(done.stdout)["changes"] if entry["changed"]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        ([], [2, 4, 6, 8, 10, 12]),
        (["--keep", "last:9"], [2, 4, 6, 8]),
        (["--keep", "not:-12:8"], [6]),
        (["--keep", "not:3:-8"], [4, 6, 8]),
        (["--keep", "not:tool:Bash"], []),
        (["--keep", "tool:r*d"], []),
        (["--keep", "/^2: line 1 /", "--keep", "/^4: line 1 /"], [2, 6, 10, 12]),
    ],
)
def test_run_takes_the_flags(file: Path, flags: list[str], messages: list[int]) -> None:
    assert changed_by_run(file, *flags) == messages


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "flags",
    [["--keep", "not:x"], ["--keep", "/[/"], ["--keep", "last:-1"], ["--keep", "not:tool:"], ["--keep", "tool: "]],
)
def test_bad_values_are_usage_errors_and_nothing_is_written(file: Path, flags: list[str]) -> None:
    done = condense_process("run", file, "-o", file.parent / "out.jsonl", *flags)
    assert done.status == ExitStatus.USAGE
    assert flags[0] in done.stderr
    assert "Traceback" not in done.stderr
    assert not (file.parent / "out.jsonl").exists()
