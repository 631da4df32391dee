"""References that are written once, behind the passes: the same file, and receipts as if they had been first."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from build import LONG, anthropic, assistant, call, condense, configuration, cut_to, one_pass, read_turn, result, user
from laws import check_content

from condense_cli import api
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Transcript
from condense_cli.lossless.encode import encode
from condense_cli.passes import course, prelude
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.receipts import PRELUDE, Kept

pytestmark = pytest.mark.usefixtures("anywhere")

OLD = {"selection": {"type": "preserve_recent", "keep_recent_count": 3}}
CUT: dict[str, Any] = one_pass(id="cut", individual_config=cut_to(3), **OLD)
AGAIN = {**CUT, "id": "again"}
LARGE = {**CUT, "id": "large", "execution": {"type": "conditional", "condition": {"token_threshold": 200}}}
SUMMED = one_pass(
    id="summed", individual_config={"defaults": {"tool_results": {"operation": "summarize", "min_tokens": 20}}}, **OLD
)


def session() -> Transcript:
    """A file that is read three times, twice long ago, and a log."""
    log = "\n".join(f"{number}: started job {number * 7}" for number in range(30))
    return anthropic(
        user("Go on."),
        *read_turn("1", content=LONG),
        assistant([call("2", "Bash", command="make")]),
        user([result("2", log)]),
        *read_turn("3", content=LONG),
        *read_turn("4", content=LONG),
        assistant("Done."),
    )


def run(*passes: dict[str, Any], waits: bool, monkeypatch: pytest.MonkeyPatch) -> tuple[Condensation, int]:
    """A run, and how often references were written in it."""
    written = Mock(wraps=encode)
    with monkeypatch.context() as patch:
        patch.setattr(prelude, "encode", written)
        if not waits:
            patch.setattr(course, "may_wait", lambda *_: False)
        found = condense(session(), *passes, lossless_prelude={"enabled": True})
    check_content(found, configuration(*passes, lossless_prelude={"enabled": True}), Counter())
    return found, written.call_count


@pytest.mark.parametrize(
    ("passes", "spared"), [((CUT,), 1), ((CUT, AGAIN), 2), ((CUT, LARGE), 1), ((LARGE,), 0), ((SUMMED,), 0)]
)
def test_the_same_is_written(passes: tuple[Any, ...], spared: int, monkeypatch: pytest.MonkeyPatch) -> None:
    late, written = run(*passes, waits=True, monkeypatch=monkeypatch)
    first, before = run(*passes, waits=False, monkeypatch=monkeypatch)
    assert api.dump(late) == api.dump(first)
    assert (late.tokens_after, late.references, late.warnings) == (first.tokens_after, first.references, first.warnings)
    assert written == before - spared
    assert [one.id for one in late.passes] == [one.id for one in first.passes]


def test_receipts_say_what_references_save_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = run(CUT, waits=True, monkeypatch=monkeypatch)
    before, cut = found.passes
    assert before.tokens_before == found.tokens_before
    assert before.tokens_after == cut.tokens_before
    assert cut.tokens_after == found.tokens_after
    for one in found.passes:
        changes = [receipt for receipt in found.changes if receipt.pass_id == one.id]
        assert one.tokens_before - one.tokens_after == sum(x.tokens_before - x.tokens_after for x in changes)
        assert one.changes == len({(x.message, x.block) for x in changes})
    assert before.id == PRELUDE
    # The reads of old are referred to the newest, which says all of them: the pass has nothing to cut there.
    by_pass = {(one.message, one.block): one.kept for one in found.receipts if one.pass_id == "cut"}
    assert {by_pass[one.message, one.block] for one in found.changes if one.pass_id == PRELUDE} == {Kept.REFERENCE}
