"""The modes of passes: each is one function, which changes the sheet and gives a receipt for every block.

A reader of `walk` need know of a mode nothing but its signature, and a reader of a mode nothing but `Step`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from ...config.models import BatchConfig, PassConfig
from ..receipts import Receipt
from ..sheet import Step

Work = Callable[[Step], list[Receipt]]


def work_of(config: PassConfig) -> Work:
    """What a step of a pass does. What a mode alone needs, such as the extraction, is imported with it."""
    match config.mode:
        case "individual":
            from .individual import run_individual

            return run_individual
        case "extract" | "target":
            from .extract import run_extract

            return run_extract
        case "batch":
            return _of_batch(config.batch_config or BatchConfig())
        case other:
            assert_never(other)


def _of_batch(config: BatchConfig) -> Work:
    match config.operation:
        case "summarize":
            from .batch import run_batch

            return run_batch
        case "drop_older_half":
            from .sliding_window import drop_older_half

            return drop_older_half
        case "keep":
            return lambda step: []
        case other:
            assert_never(other)
