"""What a file shows of the context window that its client worked with, collected while it is read."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...core.transcript import WindowSigns
from .usages import is_count


class SignsReader:
    """Signs by model, in the order of the file. Numbers that no API counted say nothing."""

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
