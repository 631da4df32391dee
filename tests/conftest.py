"""A throw-away home for every test, as nothing may reach the user's own files; and what many tests begin with."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import certifi
import pytest
import real
from helpers import DATA
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from desk import Desk
    from machine import Machine

    from condense_cli.tokens.counting import Counter

settings.register_profile(
    "fast",
    deadline=None,
    derandomize=True,
    max_examples=5,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("all", parent=settings.get_profile("fast"), max_examples=24)
settings.register_profile("thorough", parent=settings.get_profile("fast"), max_examples=3_000, derandomize=False)
settings.register_profile(
    "unshrunk", parent=settings.get_profile("fast"), phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

# Hypothesis draws constants of the package's modules that are imported so far: other examples in each choice of tests.
# It has no setting for that. Should it lose this function, every run of the tests says so here.
pytest.MonkeyPatch().setattr("hypothesis.internal.conjecture.providers.is_local_module_file", lambda path: False)

# Many tests start the command, which takes twice as long where each start compiles the package again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A script that runs the tests in the background ignores Ctrl-C for them and all that they start, which some interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what follows from other markers, and every test of a recorded transcript."""
    cases: defaultdict[str, int] = defaultdict(int)
    for item in items:
        given = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        if item.get_closest_marker("real") or any(map(real.is_recorded, given)):
            item.add_marker(pytest.mark.slow)
        elif sampled := item.get_closest_marker("sampled"):
            function = item.nodeid.partition("[")[0]
            cases[function] += 1
            if cases[function] > sampled.args[0]:
                item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def one_certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Clients of HTTP read all certificates when they are made, for a tenth of a second. No test leaves the machine."""
    bundle, end = Path(certifi.where()).read_text(), "-----END CERTIFICATE-----\n"
    path = tmp_path_factory.mktemp("certificates") / "one.pem"
    path.write_text(bundle[: bundle.index(end) + len(end)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(scope="session")
def empty_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(autouse=True)
def isolated_home(empty_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.setenv(name, str(empty_home))
    for name in list(os.environ):
        if name.startswith("CONDENSE_") or name.endswith("_API_KEY") or name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
            monkeypatch.delenv(name)
    yield empty_home
    written = [path.name for path in empty_home.iterdir()]
    for name in written:
        shutil.rmtree(empty_home / name) if (empty_home / name).is_dir() else (empty_home / name).unlink()
    assert not written, "something was written into the user's home"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A session on disk, alone in its folder."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(DATA)
    return path


# What follows is imported where it is asked for: who runs one file of tests does not wait for the others.


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    from desk import Desk

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Desk(tmp_path)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    from machine import Machine

    return Machine(tmp_path / "home", tmp_path / "cache")


@pytest.fixture
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home in which nothing is installed, on a machine with no client that could be asked."""
    own_home = tmp_path / "home"
    own_home.mkdir()
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(own_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    return own_home


@pytest.fixture
def rows_file(tmp_path: Path) -> Path:
    import rowsets

    path = tmp_path / "rows.jsonl"
    path.write_bytes(rowsets.DATA)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    import many_files

    return many_files.grow(tmp_path / "in")


@pytest.fixture(scope="module")
def count() -> Counter:
    """Counts each text once for all tests of a file."""
    from condense_cli.tokens.counting import Counter

    return Counter()


@pytest.fixture(scope="module")
def anywhere() -> Iterator[None]:
    """References may be in the newest turns too, which is what small transcripts consist of."""
    from condense_cli.passes import prelude

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prelude, "NEWEST", 0)
        yield


@pytest.fixture(scope="session")
def masking_rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The detector's compiled rules, which take some seconds to make."""
    from condense_cli.llm.access import Redactor

    folder = tmp_path_factory.mktemp("rules")
    Redactor(folder)
    return folder


@pytest.fixture
def masking(masking_rules: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`--redact` finds the detector's rules compiled, whatever the folder of its cache."""
    from condense_cli.llm import access

    redactor = access.Redactor
    monkeypatch.setattr(access, "Redactor", lambda folder: redactor(masking_rules))
