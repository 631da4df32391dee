"""Say what fills a transcript, in the shape that the JSON report has. Documented in docs/json-report.md.

Only exact repeats count. Every line is looked at once, so the work grows with the size alone.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, assert_never

import msgspec
from msgspec import Struct

from ... import formats
from ...core import json_text
from ...core.transcript import Block, Message, Source, Transcript, calls_by_id
from ...core.values import BlockKind, Role
from ...core.wording import plural
from ...formats.compacted import Compacted, CompactedStretch, CompactionKind, compactions, stretches
from ...ledger.collect import collect
from ...ledger.compaction import read_back
from ...lossless.decode import decode
from ...tokens.counting import BUILT_IN, Counter, CounterName, Encoding
from ...tokens.factor import Factor
from ...toolcalls.tools import arguments_of, path_argument, string_values
from ...window.decision import UNKNOWN, signs_of, window_size
from ...window.use import RECORDED, InUse, in_use, overhead_of, remarks_on_usage
from ..run.facts import Counting, Slim, estimated_tokens, slim_of
from ..run.shortcomings import of_another
from ..sections import SHAPE, Table
from ..text import BlockShare, MessageShare, TokenShare, ToolShare, block_label, percent, tool_shares
from .savings import ByReferences, References, find_savings

CONTENT: Final = "content of the messages"
MARKUP: Final = "markup of messages and calls"
ESTIMATES: Final = "images, documents, encrypted thinking"
OVERHEAD: Final = "system prompt and tools"
DIFFERENCE: Final = "difference to recorded usage"
ELSEWHERE: Final = "not in the file"


class PartInUse(Struct, frozen=True):
    """Part of the tokens in use; `known` is its source. Negative if recorded usage is less than the other parts
    together.
    """

    name: str
    tokens: int
    percent: float
    known: str


class Parts(Struct, frozen=True):
    """The tokens of the next request, how they are known, and the parts that add up to them."""

    tokens: int
    source: str
    parts: list[PartInUse]


def parts_of(used: InUse, total: int, constants: int, estimated: int, overhead: tuple[int, str]) -> Parts:
    """Split the tokens in use, as the model counts them, into parts. `total` are those of the messages.

    Of them `constants` are for messages and calls besides their content, and `estimated` cannot be counted. `overhead`
    is what every request carries besides, and how that is known.
    """
    tokens, known = overhead
    difference = used.tokens - total - tokens
    parts = [
        (CONTENT, total - constants - estimated, "counted"),
        (MARKUP, constants, "a constant for each"),
        (ESTIMATES, estimated, "estimated"),
        (OVERHEAD, tokens, known),
        (ELSEWHERE if known == UNKNOWN and difference > 0 else DIFFERENCE, difference, RECORDED),
    ]
    shares = [PartInUse(name, tokens, percent(tokens, used.tokens), known) for name, tokens, known in parts if tokens]
    return Parts(used.tokens, used.source, shares)


SHORTEST: Final = 20
"""Shorter lines and blocks (brackets, `return None`, "ok") repeat without meaning anything."""


class RepeatedText(Struct, frozen=True):
    """The repeated text of a block. `first` is the position of an earlier, equal block."""

    message: int
    block: int
    tokens: int
    lines: int
    first: tuple[int, int] | None = None


def find_repeats(transcript: Transcript, count: Counter) -> list[RepeatedText]:
    """Every block that repeats something, in order. Tokens never exceed what the block costs."""
    blocks: dict[tuple[str | None, str, str], tuple[int, int]] = {}
    lines: set[str] = set()
    found: list[RepeatedText] = []
    for message in transcript.messages:
        for number, block in enumerate(message.blocks):
            digest = block.digest if block.kind is BlockKind.IMAGE else ""
            if len(block.text) < SHORTEST and not digest:
                continue
            # Calls are equal when tool and arguments are; results may come from anywhere.
            tool = block.tool if block.kind is BlockKind.TOOL_CALL else None
            first = blocks.setdefault((tool, block.text, digest), (message.index, number))
            if first != (message.index, number):
                size = 0 if digest else block.text.count("\n") + 1
                tokens = block.estimate if digest else count.block(block) - block.estimate
                found.append(RepeatedText(message.index, number, tokens, size, first))
                continue
            runs = list(_repeated_runs(block, lines))
            if runs:
                tokens = min(sum(count("\n".join(run)) for run in runs), count(block.text))
                found.append(RepeatedText(message.index, number, tokens, sum(map(len, runs))))
    return found


def _repeated_runs(block: Block, known: set[str]) -> Iterator[list[str]]:
    """Neighbouring lines of a block that are known already. Its own lines are known from then on."""
    for text in _texts(block):
        run: list[str] = []
        for line in text.split("\n"):
            if len(line.strip()) >= SHORTEST:
                if line in known:
                    run.append(line)
                    continue
                known.add(line)
            if run:
                yield run
                run = []
        if run:
            yield run


def _texts(block: Block) -> list[str]:
    """Return the texts whose lines a model reads; of a call the string values, with real line breaks."""
    if block.kind is BlockKind.TOOL_CALL:
        arguments = arguments_of(block)
        if arguments is not None:
            return [value for _, value in string_values(arguments)]
    return [block.text]


_KIND_NAMES: Final = {
    BlockKind.THINKING: "thinking",
    BlockKind.TOOL_CALL: "tool parameters",
    BlockKind.TOOL_RESULT: "tool results",
    BlockKind.IMAGE: "images",
    BlockKind.OPAQUE: "other data",
}
CONTENT_TYPES: Final = (
    "user text",
    "client text",
    "assistant text",
    "system text",
    "tool parameters",
    "tool results",
    "thinking",
    "images",
    "documents",
    "other data",
)
"""`client text` is text of the client in user messages; `other data` is of kinds that only the API reads."""


class Repeats(msgspec.Struct, frozen=True):
    """Repeated text: tokens in equal blocks, and in equal lines of other blocks.

    `lossless` is what references would save of that, `references` are those that are there.
    """

    tokens: int
    percent: float
    block_tokens: int
    whole_blocks: int
    line_tokens: int
    lines: int
    largest: list[BlockShare]
    lossless: ByReferences
    references: References


class Total(msgspec.Struct, frozen=True):
    """The model's tokens; `bare` are those that were counted, before the factor.

    `constants` is what messages and calls cost besides their content, `estimated` the part that cannot be counted.
    """

    total: int
    constants: int
    estimated: int
    encoding: str
    exact: bool
    overhead: int
    overhead_source: str
    bare: int
    counting: Counting
    counter: CounterName = BUILT_IN


class WindowUse(msgspec.Struct, frozen=True):
    """The model's context window; `percent` of it are in use.

    `source` says how the tokens in use are known, `tokens_source` how the window is.
    """

    tokens: int
    percent: float
    used: int
    source: str
    tokens_source: str


class Inspection(msgspec.Struct, frozen=True):
    version: int
    input: str
    format: str
    model: str | None
    messages: int
    tokens: Total
    window: WindowUse | None
    in_use: Parts
    content_types: list[TokenShare]
    tools: list[ToolShare]
    files: list[TokenShare]
    largest_messages: list[MessageShare]
    largest_blocks: list[BlockShare]
    repeats: Repeats
    bytes: dict[str, int]
    unknown_kinds: dict[str, int]
    slim: Slim
    compactions: list[CompactionFacts]
    warnings: list[str]


def content_type(message: Message, block: Block) -> str:
    """Return the content type of a block, one of CONTENT_TYPES."""
    if block.kind is not BlockKind.TEXT and not block.is_readable:
        return "documents" if block.is_document else _KIND_NAMES[block.kind]
    match message.role:
        case Role.SYSTEM | Role.DEVELOPER:
            return "system text"
        case Role.ASSISTANT:
            return "assistant text"
        case Role.USER | Role.TOOL:
            return "client text" if block.injected else "user text"
        case other:
            assert_never(other)


def inspect(
    transcript: Transcript,
    count: Counter,
    factor: Factor,
    encoding: Encoding,
    *,
    source: str,
    top: int = 10,
    overhead_tokens: int | None = None,
    window: tuple[int | None, str] | None = None,
) -> Inspection:
    """Measure the contents of a transcript. Long lists hold the `top` largest entries; content types are complete.

    `overhead_tokens` are given by the user, `window` is the size and its source, if a profile of the user gives one.
    """
    total = count.transcript(transcript)
    estimated = estimated_tokens(transcript)
    overhead = overhead_of(transcript, count, factor, overhead_tokens)
    used = in_use(transcript, count, factor, overhead_tokens)
    found = _Contents(transcript, count, factor, calls_by_id(transcript.messages), total, top)
    content_types, constants = found.by_content_type()
    size, size_source = window or window_size(transcript.model, signs_of(transcript))
    return Inspection(
        version=SHAPE,
        input=source,
        format=transcript.format,
        model=transcript.model,
        messages=len(transcript.messages),
        tokens=Total(
            factor.shown(total),
            constants,
            factor.shown(estimated),
            encoding.name,
            encoding.exact and not estimated,
            *overhead,
            total,
            Counting.of(factor),
            encoding.counter,
        ),
        window=WindowUse(size, percent(used.tokens, size), used.tokens, used.source, size_source) if size else None,
        in_use=parts_of(used, factor.shown(total), constants, factor.shown(estimated), overhead),
        content_types=content_types,
        tools=found.by_tool()[:top],
        files=found.by_file()[:top],
        largest_messages=found.largest_messages(),
        largest_blocks=found.largest_blocks(),
        repeats=found.repeats(),
        bytes={
            "total": len(transcript.source.data),
            **formats.format_named(transcript.format).beside.sizes(transcript),
        },
        unknown_kinds=dict(transcript.unknown),
        slim=slim_of(formats.slim(transcript, decode(transcript.messages).messages)),
        compactions=compactions_of(transcript, count, factor),
        warnings=[
            *transcript.warnings,
            *remarks_on_usage(transcript, count, factor, overhead_tokens),
            *of_another(encoding),
        ],
    )


class _Contents(Struct, frozen=True):
    """A transcript to take apart: `calls` by their ids, the counted tokens of all messages, and the length of lists."""

    transcript: Transcript
    count: Counter
    factor: Factor
    calls: dict[str, Block]
    total: int
    top: int

    def by_content_type(self) -> tuple[list[TokenShare], int]:
        """Return the content types, and the cost of messages and calls besides their content; both add up."""
        tokens: Tally[str] = Tally()
        blocks: Tally[str] = Tally()
        for message, block in self.transcript.blocks():
            name = content_type(message, block)
            tokens[name] += self.count.content(block)
            blocks[name] += 1
        present = [name for name in CONTENT_TYPES if blocks[name]]
        bare = [tokens[name] for name in present]
        *shown, constants = self.factor.parts([*bare, self.total - sum(bare)])
        shares = zip(present, bare, shown, strict=True)
        return [
            TokenShare(name, size, percent(part, self.total), blocks[name]) for name, part, size in shares
        ], constants

    def by_tool(self) -> list[ToolShare]:
        number: Tally[str] = Tally()
        parameters: Tally[str] = Tally()
        results: Tally[str] = Tally()
        for _, block in self.transcript.blocks():
            if block.kind is BlockKind.TOOL_CALL:
                number[block.tool or ""] += 1
                parameters[block.tool or ""] += self.count.content(block)
            elif block.answers is not None:
                call = self.calls.get(block.answers)
                results[(call.tool if call else block.tool) or ""] += self.count.block(block)

        def shown(sizes: Tally[str]) -> Tally[str]:
            return Tally({name: self.factor.shown(size) for name, size in sizes.items()})

        return tool_shares(number, shown(parameters), shown(results), self.factor.shown(self.total))

    def by_file(self) -> list[TokenShare]:
        path_of = {identifier: path_argument(call) for identifier, call in self.calls.items()}
        tokens: Tally[str] = Tally()
        blocks: Tally[str] = Tally()
        for _, block in self.transcript.blocks():
            # A call whose id is taken already speaks for itself.
            own = block.kind is BlockKind.TOOL_CALL and self.calls.get(block.call_id or "") is not block
            path = path_argument(block) if own else path_of.get(block.call_id or "")
            if path is not None:
                tokens[path] += self.count.content(block)
                blocks[path] += 1
        return [TokenShare(path, *self._shares(size), blocks[path]) for path, size in tokens.most_common()]

    def largest_messages(self) -> list[MessageShare]:
        shares = []
        for message in sorted(self.transcript.messages, key=lambda message: -self.count.message(message))[: self.top]:
            block = max(message.blocks, key=self.count.content, default=None)
            label = block_label(block, self.calls) if block else ""
            tokens = self._shares(self.count.message(message))
            shares.append(MessageShare(message.index, message.role.value, *tokens, len(message.blocks), label))
        return shares

    def largest_blocks(self) -> list[BlockShare]:
        sizes = [
            (self.count.content(block), message, number)
            for message in self.transcript.messages
            for number, block in enumerate(message.blocks)
        ]
        largest = sorted(sizes, key=lambda entry: -entry[0])[: self.top]
        return [self._block(message, number, tokens) for tokens, message, number in largest]

    def _block(self, message: Message, number: int, tokens: int, first: str | None = None) -> BlockShare:
        block = message.blocks[number]
        kind, label = content_type(message, block), block_label(block, self.calls)
        return BlockShare(message.index, number, message.role.value, kind, *self._shares(tokens), label, first)

    def _shares(self, tokens: int) -> tuple[int, float]:
        """Return counted tokens in the model's, and in percent of all."""
        return self.factor.shown(tokens), percent(tokens, self.total)

    def repeats(self) -> Repeats:
        found = find_repeats(self.transcript, self.count)
        whole = [repeat for repeat in found if repeat.first]
        in_part = [repeat for repeat in found if not repeat.first]
        in_blocks, in_lines = sum(repeat.tokens for repeat in whole), sum(repeat.tokens for repeat in in_part)
        by_index = {message.index: message for message in self.transcript.messages}
        largest = []
        for repeat in sorted(found, key=lambda repeat: -repeat.tokens)[: self.top]:
            first = f"{repeat.first[0]}.{repeat.first[1]}" if repeat.first else None
            largest.append(self._block(by_index[repeat.message], repeat.block, repeat.tokens, first))
        lossless, references = find_savings(self.transcript, self.count, self.factor)
        of_blocks, of_lines = self.factor.parts([in_blocks, in_lines])
        return Repeats(
            tokens=of_blocks + of_lines,
            percent=percent(in_blocks + in_lines, self.total),
            block_tokens=of_blocks,
            whole_blocks=len(whole),
            line_tokens=of_lines,
            lines=sum(repeat.lines for repeat in in_part),
            largest=largest,
            lossless=lossless,
            references=references,
        )


