"""Finding content again: by position, by the hash in a marker or summary; printed as it is."""

import hashlib
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
    one_pass,
    openai,
    result,
    text,
    user,
)
from build import (
    condense as condensed_by,
)
from build import (
    session as session_of,
)
from claude_tree import reply, said
from helpers import CUT, as_lines, condense, condense_on_terminal, cut_by_speed, session
from real import PROJECT

from condense_cli import api
from condense_cli.core.markers import (
    Gap,
    SummaryMark,
    content_hash,
    gaps_in,
    parse_summary,
    short_hash,
)
from condense_cli.core.transcript import Block, JsonPath, Transcript
from condense_cli.errors import CondenseError, ExitStatus, UsageError
from condense_cli.report.inspection.lookup import HitKind, find
from condense_cli.toolcalls import tools
from condense_cli.toolcalls.tools import arguments_of, string_values

CODE = "def total(items):\n    return sum(items)\n"
RECORDS = [
    user("Please look."),
    assistant(
        [text("Two files."), call("1", "Read", file_path="a.py"), call("2", "Write", file_path="b", content=CODE)]
    ),
    user([result("1", LONG), result("2", "done")]),
    assistant("Found it."),
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(RECORDS))
    return path


def test_a_position_finds_a_message_or_a_block() -> None:
    transcript = anthropic(*RECORDS)
    assert [hit.text for hit in find(transcript, "2")] == [LONG, "done"]
    assert [hit.text for hit in find(transcript, "#2:1")] == ["done"]
    assert find(transcript, "1:2")[0].text == f"file_path: b\ncontent:\n{CODE}"
    assert find(transcript, "1:2")[0].position == "1.2"
    assert [find(transcript, query)[0].position for query in ("-1", "-2:1", "-4")] == ["3.0", "2.1", "0.0"]


@pytest.mark.parametrize("query", ["4", "0:1", "99:0", "-5", "-4:1"])
def test_a_position_that_is_not_there_is_named(query: str) -> None:
    with pytest.raises(CondenseError, match=r"There is no (message|block) -?\d+ in .*counted from 0"):
        find(anthropic(*RECORDS), query)


@pytest.mark.parametrize("query", ["", "#", "abc", "12:", ":1", "-0", "#-1", "1:2:3", "5f2c91d", "5f2c91d8a", "٣"])
def test_what_is_neither_hash_nor_position_is_a_usage_error(query: str) -> None:
    with pytest.raises(UsageError, match="neither a hash nor a position"):
        find(anthropic(*RECORDS), query)


def test_a_hash_finds_a_block_or_a_single_argument() -> None:
    transcript = anthropic(*RECORDS)
    (block,) = find(transcript, "#" + content_hash(LONG).upper())
    assert (block.found, block.position, block.text) == (HitKind.CONTENT, "2.0", LONG)
    (argument,) = find(transcript, content_hash(CODE))
    assert (argument.found, argument.position, argument.path, argument.text) == (
        HitKind.ARGUMENT,
        "1.2",
        ("content",),
        CODE,
    )


def test_six_digits_are_a_hash() -> None:
    """Those of a marker; a whole hash finds the marker that has six digits of it, and the other way round."""
    transcript = anthropic(*RECORDS)
    (block,) = find(transcript, f"#{short_hash(LONG)}")
    assert (block.found, block.position, block.text) == (HitKind.CONTENT, "2.0", LONG)
    for of_marker, wanted in ((short_hash(LONG), content_hash(LONG)), (content_hash(LONG), short_hash(LONG))):
        cut = anthropic(user("go"), assistant(f"0\n{Gap(of_marker, 39)}"))
        (hit,) = find(cut, wanted)
        assert (hit.found, hit.position) == (HitKind.MARKER, "1.0")
    with pytest.raises(CondenseError, match="no marker names it") as refused:
        find(transcript, "000009")
    assert "original" in str(refused.value.hint)
    assert "condense restore" in str(refused.value.hint)


