"""Predicates on blocks: what custom selections and pins are made of."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from ..config.models import Globs, Predicates, Selection
from ..core.markers import Gap, parse_gap, short
from ..core.selectors import searcher
from ..core.tokens import Counter
from ..core.transcript import Block, Message, calls_by_id
from ..core.values import BlockKind, Role
from ..toolcalls.tools import has_failed, reads_a_file
from .meant import meaning

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
    """Turns since each message, those that a summary stands for included."""
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
