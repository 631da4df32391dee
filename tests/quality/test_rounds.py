"""Five rounds of work and condensing: what each gets, and what is left of the user's sentences."""

from collections.abc import Sequence

import pytest
from build import anthropic, assistant, read_turn, user

from condense_cli.core.transcript import Message, Transcript
from condense_cli.quality.cases import Case, Way, cases_of
from condense_cli.quality.evaluation import ROUNDS, Point, after_rounds, evaluate
from condense_cli.tokens.counting import Counter

COUNT = Counter()
RULES = 10


def ruled() -> Transcript:
    """Ten rules of the user, each with a read behind it; then, from the cut at two thirds on, what asks for facts."""
    before = []
    for number in range(RULES):
        before += [user(f"Mind rule {number}, please."), *read_turn(f"t{number}", f"f{number}", f"fact_{number}")]
        before += [assistant(f"I mind {number}.")]
    after = [message for number in range(RULES) for message in (user("So?"), assistant(f"fact_{number}"))]
    return anthropic(*before, *after)


def case() -> Case:
    (found,), _ = cases_of(ruled(), (2 / 3,), COUNT, smallest=0)
    assert len(found.before.messages) == 4 * RULES
    return found


def test_every_round_gets_what_is_left_and_what_came_since() -> None:
    found = case()
    seen: list[tuple[Message, ...]] = []

    def all_but_the_last(case: Case) -> Sequence[Message]:
        seen.append(case.before.messages)
        return case.before.messages[:-1]

    kept = after_rounds(found, all_but_the_last, None)
    messages = found.before.messages
    assert len(seen) == ROUNDS
    assert seen[0] == messages[:8]
    assert seen[1] == (*messages[:7], *messages[8:16])
    assert kept == [message for number, message in enumerate(messages) if (number + 1) % 8]


def test_with_a_target_rounds_begin_where_it_is_reached() -> None:
    found = case()
    first: list[int] = []

    def as_it_is(case: Case) -> Sequence[Message]:
        first.append(case.tokens)
        assert case.whole == found.tokens
        return case.before.messages

    assert after_rounds(found, as_it_is, 0.5) == list(found.before.messages)
    assert len(first) == ROUNDS
    assert first[0] == pytest.approx(0.6 * found.tokens, abs=0.05 * found.tokens)
    assert first[-1] == found.tokens


def _rules(way: Way, setting: str) -> Point:
    found = evaluate(ruled(), [way], budgets=(0.5,), cuts=(2 / 3,), smallest=0, witnesses=("rules",))
    (point,) = [point for point in found.cuts[0].points if point.setting == setting]
    return point


# Condensed once it has lost one rule of ten; after five rounds it has lost five.
def test_rules_are_those_after_five_rounds() -> None:
    def without_the_newest_rule(case: Case) -> Sequence[Message]:
        newest = max(position for position, message in enumerate(case.before.messages) if message.role == "user")
        rules = [p for p, m in enumerate(case.before.messages) if m.blocks[0].text.startswith("Mind")]
        assert newest >= rules[-1]
        return [message for position, message in enumerate(case.before.messages) if position != rules[-1]]

    point = _rules(Way("forgetful", None, (("as it is", without_the_newest_rule),)), "as it is")
    assert point.witnesses == {"rules": 0.5}


def test_targets_of_rounds_are_shares_of_the_whole() -> None:
    targets: list[int] = []

    def asked(case: Case, target: int) -> Sequence[Message]:
        targets.append(target)
        return case.before.messages

    assert _rules(Way("any", asked), "to 50%").witnesses == {"rules": 1.0}
    assert targets == [case().tokens // 2] * (1 + ROUNDS)
