"""Output decodes as intended: wrong references are dropped, and foreign text that would count gets escapes."""

from collections.abc import Mapping
from typing import Any

import pytest
from bombs import LINES
from build import anthropic, assistant, call, read_turn, result, user
from msgspec.structs import replace
from references import texts

from condense_cli.core.markers import short_hash, with_escape
from condense_cli.core.transcript import Block, BlockPlace, Message
from condense_cli.core.values import Text
from condense_cli.lossless import encode
from condense_cli.lossless.decode import decode
from condense_cli.lossless.encode import has_imitations, verified, with_blocks, with_escapes
from condense_cli.lossless.matching import Reader

OTHER = LINES.replace("value", "worth")
NEXT = f"[see the next Read of b.py #{short_hash(LINES)}]"
ESCAPED = with_escape(NEXT)
B = read_turn("b", "b.py", LINES)


def messages(*said: dict[str, Any]) -> tuple[Message, ...]:
    return anthropic(user("Look."), *said, assistant("Done.")).messages


def read(content: Any) -> list[dict[str, Any]]:
    return read_turn("a", "a.py", content)


def put(given: tuple[Message, ...], *said: tuple[int, str]) -> dict[BlockPlace, Block]:
    """Blocks that say something else, by their messages."""
    return {(position, 0): given[position].blocks[0].with_text(text) for position, text in said}


def proven(
    given: tuple[Message, ...], blocks: Mapping[BlockPlace, Block], meant: Mapping[BlockPlace, Text] | None = None
) -> dict[BlockPlace, list[str]]:
    """Texts of blocks that are written otherwise; read back, they must be as intended."""
    written = verified(given, {**blocks}, meant or {}, Reader())
    again = decode(with_blocks(given, written)).messages
    for position, message in enumerate(given):
        for number, block in enumerate(message.blocks):
            expected = [str((meant or {})[position, number])] if (position, number) in (meant or {}) else texts(block)
            assert texts(again[position].blocks[number]) == expected
    return {place: texts(block) for place, block in written.items()}


def test_blocks_are_exchanged_at_their_places() -> None:
    given = messages(*read("x"), *B)
    changed = with_blocks(given, put(given, (2, "y"), (4, "z")))
    assert [texts(message.blocks[0])[0] for message in changed] == ["Look.", "a.py", "y", "b.py", "z", "Done."]
    assert with_blocks(given, {}) == [*given]
    two = messages(user([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]))
    both = {(0, number): two[0].blocks[number].with_text(word) for number, word in ((0, "c"), (1, "d"))}
    assert [block.text for block in with_blocks(two, both)[0].blocks][:2] == ["c", "d"]


def test_right_references_are_written() -> None:
    given = messages(*read(f"x\n{LINES}"), *B)
    blocks = put(given, (2, f"x\n{NEXT}"))
    assert verified(given, blocks, {}, Reader()) == blocks


@pytest.mark.parametrize("wrong", [NEXT, f"y\n{NEXT}", f"x\n{NEXT.replace('next', 'previous')}", "x", f"x\n{LINES}\n"])
def test_wrong_references_are_not_written(wrong: str) -> None:
    given = messages(*read(f"x\n{LINES}"), *read_turn("c", "c.py", LINES), *B)
    right = (4, NEXT)
    assert proven(given, put(given, (2, wrong), right)) == {(4, 0): [NEXT]}


def test_what_is_meant_goes_before_the_messages() -> None:
    given = messages(*read("x"), *B)
    assert proven(given, put(given, (2, NEXT)), {(2, 0): LINES}) == {(2, 0): [NEXT]}
    assert verified(given, put(given, (2, NEXT)), {(2, 0): OTHER}, Reader()) == {}
    assert verified(given, put(given, (2, "x")), {(2, 0): LINES}, Reader()) == {}


def test_text_that_would_count_gets_an_escape() -> None:
    given = messages(*read(f"x\n{NEXT}\ny"), *B)
    assert proven(given, {}) == {(2, 0): [f"x\n{ESCAPED}\ny"]}
    more = messages(*read(f"{ESCAPED}\n{NEXT}\n{NEXT.replace('b.py', 'c.py')}"), *B)
    assert proven(more, {}) == {(2, 0): [f"{with_escape(ESCAPED)}\n{ESCAPED}\n{NEXT.replace('b.py', 'c.py')}"]}
    assert proven(messages(*B), {}) == {}


