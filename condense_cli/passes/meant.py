"""Which blocks of a conversation selectors mean, and what is said of one that means none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from typing import assert_never

from ..core.selectors import (
    AnySelector,
    Except,
    OfBlock,
    OfFile,
    OfLast,
    OfMessage,
    OfRange,
    OfText,
    OfTool,
    is_exact,
    parse_selector,
    searcher,
    written,
)
from ..core.transcript import Block, Message
from ..core.values import BlockKind
from ..core.wording import brief, nearest, plural
from ..extractive.answers import is_typed
from ..toolcalls.tools import main_argument, paths, prints_a_file

Address = tuple[int, int]
"""The index of a block's message, and its number in that."""


def meant(selectors: Iterable[AnySelector | str], messages: Sequence[Message]) -> frozenset[Address]:
    """The blocks that any of the selectors means, results of the calls among them included. Raises SelectorError."""
    conversation = _Conversation(messages)
    return frozenset(address for selector in selectors for address in conversation.meant(_parsed(selector)))


def meaning(
    selectors: Iterable[AnySelector | str], messages: Sequence[Message], *, spares_words: bool = False
) -> Callable[[Message, Block], bool]:
    """The test whether a block of these messages, whatever became of its text, is meant by any of the selectors.

    Where it `spares_words`, what a person typed is meant only by a selector that names the very message or block.
    """
    conversation = _Conversation(messages)
    keys = set()
    for selector in map(_parsed, selectors):
        spares = spares_words and not is_exact(selector)
        for index, number in conversation.meant(selector):
            message = conversation.by_index[index]
            block = message.blocks[number]
            if not (spares and is_typed(message, block)):
                keys.add(block.key)
    return lambda message, block: block.key in keys


def why_none(selector: AnySelector | str, messages: Sequence[Message]) -> str:
    """What to say of a selector that means nothing here, with the nearest that would; empty if it means something."""
    selector = _parsed(selector)
    conversation = _Conversation(messages)
    if conversation.meant(selector):
        return ""
    return f"{brief(written(selector))} matches nothing{conversation.nearest(selector)}"


def _parsed(selector: AnySelector | str) -> AnySelector:
    return parse_selector(selector) if isinstance(selector, str) else selector


class _Conversation:
    """Messages to look for blocks in; what takes a look at all of them is worked out once."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.length = messages[-1].index + 1 if messages else 0

    @cached_property
    def by_index(self) -> dict[int, Message]:
        return {message.index: message for message in self.messages}

    def meant(self, selector: AnySelector) -> set[Address]:
        """The blocks that a selector means, with the results of calls among them."""
        found = self._found(selector)
        if isinstance(selector, Except):
            return found
        return found | {answer for address in found for answer in self._answers(address)}

    def _found(self, selector: AnySelector) -> set[Address]:
        match selector:
            case OfMessage(index):
                return self._of_message(index)
            case OfBlock(index, number):
                return {address for address in self._of_message(index) if address[1] == number}
            case OfRange(start, end):
                indices = range(*slice(start, end).indices(self.length))
                return {address for address, _ in self._blocks() if address[0] in indices}
            case OfLast(turns):
                return self._of_last(turns)
            case OfTool(glob):
                glob = glob.lower()
                return {at for at, block in self._blocks() if block.tool and fnmatchcase(block.tool.lower(), glob)}
            case OfFile(glob):
                return {at for at, names in self._files.items() if any(_is_named(name, glob) for name in names)}
            case OfText(pattern):
                search = searcher(pattern)
                return {address for address, block in self._blocks() if search(block.text)}
            case Except(inner):
                # A place is where it is; a file, or a text, is what the calls that name it brought.
                is_place = isinstance(inner, OfMessage | OfBlock | OfRange | OfLast)
                without = self._found(inner) if is_place else self.meant(inner)
                return {address for address, _ in self._blocks()} - without
            case other:
                assert_never(other)

    def nearest(self, selector: AnySelector) -> str:
        """The end of a sentence about a selector that means nothing: what there is instead."""
        match selector:
            case OfMessage() | OfRange():
                return f"; the last message is {self.length - 1}." if self.length else "."
            case OfBlock(index, _):
                blocks = len(self._of_message(index))
                return f"; message {index} has {plural(blocks, 'block')}." if blocks else self.nearest(OfMessage(index))
            case OfTool(glob):
                tools = {block.tool.lower(): block.tool for _, block in self._blocks() if block.tool}
                near = nearest(glob.lower(), tools)
                return f"; did you mean tool:{tools[near]}?" if near else "."
            case OfFile(glob):
                ends = {_end(name, glob): name for names in self._files.values() for name in names}
                near = nearest(glob, ends)
                return f"; did you mean file:{near}?" if near else "."
            case OfText(pattern):
                blocks = len(self.meant(OfText(f"(?i){pattern}")))
                return f"; /(?i){brief(pattern)}/ matches {plural(blocks, 'block')}." if blocks else "."
            case OfLast() | Except():
                return "."
            case other:
                assert_never(other)

    def _blocks(self) -> Iterator[tuple[Address, Block]]:
        for message in self.messages:
            for number, block in enumerate(message.blocks):
                yield (message.index, number), block

    def _of_message(self, index: int) -> set[Address]:
        index += self.length if index < 0 else 0
        message = self.by_index.get(index)
        return {(index, number) for number in range(len(message.blocks))} if message else set()

    def _of_last(self, turns: int) -> set[Address]:
        said = [message.index for message in self.messages if not message.is_only_thinking]
        first = said[-turns:][:1]
        return {address for address, _ in self._blocks() if first and address[0] >= first[0]}

    def _answers(self, address: Address) -> list[Address]:
        """The results of a call; nothing for other blocks."""
        call = self.by_index[address[0]].blocks[address[1]]
        of_call = call.call_id if call.kind is BlockKind.TOOL_CALL else call.server_call
        return self._results.get(of_call or "", [])

    @cached_property
    def _results(self) -> dict[str, list[Address]]:
        """Results by the id of their call; both halves of what a server did go by the same id."""
        found: dict[str, list[Address]] = defaultdict(list)
        for address, block in self._blocks():
            if block.answers or block.server_call:
                found[block.answers or block.server_call].append(address)
        return found

    @cached_property
    def _files(self) -> dict[Address, list[str]]:
        """The files that calls work on, or that their commands print, as paths with slashes."""
        found = {}
        for address, block in self._blocks():
            if block.kind is BlockKind.TOOL_CALL:
                names = main_argument(block).split() if prints_a_file(block) else paths(block)
                found[address] = [name.strip("'\"").replace("\\", "/") for name in names]
        return {address: names for address, names in found.items() if names}


def _is_named(path: str, glob: str) -> bool:
    """Whether a glob matches a path or the end of one, from the name of a folder on."""
    glob = glob.replace("\\", "/").removeprefix("./")
    glob += "*" if glob.endswith("/") else ""
    return fnmatchcase(path, glob) or fnmatchcase(path, f"*/{glob}")


def _end(path: str, glob: str) -> str:
    """As many of the last names of a path as the glob has."""
    return "/".join(path.split("/")[-glob.count("/") - 1 :])
