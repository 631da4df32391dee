"""`condense profiles list` and `show`: the profiles of models, with their prices and windows."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final, assert_never

from ...config.files import UserConfiguration, load_user_configuration, unknown_profile
from ...config.preset_folders import user_configuration_path
from ...report.as_json import to_json
from ...report.lists.profiles import ProfileFacts, as_lines, profile_facts
from ...report.text.fitted_table import fits, fitted_table
from ...report.text.visible import visible
from ..commands.settings import ListProfiles, ShowProfile
from ..console import console, write_text

_SHORTEST_MODEL: Final = 10
"""Room for a column of models; if prices and windows leave less, models are left out."""


def list_profiles(options: ListProfiles) -> None:
    user = load_user_configuration()
    entries = [_facts(name, user) for name in user.profiles]
    if options.json:
        found = {"version": 1, "configuration": str(user_configuration_path()), "allow_calls": user.allow_calls}
        write_text(to_json({**found, "profiles": entries}))
        return
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


def show_profile(options: ShowProfile) -> None:
    """Show one profile. Raises ConfigurationError if there is none of that name."""
    facts = _facts(options.name, load_user_configuration())
    text = "".join(f"{visible(line)}\n" for line in as_lines(facts))
    write_text(to_json({"version": 1, "profile": facts}) if options.json else text)


def _facts(name: str, user: UserConfiguration) -> ProfileFacts:
    """What is known of a profile. Raises ConfigurationError if there is none of that name."""
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
