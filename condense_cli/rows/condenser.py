"""A function for engines to map over rows: Hugging Face datasets, Ray Data and the like. Importing it is cheap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..core.arguments import POSITIVE, PRESET, TEXT, with_arguments

if TYPE_CHECKING:
    from ..config.models import Configuration


class Condenser:
    """Condense the conversation in a column of each row of a batch. It pickles, for other processes and machines.

        dataset.map(Condenser("cost", column="messages", max_tokens=32_000), batched=True)
        ray_dataset.map_batches(Condenser("cost"), batch_format="pyarrow")

    A batch is a dict of columns (lists, or NumPy arrays), or a pyarrow Table or RecordBatch; the result is of the
    same kind, with the same rows in the same order. A dict whose `column` is a single conversation is one row. A
    conversation is a list of messages, or text that is JSON.

    `preset` or `configuration` is as for `condense_cli.condense`. With `max_tokens` (the model's) only larger rows
    are condensed, and no further than to that. `model` overrides the column `model` of a row; `format` names that
    of the messages if they do not show it. No model is called.

    Added are the columns `tokens_before` and `tokens_after`, in the model's tokens, and `error`: why a row was not
    condensed, or is still too large; else an empty text. No row raises: one that cannot be read stays, with 0
    tokens. `prefix` goes before the names of these columns.

    Raises ConfigurationError and UsageError for invalid arguments, and a call UsageError for a batch that cannot be
    used.
    """

    @with_arguments(preset=PRESET, column=TEXT, max_tokens=POSITIVE, model=TEXT, format=TEXT, prefix=TEXT)
    def __init__(
        self,
        preset: str | None = None,
        *,
        column: str = "messages",
        max_tokens: int | None = None,
        configuration: Configuration | Mapping[str, Any] | None = None,
        model: str | None = None,
        format: str | None = None,
        prefix: str = "",
    ) -> None:
        from .mapping import row_work

        # Resolved here: on another machine there may be no file of that name.
        self._work = row_work(preset, configuration, column, max_tokens, model, format)
        self._prefix = prefix

    @property
    def column(self) -> str:
        return self._work.column

    def __call__(self, batch: Any) -> Any:
        """Return the batch with condensed conversations and the added columns. Raises UsageError."""
        return self._work.condense(batch, self._prefix)
