"""Which blocks selectors mean."""

from __future__ import annotations

from typing import Any

import build
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import anthropic_messages

from condense_cli.passes.selection import meant, why_none

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


_SOME = st.sampled_from(["0", "-1", "1.0", "2:5", "last:3", "tool:R*", "file:src/", "/e/"])


@given(anthropic_messages(), _SOME, _SOME)
def test_selectors_together_mean_what_each_means(messages: list[dict[str, Any]], one: str, other: str) -> None:
    said = build.anthropic(*messages).messages
    everything = {(message.index, number) for message in said for number in range(len(message.blocks))}
    both = meant([one, other], said)
    assert both == meant([one], said) | meant([other], said)
    others = meant([f"not:{one}"], said)
    assert others >= everything - meant([one], said)
    assert others == everything - meant([one], said) or one[0] in "-0123456789l"  # Of a place, that alone.
    assert bool(meant([one], said)) is (why_none(one, said) == "")


@given(anthropic_messages(), _SOME)
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
