"""Which blocks a pass may touch, by selectors and predicates; and what no pass may touch at all."""

from __future__ import annotations

import math
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import chain
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration, Globs, Predicates, Selection
from ..core.markers import Gap, parse_gap, short
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
from ..core.transcript import Block, BlockKey, BlockPlace, Message, calls_by_id, cut_before
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..core.wording import brief, nearest, plural
from ..errors import ConfigurationError
from ..extractive.answers import is_typed
from ..formats.engine.client_text import is_command, is_wrapped
from ..tokens.counting import Counter
from ..tokens.models import binds_thinking
from ..toolcalls.tools import has_failed, main_argument, paths, prints_a_file, reads_a_file
from .must_keep import holders
from .receipts import Kept


def meant(selectors: Iterable[AnySelector | str], messages: Sequence[Message]) -> frozenset[BlockPlace]:
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
    """Say of a selector that it means nothing here, with the nearest that would; empty if it means something."""
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

    def meant(self, selector: AnySelector) -> set[BlockPlace]:
        """The blocks that a selector means, with the results of calls among them."""
        found = self._found(selector)
        if isinstance(selector, Except):
            return found
        return found | {answer for address in found for answer in self._answers(address)}

    def _found(self, selector: AnySelector) -> set[BlockPlace]:
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
                names = chain.from_iterable(self._files.values())
                ends = {"/".join(name.split("/")[-glob.count("/") - 1 :]): name for name in names}
                near = nearest(glob, ends)
                return f"; did you mean file:{near}?" if near else "."
            case OfText(pattern):
                blocks = len(self.meant(OfText(f"(?i){pattern}")))
                return f"; /(?i){brief(pattern)}/ matches {plural(blocks, 'block')}." if blocks else "."
            case OfLast() | Except():
                return "."
            case other:
                assert_never(other)

    def _blocks(self) -> Iterator[tuple[BlockPlace, Block]]:
        for message in self.messages:
            for number, block in enumerate(message.blocks):
                yield (message.index, number), block

    def _of_message(self, index: int) -> set[BlockPlace]:
        index += self.length if index < 0 else 0
        message = self.by_index.get(index)
        return {(index, number) for number in range(len(message.blocks))} if message else set()

    def _of_last(self, turns: int) -> set[BlockPlace]:
        said = [message.index for message in self.messages if not message.is_only_thinking]
        first = said[-turns:][:1]
        return {address for address, _ in self._blocks() if first and address[0] >= first[0]}

    def _answers(self, address: BlockPlace) -> list[BlockPlace]:
        """The results of a call; nothing for other blocks."""
        call = self.by_index[address[0]].blocks[address[1]]
        of_call = call.call_id if call.kind is BlockKind.TOOL_CALL else call.server_call
        return self._results.get(of_call or "", [])

    @cached_property
    def _results(self) -> dict[str, list[BlockPlace]]:
        """Results by the id of their call; both halves of what a server did go by the same id."""
        found: dict[str, list[BlockPlace]] = defaultdict(list)
        for address, block in self._blocks():
            if block.answers or block.server_call:
                found[block.answers or block.server_call].append(address)
        return found

    @cached_property
    def _files(self) -> dict[BlockPlace, list[str]]:
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


Predicate = Callable[[Message, Block], bool]


def compile_predicates(predicates: Predicates, messages: Sequence[Message], count: Counter) -> Predicate:
    """One test that holds where every given predicate holds. Positions refer to `messages`."""
    tests: list[Predicate] = []
    length = messages[-1].index + 1 if messages else 0
    if predicates.roles is not None:
        roles = frozenset(predicates.roles)
        tests.append(lambda message, block: (Role.TOOL if block.answers else message.role).value in roles)
    if (globs := predicates.tools) is not None:
        tests.append(lambda message, block: block.tool is not None and matches(block.tool, globs))
    if predicates.match is not None:
        tests.append(meaning(predicates.match, messages, spares_words=isinstance(predicates, Selection)))
    if (only := predicates.only_tools) is not None:
        alone = frozenset(message.index for message in messages if _holds_only(message, Globs(include=only)))
        tests.append(lambda message, block: message.index in alone)
    if (span := predicates.range) is not None:
        start, end, _ = slice(span.start, span.end).indices(length)
        tests.append(lambda message, block: start <= message.index < end)
    if (age := predicates.age) is not None:
        ages = _ages(messages)
        oldest = float("inf") if age.max is None else age.max
        tests.append(lambda message, block: age.min <= ages[message.index] <= oldest)
    if (minimum := predicates.min_tokens) is not None:
        tests.append(lambda message, block: count.content(block) >= minimum)
    if predicates.regex is not None:
        search = searcher(predicates.regex)
        tests.append(lambda message, block: search(block.text))
    if (failed := predicates.failed) is not None:
        tests.append(lambda message, block: _is_result(block) and has_failed(block) is failed)
    if (superseded := predicates.superseded) is not None:
        renewed = superseded_results(messages)
        tests.append(lambda message, block: _is_result(block) and (block.answers in renewed) is superseded)
    return lambda message, block: all(test(message, block) for test in tests)


