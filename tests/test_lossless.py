"""What references say is what stood there, on generated transcripts that repeat content in every way agents do."""

from __future__ import annotations

import pytest
from hypothesis import given
from references import EACH, VARIETIES, check
from strategies import FILES, REPEATING_FILES

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
