"""Compactions that clients made, and five rounds of condensing: what they lost, on work of which that is known."""

import json
from collections.abc import Sequence

import agent_logs
import compacted_work as work
import pytest
from agent_work import WORK
from build import CHAT, anthropic, assistant, read_turn, text, user
from claude_tree import boundary, reply, said
from helpers import as_lines

from condense_cli import api
from condense_cli.api.evaluating import Plan, judge_recorded
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Message, Transcript
from condense_cli.errors import BrokenOutputError
from condense_cli.formats.compacted import CompactionKind, compactions, stretches
from condense_cli.quality import recorded
from condense_cli.quality.cases import Case, Way, cases_of
from condense_cli.quality.evaluation import ROUNDS, Point, after_rounds, evaluate
from condense_cli.quality.recall import Score
from condense_cli.quality.recorded import CLIENT, After, Judged, NotJudged
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import factor_of

ALONE = Plan((), ())
BESIDE = Plan((("balanced", load_preset("balanced")),), ("oldest",))


def judge(data: bytes, plan: Plan = ALONE) -> list[Judged | NotJudged]:
    transcript = api.loads(data)
    found = compactions(transcript.source, transcript.format)
    assert found is not None
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    return [recorded.judge(stretch, plan.ways, count, factor) for stretch in stretches(transcript, found)]


def only(data: bytes, plan: Plan = ALONE) -> Judged:
    (one,) = judge(data, plan)
    assert isinstance(one, Judged), one
    return one


CLIENTS = {
    "claude-code": work.claude_summary(),
    "codex": work.codex(),
    "roo": work.roo("user"),
    "opencode": work.opencode(),
    "pi": work.pi(),
    "kimi": work.kimi(),
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_summary_keeps_no_line_and_names_what_it_names(client: str) -> None:
    one = only(CLIENTS[client])
    left = one.left[0]
    assert (one.kind, left.way, one.is_readable) == (CompactionKind.SUMMARY, CLIENT, True)
    assert one.lines == 1
    assert left.recall is not None
    assert left.recall.edits == Score(1, 0)
    assert left.recall.facts.named >= 1
    assert left.tokens < one.tokens
    assert left.summary > 0


@pytest.mark.parametrize("client", CLIENTS)
def test_what_the_assistant_did_after_it_is_counted(client: str) -> None:
    after = only(CLIENTS[client]).after
    assert (after.requests, after.actions, after.to_edit) == (3, 2, 1)
    assert (after.files, after.read_again) == (2, 1)
    assert after.tokens > 100


# What a command printed, and copies of messages that stay, belong to the compaction.
def test_a_compaction_ends_where_something_is_said_anew() -> None:
    copy = said(8, 7, "Please make the limits larger.", second=5)
    records = [*work.before_in_claude(), boundary(6), work.summary_in_claude(7, 6), copy, *work.later_in_claude(21, 8)]
    for data in (work.claude_summary(), as_lines(records)):
        (one,) = compactions(api.loads(data).source, "claude-code") or []
        assert (one.wrote, one.end) == (range(5, 8), 8)


def test_what_a_boundary_keeps_is_not_lost() -> None:
    one = only(work.claude_keeping())
    assert one.left[0].recall is not None
    assert one.left[0].recall.edits == Score(1, 1)


@pytest.mark.parametrize(
    ("data", "standing", "said"),
    [
        (work.claude_clearing("a"), 1, 900),
        (work.claude_clearing("a", "b"), 0, 900),
        (work.claude_cut("a"), 1, 0),
        (work.claude_cut("a", "b"), 0, 0),
    ],
)
def test_only_cleared_results_are_lost(data: bytes, standing: int, said: int) -> None:
    one = only(data)
    left = one.left[0]
    assert (one.kind, one.is_auto, one.said_before) == (CompactionKind.CLEARED, True, said)
    assert left.recall is not None
    assert left.recall.edits == Score(1, standing)
    assert left.summary == 0
    assert 0 < left.prefix < left.tokens


def test_what_was_cleared_before_a_summary_is_not_counted_again() -> None:
    cleared, summed = judge(work.claude_twice())
    assert isinstance(cleared, Judged)
    assert isinstance(summed, Judged)
    assert (cleared.kind, summed.kind) == (CompactionKind.CLEARED, CompactionKind.SUMMARY)
    # Between them a few words were said; what was cleared is gone for good.
    assert summed.tokens < cleared.tokens
    assert cleared.after == After(requests=1, actions=0, files=2, read_again=0, tokens=0, to_edit=None)


@pytest.mark.parametrize(
    ("kind", "how"), [("assistant", CompactionKind.SUMMARY), ("truncation", CompactionKind.DROPPED)]
)
def test_messages_behind_the_record_of_a_compaction_were_there_before_it(kind: str, how: CompactionKind) -> None:
    one = only(work.roo(kind))
    assert one.kind is how
    assert one.left[0].recall is not None
    assert one.left[0].recall.edits == Score(1, 1)
    assert (one.after.actions, one.after.to_edit) == (2, 1)


# Events of a run are in one list, those of the SDK on lines.
@pytest.mark.parametrize(("summary", "kind"), [("I read a.py.", CompactionKind.SUMMARY), ("", CompactionKind.DROPPED)])
@pytest.mark.parametrize("client", ["openhands", "openhands-sdk"])
def test_what_a_condenser_forgot_stood_before_it(client: str, summary: str, kind: CompactionKind) -> None:
    data = agent_logs.WRITABLE[client](WORK)
    if client == "openhands":
        run = json.loads(data)
        forgotten = {"forgotten_event_ids": [2, 3, 4, 5], "summary": summary}
        note = {"id": 99, "source": "agent", "message": "", "action": "condensation", "args": forgotten}
        run["history"].insert(7, note)
        data = json.dumps(run).encode()
    else:
        events = [json.loads(line) for line in data.splitlines()]
        note = {"id": "s", "timestamp": "", "source": "environment", "llm_response_id": "r", "summary": summary}
        events.insert(6, note | {"forgotten_event_ids": [one["id"] for one in events[2:6]], "kind": "Condensation"})
        data = as_lines(events)
    one = only(data)
    assert one.kind is kind
    assert one.left[0].tokens < one.tokens
    assert one.after.requests > 0


def test_an_encrypted_summary_is_said_to_be_one() -> None:
    assert not only(work.codex(is_encrypted=True)).is_readable


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (work.roo("old"), "it is no smaller than what the file holds of the original"),
        (as_lines([boundary(6), work.summary_in_claude(7, 6), *work.later_in_claude(21, 7)]), "does not hold"),
        (as_lines([*work.before_in_claude(), boundary(6), work.summary_in_claude(7, 6)]), "nothing follows it"),
        (
            as_lines(
                [
                    *work.before_in_claude(),
                    boundary(6),
                    work.summary_in_claude(7, 6),
                    said(8, 1, "No, otherwise."),
                    reply(9, 8, "m9", text("Well.")),
                ]
            ),
            "the conversation continued from before it",
        ),
    ],
)
def test_what_cannot_be_judged_has_a_reason(data: bytes, reason: str) -> None:
    (one,) = judge(data)
    assert isinstance(one, NotJudged)
    assert reason in one.reason


