"""References are proven before they are written: what is only counted once in the end, all where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest
from build import anthropic, configuration, cut_to, one_pass, read_turn, user
from helpers import listing

from condense_cli import api
from condense_cli.core.markers import REFERENCE_PREFIX
from condense_cli.core.transcript import Block, Text, Transcript
from condense_cli.lossless import encode, proof
from condense_cli.lossless.decode import decode
from condense_cli.passes import course
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.prelude import ReferenceWriter

pytestmark = pytest.mark.usefixtures("anywhere")

CUT = one_pass(selection={"type": "preserve_recent", "keep_recent_count": 4}, individual_config=cut_to(5))
CONFIGURATION = configuration(CUT, lossless_prelude={"enabled": True})


def reads(*more: dict[str, Any]) -> Transcript:
    """Two files, each read three times."""
    turns = [read_turn(f"{round}-{file}", f"src/{file}.py", listing(file)) for round in range(3) for file in (1, 2)]
    return anthropic(user("Please look."), *more, *(message for turn in turns for message in turn))


@contextmanager
def spoiling(place: tuple[int, int]) -> Iterator[None]:
    """A defect: the references in one block name what is not there."""
    right = encode._Encoder._block

    def wrong(encoder: Any, at: tuple[int, int], parts: Any) -> Block | None:
        block = right(encoder, at, parts)
        return block.with_text(block.text.replace("next", "999th next")) if block and at == place else block

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encode._Encoder, "_block", wrong)
        yield


def proving_all(transcript: Transcript) -> Condensation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(course, "ReferenceWriter", lambda *given, proves_all: ReferenceWriter(*given, proves_all=True))
        return api.condense(transcript, CONFIGURATION, clock=lambda: 0.0)


def contents(condensation: Condensation) -> list[Text]:
    return [block.content for _, block in condensation.transcript.blocks()]


def proofs_of(transcript: Transcript, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a run decodes what it has written, for the first time before it cuts down to a target."""
    decoding = Mock(wraps=decode)
    with monkeypatch.context() as patch:
        patch.setattr(proof, "decode", decoding)
        api.condense(transcript, CONFIGURATION, target_tokens=100, clock=lambda: 0.0)
    return decoding.call_count


@pytest.mark.parametrize("more", [(), (user(f"It said:\n{REFERENCE_PREFIX}lines 3-4 of the next Read #123456]"),)])
def test_a_proof_in_the_end_changes_nothing(more: tuple[dict[str, Any], ...]) -> None:
    transcript = reads(*more)
    found, proven = api.condense(transcript, CONFIGURATION, clock=lambda: 0.0), proving_all(transcript)
    assert found.references
    assert (found.receipts, found.passes, contents(found)) == (proven.receipts, proven.passes, contents(proven))


def test_a_wrong_reference_costs_itself_and_nothing_else() -> None:
    transcript = reads()
    (message, number), *others = api.condense(transcript, CONFIGURATION, clock=lambda: 0.0).references
    with spoiling((message, number)):
        found, proven = api.condense(transcript, CONFIGURATION, clock=lambda: 0.0), proving_all(transcript)
    assert list(found.references) == others
    assert (found.receipts, found.passes, contents(found)) == (proven.receipts, proven.passes, contents(proven))


def test_what_is_only_counted_is_proven_where_a_text_looks_like_a_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proofs_of(reads(), monkeypatch) == 1
    assert proofs_of(reads(user(f"{REFERENCE_PREFIX}the docs]")), monkeypatch) == 2
