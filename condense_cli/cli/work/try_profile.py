"""`condense profiles test`: make one tiny call."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime

import typer

from ...config.own import load_user_configuration, unknown_profile
from ...config.profiles import Access
from ...core.tokens import Counter
from ...core.wording import visible
from ...errors import ExitStatus
from ...llm.access import open_access
from ...llm.calls import Caller, CallOutcome, fulfil
from ...llm.client import Failure, ModelRequest
from ...plugins import Installed
from ...report.as_json import to_json
from ...report.costs.money import dollars
from ...report.lists.profiles import call_facts
from ..commands.settings import TryProfile
from ..console import say, write_text


def try_profile(options: TryProfile) -> None:
    """Make a tiny call, print what happened and exit with the status. Raises ConfigurationError."""
    name, user = options.name, load_user_configuration()
    if name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    outcome, seconds = _tried(open_access(name, user, os.environ))
    facts = call_facts(name, outcome, seconds)
    if options.json:
        write_text(to_json({"version": 1, "test": facts}))
    elif facts.ok:
        spent = f"{facts.tokens:,} tokens, cost {dollars(facts.cost)}" if outcome.spent.calls else "no cost"
        typer.echo(visible(f"{name}: {outcome.text} ({facts.seconds:.1f} s, {spent})"))
    else:
        say(f"condense: {name}: {facts.message} ({facts.seconds:.1f} s)\n{facts.hint}")
    raise SystemExit(int(ExitStatus.DONE if facts.ok else ExitStatus.CALLS_FAILED))


def _tried(access: Access | Failure) -> tuple[CallOutcome, float]:
    """Return the outcome of a tiny call, and its seconds. Profiles without a server need no call.

    Raises ConfigurationError, KeyboardInterrupt.
    """
    begun = time.perf_counter()
    if isinstance(access, Failure):
        outcome = CallOutcome(None, access)
    elif access.profile.api == "offline":
        outcome = CallOutcome("It works without a model; there is nothing to test.")
    elif access.profile.summarizer is not None:
        Installed().summarizer(access.profile.summarizer)
        outcome = CallOutcome("Its package is installed.")
    else:
        request = ModelRequest("Somebody tests whether you can be reached.", "Answer with the one word: ready", 200)
        done = fulfil([request], Caller(access, Counter(), datetime.now(UTC)))
        if done.is_interrupted:
            raise KeyboardInterrupt
        outcome = done.outcomes[0]
    return outcome, time.perf_counter() - begun
