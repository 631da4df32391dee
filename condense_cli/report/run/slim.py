"""Word the effect of `--slim`, and the growth of files whose client keeps what a summary replaces."""

from __future__ import annotations

from typing import Final

from ...core.transcript import Transcript
from ...formats import format_named
from .facts import Report, Slim

_NAMES: Final = {
    "original_files": "files before an edit",
    "result_copies": "copies of results",
    "argument_copies": "copies of arguments",
    "image_copies": "copies of images",
    "todo_lists": "earlier todo lists",
    "progress": "progress of finished calls",
    "request_copies": "copies of requests",
}


def growth(after: Transcript, size: int) -> list[str]:
    """Say that the file grew: the client keeps the messages that a new summary replaces."""
    before = len(after.source.data)
    form = format_named(after.format)
    if size <= before or form.compaction is None:
        return []
    hint = "; --slim removes what only the client displays" if form.shown and not after.slimmed else ""
    said = f"The file grows from {before:,} to {size:,} bytes, because the client keeps what a summary replaces"
    return [f"{said}{hint}."]


def kinds_text(slim: Slim) -> str:
    return ", ".join(f"{kind.bytes:,} {_NAMES[kind.name]}" for kind in slim.kinds)


def slim_line(report: Report, unit: str = "bytes") -> str:
    """Say the effect on the file apart from that on the context."""
    slim = report.slim
    if slim is None or not slim.bytes:
        return f"--slim: nothing in this {report.format} file is for display only."
    tokens = report.tokens
    context = "is unchanged" if not tokens.saved else "can be restored"
    lossless = f"The context {context}; what the client displays cannot be restored."
    return (
        f"--slim: the file goes from {report.bytes.before:,} to {report.bytes.after:,} {unit}, {slim.bytes:,} of that "
        f"without touching the context: {kinds_text(slim)}. "
        + (lossless if tokens.saved == tokens.lossless_saved else "What the client displays cannot be restored.")
    )
