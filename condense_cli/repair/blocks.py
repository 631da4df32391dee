"""Mend single blocks: empty texts, thinking that no API takes back, half surrogate pairs, cache marks, large images."""

from __future__ import annotations

import base64
import io
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Block, BlockKey, JsonPath
from ..core.values import BlockKind, size_of
from ..formats.codex import HISTORY_MODES
from ..formats.engine.base import Values, records_of
from ..formats.engine.beside import long_strings
from ..rules import validity
from ..rules.validity import BOUND_THINKING, CACHE_MARKS, lone_surrogates
from ..tokens.models import binds_thinking
from .draft import BrokenRule, Change, Draft, Edits, UnmendableError

_REPLACEMENT: Final = r"\ufffd"
_NO_DOCUMENT: Final = "[A document was here.]"
_ESCAPE: Final = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.", re.DOTALL
)
"""An escape: of a pair, of half of one, or any other."""


def remove_named(said: str, draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove the blocks that the faults are about."""
    found = draft.blocks_of(faults)
    changes = [draft.change(fault, block.place.record, said) for block, fault in found]
    return draft.without([block for block, _ in found], changes) if found else None


def remove_reasoning(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove the reasoning that messages end with."""
    at = {fault.message: fault for fault in faults}
    found = []
    changes = []
    for message in draft.transcript.messages:
        fault = at.get(message.index)
        for block in reversed(message.blocks):
            if fault is None or block.kind is not BlockKind.THINKING:
                break
            found.append(block)
            said = "Removed reasoning that led to nothing"
            changes.append(draft.change(fault, block.place.record, said))
    return draft.without(found, changes) if found else None


def remove_empty(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Remove messages that say nothing."""
    empty = {fault.message for fault in faults}
    blocks = [
        block
        for message in draft.transcript.messages
        if message.index in empty
        for block in message.blocks
        if not block.text or block.kind is BlockKind.THINKING
    ]
    if blocks:
        changes = [
            draft.change(faults[0], record, "Removed an empty message")
            for record in sorted({block.place.record for block in blocks})
        ]
        return draft.without(blocks, changes)
    held = {block.place.record for _, block in draft.transcript.blocks()}
    records = [
        record
        for record, value in records_of(draft.transcript.source)
        if record not in held and record < draft.transcript.source.listed and _is_empty_message(value)
    ]
    changes = [draft.change(faults[0], record, "Removed an empty message") for record in records]
    return draft.edited(changes, gone=records) if records else None


def _is_empty_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and not (value.get("content") or value.get("tool_calls"))


def replace_surrogates(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Exchange each half of a surrogate pair for U+FFFD, in the parts of records that hold one."""
    lone = lone_surrogates(draft.transcript)
    named = {fault.message: fault for fault in faults}
    owners: dict[int, dict[JsonPath, BrokenRule]] = defaultdict(dict)
    for message, block in draft.transcript.blocks():
        if message.index in named and lone.search(block.text):
            owners[block.place.record][block.owner] = named[message.index]
    edits: Edits = {}
    changes = []
    for record, paths in owners.items():
        text = json_text.decode(draft.transcript.source.raw(record))
        spans = json_text.locate(text, paths)
        edits[record] = {path: _ESCAPE.sub(_whole, text[slice(*spans[path])]) for path in paths}
        fault = next(iter(paths.values()))
        said = "Put U+FFFD in place of half a surrogate pair"
        changes.append(draft.change(fault, record, said))
    return draft.edited(changes, edits=edits) if edits else None


def _whole(escape: re.Match[str]) -> str:
    text = escape.group()
    return _REPLACEMENT if len(text) == len(_REPLACEMENT) else text


def unmark_cache(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Leave the newest four marks for the cache."""
    values = Values(draft.transcript.source)
    marked: dict[tuple[int, JsonPath], None] = {}
    for _, block in draft.transcript.blocks():
        record, owner = block.place.record, block.owner
        part = values(record, owner)
        inside = part.get("content") if isinstance(part, dict) else None
        for path in ((), *(("content", number) for number in range(len(inside) if isinstance(inside, list) else 0))):
            each = part
            for key in path:
                each = each[key]
            if isinstance(each, dict) and each.get("cache_control"):
                marked[record, (*owner, *path, "cache_control")] = None
    edits: Edits = defaultdict(dict)
    changes = []
    for record, path in list(marked)[:-CACHE_MARKS]:
        edits[record][path] = json_text.REMOVE
        changes.append(draft.change(faults[0], record, "Removed a mark for the cache"))
    return draft.edited(changes, edits=edits, is_sent=False) if edits else None


def replace_documents(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put a note in place of documents where no API takes one."""
    found = draft.blocks_of(faults)
    edits: Edits = defaultdict(dict)
    for block, _ in found:
        edits[block.place.record][block.owner] = json.dumps({"type": "text", "text": _NO_DOCUMENT})
    changes = [draft.change(fault, block.place.record, "Put a note in place of a document") for block, fault in found]
    return draft.edited(changes, edits=edits) if edits else None


def remove_invalidated(draft: Draft) -> Draft:
    """Remove thinking behind the first change, where the model binds it to all that it had read before."""
    if not binds_thinking(draft.transcript.model):
        return draft
    touched = {record for record, origin in enumerate(draft.origins) if origin.is_touched}
    found: list[Block] = []
    is_behind = False
    for _, block in draft.transcript.blocks():
        is_behind = is_behind or block.place.record in touched
        if is_behind and block.kind is BlockKind.THINKING:
            found.append(block)
    why = "The block is bound to a different conversation: something before it was mended"
    changes = [
        Change(BOUND_THINKING, draft.line(record), "Removed thinking that is no longer valid", why)
        for record in dict.fromkeys(block.place.record for block in found)
    ]
    return draft.without(found, changes) if found else draft


def begin_with_head(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put the head of a rollout first, where there is one. Raises UnmendableError where it is lost."""
    found = [
        record
        for record, value in records_of(draft.transcript.source)
        if isinstance(value, dict) and value.get("type") == "session_meta"
    ]
    if not found:
        raise UnmendableError(
            "The first record of the rollout, session_meta, is lost, and Codex resumes no file without it.",
            "Copy the line from another session of the same folder, with this session's id in it. Nothing was written.",
        )
    first = found[0]
    order = [first, *(record for record in range(len(draft.transcript.source.spans)) if record != first)]
    change = draft.change(faults[0], first, "Moved the head of the session to the first line")
    return draft.reordered(order, [change])


def name_history_mode(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Name the mode that the records show: only files of pages number their records."""
    has_ordinals = any(
        isinstance(value, dict) and isinstance(value.get("ordinal"), int)
        for _, value in records_of(draft.transcript.source)
    )
    record = faults[0].record or 0
    mode = HISTORY_MODES[has_ordinals]
    change = draft.change(faults[0], record, f"Named the history mode {mode!r}")
    return draft.edited([change], edits={record: {("payload", "history_mode"): json.dumps(mode)}}, is_sent=False)


def number_last(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Number the last record of a rollout whose records are numbered."""
    record = faults[0].record or 0
    values = [value for _, value in records_of(draft.transcript.source) if isinstance(value, dict)]
    ordinals = [value["ordinal"] for value in values if isinstance(value.get("ordinal"), int)]
    text = json_text.decode(draft.transcript.source.raw(record))
    numbered = json_text.with_member(text, "ordinal", str(max(ordinals, default=-1) + 1))
    change = draft.change(faults[0], record, "Numbered the last record")
    return draft.edited([change], edits={record: {(): numbered}}, is_sent=False)


_SIDES: Final = (2_000, 1_568, 1_024)
"""Pixels each way: that of many images, then what the API itself would scale an image down to, then less.
https://platform.claude.com/docs/en/build-with-claude/vision"""


def shrink_images(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Scale images down to what the API takes. None where Pillow is not installed, or can do nothing."""
    values = Values(draft.transcript.source)
    edits: Edits = defaultdict(dict)
    changes = []
    for block, fault in draft.blocks_of(faults):
        part = values(block.place.record, block.place.path)
        for path, text in long_strings(part, block.place.path) if block.kind is BlockKind.IMAGE else ():
            head, comma, data = text.rpartition(",")
            smaller = _smaller(data)
            if smaller is not None:
                edits[block.place.record][path] = json.dumps(head + comma + smaller)
                size = f" from {block.pixels[0]}x{block.pixels[1]} pixels" if block.pixels else ""
                changes.append(draft.change(fault, block.place.record, f"Scaled an image down{size}"))
                break
    return draft.edited(changes, edits=edits) if edits else None


def _smaller(data: str) -> str | None:
    """Return a base64 image at most 2,000 pixels wide and high and small enough to send, in its own file format.

    None where Pillow is not installed or cannot read it.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        return None
    try:
        with Image.open(io.BytesIO(base64.b64decode(data))) as image:
            kind = image.format
            for side in _SIDES:
                copy = image.copy()
                copy.thumbnail((side, side))
                written = io.BytesIO()
                copy.save(written, kind)
                encoded = base64.b64encode(written.getvalue()).decode()
                if len(encoded) <= validity.LARGEST_IMAGE:
                    return encoded
    except (OSError, ValueError, SyntaxError, UnidentifiedImageError, Image.DecompressionBombError):
        pass
    return None


def replace_images(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put notes in place of images that are too large."""
    found = [(block, fault) for block, fault in draft.blocks_of(faults) if block.kind is BlockKind.IMAGE]
    return _with_notes(draft, found, "the API takes none so large")


def thin_out(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Put notes in place of the oldest images, until the others may be sent together."""
    images = [block for _, block in draft.transcript.blocks() if block.kind is BlockKind.IMAGE]
    size = sum(size_of(block.content) + block.encoded for _, block in draft.transcript.blocks())
    number = max(0, len(images) - validity.IMAGES)
    excess = size - sum(block.encoded for block in images[:number]) - validity.REQUEST
    while excess > 0 and number < len(images):
        excess -= images[number].encoded
        number += 1
    return _with_notes(draft, [(block, faults[0]) for block in images[:number]], "a request holds no more of them")


def _with_notes(draft: Draft, found: Sequence[tuple[Block, BrokenRule]], reason: str) -> Draft | None:
    exchanged: dict[BlockKey, Block] = {}
    changes = []
    for block, fault in found:
        size = f" of {block.pixels[0]}x{block.pixels[1]} pixels" if block.pixels else ""
        kind = BlockKind.TOOL_RESULT if block.answers else BlockKind.TEXT
        exchanged[block.key] = block.replaced_by(f"[An image{size} was here: {reason}.]", kind)
        said = f"Put a note in place of an image{size}"
        changes.append(draft.change(fault, block.place.record, said))
    return draft.exchanged(exchanged, changes) if exchanged else None
