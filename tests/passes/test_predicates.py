"""Predicates one by one. Of ages: what a summary stands for makes all that is before it older, and not itself."""

from typing import Any

import pytest
from build import anthropic, assistant, call, result, text, thinking, user
from msgspec.structs import replace

from condense_cli.config.models import Age, Globs, IndexRange, Predicates
from condense_cli.core.markers import Gap, SummaryMark, short
from condense_cli.core.transcript import Message
from condense_cli.passes.selection import compile_predicates
from condense_cli.tokens.counting import Counter


def marked(message: Message, stands_for: int) -> Message:
    """The message as a summary of so many."""
    said = f"{SummaryMark(stands_for, 2, '01234567')}\nThe bug is found."
    return replace(message, blocks=(replace(message.blocks[0].with_text(said), summarizes=True),))


def ages(messages: list[Message]) -> list[int]:
    def are_as_old(age: int) -> list[int]:
        test = compile_predicates(Predicates(age=Age(min=age, max=age)), messages, Counter())
        return [position for position, message in enumerate(messages) if test(message, message.blocks[0])]

    found = {position: age for age in range(30) for position in are_as_old(age)}
    return [found[position] for position in range(len(messages))]


def test_the_newest_message_is_no_turn_old() -> None:
    assert ages([*anthropic(user("a"), assistant("b"), user("c")).messages]) == [2, 1, 0]


def test_a_summary_counts_for_the_turns_that_it_stands_for() -> None:
    request, summary, *others = anthropic(user("a"), assistant("b"), user("c"), assistant("d")).messages
    assert ages([request, marked(summary, 5), *others]) == [7, 2, 1, 0]
    assert ages([request, marked(summary, 5), marked(others[0], 4), others[1]]) == [10, 5, 1, 0]


# It has no turns of its own for windows; the message behind it is older by it all the same.
def test_a_message_of_thinking_alone_counts_as_one() -> None:
    assert ages([*anthropic(user("a"), assistant([thinking()]), user("b")).messages]) == [2, 1, 0]


def test_both_ends_of_an_age_belong_to_it_and_no_end_is_without_end() -> None:
    messages = anthropic(user("a"), assistant("b"), user("c"), assistant("d"), user("e")).messages
    for least, most, expected in ((1, 3, [1, 2, 3]), (2, None, [0, 1, 2]), (0, 0, [4])):
        test = compile_predicates(Predicates(age=Age(min=least, max=most)), messages, Counter())
        assert [message.index for message in messages if test(message, message.blocks[0])] == expected


def chosen(messages: list[dict[str, Any]], **predicates: Any) -> list[tuple[int, int]]:
    """Indices of messages, and positions in them, of the blocks for which the predicates hold."""
    read = anthropic(*messages).messages
    test = compile_predicates(Predicates(**predicates), read, Counter())
    return [
        (message.index, number)
        for message in read
        for number, block in enumerate(message.blocks)
        if test(message, block)
    ]


FILE = "\n".join(f"line {number}" for number in range(20))
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
WORK: list[dict[str, Any]] = [
    user("Please find the bug."),
    assistant([text("I look."), call("a", "Read", file_path="x.py"), call("b", "Bash", command="make")]),
    user([result("a", FILE), result("b", "no rule", is_error=True)]),
    assistant([thinking(), call("c", "Read", file_path="x.py")]),
    user([result("c", FILE)]),
    assistant("It is in x.py."),
]


def test_no_predicate_holds_for_everything() -> None:
    assert len(chosen(WORK)) == sum(len(message.blocks) for message in anthropic(*WORK).messages)


@pytest.mark.parametrize(
    ("predicates", "expected"),
    [
        ({"roles": ("assistant",)}, [(1, 0), (1, 1), (1, 2), (3, 0), (3, 1), (5, 0)]),
        ({"roles": ("tool",)}, [(2, 0), (2, 1), (4, 0)]),
        ({"roles": ("user",)}, [(0, 0)]),
        ({"tools": Globs(include=("read",))}, [(1, 1), (2, 0), (3, 1), (4, 0)]),
        ({"tools": Globs(include=("R*", "bash"), exclude=("ba?h",))}, [(1, 1), (2, 0), (3, 1), (4, 0)]),
        ({"tools": Globs(exclude=("READ",))}, [(1, 2), (2, 1)]),
        ({"only_tools": ("Read",)}, [(3, 0), (3, 1), (4, 0)]),
        ({"only_tools": ("Read", "Bash")}, [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0)]),
        ({"range": IndexRange(start=1, end=3)}, [(1, 0), (1, 1), (1, 2), (2, 0), (2, 1)]),
        ({"range": IndexRange(start=-1)}, [(5, 0)]),
        ({"range": IndexRange(start=0, end=-5)}, [(0, 0)]),
        ({"regex": "x.py.$"}, [(5, 0)]),
        ({"regex": "rule|bug"}, [(0, 0), (2, 1)]),
        ({"failed": True}, [(2, 1)]),
        ({"failed": False}, [(2, 0), (4, 0)]),
        ({"superseded": True}, [(2, 0)]),
        ({"superseded": False}, [(2, 1), (4, 0)]),
        ({"failed": True, "superseded": True}, []),
        ({"roles": ("tool",), "range": IndexRange(start=3)}, [(4, 0)]),
    ],
)
def test_what_predicates_hold_for(predicates: dict[str, Any], expected: list[tuple[int, int]]) -> None:
    assert chosen(WORK, **predicates) == expected


