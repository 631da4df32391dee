"""Single cases of the prelude: one oddity each, which must become a reference and come back as it was."""

import re
from itertools import product
from string import ascii_lowercase

import pytest
from build import LONG, anthropic, assistant, call, read_turn, result, text, user
from hypothesis import example, given
from hypothesis import strategies as st
from references import EACH, check, references, texts

from condense_cli.core.markers import short_hash
from condense_cli.core.transcript import Message
from condense_cli.lossless import lines as excerpt
from condense_cli.lossless.decode import decode
from condense_cli.lossless.lines import describe_numbering, read_lines, readings
from condense_cli.lossless.matching import hash_lines
from condense_cli.lossless.references import (
    ABOVE,
    REFERENCE_BYTES,
    THE_RESULT,
    THIS_CALL,
    Address,
    Reference,
    elements,
    parse_reference,
)

LINES = [f"def function_{n}(argument): return {n} * argument" for n in range(1, 31)]


def numbered(style: str, first: int = 1, lines: list[str] | None = None) -> str:
    return "\n".join(style.format(n=n, line=line) for n, line in enumerate(lines or LINES, first))


def two_reads(older: object, newer: object) -> tuple[Message, ...]:
    messages = [user("a"), *read_turn("1", content=older), *read_turn("2", content=newer), assistant("z")]
    return check(anthropic(*messages).messages, EACH["all"])


def said(messages: tuple[Message, ...], message: int = 2) -> str:
    return "\n".join(text for block in messages[message].blocks for text in texts(block))


STYLES = (
    "{n:>6}\t{line}",
    "{n:>6}→{line}",
    "{n}→{line}",
    "{n} | {line}",
    "{n}:{line}",
    "{n}\t{line}",
    "{n:>4}|{line}",
    "{n:>12}|{line}",
)


# A listing refers to another one, whatever the styles and first numbers of the two are.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("older", [None, *STYLES])
@pytest.mark.parametrize("newer", [None, *STYLES])
@pytest.mark.parametrize("first", [1, 8, 95, 9_999_980])
def test_listings_refer_to_each_other(older: str | None, newer: str | None, first: int) -> None:
    old = numbered(older, first) if older else "\n".join(LINES)
    new = numbered(newer) if newer else "\n".join(LINES)
    assert "function_15" not in said(two_reads(old, new))


# Numbers that a listing prints are spoken of, not counted lines; a line that differs stays between references.
def test_a_line_that_differs_stays_between_references() -> None:
    changed = [*LINES[:14], "a line that was there before", *LINES[15:]]
    after = said(two_reads(numbered("{n:>6}→{line}", 101, changed), numbered("{n:>6}→{line}", 101)))
    assert re.fullmatch(
        r"\[see lines 101-114 of the next Read of src/app\.py #\d{6}\]\n"
        r" {3}115→a line that was there before\n"
        r"\[see lines 116-130 of the next Read of src/app\.py #\d{6}\]",
        after,
    )


def test_two_listings_in_one_text_are_both_referred_to() -> None:
    both = numbered("{n:>6}→{line}") + "\n--\n" + numbered("{n:>6}→{line}", 300, [line[::-1] for line in LINES])
    after = said(two_reads("before\n" + both, both + "\nafter"))
    assert after.startswith("before\n[see ")
    assert "function" not in after


ODD = {
    "CRLF": "\r\n".join(LINES) + "\r\n",
    "no final newline": "\n".join(LINES),
    "final newlines": "\n".join(LINES) + "\n\n\n",
    "trailing blanks": "\n".join(line + "  \t" for line in LINES),
    "blank lines": "\n\n\n".join(LINES),
    "line separators": "\u2028".join(LINES) + "\n" + "\n".join(LINES) + "\x85\x0b\x0c",
    "other characters": "\n".join(f"{line} 日本語 🎉 é" for line in LINES),
    "a long line": "word and " * 12_000,
    "lines that look like references": "\n".join(f"[see lines {n}-{n + 9} above #{n:06}]" for n in range(1, 40)),
    "many equal lines": "the same line, all over again\n" * 500,
    "many blank lines": "\n" * 500 + LONG,
    "one listing over another": numbered("{n}:{line}") + "\n" + numbered("{n}: {line}", 31),
}