def test_other_ways_are_held_to_the_size_that_the_client_left() -> None:
    one = only(work.claude_keeping(), BESIDE)
    client, balanced, oldest = one.left
    assert [left.way for left in one.left] == [CLIENT, "balanced", "drop the oldest"]
    assert balanced.tokens <= client.tokens
    assert oldest.recall is not None
    assert oldest.recall.facts.asked == one.facts
    # A summary written by a model is paid for; what condense leaves is not.
    assert (balanced.summary, oldest.summary) == (0, 0)


def test_two_compactions_share_what_was_said_between_them() -> None:
    records = [
        *work.before_in_claude(),
        boundary(6),
        work.summary_in_claude(7, 6),
        reply(8, 7, "m8", text(work.APP)),
        boundary(9),
        work.summary_in_claude(10, 9),
        *work.later_in_claude(21, 10),
    ]
    first, second = judge(as_lines(records))
    assert isinstance(first, Judged)
    assert isinstance(second, Judged)
    assert (first.after.requests, second.after.requests) == (1, 3)
    # What the first one took away is not asked of the second.
    assert (second.lines, second.after.files) == (0, 0)


def test_of_a_format_of_which_nothing_is_known_that_is_said() -> None:
    transcript = api.loads(CHAT, format="openai-chat")
    assert compactions(transcript.source, transcript.format) is None
    assert judge_recorded(transcript).compactions is None


def test_in_python_the_same_is_told() -> None:
    found = judge_recorded(api.loads(work.claude_summary()))
    assert found.compactions is not None
    (one,) = found.compactions
    assert [left.way for left in one.left] == ["client", "balanced"]
    beside = judge_recorded(api.loads(work.claude_summary()), presets=["speed"]).compactions
    assert beside is not None
    assert [left.way for left in beside[0].left] == ["client", "speed"]


def test_a_session_without_any_has_none() -> None:
    assert judge(as_lines(work.before_in_claude())) == []


def test_a_way_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object, **options: object) -> None:
        raise BrokenOutputError("no", "")

    monkeypatch.setattr(api, "condense", fails)
    failed = only(work.claude_summary(), BESIDE).left[1]
    assert (failed.recall, failed.error) == (None, "no")


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