class CompactionFacts(Struct, frozen=True):
    """A compaction or a clearing. `by` is condense, or the client with its model; `is_auto` is None if that is not in
    the file, and so are `before` (tokens) and what was lost if the file no longer holds what came before.

    `messages` were replaced, `results` cleared. Of `files` that were read or changed before nothing is named after it.
    """

    kind: str
    time: str | None
    by: str
    is_auto: bool | None
    before: int | None
    after: int | None
    messages: int | None = None
    results: int | None = None
    files: list[str] = []
    is_undone: bool = False


def compactions_of(transcript: Transcript, count: Counter, factor: Factor) -> list[CompactionFacts]:
    """List what the file records, in its order; nothing for formats of which it is not known."""
    found = compactions(transcript.source, transcript.format) or []
    made = [one for one in found if one.kind is not CompactionKind.CLEARED]
    facts = {
        stretch.compacted: _facts(stretch, transcript.source, count, factor) for stretch in stretches(transcript, made)
    }
    return [facts.get(one) or _cleared(one, transcript.source) for one in found]


def _facts(stretch: CompactedStretch, source: Source, count: Counter, factor: Factor) -> CompactionFacts:
    one, before = stretch.compacted, stretch.before
    texts = [block.text for message in stretch.after for block in message.blocks]
    said = one.said_before or (factor.shown(sum(map(count.message, before.messages))) if before else None)
    return CompactionFacts(
        one.kind.value,
        _time(source, one),
        "condense" if any(map(read_back, texts)) else "client",
        one.is_auto,
        said,
        None if stretch.is_undone else factor.shown(sum(map(count.message, stretch.after))),
        messages=len(before.messages) if before else None,
        files=[] if stretch.is_undone or before is None else [*_lost(before.messages, "\n".join(texts))],
        is_undone=stretch.is_undone,
    )


