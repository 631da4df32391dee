"""Values of odd types, unknown names, damaged files: refused, said, or read as before. Never an error of ours."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import odd_values
import pytest
from batches import batch
from build import LONG, call, result, session, text
from claude_tree import GO, answer, reply, said
from damage import damaged, interleaved
from helpers import condense
from hypothesis import given
from hypothesis import strategies as st
from real import PROJECT

from condense_cli import api
from condense_cli.clients import mcp_tools
from condense_cli.clients.mcp_tools import Library
from condense_cli.config.options import Overrides
from condense_cli.config.own import UserConfiguration
from condense_cli.core.transcript import Transcript
from condense_cli.core.values import BlockKind
from condense_cli.errors import CondenseError
from condense_cli.formats import parse
from condense_cli.live.conversation import Live
from condense_cli.report.lists import validation
from condense_cli.rules.validity import validate

NAMES = list(odd_values.samples())
LISTS: list[Any] = [[], {"a": [1]}]
COMMANDS: list[tuple[str, ...]] = [
    ("run", "F", "-n", "--explain", "--html", "page.html"),
    ("run", "F", "-p", "max", "-o", "out", "--force", "--html", "page.html"),
    ("run", "F", "--target-percent", "40", "-o", "out", "--force"),
    ("run", "F", "--slim", "-o", "out", "--force"),
    ("run", "F", "--to", "anthropic", "-o", "out", "--force"),
    ("run", "F", "--to", "openai-responses", "-o", "out", "--force"),
    ("restore", "F", "-o", "out", "--force"),
    ("inspect", "F"),
    ("inspect", "F", "--json"),
    ("validate", "F", "--json"),
    ("diff", "F", "-p", "max"),
    ("estimate", "F"),
    ("recap", "F"),
    ("check", "F", "--json"),
    ("show", "F", "1"),
]
TOOLS: list[Callable[[Library], str]] = [
    lambda library: mcp_tools.show(library, "1"),
    lambda library: mcp_tools.show(library, "406167"),
    lambda library: mcp_tools.search(library, "a|x", is_pattern=True, context=2),
    mcp_tools.inspect,
    lambda library: mcp_tools.check(library, UserConfiguration()),
    mcp_tools.recap,
    lambda library: mcp_tools.recap(library, lost=True),
]
"""Those of the MCP server, which also reads files of which not every line is JSON."""


def format_of(name: str) -> str:
    return name.removeprefix("compacted-").partition(".")[0].partition(",")[0].partition(" ")[0]


# What tells parts apart is looked up in sets and tables, where a list or an object cannot be.
@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", NAMES)
def test_lists_and_objects_in_place_of_any_value_are_read_or_refused(name: str) -> None:
    value, write = odd_values.loaded(odd_values.samples()[name])
    form = None if name.startswith("mixed") else format_of(name)
    for path in odd_values.of_every_shape(value):
        for odd in LISTS:
            old = odd_values.put(value, path, odd)
            for forced in {None, form}:
                try:
                    parse(write(value), format=forced)
                except CondenseError:
                    pass
                except Exception as error:
                    raise AssertionError(f"{odd} at {path}") from error
            odd_values.put(value, path, old)


def drive(seed: int, folder: Path) -> None:
    random = Random(seed)
    name = random.choice(NAMES)
    data = odd_values.mutated(odd_values.samples()[name], random)
    (folder / "in").write_bytes(data)
    library = Library([], folder, str(folder / "in"))
    for tool in random.sample(TOOLS, 3):
        with suppress(CondenseError):
            tool(library)
    try:
        parse(data)
    except CondenseError:
        return
    for command in random.sample(COMMANDS, 3):
        done = condense(*("in" if part == "F" else part for part in command), cwd=folder)
        assert "internal error" not in done.stderr, (seed, name, command, done.stderr[-500:])
        assert "Traceback" not in done.stderr, (seed, name, command, done.stderr[-500:])


@pytest.mark.parametrize("seed", range(12))
def test_every_command_answers(seed: int, tmp_path: Path) -> None:
    drive(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400, 50))
def test_every_command_answers_many(seed: int, tmp_path: Path) -> None:
    for each in range(seed, seed + 50):
        drive(each, tmp_path)


@pytest.mark.parametrize("odd", [["text"], {"a": 1}, None, 5])
@pytest.mark.parametrize("key", ["type", "role"])
def test_a_conversation_that_goes_on_passes_as_it_is(key: str, odd: object) -> None:
    part: dict[str, Any] = {"type": "text", "text": "x"}
    message: dict[str, Any] = {"role": "user", "content": [part]}
    (part if key == "type" else message)[key] = odd
    live = Live(preset="speed", policy="tokens:1", model="claude-opus-4-5")
    for messages in ([message], [message, {"role": "assistant", "content": "y"}, message]):
        assert live.fit(messages).messages == messages


def says(transcript: Transcript) -> tuple[int, int]:
    """How many blocks it has, and how many characters they hold."""
    texts = [block.text for _, block in transcript.blocks()]
    return len(texts), sum(map(len, texts))


UNDERSTOOD = {
    "anthropic", "openai-chat", "openai-responses", "claude-code", "roo", "cline", "qwen-code", "google-adk",
    "langchain", "inspect", "tau2", "swe-agent", "mini-swe-agent", "session-trace", "pi", "codex", "atif", "copilot",
    "gemini", "gemini-log", "kimi", "langfuse", "langsmith", "openhands-sdk", "vscode-chat", "claude-stream-json",
    "request-log",
}  # fmt: skip
"""Formats whose readers tell all names that are new to them."""

BESIDE = {
    "codex": {"summary", "type", "role", "replacement_history"},
    "anthropic": {"source", "data"},
    "claude-code": {"source", "data"},
    "openai-chat": {"reasoning_content", "tool_calls"},
    "atif": {"tool_calls"},
    "pi": {"firstKeptEntryId"},
    "copilot": {"transformedContent"},
    "roo": {"condenseId", "condenseParent", "ts"},
}
"""Keys whose absence means something else, or of which a copy is left: a file without them is another, and whole."""


def is_noticed(name: str, data: bytes, before: Transcript) -> bool:
    try:
        after = parse(data)
    except CondenseError:
        return True
    if (after.warnings, after.unknown) != (before.warnings, before.unknown) or validate(after) != validate(before):
        return True
    return all(new >= old for new, old in zip(says(after), says(before), strict=True))


@pytest.mark.parametrize("name", [name for name in NAMES if format_of(name) in UNDERSTOOD])
def test_names_that_are_new_are_noticed(name: str) -> None:
    """Keys, and types of parts and records, renamed one after the other: nothing of the conversation goes unsaid."""
    data = odd_values.samples()[name]
    before = parse(data)
    value, write = odd_values.loaded(data)
    keys = {path[-1] for path in odd_values.paths(value) if isinstance(path[-1], str)}
    for key in sorted(keys - BESIDE.get(before.format, set())):
        assert is_noticed(name, write(odd_values.renamed(value, key)), before), key
    kinds = {block.api_type for _, block in before.blocks()} | {"text", "tool_use", "tool_result", "function_call"}
    kinds |= {kind.value for kind in BlockKind} | odd_values.kinds(value)
    for kind in sorted(kinds):
        assert is_noticed(name, write(odd_values.retyped(value, kind)), before), kind


PARTIAL = {
    "openai-chat": {"refusal", "reasoning_content", "content"},
    "codex": {"summary", "text", "call_id"},
    "claude-code": {"model"},
    "kimi": {"type"},
    "copilot": {"type"},
    "claude-stream-json": {"parent_tool_use_id"},
    "langsmith": {"start_time"},
    "bedrock-log": {"timestamp"},
}
"""Keys of a stretch whose other value means something else, or under which is little: see `BESIDE`."""


def is_text_kept(before: Transcript, after: Transcript) -> bool:
    return says(after)[1] >= says(before)[1] - 10


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_a_stretch_that_is_read_no_more_is_noticed(name: str) -> None:
    """Keys, types and values of half of a file are others: no text of it goes unsaid."""
    data = odd_values.samples()[name]
    before = parse(data)
    value, write = odd_values.loaded(data)
    silent = BESIDE.get(before.format, set()) | PARTIAL.get(before.format, set())
    for path, start, end in [*odd_values.stretches(value)][:4]:
        whole = odd_values.at(value, path)
        some = whole[start:end]
        keys = {each[-1] for each in odd_values.paths(some) if isinstance(each[-1], str)} - silent
        others = [(key, odd_values.renamed(some, key)) for key in sorted(keys)]
        others += [(kind, odd_values.retyped(some, kind)) for kind in sorted(odd_values.kinds(some))]
        others += [
            (key, odd_values.wrapped(some, key, way))
            for key in sorted(keys - ARGUMENTS)
            for way in ("object", "list", "string")
        ]
        for what, new in others:
            whole[start:end] = new
            data = write(value)
            assert is_noticed(name, data, before) or is_text_kept(before, parse(data)), (what, new[0])
        whole[start:end] = some


ARGUMENTS = {"command", "end_line", "new_text", "old_text", "path", "start_line"}


@pytest.mark.parametrize("name", [name for name in NAMES if format_of(name) in ("claude-code", "qwen-code", "pi")])
def test_parents_that_are_missing_are_noticed(name: str) -> None:
    data = odd_values.samples()[name]
    before = parse(data)
    records, write = odd_values.loaded(data)
    for path in odd_values.paths(records):
        if path[-1] in ("parentUuid", "parentId") and records[path[0]][path[-1]] is not None:
            old = odd_values.put(records, path, "nowhere")
            assert is_noticed(name, write(records), before), path
            odd_values.put(records, path, old)


def is_called_valid(data: bytes, form: str | None = None) -> bool:
    try:
        return validation.check(parse(data, format=form), source="file").valid
    except CondenseError:
        return False


READ_BY: dict[str, tuple[str, ...]] = {
    "claude-code": ("uuid", "parentUuid", "message"),
    "claude-stream-json": ("message",),
    "request-log": ("request_params", "messages", "response", "choices", "message"),
}
"""Keys without which a record is no message, or no answer, to the reader of its format."""

KINDS = ("user", "assistant")
PARTLY = [name for name in NAMES if format_of(name) in READ_BY]


@pytest.mark.parametrize("name", PARTLY)
@given(st.data())
def test_a_stretch_of_messages_that_are_not_read_is_in_no_valid_file(name: str, data: st.DataObject) -> None:
    """Keys and types that a version of the client renamed, from some record on, up to another: refused, or a fault."""
    whole = odd_values.samples()[name]
    records, write = odd_values.loaded(whole)
    first = data.draw(st.integers(0, len(records) - 1))
    stop = data.draw(st.integers(first + 1, len(records)))
    keys = READ_BY[format_of(name)]
    was = data.draw(st.sampled_from(keys if format_of(name) == "request-log" else (*keys, *KINDS)))
    new = (odd_values.retyped if was in KINDS else odd_values.renamed)(records[first:stop], was)
    for form in (None, format_of(name)):
        changed = write([*records[:first], *new, *records[stop:]])
        if new != records[first:stop] and is_called_valid(changed, form):
            assert says(parse(changed, format=form)) == says(parse(whole))


# The client looks for a record of that name, and there is none.
@pytest.mark.parametrize("odd", [5, 1.5, True, [1], {"a": 1}])
@pytest.mark.parametrize("name", [name for name in NAMES if format_of(name) == "claude-code"])
def test_a_parent_that_is_no_text_is_a_fault(name: str, odd: object) -> None:
    records, write = odd_values.loaded(odd_values.samples()[name])
    linked = [number for number, record in enumerate(records) if record.get("parentUuid")]
    for some in (linked[:1], linked[-1:], linked[::3], linked):
        new = [record | {"parentUuid": odd} if number in some else record for number, record in enumerate(records)]
        assert not is_called_valid(write(new))
        faults = validation.check(parse(write(new)), source="file").faults
        assert [fault.line for fault in faults if fault.rule == "parents_exist"] == [number + 1 for number in some]
        assert all("(not a string)" in fault.said for fault in faults if fault.rule == "parents_exist")


SAMPLES = PROJECT / "sample_transcripts"
Json = dict[str, Any]
WAYS: list[dict[str, Any]] = [
    {"preset": "max"},
    {"preset": "max", "overrides": Overrides(only_tools=("Bash",))},
    {"preset": "cost", "overrides": Overrides(keep_recent=12, keep=("/pricing/",))},
    {"preset": "balanced", "overrides": Overrides(target_percent=30)},
]


def is_sound(transcript: Transcript, way: dict[str, Any]) -> bool:
    """Whether the run writes what it means at once: what it would have to leave alone, it warns of."""
    result = api.condense(transcript, **way)
    api.dump(result)
    return result.error is None and not any("left alone" in warning for warning in result.warnings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [*range(24), 244])
def test_damaged_files(seed: int) -> None:
    names = ("bugfix-session.jsonl", "bugfix-session.jsonl", "bugfix-rollout.jsonl", "bugfix-pi.jsonl")
    data = damaged((SAMPLES / names[seed % 4]).read_bytes(), Random(seed))
    transcript = api.loads(data, lenient=True)
    assert is_sound(transcript, WAYS[seed // 4 % 4])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [*range(16), 68, 76, 116, 168, 229, 244, 280, 287])
def test_replies_among_one_another(seed: int) -> None:
    assert is_sound(session(*interleaved(Random(seed))), WAYS[seed % 4])


def reads(first: int, after: int) -> list[Json]:
    """Four reads of a long file, behind a record."""
    lines: list[Json] = []
    for number in range(first, first + 8, 2):
        above = number - 1 if lines else after
        lines += [reply(number, above, f"m{number}", call(f"read_{number}")), answer_of(number)]
    return lines


def answer_of(number: int) -> Json:
    return said(number + 1, number, [result(f"read_{number}", LONG)])


# The client answers a call without a result itself, unless the user's next word follows, which to it a summary is too.
def test_no_summary_behind_an_open_call_that_stays() -> None:
    records = [GO, reply(2, 1, "m2", text("I look")), reply(3, 2, "m2", call("open", "Bash")), *reads(4, 3)]
    transcript = session(*records, reply(12, 11, "m12", text("done")))
    assert [block.call_id for block in transcript.messages[1].blocks] == [None, "open"]
    assert not batch(transcript, pins=[{"tools": {"include": ["Bash"]}}]).changes
    assert batch(transcript).changes


# A result behind another reply is not sent; it shows that the call was answered, which would go too without one.
def test_late_results_go_along_with_their_calls() -> None:
    records = [GO, *reads(2, 1), reply(10, 9, "m10", call("a")), reply(11, 10, "m11", call("b"))]
    records += [answer(12, 11, "b"), answer(13, 12, "a"), said(14, 13, "go on"), reply(15, 14, "m15", text("done"))]
    condensation = batch(session(*records), pins=[{"range": {"start": 9}}])
    assert [block.call_id for block in api.loads(api.dump(condensation)).messages[2].blocks] == ["a"]
