"""The model's tokens: what leads from the tokens that are counted to those that its provider bills."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from build import anthropic, call, result, text, user
from claude_tree import reply, said
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.markers import Gap
from condense_cli.core.transcript import Block, Message, Place, Transcript
from condense_cli.core.values import BlockKind, Role, Usage
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import (
    AS_COUNTED,
    HIGHEST,
    LOWEST,
    Factor,
    Known,
    UsageStep,
    factor_as,
    factor_of,
    family_of,
    fitted,
    median_of,
    steps_of,
    typical_of,
)
from condense_cli.tokens.models import binds_thinking, forgets_thinking

Json = dict[str, Any]
MODEL = "claude-opus-4-7-20260401"
UNLISTED = "someone-s-model-1"
CONTENT = "\n".join(f"line {n} of the file says {n * n}" for n in range(200))
FACTORS = st.floats(LOWEST, HIGHEST)
COUNTS = st.integers(0, 10**7)


def answer(number: int, tokens: int, model: str, *blocks: Json) -> Json:
    """An answer whose request took this many tokens."""
    line = reply(number, number - 1, f"msg_{number}", *blocks)
    line["message"] |= {"model": model, "usage": {"input_tokens": tokens, "output_tokens": 1}}
    return line


def session(*billed: int, model: str = MODEL, content: str = CONTENT) -> Transcript:
    """A session of calls with equal results, whose requests took these tokens."""
    records = [said(1, None, "Please read it all.")]
    for number, tokens in enumerate(billed):
        identifier = 2 + 2 * number
        name = f"toolu_{number}"
        records.append(answer(identifier, tokens, model, call(name, file_path=f"{number}.txt")))
        records.append(said(identifier + 1, identifier, [result(name, content)]))
    return loaded(records)


def loaded(records: list[Json]) -> Transcript:
    return api.loads("".join(json.dumps(record) + "\n" for record in records), format="claude-code")


def step_of(transcript: Transcript) -> int:
    """Our count of one call and its result."""
    count = Counter.of(transcript)
    return sum(map(count.message, transcript.messages[1:3]))


def grown(times: float, steps: int = 6, **options: Any) -> Transcript:
    """A session whose requests grow by a multiple of our count."""
    size = step_of(session(1, 2, **options))
    return session(*(20_000 + round(number * times * size) for number in range(steps)), **options)


def found(transcript: Transcript) -> Factor:
    return factor_of(transcript, Counter.of(transcript))


@pytest.mark.parametrize("times", [1.1, 1.56, 2.5])
def test_recorded_usage_says_it_for_a_model_that_is_not_in_the_table(times: float) -> None:
    factor = found(grown(times, steps=40, model=UNLISTED))
    assert factor.known is Known.RECORDED
    assert factor.value == pytest.approx(times, rel=0.01)
    assert factor.typical == 1
    assert factor.error


# A single session is no better a guide than the table, and its usage no longer applies once texts are cut.
@pytest.mark.parametrize("times", [1.1, 1.56, 2.5])
def test_the_table_goes_before_recorded_usage(times: float) -> None:
    transcript = grown(times, steps=40)
    assert found(transcript) == found(session(1, 2))
    assert found(transcript).known is Known.TABLE
    done = api.condense(transcript, preset="speed")
    assert done.changes
    assert found(api.loads(api.dump(done))) == found(transcript)


def test_without_usage_the_table_says_it() -> None:
    records = [said(1, None, "Hello."), reply(2, 1, "msg_2", text("Hello."))]
    records[1]["message"]["model"] = MODEL
    factor = found(loaded(records))
    family = family_of(MODEL)
    assert family is not None
    assert factor == Factor(family.factor, Known.TABLE, family.error, typical=family.factor)


@pytest.mark.parametrize("model", ["gpt-5", "gpt-4o", "openai/gpt-5.1-codex"])
def test_models_of_openai_count_as_we_do(model: str) -> None:
    assert found(grown(2.0, model=model)) == Factor(1.0, Known.EXACT, 0.0)


def test_a_counter_without_the_vocabulary_of_a_model_is_not_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condense_cli.tokens.tiktoken_counter.is_here", lambda encoding: False)
    transcript = replace(session(10), model="gpt-5", usages=())
    assert factor_of(transcript, Counter(counter="tiktoken")) == Factor(1.0, Known.UNKNOWN)


def test_of_an_unknown_model_nothing_is_known() -> None:
    assert found(session(10, model=UNLISTED)) == Factor(1.0, Known.UNKNOWN)
    assert found(grown(1.6, steps=40, model=UNLISTED)).known is Known.RECORDED


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-5-20250929", "Claude before Opus 4.7"),
        ("us.anthropic.claude-opus-4-6-v1:0", "Claude before Opus 4.7"),
        ("claude-sonnet-4.6", "Claude before Opus 4.7"),
        ("claude-3-5-haiku-latest", "Claude before Opus 4.7"),
        ("claude-opus-4-7", "Claude since Opus 4.7"),
        ("anthropic/claude-opus-4.8", "Claude since Opus 4.7"),
        ("claude-fable-5-2", "Claude since Opus 4.7"),
        ("claude-haiku-5-5", "Claude since Opus 4.7"),
        ("claude-sonnet-5[1m]", "Claude since Opus 4.7"),
    ],
)
def test_models_belong_to_the_family_of_their_tokenizer(model: str, family: str) -> None:
    from condense_cli.tokens.models import tokenizer_of

    assert tokenizer_of(model) == family
    assert family_of(model) is not None


@pytest.mark.parametrize("times", [0.5, 6.0, -1.0])
def test_a_factor_that_cannot_be_is_not_believed_and_said_so(times: float) -> None:
    size = step_of(session(1, 2, model=UNLISTED))
    factor = found(session(*(500_000 + round(number * times * size) for number in range(12)), model=UNLISTED))
    assert factor.known is Known.UNKNOWN
    assert factor.value == factor.typical
    assert factor.doubt


@pytest.mark.parametrize("usage", [-5, 0, 10**12, True, None, "12", 1.5, [3], {"a": 1}])
def test_usage_that_is_none_gives_no_factor(usage: Any) -> None:
    records = [said(1, None, "Please read it all.")]
    for number in range(8):
        identifier, name = 2 + 2 * number, f"toolu_{number}"
        records.append(answer(identifier, 1, UNLISTED, call(name, file_path="a.txt")))
        records[-1]["message"]["usage"] = {"input_tokens": usage, "output_tokens": usage}
        records.append(said(identifier + 1, identifier, [result(name, CONTENT)]))
    factor = found(loaded(records))
    assert (factor.known, factor.doubt) == (Known.UNKNOWN, "")


def test_usage_of_another_model_gives_no_factor() -> None:
    transcript = grown(2.0, steps=40, model=UNLISTED)
    assert found(transcript).known is Known.RECORDED
    assert found(replace(transcript, model="another-model")).known is Known.UNKNOWN


def test_a_step_in_which_something_else_was_sent_does_not_count() -> None:
    transcript = grown(1.5, steps=40, model=UNLISTED)
    usages = list(transcript.usages)
    late = [replace(usage, input_tokens=usage.input_tokens + 100_000) for usage in usages[20:]]
    assert found(replace(transcript, usages=(*usages[:20], *late))).value == pytest.approx(
        found(transcript).value, rel=0.02
    )


def test_a_step_with_a_mark_of_ours_does_not_count() -> None:
    transcript = grown(2.0, steps=40, model=UNLISTED)
    count = Counter.of(transcript)
    before = len(list(steps_of(transcript, count)))
    done = api.condense(transcript, preset="speed", counter=count)
    assert done.changes
    after = len(list(steps_of(done.transcript, count)))
    assert after < before
    assert found(api.loads(api.dump(done))) == found(done.transcript)


@pytest.mark.parametrize(
    ("billed", "is_believable"),
    [(80, True), (79, False), (100, True), (400, True), (401, False), (0, False), (-100, False)],
)
def test_a_step_is_believed_between_the_factors_that_can_be(billed: int, *, is_believable: bool) -> None:
    assert UsageStep(billed, 100).is_believable is is_believable
    assert not UsageStep(billed, 0).is_believable


def test_the_typical_step_is_the_one_that_half_of_the_tokens_are_below() -> None:
    assert median_of([UsageStep(300, 100), UsageStep(100, 100), UsageStep(200, 100)]) == 2
    assert median_of([UsageStep(200, 100), UsageStep(100, 100)]) == 1
    assert median_of([UsageStep(300, 100), UsageStep(100, 98), UsageStep(1_000, 1_000)]) == 1
    assert median_of([UsageStep(300, 100), UsageStep(200, 199)]) == 200 / 199


# Of steps around 2: one of 150 tokens more, or of twice as many, is near, and the next is not.
@pytest.mark.parametrize(
    ("step", "is_near"),
    [
        (UsageStep(170, 10), True),
        (UsageStep(171, 10), False),
        (UsageStep(400, 100), True),
        (UsageStep(401, 100), False),
        (UsageStep(0, 100), True),
        (UsageStep(-1, 100), False),
    ],
)
def test_steps_far_from_the_typical_one_do_not_count(step: UsageStep, *, is_near: bool) -> None:
    usual = [UsageStep(2_000, 1_000)] * 3
    counted = [*usual, step] if is_near else usual
    expected = sum(each.billed for each in counted) / sum(each.counted for each in counted)
    assert fitted([*usual, step]) == pytest.approx(expected, abs=1e-12)


def test_no_factor_is_out_of_bounds() -> None:
    assert fitted([UsageStep(5_000, 1_000)]) == HIGHEST
    assert fitted([UsageStep(500, 1_000)]) == LOWEST


TALK = [
    Message(
        number, role, (Block(BlockKind.TEXT, Place(number, ("content",)), ("content",), "It is as it was. " * 120),)
    )
    for number, role in enumerate([Role.USER, Role.ASSISTANT] * 4)
]


def talk(*usages: Usage, messages: Sequence[Message] = TALK, model: str | None = UNLISTED) -> Transcript:
    return replace(anthropic(user("Go.")), messages=tuple(messages), usages=usages, model=model)


def steps(*usages: Usage, **options: Any) -> list[tuple[int, int]]:
    """The steps in billed tokens, and in messages of `TALK`."""
    transcript = talk(*usages, **options)
    count = Counter.of(transcript)
    each = count.message(TALK[0])
    return [(step.billed, round(step.counted / each)) for step in steps_of(transcript, count)]


def test_steps_are_those_between_two_requests() -> None:
    usages = Usage(1, 1_000), Usage(3, 3_000), Usage(6, 7_000)
    assert steps(*usages) == [(2_000, 2), (4_000, 3)]
    assert steps(*usages[:1]) == []
    # Two requests with nothing between them are none.
    assert steps(usages[0], usages[0], usages[1]) == [(2_000, 2)]
    # Nothing follows the last message.
    assert steps(Usage(6, 7_000), Usage(len(TALK) + 5, 9_000)) == [(2_000, 2)]


def test_what_another_model_or_an_older_branch_used_is_left_out() -> None:
    first, last = Usage(1, 1_000), Usage(6, 7_000)
    for other in Usage(3, 3_000, is_older=True), Usage(3, 3_000, model="another"):
        assert steps(first, other, last) == [(6_000, 5)]
    assert steps(first, Usage(3, 3_000, model=UNLISTED), last) == [(2_000, 2), (4_000, 3)]
    alike = Usage(3, 3_000, model="claude-opus-4-8")
    assert steps(first, alike, last, model=MODEL) == [(2_000, 2), (4_000, 3)]
    assert steps(first, replace(alike, model="claude-opus-4-1"), last, model=MODEL) == [(6_000, 5)]
    assert steps(first, alike, last, model=None) == [(6_000, 5)]


# Text is gone that was billed, or what is counted is a guess. The steps around it are whole.
@pytest.mark.parametrize("at", [3, 5])
def test_a_step_that_does_not_hold_all_that_was_sent_is_left_out(at: int) -> None:
    usages = Usage(1, 1_000), Usage(3, 3_000), Usage(6, 7_000), Usage(7, 8_000)
    block = TALK[at].blocks[0]
    marked = block.with_text(f"{block.text}\n{Gap('406167', 12)}")
    image = replace(block, kind=BlockKind.IMAGE, estimate=900)
    for message in (
        replace(TALK[at], blocks=(replace(block, summarizes=True),)),
        replace(TALK[at], blocks=(marked,)),
        replace(TALK[at], blocks=(block, image)),
    ):
        messages = [*TALK[:at], message, *TALK[at + 1 :]]
        assert steps(*usages, messages=messages) == [(2_000, 2), (1_000, 1)]
    thought = replace(block, kind=BlockKind.THINKING, estimate=1)
    assert len(steps(*usages, messages=[*TALK[:at], replace(TALK[at], blocks=(block, thought)), *TALK[at + 1 :]])) == 3


@pytest.mark.parametrize(("tokens", "is_enough"), [(2_000, True), (1_999, False)])
def test_so_much_recorded_growth_is_enough(tokens: int, *, is_enough: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for billed, known in ((2 * tokens, Known.RECORDED), (9 * tokens, Known.UNKNOWN)):
        monkeypatch.setattr(
            "condense_cli.tokens.factor.steps_of", lambda *_, billed=billed: [UsageStep(billed, tokens)]
        )
        factor = found(talk())
        assert factor.known is (known if is_enough else Known.UNKNOWN)
        assert factor.value == (2 if is_enough and known is Known.RECORDED else 1)
        assert bool(factor.doubt) is (is_enough and known is Known.UNKNOWN)


@given(FACTORS, COUNTS)
@example(0.8, 15)
@example(1.1, 2_654_279)
@example(1.1, 10**12)
@example(1.3, 1)
@example(2.0, 4)
@example(2.0, -5)
def test_bare_is_the_most_that_is_shown_as_no_more(value: float, tokens: int) -> None:
    factor = Factor(value)
    assert factor.shown(factor.bare(tokens)) <= tokens < factor.shown(factor.bare(tokens) + 1)


@given(FACTORS, st.lists(st.integers(0, 10**5)))
def test_parts_add_up_to_what_is_shown_of_all(value: float, tokens: list[int]) -> None:
    factor = Factor(value)
    parts = factor.parts(tokens)
    assert sum(parts) == factor.shown(sum(tokens))
    assert all(abs(part - value * each) <= 1.5 for part, each in zip(parts, tokens, strict=True))


@given(FACTORS, st.lists(st.integers(-1_000, 10**5)), st.integers(0, 10**6))
def test_parts_add_up_to_a_given_sum(value: float, tokens: list[int], total: int) -> None:
    parts = Factor(value).parts(tokens, total)
    assert len(parts) == len(tokens)
    assert sum(parts) == (total if sum(tokens) else 0)


@pytest.mark.parametrize(
    ("known", "most"),
    [
        (Known.EXACT, 1_000),
        (Known.BARE, 1_000),
        (Known.TABLE, 1_000),
        (Known.COUNTED, 1_050),
        (Known.RECORDED, 1_150),
        (Known.UNKNOWN, 1_150),
    ],
)
def test_a_limit_is_kept_up_to_the_error_of_the_factor(known: Known, most: int) -> None:
    for value in (1.0, 2.0):
        factor = Factor(value, known)
        ours = round(most / value)
        assert factor.is_within(ours, 1_000)
        assert not factor.is_within(ours + 1, 1_000)


def test_whose_tokens_numbers_are() -> None:
    transcript = session(1, 2)
    count = Counter.of(transcript)
    assert factor_as("model", transcript, count) == found(transcript) != AS_COUNTED
    assert factor_as("o200k", transcript, count) is AS_COUNTED
    with pytest.raises(ValueError, match=r"^a provider has to count$"):
        factor_as("exact", transcript, count)
    assert [Factor(known=known).is_given for known in Known] == [False, False, False, True, True, False]


def test_the_typical_factor_is_the_one_of_the_table() -> None:
    family = family_of(MODEL)
    assert family is not None
    assert (typical_of(MODEL), typical_of("gpt-5"), typical_of(UNLISTED), typical_of(None)) == (family.factor, 1, 1, 1)
    assert (family_of(UNLISTED), family_of(None)) == (None, None)
    # A model of OpenAI's is its own, whoever hands it on.
    assert (family_of("my-claude-gateway/gpt-5"), typical_of("my-claude-gateway/gpt-5")) == (family_of("claude-2"), 1)


@pytest.mark.parametrize(
    ("model", "binds", "forgets"),
    [
        ("Claude-Opus-5-5-20260801", True, False),
        ("claude-fable-5.1", True, False),
        ("claude-opus-5", False, False),
        (MODEL, False, False),
        ("openai/GPT-5.5", False, True),
        ("o3", False, True),
        ("gpt-5.6", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_models_bind_thinking_or_forget_it(model: str | None, binds: bool, forgets: bool) -> None:
    assert (binds_thinking(model), forgets_thinking(model)) == (binds, forgets)


# Beyond 10**12 floats do not tell one token from the next, and no loop may look for it.
@pytest.mark.parametrize("value", [0.8, 1.0, 1.52, 3.0])
def test_limits_beyond_all_counts_are_divided_only(value: float) -> None:
    for tokens in (10**12 + 1, 10**15, 10**18):
        assert Factor(value).bare(tokens) == int(tokens / value)
    assert (
        Factor(value).shown(Factor(value).bare(10**12)) <= 10**12 < Factor(value).shown(Factor(value).bare(10**12) + 1)
    )


def test_parts_of_nothing_are_nothing() -> None:
    assert Factor(2.0).parts([]) == []
    assert Factor(2.0).parts([0, 0], 7) == [0, 0]
    assert Factor(2.0).parts([1, 2]) == [2, 4]
    assert Factor(1.5).parts([1, 1, 1]) == [2, 1, 2]


def test_as_counted_changes_nothing() -> None:
    assert AS_COUNTED.shown(1_234_567) == AS_COUNTED.bare(1_234_567) == 1_234_567
