"""References are proven before they are written: each decodes to what it was made from, or is left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from build import anthropic, configuration, cut_to, one_pass, read_turn, user
from helpers import listing

from condense_cli import api
from condense_cli.core.transcript import Block, Transcript
from condense_cli.lossless import encode

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


def test_a_wrong_reference_costs_itself_and_nothing_else() -> None:
    transcript = reads()
    right = api.condense(transcript, CONFIGURATION, clock=lambda: 0.0)
    (message, number), *others = right.references
    with spoiling((message, number)):
        found = api.condense(transcript, CONFIGURATION, clock=lambda: 0.0)
    assert list(found.references) == others
    plain = api.condense(transcript, configuration(CUT), clock=lambda: 0.0).transcript.messages[message].blocks[number]
    assert found.transcript.messages[message].blocks[number].content == plain.content