# Whatever an old result holds, it becomes a reference to the same text and comes back as it was.
@pytest.mark.parametrize("name", ODD)
def test_odd_text_comes_back(name: str) -> None:
    assert re.fullmatch(r"\[see the next Read of src/app\.py #\d{6}\]", said(two_reads(ODD[name], ODD[name])))


# A line break at the end belongs to the text: with one more or fewer, nothing but that stays.
@pytest.mark.parametrize(("older", "newer"), [("", "\n"), ("\n", ""), ("\r\n", "\n"), ("\n\n", "\n")])
def test_ends_of_texts_are_told_apart(older: str, newer: str) -> None:
    after = said(two_reads("\n".join(LINES) + older, "\n".join(LINES) + newer))
    assert "function_15" not in after
    assert len(after.split("\n")) <= 3


def test_texts_around_images_refer_for_themselves() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    parts = [text("\n".join(LINES)), image, text(LONG)]
    after = two_reads(parts, parts)
    assert [block.kind.value for block in after[2].blocks] == ["tool_result", "image", "tool_result"]
    assert len(references(after)) == 2


def test_parallel_calls_and_calls_without_arguments_are_told_apart() -> None:
    both = [assistant([call("1", "status"), call("2", "status")]), user([result("1"), result("2", "\n".join(LINES))])]
    later = [assistant([call("3", "status"), call("4", "status")]), user([result("3", "\n".join(LINES)), result("4")])]
    after = check(anthropic(user("a"), *both, *later).messages, EACH["all"])
    assert [texts(block)[0].partition(" #")[0] for block in after[2].blocks] == [
        "[see the 3rd next status",
        "[see the next status",
    ]


# The lines around the repeated ones are equally long, and both parts refer to their first occurrence.
def test_two_parts_of_equal_length_both_become_references() -> None:
    first, last = LINES[:9], [line.replace("def", "new") for line in LINES[:9]]
    block = "\n".join([*first, *LINES[10:], *last])
    after = said(two_reads(f"{block}\n--\n{block}", "\n".join(LINES[10:]) + "\nend"))
    assert re.findall(r"\[see (.+) #\d{6}\]", after) == [
        "lines 1-20 of the next Read of src/app.py",
        "lines 1-9 above",
        "lines 1-20 of the next Read of src/app.py",
        "lines 30-38 above",
    ]


# Lines that say little are told apart in every process: some of these would share a hash of a few bits.
def test_short_lines_are_told_apart() -> None:
    lines = [*map("".join, product(f"{ascii_lowercase}é日🎉\ud83d", repeat=3)), "", "a", "aa"]
    assert len(set(hash_lines("\n".join(lines)).keys)) == len(lines)


# Without a call that it answers a result still has a name: nothing is lost where clients drop calls.
def test_results_without_calls_refer() -> None:
    messages = [user("a"), user([result("lost")]), user([result("gone")]), user([result("lost")])]
    after = check(anthropic(*messages).messages, EACH["all"])
    assert len(references(after)) == 2


def test_states_refer_to_newer_states_and_keep_their_tags() -> None:
    def state(changed: str) -> str:
        inner = "\n".join([*LINES[:9], changed, *LINES[9:]])
        return f"Go on.\n<environment_details>\n{inner}\n</environment_details>"

    messages = [user("first"), assistant("b"), user(state("one")), assistant("d"), user(state("two")), assistant("f")]
    after = said(check(anthropic(*messages).messages, EACH["states"]))
    assert after.startswith("Go on.\n<environment_details>\n[see lines 2-10 of the next <environment_details> #")
    assert after.endswith("]\n</environment_details>")
    assert "\none\n" in after


# An element ends at the first closing tag; without one it does not exist, however often it is opened.
def test_elements_that_are_not_closed_are_none() -> None:
    text = "<a>x<a>y</a>z</a> <a>\n</a>" + "<a>" * 100_000
    assert [(text[e.start : e.end], e.part) for e in elements(text, "a")] == [("<a>x<a>y</a>", 0), ("<a>\n</a>", 1)]
    assert elements("</a><a>", "a") == elements("<b></b>", "a") == []


