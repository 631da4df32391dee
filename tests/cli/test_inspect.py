"""What fills a transcript: the figures add up, name the right blocks, and fit the terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import real
from build import (
    LONG,
    anthropic,
    assistant,
    call,
    claude_line,
    openai,
    read_turn,
    result,
    session,
    text,
    thinking,
    user,
)
from helpers import as_lines, condense, condense_on_terminal
from hypothesis import given
from rich.cells import cell_len
from strategies import FILES as FILES_OF_ANY_FORMAT

from condense_cli.core.transcript import Transcript
from condense_cli.errors import ExitStatus
from condense_cli.formats import parse
from condense_cli.report.inspection.facts import (
    CONTENT,
    CONTENT_TYPES,
    DIFFERENCE,
    ESTIMATES,
    MARKUP,
    OVERHEAD,
    Inspection,
    inspect,
)
from condense_cli.tokens.counting import CALL_TOKENS, MESSAGE_TOKENS, Counter, Encoding, is_framed
from condense_cli.tokens.factor import AS_COUNTED
from condense_cli.window.use import RECORDED, in_use

ENCODING = Encoding("o200k_base", exact=True)
FILES = real.some(real.readable_files())


def inspected(transcript: Transcript, top: int = 10, count: Counter | None = None) -> Inspection:
    return inspect(transcript, count or Counter(), AS_COUNTED, ENCODING, source="test", top=top)


def tokens_of(found: Inspection) -> dict[str, int]:
    return {share.name: share.tokens for share in found.content_types}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_figures_of_real_transcripts_add_up(path: Path) -> None:
    """Content types are all that is counted but the constants; tools are all calls with all their results."""
    transcript, count = real.transcript(path), Counter()
    found = inspected(transcript, top=10**6, count=count)
    calls = sum(is_framed(block) for _, block in transcript.blocks())
    constants = MESSAGE_TOKENS * len(transcript.messages) + CALL_TOKENS * calls
    assert found.tokens.total == count.transcript(transcript)
    assert found.tokens.constants == constants
    assert sum(tokens_of(found).values()) == count.transcript(transcript) - constants
    assert sum(share.blocks for share in found.content_types) == sum(1 for _ in transcript.blocks())
    assert sum(share.tokens for share in found.largest_messages) == found.tokens.total
    assert sum(share.tokens for share in found.largest_blocks) == found.tokens.total - constants
    of_tools = [block for _, block in transcript.blocks() if block.call_id is not None]
    assert sum(share.tokens for share in found.tools) == sum(map(count.content, of_tools))
    assert found.repeats.tokens == found.repeats.block_tokens + found.repeats.line_tokens <= found.tokens.total
    assert sum(share.tokens for share in found.files) <= sum(share.tokens for share in found.tools)


def parts_add_up(transcript: Transcript, count: Counter) -> None:
    """What is in use is the sum of its parts, and these are the figures that the report has elsewhere."""
    found = inspected(transcript, count=count)
    parts = {part.name: part.tokens for part in found.in_use.parts}
    used = in_use(transcript, count, AS_COUNTED)
    assert (found.in_use.tokens, found.in_use.source) == (used.tokens, used.source)
    assert sum(parts.values()) == used.tokens
    assert found.tokens.total == sum(parts.pop(name, 0) for name in (CONTENT, MARKUP, ESTIMATES))
    assert found.tokens.overhead == parts.pop(OVERHEAD, 0)
    assert parts.keys() <= ({DIFFERENCE} if used.source == RECORDED else set())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_parts_of_real_transcripts_add_up_to_what_is_in_use(path: Path) -> None:
    parts_add_up(real.transcript(path), Counter())


@given(FILES_OF_ANY_FORMAT)
def test_parts_of_any_transcript_add_up_to_what_is_in_use(data: bytes) -> None:
    parts_add_up(parse(data), Counter())


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_what_is_in_use_is_explained_on_a_terminal(columns: int) -> None:
    found = condense("inspect", real.SESSION, "--json").json
    lines = condense_on_terminal("inspect", real.SESSION, "--all", columns=columns).plain.splitlines()
    assert max(map(cell_len, lines)) <= columns
    start = next(number for number, line in enumerate(lines) if line.startswith("part "))
    rows = lines[start + 1 : lines.index("", start)]
    figures = [int(re.findall(r"-?\d[\d,]*", row)[0].replace(",", "")) for row in rows]
    assert figures[:-1] == [part["tokens"] for part in found["in_use"]["parts"]]
    assert sum(figures[:-1]) == figures[-1] == found["in_use"]["tokens"] == found["window"]["used"]


def test_where_nothing_but_messages_is_in_use_their_content_explains_it(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(as_lines([user("go"), assistant("ok")]))
    assert condense("inspect", path, "--json").json["in_use"]["tokens"] == 2 + 2 * MESSAGE_TOKENS
    assert "in use" not in condense("inspect", path).text


def test_texts_are_told_apart_by_who_wrote_them() -> None:
    """System, user, client and assistant; thinking, calls, results and images beside them."""
    count = Counter()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    found = inspected(
        anthropic(
            user([text("find it"), text("<system-reminder>be brief</system-reminder>"), image]),
            assistant([thinking("hm"), text("Looking."), call("1", "Read", file_path="a.py")]),
            user([result("1", "content")]),
            assistant([{"type": "new_kind", "value": 1}]),
        ),
        count=count,
    )
    assert tokens_of(found) == {
        "user text": count("find it"),
        "client text": count("<system-reminder>be brief</system-reminder>"),
        "assistant text": count("Looking."),
        "tool parameters": count("Read") + count('{"file_path":"a.py"}'),
        "tool results": count("content"),
        "thinking": count("hm"),
        "images": found.tokens.estimated,
        "other data": count('{"type":"new_kind","value":1}'),
    }
    assert not found.tokens.exact
    assert tokens_of(inspected(openai({"role": "system", "content": "rules"}, user("a")))).keys() == {
        "system text",
        "user text",
    }


def test_a_result_belongs_to_tool_and_file_of_its_call() -> None:
    count = Counter()
    arguments = {"file_path": "b.py", "content": "x = 1"}
    found = inspected(
        anthropic(
            user("go"),
            *read_turn("1", "a.py"),
            assistant([call("2", "Write", **arguments), call("3", "Bash", command="ls")]),
            user([result("2", "written"), result("3", "a.py b.py")]),
            *read_turn("4", "a.py", "short"),
        ),
        count=count,
    )
    read, bash = found.tools[0], next(share for share in found.tools if share.name == "Bash")
    read_call = count("Read") + count('{"file_path":"a.py"}')
    assert (read.name, read.calls, read.parameters) == ("Read", 2, 2 * read_call)
    assert (read.results, read.tokens) == (count(LONG) + count("short"), read.parameters + read.results)
    assert (bash.calls, bash.results) == (1, count("a.py b.py"))
    assert [(share.name, share.blocks) for share in found.files] == [("a.py", 4), ("b.py", 2)]
    assert found.files[0].tokens == read.tokens
    written = count("Write") + count(json.dumps(arguments, separators=(",", ":"))) + count("written")
    assert found.files[1].tokens == written


def test_an_image_in_a_result_is_a_cost_of_its_tool() -> None:
    """Although it is no text that the tool printed."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    found = inspected(anthropic(user("go"), *read_turn("1", "a.png", [image])))
    assert found.tools[0].results == found.tokens.estimated > 0
    assert found.files[0].tokens == found.tools[0].tokens


