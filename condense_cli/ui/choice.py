"""Choices of the user: a configuration, a target, selectors to keep or cut, and their history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.loading import Loaded, Presets, parse_with_positions, read_text
from ..config.models import Configuration
from ..config.preset_folders import DEFAULT_PRESET
from ..config.yaml_editing import ConfigurationDocument
from ..core.transcript import Block, BlockPlace, Message, calls_by_id
from ..core.values import BlockKind
from ..core.wording import count_in, plural
from ..errors import UsageError
from ..passes.selection import meant
from ..toolcalls.tools import paths

_PERCENT: Final = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.ASCII)


class UserChoice(Struct, frozen=True):
    """A configuration, a target, and selectors to keep or cut.

    `name` is a preset, or the name of the configuration in `text`. Tokens are the model's.
    """

    name: str
    text: str = ""
    target_tokens: int | None = None
    target_percent: float | None = None
    keep: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()

    @property
    def target(self) -> str:
        """The target as the user types it; empty without one."""
        if self.target_tokens is not None:
            return f"{self.target_tokens:,}"
        return "" if self.target_percent is None else f"{self.target_percent:g}%"

    def with_target(self, typed: str) -> UserChoice:
        """Set the target: `60000`, `60k`, `40%`, or nothing for none. Raises UsageError."""
        typed = typed.strip()
        percent = _PERCENT.fullmatch(typed)
        if not typed or percent:
            share = float(percent[1]) if percent else None
            if share is not None and not 0 < share < 100:
                raise UsageError(f"{typed} is not between 0% and 100%.")
            return replace(self, target_tokens=None, target_percent=share)
        tokens = count_in(typed)
        if not tokens:
            raise UsageError(f"{typed!r} is not a target.", "Write 60000, 60k or 40%, or nothing for no target.")
        return replace(self, target_tokens=tokens, target_percent=None)

    def keeping(self, selector: str) -> UserChoice:
        """Add a selector to what is kept and drop it from what is cut, or remove it if it was kept."""
        return self._toggled(selector, "keep", "cut")

    def cutting(self, selector: str) -> UserChoice:
        """Add a selector to what is cut and drop it from what is kept, or remove it if it was cut."""
        return self._toggled(selector, "cut", "keep")

    def cycled(self, selector: str) -> UserChoice:
        """Turn a selector from unset to kept, to cut, and back."""
        if selector in self.keep:
            return self.cutting(selector)
        return self.cutting(selector) if selector in self.cut else self.keeping(selector)

    def _toggled(self, selector: str, to: str, other: str) -> UserChoice:
        without = {name: tuple(each for each in getattr(self, name) if each != selector) for name in (to, other)}
        if selector not in getattr(self, to):
            without[to] += (selector,)
        return replace(self, **without)


class TakenStep(Struct, frozen=True):
    """A choice and the step to it. `take_back` undoes what was written and returns a sentence; it may raise."""

    choice: UserChoice
    said: str = ""
    take_back: Callable[[], str] | None = None


class ChoiceHistory:
    """Steps up to the current one, and those that were undone."""

    def __init__(self, choice: UserChoice) -> None:
        self._steps = [TakenStep(choice)]
        self._undone: list[TakenStep] = []

    @property
    def choice(self) -> UserChoice:
        return self._steps[-1].choice

    @property
    def is_unwritten(self) -> bool:
        """True if the current choice was not written."""
        return len(self._steps) > 1 and self._steps[-1].take_back is None

    def do(self, choice: UserChoice, said: str) -> bool:
        """Take a step; return False if it changes nothing."""
        if choice == self.choice:
            return False
        self._steps.append(TakenStep(choice, said))
        self._undone.clear()
        return True

    def wrote(self, said: str, take_back: Callable[[], str]) -> None:
        """Note that something was written, as a step of its own."""
        self._steps.append(TakenStep(self.choice, said, take_back))
        self._undone.clear()

    def undo(self) -> str:
        """Undo the last step and describe it; empty if there is none. Raises what its `take_back` does."""
        if len(self._steps) == 1:
            return ""
        last = self._steps[-1]
        said = last.take_back() if last.take_back else f"Undone: {last.said}"
        self._steps.pop()
        if last.take_back is None:  # Redo never writes again.
            self._undone.append(last)
        return said

    def redo(self) -> str:
        """Redo the step that was undone last and describe it; empty if there is none."""
        if not self._undone:
            return ""
        self._steps.append(self._undone.pop())
        return f"Done again: {self._steps[-1].said}"


class Configurations:
    """Presets of some folders with the text of their files, and the names that a configuration may mention."""

    def __init__(self, presets: Presets, providers: Sequence[str] = (), profiles: Sequence[str] = ()) -> None:
        self._presets = presets
        self._providers, self._profiles = tuple(providers), tuple(profiles)

    def known(self, key: str) -> tuple[str, ...]:
        """List the allowed names for a key's value; empty if any text is allowed."""
        match key:
            case "preset":
                return tuple(self.names())
            case "provider":
                return self._providers
            case "profile" | "api_profile":
                return self._profiles
            case _:
                return ()

    def start(self, preset: str | None, usual: str = DEFAULT_PRESET) -> UserChoice:
        """Return the first choice: a preset by name, or the configuration in a file. Raises ConfigurationError."""
        name = preset or usual
        if name in self.names():
            return UserChoice(name)
        path = self._presets.find(name)
        choice = UserChoice(str(path), read_text(path))
        self.of(choice)
        return choice

    def names(self) -> list[str]:
        return self._presets.names()

    def of(self, choice: UserChoice) -> Configuration:
        """Load the configuration of a choice. Raises ConfigurationError."""
        return self.of_text(choice.text, choice.name) if choice.text else self._presets.load(choice.name)

    def of_text(self, text: str, name: str) -> Configuration:
        """Parse a configuration; a path to its preset is relative to the current folder. Raises
        ConfigurationError."""
        return self.loaded(text, name).configuration

    def loaded(self, text: str, name: str) -> Loaded:
        """Parse a configuration, with the origins of its values. Raises ConfigurationError."""
        return parse_with_positions(text, name, Path(), self._presets)

    def text_of(self, choice: UserChoice) -> str:
        """Return the text of a choice's configuration, to edit. Raises ConfigurationError."""
        return choice.text or read_text(self._presets.find(choice.name))