def _lost(before: tuple[Message, ...], after: str) -> Iterator[str]:
    ledger = collect(before)
    for entry in (*ledger.changed, *ledger.read):
        if entry.path.replace("\\", "/").rpartition("/")[2] not in after:
            yield entry.path


def _cleared(one: Compacted, source: Source) -> CompactionFacts:
    results = len(one.cleared) or None
    return CompactionFacts(
        one.kind.value, _time(source, one), "client", one.is_auto, one.said_before or None, None, results=results
    )


def _time(source: Source, one: Compacted) -> str | None:
    """Return the time of the first record that the client wrote for it, as it is in the file or by ISO 8601."""
    record = one.wrote.start
    value: Any = None if record in source.unparsed else json_text.parse(source.raw(record))
    if not isinstance(value, dict):
        return None
    time = value.get("timestamp", value.get("time", value.get("ts")))
    info = value.get("info")
    if time is None and isinstance(info, dict) and isinstance(info.get("time"), dict):
        time = info["time"].get("created")
    if isinstance(time, str):
        return time
    if isinstance(time, int | float) and 1e12 < time < 1e13:  # Milliseconds.
        return datetime.fromtimestamp(time / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return None


def compactions_table(found: list[CompactionFacts]) -> Table:
    return Table(
        ("compaction", "when", "by", "before", "after", "lost"), [[*_row(each)] for each in found], (3, 4), flexible=5
    )


def _row(one: CompactionFacts) -> Iterator[str]:
    yield one.kind
    yield one.time[:16].replace("T", " ") if one.time else ""
    asked = {True: ", auto", False: ", manual", None: ""}[one.is_auto]
    yield f"{one.by}{asked}"
    for tokens in (one.before, one.after):
        yield "" if tokens is None else f"{tokens:,}"
    if one.is_undone:
        yield "taken back"
    elif one.kind == CompactionKind.CLEARED:
        yield plural(one.results, "result") if one.results else "old results"
    elif one.messages is None:
        yield "what came before is not in the file"
    else:
        yield f"{plural(one.messages, 'message')}, {plural(len(one.files), 'file')}"
