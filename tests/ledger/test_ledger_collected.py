"""The ledger of a conversation: what is taken from calls and their results."""

from __future__ import annotations

import json
from typing import Any

import pytest
import real
from build import anthropic, assistant, call, result, rollout, text, user
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.transcript import Message, Transcript, cut_before
from condense_cli.core.values import BlockKind, Role
from condense_cli.ledger.collect import collect
from condense_cli.ledger.entries import CommandEntry, FileEntry, Ledger, UserRequest, merge
from condense_cli.ledger.text import fit, parse, render
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.outcomes import first_error
from condense_cli.toolcalls.tools import matched_texts

OPERATIONS = st.sampled_from(
    [
        ("Read", {"file_path": "a.py"}, "1→x"),
        ("Read", {"file_path": "b.py"}, "1→y"),
        ("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, "The file has been updated."),
        ("Edit", {"file_path": "a.py", "old_string": "z", "new_string": "y"}, "<tool_use_error>not found"),
        ("Write", {"file_path": "n.py", "content": "x"}, "File created successfully at: n.py"),
        ("Bash", {"command": "pytest"}, "Exit code 1\nE  assert 0"),
        ("Bash", {"command": "pytest"}, "1 passed"),
        ("Bash", {"command": "rm b.py && mv a.py c.py"}, ""),
        ("TodoWrite", {"todos": [{"content": "one", "status": "pending"}]}, "ok"),
        ("TodoWrite", {"todos": []}, "ok"),
        ("TaskCreate", {"subject": "two"}, "Task #2 created"),
        ("TaskUpdate", {"taskId": "2", "status": "completed"}, "Updated task #2"),
        ("user", {}, "please go on"),
        ("user", {}, "please stop"),
    ]
)


def _conversation(steps: list[tuple[str, dict[str, Any], str]]) -> Transcript:
    messages = []
    for number, (tool, arguments, answer) in enumerate(steps):
        if tool == "user":
            messages.append(user(answer))
        else:
            messages += [
                assistant([call(f"toolu_{number}", tool, **arguments)]),
                user([result(f"toolu_{number}", answer)]),
            ]
    return anthropic(user("Begin."), *messages)


@given(st.lists(OPERATIONS, max_size=12), st.integers(0, 30))
def test_the_ledger_of_a_whole_is_that_of_its_parts(steps: list[tuple[str, dict[str, Any], str]], at: int) -> None:
    messages = _conversation(steps).messages
    cut = cut_before(messages, at)
    assert collect(messages) == merge(collect(messages[:cut]), collect(messages[cut:]))


def _says(message: Message) -> bool:
    return message.role is Role.ASSISTANT and any(block.kind is BlockKind.TEXT for block in message.blocks)


@pytest.mark.real
@pytest.mark.parametrize("path", real.all_files(), ids=lambda path: path.name)
def test_real_ledgers_merge_and_are_read_back(path: Any) -> None:
    messages = real.transcript(path).messages
    whole = collect(messages)
    assert (parse(render(whole)) or Ledger()) == whole
    for part in (1, 2, 3):
        cut = cut_before(messages, len(messages) * part // 4)
        while cut and not _says(messages[cut]):  # A reply stays with the question that it answers.
            cut = cut_before(messages, cut - 1)
        # What came of the last order is in the other part.
        merged = merge(collect(messages[:cut]), collect(messages[cut:]))
        assert _without_outcomes(merged) == _without_outcomes(whole)


def _without_outcomes(ledger: Ledger) -> Ledger:
    return replace(ledger, requests=tuple(replace(request, outcome="") for request in ledger.requests))


def test_repeated_commands_are_counted() -> None:
    ledger = _conversation([
        ("Bash", {"command": "pytest"}, "Exit code 1\nE  assert 0"),
        ("Bash", {"command": "ls"}, "a"),
        ("Bash", {"command": "pytest"}, "1 passed"),
    ])  # fmt: skip
    assert collect(ledger.messages).commands == (CommandEntry("ls", "ok"), CommandEntry("pytest", "ok", 2, 1))


def test_the_text_reads_well() -> None:
    ledger = _conversation([
        ("user", {}, "Fix it.\nQuickly."),
        ("Read", {"file_path": "a.py"}, "x"),
        ("Edit", {"file_path": "a.py"}, "updated"),
        ("Edit", {"file_path": "a.py"}, "<tool_use_error>String not found"),
        ("Read", {"file_path": "b.py"}, "x"),
        ("Bash", {"command": "pytest"}, "Exit code 1\nE  assert 0"),
        ("Bash", {"command": "mv b.py c.py"}, ""),
        ("TodoWrite", {"todos": [{"content": "one", "status": "in_progress"}]}, "ok"),
    ])  # fmt: skip
    assert render(collect(ledger.messages)) == "\n".join([
        "<ledger>",
        "Requests of the user:",
        "- Begin.",
        "- Fix it.",
        "  Quickly.",
        "Files changed:",
        "- read, edited, failed, last change failed: a.py",
        "- read, now moved: b.py",
        "> c.py",
        "Commands:",
        "- exit 1: pytest",
        "! E  assert 0",
        "- ok: mv b.py c.py",
        "Todos:",
        "- [in_progress] one",
        "</ledger>",
    ])  # fmt: skip


def test_very_long_commands_lose_their_middle_and_requests_only_where_there_is_no_room() -> None:
    long = "".join(f"{number} " for number in range(5_000))
    ledger = collect(
        anthropic(user(long), assistant([call("t", "Bash", command=long)]), user([result("t", "")])).messages
    )
    assert ledger.requests[0].text == long
    assert len(ledger.commands[0].text) < 450
    (short,) = fit(ledger, 2_000, Counter()).requests
    assert " characters #" in short.text
    assert Counter()(short.text) < 2_000


def test_what_the_client_wrote_is_no_request() -> None:
    ledger = collect(anthropic(user([text("<system-reminder>x</system-reminder>"), text("Do it.")])).messages)
    assert ledger.requests == (UserRequest("Do it."),)


def _ledger(tool: str, answer: str = "fine", is_error: bool = False, **arguments: Any) -> Ledger:
    answered = user([result("toolu_1", answer, **({"is_error": True} if is_error else {}))])
    return collect(anthropic(assistant([call("toolu_1", tool, **arguments)]), answered).messages)


# Each known agent's tools: file and what happened to it.
@pytest.mark.parametrize(
    ("tool", "arguments", "answer", "expected"),
    [
        ("Read", {"file_path": "a.py"}, "1→x", FileEntry("a.py", read=1)),
        ("read_files", {"files": [{"path": "a.py", "start_line": 1}]}, "x", FileEntry("a.py", read=1)),
        ("read_many_files", {"paths": ["a.py"]}, "x", FileEntry("a.py", read=1)),
        ("MultiEdit", {"file_path": "a.py", "edits": []}, "Applied 3 edits", FileEntry("a.py", edited=1)),
        (
            "Edit",
            {"file_path": "a.py"},
            "<tool_use_error>String not found",
            FileEntry("a.py", failed=1, state="failed"),
        ),
        ("Write", {"file_path": "a.py", "content": "x"}, "File created successfully", FileEntry("a.py", created=1)),
        (
            "Write",
            {"file_path": "a.py", "content": "x"},
            "The file a.py has been updated",
            FileEntry("a.py", written=1),
        ),
        ("str_replace_editor", {"command": "view", "path": "a.py"}, "x", FileEntry("a.py", read=1)),
        ("str_replace_editor", {"command": "create", "path": "a.py"}, "File written", FileEntry("a.py", created=1)),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, "edited.", FileEntry("a.py", edited=1)),
        (
            "str_replace_editor",
            {"command": "str_replace", "path": "a.py"},
            "No replacement was performed",
            FileEntry("a.py", failed=1, state="failed"),
        ),
        ("editor", {"path": "a.py", "old_text": "x", "new_text": "y"}, "Edited", FileEntry("a.py", edited=1)),
        ("mcp__filesystem__write_file", {"path": "a.py", "content": "x"}, "", FileEntry("a.py", written=1)),
        ("mcp__filesystem__read_text_file", {"path": "a.py"}, "x", FileEntry("a.py", read=1)),
        ("mcp__my__fs__edit_file", {"path": "a.py", "edits": []}, "", FileEntry("a.py", edited=1)),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n@@\n-x\n+y\n*** End Patch"},
            "Success",
            FileEntry("a.py", edited=1, state="moved", moved_to="b.py"),
        ),
        ("Bash", {"command": "cat a.py"}, "x", FileEntry("a.py", read=1)),
        (
            "shell",
            {
                "command": [
                    "bash",
                    "-lc",
                    "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: a.py\n*** End Patch\nEOF",
                ]
            },
            '{"output":"Success","metadata":{"exit_code":0}}',
            FileEntry("a.py", state="deleted"),
        ),
    ],
)
def test_what_a_call_does_to_a_file(tool: str, arguments: dict[str, Any], answer: str, expected: FileEntry) -> None:
    ledger = _ledger(tool, answer, **arguments)
    assert (*ledger.changed, *ledger.read) == (expected,)


