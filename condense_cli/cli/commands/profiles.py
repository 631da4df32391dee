"""`condense profiles`: the accesses to models that a configuration may name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, assert_never

import typer

from ...errors import ExitStatus
from ...report.text.visible import visible
from ..console import console, exits, say, write_text
from ..named_things import group_of
from ..options import complete_profile

if TYPE_CHECKING:
    from ...config.files import UserConfiguration
    from ...config.profiles import Access
    from ...llm.calls import CallOutcome
    from ...llm.client import Failure
    from ...report.lists.profiles import ProfileFacts

profiles_app = typer.Typer(
    cls=group_of("list", lambda: complete_profile("")),
    help="List model profiles, show one, or test one.",
    epilog="Examples:\n\n\b\ncondense profiles\ncondense profiles show gpt-4o-mini\ncondense profiles test gpt-4o-mini",
    rich_markup_mode=None,
)


_SHORTEST_MODEL = 10
"""Room for a column of models; where prices and windows leave less, they are what the list is for."""

Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_profile, help="Name of a profile.")]
Json = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]


@profiles_app.command("list")
def list_profiles(json: Json = False) -> None:
    """List the profiles: the built-in ones and your own.

    Prices are dollars per million tokens. Naming a profile or setting its key permits no call; see docs/models.md.

    Examples:

    \b
    condense profiles list                      with the hosts, where they fit
    condense profiles list --json | jq -r '.profiles[] | select(.ready) | .name'
    """
    with exits():
        from ...config.files import load_user_configuration
        from ...config.preset_folders import user_configuration_path
        from ...report.run.facts import to_json

        user = load_user_configuration()
        entries = [_facts(name, user) for name in user.profiles]
        if json:
            found = {"version": 1, "configuration": str(user_configuration_path()), "allow_calls": user.allow_calls}
            write_text(to_json({**found, "profiles": entries}))
            return

        from ...report.text.fitted_table import fits, fitted_table

        screen = console()
        columns: tuple[str, ...] = ("profile", "model", "key", "$ in", "$ out", "window")
        rows = [_row(entry, has_host=True) for entry in entries]
        if not fits(columns, rows, screen.width):
            rows = [_row(entry, has_host=False) for entry in entries]
        others = [[row[0], *row[2:]] for row in rows]
        if not fits(columns[:1] + columns[2:], others, screen.width - _SHORTEST_MODEL):
            columns, rows = columns[:1] + columns[2:], others
        right = range(len(columns) - 3, len(columns))
        screen.print(fitted_table(columns, rows, right, screen.width, flexible=1))
        own = visible(str(user_configuration_path()))
        needed = "" if user.allow_calls else "Calls need --profile or --allow-calls; "
        screen.print(
            f"{needed}{own} {'allows' if user.allow_calls else 'does not allow'} them.", style="dim", soft_wrap=True
        )


@profiles_app.command("show")
def show(name: Name, json: Json = False) -> None:
    """Show every value of a profile, its price and its context window.

    Examples:

    \b
    condense profiles show claude-haiku-4-5
    condense profiles show gpt-4o-mini --json | jq .profile.price
    """
    with exits():
        from ...config.files import load_user_configuration
        from ...report.lists.profiles import as_lines
        from ...report.run.facts import to_json

        facts = _facts(name, load_user_configuration())
        text = "".join(f"{visible(line)}\n" for line in as_lines(facts))
        write_text(to_json({"version": 1, "profile": facts}) if json else text)


@profiles_app.command("test")
def try_out(name: Name, json: Json = False) -> None:
    """Make one tiny call and say what happened.

    It also says how long the call took and what it cost. Nothing of any transcript is sent. Exit status 0 if the
    model answered, 5 if not.

    Examples:

    \b
    condense profiles test gpt-4o-mini
    condense profiles test local --json | jq .test.seconds
    """
    with exits():
        import os

        from ...config.files import load_user_configuration, unknown_profile
        from ...llm.access import open_access
        from ...report.lists.profiles import call_facts
        from ...report.run.facts import to_json

        user = load_user_configuration()
        if name not in user.profiles:
            raise unknown_profile(name, user.profiles)
        outcome, seconds = _tried(open_access(name, user, os.environ))
        facts = call_facts(name, outcome, seconds)
        if json:
            write_text(to_json({"version": 1, "test": facts}))
        elif facts.ok:
            from ...report.costs.facts import dollars

            spent = f"{facts.tokens:,} tokens, cost {dollars(facts.cost)}" if outcome.spent.calls else "no cost"
            typer.echo(visible(f"{name}: {outcome.text} ({facts.seconds:.1f} s, {spent})"))
        else:
            say(f"condense: {name}: {facts.message} ({facts.seconds:.1f} s)\n{facts.hint}")
        raise SystemExit(int(ExitStatus.DONE if facts.ok else ExitStatus.CALLS_FAILED))


def _tried(access: Access | Failure) -> tuple[CallOutcome, float]:
    """What came of a tiny call, where there is a model to call, and how many seconds it took.

    Raises ConfigurationError, KeyboardInterrupt.
    """
    import time
    from datetime import UTC, datetime

    from ...core.tokens import Counter
    from ...llm.calls import Caller, CallOutcome, fulfil
    from ...llm.client import Failure, ModelRequest
    from ...plugins import Installed

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


def _facts(name: str, user: UserConfiguration) -> ProfileFacts:
    """What is known of a profile. Raises ConfigurationError if there is none of that name."""
    import os
    from datetime import UTC, datetime

    from ...config.files import unknown_profile
    from ...report.lists.profiles import profile_facts

    if name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    return profile_facts(name, user, os.environ, datetime.now(UTC))


def _row(facts: ProfileFacts, *, has_host: bool) -> list[str]:
    """A line of the table. Names of models matter more than where they run, which `show` tells, too."""
    match facts.api:
        case "offline":
            model = "none; it runs on this machine" if has_host else "none"
            return [_label(facts), model, "none", "0", "0", "any"]
        case "installed":
            model = f"{facts.model}, of an installed package" if has_host else facts.model
            return [_label(facts), model, _key(facts), "?", "?", "any"]
        case "anthropic" | "openai":
            pass
        case other:
            assert_never(other)
    price = facts.price
    return [
        _label(facts),
        f"{facts.model} at {facts.host}" if has_host else facts.model,
        _key(facts),
        (price.input if price else None) or "?",
        (price.output if price else None) or "?",
        f"{facts.context_window:,}" if facts.context_window else "?",
    ]


def _key(facts: ProfileFacts) -> str:
    return f"{'' if facts.ready else 'no '}{facts.key}" if facts.key else "none"


def _label(facts: ProfileFacts) -> str:
    return f"{facts.name} (main)" if facts.main else facts.name
