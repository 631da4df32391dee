"""The difference of two files: what it calls a cut, where calls became notes, and why lines went."""

from collections import Counter
from pathlib import Path

import pytest
from build import anthropic, assistant, call, condense, extract, result, text, user
from helpers import condense as cli
from real import PROJECT

from condense_cli import api
from condense_cli.core.values import BlockKind, Role
from condense_cli.extractive.reason import LineReason, Reason, ReasonedLine
from condense_cli.report.difference import BlockDiff, Hunk, What

SESSION = PROJECT / "sample_transcripts" / "bugfix-session.jsonl"
UNNAMED, LESS = LineReason(Reason.UNNAMED), LineReason(Reason.LESS_WORTH)


def test_calls_in_notes_are_told_apart_from_the_words_that_stay() -> None:
    messages = [user("Find it.")]
    for n in range(12):
        lines = "\n".join(f"setting_{n}_{k} = load_setting({k * 7919})" for k in range(40))
        messages += [
            assistant([text(f"Now part {n}."), call(f"t{n}", "Read", file_path=f"{n}.py")]),
            user([result(f"t{n}", lines)]),
        ]
    before = anthropic(*messages, assistant("There."), user("Thanks."), assistant("Bye."))
    after = api.loads(api.dump_messages(condense(before, extract(), target_reduction_percent=85)))
    blocks = api.diff(before, after).blocks
    noted = [block for block in blocks if block.what is What.SUMMARIZED and block.old]
    assert {block.old.kind for block in noted if block.old} == {BlockKind.TOOL_CALL, BlockKind.TOOL_RESULT}
    assert len(noted) > 12
    assert not [block for block in blocks if block.old and block.old.text.startswith("Now part")]


@pytest.mark.parametrize("preset", ["speed", "balanced"])
def test_a_diff_and_the_report_of_the_run_call_a_cut_the_same(preset: str, tmp_path: Path) -> None:
    out = tmp_path / "small.jsonl"
    run = cli("run", SESSION, "-p", preset, "-o", out, "--json").json
    of_run: Counter[str] = Counter()
    for saving in run["savings"]:
        # Of a limit "truncated", of a choice of lines "cut": two files do not tell them apart.
        of_run["cut" if saving["operation"] == "truncated" else saving["operation"]] += saving["blocks"]
    for compared in (("-p", preset), (out,)):
        blocks = cli("diff", SESSION, *compared, "--json").json["blocks"]
        for fate in ("cut", "removed"):
            assert sum(block["what"] == fate for block in blocks) == of_run[fate] > 0


def test_every_line_of_a_hunk_is_in_its_reasons() -> None:
    block = BlockDiff(
        0,
        Role.TOOL,
        BlockKind.TOOL_RESULT,
        9,
        1,
        None,
        None,
        {},
        lines=(ReasonedLine("one", stays=False, why=UNNAMED), ReasonedLine("two", stays=False, why=LESS)),
    )
    hunk = Hunk("-", 1, ("", "one", "", "}", "two", "unknown"))
    assert block.why(hunk) == [UNNAMED, UNNAMED, UNNAMED, UNNAMED, LESS]
    assert block.why(Hunk("-", 1, ("", "unknown"))) == []
