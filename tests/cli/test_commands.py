"""The table of commands says what the commands say themselves."""

from __future__ import annotations

import pytest
from helpers import condense

from condense_cli.cli.table import COMMANDS, load
from condense_cli.errors import ExitStatus


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_that_of_the_command(name: str) -> None:
    assert load(name).get_short_help_str(limit=200) == COMMANDS[name]


@pytest.mark.parametrize(("group", "name"), [("presets", "max"), ("providers", "smart"), ("profiles", "gpt-4o-mini")])
def test_a_name_where_a_command_should_stand_leads_to_show(group: str, name: str) -> None:
    done = condense(group, name)
    assert done.status == ExitStatus.USAGE
    assert f"No such command '{name}'. Did you mean 'condense {group} show {name}'?" in done.message
    assert condense(group, "show", name).status == ExitStatus.DONE
    assert "Did you mean 'show'?" in condense(group, "shwo").message


# --- Groups -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("group", "command"), [("presets", "list"), ("providers", "list"), ("profiles", "list"), ("cache", "info")]
)
@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_a_group_alone_is_its_first_command(group: str, command: str, flags: tuple[str, ...]) -> None:
    alone = condense(group, *flags)
    assert alone.status == ExitStatus.DONE
    assert alone == condense(group, command, *flags)
