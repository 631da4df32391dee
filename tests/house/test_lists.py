"""What belongs to a new format, command or preset besides its file: whoever forgets it is told where it goes."""

from __future__ import annotations

import pytest
from real import PROJECT
from yesterday import sources

from condense_cli.cli.table import COMMANDS
from condense_cli.config.preset_folders import preset_names
from condense_cli.formats import FORMATS, parse
from condense_cli.report.estimate.typical import typical

# An archive of Inspect holds what its other format holds.
FORMAT_NAMES = [form.name for form in FORMATS if form.name != "inspect-eval"]


@pytest.fixture(scope="module")
def inputs() -> dict[str, bytes]:
    """The small sessions that each version freezes its work on, by what they are of."""
    return {name.partition(".")[0]: data for name, data in sources.inputs().items()}


@pytest.mark.parametrize("name", FORMAT_NAMES)
def test_every_format_has_an_input_for_later_versions(name: str, inputs: dict[str, bytes]) -> None:
    assert name in inputs, "tests/yesterday/sources.py has no session of it"
    assert parse(inputs[name]).format == name


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_on_the_page_of_commands(name: str) -> None:
    assert f"`condense {name}" in (PROJECT / "docs" / "commands.md").read_text(), "docs/commands.md lacks it"


@pytest.mark.parametrize("name", preset_names())
def test_every_preset_was_measured(name: str) -> None:
    assert name in typical().presets, "benchmarks/presets.py --write measures what it typically keeps"
