"""A throw-away home for every test, as nothing may reach the user's own files; and what many tests begin with."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk
from helpers import DATA
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=60,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=3_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# A script that runs the tests in the background ignores Ctrl-C for them and all that they start, which some interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in list(os.environ):
        if name.startswith("CONDENSE_") or name.endswith("_API_KEY") or name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    yield home
    assert not list(home.iterdir()), "something was written into the user's home"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session on disk, alone in its folder."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Desk(tmp_path)
