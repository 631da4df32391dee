"""On a terminal the answer comes first, and the rest on request: `inspect` and `config show`."""

from __future__ import annotations

from pathlib import Path

import pytest
import real
from helpers import condense, condense_on_terminal
from msgspec.structs import replace

from condense_cli.config.loading import parse_configuration
from condense_cli.config.preset_folders import preset_names


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_inspect_answers_in_a_screen(columns: int) -> None:
    answer = condense_on_terminal("inspect", real.SESSION, columns=columns).plain
    lines = answer.splitlines()
    assert lines[0] == "38,534 tokens in 160 messages"
    assert len(lines) <= 32
    assert max(map(len, lines)) <= columns
    assert "repeat earlier text; references would save up to" in " ".join(answer.split())
    assert "--all shows" in answer
    whole = condense_on_terminal("inspect", real.SESSION, "--all", columns=columns).plain
    assert len(whole.splitlines()) > 60
    assert condense_on_terminal("inspect", real.SESSION, "--top", "3", columns=columns).plain.count("\n") > 40
    assert "--all" not in condense("inspect", real.SESSION).text


@pytest.mark.slow
@pytest.mark.parametrize("preset", preset_names())
def test_config_show_has_what_somebody_set(preset: str) -> None:
    answer = condense_on_terminal("config", "show", "-p", preset).plain
    assert "# default" not in answer
    assert answer.startswith(f"# From preset {preset}, unless")
    assert answer.count(f"# preset {preset}") == 0
    everything = condense_on_terminal("config", "show", "-p", preset, "--all").plain
    assert everything == condense("config", "show", "-p", preset).text
    assert len(answer) < len(everything)
    assert replace(parse_configuration(answer), provider="smart") == parse_configuration(everything)


def test_config_show_names_flags(tmp_path: Path) -> None:
    answer = condense_on_terminal("config", "show", "--keep", "tool:Read", "--target-tokens", "60k").plain
    assert '"tool:Read"' in answer or "tool:Read" in answer
    assert "# --keep" in answer
    assert "target_tokens: 60000" in answer
