"""Options as classes, and flags of one run that change the configuration: what a run then leaves alone."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any

import build
import pytest
from helpers import condense_process
from hypothesis import assume, given
from hypothesis import strategies as st
from summarizers import Short

import condense_cli
from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import Configuration, Globs, Predicates
from condense_cli.config.options import (
    COMMON,
    OUTPUT,
    Flag,
    Options,
    Overrides,
    in_groups,
    options_of,
    parse_range,
    target,
    tokens,
)
from condense_cli.config.overrides import apply, overrides_from
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.transcript import Transcript
from condense_cli.errors import ExitStatus, UsageError
from condense_cli.passes.flags import name_flags


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


@pytest.mark.parametrize(("count", "messages"), [(0, [2, 4, 6, 8]), (4, [2, 4]), (50, [])])
def test_keep_recent_leaves_the_newest_alone(count: int, messages: list[int]) -> None:
    assert changed(build.configuration(build.one_pass(**ALL)), keep_recent=count) == messages


@pytest.mark.parametrize(
    ("text", "start", "end", "messages"),
    [
        ("2:5", 2, 5, [2, 4]),
        (":4", 0, 4, [2]),
        ("4:", 4, None, [4, 6, 8]),
        (":", 0, None, [2, 4, 6, 8]),
        ("-3:", -3, None, [8]),
        ("2:-2", 2, -2, [2, 4, 6]),
        (" +2 : 3 ", 2, 3, [2]),
    ],
)
def test_a_range_chooses_messages_as_python_does(text: str, start: int, end: int | None, messages: list[int]) -> None:
    assert parse_range(text) == (start, end)
    assert changed(build.configuration(build.one_pass(**ALL)), range=text) == messages


# The flag narrows a range of the configuration; it never opens what the configuration left out.
@given(*[st.one_of(st.none(), st.integers(-12, 12))] * 4)
def test_a_range_and_the_range_of_a_pass_both_hold(a: int | None, b: int | None, c: int | None, d: int | None) -> None:
    own = {"start": a or 0, "end": b}
    assume(d != 0 and (d is None or (c or 0) < d or ((c or 0) < 0) != (d < 0)))  # Else it is refused.
    configuration = build.configuration(build.one_pass(selection={"type": "custom", "range": own}))
    everything = list(range(10))
    wanted = set(everything[a or 0 : b]) & set(everything[c or 0 : d])
    flag = Overrides(range=f"{c or 0}:{'' if d is None else d}")
    result = api.condense(build.anthropic(*build.conversation(4)), apply(configuration, flag))
    assert {receipt.message for receipt in result.changes} == wanted & {2, 4, 6, 8}


@pytest.mark.parametrize("text", ["", "5", "a:b", "1:2:3", "1.5:2", "--5:", "5:5", "5:2", "-2:-5", ":0", "-3:0", "²:"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--range"):
        parse_range(text)


def tool_blocks(configuration: Configuration, **flags: Any) -> set[tuple[str | None, str]]:
    """Tools and kinds of the blocks that a run with these flags changes; a None is text."""
    words = "some words and more " * 30
    messages = [build.user("Go."), build.assistant(words)]
    for number, tool in enumerate(("Read", "Bash", "mcp__db__query")):
        call = build.call(f"toolu_{number}", tool, command=words)
        messages += [build.user(words), build.assistant([call]), build.user([build.result(f"toolu_{number}")])]
        messages += [build.assistant(words)]
    result = api.condense(build.anthropic(*messages), apply(configuration, overrides_from(**flags)))
    return {(receipt.tool, receipt.kind.value) for receipt in result.changes if receipt.kind}


def everything_cut(*tools: dict[str, list[str]] | None) -> Configuration:
    """A pass for each of these selections by tool that suppresses whatever it may."""
    names = ("message_text", "tool_parameters", "tool_results")
    defaults = {"defaults": {name: {"operation": "suppress"} for name in names}}
    selections = [{"type": "custom", **({"tools": each} if each else {})} for each in tools]
    return build.configuration(
        *({"id": str(n), "selection": each, "individual_config": defaults} for n, each in enumerate(selections))
    )


def both(*tools: str) -> set[tuple[str | None, str]]:
    return {(tool, kind) for tool in tools for kind in ("tool_call", "tool_result")}


TEXT: set[tuple[str | None, str]] = {(None, "text")}


@pytest.mark.parametrize(
    ("own", "only", "wanted"),
    [
        ((None,), ["read"], both("Read")),
        ((None,), ["mcp__*", "Bash"], both("Bash", "mcp__db__query")),
        (({"exclude": ["Read"]},), ["Read", "Bash"], both("Bash")),
        (({"include": ["Read"]},), ["Bash"], set()),
        (({"include": ["Read", "Bash"]},), ["Bash", "mcp__*"], both("Bash")),
        ((None, {"include": ["Read"]}), ["Bash"], both("Bash")),
    ],
)
def test_only_blocks_of_the_named_tools_change(
    own: tuple[Any, ...], only: list[str], wanted: set[tuple[str | None, str]]
) -> None:
    assert tool_blocks(everything_cut(*own), only_tools=only) == wanted


@pytest.mark.parametrize(
    ("own", "without", "wanted"),
    [
        ((None,), [], both("Read", "Bash", "mcp__db__query") | TEXT),
        ((None,), ["mcp__*"], both("Read", "Bash") | TEXT),
        ((None,), ["read", "BASH"], both("mcp__db__query") | TEXT),
        (({"include": ["Read", "Bash"]},), ["Read"], both("Bash")),
    ],
)
def test_blocks_of_excepted_tools_stay(
    own: tuple[Any, ...], without: list[str], wanted: set[tuple[str | None, str]]
) -> None:
    assert tool_blocks(everything_cut(*own), except_tools=without) == wanted


BATCH: dict[str, Any] = {
    "mode": "batch",
    "batch_config": {"operation": "summarize", "summarization_config": {"keep_first": 0, "keep_last": 0}},
    **ALL,
}


# One summary takes whole messages: those that hold anything else stay, with the other half of the exchange.
@pytest.mark.parametrize("prelude", [True, False])
@pytest.mark.parametrize(
    ("own", "only", "wanted"),
    [
        ({}, ["read"], [1, 2, 9, 10]),
        ({}, ["Bash"], []),
        ({}, ["Bash", "Read"], [1, 2, 7, 8, 9, 10]),
        ({"tools": {"include": ["Read"]}}, ["Bash", "Read"], [1, 2, 7, 8, 9, 10]),
        ({"tools": {"include": ["Bash"]}}, ["Read"], []),
        ({"only_tools": ["*"]}, ["Read"], [1, 2, 9, 10]),
    ],
)
def test_only_tools_in_a_summary_of_many_messages(
    prelude: bool, own: dict[str, Any], only: list[str], wanted: list[int]
) -> None:
    def turn(id: str, *calls: dict[str, Any]) -> list[dict[str, Any]]:
        answers = [build.result(call["id"], f"{id}\n{build.LONG}") for call in calls if "id" in call]
        return [build.assistant([build.thinking(), *calls]), build.user(answers)]

    def read(id: str) -> dict[str, Any]:
        return build.call(id, "Read", path=id)

    turns = [
        *turn("a", read("a")),
        *turn("b", build.text("I look."), read("b")),
        *turn("c", build.text("I run it."), build.call("c", "Bash", command="c")),
        *turn("d", read("d"), build.call("e", "Bash", command="e")),
        *turn("f", read("f")),
    ]
    transcript = build.anthropic(build.user("Go."), *turns, build.assistant("Done."))
    before = build.configuration(
        build.one_pass(**BATCH | {"selection": {"type": "custom", **own}}), lossless_prelude={"enabled": prelude}
    )
    result = api.condense(transcript, apply(before, overrides_from(only_tools=only)), summarizer=Short())
    api.dump(result)
    gone = {receipt.message for receipt in result.changes if receipt.operation == "summarize" and receipt.block >= 0}
    assert sorted(gone) == wanted


def test_only_tools_and_except_tools_both_hold() -> None:
    assert tool_blocks(everything_cut(None), only_tools=["*a*"], except_tools=["Bash"]) == both("Read")


def test_pins_are_added_to_those_of_the_configuration() -> None:
    before = build.configuration(build.one_pass(**ALL), pins=[{"roles": ["system"]}])
    after = apply(before, overrides_from(pins=["item 7 ", "TODO"]))
    assert (after.pins, after.keep) == (before.pins, ("/item 7 /", "/TODO/"))
    assert changed(before) == [2, 4, 6, 8]
    assert changed(before, pins=["item 7 "]) == []


@pytest.mark.parametrize("pattern", ["(", "*", "", ".*", "x?", "^"])
def test_a_pin_that_is_none_or_holds_for_everything_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError, match="--pin"):
        overrides_from(pins=[pattern])


@pytest.mark.parametrize(
    ("own", "flags", "said"),
    [
        ({}, {"range": "3:5"}, {"2:0": "outside --range", "3:0": "", "4:0": "", "6:0": "outside --range"}),
        ({"range": {"start": 2}}, {"range": ":-2"}, {"2:0": "", "8:0": "outside --range"}),
        ({}, {"only_tools": ["bash"]}, {"2:0": "not in --only-tools", "9:0": "not in --only-tools"}),
        ({}, {"only_tools": ["read"]}, {"2:0": "", "9:0": "not in --only-tools"}),
        ({"tools": {"include": ["Read"]}}, {"only_tools": ["Bash"]}, {"2:0": "not in --only-tools"}),
        ({}, {"except_tools": ["READ"]}, {"1:0": "in --except-tools", "2:0": "in --except-tools"}),
        ({"tools": {"include": ["Bash"]}}, {"except_tools": ["x"]}, {"2:0": "not selected by the pass"}),
        ({}, {"pins": ["value"]}, {"2:0": "pinned"}),
        ({}, {"range": "0:"}, {"0:0": "part of the user's first request"}),
    ],
)
def test_a_flag_that_leaves_a_block_out_is_named(
    own: dict[str, Any], flags: dict[str, Any], said: dict[str, str]
) -> None:
    """An empty text stands for a reason that has nothing to do with a flag."""
    overrides = overrides_from(**flags)
    configuration = apply(build.configuration(build.one_pass(selection={"type": "custom", **own})), overrides)
    result = name_flags(api.condense(build.anthropic(*build.conversation(4)), configuration), overrides, configuration)
    found = {f"{receipt.message}:{receipt.block}": receipt.why for receipt in result.receipts}
    for place, why in said.items():
        assert found[place] == why if why else "--" not in found[place]


def test_the_target_replaces_either_target() -> None:
    before = build.configuration(build.one_pass(), target_reduction_percent=50)
    after = apply(before, Overrides(target_tokens=7))
    assert (after.target_tokens, after.target_reduction_percent) == (7, None)


def test_except_tools_is_a_pin_on_these_tools() -> None:
    after = apply(build.configuration(build.one_pass()), Overrides(except_tools=("a", "b")))
    assert after.pins == (Predicates(tools=Globs(include=("a", "b"))),)


NATIVE: Configuration = build.configuration(provider="native")


# Flags bind the provider that writes one summary as they bind passes.
def test_flags_bind_the_provider_native() -> None:
    transcript = build.anthropic(*build.conversation(8))
    whole = range(1, 15)
    assert _summarized(transcript) == [*whole]
    assert _summarized(transcript, keep_recent=9) == [*range(1, 9)]
    assert _summarized(transcript, range="3:7") == [*range(3, 7)]
    assert _summarized(transcript, pins=["file2"]) == [index for index in whole if index not in (5, 6)]
    assert _summarized(transcript, except_tools=["Read"]) == []
    assert _summarized(transcript, lossless_only=True) == []
    with pytest.raises(UsageError, match="provider native"):
        _summarized(transcript, only_tools=["Read"])


def _summarized(transcript: Transcript, **flags: Any) -> list[int]:
    result = api.condense(transcript, NATIVE, overrides=overrides_from(**flags), summarizer=Short())
    return sorted(
        {receipt.message for receipt in result.changes if receipt.operation == "summarize" and receipt.block >= 0}
    )


def changed_by_run(file: Path, *flags: str) -> list[int]:
    done = condense_process("run", file, "-p", "speed", "--json", "--explain", *flags)
    assert done.status == ExitStatus.DONE, done.stderr
    return sorted({entry["message"] for entry in json.loads(done.stdout)["changes"] if entry["changed"]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flags", "messages"),
    [
        ([], [2, 4, 6, 8, 10, 12]),
        (["--keep-recent", "9"], [2, 4, 6, 8]),
        (["--range", "-12:8"], [6]),
        (["--range=3:-8"], [4, 6, 8]),
        (["--only-tools", "Bash"], []),
        (["--except-tools", "Bash", "--except-tools", "r*d"], []),
        (["--pin", "^2: line 1 ", "--pin", "^4: line 1 "], [2, 6, 10, 12]),
    ],
)
def test_run_takes_the_flags(file: Path, flags: list[str], messages: list[int]) -> None:
    assert changed_by_run(file, *flags) == messages


def test_a_run_names_the_flag(file: Path) -> None:
    done = condense_process("run", file, "--range", "500:", "--json", "--explain")
    report = json.loads(done.stdout)
    assert "outside --range" in {entry["reason"] for entry in report["changes"]}
    assert any("outside --range" in warning for warning in report["warnings"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "flags",
    [["--range", "x"], ["--pin", "["], ["--keep-recent", "-1"], ["--only-tools", ""], ["--except-tools", " "]],
)
def test_bad_values_are_usage_errors_and_nothing_is_written(file: Path, flags: list[str]) -> None:
    done = condense_process("run", file, "-o", file.parent / "out.jsonl", *flags)
    assert done.status == ExitStatus.USAGE
    assert flags[0] in done.stderr
    assert "Traceback" not in done.stderr
    assert not (file.parent / "out.jsonl").exists()
