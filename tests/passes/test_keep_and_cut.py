"""What is named to be kept is kept, and what is named to be cut is cut: by flags, in configurations, from Python."""

from __future__ import annotations

from typing import Any

import build
import laws
import pytest
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from strategies import anthropic_messages

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.config.models import CUT, Configuration
from condense_cli.config.options import Overrides
from condense_cli.config.overrides import apply, overrides_from
from condense_cli.errors import UsageError
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.selection import meant, why_none

EVERYTHING = {"tool_results": {"operation": "suppress"}, "tool_parameters": {"operation": "suppress"}}
ALL = build.one_pass(selection={"type": "custom"}, individual_config={"defaults": EVERYTHING})


def talk(*more: dict[str, Any]) -> list[dict[str, Any]]:
    """A request; a file that is read and one that is written; a page; words of the user and the agent."""
    return [
        build.user("Find the bug."),
        build.assistant([build.call("a", "Read", file_path="/w/src/pricing.py")]),
        build.user([build.result("a", build.LONG)]),
        build.assistant([build.call("b", "Write", file_path="src/tax.py", content=build.OLD)]),
        build.user([build.result("b", "written")]),
        build.assistant([build.call("c", "WebFetch", url="https://example.com")]),
        build.user([build.result("c", build.LONG.replace("item", "page"))]),
        build.assistant("I see."),
        build.user("No, not so. " + "Always write a test before you change it. " * 20),
        build.assistant("DECISION: we keep it. " * 60),
        build.user("Good."),
        *more,
        build.assistant("Found it."),
    ]


def ran(configuration: Configuration | None = None, **flags: Any) -> Condensation:
    overrides = overrides_from(**flags)
    result = api.condense(build.anthropic(*talk()), configuration or build.configuration(ALL), overrides=overrides)
    api.dump(result)
    return result


def changed(configuration: Configuration | None = None, **flags: Any) -> list[int]:
    return build.changed_messages(ran(configuration, **flags))


NOTHING = build.configuration()
WITHOUT = [2, 3, 6]


def test_without_selectors() -> None:
    assert changed() == WITHOUT
    assert changed(NOTHING) == []


@pytest.mark.parametrize(
    ("selector", "messages"),
    [
        ("2", [3, 6]),
        ("2.0", [3, 6]),
        ("1", [3, 6]),  # The call: its result stays as well.
        ("file:src/pricing.py", [3, 6]),
        (r"/pricing\.py/", [3, 6]),
        ("/item 7 /", [3, 6]),
        ("tool:web*", [2, 3]),
        (":4", [6]),
        ("last:6", [2, 3]),
        ("not:tool:Read", [2]),
        ("file:src/", [6]),
    ],
)
def test_what_is_kept_stays(selector: str, messages: list[int]) -> None:
    assert changed(keep=[selector]) == messages
    assert changed(build.configuration(ALL, keep=[selector])) == messages


@pytest.mark.parametrize(
    ("selector", "messages"),
    [
        ("2", [2]),
        ("3", [3]),
        ("1", [2]),
        ("tool:WebFetch", [6]),
        ("file:src/*.py", [2, 3]),
        ("/DECISION/", [9]),
        ("5:10", [6, 9]),  # What the user wrote stays unless it is named itself.
        ("8", [8]),
        ("8.0", [8]),
        ("not:9", [2, 3, 6]),
        ("0", []),
    ],
)
def test_what_is_cut_is_cut_whatever_the_configuration_does(selector: str, messages: list[int]) -> None:
    assert changed(NOTHING, cut=[selector]) == messages
    assert changed(build.configuration(cut=[selector])) == messages
    assert changed(cut=[selector]) == sorted({*WITHOUT, *messages})


def test_what_is_kept_goes_before_what_is_cut() -> None:
    assert changed(NOTHING, cut=["1:11"], keep=["/page/"]) == [2, 3, 9]


def test_the_newest_turns_that_are_kept_are_not_cut() -> None:
    recent = {"keep": ["last:4"]}
    assert changed(NOTHING, cut=["5:11", "9"], **recent) == [6]
    assert changed(build.configuration(cut=["5:11", "8"]), **recent) == [6]
    said = ran(NOTHING, cut=["9"], **recent).warnings
    assert "--cut 9 cuts nothing: it is among the preserved turns." in said


def test_a_pin_of_a_configuration_holds_for_the_result_of_a_call() -> None:
    assert changed(build.configuration(ALL, pins=[{"regex": r"pricing\.py"}])) == [3, 6]
    assert changed(build.configuration(ALL, pins=[{"regex": r"pricing\.py", "roles": ["assistant"]}])) == WITHOUT


