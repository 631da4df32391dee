"""Law 4 over rounds: what an earlier summary holds is kept at least as well as one run over everything keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import laws
import pytest
import real
import words_law
from build import anthropic, assistant, call, configuration, cut_to, one_pass, read_turn, result, user
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES
from test_order import WAYS, sources, with_new_work

from condense_cli import api
from condense_cli.config.models import Configuration
from condense_cli.core import json_text
from condense_cli.core.markers import parse_gap
from condense_cli.core.text_facts import facts_of
from condense_cli.core.transcript import Block, Transcript, cut_before
from condense_cli.formats import parse
from condense_cli.ledger.text import OPENING
from condense_cli.passes.condensation import Condensation
from condense_cli.tokens.counting import Counter
from condense_cli.tokens.factor import AS_COUNTED

WITH_TARGET = ("balanced", "cost", "speed", "max")
SUMMARIZING = st.sampled_from([(6, "max"), (12, "max"), (6, "native"), (12, "native")])
"""How many messages a first summary leaves, so that the second run finds new work behind it, and what runs then."""


def in_words(transcript: Transcript) -> set[str]:
    """Lines of all summaries, without their marks and ledgers."""
    texts = (block.text for _, block in transcript.blocks() if block.summarizes)
    return {line for text in texts for line in text.partition(OPENING)[0].split("\n")[1:] if line.strip()}


def check_second_round(data: bytes, kept: int, way: str) -> None:
    transcript = parse(data)
    earlier = api.condense(transcript, configuration(provider="native", native={"max_messages_to_keep": kept}))
    first = with_new_work(earlier)
    second = api.condense(first, WAYS[way])
    assert in_words(first) <= in_words(second.transcript)
    assert set(words_law.quoted(earlier)) <= set(words_law.quoted(second))


# With no target and no limit every line of an earlier summary is in the next one.
@settings(max_examples=settings().max_examples // 2)
@given(name=st.sampled_from(sorted(sources())), how=SUMMARIZING)
def test_a_second_summary_says_all_that_the_first_one_says(name: str, how: tuple[int, str]) -> None:
    check_second_round(sources()[name], *how)


# `max` may be held to the size of another preset, which is a limit.
@settings(max_examples=settings().max_examples // 2)
@given(data=FILES, kept=st.sampled_from([6, 12]))
def test_a_second_summary_says_all_that_the_first_one_says_in_any_conversation(data: bytes, kept: int) -> None:
    check_second_round(data, kept, "native")


Json = dict[str, Any]


def in_rounds(parts: Sequence[list[Json]], configured: Configuration, target: int | None) -> list[Condensation]:
    """The condensation of every round: each part comes behind what the rounds before it left.

    A target grows with the rounds up to what one run over everything would have.
    """
    found: list[Condensation] = []
    messages: list[Json] = []
    for number, part in enumerate(parts, 1):
        share = None if target is None else target * number // len(parts)
        found.append(at_once([*messages, *part], configured, share))
        messages = json_text.parse(api.dump(found[-1]))
    return found


def at_once(messages: list[Json], configured: Configuration, target: int | None) -> Condensation:
    return api.condense(api.loads(messages), replace(configured, target_tokens=target), factor=AS_COUNTED)


def facts_in(blocks: Iterable[Block]) -> set[str]:
    """The facts in what blocks say, and summaries in words."""
    texts = (block.text.partition(OPENING)[0] if block.summarizes else block.text for block in blocks)
    return {fact for text in texts for line in text.split("\n") if not parse_gap(line) for fact in facts_of(line)}


def check_rounds(parts: Sequence[list[Json]], way: str, share: float | None) -> list[Condensation]:
    """Of the facts that the first round chose, no smaller a share is left than one run leaves of all it chose from."""
    messages = [message for part in parts for message in part]
    target = None if share is None else int(Counter().transcript(api.loads(messages)) * share)
    first, *_, last = rounds = in_rounds(parts, WAYS[way], target)
    one = at_once(messages, WAYS[way], target)
    whole = {block.text for _, block in first.transcript.blocks() if not block.changed}
    chosen = facts_in(block for _, block in first.transcript.blocks() if block.changed)
    chosen_from = facts_in(block for _, block in first.before.blocks() if block.text not in whole)
    left, left_by_one = (facts_in(block for _, block in found.transcript.blocks()) for found in (last, one))
    assert chosen
    assert len(chosen & left) >= len(chosen_from & left_by_one) * len(chosen) // len(chosen_from)
    return rounds


def work(number: int) -> list[Json]:
    """A rule of the user, reads of files in which few lines matter, and what the assistant makes of them."""
    reads = [
        message
        for n in range(8)
        for message in read_turn(
            f"r{number}_{n}",
            f"src/part_{number}_{n}.py",
            "\n".join(f"setting_{number}_{n}_{line} = compute_{number}_{n}({line * 7919})" for line in range(12)),
        )
    ]
    said = "\n".join(f"To be changed: setting_{number}_{n}_{n}." for n in range(8))
    return [user(f"Look at part {number}. {RULE.format(number)}"), *reads, assistant(said)]


RULE = "Rule {0}: never push to branch_{0}."
PARTS = [work(number) for number in range(5)]
LIMITS = [("max", None), ("native", None), *((way, share) for way in WITH_TARGET for share in (0.4, 0.2))]


@pytest.mark.parametrize(("way", "share"), LIMITS)
def test_five_rounds_keep_what_the_first_one_chose(way: str, share: float | None) -> None:
    quoted = words_law.quoted(check_rounds(PARTS, way, share)[-1])
    assert all(any(RULE.format(number) in text for text in quoted) for number in range(len(PARTS)))


CODERABBIT = real.FOLDER / "derived" / "anthropic-messages-coderabbit.jsonl"
DJANGO = real.FOLDER / "derived" / "openai-messages-django-11265.jsonl"


def recorded(path: Path) -> list[Json]:
    if not path.exists():
        pytest.skip("the real transcripts are not present")
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("way", ["max", "native"])
def test_four_messages_more_leave_a_real_summary_as_it_was(way: str) -> None:
    messages = recorded(CODERABBIT)
    first, second = in_rounds([messages[:100], messages[100:104]], WAYS[way], None)
    assert second.changes
    assert in_words(first.transcript) <= in_words(second.transcript)


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("way", "share"), LIMITS)
@pytest.mark.parametrize("path", [CODERABBIT, DJANGO], ids=lambda path: path.name)
def test_five_rounds_of_real_work_keep_what_the_first_one_chose(path: Path, way: str, share: float | None) -> None:
    messages = recorded(path)
    whole = api.loads(messages)
    ends = [cut_before(whole.messages, len(messages) * number // 5) for number in range(1, 5)]
    parts = [messages[start:end] for start, end in zip([0, *ends], [*ends, len(messages)], strict=True)]
    check_rounds(parts, way, share)


LINES = [f"    value_{number} = compute_alpha({number}, {number * number})" for number in range(12)]
OLD, NEW = "\n".join(LINES), "\n".join(LINES[6:])
ALL: dict[str, Any] = {"type": "preserve_recent", "keep_recent_count": 0}


def condensed(*messages: dict[str, Any], **passes: Any) -> Condensation:
    return laws.check_all(
        anthropic(user("Go on."), *messages, assistant("Done.")),
        configuration(one_pass(selection=ALL, **passes), lossless_prelude={"enabled": True}),
    )


# Lines that the original of a cut result could have named, had that been worth it, are free to be a reference.
@pytest.mark.usefixtures("anywhere")
def test_a_reference_that_was_weighed_and_left_holds_no_lines() -> None:
    edit = call("edit", "Edit", file_path="src/app.py", old_string="", new_string=NEW + "\n")
    done = condensed(
        assistant([call("read", file_path="src/app.py"), edit]),
        user([result("read", OLD), result("edit", NEW)]),
        *[assistant([call("again", file_path="src/app.py")]), user([result("again", OLD)])],
        individual_config=cut_to(7),
    )
    assert done.transcript.messages[2].blocks[1].text.startswith("[see lines 1-6 of new_string of this call ")
