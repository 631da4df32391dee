"""What has to hold for references, as checks on messages. Generated and real transcripts go through the same ones."""

from collections.abc import Iterator, Sequence
from itertools import product

from msgspec.structs import replace

from condense_cli.core.markers import REFERENCE_PREFIX, without_escape
from condense_cli.core.transcript import Block, Message
from condense_cli.core.values import BlockKind
from condense_cli.lossless.decode import decode
from condense_cli.lossless.encode import Keep, encode, verified, with_blocks
from condense_cli.lossless.lines import read_lines
from condense_cli.lossless.matching import Reader
from condense_cli.lossless.pieces import Finders
from condense_cli.lossless.references import parse_reference
from condense_cli.tokens.counting import Counter
from condense_cli.toolcalls.tools import arguments_of, string_values

COUNT = Counter()
NOTHING = Finders(file_reads=False, tool_results=False, state_tags=())
EACH = {
    "all": Finders(),
    "all and parameters": Finders(tool_parameters=True, file_tools=("list_*",)),
    "file reads": Finders(tool_results=False, state_tags=()),
    "tool results": Finders(file_reads=False, state_tags=()),
    "states": Finders(file_reads=False, tool_results=False),
    "parameters": Finders(file_reads=False, tool_results=False, state_tags=(), tool_parameters=True),
}
"""All finders together and each alone."""
KEEPS: tuple[Keep, ...] = ("latest", "earliest")
VARIETIES = list(product(EACH, KEEPS))


def written(messages: Sequence[Message], finders: Finders = EACH["all"], keep: Keep = "latest") -> tuple[Message, ...]:
    """Messages without references, as they are written."""
    return tuple(with_blocks(messages, encode(messages, finders, COUNT, lambda *_: True, keep=keep).blocks))


def texts(block: Block) -> list[str]:
    """What a block says: its text, or the string values of a call."""
    arguments = arguments_of(block) if block.kind is BlockKind.TOOL_CALL else None
    return [block.text] if arguments is None else [value for _, value in string_values(arguments)]


def says_the_same(old: Sequence[Message], new: Sequence[Message]) -> bool:
    """Texts are equal, and the arguments of calls as parsed values."""
    return len(old) == len(new) and all(
        len(left.blocks) == len(right.blocks) and all(map(_is_same, left.blocks, right.blocks))
        for left, right in zip(old, new, strict=True)
    )


def _is_same(old: Block, new: Block) -> bool:
    if old.kind is BlockKind.TOOL_CALL and arguments_of(old) is not None:
        return arguments_of(old) == arguments_of(new)
    return old.text == new.text


def references(messages: Sequence[Message]) -> list[str]:
    """Every line that has the form of a reference, wherever it stands."""
    return [
        line
        for message in messages
        for block in message.blocks
        for text in texts(block)
        for line in text.split("\n")
        if parse_reference(line)
    ]


def without_one(messages: Sequence[Message]) -> Iterator[list[Message]]:
    """The messages with one of their references exchanged for text, for each of them."""
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_CALL:
                continue
            lines = block.text.split("\n")
            for line in range(len(lines)):
                if parse_reference(lines[line]):
                    text = "\n".join([*lines[:line], "no reference", *lines[line + 1 :]])
                    yield with_blocks(messages, {(position, number): block.with_text(text)})


def check(messages: Sequence[Message], finders: Finders, keep: Keep = "latest") -> tuple[Message, ...]:
    """Everything that holds for messages and what is written for them, which is given back.

    `messages` are as they were read: some of them may hold references already.
    """
    plain = decode(messages).messages
    escaped = with_blocks(plain, verified(plain, {}, {}, Reader()))
    assert says_the_same(decode(escaped).messages, plain), "what references gave was taken for references"
    encoded = encode(plain, finders, COUNT, lambda *_: True, keep=keep)
    after = tuple(with_blocks(plain, encoded.blocks))
    decoded = decode(after)
    assert says_the_same(decoded.messages, plain), "decoding gives something else than was encoded"
    with_references = {place for place, block in encoded.blocks.items() if not is_escaped(_at(plain, place), block)}
    assert bool(with_references) == bool(decoded.resolved), "a text resolves that imitates a reference"
    for position, number in with_references:
        block = encoded.blocks[position, number]
        assert COUNT.block(block) < COUNT.block(plain[position].blocks[number])
    named_lines_stay(plain, after)
    assert written(decoded.messages, finders, keep) == written(plain, finders, keep) == after, "not the same again"
    return after


def _at(messages: Sequence[Message], place: tuple[int, int]) -> Block:
    return messages[place[0]].blocks[place[1]]


def is_escaped(old: Block, new: Block) -> bool:
    """Whether a block says what it said, but for escapes in lines that imitate references."""
    lines = [line for text in texts(new) for line in text.split("\n")]
    plain = map(plain_line, lines)
    before = [line for text in texts(old) for line in text.split("\n")]
    return len(lines) == len(before) and all(line in pair for line, *pair in zip(before, lines, plain, strict=True))


def plain_line(line: str) -> str:
    """The line without an escape, if it has any."""
    return without_escape(line) if line.startswith(REFERENCE_PREFIX) else line


def named_lines_stay(plain: Sequence[Message], after: Sequence[Message]) -> None:
    """No reference leads to another: where lines of a block went, no other block means those lines.

    Every line that a block keeps stays where it is, those that went are spoiled; each block with references then
    has to say the same between blocks that are spoiled like that.
    """
    spoiled = [
        replace(message, blocks=tuple(map(_spoiled, message.blocks, new.blocks)))
        for message, new in zip(plain, after, strict=True)
    ]
    for position, message in enumerate(after):
        for number, block in enumerate(message.blocks):
            if block.text != plain[position].blocks[number].text and block.kind is BlockKind.TOOL_RESULT:
                decoded = decode(with_blocks(spoiled, {(position, number): block})).messages
                assert decoded[position].blocks[number].text == plain[position].blocks[number].text


def _spoiled(old: Block, new: Block) -> Block:
    """The block with every line spoiled that is no longer in it; line numbers stay as they are.

    Calls are as they are written, because their results count the lines of that.
    """
    if old.kind is not BlockKind.TOOL_RESULT or old.text == new.text:
        return new
    lines = read_lines(old.text)
    stay = {form for line in new.text.split("\n") for form in (line, plain_line(line))}
    kept = [
        line if line in stay else line.removesuffix(key) + "spoiled"
        for line, key in zip(lines.lines, lines.keys, strict=True)
    ]
    return old.with_text("\n".join(kept))
