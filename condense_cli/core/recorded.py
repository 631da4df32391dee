"""What files record of the requests that their clients sent: tokens, and how many may be sent."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True):
    """What the API reported for the request that `message` answers: tokens sent, cached ones included, and answered.

    One that `is_older` was recorded before a compaction: of what was sent then, not all stands before the message now.
    `model` is the one that answered, None where the file does not say so. `lives_hour` tells whether what was written
    to the cache lives for an hour and not for five minutes, None where nothing was, or nobody says for how long.
    """

    message: int
    input_tokens: int
    output_tokens: int = 0
    is_older: bool = False
    model: str | None = None
    lives_hour: bool | None = None


class WindowSigns(Struct, frozen=True):
    """What a file shows of the context window that a model had in its client. 0: nothing.

    `used` is the largest input that the API counted, in older parts of the file too; `compacted_at` the tokens in use
    when the client last compacted by itself; `named` the window as the client gives it.
    """

    model: str | None = None
    used: int = 0
    compacted_at: int = 0
    named: int = 0
