"""Passes in mode extract with a `min_worth`: what later work is expected to need too little of goes, target or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import laws
import pytest
import real
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    condense,
    configuration,
    conversation,
    extract,
    reasons,
    result,
    text,
    user,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from strategies import FILES, MODELS, REPEATING_FILES

from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.core.transcript import Transcript
from condense_cli.formats import parse
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import Kept, Status
from condense_cli.tokens.counting import Counter

WORTHS = st.sampled_from([0.05, 0.4, 2.0, 20.0, 1e6])


def worth(**keys: Any) -> dict[str, Any]:
    return extract(id="worth", execution={"type": "always"}, extract_config=keys)


def debugging(noise: int = 60) -> Transcript:
    """A log of much noise in which one line tells the error, long before the newest turns."""
    lines = ["reading on, all is well"] * noise
    lines[noise // 2] = "ValueError: cannot parse 'tarif_2031' in src/billing/rates.py line 88"
    return anthropic(
        user("The import of rates fails. Find out why."),
        assistant([call("t0", "Bash", command="python -m billing.importer --verbose rates.csv")]),
        user([result("t0", "\n".join(lines))]),
        assistant([call("t1", "Bash", command="ls")]),
        user([result("t1", "README.md")]),
        assistant("I look at src/billing/rates.py next."),
    )


def texts(condensation: Condensation) -> list[str]:
    return [block.text for _, block in condensation.transcript.blocks()]


def test_without_a_target_what_is_worth_little_goes_and_the_rest_stays() -> None:
    condensation = condense(debugging(), worth(min_worth=0.4))
    (receipt,) = condensation.changes
    assert (receipt.operation, receipt.tool, receipt.message) == ("extract", "Bash", 2)
    (log,) = (text for text in texts(condensation) if "ValueError" in text)
    assert log.count("all is well") < 6
    assert condensation.tokens_after < condensation.tokens_before / 2


def test_how_much_goes_is_what_min_worth_says() -> None:
    transcript = anthropic(*conversation(10))
    sizes = [condense(transcript, worth(min_worth=least)).tokens_after for least in (0.001, 0.1, 2, 1_000)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == Counter.of(transcript).transcript(transcript)
    assert sizes[-1] < sizes[0] / 3


def test_small_blocks_stay() -> None:
    transcript = debugging()
    log = Counter.of(transcript).block(transcript.messages[2].blocks[0])
    assert condense(transcript, worth(min_worth=0.4, min_tokens=log)).changes
    condensation = condense(transcript, worth(min_worth=0.4, min_tokens=log + 1))
    assert not condensation.changes
    assert Kept.SMALL in reasons(condensation)


def test_it_never_asks_for_what_the_user_wrote() -> None:
    messages = [user("Please fix it."), assistant("What exactly?"), user(LONG), assistant("Done."), user("Thanks.")]
    condensation = condense(anthropic(*messages), worth(min_worth=20))
    assert LONG in texts(condensation)


# A conversation goes on after it was condensed: what was cut stays as it is, and what has grown old since is cut.
def test_what_was_cut_once_is_left_alone() -> None:
    first = condense(debugging(), worth(min_worth=0.4)).transcript
    later = anthropic(
        *json.loads(api.dump(first)),
        user("Go on."),
        assistant([call("t2", "Bash", command="python -m billing.importer --again")]),
        user([result("t2", "\n".join(["reading on, nothing else"] * 80))]),
        assistant([text("It works now.")]),
        user("Thanks."),
        assistant("Welcome."),
    )
    condensation = condense(later, worth(min_worth=0.4))
    assert Kept.CUT in reasons(condensation)
    assert [receipt.message for receipt in condensation.changes] == [8]


def test_a_target_that_is_met_sooner_keeps_more() -> None:
    transcript = anthropic(*conversation(10))
    all_of_it = condense(transcript, worth(min_worth=20))
    target = (all_of_it.tokens_before + all_of_it.tokens_after) // 2
    condensation = condense(transcript, worth(min_worth=20), target_tokens=target)
    assert 0.98 * target <= condensation.tokens_after <= target
    missed = condense(transcript, worth(min_worth=20), target_tokens=all_of_it.tokens_after - 50)
    assert missed.tokens_after == all_of_it.tokens_after


def test_a_pass_for_targets_alone_is_skipped_all_the_same() -> None:
    condensation = condense(debugging(), extract(extract_config={"min_worth": 0.4}))
    (skipped,) = (receipt for receipt in condensation.passes if receipt.id == "to-target")
    assert (skipped.status, skipped.reason) == (Status.SKIPPED, "there is no target")


# An override asks other blocks for something else; what the first ones say may go, so it does not make theirs go.
def test_some_blocks_are_asked_for_less() -> None:
    transcript = debugging()
    whole = [block.text for _, block in transcript.blocks()]
    spared = worth(min_worth=20, overrides=[{"tools": {"include": ["Bash"]}, "min_worth": 0.0001}])
    assert texts(condense(transcript, spared)) == whole
    hard = worth(
        min_worth=0.0001, overrides=[{"match": ["2"], "min_worth": 1000000.0}, {"match": ["2"], "min_worth": 0.0001}]
    )
    assert [receipt.message for receipt in condense(transcript, hard).changes] == [2]


def test_of_two_that_say_the_same_the_one_that_is_asked_for_less_keeps_it() -> None:
    lines = "\n".join(f"tests/test_rates.py::test_tarif_{n * 37} failed after {n * 11} ms" for n in range(60))
    transcript = anthropic(
        user("The import of rates fails. Find out why."),
        assistant([call("t0", "Bash", command="pytest -q")]),
        user([result("t0", lines)]),
        assistant([call("t1", "Read", file_path="log.txt")]),
        user([result("t1", lines)]),
        assistant("I look at it next."),
    )
    less = {"match": ["4"], "min_worth": 0.0001}
    condensation = condense(transcript, worth(min_worth=1e6, overrides=[less]))
    assert [receipt.message for receipt in condensation.changes] == [2]


@given(
    data=st.one_of(FILES, REPEATING_FILES),
    model=MODELS,
    least=WORTHS,
    min_tokens=st.sampled_from([0, 40]),
    for_results=st.none() | WORTHS,
    target=st.none() | st.integers(1, 3_000),
    prelude=st.booleans(),
)
def test_laws_hold(
    data: bytes,
    model: str | None,
    least: float,
    min_tokens: int,
    for_results: float | None,
    target: int | None,
    prelude: bool,
) -> None:
    keys = {"lossless_prelude": {"enabled": prelude}} | ({"target_tokens": target} if target else {})
    transcript = replace(parse(data), model=model)
    overrides = [] if for_results is None else [{"roles": ["tool"], "min_worth": for_results}]
    one = worth(min_worth=least, min_tokens=min_tokens, overrides=overrides)
    laws.check_all(transcript, configuration(one, **keys))


@pytest.mark.real
@pytest.mark.parametrize(
    ("path", "least"),
    real.spread(real.some(real.all_files()), [0.1, 2.0]),
    ids=lambda value: value.name[-40:] if isinstance(value, Path) else None,
)
def test_laws_hold_on_real_transcripts(path: Path, least: float) -> None:
    prelude = load_preset("balanced").lossless_prelude
    laws.check_all(real.transcript(path), replace(configuration(worth(min_worth=least)), lossless_prelude=prelude))