# A result that shows what its call wrote says so, and the call keeps it.
def test_a_listing_refers_to_what_its_own_call_wrote() -> None:
    edit = call("1", "Edit", file_path="a.py", old_string="x", new_string="\n".join(LINES))
    shown = "The file was changed:\n" + numbered("{n:>6}→{line}", 40)
    after = check(anthropic(user("a"), assistant([edit]), user([result("1", shown)])).messages, EACH["all"])
    assert re.fullmatch(
        r'The file was changed:\n\[see new_string of this call, numbered from (?:40|"    40→") #\d{6}\]', said(after)
    )
    assert "function_15" in said(after, 1)


# Results that are alike are told apart by counting, forward and backward.
@pytest.mark.parametrize("keep", ["latest", "earliest"])
def test_many_equal_results_refer_to_one(keep: str) -> None:
    turns = [message for n in range(30) for message in read_turn(str(n))]
    messages = anthropic(user("a"), *turns, assistant("z")).messages
    after = check(messages, EACH["all"], "earliest" if keep == "earliest" else "latest")
    assert len(references(after)) == 29
    whole = [message.index for message in after if message.blocks[0].text == LONG]
    assert whole == [2 if keep == "earliest" else 60]


# A reference counts only if block, lines, direction and hash agree and it has a line of its own.
def test_what_only_resembles_a_reference_is_text() -> None:
    after = two_reads(LONG, LONG)
    (line,) = references(after)
    for spoiled in (
        line.replace("next", "previous"),
        line.replace("the next", "the 2nd next"),
        line.replace("the next", "lines 1-39 of the next"),
        line.replace("the next", "lines 1-40 of the next"),
        line.replace("the next", "the 1st next"),
        line.replace("app.py", "App.py"),
        line[:-2] + ("1]" if line[-2] == "0" else "0]"),
        f" {line}",
        f"{line} ",
        f"{line}\r",
        line.replace("[see", "[See"),
    ):
        block = after[2].blocks[0].with_text(spoiled)
        messages = [*after[:2], Message(2, after[2].role, (block,)), *after[3:]]
        decoded = decode(messages)
        assert decoded.resolved == 0, spoiled
        assert decoded.messages[2].blocks[0].text == spoiled
    assert decode(after).resolved == 1


# A call without usual arguments is named by its first one, whose beginning must stay in place.
def test_the_line_that_names_a_call_stays() -> None:
    calls = [
        message
        for number in range(2)
        for message in (
            assistant([call(str(number), "Send", inner={"note": "\n".join(LINES)})]),
            user([result(str(number))]),
        )
    ]
    messages = check(anthropic(user("a"), *calls, assistant("z")).messages, EACH["all and parameters"])
    argument = said(messages, 1)
    assert argument.startswith(LINES[0])
    assert "[see lines 2-30 of inner.note of the next Send" in argument


# One look at the whole tells that a text has no listing.
@given(
    st.integers(0, 10**7),
    st.integers(1, 9),
    st.sampled_from(["→", "\t", " | ", "|", ":", "-"]),
    st.lists(st.sampled_from(["a", "", "7: b", " 8→"]), max_size=3),
)
@example(9_999_999, 1, ":", [])
def test_any_listing_is_found(first: int, width: int, separator: str, before: list[str]) -> None:
    listed = [f"{first + number:>{width}}{separator}x" for number in range(2)]
    shape = read_lines("\n".join([*before, *listed])).shape
    assert shape == excerpt._shape([*before, *listed])
    is_one = separator != "-" and first < 10**7
    assert any(listing.stop == len(before) + 2 for listing in shape.listings) is is_one


# Six digits are few: lines without numbers may have the hash of the numbered ones.
def test_numbers_are_said_where_hashes_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    source = read_lines("\n".join(LINES))
    text = "\n".join(f"{number:>6}→{line}" for number, line in enumerate(LINES, 130))
    before = "   129→x = 1"
    assert describe_numbering(text, source, 0, len(LINES), before, "") == ""
    monkeypatch.setattr(excerpt, "short_hash", lambda text: "194823")
    words = describe_numbering(text, source, 0, len(LINES), before, "")
    assert words
    assert next(readings(source, 0, len(LINES), words, before, "")) == text


