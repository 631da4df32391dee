"""Witnesses on made-up sessions where the right share is obvious."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from answers import ANSWERS
from build import anthropic, assistant, call, openai, read_turn, result, user

from condense_cli.core.transcript import Message
from condense_cli.quality.witnesses import MEASURES, Continuation, measure
from condense_cli.tokens.counting import Counter


def lines(seed: int, number: int = 20) -> list[str]:
    """Lines of words that nobody else says."""
    chance = random.Random(seed)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 9))) for _ in range(200)]
    return [" ".join(chance.choices(words, k=8)) for _ in range(number)]


class Session:
    """Messages before a cut and after it; `kept` are condensed forms of those before."""

    def __init__(self, before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> None:
        self.before, self.after = anthropic(*before).messages, anthropic(*after).messages

    def __call__(self, *kept: dict[str, Any]) -> dict[str, float | None]:
        return measure(self.before, anthropic(*kept).messages if kept else (), self.after)

    def without(self, *positions: int) -> dict[str, float | None]:
        kept = [message for position, message in enumerate(self.before) if position not in positions]
        return measure(self.before, kept, self.after)


def shows(name: str, path: str, *content: str) -> list[dict[str, Any]]:
    return read_turn(name, path, "\n".join(content))


ONE, TWO, THREE = ("\n".join(lines(seed)) for seed in (1, 2, 3))
TOLD = Session(
    [user("Look."), *shows("t1", "one", ONE), *shows("t2", "two", TWO), *shows("t3", "three", THREE), user("Go on.")],
    [assistant(ONE), user("And?"), assistant([call("t4", "Bash", command=TWO)]), user([result("t4", "ok")])],
)


def test_bits_are_of_words_and_of_calls_that_the_context_has() -> None:
    found = TOLD.without(3, 4)
    assert found["bits_words"] == pytest.approx(1, abs=0.03)
    assert found["bits_calls"] == pytest.approx(0, abs=0.03)
    assert found["bits"] == pytest.approx(0.5, abs=0.05)
    found = TOLD.without(1, 2)
    assert found["bits_words"] == pytest.approx(0, abs=0.03)
    assert found["bits_calls"] == pytest.approx(1, abs=0.03)


def test_what_nobody_said_again_is_worth_no_bits() -> None:
    assert TOLD.without(5, 6)["bits"] == pytest.approx(1, abs=0.01)
    only = TOLD(user("Look."), *shows("t3", "three", THREE))
    assert only["bits"] == pytest.approx(0, abs=0.03)


def test_half_of_the_lines_explain_half_of_the_words() -> None:
    session = Session([user("Look."), *shows("t1", "one", ONE), user("Go on.")], [assistant(ONE), user("Well.")])
    half = session(user("Look."), *shows("t1", "one", *ONE.split("\n")[:10]))
    assert half["bits"] == pytest.approx(0.5, abs=0.06)


def test_what_was_shown_again_before_it_is_said_is_worth_no_bits() -> None:
    session = Session([user("Look."), *shows("t1", "one", ONE), assistant("Done.")], [user(ONE), assistant(ONE)])
    assert session(user("Look."))["bits"] is None


def test_what_the_standing_instructions_say_is_worth_no_bits() -> None:
    system = {"role": "system", "content": ONE}
    before = openai(system, user("Look."), assistant(TWO), user("Go on.")).messages
    after = anthropic(user("So?"), assistant(f"{ONE}\n{TWO}")).messages
    assert measure(before, before[:2], after, names=("bits",))["bits"] == pytest.approx(0, abs=0.03)
    assert measure(before, before[1:], after, names=("bits",))["bits"] == pytest.approx(0, abs=0.03)
    assert measure(before, before, after, names=("bits",))["bits"] == 1


def test_a_context_of_a_megabyte_is_remembered_to_its_beginning() -> None:
    first, filler = lines(5), random.Random(6).randbytes(550_000).hex()
    found = Continuation(["\n".join(first), filler], anthropic(assistant("\n".join(first))).messages)
    # Had the full context forgotten some of them, half of them would be more than half.
    assert found(["\n".join(first[:10])]).words == pytest.approx(0.5, abs=0.06)


def calls(*commands: str) -> list[dict[str, Any]]:
    found = []
    for number, command in enumerate(commands):
        found += [
            assistant([call(f"c{number}", "Bash", command=command)]),
            user([result(f"c{number}", "ok")]),
        ]
    return found


KNOWN = [user("Look."), *shows("t1", "f", "first_name"), *shows("t2", "g", "second_name"), assistant("So.")]


def test_a_call_is_grounded_where_all_of_its_facts_stand() -> None:
    session = Session([*KNOWN, user("Go on.")], calls("x first_name", "x first_name second_name", "x y", "second_name"))
    assert session.without(3, 4)["grounding"] == pytest.approx(1 / 3)
    assert session.without(1, 2)["grounding"] == pytest.approx(1 / 3)


def test_only_the_next_twenty_calls_count() -> None:
    commands = ["x first_name"] * 10 + ["x y"] * 9 + ["x first_name", "x second_name"]
    assert Session([*KNOWN, user("Go on.")], calls(*commands)).without(3, 4)["grounding"] == 1
    assert Session([*KNOWN, user("Go on.")], calls(*commands[1:])).without(3, 4)["grounding"] == pytest.approx(10 / 11)


def test_a_call_is_not_grounded_without_the_lines_that_it_has_to_match() -> None:
    edit = call("e", "Edit", file_path="f", old_string="some plain words", new_string="others")
    session = Session(
        [user("Look."), *shows("t1", "f", "some plain words", "and others"), user("Go on.")],
        [assistant([edit]), user([result("e", "ok")])],
    )
    assert session(user("Look."), *shows("t1", "f", "and others"))["grounding"] == 0
    assert session(user("Look."), *shows("t1", "f", "some plain words"))["grounding"] == 1


def test_a_lost_fact_costs_the_tokens_of_its_file() -> None:
    small, large = ["small_name"], ["large_name", "large_other", *lines(7)]
    session = Session(
        [user("Look."), *shows("t1", "a.py", *small), *shows("t2", "b.py", *large), user("Go on.")],
        [assistant("small_name, large_name and large_other"), user("Well.")],
    )
    one, two = (Counter()("\n".join(content)) for content in (small, large))
    assert session.without(1, 2)["rereads"] == pytest.approx(two / (one + two))
    assert session.without(3, 4)["rereads"] == pytest.approx(one / (one + two))
    # One of two facts of a file is enough to have to read it.
    part = session(user("Look."), *shows("t1", "a.py", *small), *shows("t2", "b.py", "large_name"))
    assert part["rereads"] == pytest.approx(one / (one + two))


def test_what_came_from_no_file_need_not_be_read() -> None:
    said = Session(
        [user("Mind some_name."), assistant("Yes."), user("Go on.")], [assistant("some_name"), user("Well.")]
    )
    assert (said()["facts"], said()["rereads"]) == (0, None)


def test_a_fact_comes_from_the_file_that_showed_it_last() -> None:
    long, short = ["some_name", *lines(8)], ["some_name"]
    session = Session(
        [user("Look."), *shows("t1", "a.py", *long), *shows("t2", "b.py", *short), *shows("t3", "c.py", "other_name")],
        [assistant("some_name and other_name"), user("Well.")],
    )
    last, other = (Counter()(text) for text in ("some_name", "other_name"))
    assert session.without(1, 2, 3, 4)["rereads"] == pytest.approx(other / (last + other))


def test_what_a_call_wrote_into_a_file_is_read_again_there() -> None:
    write = call("w", "Write", file_path="a.py", content="written_name = 1")
    session = Session(
        [user("Write."), assistant([write]), user([result("w", "ok")]), assistant("Done."), user("Go on.")],
        [assistant("written_name it is, in a.py"), user("Well.")],
    )
    assert session.without(1, 2)["rereads"] == 0
    assert session.without(3)["rereads"] == 1


def test_sentences_of_the_user_stand_word_for_word_or_not() -> None:
    session = Session(
        [
            user("Never touch the tests. Use  tabs, please! Yes.\n- and no mocks"),
            assistant("Never say never."),
            user("Then run all."),
        ],
        [assistant("Good."), user("Well.")],
    )
    assert session(user("Then run all."))["rules"] == pytest.approx(1 / 4)
    assert session(user("Never touch the tests. Then run all."))["rules"] == pytest.approx(2 / 4)
    assert session(user("Do not touch the tests. Then run all."))["rules"] == pytest.approx(1 / 4)
    assert session(user("Use tabs, please! And"), assistant("- and no mocks"))["rules"] == pytest.approx(2 / 4)
    assert session.without(1)["rules"] == 1


def test_what_is_pasted_is_no_sentence_of_the_user() -> None:
    text = "Look at this output.\n```\nIt did not work at all.\n```\nWhy is that so?"
    session = Session([user(text), assistant("Well.")], [user("So?"), assistant("Because.")])
    assert session(user("Look at this output. Why is that so?"))["rules"] == 1


@pytest.mark.parametrize("name", ANSWERS)
def test_what_the_user_answers_in_a_result_stands_there(name: str) -> None:
    text, words, tool = ANSWERS[name]
    session = Session([assistant([call("c", tool, command="npm i")]), user([result("c", text)])], [assistant("Well.")])
    assert session.without()["rules"] == 1
    assert session.without(1)["rules"] == 0
    assert session(user(words))["rules"] == 1


def test_a_clients_words_around_an_answer_are_nobodys_rules() -> None:
    text, *_ = ANSWERS["reason"]
    refused = text.partition(". ")[0] + ". The user provided the following reason for the rejection: use pnpm here"
    told = Session(
        [assistant([call("c", "Bash", command="npm i")]), user([result("c", refused)])], [assistant("Well.")]
    )
    assert told(user("use pnpm here"))["rules"] == 1


FILE = [f"def method_{number}(self):\n    return one of {number} things" for number in range(4)]


def edits(*olds: str) -> list[dict[str, Any]]:
    found = []
    for number, old in enumerate(olds):
        edit = call(f"e{number}", "Edit", file_path="f.py", old_string=old, new_string="pass")
        found += [assistant([edit]), user([result(f"e{number}", "ok")])]
    return found


def test_an_old_string_stands_whole_or_not_at_all() -> None:
    session = Session([user("Look."), *shows("t1", "f.py", *FILE), user("Go on.")], edits(FILE[0], FILE[1]))
    part = session(user("Look."), *shows("t1", "f.py", FILE[0], *FILE[1].split("\n")[:1]))
    assert (part["edits"], part["old_strings"]) == (3 / 4, 1 / 2)
    torn = session(user("Look."), *shows("t1", "f.py", FILE[0], FILE[1].replace("\n", "\n# more\n")))
    assert (torn["edits"], torn["old_strings"]) == (1, 1 / 2)


def test_an_old_string_may_begin_and_end_inside_lines_and_needs_no_numbers() -> None:
    old = "method_0(self):\n    return one"
    numbered = [f"{number + 1:>6}→{line}" for number, line in enumerate("\n".join(FILE).split("\n"))]
    session = Session([user("Look."), *shows("t1", "f.py", *numbered), user("Go on.")], edits(old))
    assert session(user("Look."), *shows("t1", "f.py", *numbered[:2]))["old_strings"] == 1
    assert session(user("Look."), *shows("t1", "f.py", *numbered[1:]))["old_strings"] == 0


def test_an_old_string_that_was_shown_again_is_not_asked() -> None:
    before = [user("Look."), *shows("t1", "f.py", *FILE), user("Go on.")]
    again = [*shows("t2", "f.py", FILE[0]), *edits(FILE[0], FILE[1])]
    session = Session(before, again)
    assert session(user("Look."), *shows("t1", "f.py", FILE[1]))["old_strings"] == 1


def test_an_old_string_of_a_patch_is_what_a_hunk_takes_for_given() -> None:
    old = FILE[0].split("\n")
    patch = f"*** Begin Patch\n*** Update File: f.py\n@@\n {old[0]}\n+    new()\n-{old[1]}\n*** End Patch"
    arguments = [assistant([call("p", "apply_patch", input=patch)]), user([result("p", "ok")])]
    session = Session([user("Look."), *shows("t1", "f.py", *FILE), user("Go on.")], arguments)
    assert session(user("Look."), *shows("t1", "f.py", FILE[0]))["old_strings"] == 1
    assert session(user("Look."), *shows("t1", "f.py", old[1], old[0]))["old_strings"] == 0


def test_a_fact_stands_inside_a_longer_one_between_word_boundaries() -> None:
    shown = ["see src/app.py", "at /home/src/app.py:12", "my_src/app.pyx"]
    session = Session(
        [user("Look."), *shows("t1", "f", *shown), user("Go on.")], [assistant("It is src/app.py."), user("Well.")]
    )
    longer = session(user("Look."), *shows("t1", "f", shown[1]))
    assert (longer["facts"], longer["substrings"]) == (0, 1)
    assert session(user("Look."), *shows("t1", "f", shown[2]))["substrings"] == 0
    # Not on a line of the original.
    assert session(user("Look."), *shows("t1", "f", "or in /home/src/app.py"))["substrings"] == 0


def rich() -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """A session of which every measure asks something."""
    before = [user("Never touch the tests."), *shows("t1", "src/f.py", *FILE, ONE, TWO), user("Go on, please.")]
    after = [assistant(ONE), user("And?"), *edits(FILE[0]), *calls(TWO), assistant("method_3 is next.")]
    return anthropic(*before).messages, anthropic(*after).messages


def test_everything_is_one_and_nothing_is_zero() -> None:
    before, after = rich()
    assert measure(before, before, after) == dict.fromkeys(MEASURES, 1.0)
    assert measure(before, (), after) == dict.fromkeys(MEASURES, 0.0)


def test_what_is_asked_for_is_measured_and_nothing_else() -> None:
    before, after = rich()
    assert measure(before, (), after, names=("bits", "facts")) == {"bits": 0.0, "facts": 0.0}
    assert list(measure(before, (), after, names=("rules", "grounding"))) == ["grounding", "rules"]


def test_standing_instructions_are_no_rules_and_ask_for_no_old_strings() -> None:
    system = {"role": "system", "content": FILE[0]}
    messages = openai(system, user("Look at it, please."), assistant("Yes, I will."), user("Go on.")).messages
    after = anthropic(user("So."), *edits(FILE[0])).messages
    assert measure(messages, (), after, names=("old_strings", "rules")) == {"old_strings": None, "rules": 0.0}
