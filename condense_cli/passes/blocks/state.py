"""State that is over: lists of todos that a later call replaced. Nothing of them is needed for what comes.

The newest list stays whole, whatever its length. A call that failed, that nobody answered, or of whose answer only a
part is left replaces nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ...core.markers import gaps_in
from ...core.transcript import Block, BlockKey, JsonPath, Message
from ...tokens.counting import Counter
from ...toolcalls import tools
from ...toolcalls.outcomes import results_of
from ...toolcalls.tools import with_values
from ..receipts import Kept
from . import cutting

REPLACED: Final = "a later call replaces this to-do list"
"""Why a list goes, as a receipt says it."""


class TodoList(Struct, frozen=True):
    """Where the arguments of a call hold a list of todos, and whether that `is_over`."""

    path: JsonPath
    is_over: bool

    def holds(self, path: JsonPath) -> bool:
        """Whether the value at a path of the arguments is (a part of) the list."""
        return path[: len(self.path)] == self.path

    def is_left_out_of(self, block: Block) -> bool:
        """Whether the list went, in this run or before."""
        return self.is_over and tools.gap_of(tools.value_of(block, self.path)) is not None


States = Mapping[BlockKey, TodoList]
"""The calls of a conversation that hold a list of todos."""


def states_of(messages: Sequence[Message]) -> States:
    """Every list of todos in the messages, which have to be those of the input: passes cut what tells of failures."""
    calls = [(block, path) for message in messages for block in message.blocks if (path := tools.path_of(block))]
    if not calls:
        return {}
    results = results_of(messages)
    found: dict[BlockKey, TodoList] = {}
    replaced: set[str] = set()
    for block, path in reversed(calls):
        kind = tools.kind_of(block, path)
        found[block.key] = TodoList(path, kind in replaced)
        answer = results.get(id(block))
        if answer and not answer.is_refused and not gaps_in(answer.text) and tools.replaces_all(block):
            replaced.add(kind)
    return found


def leave_out(block: Block, state: TodoList, count: Counter) -> Block | Kept:
    """The call with a marker in place of a list that is over, or why it stays as it is."""
    value = tools.value_of(block, state.path)
    if tools.gap_of(value):
        return Kept.CUT
    new = tools.marked(value, cutting.suppress(tools.text_of(value)))
    if new is None or new == value:
        return Kept.SHORT_VALUES
    written = with_values(block, {state.path: new})
    return Kept.NOT_SMALLER if count(written.content) >= count(block.content) else written