def test_six_digits_that_are_no_hash_are_a_position() -> None:
    """A hash goes before a position of the same digits."""
    assert [hit.found for hit in find(anthropic(*RECORDS), "000001")] == [HitKind.POSITION] * 3
    named = anthropic(*RECORDS, user(f"0\n{Gap('000001', 39)}"))
    assert [(hit.found, hit.position) for hit in find(named, "000001")] == [(HitKind.MARKER, "4.0")]


# The hashes of these two end in the same six digits.
SHARING = ["\n".join(f"value {number} of item {item}" for item in range(40)) for number in (501, 798)]


@pytest.mark.parametrize("is_shown", [False, True])
def test_texts_that_share_six_digits_are_all_found(is_shown: bool) -> None:
    first, second = SHARING
    assert short_hash(first) == short_hash(second)
    records = [
        claude_line("user", "1", None, "go"),
        claude_line("assistant", "2", "1", [call("1", "Bash", command="x")], reply="m"),
        claude_line("user", "3", "2", [result("1", first)]),
        claude_line("assistant", "4", "3", [text("ok")], reply="n"),
        claude_line("user", "5", "4", "go" if is_shown else second),
    ]
    if is_shown:
        records[2]["toolUseResult"] = {"stdout": "", "originalFile": second}
    hits = find(session_of(*records), short_hash(first))
    assert [hit.text for hit in hits] == [first, second]
    assert [hit.found for hit in hits] == [HitKind.CONTENT, HitKind.DISPLAY if is_shown else HitKind.CONTENT]
    (hit,) = find(session_of(*records), content_hash(second))
    assert hit.text == second


def test_texts_that_share_six_digits_are_listed(tmp_path: Path) -> None:
    file = tmp_path / "sharing.jsonl"
    file.write_bytes(as_lines([user(SHARING[0]), assistant("ok"), user(SHARING[1])]))
    done = condense("show", file, short_hash(SHARING[0]))
    assert done.text == "0.0  user text\n2.0  user text\n"
    assert "choose one by its position" in done.message


def test_content_goes_before_markers_and_markers_are_the_last_resort() -> None:
    """A file that holds both the original and a marker shows the original."""
    marker = str(Gap(content_hash(LONG), 38))
    cut = f"0: the value\n{marker}"
    both = anthropic(user(LONG), assistant(cut))
    assert [(hit.found, hit.position) for hit in find(both, content_hash(LONG))] == [(HitKind.CONTENT, "0.0")]
    arguments = {"content": marker, "copy": marker}
    cut_only = anthropic(user(cut), assistant([call("1", "Write", **arguments)]))
    hits = find(cut_only, content_hash(LONG))
    assert [(hit.found, hit.position) for hit in hits] == [(HitKind.MARKER, "0.0"), (HitKind.MARKER, "1.0")]
    assert hits[1].text == f"content: {marker}\ncopy: {marker}"
    with pytest.raises(CondenseError, match="no marker names it"):
        find(anthropic(*RECORDS), "00000000")


def _lists(old: Block, new: Block, path: JsonPath) -> tuple[str, str]:
    """A list of todos as a text, and the marker in its place."""
    return tools.text_of(tools.value_of(old, path)), str(tools.gap_of(tools.value_of(new, path)))


def originals_found(transcript: Transcript) -> int:
    """How many markers a run leaves, after checking that each leads to the text that it was cut from."""
    suppress = {"tool_results": {"operation": "suppress"}, "tool_parameters": {"operation": "suppress"}}
    condensed = condensed_by(transcript, one_pass(individual_config={"defaults": suppress})).transcript
    before = {(block.place, block.kind): block for _, block in transcript.blocks()}
    hashes = set()
    for _, block in condensed.blocks():
        if not block.changed:
            continue
        old = before[block.place, block.kind]
        pairs = [(old.text, block.text)]
        if block.edits:
            values = dict(string_values(arguments_of(old)))
            pairs = [(values[path], str(new)) for path, new in block.edits if new is not None]
            pairs += [_lists(old, block, path) for path, new in block.edits if new is None]
        for original, new in pairs:
            for gap in gaps_in(new):
                if not gaps_in(original):
                    assert original in {hit.text for hit in find(transcript, gap.hash)}
                    hashes.add(gap.hash)
    return len(hashes)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", real.SAMPLES, ids=lambda path: path.name)
