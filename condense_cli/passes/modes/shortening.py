"""The texts that a pass in mode extract may shorten, and what became of their blocks.

A block is never larger than it was, and what was cut once is recognised by its markers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from ...config.models import ExtractConfig
from ...core.markers import gaps_in
from ...core.transcript import Block, BlockPlace, JsonPath
from ...core.values import BlockKind, ContentType, Text
from ...tokens.counting import Counter
from ...toolcalls.files_at_work import texts_at_work
from ...toolcalls.tools import arguments_of, is_emptied, string_values, with_values
from ..blocks.operations import long_values
from ..blocks.state import REPLACED, TodoList, leave_out
from ..receipts import EMPTY, EXTRACT, Kept, Receipt, changed, kept
from ..selection import why_untouched
from ..sheet import Sheet, Step

if TYPE_CHECKING:
    from ...extractive.parts import Key


class Shortening:
    """The texts of a sheet that a pass may shorten, by block; all other blocks stay anyhow.

    `fixed` are units of such texts that stay: the user's own words, or where `most_words` is given, those of texts in
    which they have at most so many tokens. With `keeps_work`, texts that show files at work stay whole, as long as they
    take little of the target.
    """

    def __init__(self, sheet: Sheet, step: Step, *, keeps_work: bool = True, most_words: int | None = None) -> None:
        # With the extraction: only where something may be shortened.
        from ...extractive.answers import own_units
        from ...extractive.corrections import outdated_texts

        self._sheet, self._id, self._step, self._selected = sheet, step.config.id, step, step.selected
        self._untouched = sheet.saved()
        self._put: dict[BlockPlace, Block] = {}
        self._over: dict[BlockPlace, Block] = {}
        """Calls without their lists of todos, which later calls replaced: those are worth nothing, and go first."""
        self._stay: list[Receipt] = []
        self.keys: dict[BlockPlace, list[Key]] = {}
        self.fixed: dict[Key, tuple[int, ...]] = {}
        self.held: set[BlockPlace] = set()
        """Blocks that stay in their place: what nothing may touch, the newest state, and words of the user."""
        own = {} if most_words == 0 else own_units(sheet.messages, sheet.count)
        if step.target is not None:
            own |= dict.fromkeys(outdated_texts(sheet.messages), ())
        extraction = step.config.extract_config or ExtractConfig()
        for position, message in enumerate(sheet.messages):
            for number, block in enumerate(message.blocks):
                must = self._lines_to_keep(block)
                why = why_untouched(
                    position, message, block, step.selected, sheet.protection, by_lines=must is not None
                )
                paths = why or self._paths((position, number), block, extraction)
                words = own.get((position, number), ())
                if most_words is not None and _own_tokens(block, words, sheet.count) > most_words:
                    words = ()
                if words is None and not isinstance(paths, Kept):
                    paths = Kept.WORDS
                elif words or must:
                    words = self.fixed[position, number, ()] = tuple(sorted({*(words or ()), *(must or ())}))
                if why or words or paths in _HELD:
                    self.held.add((position, number))
                if isinstance(paths, Kept):
                    self._stay.append(kept(self._id, message, number, sheet.count.block(block), paths))
                else:
                    self.keys[position, number] = [(position, number, path) for path in paths]
        # Live, which does not settle, spares files at work in its own way.
        self.work_tokens = self._keep_work() if keeps_work and step.settles else 0
        """Tokens of texts that stay whole because they show files at work."""
        for place, block in self._over.items():
            sheet.put(*place, block)
        self._before = sheet.saved()

    def _keep_work(self) -> int:
        """Let texts that show files at work stay whole, the newest first, while they fit; return their tokens.

        Without a target a few fit: a share of all tokens would be another one in the next run.
        """
        sheet, target, held = self._sheet, self._step.target, 0
        most = _WORK_TOKENS if target is None else min(_FOR_WORK * target, target - _TIGHT * sheet.plain_tokens)
        places = texts_at_work(sheet.messages, self._selected.end)
        for place in places[:_WORKS] if target is None else places:
            message = sheet.messages[place[0]]
            tokens = sheet.count.block(message.blocks[place[1]])
            fits = tokens <= most if target is None else held + tokens <= most
            if self.keys.get(place) and place not in self._over and fits:
                held += tokens
                del self.keys[place]
                self.held.add(place)
                self._stay.append(kept(self._id, message, place[1], tokens, Kept.AT_WORK))
        return held

    def _lines_to_keep(self, block: Block) -> tuple[int, ...] | None:
        """The units of a text with strings that must be kept; None where it stays whole for them, or has none."""
        from ...extractive.units import split

        strings = self._sheet.protection.must.get(block.key)
        # Units of a talk without calls are sentences, and those of a call's arguments are several texts.
        if strings is None or block.kind is not BlockKind.TOOL_RESULT:
            return None
        texts = split(block.text).texts
        found = [next((unit for unit, text in enumerate(texts) if string in text), None) for string in strings]
        return None if None in found else tuple(unit for unit in found if unit is not None)

    def _paths(self, place: BlockPlace, block: Block, extraction: ExtractConfig) -> Kept | list[JsonPath]:
        """Return the places of the texts in the block that the pass may shorten, or why the block stays."""
        state = self._sheet.state_of(block)
        paths = _paths(block, extraction, self._sheet.count, state)
        if state is None or paths in _NOT_FOR_IT:
            return paths
        left = leave_out(block, state, self._sheet.count) if state.is_over else Kept.NEWEST_STATE
        if isinstance(left, Block):
            self._over[place] = left
            return [] if isinstance(paths, Kept) else paths
        return left if paths is Kept.SHORT_VALUES else paths

    @property
    def has_left_out(self) -> bool:
        """Whether state that is over went already."""
        return bool(self._over)

    @property
    def recent_turns(self) -> int:
        """How many of the newest turns stay."""
        return self._selected.preserved_turns or 0

    @property
    def recent_tokens(self) -> int:
        """Tokens of the turns that stay because they are new, without what stays only because they answer it."""
        turns = [message for message in self._before.messages if not message.is_only_thinking]
        return sum(map(self._sheet.count.message, turns[max(0, len(turns) - self.recent_turns) :]))

    def put(self, texts: Mapping[Key, Text]) -> bool:
        """Put texts into the sheet, where that makes their blocks smaller; whether it did so anywhere."""
        sheet, messages, has_put = self._sheet, self._sheet.messages, False
        for (position, number), keys in self.keys.items():
            block = messages[position].blocks[number]
            new = _rewritten(block, {key[2]: texts[key] for key in keys if key in texts})
            tokens = sheet.count.block(new)
            if tokens < sheet.count.block(block):
                sheet.put(position, number, new)
                self._put[position, number] = new
                has_put = True
        return has_put

    def undo(self) -> None:
        """The sheet as it was before any `put`, but for what is written, which its next `write` works out."""
        self._sheet.restore(self._before)
        self._put.clear()

    def leave(self) -> None:
        """The sheet as it was before the pass, as `undo` has it."""
        self.undo()
        self._over.clear()
        self._sheet.restore(self._untouched)

    def receipts(self, why: Kept) -> list[Receipt]:
        """Receipts for all blocks; `why` those stay whose texts were not put."""
        receipts = self._stay.copy()
        for position, number in self.keys:
            message = self._untouched.messages[position]
            old = message.blocks[number]
            tokens = self._sheet.count.block(old)
            over = self._over.get((position, number))
            new = self._put.get((position, number), over)
            if new is None:
                receipts.append(kept(self._id, message, number, tokens, why))
            else:
                after = self._sheet.count.block(new)
                reason = REPLACED if over else self._step.why(new, _LINES)
                operation = EMPTY if is_emptied(old, new) else EXTRACT
                receipts.append(changed(self._id, message, number, operation, tokens, after, reason))
        return receipts


def _own_tokens(block: Block, words: tuple[int, ...] | None, count: Counter) -> int:
    """Tokens of the user's own words in a text: the units of it that are, or all of it."""
    from ...extractive.units import split

    if words is None:
        return count.block(block)
    texts = split(block.text).texts if words else ()
    return count("\n".join(texts[unit] for unit in words))


