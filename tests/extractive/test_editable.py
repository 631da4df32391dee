"""What is known of lines that later edits may have to match."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from build import (
    anthropic,
    assistant,
    call,
    condense,
    extract,
    openai,
    read_turn,
    result,
    user,
)
from hypothesis import given
from hypothesis import strategies as st

from condense_cli.core.transcript import Transcript
from condense_cli.extractive.likelihood import highest, means
from condense_cli.extractive.survey import Survey
from condense_cli.extractive.versions import FEATURES, Shown
from condense_cli.tokens.counting import Counter

NUMBERS = st.lists(st.integers(-9, 9), max_size=40)
REACH = st.integers(0, 14)


@given(NUMBERS, REACH)
def test_neighbours_are_those_within_reach(numbers: list[int], reach: int) -> None:
    within = [numbers[max(0, place - reach) : place + reach + 1] for place in range(len(numbers))]
    assert highest(numbers, reach) == list(map(max, within))
    assert means(numbers, reach) == [sum(found) / len(found) for found in within]


# Some clients write the new text before the old one.
def test_a_line_that_an_edit_puts_back_is_known_whichever_argument_comes_first() -> None:
    texts = [f"def total(items):\n    return {value}" for value in ("zero", "len(items)", "sum(items)")]
    edits = [{"new_string": new, "old_string": old} for old, new in pairwise(texts)]
    turns = [assistant([call("t", "MultiEdit", file_path="a.py", edits=edits)]), user([result("t", "Done.")])]
    lines = Survey(anthropic(user("Sum."), *turns).messages, Counter()).lines
    of_file = {line: lines[line].shown for text in texts for line in text.split("\n") if line in lines}
    assert of_file == dict.fromkeys(texts[-1].split("\n"), Shown.EDITED)


@pytest.mark.parametrize(
    ("command", "is_file"),
    [
        ("cat a.py", True),
        ("echo '--- a.py'; cat a.py", True),
        ("cd src && ls && sed -n 1,9p a.py", True),
        ("ls", False),
    ],
)
def test_what_a_command_prints_of_a_file_may_be_edited(command: str, *, is_file: bool) -> None:
    turns = [assistant([call("t", "Bash", command=command)]), user([result("t", "def total(items):\n    return 1")])]
    lines = Survey(anthropic(user("Sum."), *turns, assistant("I see.")).messages, Counter()).lines
    assert ("def total(items):" in lines) is is_file


RATES = "\n".join(f"    total_{n} = rate_of(order_{n}, discount={n * 37}, region='r{n}')" for n in range(12))
LOG = "\n".join(f"request=/api/v{k}/items/{k * 31} status=200 took={k * 7}ms" for k in range(40))
SAYS_NO = "String to replace not found in file."


def flagged(*took_effect: bool) -> Transcript:
    turns: list[dict[str, Any]] = []
    for n, is_made in enumerate(took_effect):
        said = result(f"e{n}", "Done.") if is_made else result(f"e{n}", SAYS_NO, is_error=True)
        turns += [
            assistant([call(f"e{n}", "Edit", file_path="a.py", old_string="pass", new_string=RATES)]),
            user([said]),
        ]
    log = [assistant([call("log", "Bash", command="cat log")]), user([result("log", LOG)])]
    return anthropic(user("Write it."), *turns, *log, assistant("Done."))


def in_chat(tool: str, arguments: dict[str, Any], made: str, failed: str) -> Callable[..., Transcript]:
    """The same edit in chat completions, where the words of a result alone tell that nothing was done."""

    def chat(*took_effect: bool) -> Transcript:
        steps = [(tool, arguments, made if is_made else failed) for is_made in took_effect]
        turns: list[dict[str, Any]] = []
        for n, (name, asked, said) in enumerate([*steps, ("execute_bash", {"command": "cat log"}, LOG)]):
            function = {"name": name, "arguments": json.dumps(asked)}
            turns += [
                {"role": "assistant", "tool_calls": [{"id": f"e{n}", "type": "function", "function": function}]},
                {"role": "tool", "tool_call_id": f"e{n}", "content": said},
            ]
        return openai(user("Write it."), *turns, assistant("Done."))

    return chat


ADDED = RATES.replace("\n", "\n+")
PATCH = f"*** Begin Patch\n*** Update File: a.py\n@@\n-pass\n+{ADDED}\n*** End Patch"
REPLACED = {"command": "str_replace", "path": "/a.py", "old_str": "pass", "new_str": RATES}
CLIENTS = {
    "flagged": flagged,
    "by its words": in_chat("str_replace_editor", REPLACED, "Done: 9: # exit code 1", "No replacement was performed."),
    "by a status": in_chat(
        "execute_bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, "exit code 0", "Oops.\nexit code 1"
    ),
    "of a patch": in_chat("apply_patch", {"input": PATCH}, "Done.", "apply_patch verification failed: no such line"),
}


# Of two writes of the same lines the one that took effect stays, whichever was tried first.
@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("took_effect", [(True, False), (False, True)])
def test_the_text_of_a_change_that_was_made_stays(client: str, took_effect: tuple[bool, bool]) -> None:
    transcript = CLIENTS[client](*took_effect)
    size = Counter().transcript(transcript)
    condensed = condense(transcript, extract(), target_tokens=size * 2 // 5)
    # Its call is in a note or as it was; the other is only named, if that.
    counts = [block.text.count("rate_of") for _, block in condensed.transcript.blocks()]
    assert sorted(filter(None, counts)) == [12]
    [kept] = [text for _, block in condensed.transcript.blocks() if "rate_of" in (text := block.text)]
    assert kept.find("(failed)") in range(kept.find("rate_of") + 1, len(kept)) or "(failed)" not in kept


def test_lines_beside_one_that_is_named_are_likelier_than_those_far_away() -> None:
    filler = [f"    step_{number}()" for number in range(60)]
    body = "\n".join([*filler, "    retry_limit = 17", *(line.replace("step", "move") for line in filler)])
    survey = Survey(
        anthropic(
            user("Raise retry_limit."), *read_turn("t0", "a.py", body), assistant("I look for retry_limit.")
        ).messages,
        Counter(),
    )
    found = dict(zip(survey.lines, survey.line_features(), strict=True))
    for feature in ("likeliest nearby", "likely around", "written nearby"):
        column = FEATURES.index(feature)
        assert found["    step_59()"][column] > found["    step_1()"][column], feature


# Each client has its own names for a part of a file.
@pytest.mark.parametrize("names", [("offset", "limit"), ("startLine", "endLine"), ("line_offset", "n_lines")])
def test_a_part_that_is_read_again_leaves_the_rest_of_the_file_known(names: tuple[str, str]) -> None:
    body = [f"    step_{number}()" for number in range(20)]
    part = call("t1", "Read", file_path="a.py", **dict.fromkeys(names, 5))
    turns = [*read_turn("t0", "a.py", "\n".join(body)), assistant([part]), user([result("t1", "\n".join(body[5:10]))])]
    assert {*body} <= {*Survey(anthropic(user("Sum."), *turns).messages, Counter()).lines}


def test_all_texts_of_one_result_are_known_of_its_file() -> None:
    body = [f"    step_{number}()" for number in range(20)]
    texts = [{"type": "text", "text": "\n".join(part)} for part in (body[:10], body[10:], ["Read 20 lines."])]
    survey = Survey(anthropic(user("Sum."), *read_turn("t0", "a.py", texts)).messages, Counter())
    assert {*body} <= {*survey.lines}