def test_every_marker_leads_to_its_original(path: Path) -> None:
    assert originals_found(real.transcript(path)) >= 9


def test_every_marker_in_arguments_that_are_a_string_leads_to_its_original() -> None:
    """The arguments of OpenAI's calls are JSON in a string."""
    arguments = json.dumps({"path": "a.py", "content": LONG})
    calls = [{"id": "1", "type": "function", "function": {"name": "write", "arguments": arguments}}]
    transcript = openai(
        user("go"),
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        *([assistant("a"), user("b")] * 4),
    )
    assert originals_found(transcript) == 1


def test_a_pipe_gets_exactly_the_content(file: Path) -> None:
    done = condense("show", file, content_hash(CODE))
    assert (done.status, done.stderr, done.text) == (ExitStatus.DONE, "", CODE)
    done = condense("show", file, "2:0")
    assert hashlib.sha256(done.stdout).hexdigest()[:8] == content_hash(LONG)


@pytest.mark.parametrize("arguments", [["{}", "-1"], ["{}", "-1:0"], ["-1", "{}", "--raw"], ["--", "{}", "-1"]])
def test_a_position_from_the_end_is_no_option(file: Path, arguments: list[str]) -> None:
    done = condense("show", *(each.format(file) for each in arguments))
    assert (done.status, "Found it." in done.text) == (ExitStatus.DONE, True)
    assert "No such option: -x" in condense("show", file, "-x").message


def test_the_marker_of_a_real_run_is_resolved(tmp_path: Path) -> None:
    original, small = tmp_path / "original.jsonl", tmp_path / "small.jsonl"
    original.write_bytes(as_lines(session()))
    assert condense("run", original, "--preset", "speed", "-o", small, "-q").status == ExitStatus.DONE
    marker = gaps_in(api.load(small).messages[2].blocks[0].text)[0]
    assert condense("show", original, f"#{marker.hash}").text == CUT[0]
    done = condense("show", small, marker.hash)
    assert done.text == cut_by_speed(CUT[0])
    assert "the original text is not in this file" in done.message


def test_a_message_of_several_blocks_has_a_heading_for_each(file: Path) -> None:
    done = condense("show", file, "1")
    assert done.text == (
        "--- 1.0  assistant text\nTwo files.\n"
        "--- 1.1  tool call  Read a.py\nfile_path: a.py\n"
        f"--- 1.2  tool call  Write b\nfile_path: b\ncontent:\n{CODE}"
    )


def test_the_same_content_in_several_places_is_printed_once(tmp_path: Path) -> None:
    file = tmp_path / "twice.jsonl"
    file.write_bytes(as_lines([user(LONG), assistant("ok"), user(LONG), assistant("ok")]))
    done = condense("show", file, content_hash(LONG))
    assert done.text == LONG
    assert "2 times: 0.0, 2.0" in done.message


def test_different_blocks_are_listed(tmp_path: Path) -> None:
    marker = str(Gap(content_hash(LONG), 38))
    file = tmp_path / "cut.jsonl"
    file.write_bytes(as_lines([user(f"0\n{marker}"), assistant(f"{marker}\n39")]))
    done = condense("show", file, content_hash(LONG))
    assert done.text == "0.0  user text\n1.0  assistant text\n"
    assert "choose one by its position" in done.message


def test_raw_prints_the_records_as_they_stand(file: Path) -> None:
    lines = file.read_bytes().splitlines(keepends=True)
    assert condense("show", file, "1", "--raw").stdout == lines[1]
    assert condense("show", file, content_hash(LONG), "--raw").stdout == lines[2]


