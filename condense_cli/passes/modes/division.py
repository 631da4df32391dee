"""Ways to meet a target: each exchange in its place or as a note, or one summary of the oldest messages."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec import Struct

from ...core.transcript import BlockPlace, cut_before
from ...extractive.parts import Key
from ...extractive.shorten import Priced, SharedBudget, priced_of
from ...extractive.summary import Sections, addresses
from ..receipts import Receipt
from ..sheet import Sheet, Step
from .head_summary import HeadSummary
from .notes import Exchange, NoteRun, exchanges_of, frame, put_notes, runs_of, tokens_to_stay
from .shortening import Shortening


class Division(Struct, frozen=True):
    """A way to meet a target: the texts share `budget` tokens.

    The messages before `end` become summaries with `room` tokens; without an end, `notes` are put.
    """

    shared: SharedBudget
    budget: int
    end: int = 0
    room: int = 0
    notes: Sequence[NoteRun] = ()
    thinking: Sequence[BlockPlace] = ()
    """Blocks that are old once the notes are there, because a note of the user ends a tool loop."""

    def write(self, sheet: Sheet, step: Step, head: HeadSummary | None, texts: Sequence[str]) -> list[Receipt]:
        """Put notes, or summaries, with these texts; return the receipts of what changed."""
        if self.notes:
            return put_notes(sheet, step, self.notes, texts, self.thinking)
        return head.write(sheet, self.end, self.room, texts) if head and self.end else []


def divisions(
    sheet: Sheet, shortening: Shortening, step: Step, target: int, head: HeadSummary | None = None
) -> Iterator[Division]:
    """Ways to divide a sheet that is to have `target` tokens, as long as the one before misses it.

    One leaves exchanges in their place or puts notes; with a `head`, another is a summary of all messages that it may
    take: the last, or the first if words are given up.
    """
    messages = sheet.messages
    priced = priced_of(head.read(messages) if head else messages, sheet.count)
    summary = _summarized(sheet, shortening, priced, target, head) if head else None
    if head and head.gives_up_words and summary:
        # More of the user's words fit into one ledger than into many messages, each of which has a frame and a marker.
        yield summary
        summary = None
    yield _in_place(sheet, shortening, priced, step, target)
    if summary:
        yield summary


def _summarized(
    sheet: Sheet, shortening: Shortening, priced: Priced, target: int, head: HeadSummary
) -> Division | None:
    """A summary of all that the head may take; None if that is nothing."""
    messages, count = sheet.messages, sheet.count
    end = cut_before(messages, head.step.selected.end)
    runs = head.runs(sheet, end)
    if not runs:
        return None
    gone = set(chain(*runs))
    placed = [key for (position, _), found in shortening.keys.items() if position not in gone for key in found]
    free = sum(count.message(messages[position]) for position in gone)
    free += sum(count(priced.survey.parts[key].content) for key in placed)
    room = target - (sheet.plain_tokens - free)
    sections = Sections(priced.survey, [addresses(priced.survey.messages, run) for run in runs])
    shared = SharedBudget(priced, placed, sections, shortening.fixed)
    # No line is worth as much as the user's words, for which there is no room.
    return Division(shared, 0 if head.gives_up_words else room - head.frame(sheet, runs, room), end, room)


def _in_place(sheet: Sheet, shortening: Shortening, priced: Priced, step: Step, target: int) -> Division:
    """Exchanges as they are, where enough of them is kept, else as notes."""
    end = step.selected.end
    exchanges = exchanges_of(sheet, end, shortening.held.__contains__)
    as_they_are = noted(sheet, shortening, priced, None, target, end)
    if as_they_are.shared.tokens <= as_they_are.budget:
        return as_they_are
    every = noted(sheet, shortening, priced, exchanges, target, end)
    if not exchanges:  # Only earlier notes can be shorter.
        return every
    kept, density = every.shared.kept_within(every.budget)
    of_block: Tally[BlockPlace] = Tally()
    for key, tokens in kept.items():
        of_block[key[:2]] += tokens
    least = tokens_to_stay(1_000 * density)
    short = [one for one in exchanges if sum(map(of_block.__getitem__, one.blocks)) < least]
    if exchanges[-1] not in short and len(every.thinking) > len(sheet.old_thinking(short[-1].caller if short else 0)):
        short.append(exchanges[-1])
    return noted(sheet, shortening, priced, short, target, end, density)


def noted(
    sheet: Sheet,
    shortening: Shortening | None,
    priced: Priced,
    exchanges: Sequence[Exchange] | None,
    target: int,
    end: int,
    margin: float | None = None,
) -> Division:
    """These exchanges and all earlier notes as notes, all else in its place. None: all of it in its place.

    Without a `shortening`, what is in its place takes no part in the budget. `margin` is what a token is worth in the
    end, if that is known.
    """
    survey, count, messages = priced.survey, sheet.count, sheet.messages
    runs = [] if exchanges is None else runs_of(sheet, exchanges, end)
    gone = {address for run in runs for address in run.blocks}
    texts = shortening.keys.items() if shortening else ()
    placed: list[Key] = [key for address, found in texts if address not in gone for key in found]
    blocks = {address: count.block(messages[address[0]].blocks[address[1]]) for address in gone}
    old = [address for address in sheet.old_thinking(runs[-1].positions[-1]) if address not in gone] if runs else []
    free = sum(blocks.values()) + sum(count(survey.parts[key].content) for key in placed)
    free += sum(count.block(messages[position].blocks[number]) for position, number in old)
    sections = Sections(survey, [run.blocks for run in runs], are_notes=True) if runs else None
    shared = SharedBudget(priced, placed, sections, shortening.fixed if shortening else None, margin=margin)
    return Division(shared, target - (sheet.plain_tokens - free) - frame(runs), notes=runs, thinking=old)
