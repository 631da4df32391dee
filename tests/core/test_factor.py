"""The model's tokens: what leads from the tokens that are counted to those that its provider bills."""

from __future__ import annotations

import json
from typing import Any

import pytest
from build import call, result, text
from claude_tree import reply, said
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.factor import (
    AS_COUNTED,
    HIGHEST,
    LOWEST,
    Factor,
    Known,
    factor_of,
    family_of,
    steps_of,
)
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Transcript

Json = dict[str, Any]
MODEL = "claude-opus-4-7-20260401"
UNLISTED = "someone-s-model-1"
CONTENT = "\n".join(f"line {n} of the file says {n * n}" for n in range(200))
FACTORS = st.floats(LOWEST, HIGHEST)
COUNTS = st.integers(0, 10**7)


def answer(number: int, tokens: int, model: str, *blocks: Json) -> Json:
    """An answer whose request took so many tokens."""
    line = reply(number, number - 1, f"msg_{number}", *blocks)
    line["message"] |= {"model": model, "usage": {"input_tokens": tokens, "output_tokens": 1}}
    return line


def session(*billed: int, model: str = MODEL, content: str = CONTENT) -> Transcript:
    """A session of calls whose results are all alike; the requests took so many tokens."""
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
    """What one call of a session adds, as it is counted."""
    count = Counter.of(transcript)
    return sum(map(count.message, transcript.messages[1:3]))


def grown(times: float, steps: int = 6, **options: Any) -> Transcript:
    """A session whose requests grow by so many times what is counted."""
    size = step_of(session(1, 2, **options))
    return session(*(20_000 + round(number * times * size) for number in range(steps)), **options)


def found(transcript: Transcript) -> Factor:
    return factor_of(transcript, Counter.of(transcript))


# --- Where it is from -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1.1, 1.56, 2.5])
def test_recorded_usage_says_it_for_a_model_that_is_not_in_the_table(times: float) -> None:
    factor = found(grown(times, steps=40, model=UNLISTED))
    assert factor.known is Known.RECORDED
    assert factor.value == pytest.approx(times, rel=0.01)
    assert factor.typical == 1
    assert factor.error


# What one session recorded is no surer a guide than the table, and another one once texts are cut.
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
    from condense_cli.core.models import tokenizer_of

    assert tokenizer_of(model) == family
    assert family_of(model) is not None


# --- What is not believed ---------------------------------------------------------------------------------------------


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


# --- Arithmetic -------------------------------------------------------------------------------------------------------


@given(FACTORS, COUNTS)
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


def test_as_counted_changes_nothing() -> None:
    assert AS_COUNTED.shown(1_234_567) == AS_COUNTED.bare(1_234_567) == 1_234_567