def test_bytes_that_are_no_utf8_come_out_as_they_were(tmp_path: Path) -> None:
    """Content, not a repair of it."""
    file = tmp_path / "odd.jsonl"
    file.write_bytes(b'{"role": "user", "content": "caf\xe9 \\ud800x"}\n{"role": "user", "content": "caf\xe9"}\n')
    assert condense("show", file, "0:1").stdout == b"caf\xe9"
    assert condense("show", file, "0:0").status == ExitStatus.DONE


def test_json_has_the_documented_shape(file: Path) -> None:
    (found,) = condense("show", file, content_hash(CODE), "--json").json["blocks"]
    assert found == {
        "found": "argument",
        "message": 1,
        "block": 2,
        "record": 1,
        "role": "assistant",
        "kind": "tool_call",
        "tool": "Write",
        "call_id": "2",
        "label": "Write b",
        "path": ["content"],
        "text": CODE,
    }


def test_what_is_not_found_is_status_1(file: Path) -> None:
    for query, words in (("00000000", "00000000"), ("9", "no message 9"), ("0:7", "no block 7")):
        for option in ((), ("--json",), ("--raw",)):
            done = condense("show", file, query, *option)
            assert (done.status, done.stdout) == (ExitStatus.FAILED, b"")
            assert words in done.message
    assert condense("show", file, "nothing").status == ExitStatus.USAGE
    assert condense("show", file, "1", "--json", "--raw").status == ExitStatus.USAGE


def test_content_without_text_is_said(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}
    file = tmp_path / "image.jsonl"
    file.write_bytes(as_lines([user([image, text("look")]), assistant("ok")]))
    done = condense("show", file, "0:0")
    assert done.stdout == b""
    assert "--raw" in done.message
    assert "(no text;" in condense("show", file, "0").text
    assert b"aGVsbG8=" in condense("show", file, "0:0", "--raw").stdout


def test_only_on_a_terminal_control_characters_are_replaced(tmp_path: Path) -> None:
    steering = "red \x1b[31m and \x1b]0;title\x07 end"
    file = tmp_path / "steering.jsonl"
    file.write_bytes(as_lines([user(steering), assistant([text(steering), text("b")])]))
    assert condense("show", file, "0").text == steering
    for arguments in (("0",), ("1",), ("0", "--raw")):
        shown = condense_on_terminal("show", file, *arguments).text
        assert "\x1b[31m" not in shown
        assert "\x07" not in shown
        assert "end" in shown
        assert shown.endswith("\n")


SAMPLES = PROJECT / "sample_transcripts"
CUT_THEN_SUMMARIZED = """
passes:
  - id: cut
    selection: {type: preserve_recent, keep_recent_count: 0}
    individual_config:
      defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 10}}}}
  - id: one-summary
    mode: batch
    selection: {type: preserve_recent, keep_recent_count: 5}
    batch_config: {operation: summarize, summarization_config: {keep_first: 0, keep_last: 0}}
"""
SHORT_SUMMARY = """
passes:
  - id: short-summary
    mode: batch
    selection: {type: preserve_recent, keep_recent_count: 1}
    batch_config: {operation: summarize, summarization_config: {max_tokens: 300, keep_first: 0, keep_last: 0}}
"""


def condensed(original: Path, *flags: str | Path) -> tuple[Path, str]:
    """The file with a summary of the middle, and the hash in its mark."""
    small = original.with_name("small.jsonl")
    assert condense("run", original, *flags, "-o", small, "-q").status == ExitStatus.DONE
    (mark,) = [mark for _, block in api.load(small).blocks() if (mark := parse_summary(block.text))]
    return small, mark.hash


@pytest.fixture
def original(tmp_path: Path) -> Path:
    path = tmp_path / "original.jsonl"
    path.write_bytes(as_lines(session()))
    return path


def headings(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("---")]


