"""What a person may mean at a place of the conversation, as selectors of `--keep` and `--cut`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final

from msgspec import Struct

from ..core.exchanges import calls_by_id
from ..core.plurals import plural
from ..core.transcript import Block, BlockKind, Message
from ..passes.selection import Address, meant
from ..toolcalls.tools import paths

_MOST_FILES: Final = 5
_WILD: Final = re.compile(r"[*?[]")


class Meant(Struct, frozen=True):
    """One way to name what is at a place: the key to press, the selector, and what it means."""

    key: str
    selector: str
    label: str


class Places:
    """The places of one conversation."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _by_index(self) -> Mapping[int, Message]:
        return {message.index: message for message in self._messages}

    @cached_property
    def _calls(self) -> Mapping[str, Block]:
        return calls_by_id(self._messages)

    def own(self, index: int, number: int | None) -> str:
        """The selector of a message, or of one of its blocks; empty where the conversation has none there."""
        message = self._by_index.get(index)
        if message is None or (number is not None and number >= len(message.blocks)):
            return ""
        return str(index) if number is None else f"{index}.{number}"

    def meanings(self, index: int, number: int | None) -> list[Meant]:
        """What may be meant at a message, or at one of its blocks: itself first."""
        own = self.own(index, number)
        if not own:
            return []
        blocks = self._by_index[index].blocks
        here = blocks if number is None else blocks[number : number + 1]
        found = [Meant("b", own, "this block")] if number is not None else []
        found.append(Meant("m", str(index), f"this message ({plural(len(blocks), 'block')})"))
        calls = [call for block in here if (call := self._call(block)) is not None]
        tools = dict.fromkeys(call.tool for call in calls if call.tool)
        files = dict.fromkeys(path for call in calls for path in paths(call))
        for kind, names in (("tool", list(tools)), ("file", list(files)[:_MOST_FILES])):
            for place, name in enumerate(names):
                selector = f"{kind}:{_literal(name)}"
                key = kind[0] if not place else ""
                found.append(Meant(key, selector, f"{kind} {name} ({self._size(selector)})"))
        if index > self._messages[0].index:
            found.append(Meant("h", f":{index}", f"everything before here ({self._size(f':{index}')})"))
        return found

    def marks(self, selectors: Sequence[str]) -> frozenset[Address]:
        """The blocks that any of the selectors means."""
        return meant(selectors, self._messages)

    def _call(self, block: Block) -> Block | None:
        return block if block.kind is BlockKind.TOOL_CALL else self._calls.get(block.answers or "")

    def _size(self, selector: str) -> str:
        return plural(len(meant([selector], self._messages)), "block")


def _literal(name: str) -> str:
    """A glob that matches this name alone."""
    return _WILD.sub(lambda match: f"[{match.group()}]", name)