def test_every_file_of_a_patch_has_an_entry() -> None:
    patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** Delete File: b.py\n*** End Patch"
    ledger = _ledger("apply_patch", "Success", input=patch)
    assert ledger.changed == (FileEntry("a.py", created=1), FileEntry("b.py", state="deleted"))
    refused = _ledger("apply_patch", "apply_patch verification failed: no such line", input=patch)
    assert [entry.state for entry in refused.changed] == ["failed", "failed"]


# How a command ended, in the words of each client.
@pytest.mark.parametrize(
    ("answer", "is_error", "outcome", "error"),
    [
        ("3 passed", False, "ok", ""),
        ("", False, "ok", ""),
        ("Exit code 2\nmake: *** No rule", True, "exit 2", "make: *** No rule"),
        ("out\n[Command finished with exit code 0]", False, "ok", ""),
        ("x.c:1: error: bad\n[Command finished with exit code 1]", False, "exit 1", "x.c:1: error: bad"),
        ('{"output":"no","metadata":{"exit_code":7}}', False, "exit 7", "no"),
        ("Exit code: 1\nWall time: 0.1\nOutput:\nFAILED test_a", False, "exit 1", "FAILED test_a"),
        ("Process exited with code 3\nOutput:\nno such file", False, "exit 3", "no such file"),
        ("<returncode>1</returncode>\n<output>\nfatal: bad\n</output>", False, "exit 1", "fatal: bad"),
        ("The user doesn't want to proceed with this tool use.", True, "denied", ""),
        ("Exit code 1\n❌ No branch.\n\nFor help, run:\n  tool --help", True, "exit 1", "❌ No branch."),
        ("Exit code 2\nno such option -x\nusage: tool [-h]\nTry 'tool --help'.", True, "exit 2", "no such option -x"),
        ("Exit code 1", True, "exit 1", ""),
        (
            "Command: /bin/zsh -lc 'rg x'\nChunk ID: 266e25\nWall time: 0.0 seconds\nProcess exited with code 1\n"
            "Original token count: 0\nOutput:\n",
            False,
            "exit 1",
            "",
        ),
    ],
)
def test_how_a_command_ended(answer: str, is_error: bool, outcome: str, error: str) -> None:
    ledger = _ledger("Bash", answer, is_error, command="run it")
    assert ledger.commands == (CommandEntry("run it", outcome, 1, int(outcome not in ("ok", "denied")), error),)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (
            "The user doesn't want to proceed. It was rejected. To tell you how to proceed, the user said:\nUse uv.",
            "Use uv.",
        ),
        (
            "The user doesn't want to proceed. The user provided the following reason for the rejection:  Use uv.",
            "Use uv.",
        ),
        ("The user denied this operation and provided the following feedback:\n<feedback>\nNo.\n</feedback>", "No."),
        ("Permission to use Bash with command rm -rf x has been denied.", ""),
        ("Claude requested permissions to use Bash, but you haven't granted it yet.", ""),
        ("exec command rejected by user", ""),
        ("[Operation Cancelled] Reason: User denied execution.", ""),
    ],
)
def test_what_the_user_denied_did_not_fail(answer: str, said: str) -> None:
    ledger = _ledger("Bash", answer, True, command="rm x")
    assert ledger.commands == (CommandEntry("rm x", "denied", 1, 0, said),)
    assert [request.text for request in ledger.requests] == ([said] if said else [])
    assert (
        render(Ledger(commands=ledger.commands)).split("\n")[2:-1] == ["- denied: rm x", f"! {said}"][: 1 + bool(said)]
    )
    edited = _ledger("Edit", answer, True, file_path="a.py").changed
    assert edited == (FileEntry("a.py", state="denied"),)
    assert render(Ledger(changed=edited)).split("\n")[2] == "- last change denied: a.py"


