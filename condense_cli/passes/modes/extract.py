"""A pass in mode extract: what it selects is shortened together, and the lines stay that later work needs most.

It works to the target, or, with a `min_worth`, leaves out all that is worth less. Where it may summarize, the oldest
messages become one summary with lines of theirs, as far as more of what later work needs stays that way: a text in its
place costs its marker and the frame of its message, however little of it is left.

The user's own words are cut last, once all else is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final, assert_never

from msgspec.structs import replace

from ...config.models import ExtractConfig
from ...core.transcript import BlockPlace
from ...core.values import Text
from ..receipts import Kept, Receipt
from ..selection import compile_predicates
from ..sheet import Sheet, Step
from .approach import approach
from .shortening import Shortening

if TYPE_CHECKING:
    from ...extractive.parts import Key
    from ...extractive.shorten import Shortened
    from .division import Division
    from .head_summary import HeadSummary
    from .notes import Exchange

    Worths = Callable[[Key], float]

_LEAST: Final = 6
"""Fewer tokens than any marker has."""

_LITTLE: Final = 600
"""An exchange of which fewer tokens are left is not worth the frame of its calls, where no target says what is."""

_SHORT: Final = 100
"""Texts of the user with no more tokens, as rules have, go behind longer ones."""

_MOST_RECENT: Final = 1 / 3
"""Where the newest turns take more of the target, little of all that was before them would be left. One turn may."""


def run_extract(step: Step) -> list[Receipt]:
    """Shorten what the pass selects, and give a receipt for every block.

    Without a target only what the pass's `min_worth` says goes; with both, no more than the target asks for. A summary
    that is up to date is renewed only where all else but the user's words is not enough.
    """
    sheet, target = step.sheet, step.target
    extraction = step.config.extract_config or ExtractConfig()
    shortening = Shortening(sheet, step)
    if target is not None and shortening.has_left_out and sheet.is_within(target):
        return shortening.receipts(Kept.TARGET_REACHED)
    if extraction.min_worth is not None:
        worths = _worths(sheet, extraction)
        _leave_out_the_rest(sheet, shortening, worths, settles=step.settles)
        if target is None or sheet.free(target) < 0:
            return shortening.receipts(Kept.NEEDED) if step.settles else _with_notes(step, shortening, worths)
        shortening.undo()
    elif target is None:
        shortening.leave()
        return shortening.receipts(Kept.NEEDED)
    head = _head_summary(step) if extraction.may_summarize else None
    is_left = _is_left(extraction)
    if is_left and not _is_in_reach(sheet, shortening, target, head):
        shortening.leave()
        return shortening.receipts(Kept.OUT_OF_REACH)
    is_met, summarized = _to_target(step, shortening, target, None if step.sheet.is_up_to_date else head)
    if not is_met and head and step.sheet.is_up_to_date:
        shortening.undo()
        is_met, summarized = _to_target(step, shortening, target, head)
    # Texts that show files at work go first, if any were held.
    for most_words in (None, _SHORT, 0) if shortening.work_tokens else (_SHORT, 0):
        if is_met:
            break
        shortening.leave()
        if is_left and most_words is not None:
            return shortening.receipts(Kept.OUT_OF_REACH)
        shortening = Shortening(sheet, step, keeps_work=False, most_words=most_words)
        head = head and replace(head, gives_up_words=most_words == 0)
        is_met, summarized = _to_target(step, shortening, target, head)
    return _but_for(summarized, shortening.receipts(Kept.NEEDED if is_met else Kept.OUT_OF_REACH))


def _but_for(gone: list[Receipt], receipts: list[Receipt]) -> list[Receipt]:
    """Put what went in place of the receipts of the same blocks."""
    places = {(receipt.message, receipt.block) for receipt in gone}
    return [receipt for receipt in receipts if (receipt.message, receipt.block) not in places] + gone


def _with_notes(step: Step, shortening: Shortening, worths: Worths) -> list[Receipt]:
    """Put notes in place of exchanges of which little is left; return the receipts of the pass."""
    # With the extraction.
    from ...extractive.shorten import Priced
    from ...extractive.survey import Survey
    from .division import noted
    from .notes import exchanges_of

    sheet, end, receipts = step.sheet, step.selected.end, shortening.receipts(Kept.NEEDED)
    messages, count = sheet.messages, sheet.count
    usual = step.config.extract_config.min_worth if step.config.extract_config else None

    def stays(address: BlockPlace) -> bool:
        # Where less is asked for, the exchange stays as it is.
        return address in shortening.held or worths((*address, ())) < (usual or 0.0)

    def is_little(exchange: Exchange) -> bool:
        blocks = (messages[position].blocks[number] for position, number in exchange.blocks)
        return sum(map(count.content, blocks)) < _LITTLE

    short = [exchange for exchange in exchanges_of(sheet, end, stays) if is_little(exchange)]
    if not short:
        return receipts
    division = noted(sheet, None, Priced(Survey(messages, count)), short, sheet.plain_tokens, end)
    texts = division.shared.within(division.shared.tokens).summaries
    return _but_for(division.write(sheet, step, None, texts), receipts)


def _worths(sheet: Sheet, extraction: ExtractConfig) -> Worths:
    tests = [
        (compile_predicates(override, sheet.messages, sheet.count), override.min_worth)
        for override in extraction.overrides
    ]
    usual = extraction.min_worth or 0.0

    def worth(key: Key) -> float:
        message = sheet.messages[key[0]]
        return next((least for test, least in tests if test(message, message.blocks[key[1]])), usual)

    return worth


def _head_summary(step: Step) -> HeadSummary:
    from .head_summary import HeadSummary  # With the ledger: most runs have no target.

    return HeadSummary(step, renews=step.sheet.is_up_to_date)


def _leave_out_the_rest(sheet: Sheet, shortening: Shortening, worths: Worths, *, settles: bool) -> None:
    """Cut the lines that are worth less, until no more are where it `settles`; texts that were cut already stay.

    `worths` tells what 1,000 tokens have to be worth, in facts and lines that later work is expected to need.
    """
    # With the extraction: it is imported where something is to be shortened.
    from ...extractive.reading import known_to

    goes_on = True
    # What goes makes other lines the only ones that say something, or what they say less likely to be needed.
    while goes_on:
        messages, known = sheet.messages, known_to(sheet.count).worth_it
        asked = {key: worths(key) for keys in shortening.keys.values() for key in keys}, shortening.fixed
        found = next((texts for *before, texts in known if before == [messages, asked]), None)
        if found is None:  # Another preset may have asked for the same.
            found = _texts_worth_it(sheet, *asked)
            known.append((messages, asked, found))
        goes_on = shortening.put(found) and settles


def _texts_worth_it(sheet: Sheet, worths: Mapping[Key, float], fixed: Mapping[Key, tuple[int, ...]]) -> dict[Key, Text]:
    """The texts that were not cut yet without their lines that are worth less."""
    from ...extractive.shorten import Priced, SharedBudget
    from ...extractive.survey import Survey

    survey = Survey(sheet.messages, sheet.count)
    priced = Priced(survey)
    keys_of: dict[float, set[Key]] = {}
    for key, worth in worths.items():
        if not survey.gaps[key]:
            keys_of.setdefault(worth, set()).add(key)
    texts: dict[Key, Text] = {}
    gone: set[Key] = set()
    # Where less is asked for, a line stays also for what others say that may go.
    for least in sorted(keys_of, reverse=True):
        keys = keys_of[least]
        shared = SharedBudget(priced, keys, fixed=fixed, unsaid=gone)
        texts |= shared.value_at_least(least / 1_000)
        gone |= keys
    return texts


def _is_left(extraction: ExtractConfig) -> bool:
    """Whether everything is left to the passes that follow where the target is out of reach."""
    match extraction.out_of_reach:
        case "leave":
            return True
        case "cut":
            return False
        case other:
            assert_never(other)


def _to_target(step: Step, shortening: Shortening, target: int, head: HeadSummary | None) -> tuple[bool, list[Receipt]]:
    """Bring the sheet to the target, or as close as can be; whether it is met, and receipts of what is summarized."""
    from .division import divisions  # With the extraction.

    sheet = step.sheet
    summarized: list[Receipt] = []
    put: tuple[Division, Shortened] | None = None

    def left_with(division: Division, budget: int) -> int:
        """Tokens free of the target when the texts have so many; below 0 those that are too many."""
        nonlocal put
        shortened = division.shared.within(budget)
        if put != (division, shortened):  # Often a few tokens more or less change nothing.
            put = division, shortened
            shortening.undo()
            shortening.put(shortened.texts)
            summarized[:] = division.write(sheet, step, head, shortened.summaries)
        return sheet.free(target)

    closest: tuple[int, Division] | None = None
    for division in divisions(sheet, shortening, step, target, head):
        # References, and what JSON spells longer, make the whole another size than the texts: so it is tried.
        is_ledger = head is not None and head.gives_up_words and bool(division.end)
        most = 0 if is_ledger else division.shared.tokens
        left = approach(target, partial(left_with, division), division.budget, most)
        if head and division.end and (left < 0 or is_ledger):
            # What a ledger lists besides the user's words goes before the newest turns do. Where words go as well, it
            # takes all the room there is, and hardly leaves what is around it.
            less = -left if head.gives_up_words else division.room
            while left < 0 < division.room:
                division = replace(division, room=max(0, division.room - less))
                left = left_with(division, 0)
                less *= 2
            if left > 0:
                left = approach(target, partial(left_with, division), left, most)
            if is_ledger and left > 0:
                division, left = _with_more_room(division, left, left_with)
        if closest is None or left > closest[0]:
            closest = left, division
        if left >= 0:
            return True, summarized
        shortening.undo()  # The next division is worked out on the sheet as it was.
        put = None
    if closest is not None:
        left_with(closest[1], 0)
    return False, summarized


def _with_more_room(division: Division, left: int, left_with: Callable[[Division, int], int]) -> tuple[Division, int]:
    """Give a summary all the tokens that are left, as far as it has a use for them; what is left then."""
    while left > 0:
        more = replace(division, room=division.room + left)
        still_left = left_with(more, 0)
        if not 0 <= still_left < left:
            left_with(division, 0)
            break
        division, left = more, still_left
    return division, left


def _is_in_reach(sheet: Sheet, shortening: Shortening, target: int, head: HeadSummary | None) -> bool:
    """Whether a target can be met that leaves enough room beside the newest turns."""
    if shortening.recent_turns > 1 and shortening.recent_tokens > _MOST_RECENT * target:
        return False
    most = target + _most_saved(sheet, shortening, head)
    return sheet.plain_tokens <= most or sheet.measured() <= most


def _most_saved(sheet: Sheet, shortening: Shortening, head: HeadSummary | None) -> int:
    """No fewer tokens than shortening can save: every text is a marker, or all that may go is summarized."""
    summarized = set(chain(*head.runs(sheet, len(sheet.messages)))) if head else set[int]()
    places = (place for place in shortening.keys if place[0] not in summarized)
    blocks = (sheet.messages[position].blocks[number] for position, number in places)
    saved = sum(max(0, sheet.count.block(block) - _LEAST) for block in blocks)
    return (
        saved + shortening.work_tokens + sum(sheet.count.message(sheet.messages[position]) for position in summarized)
    )