def test_what_is_neither_text_nor_image_is_named_by_its_type() -> None:
    source = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}
    told = {"type": "text", "media_type": "text/plain", "data": "Minutes of the meeting."}
    documents = [{"type": "document", "source": source}, {"type": "document", "source": told}]
    found = inspected(anthropic({"role": "user", "content": documents}))
    assert {entry.label for entry in found.largest_blocks} == {"document", "Minutes of the meeting."}


def test_of_calls_that_share_an_id_each_has_its_own_file() -> None:
    """The result belongs to the first."""
    found = inspected(anthropic(user("go"), *read_turn("1", "a.py"), assistant([call("1", "Read", file_path="b.py")])))
    assert [(share.name, share.blocks) for share in found.files] == [("a.py", 2), ("b.py", 1)]


def test_the_largest_come_first_and_are_named() -> None:
    transcript = anthropic(
        user("a word"), *read_turn("1", "a.py", "some words here"), *read_turn("2", "b.py"), assistant("the last word")
    )
    found = inspected(transcript, top=2)
    assert [share.message for share in found.largest_messages] == [4, 1]
    assert found.largest_messages[0].label == "Read b.py"
    assert [(share.message, share.block) for share in found.largest_blocks] == [(4, 0), (1, 0)]
    assert found.largest_blocks[0].content_type == "tool results"
    assert len(found.files) == 2
    percents = [share.percent for share in inspected(transcript).largest_messages]
    assert sum(percents) == pytest.approx(100, abs=0.5)


