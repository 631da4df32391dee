"""Ages in turns: what a summary stands for makes all that is before it older, and not the summary itself."""

from __future__ import annotations

from build import anthropic, assistant, thinking, user
from msgspec.structs import replace

from condense_cli.config.models import Age, Predicates
from condense_cli.markers import SummaryMark
from condense_cli.passes.predicates import compile_predicates
from condense_cli.tokens import Counter
from condense_cli.transcript import Message


def marked(message: Message, stands_for: int) -> Message:
    """The message as a summary of so many."""
    text = f"{SummaryMark(stands_for, 2, '01234567')}\nThe bug is found."
    return replace(message, blocks=(replace(message.blocks[0].with_text(text), summarizes=True),))


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
