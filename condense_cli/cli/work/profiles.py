"""`condense profiles list` and `show`: the profiles of models, with their prices and windows."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Final, assert_never

from ...config.own import UserConfiguration, load_user_configuration, unknown_profile
from ...config.preset_folders import user_configuration_path
from ...core.wording import visible
from ...report.as_json import to_json
from ...report.lists.profiles import ProfileFacts, as_lines, profile_facts
from ...report.sections import Table
from ..commands.settings import ListProfiles, ShowProfile
from ..console import print_lines, print_parts, write_text

_COLUMNS: Final = ("profile", "model", "at", "key", "$ in", "$ out", "window")


def list_profiles(options: ListProfiles) -> None:
    user = load_user_configuration()
    entries = [_facts(name, user) for name in user.profiles]
    if options.json:
        found = {"version": 1, "configuration": str(user_configuration_path()), "allow_calls": user.allow_calls}
        write_text(to_json({**found, "profiles": entries}))
        return
    own = user_configuration_path()
    needed = "" if user.allow_calls else "Calls need --profile or --allow-calls; "
    said = f"{needed}{own} {'allows' if user.allow_calls else 'does not allow'} them."
    print_parts([Table(_COLUMNS, [*map(_row, entries)], (4, 5, 6), gives_way=(2, 1))])
    print_lines([said], "dim")


def show_profile(options: ShowProfile) -> None:
    """Show one profile. Raises ConfigurationError if there is none of that name."""
    facts = _facts(options.name, load_user_configuration())
    text = "".join(f"{visible(line)}\n" for line in as_lines(facts))
    write_text(to_json({"version": 1, "profile": facts}) if options.json else text)


def _facts(name: str, user: UserConfiguration) -> ProfileFacts:
    """Return the facts of a profile. Raises ConfigurationError if there is none of that name."""
    if name not in user.profiles:
        raise unknown_profile(name, user.profiles)
    return profile_facts(name, user, os.environ, datetime.now(UTC))


def _row(facts: ProfileFacts) -> list[str]:
    match facts.api:
        case "offline":
            return [_label(facts), "none", "this machine", "none", "0", "0", "any"]
        case "installed":
            return [_label(facts), facts.model, "an installed package", _key(facts), "?", "?", "any"]
        case "anthropic" | "openai":
            pass
        case other:
            assert_never(other)
    price = facts.price
    rates = (price.input, price.output) if price else (None, None)
    return [
        _label(facts),
        facts.model,
        facts.host or "",
        _key(facts),
        *("?" if rate is None else f"{rate}" for rate in rates),
        f"{facts.context_window:,}" if facts.context_window else "?",
    ]


def _key(facts: ProfileFacts) -> str:
    return f"{'' if facts.ready else 'no '}{facts.key}" if facts.key else "none"


def _label(facts: ProfileFacts) -> str:
    return f"{facts.name} (main)" if facts.main else facts.name
