"""Repair a file: one small step after the other, until nothing is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from .. import formats
from ..core.transcript import Transcript
from ..core.wording import plural
from ..errors import NotJsonError
from ..formats import OtherFormats
from . import blocks, links, pairs
from .draft import BrokenRule, Change, Draft, Origin, UnmendableError
from .lines import readable

Step = Callable[[Draft, Sequence[BrokenRule]], Draft | None]
"""Mend the faults of some rules; None where the step has nothing to do."""

_CALLS: Final = (
    "calls_answered_next", "results_follow_calls", "tool_calls_answered", "tool_messages_follow_calls",
    "outputs_have_calls", "calls_have_outputs", "server_calls_answered",
)  # fmt: skip

_STEPS: Final[tuple[tuple[Step, tuple[str, ...]], ...]] = (
    (links.mend_unread, ("messages_understood",)),
    (links.mend_copies, ("live_uuids_unique",)),
    (links.mend_parents, ("parents_exist", "parents_end")),
    (links.mend_leaves, ("leaves_exist",)),
    (links.mend_callers, ("callers_exist",)),
    (blocks.begin_with_head, ("head_comes_first",)),
    (blocks.name_history_mode, ("history_mode_known",)),
    (blocks.number_last, ("last_record_has_ordinal",)),
    (pairs.unrepeat_items, ("item_ids_unique",)),
    (pairs.remove_copies, ("call_ids_unique", "one_result_per_call")),
    (pairs.rename_calls, ("call_ids_unique",)),
    (partial(blocks.remove_named, "Removed an empty text"), ("texts_not_blank",)),
    (blocks.remove_empty, ("messages_not_empty", "content_beside_no_calls")),
    (pairs.move_results, _CALLS),
    (pairs.split_results, _CALLS),
    (pairs.results_first, ("results_come_first",)),
    (pairs.answer_calls, _CALLS),
    (pairs.remove_unpaired, _CALLS),
    (pairs.begin_with_user, ("first_message_from_user",)),
    (partial(blocks.remove_named, "Removed thinking without a signature"), ("thinking_is_signed",)),
    (blocks.remove_reasoning, ("reasoning_is_followed",)),
    (blocks.replace_surrogates, ("texts_are_unicode",)),
    (blocks.unmark_cache, ("at_most_four_cache_marks",)),
    (blocks.replace_documents, ("documents_not_from_assistant",)),
    (blocks.shrink_images, ("images_not_too_large",)),
    (blocks.replace_images, ("images_not_too_large",)),
    (blocks.thin_out, ("images_not_too_many", "request_not_too_large")),
)
"""Each step with the rules whose faults it mends: links first, as they decide what the conversation is. Of several
steps for a rule the first changes least."""

_ROUNDS: Final = 200
"""Steps after which the rest is told instead."""


class Repair(Struct, frozen=True):
    """The mended file, its transcript, and what was changed: nothing where the file was right."""

    data: bytes
    transcript: Transcript
    changes: tuple[Change, ...] = ()


def repair(
    data: bytes,
    *,
    name: str = "input",
    format_name: str | None = None,
    joined: Collection[str] = (),
    others: OtherFormats | None = None,
) -> Repair:
    """Mend what the API or the client refuses in a file, with the least change.

    `joined` are ids of records that the user chose where several may be the parent of one. Raises UnmendableError for
    what cannot be mended without a guess, and TranscriptError for a file that is no transcript.
    """
    try:
        text = readable(data, name)
        transcript = formats.parse(text.data, name=name, format=format_name, others=others)
    except NotJsonError as error:
        raise UnmendableError(error.message, "No record of the file is whole. Nothing was written.") from None
    behind_torn = {fragment.before for fragment in text.fragments}
    origins = (Origin(line, number in behind_torn) for number, line in enumerate(_lines(transcript, text.lines)))
    draft = _mended(Draft(transcript, tuple(origins), text.changes, text.fragments), joined)
    if not draft.changes:
        return Repair(data, transcript)
    draft = _mended(blocks.remove_invalidated(draft), joined)
    if not draft.transcript.messages:
        raise UnmendableError(f"{name} says nothing: no message would be left.", "Nothing was written.")
    return Repair(draft.transcript.source.data, draft.transcript, draft.changes)


def _lines(transcript: Transcript, lines: Sequence[int]) -> list[int | None]:
    """Return the old line of each record; those deeper in a document than its list have lines of their own."""
    source = transcript.source
    if len(source.spans) == len(lines):
        return list(lines)
    return [source.line_of(record) for record in range(len(source.spans))]


def _mended(draft: Draft, joined: Collection[str]) -> Draft:
    """Take the first step that leaves fewer faults of its rules, and begin again. Raises UnmendableError."""
    faults = draft.faults()
    for _ in range(_ROUNDS):
        if not faults:
            return draft
        for step, rules in _STEPS:
            found = [fault for fault in faults if fault.rule in rules]
            if not found:
                continue
            new = links.mend_parents(draft, found, joined) if step is links.mend_parents else step(draft, found)
            if new is None:
                continue
            left = new.faults()
            if sum(fault.rule in rules for fault in left) < len(found):
                draft, faults = new, left
                break
        else:
            break
    if not faults:
        return draft
    more = f" (and {plural(len(faults) - 1, 'more fault')})" if len(faults) > 1 else ""
    raise UnmendableError(
        f"Not everything can be mended: {faults[0].said}{more}",
        "condense validate lists all faults. Nothing was written.",
    )
