"""Make turns of the lines of a Claude Code session, as the client sends them, with the usage that it records.

Lines of one `message.id` are one assistant turn, neighbouring user lines are one user turn. Some lines are never sent:
those without a counterpart (results without a call, calls that had no result when the user went on) and those that say
nothing (blank texts, thinking that nothing follows or that another model wrote). They stay in the file. The client also
puts the calls of a reply behind its texts; here they are in the order of the file.

A compaction keeps lines whose usage counted everything that was before them then: the client leaves them in front of
the boundary; behind a summary of ours are copies, which keep their times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core.json_text import object_in, value_in
from ...core.transcript import Block, FirstRequest, Message
from ...core.values import BlockKind, Role, Usage
from ..engine.base import INPUT_TOKENS, SignsReader, lives_hour, recorded
from .records import Node

_NO_CONTENT: Final = frozenset({"", "(no content)"})
"""Texts that the client writes if a model answered with nothing."""


class TurnLine(Struct, frozen=True):
    """A record with its blocks, which `model` wrote."""

    node: Node
    blocks: tuple[Block, ...]
    model: str | None = None


class SentTurn(Struct, frozen=True):
    """A message as the client sends it: its blocks in order, and their records."""

    role: Role
    blocks: tuple[Block, ...]
    records: tuple[int, ...]


class SentConversation(Struct, frozen=True):
    """The turns, and the number of calls and results that are left out because they have no counterpart."""

    turns: tuple[SentTurn, ...]
    open_calls: int
    stray_results: int


def conversation(lines: Sequence[TurnLine], model: str | None = None) -> SentConversation:
    """Return the conversation as the client sends it to `model`, or to an unknown one."""
    sent = _without_open_calls(lines)
    turns = _grouped(_saying_something(_understood(sent, model)))
    paired = _neighbours_joined(_without_strays(turns))
    open_calls = sum(len(line.node.calls) for line in lines) - sum(len(line.node.calls) for line in sent)
    return SentConversation(paired, open_calls, _results(turns) - _results(paired))


def _without_open_calls(lines: Sequence[TurnLine]) -> list[TurnLine]:
    """Remove calls that were never answered, except in the turn that the session ends with.

    The client answers those itself: it tells the model that the session ended before their result came.
    """
    answered = {call for line in lines for call in line.node.answers}
    words = (n for n, line in enumerate(lines) if line.node.kind == "user" and not line.node.answers)
    last_word = max(words, default=-1)
    return [
        line
        for n, line in enumerate(lines)
        if n > last_word or not line.node.calls or not answered.isdisjoint(line.node.calls)
    ]


def _understood(lines: Iterable[TurnLine], model: str | None) -> Iterator[TurnLine]:
    """Remove the thinking of other models, which only the model that wrote it can read."""
    for line in lines:
        if line.node.kind == "assistant" and model and line.model != model:
            yield replace(line, blocks=tuple(block for block in line.blocks if block.kind is not BlockKind.THINKING))
        else:
            yield line


def _saying_something(lines: Iterable[TurnLine]) -> list[TurnLine]:
    """Remove blank texts of the assistant, and replies of nothing but thinking."""
    kept = []
    telling: set[str | None] = set()
    for line in lines:
        if line.node.kind == "assistant":
            said = [block for block in line.blocks if not _is_blank(block)]
            if len(said) < len(line.blocks):
                line = replace(line, blocks=tuple(said))
            if any(block.kind is not BlockKind.THINKING for block in said):
                telling.add(_reply(line.node))
        kept.append(line)
    return [line for line in kept if line.blocks and (line.node.kind != "assistant" or _reply(line.node) in telling)]


def _is_blank(block: Block) -> bool:
    return block.kind is BlockKind.TEXT and block.text.strip() in _NO_CONTENT


def _reply(node: Node) -> str:
    """Return the id that lines of one assistant message share; a line without a message id is one of its own."""
    return node.reply_id or node.uuid


def _grouped(lines: Iterable[TurnLine]) -> list[SentTurn]:
    """Group lines as the client does. A reply goes on if only results came between its lines."""
    turns: list[tuple[Role, list[TurnLine]]] = []
    turn_of_reply: dict[str, int] = {}
    closed_before = 0
    for line in lines:
        if line.node.kind != "assistant":
            if turns and turns[-1][0] is Role.USER and not _is_summary(line.blocks, turns[-1][1][-1].blocks):
                turns[-1][1].append(line)
            else:
                turns.append((Role.USER, [line]))
            continue
        if turns and turns[-1][0] is Role.USER and _ends_a_reply(turns[-1][1]):
            closed_before = len(turns)
        earlier = turn_of_reply.get(_reply(line.node), -1)
        if earlier >= closed_before:
            turns[earlier][1].append(line)
        else:
            turn_of_reply[_reply(line.node)] = len(turns)
            turns.append((Role.ASSISTANT, [line]))
    return [_turn(role, lines) for role, lines in turns]


def _ends_a_reply(lines: Sequence[TurnLine]) -> bool:
    """Return whether these lines of the user end the reply before them. What a hook said at a call does not."""
    is_said = any(line.node.kind != "attachment" for line in lines)
    return is_said and not any(line.node.answers for line in lines)


def _turn(role: Role, lines: Sequence[TurnLine]) -> SentTurn:
    blocks = [block for line in lines for block in line.blocks]
    if role is Role.USER and len(lines) > 1:
        blocks.sort(key=lambda block: block.answers is None)
    return SentTurn(role, tuple(blocks), tuple(line.node.record for line in lines))


def _without_strays(turns: Iterable[SentTurn]) -> list[SentTurn]:
    """Remove results that answer no call of the turn before, or one that is answered already.

    A result gets the tool of that call: in the file another call of its id may be before it, or its own behind it.
    """
    kept = []
    calls: dict[str | None, str | None] = {}
    for turn in turns:
        if turn.role is Role.ASSISTANT:
            calls = {block.call_id: block.tool for block in turn.blocks if block.kind is BlockKind.TOOL_CALL}
            kept.append(turn)
            continue
        first: dict[str, tuple[int, object]] = {}
        for block in turn.blocks:
            if block.answers in calls:
                first.setdefault(str(block.answers), (block.place.record, block.owner))
        blocks = tuple(
            replace(block, tool=calls[block.answers]) if block.answers and block.tool != calls[block.answers] else block
            for block in turn.blocks
            if not block.answers or first.get(block.answers) == (block.place.record, block.owner)
        )
        if blocks:
            kept.append(SentTurn(turn.role, blocks, turn.records))
        calls = {}
    return kept


def _neighbours_joined(turns: Iterable[SentTurn]) -> tuple[SentTurn, ...]:
    """Join neighbours of one role, as the API does, except behind calls.

    There the client first tells the model that their results are missing.
    """
    joined: list[SentTurn] = []
    for turn in turns:
        is_alike = bool(joined) and joined[-1].role is turn.role
        calls = is_alike and any(block.kind is BlockKind.TOOL_CALL for block in joined[-1].blocks)
        if is_alike and not (calls or _is_summary(turn.blocks, joined[-1].blocks)):
            last = joined.pop()
            turn = SentTurn(turn.role, last.blocks + turn.blocks, last.records + turn.records)
        joined.append(turn)
    return tuple(joined)


def _is_summary(*neighbours: tuple[Block, ...]) -> bool:
    """Return whether one of two neighbours is a summary, which stays a turn of its own here."""
    return any(block.summarizes for blocks in neighbours for block in blocks)


def _results(turns: Iterable[SentTurn]) -> int:
    found: dict[int, set[object]] = defaultdict(set)
    for turn in turns:
        for block in turn.blocks:
            if block.answers:
                found[block.place.record].add(block.owner)
    return sum(map(len, found.values()))


class Told(Struct, frozen=True):
    """What a record of an answer tells besides its blocks: the model that wrote it, and the usage of its request."""

    model: Any = None
    usage: Usage | None = None


def told_by(message: Any) -> Told:
    """Return what a record with this `message` tells."""
    model, usage = value_in(message, "model"), object_in(message, "usage")
    numbers = [usage.get(key) for key in INPUT_TOKENS]
    found = recorded(0, numbers, usage.get("output_tokens"), model=model, lives_hour=lives_hour(usage))
    return Told(model, next(found, None))


def usages(turns: Sequence[SentTurn], chain: Sequence[Node], told: Mapping[int, Told]) -> Iterator[Usage]:
    """Yield the usage of each request that a turn answers. The last line of an answer knows how long it got."""
    boundary = next((node for node in reversed(chain) if node.is_boundary), None)
    nodes = {node.record: node for node in chain}
    for position, turn in enumerate(turns):
        for record in reversed(turn.records):
            if record in told and (usage := told[record].usage):
                yield replace(usage, message=position, is_older=_is_older(nodes[record], boundary))
                break


def _is_older(node: Node, boundary: Node | None) -> bool:
    return boundary is not None and (node.record < boundary.record or node.time <= boundary.time)


def note_signs(signs: SignsReader, value: Mapping[str, Any], told: Told | None) -> None:
    """Note what a record shows of the window. Sub-agents may have another one than the conversation."""
    if value.get("isSidechain") is True:
        return
    if value.get("subtype") == "compact_boundary":
        metadata = value.get("compactMetadata")
        if isinstance(metadata, Mapping) and metadata.get("trigger") == "auto":
            signs.compacted(metadata.get("preTokens"))
    if told and (usage := told.usage):
        signs.used(usage.model, usage.input_tokens, usage.output_tokens)


def first_request(
    nodes: Iterable[Node], blocks: Mapping[int, tuple[Block, ...]], told: Mapping[int, Told]
) -> FirstRequest | None:
    """Return the first request whose usage was recorded: the messages that lead to its answer, and its tokens.

    None if the file does not hold all of these messages.
    """
    above: dict[str | None, Node] = {}
    for node in nodes:
        found = told[node.record].usage if node.record in told else None
        if found:
            root = node
            path: dict[str, Node] = {}
            at = above.get(node.parent)
            while at is not None and at.uuid not in path:
                path[at.uuid] = root = at
                at = above.get(at.parent)
            if root.parent is not None:
                return None  # What it continues is not in the file.
            turns = conversation([TurnLine(each, blocks[each.record]) for each in reversed(path.values())]).turns
            messages = tuple(Message(index, turn.role, turn.blocks) for index, turn in enumerate(turns))
            return FirstRequest(messages, found.input_tokens)
        above[node.uuid] = node
    return None
