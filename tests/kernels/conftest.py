"""Both forms of the kernels, whichever this checkout runs: compiled into a folder of the tests, and interpreted."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from forms import KERNELS, PROJECT, Worker


@pytest.fixture(scope="session")
def interpreted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as it is without a compiler."""
    folder = tmp_path_factory.mktemp("interpreted")
    left_out = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    for name in ("condense_cli", "presets"):
        shutil.copytree(PROJECT / name, folder / name, ignore=left_out)
    return folder


@pytest.fixture(scope="session")
def compiled(interpreted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with compiled kernels."""
    folder = tmp_path_factory.mktemp("compiled")
    shutil.copytree(interpreted, folder, dirs_exist_ok=True)
    command = [sys.executable, str(PROJECT / "compiling.py"), str(folder)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"These tests need a C compiler and the headers of Python:\n{done.stderr}"
    assert len([*(folder / KERNELS).glob("*.pxd")]) == len([*(folder / KERNELS).glob("*.so")])
    return folder


@pytest.fixture(scope="session")
def workers(interpreted: Path, compiled: Path) -> Iterator[tuple[Worker, Worker]]:
    """Processes that condense files, interpreted and compiled."""
    both = Worker(interpreted, is_compiled=False), Worker(compiled, is_compiled=True)
    yield both
    for worker in both:
        worker.end()