def test_a_transcript_without_messages_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"type": "summary", "summary": "s", "leafUuid": "u"}\n')
    done = condense("inspect", path)
    assert done.status == ExitStatus.DONE
    assert done.text.startswith("0 tokens in 0 messages\n")
    assert condense("inspect", path, "--json").json["content_types"] == []


def test_bytes_of_a_session_are_told_apart() -> None:
    """What is sent, what is only shown, older branches, other records, and what lies between."""
    records = [
        {"type": "summary", "summary": "before", "leafUuid": "x"},
        claude_line("user", "1", None, "Größe", sessionId="s"),
        claude_line("assistant", "old", "1", "an older branch", reply="m0"),
        claude_line("assistant", "2", "1", [call("c")], reply="m1"),
        claude_line("user", "3", "2", [result("c", "file")], toolUseResult={"stdout": "file", "again": "file"}),
    ]
    transcript = session(*records)
    lines = [json.dumps(record) for record in records]
    sent = sum(len(json.dumps(records[number]["message"]["content"])) for number in (1, 3, 4))
    display = len(json.dumps(records[4]["toolUseResult"]))
    assert inspected(transcript).bytes == {
        "total": len(transcript.source.data),
        "sent": sent,
        "display_copies": display,
        "keys": sum(len(lines[number]) for number in (1, 3, 4)) - sent - display,
        "not_live": len(lines[2]),
        "prompt": 0,
        "request_copies": 0,
        "other_records": len(lines[0]),
        "between": len(lines),
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_bytes_add_up_to_the_file(path: Path) -> None:
    sizes = dict(inspected(real.transcript(path)).bytes)
    assert sizes.pop("total") == path.stat().st_size
    assert all(size >= 0 for size in sizes.values())
    if real.transcript(path).format == "claude-code":
        assert sum(sizes.values()) == path.stat().st_size


@pytest.fixture
def odd_file(tmp_path: Path) -> Path:
    """Long paths, wide characters, long tool names, control characters, many sizes."""
    records = [user("日本語のとても長い行です。" * 40)]
    for number, name in enumerate(
        ["Read", "mcp__some_server_with_a_long_name__and_a_long_tool", "x\x1b[31mred", "日本"]
    ):
        path = "/home/somebody/code/" + "package/" * 12 + f"{number}\t.py"
        records += [
            assistant([call(f"c{number}", name * (1 + 2 * number), file_path=path, content="語" * 300)]),
            user([result(f"c{number}", f"{LONG}\x1b]0;title\x07 {'wide 語 ' * 100}")]),
        ]
    file = tmp_path / "odd.jsonl"
    file.write_bytes(as_lines(records))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_on_a_terminal_every_row_takes_one_line(columns: int, odd_file: Path) -> None:
    done = condense_on_terminal("inspect", odd_file, "--all", columns=columns)
    assert done.status == ExitStatus.DONE
    lines = done.plain.split("\n")
    assert max(map(cell_len, lines)) <= columns
    assert max(map(cell_len, lines)) > columns - 15
    assert "\x1b]0;" not in done.text
    assert "\x07" not in done.text
    assert "\nx␛[31m" in done.plain
    start = next(number for number, line in enumerate(lines) if line.startswith("message"))
    assert [line.split()[0] for line in lines[start + 1 : start + 9]] == [
        f"#{share['message']}" for share in condense("inspect", odd_file, "--json").json["largest_messages"][:8]
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", real.SAMPLES, ids=lambda path: path.name)
def test_json_and_text_say_the_same(path: Path) -> None:
    found = condense("inspect", path, "--json").json
    shown = condense("inspect", path).text
    assert found["version"] == 2
    assert f"{found['tokens']['total']:,} tokens in {found['messages']:,} messages" in shown
    for share in found["content_types"]:
        assert share["name"] in CONTENT_TYPES
        assert f"{share['tokens']:,}" in next(line for line in shown.splitlines() if line.startswith(share["name"]))


def test_top_limits_every_list() -> None:
    found = condense("inspect", real.SESSION, "--json", "--top", "2").json
    lists = [found[key] for key in ("tools", "files", "largest_messages", "largest_blocks")]
    assert {len(entries) for entries in [*lists, found["repeats"]["largest"]]} == {2}
    assert len(found["content_types"]) > 2


def test_what_is_no_transcript_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_bytes(as_lines([user("a"), assistant("b")]) + b"{broken\n")
    for command in (("inspect",), ("validate",)):
        done = condense(*command, path)
        assert (done.status, done.stdout) == (ExitStatus.INPUT, b"")
        assert "--lenient" in done.message
    assert condense("inspect", path, "--lenient", "--json").json["messages"] == 2