_FOR_WORK: Final = 0.1
"""Share of the target that texts of files at work may take whole."""
_TIGHT: Final = 0.45
"""Targets of a smaller share of the tokens have no room for whole files."""

_WORKS: Final = 4
_WORK_TOKENS: Final = 4_000
"""Without a target, so many texts of files at work stay whole, each with at most so many tokens."""

_LINES: Final = "its lines stay that later work needs"

_HELD: Final = (Kept.WORDS, Kept.NEWEST_STATE, Kept.CONFIGURED)
_NOT_FOR_IT: Final = (Kept.NO_CONTENT_TYPE, Kept.CONFIGURED, Kept.SMALL, Kept.NOT_AN_OBJECT)


def _paths(block: Block, extraction: ExtractConfig, count: Counter, state: TodoList | None) -> Kept | list[JsonPath]:
    """Return the places of the texts in the block that the pass may shorten, or why there are none.

    They are the long values in the arguments of a call; any other block is one text.
    """
    if block.content_type in (None, ContentType.IMAGES) or not block.text:
        return Kept.NO_CONTENT_TYPE
    if block.content_type.value not in extraction.content:
        return Kept.CONFIGURED
    if count.content(block) < extraction.min_tokens:
        return Kept.SMALL
    if block.kind is not BlockKind.TOOL_CALL:
        texts: Iterable[tuple[JsonPath, str]] = [((), block.text)]
    elif arguments_of(block) is None:
        return Kept.NOT_AN_OBJECT
    else:
        texts = [*long_values(block, count, state)]
    if not texts:
        return Kept.SHORT_VALUES
    if extraction.min_worth is not None:  # What is left of a text that was cut was worth more then.
        texts = [(path, text) for path, text in texts if not gaps_in(text)]
    return [path for path, _ in texts] or Kept.CUT


def _rewritten(block: Block, texts: Mapping[JsonPath, Text]) -> Block:
    if not texts:
        return block
    if block.kind is not BlockKind.TOOL_CALL:
        return block if texts[()] is block.content else block.with_text(texts[()])
    old = dict(string_values(arguments_of(block)))
    edits = {path: text for path, text in zip(texts, map(str, texts.values()), strict=True) if text != old[path]}
    return with_values(block, edits) if edits else block