def test_values_that_would_count_get_escapes() -> None:
    given = messages(
        assistant([call("e", "Edit", file_path="e.py", a=NEXT, b=f"x\n{NEXT}")]), user([result("e", "ok")]), *B
    )
    assert proven(given, {}) == {(1, 0): ["e.py", ESCAPED, f"x\n{ESCAPED}"]}


def test_text_that_counts_only_beside_references_gets_its_escape_then() -> None:
    """The line names the result of b.py, which is itself written as a reference: so it would give nothing."""
    given = messages(*read(NEXT), *B, *read_turn("c", "c.py", LINES))
    again = f"[see the next Read of c.py #{short_hash(LINES)}]"
    assert proven(given, put(given, (4, again))) == {(4, 0): [again]}
    # If that reference is wrong, the line counts after all.
    assert proven(given, put(given, (4, again.replace("c.py", "d.py")))) == {(2, 0): [ESCAPED]}


def test_a_reference_that_an_imitation_would_spoil_is_not_written() -> None:
    part = "\n".join([NEXT, *LINES.split("\n")])
    given = messages(*read(part), *read_turn("c", "c.py", part), *B)
    whole = f"[see the next Read of c.py #{short_hash(part)}]"
    written = proven(given, put(given, (2, whole)))
    assert written[4, 0] == ["\n".join([ESCAPED, *LINES.split("\n")])]


@pytest.mark.parametrize(
    ("said", "imitates"),
    [
        (NEXT, True),
        (f"x\n{ESCAPED}", True),
        (f" {NEXT}", False),
        ("[see the docs]", False),
        ("nothing", False),
    ],
)
def test_imitations_are_found(said: str, imitates: bool) -> None:
    assert has_imitations(messages(*read(said)), Reader()) is imitates
    edit = [assistant([call("e", "Edit", file_path="e.py", a="x", b=said)]), user([result("e", "ok")])]
    assert has_imitations(messages(*edit), Reader()) is imitates


def test_messages_are_written_with_escapes() -> None:
    before = messages(*read("old"), *B)
    now = tuple(with_blocks(before, put(before, (2, f"x\n{NEXT}"))))
    assert texts(with_escapes(now, before)[2].blocks[0]) == [f"x\n{ESCAPED}"]
    plain = tuple(with_blocks(before, put(before, (2, "new"))))
    assert with_escapes(plain, before) == plain


def test_a_block_that_was_written_so_stays_as_it_was() -> None:
    before = messages(*read(ESCAPED), *B)
    now = decode(before).messages
    assert texts(now[2].blocks[0]) == [NEXT]
    assert with_escapes(now, before)[2].blocks[0] is before[2].blocks[0]
    other = tuple(replace(message, index=message.index + 1) for message in now)
    assert [message.index for message in with_escapes(other, before)] == [message.index for message in other]


def test_the_spelling_of_an_object_does_not_count() -> None:
    given = messages(assistant([call("e", "Edit", file_path="e.py", a=LINES)]), user([result("e", "ok")]), *B)
    spaced = (
        given[1]
        .blocks[0]
        .with_text(given[1].blocks[0].text.replace(LINES.split("\n")[0], LINES.split("\n")[0], 1) + " ")
    )
    assert spaced.is_object
    assert verified(given, {(1, 0): spaced}, {}, Reader()) == {(1, 0): spaced}
    text = replace(given[1].blocks[0], is_object=False)
    plain = (given[0], replace(given[1], blocks=(text,)), *given[2:])
    assert verified(plain, {(1, 0): text.with_text(text.text + " ")}, {}, Reader()) == {}


# A client may leave some messages out, which would make the file smaller: so less is written than may be read.
def test_no_more_is_written_than_may_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = messages(*read("\n".join([LINES] * 5)), *B)
    blocks = put(given, (2, "\n".join([NEXT] * 5)))
    assert verified(given, blocks, {}, Reader()) == blocks
    monkeypatch.setattr("condense_cli.lossless.decode._LEAST", 0)
    monkeypatch.setattr(encode, "WRITTEN_TIMES", 1)
    assert verified(given, blocks, {}, Reader()) == {}


def test_it_ends_where_every_round_finds_something(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []

    def counting(*given: Any) -> Any:
        rounds.append(1)
        found = decode(*given)
        return replace(found, counted={(2, 0): [("", 0)]}, messages=(*found.messages[:2], wrong, *found.messages[3:]))

    given = messages(*read(NEXT), *B)
    wrong = replace(given[2], blocks=(given[2].blocks[0].with_text("z"),))
    monkeypatch.setattr(encode, "decode", counting)
    verified(given, {}, {}, Reader())
    assert len(rounds) == 12