def test_a_minimum_of_tokens_belongs_to_it() -> None:
    tokens = Counter()(FILE)
    assert chosen(WORK, min_tokens=tokens) == [(2, 0), (4, 0)]
    assert chosen(WORK, min_tokens=tokens + 1) == []


def test_of_no_messages_nothing_is_asked() -> None:
    compile_predicates(Predicates(range=IndexRange(start=-1), age=Age(), superseded=True), [], Counter())


def exchanges(*results: tuple[str, str, Any]) -> list[dict[str, Any]]:
    """A call of a tool with an argument, and what it gave, for each: {name, argument, content}."""
    messages: list[dict[str, Any]] = [user("Go.")]
    for number, (name, argument, content) in enumerate(results):
        key = "file_path" if name == "Read" else "command"
        failed = {"is_error": True} if content == "failed" else {}
        messages += [
            assistant([call(f"c{number}", name, **{key: argument})]),
            user([result(f"c{number}", content, **failed)]),
        ]
    return messages


@pytest.mark.parametrize(
    ("results", "superseded"),
    [
        ([("Bash", "make", "ok"), ("Bash", "make", "ok")], [0]),
        ([("Bash", "make", "ok"), ("Bash", "make", "ok"), ("Bash", "make", "ok")], [0, 1]),
        ([("Bash", "make", "2 errors"), ("Bash", "make", "ok")], []),
        ([("Bash", "make", "ok"), ("Bash", "make", "other"), ("Bash", "make", "ok")], [0]),
        ([("Bash", "make", "ok"), ("Bash", "make all", "ok")], []),
        ([("Read", "x.py", "old"), ("Read", "x.py", "new")], [0]),
        ([("Read", "x.py", "old"), ("Read", "y.py", "old")], []),
        ([("Read", "x.py", "old"), ("Bash", "x.py", "old")], []),
        ([("Read", "x.py", "old"), ("Read", "x.py", "failed")], []),
        ([("Read", "x.py", "old"), ("Read", "x.py", "failed"), ("Read", "x.py", "new")], [0, 1]),
        ([("Read", "x.png", [IMAGE]), ("Read", "x.png", [IMAGE])], [0]),
    ],
)
def test_which_results_are_superseded(results: list[tuple[str, str, Any]], superseded: list[int]) -> None:
    expected = [(2 * number + 2, 0) for number in superseded]
    assert chosen(exchanges(*results), superseded=True) == expected


def image(data: str) -> dict[str, Any]:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


# Whether an image was left out or not, it is the same one; and another one is not.
def test_images_are_compared_by_what_they_show() -> None:
    digest = anthropic(user([image("aGk=")])).messages[0].blocks[0].digest
    shots = [("Bash", "shot", [image("aGk=")]), ("Bash", "shot", [image("aGk=")])]
    assert chosen(exchanges(*shots), superseded=True) == [(2, 0)]
    assert digest
    for marker in (str(Gap(hash, is_image=True)) for hash in (digest, short(digest))):
        assert chosen(exchanges(("Bash", "shot", marker), shots[0]), superseded=True) == [(2, 0)]
        assert chosen(exchanges(shots[0], ("Bash", "shot", marker)), superseded=True) == [(2, 0)]
    assert chosen(exchanges(shots[0], ("Bash", "shot", [image("aG8=")])), superseded=True) == []


def test_an_image_of_the_user_is_no_result() -> None:
    messages = [user([text("Look."), image("aGk=")]), assistant("I see.")]
    assert chosen(messages, failed=False) == chosen(messages, superseded=False) == []
    shown = exchanges(("Bash", "shot", [image("aGk=")]))
    assert chosen(shown, failed=False) == [(2, 0)]


def test_a_result_of_several_parts_is_superseded_whole() -> None:
    parts = [text("one"), text("two")]
    messages = exchanges(("Bash", "make", parts), ("Bash", "make", parts))
    assert chosen(messages, superseded=True) == [(2, 0), (2, 1)]


# By their id the results of these cannot be told apart.
def test_results_of_calls_that_share_an_id_are_left_alone() -> None:
    twice = [user("a")]
    for _ in range(2):
        twice += [assistant([call("x", "Bash", command="make")]), user([result("x", "ok")])]
    assert chosen(twice, superseded=True) == []
