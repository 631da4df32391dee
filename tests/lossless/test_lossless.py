"""References restore the original on generated transcripts that repeat content in every way agents do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import real
from hypothesis import given
from hypothesis import strategies as st
from references import EACH, VARIETIES, check
from strategies import FILES, REPEATING, REPEATING_FILES, anthropic_messages, spelled

from condense_cli.formats import parse
from condense_cli.lossless.encode import Keep


# restore(prelude(t)) == restore(t), for each finder alone and all together, in both directions.
@pytest.mark.parametrize(("finders", "keep"), VARIETIES)
@given(data=REPEATING_FILES)
def test_decoding_undoes_encoding(finders: str, keep: Keep, data: bytes) -> None:
    check(parse(data).messages, EACH[finders], keep)


@given(FILES)
def test_decoding_undoes_encoding_of_anything(data: bytes) -> None:
    check(parse(data).messages, EACH["all and parameters"])


# The same on real transcripts, of formats too that are only read.
@pytest.mark.parametrize(
    ("path", "variety"),
    real.spread(real.all_files(), VARIETIES),
    ids=lambda value: value.name[-40:] if isinstance(value, Path) else "-".join(value),
)
def test_decoding_undoes_encoding_of_real_transcripts(path: Path, variety: tuple[str, Keep]) -> None:
    finders, keep = variety
    check(real.transcript(path).messages, EACH[finders], keep)


@st.composite
def mangled(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Messages with duplicated ids of calls, results that no call asked for, and messages out of order."""
    messages = draw(anthropic_messages(REPEATING))
    for message in messages:
        for block in message["content"] if isinstance(message["content"], list) else []:
            for key in {"id", "tool_use_id"} & block.keys():
                if draw(st.integers(0, 2)) == 0:
                    block[key] = draw(st.sampled_from(["call_1", "call_2", "nobody", ""]))
    for _ in range(draw(st.integers(0, 3))):
        messages.pop(draw(st.integers(0, len(messages) - 1))) if len(messages) > 1 else None
    return draw(st.permutations(messages)) if draw(st.booleans()) else messages


# References restore the original however calls and results fail to pair.
@given(mangled().flatmap(spelled), st.sampled_from(VARIETIES))
def test_decoding_undoes_encoding_where_calls_and_results_do_not_pair(data: bytes, variety: tuple[str, Keep]) -> None:
    check(parse(data, format="anthropic").messages, EACH[variety[0]], variety[1])