def _holds_only(message: Message, globs: Globs) -> bool:
    """Whether all that is said in a message are calls and results of these tools; thinking goes with what it led to."""
    said = [block for block in message.blocks if block.kind is not BlockKind.THINKING]
    return bool(said) and all(block.tool is not None and matches(block.tool, globs) for block in said)


def _ages(messages: Sequence[Message]) -> dict[int, int]:
    """Turns since each message, those that a summary replaced included."""
    ages: dict[int, int] = {}
    age = 0
    for message in reversed(messages):
        ages[message.index] = age
        age += message.turns if message.is_summary else 1
    return ages


def _is_result(block: Block) -> bool:
    """Whether it is (an image in) a result, so that an image and its marker are selected alike."""
    return block.kind is BlockKind.TOOL_RESULT or (block.kind is BlockKind.IMAGE and block.answers is not None)


def matches(name: str, globs: Globs) -> bool:
    name = name.lower()
    included = not globs.include or any(fnmatchcase(name, glob.lower()) for glob in globs.include)
    return included and not any(fnmatchcase(name, glob.lower()) for glob in globs.exclude)


def superseded_results(messages: Sequence[Message]) -> frozenset[str]:
    """Calls whose result a later one replaces: the same tool with the same arguments, and successful.

    A command run again counts only when it printed the same: an older failing test run is history
    that a passing one does not replace. A file read again counts whatever it shows, and only for the
    very same range; a failed read replaces nothing. Calls that share an id are left alone: by it their results cannot
    be told apart.
    """
    calls = calls_by_id(messages)
    blocks = [block for message in messages for block in message.blocks]
    times = Counts(block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL and block.call_id)
    results: dict[str, list[Block]] = {}
    for block in blocks:
        if block.answers and _is_result(block) and times[block.answers] == 1:
            results.setdefault(block.answers, []).append(block)
    newest: dict[tuple[str | None, str], tuple[str, ...]] = {}
    superseded = set()
    for call_id, parts in reversed(results.items()):
        call = calls[call_id]
        key = (call.tool, call.text)
        texts = tuple(map(_printed, parts))
        if key in newest and (reads_a_file(call) or newest[key] == texts):
            superseded.add(call_id)
        if not any(map(has_failed, parts)):
            newest.setdefault(key, texts)
    return frozenset(superseded)


def _printed(block: Block) -> str:
    """A result, an image as its marker: whether it was left out or not, and by whichever version, it is the same."""
    gap = Gap(block.digest, is_image=True) if block.digest else parse_gap(block.text)
    return str(Gap(short(gap.hash), is_image=True)) if gap and gap.is_image else block.text


Selector = Callable[[Sequence[Message], Counter], Predicate]
"""Looks at the whole conversation and gives the test of a block. The same conversation must give the same answers."""

FindSelector = Callable[[str], Selector]
"""The selector of a name. Raises ConfigurationError."""


def no_selectors(name: str) -> Selector:
    raise ConfigurationError(f"There is no selector named {name!r}.", "An installed package can provide one.")


class Selected(Struct, frozen=True):
    """A selection worked out for a transcript: messages[:end] where `test` holds.

    An earlier summary goes into the next one whatever the selection says of its text; it stays where it is outside of
    the range, or only some tools are meant: `takes_in` tells.
    """

    end: int
    preserved_turns: int | None
    test: Predicate
    takes_in: Predicate
    age: str
    """What a block is that the selection means: old, or just selected."""


def _both(one: Predicate, other: Predicate) -> Predicate:
    return lambda message, block: one(message, block) and other(message, block)


def select(
    selection: Selection, messages: Sequence[Message], count: Counter, selectors: FindSelector = no_selectors
) -> Selected:
    turns = [position for position, message in enumerate(messages) if not message.is_only_thinking]
    test = compile_predicates(selection, messages, count) if _has_predicates(selection) else _anything
    whole = Predicates(range=selection.range, only_tools=selection.only_tools)
    takes_in = compile_predicates(whole, messages, count) if _has_predicates(whole) else _anything
    if selection.selector is not None:
        test = _both(test, selectors(selection.selector)(tuple(messages), count))
    match selection.type:
        case "custom":
            return Selected(len(messages), None, test, takes_in, "selected")
        case "preserve_recent":
            wanted = selection.keep_recent_count or 0
        case "preserve_percent":
            percentage = selection.keep_percentage or 0
            wanted = math.ceil(percentage * sum(message.turns for message in messages) / 100)
        case other:
            assert_never(other)
    # Counting from the front: a slice such as [-0:] would preserve everything when nothing is meant.
    first_kept = max(0, len(turns) - wanted)
    end = turns[first_kept] if first_kept < len(turns) else len(messages)
    return Selected(cut_before(messages, end), wanted, test, takes_in, "old")


