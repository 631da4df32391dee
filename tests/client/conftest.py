"""The clients under test: where they are installed, and a home of its own for each test."""

import os
from pathlib import Path

import pytest

from .claude import ClaudeCode
from .codex import Codex
from .install import Clients

NAMED = os.environ.get("CONDENSE_CLIENTS")
"""Read before the tests are kept from seeing it."""


@pytest.fixture(scope="session")
def clients(request: pytest.FixtureRequest) -> Clients:
    return Clients(Path(NAMED) if NAMED else request.config.rootpath / ".pytest_cache" / "clients")


@pytest.fixture
def claude(clients: Clients, tmp_path: Path) -> ClaudeCode:
    return ClaudeCode(clients.program("claude"), tmp_path / "claude")


@pytest.fixture
def codex(clients: Clients, tmp_path: Path) -> Codex:
    return Codex(clients.program("codex"), tmp_path / "codex")
