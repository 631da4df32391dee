"""Commands about settings: presets, config, providers, profiles, cache."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

from ...config.options import OUTPUT, Flag, Overrides
from ..building import Command, CommandGroup
from ..options import (
    PROVIDER_IDS,
    Configuring,
    Json,
    Session,
    preset_names,
    profile_names,
)

Preset = Annotated[str, Flag("Name of a preset.", metavar="NAME", complete=preset_names, is_argument=True)]
Profile = Annotated[str, Flag("Name of a profile.", metavar="NAME", complete=profile_names, is_argument=True)]


def _provider_names() -> list[str]:
    """List all providers; installed ones are not loaded."""
    from ...plugins import Installed

    return [*PROVIDER_IDS, *Installed().providers()]


class ListPresets(Command, work="presets.list_presets"):
    """List the presets.

    Examples:

    \b
    condense presets list
    condense presets list --json | jq -r '.presets[].name'
    """

    json: Annotated[bool, Flag("Print the list as JSON.")] = False


class ShowPreset(Command, work="presets.show_preset"):
    """Print the file of a preset as it is.

    Examples:

    \b
    condense presets show cost
    condense presets show cost > mine.yaml
    condense presets show cost --json | jq .configuration
    """

    name: Preset
    json: Annotated[bool, Flag("Print the configuration as JSON.")] = False


class NewPreset(Command, work="presets.new_preset"):
    """Write a configuration to start from.

    It works as is; comments explain the rest. A name that ends in .json gets JSON, which has none.

    Examples:

    \b
    condense presets new                           writes condense.yaml
    condense presets new mine.yaml --from quality
    condense presets new - | less
    """

    file: Annotated[
        str | None,
        Flag("File to write; - prints it.  [default: condense.yaml]", metavar="[FILE|-]", is_argument=True),
    ] = None
    source: Annotated[
        str | None, Flag("Start from a copy of this preset.", metavar="NAME", name="--from", complete=preset_names)
    ] = None
    force: Annotated[bool, Flag("Overwrite an existing file.")] = False


class EditPreset(Command, work="ui.edit_preset"):
    """Edit a preset in the terminal.

    One of the package is saved as your own.

    Examples:

    \b
    condense presets edit balanced
    condense presets edit mine.yaml session.jsonl
    condense presets edit cost --session latest
    """

    name: Annotated[str, Flag("A preset or a file.", metavar="NAME|PATH", complete=preset_names, is_argument=True)]
    file: Annotated[
        str | None, Flag("Transcript to show the effect of each pass on.", metavar="[FILE]", is_argument=True)
    ] = None
    session: Session = None


class ValidateConfiguration(Command, work="configurations.validate_files"):
    """Check configurations. Exit status 0 if all are valid, 2 if not.

    Examples:

    \b
    condense config validate mine.yaml
    condense config validate presets/*.yaml
    condense config validate mine.yaml --json | jq -r '.files[].message'
    """

    files: Annotated[tuple[Path, ...], Flag("Configurations to check.", metavar="FILE...", is_argument=True)]
    json: Annotated[bool, Flag("Print the findings as JSON.")] = False


class ShowConfiguration(Configuring, Overrides, group=OUTPUT, work="configurations.show_configuration"):
    """Show the configuration that a run with the same flags would use.

    On a terminal it shows what is set; --all, and a pipe, add every default. A comment behind each value says where it
    came from: a flag, a variable, a line of the project's or your own file, the preset, or the default.

    Examples:

    \b
    condense config show
    condense config show --config mine.yaml --keep last:20
    condense config show --provider truncation --set max_tool_result_lines=20
    condense config show --config phases.yaml --compiled > passes.yaml
    condense config show --preset speed --json | jq .origins
    """

    shows_all: Annotated[bool, Flag("Include every default, as in a pipe.", name="--all")] = False
    json: Json = False
    compiled: Annotated[bool, Flag("Show the passes that a provider's settings or phases turn into.")] = False


class ShowSchema(Command, work="configurations.show_schema"):
    """Print the JSON Schema of a configuration, for editors.

    It is that of a project's condense.yaml as well.

    Examples:

    \b
    condense config schema > condense.schema.json
    condense config schema --own > own.schema.json
    """

    own: Annotated[bool, Flag("The schema of your own settings file, with profiles, instead.")] = False


class ListProviders(Command, work="providers.list_providers"):
    """Compare the providers.

    The built-in ones and those of installed packages; the figures are measured, and a note says on what.

    Examples:

    \b
    condense providers list
    condense providers list --json | jq '.providers[] | {id, measured}'
    """

    json: Json = False


class ShowProvider(Command, work="providers.show_provider"):
    """Show a provider with its settings.

    What it does, what it can do, every setting with its default and what it takes, and an example.

    Examples:

    \b
    condense providers show truncation
    condense providers show smart --json | jq .schema
    """

    name: Annotated[str, Flag("Name of a provider.", metavar="NAME", complete=PROVIDER_IDS, is_argument=True)]
    json: Json = False


class ListProfiles(Command, work="profiles.list_profiles"):
    """List the profiles: the built-in ones and your own.

    Prices are dollars per million tokens. Naming a profile or setting its key permits no call; see docs/models.md.

    Examples:

    \b
    condense profiles list                      with the hosts, where they fit
    condense profiles list --json | jq -r '.profiles[] | select(.ready) | .name'
    """

    json: Json = False


class ShowProfile(Command, work="profiles.show_profile"):
    """Show every value of a profile, its price and its context window.

    Examples:

    \b
    condense profiles show claude-haiku-4-5
    condense profiles show gpt-4o-mini --json | jq .profile.price
    """

    name: Profile
    json: Json = False


class TryProfile(Command, work="profiles.try_profile"):
    """Make one tiny call and say what happened.

    It also says how long the call took and what it cost. Nothing of any transcript is sent. Exit status 0 if the
    model answered, 5 if not.

    Examples:

    \b
    condense profiles test gpt-4o-mini
    condense profiles test local --json | jq .test.seconds
    """

    name: Profile
    json: Json = False


class ShowCache(Command, work="cache.show_cache"):
    """Show where the cache is and what it holds.

    Examples:

    \b
    condense cache info
    condense cache info --json | jq .bytes
    """

    json: Json = False


class ClearCache(Command, work="cache.clear_cache"):
    """Forget every answer. The next run that wants one pays for it again.

    Examples:

    \b
    condense cache clear
    """


COMMANDS: Final = {
    "presets": CommandGroup(
        "List presets, show one, or write a configuration of your own.",
        "condense presets\ncondense presets show cost\ncondense presets new mine.yaml\n"
        "condense presets new mine.yaml --from speed\ncondense presets edit mine.yaml",
        {"list": ListPresets, "show": ShowPreset, "new": NewPreset, "edit": EditPreset},
        "list",
        preset_names,
    ),
    "config": CommandGroup(
        "Check configurations, show the one in use, print the schema.",
        "condense config validate mine.yaml\ncondense config show --preset cost\n"
        "condense config schema > condense.schema.json",
        {"validate": ValidateConfiguration, "show": ShowConfiguration, "schema": ShowSchema},
    ),
    "providers": CommandGroup(
        "Compare the providers, or show one with its settings.",
        "condense providers\ncondense providers show truncation\ncondense providers --json | jq -r '.providers[].id'",
        {"list": ListProviders, "show": ShowProvider},
        "list",
        _provider_names,
    ),
    "profiles": CommandGroup(
        "List model profiles, show one, or test one.",
        "condense profiles\ncondense profiles show gpt-4o-mini\ncondense profiles test gpt-4o-mini",
        {"list": ListProfiles, "show": ShowProfile, "test": TryProfile},
        "list",
        profile_names,
    ),
    "cache": CommandGroup(
        "Show or clear the cache of summaries.",
        "condense cache\ncondense cache clear",
        {"info": ShowCache, "clear": ClearCache},
        "info",
    ),
}
