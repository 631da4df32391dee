"""A condensed form of the part before a cut, read once for all measures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ...core.transcript import Message
from ...lossless.decode import decode
from ..needs import texts_in
from ..recall import Questions, Recall, StillThere


class Condensed:
    """The messages that a model would be sent in place of those before the cut."""

    def __init__(self, messages: Sequence[Message], questions: Questions) -> None:
        self.messages = messages
        self.questions = questions

    @cached_property
    def standing(self) -> StillThere:
        return self.questions.standing(self.messages)

    @cached_property
    def recall(self) -> Recall:
        return self.questions.recall(self.messages, self.standing)

    @cached_property
    def texts(self) -> list[str]:
        """All texts in order, with what references stand for: it can be read there in full."""
        return list(texts_in(decode(self.messages).messages))
