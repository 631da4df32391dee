"""The table of commands says what the commands say themselves."""

from __future__ import annotations

import pytest

from condense_cli.cli.commands import COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_short_help_is_that_of_the_command(name: str) -> None:
    assert load(name).get_short_help_str(limit=200) == COMMANDS[name]
