"""Counting: exact for OpenAI's encodings, never a download, each text once."""

from functools import cache

import pytest
import real
import splintr
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from condense_cli.tokens import counting, tiktoken_counter
from condense_cli.tokens.counting import COUNTERS, Counter, CounterName, chunks, count_text, encoding_for
from condense_cli.tokens.models import forgets_thinking

NAMES = ("o200k_base", "cl100k_base", "o200k_harmony")


splintr_tokenizer = cache(splintr.Tokenizer.from_pretrained)
"""A tenth of a second a vocabulary."""


@pytest.fixture(scope="module", params=NAMES)
def reference(request: pytest.FixtureRequest) -> tiktoken.Encoding:
    """tiktoken's encoding with the counter's vocabulary, which has the hash of the file that it would download."""
    encoding = tiktoken_counter._encoding(request.param)
    assert encoding is not None, "the vocabulary is not the one that tiktoken ships"
    return encoding


# The vocabulary is the one that tiktoken downloads, by its published hash, and counts agree on real text.
@pytest.mark.slow
def test_counts_equal_tiktoken_on_real_transcripts(reference: tiktoken.Encoding) -> None:
    texts = {block.text for path in real.all_files() for _, block in real.transcript(path).blocks()}
    assert texts
    for text in texts:
        count = len(reference.encode_ordinary(text))
        assert count_text(text, reference.name) == count_text(text, reference.name, counter="tiktoken") == count


# Counts agree on odd text too.
@given(text=TEXTS)
def test_counts_equal_tiktoken_on_generated_text(reference: tiktoken.Encoding, text: str) -> None:
    replaced = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    count = len(reference.encode_ordinary(replaced))
    assert count_text(text, reference.name) == count_text(text, reference.name, counter="tiktoken") == count


# Special tokens spelled out in a transcript are ordinary text.
def test_special_tokens_are_ordinary_text(reference: tiktoken.Encoding) -> None:
    assert count_text("<|endoftext|>", reference.name) == len(reference.encode_ordinary("<|endoftext|>")) > 1


# Both forms in which the tokenizer answers agree.
@given(TEXTS)
@pytest.mark.parametrize("name", NAMES)
def test_every_way_of_counting_agrees(name: str, text: str) -> None:
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    plain = counting._splintr_counter(name)(whole)
    assert count_text(text, name) == plain == len(splintr_tokenizer(name).encode_ordinary(whole))


# Every special token is spelled so that the form is taken that leaves it alone.
@pytest.mark.parametrize("name", NAMES)
def test_special_tokens_are_recognised_by_their_spelling(name: str) -> None:
    assert all("<|" in special for special in splintr.Tokenizer.from_pretrained(name).special_tokens())


# Cutting a long text into chunks changes no count, wherever the cuts fall.
@given(
    st.lists(
        st.one_of(TEXTS, st.sampled_from(["it's we'll I'D", "a.b,c;d", "12345 67", "x\n\n y", "é'l ß!"])), min_size=1
    ),
    st.integers(1, 40),
)
def test_chunks_change_no_count(pieces: list[str], size: int) -> None:
    text = "".join(pieces).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    count = counting._counter("o200k_base")
    parts = list(chunks(text, size))
    assert "".join(parts) == text
    assert sum(map(count, parts)) == count(text)


# A million spaces, a megabyte without any boundary and lone surrogates are counted, not crashed on.
@pytest.mark.slow
@pytest.mark.parametrize("counter", COUNTERS)
@pytest.mark.parametrize(
    "text", [" " * 1_000_000, "\t" * 1_000_000 + "x", "a" * 1_000_000, "\n" * 1_000_000, "\ud800 lone " * 1_000]
)
def test_extreme_texts_are_counted(text: str, counter: CounterName) -> None:
    assert 0 < count_text(text, counter=counter) == count_text(text) <= len(text)


# Each text is counted once, however often it is asked for.
def test_a_text_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def counted(text: str, encoding: str, **_: object) -> int:
        asked.append(text)
        return 7

    monkeypatch.setattr(counting, "count_text", counted)
    count = Counter()
    assert [count("abc"), count("abc"), count("")] == [7, 7, 0]
    assert asked == ["abc"]


# OpenAI models are exact with their own encoding; everything else is an estimate and says so.
@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("gpt-4o-mini-2024-07-18", "o200k_base", True),
        ("openai/gpt-5.1", "o200k_base", True),
        ("o3", "o200k_base", True),
        ("gpt-4.1-nano", "o200k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("gpt-3.5-turbo-0125", "cl100k_base", True),
        ("ft:gpt-4:example::abc123", "cl100k_base", True),
        ("claude-opus-5", "o200k_base", False),
        ("o2-unknown", "o200k_base", False),
        ("gpt-4x", "o200k_base", False),
        ("gpt-9", "o200k_base", False),
        (None, "o200k_base", False),
    ],
)
def test_encoding_of_a_model(model: str | None, name: str, exact: bool) -> None:
    encoding = encoding_for(model)
    assert (encoding.name, encoding.exact) == (name, exact)


@pytest.mark.parametrize("model", ["gpt-5", "gpt-5-codex", "openai/gpt-5-mini", "GPT-5.3-codex-spark", "gpt-5.5", "o3"])
def test_apis_that_leave_out_old_thinking(model: str) -> None:
    assert forgets_thinking(model)


@pytest.mark.parametrize(
    "model", [None, "gpt-5.6-sol", "gpt-5.50", "gpt-50", "gpt-4o", "claude-opus-4-5", "o35", "mo3"]
)
def test_apis_that_do_not(model: str | None) -> None:
    assert not forgets_thinking(model)
