"""What a file records of the tokens that an API counted, and of the context window that its client worked with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from ...core.values import Usage, WindowSigns

_MOST: Final = 100_000_000
"""Tokens beyond which a number is none that an API counted."""


def is_count(value: Any) -> bool:
    """Whether it can be a number of tokens that somebody counted; 0 and true are none."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST


def lives_hour(usage: Mapping[str, Any]) -> bool | None:
    """Whether most of what a request wrote to Anthropic's cache lives for an hour; None where it does not say.

    https://platform.claude.com/docs/en/build-with-claude/prompt-caching (1-hour cache duration)
    """
    written = usage.get("cache_creation")
    if not isinstance(written, Mapping):
        return None
    told = [written.get(f"ephemeral_{life}_input_tokens") for life in ("5m", "1h")]
    minutes, hour = (number if isinstance(number, int) else 0 for number in told)
    return hour > minutes if hour > 0 or minutes > 0 else None


def recorded(
    message: int,
    sent: Iterable[Any],
    answered: Any,
    *,
    is_older: bool = False,
    model: Any = None,
    lives_hour: bool | None = None,
) -> Iterator[Usage]:
    """The usage of the request that a message answers, from the parts of what was sent; nothing where none is told."""
    numbers = [number for number in sent if isinstance(number, int) and not isinstance(number, bool)]
    if any(number < 0 for number in numbers) or not 0 < sum(numbers) <= _MOST:
        return
    output = answered if is_count(answered) else 0
    model = model if isinstance(model, str) and model else None
    yield Usage(message, sum(numbers), output, is_older, model, lives_hour)


class SignsReader:
    """What a file shows of context windows, by model, in the order of the file. What no API counted says nothing."""

    def __init__(self) -> None:
        self._found: dict[str | None, WindowSigns] = {}
        self.last = 0
        """Tokens of the newest request, with its answer."""
        self._model: str | None = None

    @property
    def found(self) -> tuple[WindowSigns, ...]:
        return tuple(self._found.values())

    def used(self, model: Any, sent: int, answered: int = 0) -> None:
        """A request of so many tokens was answered by that model."""
        self._model = model if isinstance(model, str) and model else None
        self.last = sent + answered
        signs = self._signs
        if is_count(sent) and sent > signs.used:
            self._found[self._model] = replace(signs, used=sent)

    def compacted(self, tokens: Any) -> None:
        """The client compacted by itself when so many were in use."""
        if is_count(tokens):
            self._found[self._model] = replace(self._signs, compacted_at=tokens)

    def named(self, model: str | None, tokens: Any) -> None:
        """The client says how large the window is."""
        self._model = model
        if is_count(tokens):
            self._found[model] = replace(self._signs, named=tokens)

    @property
    def _signs(self) -> WindowSigns:
        return self._found.get(self._model) or WindowSigns(self._model)