def test_a_client_without_flags_leaves_the_end_of_a_command_open() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": f"c{n}",
                    "type": "function",
                    "function": {"name": "bash", "arguments": json.dumps({"command": name})},
                }
                for n, name in enumerate(["a", "b"])
            ],
        },
        {"role": "tool", "tool_call_id": "c0", "content": "the word error: proves nothing"},
        {"role": "tool", "tool_call_id": "c1", "content": "Traceback (most recent call last):\n  File\nKeyError: 'x'"},
    ]
    ledger = collect(api.loads(messages, format="openai-chat").messages)
    assert ledger.commands == (CommandEntry("a", "ended"), CommandEntry("b", "failed", 1, 1, "KeyError: 'x'"))


def test_the_raised_exception_is_the_error() -> None:
    traceback = "Traceback (most recent call last):\n  File 'x', line 1\n    raise\nmodule.SomeError: bad\n\nmore"
    assert first_error(traceback) == "module.SomeError: bad"


# What an edit has to match, in the forms of the known agents.
@pytest.mark.parametrize(
    ("tool", "arguments", "texts"),
    [
        ("Edit", {"file_path": "a", "old_string": "x\ny", "new_string": "z"}, ["x\ny"]),
        ("MultiEdit", {"edits": [{"old_string": "x", "new_string": "y"}, {"old_string": "z"}]}, ["x", "z"]),
        ("apply_diff", {"diff": "<<<<<<< SEARCH\n:start_line:3\n-------\nx\ny\n=======\nz\n>>>>>>> REPLACE"}, ["x\ny"]),
        ("replace_in_file", {"diff": "------- SEARCH\nx\n=======\ny\n+++++++ REPLACE"}, ["x"]),
        (
            "apply_patch",
            {"input": "*** Begin Patch\n*** Update File: a\n@@\n same\n-x\n+y\n*** End Patch"},
            ["same", "x"],
        ),
        ("edit", {"filePath": "a", "oldString": "x", "newString": "y"}, ["x"]),
        ("edit", {"path": "a", "oldText": "x", "newText": "y"}, ["x"]),
        ("Read", {"file_path": "a", "old_string": "x"}, []),
    ],
)
def test_what_an_edit_has_to_match(tool: str, arguments: dict[str, Any], texts: list[str]) -> None:
    block = anthropic(assistant([call("t", tool, **arguments)]), user([result("t", "")])).messages[0].blocks[0]
    assert matched_texts(block) == texts


def test_what_a_patch_that_is_all_of_a_call_has_to_match() -> None:
    patch = "*** Begin Patch\n*** Update File: a\n@@\n same\n-x\n+y\n*** Add File: b\n+new\n*** End Patch"
    call = {"type": "custom_tool_call", "name": "apply_patch", "input": patch, "call_id": "c"}
    block = rollout(call).messages[0].blocks[0]
    assert block.is_free_text
    assert matched_texts(block) == ["same", "x"]