def test_the_newest_turns_that_are_kept_replace_those_of_the_passes() -> None:
    configuration = apply(load_preset("balanced"), Overrides(keep=("last:2", "last:3", "tool:Read")))
    assert {config.selection.keep_recent_count for config in configuration.passes} == {3}
    assert configuration.keep == ("tool:Read",)
    assert apply(configuration, Overrides()) == configuration


def test_a_cut_is_made_within_the_target_too() -> None:
    assert changed(NOTHING, cut=["tool:Read"], target_tokens=1_000_000) == [2]


def test_references_alone_take_the_place_of_no_cut() -> None:
    again = talk(*[message for n in range(4) for message in build.read_turn(f"r{n}", "src/pricing.py")])
    overrides = overrides_from(cut=["9"])
    result = api.condense(build.anthropic(*again), load_preset("balanced"), overrides=overrides)
    assert 9 in build.changed_messages(result)


def test_a_selector_without_effect_is_warned_of() -> None:
    said = ran(keep=["tool:WebFech", "/x{9}/"], cut=["40", "2"]).warnings
    assert "--keep tool:WebFech matches nothing; did you mean tool:WebFetch?" in said
    assert "--keep /x{9}/ matches nothing." in said
    assert "--cut 40 matches nothing; the last message is 11." in said
    assert not any("--cut 2 " in warning for warning in said)


def test_a_cut_of_what_nothing_may_cut_is_warned_of() -> None:
    said = ran(cut=["0"], keep=["/page/"]).warnings
    assert "--cut 0 cuts nothing: it is part of the user's first request." in said
    (several,) = [warning for warning in ran(cut=["0:3"], keep=["1:3"]).warnings if "cuts nothing" in warning]
    assert several.startswith("--cut 0:3 cuts nothing. Blocks kept: ")
    assert {"part of the user's first request (1)", "pinned (2)"} == {
        *several.rstrip(".").split("kept: ")[1].split("; ")
    }


@pytest.mark.parametrize("key", ["keep", "cut"])
def test_a_configuration_that_names_nothing_is_warned_of(key: str) -> None:
    said = ran(build.configuration(ALL, **{key: ["file:src/prcing.py", "tool:mcp__*"]})).warnings
    assert f"{key}: file:src/prcing.py matches nothing; did you mean file:src/pricing.py?" in said
    assert not any("mcp__" in warning for warning in said)  # A pattern is for every session alike.


def test_only_a_cut_that_names_them_takes_words_of_the_user_and_says_so() -> None:
    assert any("the user's own words" in warning for warning in ran(NOTHING, cut=["8"]).warnings)
    assert not any("own words" in warning for warning in ran(NOTHING, cut=["5:10"]).warnings)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"keep": ["WebFetch"]}, "--keep 'WebFetch' is not a selector."),
        ({"cut": ["/(/"]}, "--cut '(' is not a regular expression"),
        ({"cut": ["3"], "lossless_only": True}, "--lossless-only and --cut cannot be used together."),
    ],
)
def test_what_is_no_selector_is_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        overrides_from(**flags)
    assert said in raised.value.message


def test_a_configuration_says_where_a_selector_is_wrong(tmp_path: Any) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("keep:\n  - tool:Read\n  - WebFetch\n")
    run = condense("config", "validate", file)
    assert run.status == 2
    assert f"{file}:3:5" in run.stderr
    assert "tool:WebFetch" in run.stderr


_SOME = st.lists(
    st.sampled_from(["0", "-1", "1.0", "2:5", "last:3", "tool:R*", "file:src/", "/e/", "not:3"]), max_size=2
)


def _check(messages: list[dict[str, Any]], keep: list[str], cut: list[str], preset: str) -> None:
    transcript = build.anthropic(*messages)
    text = {"keep": keep, "cut": cut, "preset": preset}
    configuration = build.configuration(**text)
    result = laws.check_all(transcript, configuration)
    stays = meant(keep, transcript.messages)
    assert not stays & {(receipt.message, receipt.block) for receipt in result.changes if receipt.pass_id == CUT}


@pytest.mark.parametrize(
    ("keep", "cut"),
    [
        (["last:4"], ["/item|page|DECISION/"]),
        (["last:7"], ["6", "tool:W*"]),
        ([], ["8"]),  # It names the user's words.
        ([], ["-4", "2:7"]),
    ],
)
@pytest.mark.parametrize("preset", ["balanced", "lossless"])
def test_the_laws_hold_for_what_is_named(keep: list[str], cut: list[str], preset: str) -> None:
    _check(talk(), keep, cut, preset)


@given(anthropic_messages(), _SOME, _SOME, st.sampled_from(["balanced", "lossless", "cost"]))
def test_the_laws_hold(messages: list[dict[str, Any]], keep: list[str], cut: list[str], preset: str) -> None:
    _check(messages, keep, cut, preset)