HASH = "012345"
READ = "Read of src/app.py"
SPELLINGS = {
    "[see lines 3-75 of the next Read of src/app.py #012345]": Reference("lines 3-75", Address(READ), HASH),
    "[see the next Read of src/app.py #012345]": Reference("", Address(READ), HASH),
    "[see the previous Read of src/app.py #012345]": Reference("", Address(READ, is_backward=True), HASH),
    "[see line 3 of the 2nd next Bash `pytest -q` #012345]": Reference("line 3", Address("Bash `pytest -q`", 2), HASH),
    "[see the 3rd next ls #012345]": Reference("", Address("ls", 3), HASH),
    "[see the 4th previous ls #012345]": Reference("", Address("ls", 4, True), HASH),
    "[see the 10th next ls #012345]": Reference("", Address("ls", 10), HASH),
    "[see the 11th next ls #012345]": Reference("", Address("ls", 11), HASH),
    "[see the 12th next ls #012345]": Reference("", Address("ls", 12), HASH),
    "[see the 13th next ls #012345]": Reference("", Address("ls", 13), HASH),
    "[see the 19th next ls #012345]": Reference("", Address("ls", 19), HASH),
    "[see the 20th next ls #012345]": Reference("", Address("ls", 20), HASH),
    "[see the 21st next ls #012345]": Reference("", Address("ls", 21), HASH),
    "[see the 102nd next ls #012345]": Reference("", Address("ls", 102), HASH),
    "[see the 111th next ls #012345]": Reference("", Address("ls", 111), HASH),
    "[see new_string of the next Edit of a.py #012345]": Reference(
        "", Address("Edit of a.py", field="new_string"), HASH
    ),
    "[see lines 1-2 of new_string of this call #012345]": Reference(
        "lines 1-2", Address(THIS_CALL, 0, False, "new_string"), HASH
    ),
    "[see new_string of this call #012345]": Reference("", Address(THIS_CALL, 0, False, "new_string"), HASH),
    "[see the result #012345]": Reference("", Address(THE_RESULT, 0), HASH),
    "[see the first line of the next ls #012345]": Reference("the first line", Address("ls"), HASH),
    "[see the last 4 lines of the next ls #012345]": Reference("the last 4 lines", Address("ls"), HASH),
    "[see 4 lines from 7 on of the next ls #012345]": Reference("4 lines from 7 on", Address("ls"), HASH),
    "[see lines 3-9 above #012345]": Reference("lines 3-9 above", ABOVE, HASH),
    "[see line 3 above #012345]": Reference("line 3 above", ABOVE, HASH),
    "[see the next ls, numbered from 12 #012345]": Reference("", Address("ls"), HASH, "12"),
    '[see the next ls, numbered from "   1|" #012345]': Reference("", Address("ls"), HASH, '"   1|"'),
}


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_what_is_written_is_read(spelled: str) -> None:
    reference = SPELLINGS[spelled]
    assert str(reference) == spelled
    assert parse_reference(spelled) == reference
    assert '"' in spelled or REFERENCE_BYTES.fullmatch(spelled.encode())


@pytest.mark.parametrize(
    "text",
    [
        "[see the 1st next ls #012345]",
        "[see the 2th next ls #012345]",
        "[see the 11st next ls #012345]",
        "[see the 02nd next ls #012345]",
        "[see the 0th next ls #012345]",
        "[see the next ls #12345]",
        "[see the next ls #0123456]",
        "[see the next ls #01234a]",
        "[see the next ls #012345] ",
        " [see the next ls #012345]",
        "[see the next ls #012345]\n",
        "[see ls #012345]",
        "[see lines 3-9 #012345]",
        "[see lines ٣-٩ above #012345]",
        "[See the next ls #012345]",
        "[see \\new_string of this call #012345]",
        "[see \\the next ls #012345]",
        "[see the next  #012345",
        "",
    ],
)
def test_what_is_spelled_in_another_way_is_text(text: str) -> None:
    assert parse_reference(text) is None


def test_six_digits_of_what_stood_there() -> None:
    assert short_hash("") == f"{0xE3B0C442 % 1_000_000:06}"
    hashes = {short_hash(str(number)) for number in range(2_000)}
    assert all(len(hash) == 6 and hash.isdigit() for hash in hashes)
    assert any(hash.startswith("0") for hash in hashes)
    assert len(hashes) > 1_990
