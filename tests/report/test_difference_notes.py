"""The difference of two files where calls became notes beside words that stay."""

from __future__ import annotations

from build import anthropic, assistant, call, condense, extract, result, text, user

from condense_cli import api
from condense_cli.core.values import BlockKind
from condense_cli.report.difference import What


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
