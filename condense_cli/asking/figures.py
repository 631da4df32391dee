"""What fills a session, whether it is time to condense it, and its recap: as text for a model."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ..config.files import UserConfiguration
from ..config.models import Configuration
from ..core.factor import factor_of
from ..core.tokens import Counter, encoding_for
from ..core.transcript import Transcript
from ..money.prices import price_of, signs_of
from ..providers.window import DecisionReason, decide, window_of
from ..recaps.told import ENOUGH, TOKENS
from ..recaps.told import recap as told_of
from ..report.as_json import to_json
from ..report.costs.usage import beside_messages, overhead_of, remarks_on_usage
from ..report.inspection.facts import inspect as facts_of
from ..report.lists import check as check_facts
from ..report.run.facts import estimated_tokens
from .library import Library
from .pages import page

_TOP: Final = 5
_MOST_RECAP: Final = 8_000
_MOST_CHARACTERS: Final = 40_000
"""Of a recap, which a model asks for knowing how long it gets."""


def inspect(library: Library, session: str | None = None) -> str:
    """What fills the conversation that is sent, as JSON."""
    found = library.session(session)
    transcript = found.transcript
    count = Counter.of(transcript)
    facts = facts_of(
        transcript, count, factor_of(transcript, count), encoding_for(transcript.model), source=found.path, top=_TOP
    )
    return page(to_json(facts))


def check(library: Library, user: UserConfiguration, session: str | None = None) -> str:
    """Whether it is time to condense, and the numbers."""
    found = library.session(session)
    return "\n".join(check_facts.as_lines(checked(found.transcript, user, found.path)))


def checked(transcript: Transcript, user: UserConfiguration, source: str) -> check_facts.Check:
    """Whether a conversation should be condensed, by the user's own settings and no project's.

    Raises UsageError where the window of the model is not known.
    """
    configuration = Configuration()
    count = Counter.of(transcript)
    factor = factor_of(transcript, count)
    window = window_of(transcript.model, configuration, user, signs=signs_of(transcript))
    beside, how_known = beside_messages(transcript, count, factor)
    decision = decide(window.sizes(factor.shown(count.transcript(transcript)), beside, configuration, how_known))
    if decision.reason is DecisionReason.UNKNOWN_WINDOW:
        raise window.unknown
    return check_facts.build(
        decision,
        window,
        source=source,
        overhead=overhead_of(transcript, count, factor),
        origin=lambda key: "default",
        encoding=encoding_for(transcript.model),
        factor=factor,
        estimated=estimated_tokens(transcript),
        price=price_of(window.model, datetime.now(UTC), decision.sizes.used, lives_hour=transcript.lives_hour),
        warnings=remarks_on_usage(transcript, count, factor),
    )


def recap(library: Library, session: str | None = None, tokens: int = TOKENS, *, lost: bool = False) -> str:
    """The recap of a session, or of what its last compaction lost, within so many tokens."""
    transcript = library.session(session).transcript
    return told_of(transcript, min(max(tokens, ENOUGH), _MOST_RECAP), lost=lost).recap.text[:_MOST_CHARACTERS]
