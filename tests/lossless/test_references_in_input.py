"""Transcripts that hold references already: real ones, damaged ones, copied ones, and text that imitates them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import laws
import pytest
from build import LONG, anthropic, assistant, call, configuration, one_pass, read_turn, result, user
from hypothesis import given
from hypothesis import strategies as st
from references import EACH, VARIETIES, check, references, says_the_same, texts, without_one, written
from strategies import REPEATING_FILES

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.core.transcript import Message
from condense_cli.core.values import BlockKind
from condense_cli.formats import parse
from condense_cli.lossless.decode import Decoded, decode
from condense_cli.lossless.encode import Keep, with_blocks
from condense_cli.passes.condensation import Condensation

pytestmark = pytest.mark.usefixtures("anywhere")

VARIETY = st.sampled_from(VARIETIES)


def plain(data: bytes) -> tuple[Message, ...]:
    return decode(parse(data).messages).messages


# A file may be condensed again with other finders, in the other direction: it says the same.
@given(REPEATING_FILES, VARIETY, VARIETY)
def test_what_one_configuration_wrote_another_one_understands(
    data: bytes, first: tuple[str, Keep], second: tuple[str, Keep]
) -> None:
    messages = plain(data)
    once = written(messages, EACH[first[0]], first[1])
    twice = check(once, EACH[second[0]], second[1])
    assert says_the_same(decode(twice).messages, messages)
    assert says_the_same(twice, written(messages, EACH[second[0]], second[1]))


# Turns that a client appends change no reference, also when they repeat everything once more.
@given(REPEATING_FILES, VARIETY, REPEATING_FILES)
def test_turns_that_are_appended_break_no_reference(data: bytes, variety: tuple[str, Keep], more: bytes) -> None:
    messages = plain(data)
    after = written(messages, EACH[variety[0]], variety[1])
    for appended in (plain(data), plain(more)):
        decoded = decode([*after, *appended])
        assert says_the_same(decoded.messages[: len(after)], messages)


# If references or messages are removed or overwritten, those that still resolve restore the original.
@given(REPEATING_FILES, VARIETY, st.data())
def test_damage_never_makes_a_reference_say_something_else(
    data: bytes, variety: tuple[str, Keep], draw: st.DataObject
) -> None:
    messages = plain(data)
    after = written(messages, EACH[variety[0]], variety[1])
    lost = draw.draw(st.sets(st.sampled_from(range(len(after))), max_size=3))
    stay = [position for position in range(len(after)) if position not in lost]
    _resolve_to_the_same([messages[position] for position in stay], decode([after[position] for position in stay]))
    check([after[position] for position in stay], EACH[variety[0]], variety[1])
    for damaged in list(without_one(after))[:3]:
        _resolve_to_the_same(messages, decode(damaged))


def _resolve_to_the_same(meant: Sequence[Message], decoded: Decoded) -> None:
    """Each block says what it said, but for lines that still are references or were written over."""
    for old, new in zip(meant, decoded.messages, strict=True):
        for before, after in zip(old.blocks, new.blocks, strict=True):
            for left, right in zip(texts(before), texts(after), strict=True):
                lines = [line for line in right.split("\n") if line != "no reference"]
                kept = [line for line in lines if not line.startswith("[see ")]
                assert set(kept) <= set(left.split("\n"))


@st.composite
def copied(draw: st.DrawFn) -> list[Message]:
    """A transcript with references of its condensed form as text in other places."""
    messages = list(plain(draw(REPEATING_FILES)))
    finders, keep = draw(VARIETY)
    after = written(messages, EACH[finders], keep)
    lines = references(after)
    blocks = {}
    places = [
        (position, number)
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if block.kind in (BlockKind.TOOL_RESULT, BlockKind.TEXT)
    ]
    if not lines or not places:
        return messages
    source = draw(st.sampled_from([messages, after]))
    for place in draw(st.sets(st.sampled_from(places), min_size=1, max_size=4)):
        block = source[place[0]].blocks[place[1]]
        printed = draw(
            st.one_of(
                st.lists(st.sampled_from(lines), min_size=1, max_size=3).map("\n".join),
                st.just("\n".join(said for message in after for block in message.blocks for said in texts(block))),
            )
        )
        around = block.text.split("\n")
        at = draw(st.integers(0, len(around)))
        blocks[place] = block.with_text("\n".join([*around[:at], printed, *around[at:]]))
    return with_blocks(source, blocks)


# References as text somewhere else, or the whole condensed file printed inside a result.
@given(copied(), VARIETY)
def test_copied_references_do_no_harm(messages: list[Message], variety: tuple[str, Keep]) -> None:
    check(messages, EACH[variety[0]], variety[1])


READS = [message for n in range(4) for message in read_turn(str(n))]
LARGE_READ = read_turn("large", content="\n".join(f"{n} comes once, {n * n} is another number" for n in range(200)))
UNPINNED = configuration(lossless_prelude={})
EARLIEST = configuration(lossless_prelude={"keep": "earliest"})


def condensed(configured: Configuration, *messages: dict[str, object]) -> Condensation:
    return laws.check_all(anthropic(user("a"), *messages, assistant("z")), configured)


# References of the input and those of another configuration would lead to each other: the input's stay.
@pytest.mark.parametrize("other", [{}, {"operations": {"deduplicate_file_reads": False}}, {"enabled": False}])
def test_references_of_another_direction_stay(other: dict[str, object]) -> None:
    once = api.dump(condensed(EARLIEST, *READS))
    assert once.count(b"[see the ") == 3
    assert api.dump(api.condense(api.loads(once), configuration(lossless_prelude=other))) == once


# With fewer finders an older read could refer to a newer one, which refers to a command's output: it does not.
@pytest.mark.parametrize("keep", ["latest", "earliest"])
def test_a_new_reference_does_not_lead_to_one_of_the_input(keep: str) -> None:
    printed = [assistant([call("make", "Bash", command="make")]), user([result("make")])]
    turns = [*READS, *printed] if keep == "latest" else [*printed, *READS]
    once = api.loads(api.dump(condensed(configuration(lossless_prelude={"keep": keep}), *turns, *LARGE_READ)))
    assert sum("Bash `make` #" in line for line in references(once.messages)) == 4
    fewer = {"keep": keep, "operations": {"consolidate_tool_results": False}}
    suppress = one_pass(selection={"type": "custom", "range": {"start": 11}})
    after = laws.check_all(once, configuration(suppress, lossless_prelude=fewer)).transcript
    assert after.messages[:11] == once.messages[:11]


# The target of a pinned reference in the input stays, even if the same lines came again since.
def test_what_a_kept_reference_names_becomes_none() -> None:
    once = api.dump(condensed(configuration(lossless_prelude={}), *READS[:4]))
    appended = [*json.loads(once)[:-1], *READS[4:6], assistant("z")]
    pinned = configuration(lossless_prelude={}, pins=[{"range": {"start": 2, "end": 3}}])
    after = laws.check_all(anthropic(*appended), pinned)
    assert not after.changes
    assert [receipt.message for receipt in laws.check_all(anthropic(*appended), UNPINNED).changes] == [2, 4]


# If a pass cuts the target of references in the input, they become lines again or refer to the rest.
def test_references_to_what_is_cut_become_lines_again() -> None:
    once = api.loads(api.dump(condensed(EARLIEST, *LARGE_READ, *READS)))
    suppress = one_pass(selection={"type": "custom", "range": {"end": 5}})
    for prelude, references_left in (({"enabled": False}, 0), ({}, 2)):
        after = laws.check_all(once, configuration(suppress, lossless_prelude=prelude))
        messages = after.transcript.messages
        assert len(references(messages)) == references_left
        assert [message.blocks[0].text for message in decode(messages).messages[6:11:2]] == [LONG] * 3


# A user's text that was cut is no reference, though its rest contains one; its receipt says so.
def test_a_text_that_was_cut_is_no_reference() -> None:
    state = f"<environment_details>\n{LONG}\n</environment_details>"
    messages = [assistant("b"), user(f"{LONG[::-1]}\n{state}"), assistant("d"), user(state)]
    cut = {"message_text": {"operation": "truncate", "params": {"truncate": {"max_lines": 60, "keep": "tail"}}}}
    chosen = one_pass(selection={"type": "custom", "range": {"end": 3}}, individual_config={"defaults": cut})
    after = condensed(configuration(chosen, lossless_prelude={}), *messages)
    said = after.transcript.messages[2].blocks[0].text
    assert said.startswith("[… 22 lines #")
    assert "[see " in said
    assert [(receipt.message, receipt.operation) for receipt in after.changes][-1] == (2, "truncate")