def configuration_text(configurations: Configurations, choice: UserChoice) -> str:
    """Write a choice as a configuration. Raises ConfigurationError."""
    is_preset = not choice.text and choice.name in configurations.names()
    document = ConfigurationDocument(f"preset: {choice.name}\n" if is_preset else configurations.text_of(choice))
    for key, selectors in (("keep", choice.keep), ("cut", choice.cut)):
        if selectors:
            known = document.value.get(key) or []
            document = document.with_value((key,), list(dict.fromkeys([*known, *selectors])))
    if choice.target:
        document = document.without(("target_tokens",)).without(("target_reduction_percent",))
        if choice.target_tokens is not None:
            document = document.with_value(("target_tokens",), choice.target_tokens)
        elif choice.target_percent is not None:
            document = document.with_value(("target_reduction_percent",), round(100 - choice.target_percent, 6))
    configurations.of_text(document.text, "configuration")
    return document.text


_MOST_FILES: Final = 5
_WILD: Final = re.compile(r"[*?[]")


class SelectorChoice(Struct, frozen=True):
    """A way to select what is at a place: its key, its selector, and a label."""

    key: str
    selector: str
    label: str


class Places:
    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _by_index(self) -> Mapping[int, Message]:
        return {message.index: message for message in self._messages}

    @cached_property
    def _calls(self) -> Mapping[str, Block]:
        return calls_by_id(self._messages)

    def own(self, index: int, number: int | None) -> str:
        """Return the selector of a message or block; empty if the conversation does not have it."""
        message = self._by_index.get(index)
        if message is None or (number is not None and number >= len(message.blocks)):
            return ""
        return str(index) if number is None else f"{index}.{number}"

    def meanings(self, index: int, number: int | None) -> list[SelectorChoice]:
        """List the ways to select at a message or block, itself first."""
        own = self.own(index, number)
        if not own:
            return []
        blocks = self._by_index[index].blocks
        here = blocks if number is None else blocks[number : number + 1]
        found = [SelectorChoice("b", own, "this block")] if number is not None else []
        found.append(SelectorChoice("m", str(index), f"this message ({plural(len(blocks), 'block')})"))
        calls = [call for block in here if (call := self._call(block)) is not None]
        tools = dict.fromkeys(call.tool for call in calls if call.tool)
        files = dict.fromkeys(path for call in calls for path in paths(call))
        for kind, names in (("tool", list(tools)), ("file", list(files)[:_MOST_FILES])):
            for place, name in enumerate(names):
                selector = f"{kind}:{_literal(name)}"
                key = kind[0] if not place else ""
                found.append(SelectorChoice(key, selector, f"{kind} {name} ({self._size(selector)})"))
        if index > self._messages[0].index:
            found.append(SelectorChoice("h", f":{index}", f"everything before here ({self._size(f':{index}')})"))
        return found

    def marks(self, selectors: Sequence[str]) -> frozenset[BlockPlace]:
        """Return the blocks that any of the selectors matches."""
        return meant(selectors, self._messages)

    def _call(self, block: Block) -> Block | None:
        return block if block.kind is BlockKind.TOOL_CALL else self._calls.get(block.answers or "")

    def _size(self, selector: str) -> str:
        return plural(len(meant([selector], self._messages)), "block")


def _literal(name: str) -> str:
    """Return a glob that matches this name alone."""
    return _WILD.sub(lambda match: f"[{match.group()}]", name)
