"""Measure a transcript for the decision to condense it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..core.transcript import Transcript
from ..tokens.counting import Counter
from ..tokens.factor import Factor
from .decision import CheckDecision, Window, WindowFlags, decide, window_of
from .size import signs_of
from .use import beside_messages


class Sizing(Struct, frozen=True):
    """Inputs of the decision to condense, each computed on demand because that takes time.

    `beside` returns the tokens in use besides the counted messages, and the source of that figure. `may_fall_back` is
    called if a provider has failed.
    """

    window: Callable[[], Window]
    beside: Callable[[], tuple[int, str]]
    only_if_needed: bool = False
    may_fall_back: Callable[[], bool] = lambda: True

    @classmethod
    def of(
        cls,
        transcript: Transcript,
        configuration: Configuration,
        count: Counter,
        factor: Factor,
        *,
        user: Callable[[], UserConfiguration] = UserConfiguration,
        asked: WindowFlags = WindowFlags(),  # noqa: B008
        overhead: int | None = None,
        only_if_needed: bool = False,
    ) -> Sizing:
        """Measure a transcript. `overhead` is the user's figure for the tokens besides the messages."""
        return cls(
            lambda: window_of(transcript.model, configuration, user(), asked, signs_of(transcript)),
            lambda: beside_messages(transcript, count, factor, overhead),
            only_if_needed,
        )

    def decide(self, tokens: int, configuration: Configuration) -> CheckDecision:
        """Decide whether to condense a conversation of `tokens` model tokens."""
        beside, source = self.beside()
        return decide(self.window().sizes(tokens, beside, configuration, source))
