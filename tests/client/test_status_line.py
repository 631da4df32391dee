"""The status line, as Claude Code draws it for a person."""

import pytest

from . import messages_api
from .claude import ClaudeCode
from .command import condense
from .loopback import serve
from .screen import started

pytestmark = pytest.mark.client


def test_claude_code_shows_the_status_line(claude: ClaudeCode) -> None:
    assert condense(claude.home, "install", "claude-code", "--yes").returncode == 0
    usage = {"input_tokens": 1_000, "cache_read_input_tokens": 80_000, "cache_creation_input_tokens": 2_000}
    with (
        serve(messages_api.Script([[messages_api.text("I looked.")]], usage=usage)) as service,
        started(claude, service) as screen,
    ):
        screen.wait_for(r"0% of 200k")
        screen.type("Look around.")
        screen.wait_for(r"around")
        screen.type("\r")
        # It draws only what changed: of "42% of 200k" not every sign again.
        assert "cache warm 5 min" in screen.wait_for(r"42%[^·]*·\s+cache warm \d min")