def _has_predicates(given: Predicates) -> bool:
    return any(getattr(given, name) is not None for name in Predicates.__struct_fields__)


def _anything(message: Message, block: Block) -> bool:
    return True


class Protection(Struct, frozen=True):
    """Parts that no pass touches: instructions, the start, the first request, pins. `messages` by index.

    What a client attached beside a request is none, and a list of what it offers no instruction.
    """

    messages: dict[int, Kept]
    pins: tuple[Predicate, ...]
    holds_thinking: bool = True
    must: Mapping[BlockKey, tuple[str, ...]] = {}
    """Blocks with strings that must be kept."""

    def of(self, message: Message, block: Block, *, by_lines: bool = False) -> Kept | None:
        """Return why nothing may touch a block. Who picks lines `by_lines` may touch those without such strings."""
        if block.anchors:
            return Kept.ANCHOR
        is_beside = block.summarizes or block.is_attached or block.is_listing
        reason = None if is_beside else self.messages.get(message.index)
        may_hold = reason is None and (self.holds_thinking or block.kind is not BlockKind.THINKING)
        if may_hold and any(pin(message, block) for pin in self.pins):
            return Kept.PINNED
        if reason is None and not by_lines and block.key in self.must:
            return Kept.MUST
        return Kept.SUMMARY if block.summarizes else reason


def why_untouched(
    position: int,
    message: Message,
    block: Block,
    selected: Selected,
    protection: Protection,
    *,
    by_lines: bool = False,
) -> Kept | None:
    """Why a pass leaves a block alone before it asks what the block is. None: it may touch it.

    What nothing may touch goes before what is too new for this pass, and that before what it does not select.
    `position` is that of the message among those that the selection was worked out for.
    """
    protected = protection.of(message, block, by_lines=by_lines)
    if protected is not None:
        return protected
    if position >= selected.end:
        return Kept.RECENT
    return None if selected.test(message, block) else Kept.NOT_SELECTED


def protect(
    configuration: Configuration, messages: Sequence[Message], count: Counter, model: str | None = None
) -> Protection:
    """Return what stays of the messages of a conversation with a `model`.

    Where thinking may go whatever a pin says, no pin rests on it: with it would go, in the next run, what holds now.
    """
    protected: dict[int, Kept] = {}
    conversation = [message for message in messages if message.role not in STANDING_ROLES]
    for message in messages:
        if message.role in STANDING_ROLES:
            protected[message.index] = Kept.STANDING
    own = [message for message in conversation if not any(block.demonstrates for block in message.blocks)]
    for message in own[: configuration.keep_first]:
        protected[message.index] = Kept.FIRST
    request = _first_request(conversation)
    if request is not None:
        # What only its words tell to be no request stays as well: cut, it could be taken for one later.
        for message in filter(_holds_elements, conversation[:request]):
            protected.setdefault(message.index, Kept.BEFORE_REQUEST)
        goes_on = any(message.is_summary and not message.is_note for message in conversation[: request + 1])
        protected[conversation[request].index] = Kept.NEXT_REQUEST if goes_on else Kept.FIRST_REQUEST
    pins = tuple(_pin(pin, messages, count) for pin in configuration.pins)
    if configuration.keep:
        pins += (meaning(configuration.keep, messages),)
    goes = configuration.thinking == "drop" or (configuration.thinking == "auto" and binds_thinking(model))
    must = holders(configuration.must_keep, messages) if configuration.must_keep else {}
    return Protection(protected, pins, holds_thinking=not goes, must=must)


def _pin(pin: Predicates, messages: Sequence[Message], count: Counter) -> Predicate:
    """The test of a pin: one that finds a call holds for its result."""
    own = compile_predicates(pin, messages, count)
    if pin.regex is None:
        return own
    rest = compile_predicates(replace(pin, regex=None), messages, count)
    found = meaning([OfText(pin.regex)], messages)
    return lambda message, block: own(message, block) or (found(message, block) and rest(message, block))


def _holds_elements(message: Message) -> bool:
    return message.role is Role.USER and any(
        block.kind is BlockKind.TEXT and is_wrapped(block.text) for block in message.blocks
    )


def _first_request(conversation: Sequence[Message]) -> int | None:
    """The position of the first message that the user typed, or of what the assistant went on from without one.

    That is a command such as `/init`, or the summary that a session continues: all the work that follows was done for
    it, however late the user types something.
    """
    for position, message in enumerate(conversation):
        texts = [block for block in message.blocks if block.kind is BlockKind.TEXT]
        if message.role is not Role.USER or not texts:
            continue
        is_answered = position + 1 < len(conversation) and conversation[position + 1].role is Role.ASSISTANT
        goes_on = (message.is_summary and not message.is_note) or any(is_command(block.text) for block in texts)
        is_asked = not all(block.injected or is_wrapped(block.text) for block in texts)
        if is_asked or (is_answered and goes_on):
            return position
    return None