TALK = build.anthropic(
    build.user("Find the DECISION, please."),
    build.assistant([build.text("I look."), build.call("a", "Read", file_path="/home/me/src/pricing.py")]),
    build.user([build.result("a", "price = 1\n" * 9)]),
    build.assistant([build.call("b", "Bash", command="sed -n 1,9p src/tax.py"), build.call("c", "WebFetch", url="u")]),
    build.user([build.result("b", "tax = 2\n" * 9), build.result("c", "a page\n" * 9)]),
    build.assistant("Done: DECISION taken."),
)


@pytest.mark.parametrize(
    ("selector", "addresses"),
    [
        ("0", {(0, 0)}),
        ("-1", {(5, 0)}),
        ("1", {(1, 0), (1, 1), (2, 0)}),
        ("1.0", {(1, 0)}),
        ("1.1", {(1, 1), (2, 0)}),
        ("3.0", {(3, 0), (4, 0)}),
        ("4:5", {(4, 0), (4, 1)}),
        (":2", {(0, 0), (1, 0), (1, 1), (2, 0)}),
        ("last:2", {(4, 0), (4, 1), (5, 0)}),
        ("last:90", {(0, 0), (1, 0), (1, 1), (2, 0), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0)}),
        ("tool:webfetch", {(3, 1), (4, 1)}),
        ("tool:*e*", {(1, 1), (2, 0), (3, 1), (4, 1)}),
        ("file:src/pricing.py", {(1, 1), (2, 0)}),
        ("file:pricing.py", {(1, 1), (2, 0)}),
        ("file:/home/me/src/*", {(1, 1), (2, 0)}),
        ("file:ricing.py", set()),
        ("file:src/", {(1, 1), (2, 0), (3, 0), (4, 0)}),
        ("file:./src/*.py", {(1, 1), (2, 0), (3, 0), (4, 0)}),
        (r"file:src\tax.py", {(3, 0), (4, 0)}),
        ("/DECISION/", {(0, 0), (5, 0)}),
        ("/pricing/", {(1, 1), (2, 0)}),
        ("not::5", {(5, 0)}),
        ("not:1", {(0, 0), (2, 0), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0)}),
        ("not:tool:Read", {(0, 0), (1, 0), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0)}),
        ("77", set()),
    ],
)
def test_what_a_selector_means(selector: str, addresses: set[tuple[int, int]]) -> None:
    assert meant([selector], TALK.messages) == addresses


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("340", "340 matches nothing; the last message is 5."),
        ("60:80", "60:80 matches nothing; the last message is 5."),
        ("3.9", "3.9 matches nothing; message 3 has 2 blocks."),
        ("340.1", "340.1 matches nothing; the last message is 5."),
        ("tool:WebFech", "tool:WebFech matches nothing; did you mean tool:WebFetch?"),
        ("tool:zzz", "tool:zzz matches nothing."),
        ("file:src/prcing.py", "file:src/prcing.py matches nothing; did you mean file:src/pricing.py?"),
        ("/decision/", "/decision/ matches nothing; /(?i)decision/ matches 2 blocks."),
        ("/zebra/", "/zebra/ matches nothing."),
        ("0", ""),
    ],
)
def test_one_that_means_nothing_is_said_with_the_nearest(selector: str, said: str) -> None:
    assert why_none(selector, TALK.messages) == said


_NAMES = st.sampled_from(["0", "-1", "1.0", "2:5", "last:3", "tool:R*", "file:src/", "/e/"])


@given(anthropic_messages(), _NAMES, _NAMES)
def test_selectors_together_mean_what_each_means(messages: list[dict[str, Any]], one: str, other: str) -> None:
    said = build.anthropic(*messages).messages
    everything = {(message.index, number) for message in said for number in range(len(message.blocks))}
    both = meant([one, other], said)
    assert both == meant([one], said) | meant([other], said)
    others = meant([f"not:{one}"], said)
    assert others >= everything - meant([one], said)
    assert others == everything - meant([one], said) or one[0] in "-0123456789l"  # Of a place, that alone.
    assert bool(meant([one], said)) is (why_none(one, said) == "")


@given(anthropic_messages(), _NAMES)
def test_whatever_means_a_call_means_its_result(messages: list[dict[str, Any]], selector: str) -> None:
    said = build.anthropic(*messages).messages
    found = meant([selector], said)
    ids = {
        block.call_id
        for message in said
        for number, block in enumerate(message.blocks)
        if (message.index, number) in found and not block.answers and block.call_id
    }
    for message in said:
        for number, block in enumerate(message.blocks):
            assert block.answers not in ids or (message.index, number) in found


def test_no_messages_are_meant_by_nothing() -> None:
    assert meant(["0", "last:3", "not:1"], []) == frozenset()
    assert why_none("0", []) == "0 matches nothing."