def test_the_original_has_all_messages_that_a_summary_stands_for(original: Path, tmp_path: Path) -> None:
    configuration = tmp_path / "passes.yaml"
    configuration.write_text(CUT_THEN_SUMMARIZED)
    for last, *flags in ((7, "--config", configuration), (7, "--preset", "max")):
        _, name = condensed(original, *flags)
        done = condense("show", original, name)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        exchanges = [
            heading
            for number in range(1, last)
            for heading in (
                f"--- {2 * number - 1}.0  tool call  Read src/{number}.py",
                f"--- {2 * number}.0  tool result  Read src/{number}.py",
            )
        ]
        assert headings(done.text) == exchanges
        assert all(listing in done.text for listing in CUT[: last - 1])


def test_a_condensed_file_without_them_says_which_to_ask(original: Path) -> None:
    small, name = condensed(original, "--preset", "max")
    done = condense("show", small, name)
    assert (done.status, done.stdout) == (ExitStatus.FAILED, b"")
    assert "The 12 messages of this summary are not in the file." in done.message
    assert f"condense show ORIGINAL {name}" in done.message


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bugfix-session.jsonl", "bugfix-rollout.jsonl"])
def test_a_session_that_grew_by_its_summary_has_them_still(name: str, tmp_path: Path) -> None:
    """Claude Code and Codex append; the positions are those of the records, as no message number means them."""
    original = tmp_path / name
    original.write_bytes((SAMPLES / name).read_bytes())
    small, found = condensed(original, "--preset", "max")
    before, after = condense("show", original, found).text, condense("show", small, found).text
    assert len(headings(before)) > 20
    assert re.sub(r"(?m)^--- \d+\.\d+", "---", before) == re.sub(r"(?m)^--- record \d+", "---", after)
    blocks = condense("show", small, found, "--json").json["blocks"]
    assert {(block["found"], block["message"]) for block in blocks} == {("summarized", None)}
    assert blocks[0]["role"] == "assistant"


@pytest.mark.slow
def test_a_summary_of_a_summary_leads_to_both(tmp_path: Path) -> None:
    original = tmp_path / "original.jsonl"
    original.write_bytes((SAMPLES / "bugfix-session.jsonl").read_bytes())
    first, one = condensed(original, "--preset", "max")
    newest = json.loads(first.read_bytes().splitlines()[-1])
    more = [
        said(1, None, CUT[0]) | {"parentUuid": newest["uuid"]},
        reply(2, 1, "msg_2", text(CUT[1])),
        said(3, 2, CUT[2]),
        reply(4, 3, "msg_4", text("Done.")),
    ]
    original.write_bytes(first.read_bytes() + as_lines(more))
    passes = tmp_path / "passes.yaml"
    passes.write_text(SHORT_SUMMARY)
    second, two = condensed(original, "--config", passes, "--keep", "last:1")
    assert f"#{one}]" in condense("show", second, two).text
    assert CUT[2] in condense("show", second, two).text
    assert len(headings(condense("show", second, one).text)) > 100


def test_what_a_later_summary_left_out_of_an_earlier_one_is_found(tmp_path: Path) -> None:
    marks = [SummaryMark(9, 1, f"0123abc{number}") for number in range(2)]
    summaries = [{"role": "assistant", "content": f"{mark}\n{words}"} for mark, words in zip(marks, CUT, strict=False)]
    request, more = ({"role": "user", "content": words} for words in ("Find it.", "Go on."))
    answer = {"role": "assistant", "content": "Found."}
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    passes = tmp_path / "passes.yaml"
    passes.write_text(SHORT_SUMMARY)
    for earlier in (summaries[:1], summaries):
        first.write_bytes(as_lines([request, *earlier, more, answer, more]))
        assert condense("run", first, "--config", passes, "-o", second, "-q").status == ExitStatus.DONE
        (summary,) = [block.text for _, block in api.load(second).blocks() if parse_summary(block.text)]
        (name,) = {gap.hash for gap in gaps_in(summary)}
        done = condense("show", first, name)
        assert (done.status, done.text) == (ExitStatus.DONE, "\n\n".join(CUT[: len(earlier)]))
