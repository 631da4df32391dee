"""Mistakes that neighbouring tools make, each as a regression test by name.

Those about model calls stand where the calls are tested. 07, a failed call that silently becomes a cut or loses turns:
`test_a_failure_loses_nothing` in test_run_summaries.py. 08, an empty or cut-off summary accepted: its cases "empty",
"cut off" and "stopped at the limit", and `test_a_stream_that_stops_without_an_end` in test_model_clients.py. 16, an
input cut before the summarizer sees it: `test_a_long_text_is_summarized_in_parts_that_are_joined` and
`test_a_text_that_never_fits_is_refused_before_any_call` in test_model_prompts.py.
A test here holds that they are there.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    claude_line,
    condense,
    configuration,
    conversation,
    cut_to,
    one_pass,
    read_turn,
    result,
    session,
    text,
    thinking,
    user,
    written,
)
from real import PROJECT

from condense_cli import api
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import UnknownFormatError
from condense_cli.lossless.decode import decode
from condense_cli.passes.condensation import Condensation
from condense_cli.passes.selection import superseded_results

pytestmark = pytest.mark.usefixtures("anywhere")

ALL = {"type": "preserve_recent", "keep_recent_count": 0}


def test_01_recent_messages_are_not_written_before_old_ones() -> None:
    before = conversation()
    after = written(condense(anthropic(*before)))
    assert [message["role"] for message in after] == [message["role"] for message in before]
    assert after[0] == before[0]
    assert after[-1] == before[-1]
    assert [m["content"][0]["id"] for m in after[1:-1:2]] == [f"toolu_{n}" for n in range(6)]


def test_02_suppressed_blocks_keep_their_own_ids() -> None:
    messages = [
        user("a"),
        assistant([call("x", content=LONG), call("y", content=LONG)]),
        user([result("x"), result("y")]),
    ]
    suppress = {"defaults": {name: {"operation": "suppress"} for name in ("tool_parameters", "tool_results")}}
    after = written(condense(anthropic(*messages), one_pass(selection=ALL, individual_config=suppress)))
    assert [block["id"] for block in after[1]["content"]] == ["x", "y"]
    assert [block["tool_use_id"] for block in after[2]["content"]] == ["x", "y"]


def test_03_truncated_lists_stay_lists() -> None:
    parts = [text(LONG), text("short"), text(LONG)]
    messages = [user("a"), *read_turn("x", content=parts), assistant("z")]
    content = written(condense(anthropic(*messages), one_pass(individual_config=cut_to(2))))[2]["content"][0]["content"]
    assert [part["type"] for part in content] == ["text"] * 3
    assert content[1] == text("short")
    assert content[0]["text"].startswith("0: the value")


def test_04_images_thinking_and_unknown_blocks_stay_where_they_are() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    unknown = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}}
    messages = [
        user([text("look"), image]),
        assistant([thinking(), unknown, text("now"), call("x")]),
        user([result("x", [text(LONG), image]), text("and text after the results")]),
        assistant("z"),
    ]
    after = written(condense(anthropic(*messages)))
    assert after[1] == messages[1]
    assert after[2]["content"][0]["content"][1] == image
    assert [block["type"] for block in after[2]["content"]] == ["tool_result", "text"]


def test_05_no_message_is_left_empty() -> None:
    everything = {
        "defaults": {n: {"operation": "suppress"} for n in ("message_text", "tool_parameters", "tool_results")}
    }
    condensation = condense(
        anthropic(*conversation()), one_pass(selection=ALL, individual_config=everything), thinking="drop", keep_first=0
    )
    for message in written(condensation):
        blocks = message["content"] if isinstance(message["content"], list) else [text(message["content"])]
        assert blocks
        assert all(block.get("text", block.get("content", "x")) for block in blocks)


@pytest.mark.parametrize("percentage", [0, 0.1, 1])
def test_06_a_percentage_that_rounds_to_nothing_preserves_as_little_as_it_says(percentage: float) -> None:
    selection = {"type": "preserve_percent", "keep_percentage": percentage}
    condensation = condense(anthropic(*conversation()), one_pass(selection=selection))
    assert len(condensation.changes) == 6
    assert condensation.passes[1].preserved_turns == (0 if percentage == 0 else 1)


def test_09_overrides_do_not_shift_with_the_selection() -> None:
    override = {"message_index": 8, "operations": {"tool_results": {"operation": "keep"}}}
    config = {"defaults": {"tool_results": {"operation": "suppress"}}, "overrides": [override]}
    for selection in (
        ALL,
        {"type": "custom", "range": {"start": 5}},
        {"type": "custom", "tools": {"include": ["Read"]}},
    ):
        condensation = condense(anthropic(*conversation()), one_pass(selection=selection, individual_config=config))
        assert 8 not in {receipt.message for receipt in condensation.changes}
        assert {6, 10} <= {receipt.message for receipt in condensation.changes}


def test_10_only_an_equal_and_successful_later_call_supersedes() -> None:
    def superseded(*messages: dict[str, object]) -> set[str]:
        return set(superseded_results(anthropic(user("a"), *messages).messages))

    def bash(identifier: str, output: str, **extra: object) -> list[dict[str, object]]:
        return [assistant([call(identifier, "Bash", command="pytest")]), user([result(identifier, output, **extra)])]

    failed_edit = [
        assistant([call("e", "Edit", file_path="src/app.py")]),
        user([result("e", "no match", is_error=True)]),
    ]
    assert superseded(*read_turn("1"), *failed_edit) == set()
    assert superseded(*read_turn("1"), *read_turn("2", content="no such file", is_error=True)) == set()
    partial = [assistant([call("p", "Read", file_path="src/app.py", limit=5)]), user([result("p", "five lines")])]
    assert superseded(*read_turn("1"), *partial) == set()
    assert superseded(*bash("1", "2 failed"), *bash("2", "2 passed")) == set()
    assert superseded(*bash("1", "2 failed"), *bash("2", "2 failed")) == {"1"}
    assert superseded(*read_turn("1"), *read_turn("2", content="newer content")) == {"1"}


def prelude_alone(transcript: Transcript) -> Condensation:
    condensation = api.condense(transcript, configuration(lossless_prelude={}))
    api.dump(condensation)
    return condensation


def lossless(*messages: dict[str, object]) -> list[str]:
    """The results of the messages after the prelude alone, checked to say what they said."""
    condensation = prelude_alone(anthropic(user("a"), *messages, assistant("z")))
    before, after = (
        decode(transcript.messages).messages for transcript in (condensation.before, condensation.transcript)
    )
    assert [message.blocks[0].text for message in before] == [message.blocks[0].text for message in after]
    assert decode(condensation.transcript.messages).unresolved == 0
    blocks = [block for _, block in condensation.transcript.blocks()]
    return [block.text for block in blocks if block.kind is BlockKind.TOOL_RESULT]


# The prelude asks no call what its result is worth: the content decides, and nothing of it is lost.
@pytest.mark.parametrize(
    "later",
    [
        [
            assistant([call("e", "Edit", file_path="src/app.py", old_string="no such line", new_string="")]),
            user([result("e", "no match", is_error=True)]),
        ],
        read_turn("2", content="no such file: src/app.py", is_error=True),
        read_turn("2", content="\n".join(LONG.split("\n")[:5])),
        read_turn("2", content=LONG.replace("item", "thing")),
        [assistant([call("w", "Write", file_path="src/app.py", content="all new")]), user([result("w", "written")])],
    ],
    ids=["failed edit", "failed read", "partial read", "other content", "written over"],
)
def test_10_nothing_is_lost_by_what_came_later(later: list[dict[str, object]]) -> None:
    assert LONG.split("\n")[20] in "\n".join(lossless(*read_turn("1"), *later))


# A partial read takes from the whole one the lines that it shows and no others; what was read last is whole.
def test_10_a_partial_read_supersedes_its_own_lines_only() -> None:
    whole, part = lossless(*read_turn("1"), *read_turn("2", content="\n".join(LONG.split("\n")[:30])))
    assert whole.split("\n")[1:] == LONG.split("\n")[30:]
    assert whole.startswith("[see the next Read of src/app.py #")
    assert part == "\n".join(LONG.split("\n")[:30])


# The same test run with another outcome: what differs stays, word for word.
def test_10_an_older_run_of_the_same_command_keeps_what_differs() -> None:
    def run(identifier: str, outcome: str) -> list[dict[str, object]]:
        output = f"{LONG}\nFAILED {outcome}\n{LONG[::-1]}"
        return [assistant([call(identifier, "Bash", command="pytest")]), user([result(identifier, output)])]

    first, second = lossless(*run("1", "test_a: 1 != 2"), *run("2", "test_b: 3 != 4"))
    assert "\nFAILED test_a: 1 != 2\n" in first
    assert len(first.split("\n")) == 3
    assert second == f"{LONG}\nFAILED test_b: 3 != 4\n{LONG[::-1]}"


# Whatever a tool is called, results of it that repeat are found.
@pytest.mark.parametrize("tool", ["Read", "read_file", "str_replace_editor", "cat", "mcp__files__get", "nobody knows"])
def test_11_results_of_every_tool_may_refer(tool: str) -> None:
    turns = [
        message
        for n in range(2)
        for message in (assistant([call(str(n), tool, path="src/app.py")]), user([result(str(n))]))
    ]
    first, second = lossless(*turns)
    assert first.startswith("[see the next ")
    assert second == LONG


@pytest.mark.parametrize(
    "command",
    ["cat src/app.py", "sed -n 1,40p src/app.py", "cd /repo && head -40 src/app.py", "git show HEAD:src/app.py"],
)
def test_11_commands_that_print_a_file_may_refer_to_a_read(command: str) -> None:
    printed = [assistant([call("1", "Bash", command=command)]), user([result("1")])]
    first, second = lossless(*printed, *read_turn("2"))
    assert first.startswith("[see the next Read of src/app.py #")
    assert second == LONG


def test_12_two_old_reads_in_one_message_both_refer() -> None:
    other = LONG[::-1]
    both = [assistant([call("1", path="a"), call("2", path="b")]), user([result("1"), result("2", other)])]
    again = [assistant([call("3", path="b"), call("4", path="a")]), user([result("3", other), result("4")])]
    first, second, third, fourth = lossless(*both, *again)
    assert first.startswith("[see the next Read of a #")
    assert second.startswith("[see the next Read of b #")
    assert (third, fourth) == (other, LONG)


# Calls that have no result, or share their ids, are named so that a reference means one of them.
def test_12_duplicated_ids_lose_nothing() -> None:
    turns = [message for n in range(3) for message in read_turn("same", f"src/{n}.py")]
    assert [text[:5] for text in lossless(*turns, assistant([call("open")]))] == ["[see ", "[see ", LONG[:5]]


def test_13_the_newest_result_stays_and_a_second_run_changes_nothing() -> None:
    turns = [message for n in range(8) for message in read_turn(str(n))]
    transcript = anthropic(user("a"), *turns, assistant("z"))
    once = prelude_alone(transcript)
    assert once.changes
    assert once.transcript.messages[-3:] == transcript.messages[-3:]
    assert once.transcript.messages[-5].blocks[0].text == transcript.messages[-5].blocks[0].text
    assert not prelude_alone(api.loads(api.dump(once))).changes


@pytest.mark.parametrize("tool", ["Read", "read_file", "view", "NotebookRead", "read"])
def test_11_file_readers_are_known_by_all_their_names(tool: str) -> None:
    turns = [
        message
        for n in range(2)
        for message in (assistant([call(str(n), tool, path="a.py")]), user([result(str(n), f"version {n}")]))
    ]
    assert superseded_results(anthropic(user("a"), *turns).messages) == {"0"}
    editor = [
        message
        for n in range(2)
        for message in (
            assistant([call(str(n), "str_replace_editor", command="view", path="a.py")]),
            user([result(str(n), f"version {n}")]),
        )
    ]
    assert superseded_results(anthropic(user("a"), *editor).messages) == {"0"}


def test_12_two_stale_reads_in_one_message_are_both_handled() -> None:
    both = [assistant([call("1", path="a"), call("2", path="b")]), user([result("1"), result("2")])]
    again = [assistant([call("3", path="a"), call("4", path="b")]), user([result("3", "new a"), result("4", "new b")])]
    transcript = anthropic(user("x"), *both, *again, assistant("z"))
    assert superseded_results(transcript.messages) == {"1", "2"}
    condensation = condense(transcript, one_pass(selection={"type": "custom", "superseded": True}))
    assert len(condensation.changes) == 2


def test_13_the_most_recent_result_is_not_trimmed_and_a_second_run_cuts_no_further() -> None:
    before = conversation()
    transcript = anthropic(*before)
    speed = api.condense(transcript, preset="speed")
    data = api.dump(speed)
    assert json.loads(data)[12] == before[12]
    assert api.dump(api.condense(api.loads(data), preset="speed")) == data


def test_14_an_unknown_format_is_an_error_not_nought_percent() -> None:
    with pytest.raises(UnknownFormatError, match="not a transcript that condense knows"):
        api.loads(b'{"events": [{"kind": "message"}]}')


def test_15_the_output_starts_with_the_user_and_every_parent_exists() -> None:
    records = [claude_line("user", "u", None, "go")]
    for n, parent in enumerate(["u", "r0", "r1"]):
        records.append(claude_line("assistant", f"t{n}", parent, [thinking()], reply=f"m{n}"))
        records.append(claude_line("assistant", f"c{n}", f"t{n}", [call(f"x{n}")], reply=f"m{n}"))
        records.append(claude_line("user", f"r{n}", f"c{n}", [result(f"x{n}")]))
    closed = claude_line("assistant", "z", "r2", [text("done")], reply="z")
    condensation = condense(session(*records, closed), thinking="drop")
    out = written(condensation)
    uuids = {record["uuid"] for record in out}
    assert len(out) == len(records) + 1 - 3
    assert all(record["parentUuid"] is None or record["parentUuid"] in uuids for record in out)
    assert condensation.transcript.messages[0].role == "user"
    trimmed = condense(anthropic(*conversation()), one_pass(selection=ALL), target_tokens=1)
    assert trimmed.transcript.messages[0].role == "user"
    assert len(trimmed.transcript.messages) == 14


def test_07_08_16_are_where_the_docstring_says() -> None:
    tests = {path.name: path for path in (PROJECT / "tests").rglob("test_*.py")}
    named = re.findall(r"`(test_\w+)`|(test_\w+\.py)", __doc__ or "")
    waiting = []
    for test, file in named:
        if test:
            waiting.append(test)
            continue
        defined = tests[file].read_text(encoding="utf-8")
        assert [name for name in waiting if f"def {name}(" not in defined] == []
        waiting = []
    assert not waiting
    assert len(named) == 7


def test_17_nothing_is_written_into_the_home_on_help(isolated_home: Path) -> None:
    for arguments in (["--help"], ["run", "--help"], ["--version"]):
        subprocess.run([sys.executable, "-m", "condense_cli", *arguments], check=True, capture_output=True)
    assert not list(isolated_home.iterdir())


# Content types are closed: whatever kind a block is, it is decided what may happen to it.
def test_every_kind_of_block_has_a_decision() -> None:
    from condense_cli.core.values import CONTENT_TYPE_OF_KIND

    untouchable = {BlockKind.THINKING, BlockKind.IMAGE, BlockKind.OPAQUE}
    assert set(CONTENT_TYPE_OF_KIND) | untouchable == set(BlockKind)
