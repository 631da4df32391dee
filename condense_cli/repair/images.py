"""Mend images that are too large for the API, or too many: smaller ones where Pillow is there, else a note."""

from __future__ import annotations

import base64
import io
import json
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from ..core.transcript import Block, BlockKey, JsonPath
from ..core.values import BlockKind, size_of
from ..formats.engine.base import Values
from ..formats.engine.beside import long_strings
from ..rules import validity
from .draft import BrokenRule, Change, Draft

_SIDES: Final = (2_000, 1_568, 1_024)
"""Pixels each way: that of many images, then what the API itself would scale an image down to, then less.
https://platform.claude.com/docs/en/build-with-claude/vision"""


def shrink_images(draft: Draft, faults: Sequence[BrokenRule]) -> Draft | None:
    """Scale images down to what the API takes. None where Pillow is not installed, or can do nothing."""
    about = {fault.about: fault for fault in faults}
    values = Values(draft.transcript.source)
    edits: dict[int, dict[JsonPath, str | None]] = defaultdict(dict)
    changes = []
    for _, block in draft.transcript.blocks():
        fault = about.get(str(block.place))
        if fault is None or block.kind is not BlockKind.IMAGE:
            continue
        part = values(block.place.record, block.place.path)
        for path, text in long_strings(part, block.place.path):
            head, comma, data = text.rpartition(",")
            smaller = _smaller(data)
            if smaller is not None:
                edits[block.place.record][path] = json.dumps(head + comma + smaller)
                said = (
                    f"Scaled an image down{f' from {block.pixels[0]}x{block.pixels[1]} pixels' if block.pixels else ''}"
                )
                changes.append(Change(fault.rule, draft.line(block.place.record), said, fault.said))
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
    about = {fault.about: fault for fault in faults}
    found = [
        (block, about[str(block.place)])
        for _, block in draft.transcript.blocks()
        if block.kind is BlockKind.IMAGE and str(block.place) in about
    ]
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
        changes.append(Change(fault.rule, draft.line(block.place.record), said, fault.said))
    return draft.exchanged(exchanged, changes) if exchanged else None
